//! Lookups with NEON, for fingerprints of 8 bits: sixteen keys in a group, four buckets in a vector.
//!
//! A lookup has the same steps as in [`columns`](crate::kernel::columns). In a table that is not prefetched, both
//! buckets of every key of a group are read and compared with the key's fingerprint, and all intermediate results of
//! the group stay in registers. `docs/decisions/0076-neon.md` gives the numbers of instructions.

use crate::bucket::EmptyPair;
use crate::geometry::{Geometry, MIX_FACTORS};
use crate::kernel::columns::{self, Chunk, Column, Steps};
use crate::kernel::{Buckets, ContainsBatch};
use crate::table::bucket_at;
use crate::width::{Bits8, Width};
use core::arch::aarch64::*;
use trommel_base::batch::{Fetch as _, FetchT0};
use trommel_base::with_fetch;

/// The number of keys in a group.
const KEYS: usize = 16;
/// The number of groups in a chunk of [`columns`].
const GROUPS: usize = columns::KEYS / KEYS;
/// A number of 32 bits for each key of a group.
type Numbers = [uint32x4_t; KEYS / 4];
/// For each key of a group, the four bytes of a bucket.
type Words = [uint8x16_t; KEYS / 4];

/// The kernel for a width, if there is one.
pub(in crate::kernel) fn contains_batch<W: Width>() -> Option<ContainsBatch> {
    (W::BITS == Bits8::BITS).then_some(contains_batch_8)
}

#[target_feature(enable = "neon")]
fn contains_batch_8(buckets: Buckets<'_>, hashes: &[u64], found: &mut [u64]) {
    let table = columns::checked::<Bits8>(buckets);
    let constants = Constants::new(&table.geometry, table.empty);
    let window = columns::window(table.bytes.len());
    let (chunks, _) = hashes.as_chunks();
    if window.hint.is_none() {
        in_cache(&constants, table.bytes, chunks, found);
    } else {
        // SAFETY: the table comes from `checked`. `Constants` computes the same buckets as `Geometry`: a primary bucket
        // is the integer part of `hash / 2^64 · buckets`, hence below the number of buckets, and an alternate is
        // computed modulo that number.
        with_fetch!(window, F => unsafe {
            columns::pipelined::<Bits8, F, _>(&table, chunks, found, constants);
        });
    }
    columns::contains_rest(&table, hashes, found);
}

/// Looks up whole chunks in a table that is not prefetched. The caller must ensure that the length of the table is
/// right, as [`columns::checked`] does.
#[inline]
#[target_feature(enable = "neon")]
fn in_cache(
    constants: &Constants,
    table: &[u8],
    chunks: &[[u64; columns::KEYS]],
    found: &mut [u64],
) {
    for (hashes, found) in chunks.iter().zip(found) {
        FetchT0::keys_behind(hashes);
        let (groups, _) = hashes.as_chunks();
        let mut answers = [vdupq_n_u8(0); GROUPS];
        for (hashes, answers) in groups.iter().zip(&mut answers) {
            let Located { primaries, fingerprints } = constants.locate(hashes);
            let alternates = constants.alternates(primaries, fingerprints);
            // SAFETY: both buckets of a key are in the table, as in `contains_batch_8`.
            let (here, there) = unsafe { (read(table, primaries), read(table, alternates)) };
            let wanted = each_fourfold(fingerprints);
            let flagged = constants.flagged(here, fingerprints);
            *answers = by_key(core::array::from_fn(|i| {
                let is_there = vandq_u8(vceqq_u8(there[i], wanted[i]), flagged[i]);
                vorrq_u8(vceqq_u8(here[i], wanted[i]), is_there)
            }));
        }
        *found = packed(answers);
    }
}

/// The primary buckets and fingerprints of a group of keys.
#[derive(Clone, Copy, Debug)]
struct Located {
    primaries: Numbers,
    fingerprints: uint8x16_t,
}

/// The constants of a table, each in all lanes of a vector.
#[derive(Clone, Copy, Debug)]
struct Constants {
    buckets: uint32x4_t,
    /// Minus [`Geometry::fingerprint_shift`]: a shift to the left by this negative number is a shift to the right.
    fingerprint_shift: int64x2_t,
    half_span: uint16x8_t,
    /// The shortest offset between a bucket and its alternate.
    step: uint32x4_t,
    double_step: uint16x8_t,
    /// See [`EmptyPair::least_set`].
    least_set: uint8x16_t,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(geometry: &Geometry, empty: EmptyPair) -> Self {
        Self {
            buckets: vdupq_n_u32(geometry.buckets as u32),
            fingerprint_shift: vdupq_n_s64(-i64::from(geometry.fingerprint_shift())),
            half_span: vdupq_n_u16(geometry.half_span()),
            step: vdupq_n_u32(1 << geometry.doublings),
            double_step: vdupq_n_u16(2 << geometry.doublings),
            least_set: vdupq_n_u8(empty.least_set() as u8),
        }
    }

    /// See [`Geometry::split`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn locate(&self, hashes: &[u64; KEYS]) -> Located {
        let (fours, _) = hashes.as_chunks::<4>();
        let fixed_points: [_; KEYS / 4] = core::array::from_fn(|i| self.fixed_points(&fours[i]));
        let primaries = fixed_points
            .map(|[a, b]| vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
        let shifted =
            |fixed_point| vreinterpretq_u32_u64(vshlq_u64(fixed_point, self.fingerprint_shift));
        let [a, b, c, d] =
            fixed_points.map(|[a, b]| vreinterpretq_u16_u32(vuzp1q_u32(shifted(a), shifted(b))));
        let halves = [vuzp1q_u16(a, b), vuzp1q_u16(c, d)].map(|half| vreinterpretq_u8_u16(half));
        let fingerprints = vmaxq_u8(vuzp1q_u8(halves[0], halves[1]), vdupq_n_u8(1));
        Located { primaries, fingerprints }
    }

    /// See [`Geometry::fixed_point`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn fixed_points(&self, hashes: &[u64; 4]) -> [uint64x2_t; 2] {
        // SAFETY: reads the 32 bytes of the array.
        let uint32x4x2_t(low, high) = unsafe { vld2q_u32(hashes.as_ptr().cast()) };
        let of_low = [
            vmull_u32(vget_low_u32(low), vget_low_u32(self.buckets)),
            vmull_high_u32(low, self.buckets),
        ];
        let of_high = [
            vmull_u32(vget_low_u32(high), vget_low_u32(self.buckets)),
            vmull_high_u32(high, self.buckets),
        ];
        [0, 1].map(|i: usize| vsraq_n_u64::<32>(of_high[i], of_low[i]))
    }

    /// See [`Geometry::alternate`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn alternates(&self, primaries: Numbers, fingerprints: uint8x16_t) -> Numbers {
        let a = self.half_offsets(vmovl_u8(vget_low_u8(fingerprints)));
        let b = self.half_offsets(vmovl_high_u8(fingerprints));
        let double_step = vget_low_u16(self.double_step);
        let offsets = [
            vmlal_u16(self.step, vget_low_u16(a), double_step),
            vmlal_high_u16(self.step, a, self.double_step),
            vmlal_u16(self.step, vget_low_u16(b), double_step),
            vmlal_high_u16(self.step, b, self.double_step),
        ];
        core::array::from_fn(|i| {
            let is_odd = vtstq_u32(primaries[i], self.step);
            let step = vbslq_u32(is_odd, vsubq_u32(self.buckets, offsets[i]), offsets[i]);
            let there = vaddq_u32(primaries[i], step);
            vminq_u32(there, vsubq_u32(there, self.buckets))
        })
    }

    /// See [`Geometry::half_offset`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn half_offsets(&self, fingerprints: uint16x8_t) -> uint16x8_t {
        let once = vmulq_u16(fingerprints, vdupq_n_u16(MIX_FACTORS[0]));
        let once = veorq_u16(once, vshrq_n_u16::<7>(once));
        let mixed = vmulq_u16(once, vdupq_n_u16(MIX_FACTORS[1]));
        let low = vmull_u16(vget_low_u16(mixed), vget_low_u16(self.half_span));
        let high = vmull_high_u16(mixed, self.half_span);
        vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high))
    }

    /// Whether the flag of each key's class is set in the key's primary bucket. If it is set, the key's four bytes of
    /// the result are all ones, otherwise zero.
    #[inline]
    #[target_feature(enable = "neon")]
    fn flagged(&self, primaries: Words, fingerprints: uint8x16_t) -> Words {
        // In `class_of_slot` and `classes`, 1 stands for class 0, 2 for class 1, and 0 for no class. The flag of a
        // pair is tested at the pair's first slot: slot 0 for class 0, and slot 2 for class 1. So slots 1 and 3 have no
        // class here.
        let one = vdupq_n_u8(1);
        let class_of_slot = bytes(core::array::from_fn(|i| [1, 0, 2, 0][i % 4]));
        let classes = each_fourfold(vaddq_u8(vandq_u8(fingerprints, one), one));
        core::array::from_fn(|i| {
            let other_of_pair = vrev16q_u8(primaries[i]);
            let flags = vcgeq_u8(primaries[i], vmaxq_u8(other_of_pair, self.least_set));
            let of_class = vceqq_u8(classes[i], class_of_slot);
            vreinterpretq_u8_u32(vtstq_u32(
                vreinterpretq_u32_u8(flags),
                vreinterpretq_u32_u8(of_class),
            ))
        })
    }

    /// See [`Steps::locate`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn locate_chunk(&self, keys: &mut Chunk<u8>, hashes: &[u64; columns::KEYS]) {
        let Chunk { buckets, fingerprints } = keys;
        let to = buckets.as_chunks_mut::<KEYS>().0.iter_mut();
        let to = to.zip(fingerprints.as_chunks_mut::<KEYS>().0);
        for (hashes, (buckets, fingerprints)) in hashes.as_chunks().0.iter().zip(to) {
            let located = self.locate(hashes);
            store(located.primaries, buckets);
            // SAFETY: writes the 16 bytes of the array.
            unsafe { vst1q_u8(fingerprints.as_mut_ptr(), located.fingerprints) };
        }
    }

    /// See [`Steps::compare`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn compare_chunk(&self, keys: &Chunk<u8>, words: &Column<u32>) -> [u64; 2] {
        let mut here = [vdupq_n_u8(0); GROUPS];
        let mut flagged = here;
        for (i, fingerprints) in keys.fingerprints.as_chunks().0.iter().enumerate() {
            let fingerprints = bytes(*fingerprints);
            let words = load(&words.as_chunks().0[i]).map(|four| vreinterpretq_u8_u32(four));
            let wanted = each_fourfold(fingerprints);
            here[i] = by_key(core::array::from_fn(|i| vceqq_u8(words[i], wanted[i])));
            flagged[i] = by_key(self.flagged(words, fingerprints));
        }
        [packed(here), packed(flagged)]
    }

    /// See [`Steps::alternates`].
    #[inline]
    #[target_feature(enable = "neon")]
    fn alternates_of_chunk(&self, keys: &Chunk<u8>) -> Column<u32> {
        let mut alternates = [0; columns::KEYS];
        for (i, to) in alternates.as_chunks_mut().0.iter_mut().enumerate() {
            let primaries = load(&keys.buckets.as_chunks().0[i]);
            store(self.alternates(primaries, bytes(keys.fingerprints.as_chunks().0[i])), to);
        }
        alternates
    }
}

impl Steps<Bits8> for Constants {
    type Fingerprint = u8;

    #[inline(always)]
    fn locate(&self, keys: &mut Chunk<u8>, hashes: &[u64; columns::KEYS]) {
        // SAFETY: `Constants` are only made in functions with NEON.
        unsafe { self.locate_chunk(keys, hashes) }
    }

    #[inline(always)]
    fn compare(&self, keys: &Chunk<u8>, words: &Column<u32>) -> [u64; 2] {
        // SAFETY: as in `locate`.
        unsafe { self.compare_chunk(keys, words) }
    }

    #[inline(always)]
    fn alternates(&self, keys: &Chunk<u8>) -> Column<u32> {
        // SAFETY: as in `locate`.
        unsafe { self.alternates_of_chunk(keys) }
    }
}

/// Reads the buckets of a group of keys.
///
/// # Safety
/// The caller must ensure that the table has all of the buckets.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn read(table: &[u8], buckets: Numbers) -> Words {
    let read = |bucket: u32| {
        // SAFETY: the caller guarantees that the table has the bucket.
        unsafe { table.as_ptr().add(bucket_at::<Bits8>(bucket)).cast::<u32>().read_unaligned() }
    };
    // A loop: the compiler does not inline the closure of `array::map`.
    let mut words = [vdupq_n_u8(0); KEYS / 4];
    for (words, four) in words.iter_mut().zip(buckets) {
        let four = [
            read(vgetq_lane_u32::<0>(four)),
            read(vgetq_lane_u32::<1>(four)),
            read(vgetq_lane_u32::<2>(four)),
            read(vgetq_lane_u32::<3>(four)),
        ];
        // SAFETY: reads the 16 bytes of the array.
        *words = vreinterpretq_u8_u32(unsafe { vld1q_u32(four.as_ptr()) });
    }
    words
}

/// Four copies of the byte of each key.
#[inline]
#[target_feature(enable = "neon")]
fn each_fourfold(keys: uint8x16_t) -> Words {
    [0, 1, 2, 3]
        .map(|i| vqtbl1q_u8(keys, bytes(core::array::from_fn(|byte| 4 * i + byte as u8 / 4))))
}

/// For each key of a group, the largest of its four bytes.
#[inline]
#[target_feature(enable = "neon")]
fn by_key([a, b, c, d]: Words) -> uint8x16_t {
    vpmaxq_u8(vpmaxq_u8(a, b), vpmaxq_u8(c, d))
}

/// One bit for each of 64 bytes. The caller must ensure that each byte is all ones or zero.
#[inline]
#[target_feature(enable = "neon")]
fn packed(groups: [uint8x16_t; GROUPS]) -> u64 {
    let bits = bytes(core::array::from_fn(|i| 1 << (i % 8)));
    let [a, b, c, d] = groups.map(|group| vandq_u8(group, bits));
    let pairs = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
}

#[inline]
#[target_feature(enable = "neon")]
fn bytes(bytes: [u8; 16]) -> uint8x16_t {
    // SAFETY: reads the 16 bytes of the array.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(numbers: &[u32; KEYS]) -> Numbers {
    // SAFETY: reads the 64 bytes of the array.
    let uint32x4x4_t(a, b, c, d) = unsafe { vld1q_u32_x4(numbers.as_ptr()) };
    [a, b, c, d]
}

#[inline]
#[target_feature(enable = "neon")]
fn store([a, b, c, d]: Numbers, to: &mut [u32; KEYS]) {
    // SAFETY: writes the 64 bytes of the array.
    unsafe { vst1q_u32_x4(to.as_mut_ptr(), uint32x4x4_t(a, b, c, d)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use trommel_simd::Isa;
    use trommel_testkit::Splitmix;

    fn geometries() -> impl Iterator<Item = Geometry> {
        let geometry = |buckets, doublings| Geometry { buckets, fingerprint_bits: 8, doublings };
        let sizes = [2, 6, 1000, 1 << 16, (1 << 17) + 2, 1 << 31];
        let undoubled = sizes.into_iter().map(move |buckets| geometry(buckets, 0));
        undoubled.chain((1..=4).map(move |doublings| geometry(96 << doublings, doublings)))
    }

    #[target_feature(enable = "neon")]
    fn agree(geometry: &Geometry, hashes: &[u64; columns::KEYS]) {
        let constants = Constants::new(geometry, EmptyPair::Clear);
        let mut keys = Chunk::none();
        constants.locate_chunk(&mut keys, hashes);
        let alternates = constants.alternates_of_chunk(&keys);
        for (i, hash) in hashes.iter().enumerate() {
            let (bucket, fingerprint) = geometry.split(*hash);
            let alternate = geometry.alternate(bucket, fingerprint);
            let found = (keys.buckets[i], u32::from(keys.fingerprints[i]), alternates[i]);
            assert_eq!(found, (bucket, fingerprint, alternate), "{geometry:?} {hash:x}");
        }
    }

    #[test]
    fn buckets_and_fingerprints_are_those_of_the_geometry() {
        assert!(Isa::Neon.is_available());
        let mut random = Splitmix::new(76);
        for geometry in geometries() {
            for _ in 0..200 {
                let mut hashes = core::array::from_fn(|_| random.word());
                [hashes[0], hashes[1]] = [0, u64::MAX];
                // SAFETY: the assertion checked that the machine has NEON.
                unsafe { agree(&geometry, &hashes) };
            }
        }
    }
}
