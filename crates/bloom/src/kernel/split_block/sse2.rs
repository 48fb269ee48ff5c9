//! Split-block kernels with SSE2, which every x86-64 processor has: the portable kernels of x86-64.
//!
//! SSE2 cannot shift each lane by its own number of bits. But a bit whose number is `n` is the power `2^n`. As a
//! floating-point number, this power has the exponent `n`, and one instruction converts four such numbers to integers.
//! (Decision 86 has the figures.)

use super::{BLOCK_BYTES, SALTS, SplitBlockBody};
use crate::geometry::Geometry;
use crate::kernel::groups::run_groups;
use crate::kernel::portable::{self, GROUP};
use crate::kernel::{BatchKernels, bytes_of};
use core::arch::x86_64::*;
use trommel_base::batch::{WORD_BYTES, Window};
use trommel_base::with_fetch;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// The bits of a product that number a key's bit in a lane.
const NUMBER: i32 = 31 << 27;
/// A number of type `f32` has 23 bits below its exponent.
const NUMBER_TO_EXPONENT: i32 = 27 - 23;
/// The bits of 1 as a number of type `f32`.
const ONE: i32 = 1.0f32.to_bits() as i32;

/// The bits of a key, in the two halves of a block. Always inlined, which Rust does not allow for a function with the
/// attribute `target_feature`.
#[inline(always)]
fn mask(hash: u64) -> [__m128i; 2] {
    // SAFETY: the target guarantees SSE2.
    let key = unsafe { _mm_set1_epi32(hash as i32) };
    [half_mask::<0>(key), half_mask::<4>(key)]
}

/// The bits of a key in the four lanes from `FIRST` on. `key` has the low half of the key's hash in each lane.
#[inline(always)]
fn half_mask<const FIRST: usize>(key: __m128i) -> __m128i {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| SALTS[FIRST + i].cast_signed());
    // SAFETY: the target guarantees SSE2.
    unsafe {
        // The number of a key's bit in a lane is the five highest bits of the low half of a product.
        let even = _mm_mul_epu32(key, _mm_setr_epi32(a, 0, c, 0));
        let odd = _mm_mul_epu32(key, _mm_setr_epi32(b, 0, d, 0));
        // A shuffle, since the compiler replaces a shift of a product by two further multiplications.
        let odd = _mm_shuffle_epi32::<0b10_10_00_00>(odd);
        let even = _mm_and_si128(even, _mm_setr_epi32(NUMBER, 0, NUMBER, 0));
        let odd = _mm_and_si128(odd, _mm_setr_epi32(0, NUMBER, 0, NUMBER));
        // The number becomes the exponent.
        let exponents = _mm_srli_epi32::<NUMBER_TO_EXPONENT>(_mm_or_si128(even, odd));
        let powers = _mm_add_epi32(exponents, _mm_set1_epi32(ONE));
        // `2^31` is too large for an `i32`. For such numbers, the instruction returns 0x8000_0000, which is the bit 31.
        _mm_cvttps_epi32(_mm_castsi128_ps(powers))
    }
}

#[target_feature(enable = "sse2")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let found_bytes = bytes_of(found);
    let window = Window::for_table(table.len());
    with_fetch!(window, F => run_groups::<SplitBlockBody, F, _>(
        geometry,
        table,
        hashes,
        window,
        &mut (),
        |(), _, keys, places| *places = portable::locate::<SplitBlockBody>(geometry, keys),
        |(), group, keys, places| {
            let mut answers = 0;
            for i in 0..GROUP {
                let at = places[i] as usize * WORD_BYTES;
                // SAFETY: `portable::locate` returns a block below `geometry.units`, and the table has `units` blocks,
                // as `run_groups` asserts. The 32 bytes of one block are read.
                let [low, high] = unsafe {
                    let block = table.as_ptr().add(at).cast::<__m128i>();
                    [_mm_loadu_si128(block), _mm_loadu_si128(block.add(1))]
                };
                let bits = mask(keys[i]);
                let missing =
                    _mm_or_si128(_mm_andnot_si128(low, bits[0]), _mm_andnot_si128(high, bits[1]));
                let none = _mm_cmpeq_epi8(missing, _mm_setzero_si128());
                answers |= u8::from(_mm_movemask_epi8(none) == 0xFFFF) << i;
            }
            found_bytes[group] = answers;
        },
    ));
    portable::contains_rest::<SplitBlockBody>(geometry, table, hashes, found);
}

#[target_feature(enable = "sse2")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let whole = &raw const *table;
    let start = table.as_mut_ptr();
    let window = Window::for_table(whole.len());
    with_fetch!(window, F => run_groups::<SplitBlockBody, F, _>(
        geometry,
        whole,
        hashes,
        window,
        &mut (),
        |(), _, keys, places| *places = portable::locate::<SplitBlockBody>(geometry, keys),
        |(), _, keys, places| {
            // Inserts one key at a time, so that a key's store is visible to the next key of the same block.
            for (hash, place) in keys.iter().zip(places) {
                let bits = mask(*hash);
                // SAFETY: as in `contains_batch`; 32 bytes are read and written.
                unsafe {
                    let block = start.add(*place as usize * WORD_BYTES).cast::<__m128i>();
                    for (i, bits) in bits.into_iter().enumerate() {
                        let union = _mm_or_si128(_mm_loadu_si128(block.add(i)), bits);
                        _mm_storeu_si128(block.add(i), union);
                    }
                }
            }
        },
    ));
    const { assert!(BLOCK_BYTES == 2 * size_of::<__m128i>()) };
    portable::insert_rest::<SplitBlockBody>(geometry, table, hashes);
}
