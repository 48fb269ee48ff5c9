//! Batched lookups of fingerprints of 8 and 16 bits, with the vectors of the crate `wide`, which are those of SSE2 or
//! NEON. A vector has four keys, each in a lane of 32 bits.
//!
//! A lookup takes the same steps as in [`columns`](crate::kernel::columns). Compiled for SSE2 or NEON, the loops of that
//! module take more instructions than this code (decision 4 has the figures). In a table that is not prefetched, both
//! buckets of four keys are read and compared before the next four keys are located. `bucket.rs` defines the overflow
//! flags of a bucket: each pair of slots has one, for the fingerprints of one class.

use crate::bucket::EmptyPair;
use crate::geometry::{Geometry, MIX_FACTORS};
use crate::kernel::columns::{self, Chunk, Column, Steps};
use crate::kernel::{Buckets, ContainsBatch};
use crate::table::{Table, bucket_at};
use crate::width::{Bits8, Bits16, Width};
use trommel_base::batch::{Fetch as _, FetchT0};
use trommel_base::with_fetch;
use wide::bytemuck::cast;
use wide::{i8x16, i16x8, i16x16, i32x4, i32x8, u8x16, u16x8, u32x4, u64x2, u64x4};

/// The number of vectors in a group of sixteen keys.
const FOURS: usize = 4;
/// The number of keys in a group.
const KEYS: usize = 4 * FOURS;

/// The kernel for a width, if there is one.
pub(in crate::kernel) fn contains_batch<W: Width>() -> Option<ContainsBatch> {
    match W::BITS {
        Bits8::BITS => Some(contains_batch_of::<Bits8>),
        Bits16::BITS => Some(contains_batch_of::<Bits16>),
        _ => None,
    }
}

fn contains_batch_of<L: Lanes>(buckets: Buckets<'_>, hashes: &[u64], found: &mut [u64]) {
    let table = columns::checked::<L>(buckets);
    let constants = Constants::<L>::new(&table.geometry, table.empty);
    let window = columns::window(table.bytes.len());
    let (chunks, _) = hashes.as_chunks();
    if window.hint.is_none() {
        in_cache(&constants, &table, chunks, found);
    } else {
        // SAFETY: the table comes from `checked`. `Constants` computes the same buckets as `Geometry`: a primary bucket
        // is the integer part of `hash / 2^64 · buckets`, hence below the number of buckets, and an alternate is
        // computed modulo that number.
        with_fetch!(window, F => unsafe {
            columns::pipelined::<L, F, _>(&table, chunks, found, constants);
        });
    }
    columns::contains_rest(&table, hashes, found);
}

/// Looks up whole chunks in a table that is not prefetched.
#[inline(always)]
fn in_cache<L: Lanes>(
    constants: &Constants<L>,
    table: &Table<L, &[u8]>,
    chunks: &[[u64; columns::KEYS]],
    found: &mut [u64],
) {
    for (hashes, found) in chunks.iter().zip(found) {
        FetchT0::keys_behind(hashes);
        let mut bits = 0;
        for (i, hashes) in hashes.as_chunks::<KEYS>().0.iter().enumerate() {
            let mut missing = [u32x4::ZERO; FOURS];
            // A loop, since the compiler would not inline a closure of `array::from_fn`.
            for (hashes, missing) in hashes.as_chunks().0.iter().zip(&mut missing) {
                // SAFETY: the table comes from `checked`, as in `contains_batch_of`.
                *missing = unsafe { constants.missing(table.bytes, hashes) };
            }
            bits |= u64::from(packed(missing) ^ 0xFFFF) << (KEYS * i);
        }
        *found = bits;
    }
}

/// Operations on the buckets of four keys, for fingerprints of a width.
trait Lanes: Width {
    /// The buckets of four keys.
    type Four: Copy;

    fn four(words: [Self::Word; 4]) -> Self::Four;
    /// Replaces 0, which marks an empty slot, by 1.
    fn nonzero(fingerprints: u32x4) -> u32x4;
    /// Four copies of each key's fingerprint.
    fn fourfold(fingerprints: u32x4) -> Self::Four;
    /// A lane for each key: 0 if no slot of the bucket has the key's fingerprint.
    fn equal(words: Self::Four, wanted: Self::Four) -> u32x4;
    /// A lane for each key: 0 if the flag of the class of the key's fingerprint is not set in the bucket.
    fn flagged(words: Self::Four, wanted: Self::Four, least_set: Self::Four) -> u32x4;
}

impl Lanes for Bits8 {
    type Four = u8x16;

    #[inline(always)]
    fn four(words: [u32; 4]) -> u8x16 {
        cast(u32x4::new(words))
    }

    #[inline(always)]
    fn nonzero(fingerprints: u32x4) -> u32x4 {
        cast(cast::<_, u8x16>(fingerprints).max(cast(u32x4::splat(1))))
    }

    #[inline(always)]
    fn fourfold(fingerprints: u32x4) -> u8x16 {
        let twofold = fingerprints | fingerprints << 8u32;
        cast(twofold | twofold << 16u32)
    }

    #[inline(always)]
    fn equal(words: u8x16, wanted: u8x16) -> u32x4 {
        cast(words.simd_eq(wanted))
    }

    #[inline(always)]
    fn flagged(words: u8x16, wanted: u8x16, least_set: u8x16) -> u32x4 {
        // Has the second byte of each pair of slots where `words` has the first.
        let odd: u8x16 = cast(cast::<_, u16x8>(words) >> 8u32);
        let is_set = words.max(odd.max(least_set)).simd_eq(words);
        // The pair of class 0 begins at the first byte of a bucket, and the pair of class 1 at the third. The number 2,
        // for the other two bytes, equals no class.
        let class_of_slot = u8x16::new(core::array::from_fn(|i| [0, 2, 1, 2][i % 4]));
        cast(is_set & (wanted & u8x16::splat(1)).simd_eq(class_of_slot))
    }
}

impl Lanes for Bits16 {
    /// The buckets of the first two keys and of the last two.
    type Four = [u16x8; 2];

    #[inline(always)]
    fn four([a, b, c, d]: [u64; 4]) -> [u16x8; 2] {
        [cast(u64x2::new([a, b])), cast(u64x2::new([c, d]))]
    }

    #[inline(always)]
    fn nonzero(fingerprints: u32x4) -> u32x4 {
        fingerprints - fingerprints.simd_eq(u32x4::ZERO)
    }

    #[inline(always)]
    fn fourfold(fingerprints: u32x4) -> [u16x8; 2] {
        let twofold = fingerprints | fingerprints << 16u32;
        [cast(twofold.unpack_lo(twofold)), cast(twofold.unpack_hi(twofold))]
    }

    #[inline(always)]
    fn equal(words: [u16x8; 2], wanted: [u16x8; 2]) -> u32x4 {
        any_of_halves([0, 1].map(|i: usize| words[i].simd_eq(wanted[i])))
    }

    #[inline(always)]
    fn flagged(words: [u16x8; 2], wanted: [u16x8; 2], least_set: [u16x8; 2]) -> u32x4 {
        let class_of_slot = u16x8::new(core::array::from_fn(|i| [0, 2, 1, 2][i % 4]));
        any_of_halves([0, 1].map(|i: usize| {
            let odd: u16x8 = cast(cast::<_, u32x4>(words[i]) >> 16u32);
            // SSE2 lacks the maximum of unsigned numbers of 16 bits, but has a difference that stops at 0.
            let is_set = odd.saturating_sub(words[i]) | least_set[i].saturating_sub(words[i]);
            let is_set = is_set.simd_eq(u16x8::ZERO);
            is_set & (wanted[i] & u16x8::splat(1)).simd_eq(class_of_slot)
        }))
    }
}

/// `first` has two lanes of 32 bits for each of the first two keys, and `last` for each of the other two. Returns a lane
/// for each key: the OR of its two lanes.
#[inline(always)]
fn any_of_halves([first, last]: [u16x8; 2]) -> u32x4 {
    let (first, last): ([u32; 4], [u32; 4]) = (cast(first), cast(last));
    let even = u32x4::new([first[0], first[2], last[0], last[2]]);
    even | u32x4::new([first[1], first[3], last[1], last[3]])
}

/// The constants of a table, each in all lanes of a vector.
#[derive(Clone, Copy, Debug)]
struct Constants<L: Lanes> {
    buckets: u32x4,
    fingerprint_shift: u32,
    half_span: u16x8,
    doublings: u32,
    /// The shortest offset between a bucket and its alternate.
    step: u32x4,
    /// See [`EmptyPair::least_set`].
    least_set: L::Four,
}

impl<L: Lanes> Constants<L> {
    #[inline(always)]
    fn new(geometry: &Geometry, empty: EmptyPair) -> Self {
        Self {
            buckets: u32x4::splat(geometry.buckets as u32),
            fingerprint_shift: geometry.fingerprint_shift(),
            half_span: u16x8::splat(geometry.half_span()),
            doublings: geometry.doublings,
            step: u32x4::splat(1 << geometry.doublings),
            least_set: L::fourfold(u32x4::splat(empty.least_set())),
        }
    }

    /// The primary buckets and the fingerprints. See [`Geometry::split`].
    #[inline(always)]
    fn locate(&self, hashes: &[u64; 4]) -> (u32x4, u32x4) {
        let points = [0, 2].map(|i: usize| self.fixed_points([hashes[i], hashes[i + 1]]));
        let [a, b]: [[u32; 4]; 2] = cast(points);
        let primaries = u32x4::new([a[1], a[3], b[1], b[3]]);
        let [a, b]: [[u32; 4]; 2] = cast(points.map(|two| two >> self.fingerprint_shift));
        let fingerprints = u32x4::new([a[0], a[2], b[0], b[2]]);
        let mask = u32x4::splat(u32::MAX >> (32 - L::BITS));
        (primaries, L::nonzero(fingerprints & mask))
    }

    /// See [`Geometry::fixed_point`].
    #[inline(always)]
    fn fixed_points(&self, hashes: [u64; 2]) -> u64x2 {
        let products = cast::<_, u32x4>(u64x2::new(hashes)).widening_mul(self.buckets);
        // For each of the two hashes, the product of its low half, and then the product of its high half.
        let [first, second]: [u64x2; 2] = cast::<u64x4, _>(products);
        (first.unpack_lo(second) >> 32u32) + first.unpack_hi(second)
    }

    /// A lane for each key: all ones if the table does not hold the key, otherwise zero.
    ///
    /// # Safety
    /// The caller must ensure that the table has the length of the geometry.
    #[inline(always)]
    unsafe fn missing(&self, table: &[u8], hashes: &[u64; 4]) -> u32x4 {
        let (primaries, fingerprints) = self.locate(hashes);
        let alternates = self.alternates(primaries, fingerprints);
        // SAFETY: both buckets of a key are in the table, as in `contains_batch_of`.
        let (here, there) = unsafe { (read::<L>(table, primaries), read::<L>(table, alternates)) };
        let wanted = L::fourfold(fingerprints);
        let clear = L::flagged(here, wanted, self.least_set).simd_eq(u32x4::ZERO);
        let held = L::equal(here, wanted) | L::equal(there, wanted) & !clear;
        held.simd_eq(u32x4::ZERO)
    }

    /// See [`Geometry::alternate`].
    #[inline(always)]
    fn alternates(&self, primaries: u32x4, fingerprints: u32x4) -> u32x4 {
        // The upper half of each lane stays 0.
        let once = cast::<_, u16x8>(fingerprints) * u16x8::splat(MIX_FACTORS[0]);
        let once = once ^ once >> 7u32;
        let mixed = once * u16x8::splat(MIX_FACTORS[1]);
        let half_offsets: u32x4 = cast(mixed.mul_keep_high(self.half_span));
        let offsets = (half_offsets << (self.doublings + 1)) + self.step;
        let is_even = (primaries & self.step).simd_eq(u32x4::ZERO);
        // `there` is the alternate or, if it is negative, the alternate minus the number of buckets. There are at most
        // 2^31 buckets, so the highest bit is the sign.
        let step = (is_even & (offsets + offsets - self.buckets)) - offsets;
        let there = primaries + step;
        let is_below: i32x4 = cast::<_, i32x4>(there).simd_lt(i32x4::ZERO);
        there + (cast::<_, u32x4>(is_below) & self.buckets)
    }
}

impl<L: Lanes> Steps<L> for Constants<L> {
    type Fingerprint = u32;

    #[inline(always)]
    fn locate(&self, keys: &mut Chunk<u32>, hashes: &[u64; columns::KEYS]) {
        for i in 0..columns::KEYS / 4 {
            let (primaries, fingerprints) = self.locate(&hashes.as_chunks().0[i]);
            keys.buckets.as_chunks_mut().0[i] = primaries.to_array();
            keys.fingerprints.as_chunks_mut().0[i] = fingerprints.to_array();
        }
    }

    #[inline(always)]
    fn compare(&self, keys: &Chunk<u32>, words: &Column<L::Word>) -> [u64; 2] {
        let [mut here, mut flagged] = [0; 2];
        for i in 0..columns::KEYS / KEYS {
            let [mut missing, mut clear] = [[u32x4::ZERO; FOURS]; 2];
            for j in 0..FOURS {
                let at = FOURS * i + j;
                let wanted = L::fourfold(u32x4::new(keys.fingerprints.as_chunks().0[at]));
                let words = L::four(words.as_chunks().0[at]);
                missing[j] = L::equal(words, wanted).simd_eq(u32x4::ZERO);
                clear[j] = L::flagged(words, wanted, self.least_set).simd_eq(u32x4::ZERO);
            }
            here |= u64::from(packed(missing) ^ 0xFFFF) << (KEYS * i);
            flagged |= u64::from(packed(clear) ^ 0xFFFF) << (KEYS * i);
        }
        [here, flagged]
    }

    #[inline(always)]
    fn alternates(&self, keys: &Chunk<u32>) -> Column<u32> {
        let mut alternates = [0; columns::KEYS];
        for i in 0..columns::KEYS / 4 {
            let primaries = u32x4::new(keys.buckets.as_chunks().0[i]);
            let fingerprints = u32x4::new(keys.fingerprints.as_chunks().0[i]);
            alternates.as_chunks_mut().0[i] = self.alternates(primaries, fingerprints).to_array();
        }
        alternates
    }
}

/// Reads the buckets of four keys.
///
/// # Safety
/// The caller must ensure that the table has all of the buckets.
#[inline(always)]
unsafe fn read<L: Lanes>(table: &[u8], buckets: u32x4) -> L::Four {
    let buckets = buckets.to_array();
    L::four(core::array::from_fn(|i| {
        let at = table.as_ptr().wrapping_add(bucket_at::<L>(buckets[i]));
        // SAFETY: the caller guarantees that the table has the bucket.
        L::first(unsafe { at.cast::<L::Word>().read_unaligned() })
    }))
}

/// One bit for each of sixteen lanes. The caller must ensure that each lane is all ones or zero.
#[inline(always)]
fn packed(fours: [u32x4; FOURS]) -> u32 {
    let [a, b]: [i32x8; 2] = cast(fours);
    let halves = [i16x8::from_i32x8_saturate(a), i16x8::from_i32x8_saturate(b)];
    let bytes: i8x16 = i8x16::from_i16x16_saturate(cast::<[i16x8; 2], i16x16>(halves));
    cast::<_, u8x16>(bytes).to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Entry;
    use alloc::vec::Vec;
    use trommel_testkit::Splitmix;

    fn agree<L: Lanes>(geometry: &Geometry, hashes: &[u64; columns::KEYS]) {
        let constants = Constants::<L>::new(geometry, EmptyPair::Clear);
        let mut keys = Chunk::none();
        Steps::locate(&constants, &mut keys, hashes);
        let alternates = Steps::alternates(&constants, &keys);
        for (i, hash) in hashes.iter().enumerate() {
            let (bucket, fingerprint) = geometry.split(*hash);
            let alternate = geometry.alternate(bucket, fingerprint);
            let found = (keys.buckets[i], keys.fingerprints[i], alternates[i]);
            assert_eq!(found, (bucket, fingerprint, alternate), "{geometry:?} {hash:x}");
        }
    }

    #[test]
    fn buckets_and_fingerprints_are_those_of_the_geometry() {
        let mut random = Splitmix::new(76);
        for fingerprint_bits in [8, 16] {
            let geometry = |buckets, doublings| Geometry { buckets, fingerprint_bits, doublings };
            let sizes = [2, 6, 1000, 1 << 16, (1 << 17) + 2, 1 << 31].map(|size| geometry(size, 0));
            let most = fingerprint_bits - 4;
            for geometry in sizes.into_iter().chain((1..=most).map(|d| geometry(96 << d, d))) {
                for _ in 0..if cfg!(miri) { 2 } else { 200 } {
                    let mut hashes = core::array::from_fn(|_| random.word());
                    [hashes[0], hashes[1]] = [0, u64::MAX];
                    if fingerprint_bits == 8 {
                        agree::<Bits8>(&geometry, &hashes);
                    } else {
                        agree::<Bits16>(&geometry, &hashes);
                    }
                }
            }
        }
    }

    /// Compares lookups in a table of random bytes, which also has a third of the keys, with those of [`Table`]. Both
    /// the lookups that prefetch and those that do not are called, whatever the size of the table.
    fn answers_agree<L: Lanes>(random: &mut Splitmix, geometry: Geometry, empty: EmptyPair) {
        let hashes: Vec<u64> = (0..3 * columns::KEYS + 5).map(|_| random.word()).collect();
        let mut bytes: Vec<u8> =
            (0..geometry.table_bytes()).map(|_| random.word() as u8 & 3).collect();
        for hash in hashes.iter().step_by(3) {
            let (primary, fingerprint) = geometry.split(*hash);
            let buckets = [primary, geometry.alternate(primary, fingerprint)];
            let (bucket, slot) = (buckets[random.below(2) as usize], random.below(4) as usize);
            let width = L::BITS as usize / 8;
            let at = bucket_at::<L>(bucket) + slot * width;
            bytes[at..at + width].copy_from_slice(&fingerprint.to_le_bytes()[..width]);
        }
        let buckets = Buckets { geometry: &geometry, table: &bytes, empty };
        let table = columns::checked::<L>(buckets);
        let (chunks, _) = hashes.as_chunks();
        let [mut in_cache, mut prefetched] = [[0; 3], [0; 3]];
        let constants = Constants::<L>::new(&geometry, empty);
        super::in_cache(&constants, &table, chunks, &mut in_cache);
        // SAFETY: the table comes from `checked`, and `constants` have its geometry.
        unsafe {
            columns::pipelined::<L, FetchT0, _>(&table, chunks, &mut prefetched, constants);
        }
        let mut batch = [0; 4];
        contains_batch_of::<L>(buckets, &hashes, &mut batch);
        for (i, hash) in hashes.iter().enumerate() {
            let expected = table.contains(Entry::of_hash(&geometry, *hash));
            for found in [&in_cache[..], &prefetched, &batch] {
                if let Some(word) = found.get(i / 64) {
                    assert_eq!(word >> (i % 64) & 1 == 1, expected, "{geometry:?} {hash:x}");
                }
            }
        }
    }

    #[test]
    fn lookups_answer_as_those_of_the_table() {
        let mut random = Splitmix::new(77);
        for round in 0..if cfg!(miri) { 4 } else { 400 } {
            let fingerprint_bits = if round % 2 == 0 { 8 } else { 16 };
            let doublings = [0, 0, 1, 4][random.below(4) as usize];
            let buckets = (2 + 2 * random.below(40)) << doublings;
            let geometry = Geometry { buckets, fingerprint_bits, doublings };
            for empty in [EmptyPair::Clear, EmptyPair::Unknown] {
                if fingerprint_bits == 8 {
                    answers_agree::<Bits8>(&mut random, geometry, empty);
                } else {
                    answers_agree::<Bits16>(&mut random, geometry, empty);
                }
            }
        }
    }
}
