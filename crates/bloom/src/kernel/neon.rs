//! Code that the NEON kernels of several layouts share.

use super::portable::{Body, GROUP};
use super::{PATTERN_SHIFT, PATTERN_SPREAD, PATTERN_STEP};
use crate::geometry::Geometry;
use core::arch::aarch64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::range::reduce;

/// The mask of the first, third, fifth and seventh of eight pattern positions, the first of which begins at bit 0.
pub(super) const EVERY_OTHER: u64 = {
    let position = (1 << PATTERN_STEP) - 1;
    position * (1 | 1 << (2 * PATTERN_STEP) | 1 << (4 * PATTERN_STEP) | 1 << (6 * PATTERN_STEP))
};

/// The byte of the table at which a hash's block begins.
#[inline(always)]
pub(super) fn start<B: Body>(geometry: Geometry, hash: u64) -> usize {
    // With the low half cleared, `reduce` computes the number that `reduce_high` returns, with one multiplication and
    // no shift.
    let hash = if B::BLOCK_OF_HIGH_HALF { hash & !0xFFFF_FFFF } else { hash };
    reduce(hash, geometry.units) as usize * B::BLOCK_BYTES
}

/// The batch loop: calls `probe` with each complete group of a batch and the group's number. If `F` prefetches, the
/// blocks of a group are prefetched `window.distance_keys` keys before they are probed. The caller handles the last
/// keys of the batch, which do not fill a group.
///
/// Computing where a block begins takes only two instructions. So the loop computes it twice, once to prefetch the
/// block and once to probe it. Rejected: a ring that keeps the result, as on x86 (four more instructions per key).
///
/// # Panics
/// If the table does not have the length that the geometry says. The unchecked accesses of the kernels rely on this
/// check.
#[inline(always)]
pub(super) fn run_groups<B: Body, F: Fetch>(
    geometry: Geometry,
    table: *const [u8],
    hashes: &[u64],
    window: Window,
    mut probe: impl FnMut(usize, &[u64; GROUP]),
) {
    assert_eq!(table.len() as u64, geometry.units * B::BLOCK_BYTES as u64);
    let (groups, _) = hashes.as_chunks::<GROUP>();
    let fetch = |keys: &[u64; GROUP]| {
        F::keys_behind(keys);
        for hash in keys {
            F::line(table.cast::<u8>().wrapping_add(start::<B>(geometry, *hash)));
        }
    };
    let ahead = window.distance_keys / GROUP;
    groups.iter().take(ahead).for_each(fetch);
    for (group, keys) in groups.iter().enumerate() {
        if let Some(keys) = groups.get(group + ahead) {
            fetch(keys);
        }
        probe(group, keys);
    }
}

/// Declares `contains_batch` of a layout. `constants` is evaluated once per batch. `answers` returns the answers for a
/// group: bit `i` tells whether key `i` is present. It gets the result of `constants`, a function that returns the
/// address of the block of a hash, and the hashes of the group.
macro_rules! batch_lookups {
    (
        $body:ty, constants = |$shape:pat_param| $constants:expr,
        answers = |$constant:pat_param, $block:ident, $keys:pat_param| $answers:expr $(,)?
    ) => {
        #[target_feature(enable = "neon")]
        fn contains_batch(
            geometry: $crate::geometry::Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]
        ) {
            let $constant = {
                let $shape = geometry;
                $constants
            };
            let bytes = $crate::kernel::bytes_of(found);
            let window = trommel_base::batch::Window::for_table(table.len());
            // SAFETY: the block's index is the high half of a product with `geometry.units`, so it is below `units`,
            // and the table has `units` blocks, as `run_groups` asserts.
            let $block = |hash| unsafe {
                table.as_ptr().add($crate::kernel::neon::start::<$body>(geometry, hash))
            };
            trommel_base::with_fetch!(window, F => $crate::kernel::neon::run_groups::<$body, F>(
                geometry, table, hashes, window, |group, $keys| bytes[group] = $answers,
            ));
            $crate::kernel::portable::contains_rest::<$body>(geometry, table, hashes, found);
        }
    };
}
pub(super) use batch_lookups;

/// Declares `insert_batch` of a layout. `insert` sets the bits of a group. It gets the geometry, a function that
/// returns the address of the block of a hash, and the hashes of the group.
macro_rules! batch_inserts {
    ($body:ty, insert = |$shape:pat_param, $block:ident, $keys:pat_param| $insert:expr $(,)?) => {
        #[target_feature(enable = "neon")]
        fn insert_batch(geometry: $crate::geometry::Geometry, table: &mut [u8], hashes: &[u64]) {
            let ($shape, whole, address) = (geometry, &raw const *table, table.as_mut_ptr());
            let window = trommel_base::batch::Window::for_table(whole.len());
            // SAFETY: as in `contains_batch`.
            let $block = |hash| unsafe {
                address.add($crate::kernel::neon::start::<$body>(geometry, hash))
            };
            trommel_base::with_fetch!(window, F => $crate::kernel::neon::run_groups::<$body, F>(
                geometry, whole, hashes, window, |_, $keys| $insert,
            ));
            $crate::kernel::portable::insert_rest::<$body>(geometry, table, hashes);
        }
    };
}
pub(super) use batch_inserts;

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn bytes(bytes: [u8; 16]) -> uint8x16_t {
    // SAFETY: reads the 16 bytes of the array.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// Loads two of eight hashes, those at indices `2 * pair` and `2 * pair + 1`.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load_pair(hashes: &[u64; 8], pair: usize) -> uint64x2_t {
    let hashes: &[u64; 2] = &hashes.as_chunks().0[pair];
    // SAFETY: reads the 16 bytes of the array.
    unsafe { vld1q_u64(hashes.as_ptr()) }
}

/// The products of [`pattern_positions`](super::pattern_positions) for eight keys, two in each vector.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn pattern_positions_8(hashes: &[u64; 8]) -> [uint64x2_t; 4] {
    let spread = vdupq_n_u32(PATTERN_SPREAD as u32);
    let four = |half: usize| {
        let words = |i| vreinterpretq_u32_u64(load_pair(hashes, 2 * half + i));
        let low = vuzp1q_u32(words(0), words(1));
        [vmull_u32(vget_low_u32(low), vget_low_u32(spread)), vmull_high_u32(low, spread)]
    };
    let ([a, b], [c, d]) = (four(0), four(1));
    [a, b, c, d]
}

/// In a product of [`pattern_positions`](super::pattern_positions), the index of the first byte that has bits of the
/// position with this number.
const fn first_byte(number: usize) -> u32 {
    (PATTERN_SHIFT + PATTERN_STEP * number as u32) / 8
}

/// Where the eight bit positions of a key are in a product of [`pattern_positions`](super::pattern_positions).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// One vector for the first of two products, and one for the second. Each vector has, for every lane of 16 bits,
    /// the indices of the two bytes of the products that contain the lane's position.
    sources: [uint8x16_t; 2],
    /// Shifts that bring a position to the top of its lane.
    shifts: int16x8_t,
}

impl Fields {
    /// Creates the fields of the positions with these numbers, in this order. The caller must ensure that all numbers
    /// are below eight.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new(numbers: [usize; 8]) -> Self {
        let sources = [0, 8].map(|first: u32| {
            bytes(core::array::from_fn(|i| {
                (first + first_byte(numbers[i / 2]) + i as u32 % 2) as u8
            }))
        });
        let shifts: [i16; 8] = numbers.map(|number| {
            let start = PATTERN_SHIFT + PATTERN_STEP * number as u32 - 8 * first_byte(number);
            (16 - PATTERN_STEP - start) as i16
        });
        // SAFETY: reads the 16 bytes of the array.
        Self { sources, shifts: unsafe { vld1q_s16(shifts.as_ptr()) } }
    }

    /// The positions of two keys, eight bytes for each. A position is the upper six bits of its byte; the lower two
    /// bits have no meaning.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn positions(&self, products: uint64x2_t) -> uint8x16_t {
        let products = vreinterpretq_u8_u64(products);
        let [first, second] = core::array::from_fn(|i| {
            let lanes = vreinterpretq_u16_u8(vqtbl1q_u8(products, self.sources[i]));
            vreinterpretq_u8_u16(vshlq_u16(lanes, self.shifts))
        });
        vuzp2q_u8(first, second)
    }
}

/// For each position, the index of the byte that has the position's bit, among the eight bytes of a 64-bit word. The
/// positions are bytes as [`Fields::positions`] returns them.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn byte_indices(positions: uint8x16_t) -> uint8x16_t {
    vshrq_n_u8::<5>(positions)
}

/// For each position, the mask of the position's bit within its byte of the table. The positions are bytes as
/// [`Fields::positions`] returns them.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn bits_in_byte(positions: uint8x16_t) -> uint8x16_t {
    // A position is the upper six bits of its byte. So bits 2 to 4 of this byte are the position modulo 8: the number
    // of the position's bit within a byte of the filter's table. With all other bits cleared, this byte is four times
    // that number, which is the index at which the vectors of `table` have the mask of the bit.
    let every_fourth = |first: u8| {
        bytes(core::array::from_fn(|i| if i % 4 == 0 { 1 << (first + i as u8 / 4) } else { 0 }))
    };
    let table = uint8x16x2_t(every_fourth(0), every_fourth(4));
    vqtbl2q_u8(table, vandq_u8(positions, vdupq_n_u8(0b1_1100)))
}

/// The answers of eight keys. Each vector of `keys` has eight bytes for each of two keys. A key's answer bit is 1 if
/// each of the eight bytes of the key is 0xFF. The caller must ensure that each byte is 0xFF or 0.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn all_set(keys: [uint8x16_t; 4]) -> u8 {
    let [a, b, c, d] = keys;
    let halves = vpminq_u8(vpminq_u8(a, b), vpminq_u8(c, d));
    packed(vget_low_u8(vpminq_u8(halves, halves)))
}

/// One bit for each of eight bytes: 1 if the byte is 0xFF. The caller must ensure that each byte is 0xFF or 0.
#[inline]
#[target_feature(enable = "neon")]
fn packed(bytes: uint8x8_t) -> u8 {
    let bits = vcreate_u8(0x8040_2010_0804_0201);
    vaddv_u8(vand_u8(bytes, bits))
}

/// The answers of eight keys. `missing` has, for each key, the bits of the key that its block lacks. An answer bit is 1
/// if the key's block lacks none of the key's bits.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn none_missing(missing: [uint32x4_t; 8]) -> u8 {
    let [a, b, c, d, e, f, g, h] = missing;
    let four = |[a, b, c, d]: [_; 4]| vceqzq_u32(vpmaxq_u32(vpmaxq_u32(a, b), vpmaxq_u32(c, d)));
    let (first, second) = (four([a, b, c, d]), four([e, f, g, h]));
    let halves = vuzp1q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(second));
    packed(vmovn_u16(halves))
}
