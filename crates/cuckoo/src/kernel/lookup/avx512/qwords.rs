//! Lookups in buckets of six and eight bytes: fingerprints of 12 and 16 bits, eight keys per vector. A key's bucket
//! number and its fingerprint are each in the lower half of a lane of 64 bits.

use super::super::Located;
use super::lookup;
use crate::geometry::MIX_FACTORS;
use crate::kernel::{Buckets, scalar};
use crate::width::Width;
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window, run_stages};
use trommel_base::with_fetch;

const KEYS: usize = 8;
type Keys = u8;

lookup!();

/// Constants of a batch, the same in every lane.
#[derive(Clone, Copy)]
struct Shape {
    buckets: __m512i,
    fingerprint_shift: __m128i,
    fingerprint_mask: __m512i,
    half_span: __m512i,
    doublings: __m128i,
    /// The bit of a bucket's number that tells whether the bucket counts as odd. Before any doubling of the filter, it
    /// was the lowest bit.
    odd: __m512i,
    /// `EmptyPair::least_set`, in the highest bits of the lane.
    least_set: __m512i,
}

impl Shape {
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    fn new(buckets: Buckets<'_>) -> Self {
        let Buckets { geometry, empty, .. } = buckets;
        let bits = geometry.fingerprint_bits;
        let least_set = u64::from(empty.least_set()) << (64 - bits);
        Self {
            buckets: _mm512_set1_epi64(geometry.buckets.cast_signed()),
            fingerprint_shift: _mm_cvtsi32_si128(geometry.fingerprint_shift().cast_signed()),
            fingerprint_mask: _mm512_set1_epi64((1 << bits) - 1),
            half_span: _mm512_set1_epi64(geometry.half_span().into()),
            doublings: _mm_cvtsi32_si128(geometry.doublings.cast_signed()),
            odd: _mm512_set1_epi64(1 << geometry.doublings),
            least_set: _mm512_set1_epi64(least_set.cast_signed()),
        }
    }
}

/// Primary buckets and fingerprints.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn locate(shape: &Shape, hashes: &[u64; KEYS]) -> (__m512i, __m512i) {
    // SAFETY: reads the eight hashes of the array.
    let hashes = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hashes), shape.buckets);
    let low = _mm512_mul_epu32(hashes, shape.buckets);
    let fixed_point = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low));
    let bits = _mm512_srl_epi64(fixed_point, shape.fingerprint_shift);
    let fingerprints = _mm512_and_si512(bits, shape.fingerprint_mask);
    let fingerprints = _mm512_max_epu32(fingerprints, _mm512_set1_epi64(1));
    (_mm512_srli_epi64::<32>(fixed_point), fingerprints)
}

/// The alternate buckets: [`Geometry::alternate`](crate::Geometry) in lanes.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn alternates(shape: &Shape, buckets: __m512i, fingerprints: __m512i) -> __m512i {
    let [first, second] = core::array::from_fn(|i| _mm512_set1_epi64(MIX_FACTORS[i].into()));
    let once = _mm512_mullo_epi16(fingerprints, first);
    let mixed = _mm512_mullo_epi16(_mm512_xor_si512(once, _mm512_srli_epi16::<7>(once)), second);
    let half = _mm512_mulhi_epu16(mixed, shape.half_span);
    let offset = _mm512_or_si512(_mm512_slli_epi64::<1>(half), _mm512_set1_epi64(1));
    let offset = _mm512_sll_epi64(offset, shape.doublings);
    let is_odd = _mm512_test_epi64_mask(buckets, shape.odd);
    let forward = _mm512_mask_sub_epi64(offset, is_odd, shape.buckets, offset);
    let there = _mm512_add_epi64(buckets, forward);
    // Modulo `buckets`: if `there` is below `buckets`, the subtraction wraps to a huge number, and `there` is the
    // minimum. The upper half of `there` is 0, so minima of 32-bit lanes give the same result; minima of 64-bit lanes
    // take twice as long.
    _mm512_min_epu32(there, _mm512_sub_epi32(there, shape.buckets))
}

/// Reads the buckets of the lanes in `mask`.
///
/// # Safety
/// The caller must ensure that the buckets of these lanes are in the table.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
unsafe fn gather<W: Width>(table: *const u8, buckets: __m512i, mask: Keys) -> __m512i {
    let zero = _mm512_setzero_si512();
    // SAFETY: the caller promises that the buckets of the lanes in `mask` are in the table. Eight bytes are read from
    // the start of each. If buckets have only six bytes, padding follows the last bucket.
    unsafe {
        if W::BITS == 12 {
            let pairs_of_bytes = _mm512_add_epi64(buckets, _mm512_slli_epi64::<1>(buckets));
            _mm512_mask_i64gather_epi64::<2>(zero, mask, pairs_of_bytes, table.cast())
        } else {
            _mm512_mask_i64gather_epi64::<8>(zero, mask, buckets, table.cast())
        }
    }
}

/// The lanes whose bucket holds the fingerprint of the lane.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn matches<W: Width>(words: __m512i, fingerprints: __m512i) -> Keys {
    let ones: u64 = 1 | 1 << W::BITS | 1 << (2 * W::BITS) | 1 << (3 * W::BITS);
    let highs = ones << (W::BITS - 1);
    let fourfold = if W::BITS == 12 {
        let twofold = _mm512_mul_epu32(fingerprints, _mm512_set1_epi64(0x1001));
        _mm512_or_si512(twofold, _mm512_slli_epi64::<24>(twofold))
    } else {
        let first_bytes = _mm_set_epi64x(0x0908_0908_0908_0908, 0x0100_0100_0100_0100);
        _mm512_shuffle_epi8(fingerprints, _mm512_broadcast_i32x4(first_bytes))
    };
    let x = _mm512_xor_si512(words, fourfold);
    // The subtraction sets the highest bit of a slot that was 0; `& !x` drops the slots that had this bit set before.
    let zeros = _mm512_andnot_si512(x, _mm512_sub_epi64(x, _mm512_set1_epi64(ones.cast_signed())));
    _mm512_test_epi64_mask(zeros, _mm512_set1_epi64(highs.cast_signed()))
}

/// The lanes in whose bucket the flag of the fingerprint's class is set.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn flagged<W: Width>(shape: &Shape, words: __m512i, fingerprints: __m512i) -> Keys {
    let is_even = _mm512_testn_epi64_mask(fingerprints, _mm512_set1_epi64(1));
    // Slots 0 and 1 encode the flag of even fingerprints, and slots 2 and 3 that of odd ones. A lane of `odd_slots` has
    // the odd slot of the key's pair in the highest bits, and the even slot in the bits below. A lane of `even_slots`
    // has the even slot in the highest bits.
    let (odd_slots, even_slots) = if W::BITS == 12 {
        let of_class_1 = _mm512_slli_epi64::<16>(words);
        let odd_slots = _mm512_mask_slli_epi64::<40>(of_class_1, is_even, words);
        (odd_slots, _mm512_slli_epi64::<12>(odd_slots))
    } else {
        let odd_slots = _mm512_mask_slli_epi64::<32>(words, is_even, words);
        (odd_slots, _mm512_slli_epi64::<16>(odd_slots))
    };
    let below = _mm512_set1_epi64((u64::MAX >> W::BITS).cast_signed());
    let even_slots = _mm512_or_si512(even_slots, below);
    _mm512_cmpge_epu64_mask(even_slots, _mm512_max_epu64(odd_slots, shape.least_set))
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn store(lanes: __m512i, to: &mut [u32; KEYS]) {
    // SAFETY: writes the eight numbers of 32 bits of the array.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(lanes)) };
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn load(from: &[u32; KEYS]) -> __m512i {
    // SAFETY: reads the eight numbers of 32 bits of the array.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(from.as_ptr().cast()) })
}
