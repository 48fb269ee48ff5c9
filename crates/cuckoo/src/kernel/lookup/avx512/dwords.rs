//! Lookups in buckets of four bytes: fingerprints of 8 bits, sixteen keys per vector.

use super::super::Located;
use super::lookup;
use crate::geometry::MIX_FACTORS;
use crate::kernel::{Buckets, scalar};
use crate::width::Width;
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window, run_stages};
use trommel_base::with_fetch;

const KEYS: usize = 16;
type Keys = u16;

lookup!();

/// Constants of a batch, the same in every lane.
#[derive(Clone, Copy)]
struct Shape {
    /// The number of buckets, in 64-bit lanes for multiplications. `buckets` has the same number in 32-bit lanes.
    factor: __m512i,
    buckets: __m512i,
    fingerprint_shift: __m128i,
    half_span: __m512i,
    doublings: __m128i,
    /// The bit of a bucket's number that tells whether the bucket counts as odd. Before any doubling of the filter, it
    /// was the lowest bit.
    odd: __m512i,
    /// `EmptyPair::least_set`, in the highest byte of the lane.
    least_set: __m512i,
}

impl Shape {
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    fn new(buckets: Buckets<'_>) -> Self {
        let geometry = buckets.geometry;
        let number = geometry.buckets as u32;
        Self {
            factor: _mm512_set1_epi64(geometry.buckets.cast_signed()),
            buckets: _mm512_set1_epi32(number.cast_signed()),
            fingerprint_shift: _mm_cvtsi32_si128(geometry.fingerprint_shift().cast_signed()),
            half_span: _mm512_set1_epi32(geometry.half_span().into()),
            doublings: _mm_cvtsi32_si128(geometry.doublings.cast_signed()),
            odd: _mm512_set1_epi32(1 << geometry.doublings),
            least_set: _mm512_set1_epi32((buckets.empty.least_set() << 24).cast_signed()),
        }
    }
}

/// Primary buckets and fingerprints.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn locate(shape: &Shape, hashes: &[u64; KEYS]) -> (__m512i, __m512i) {
    let fixed_point = |hashes: &[u64; 8]| {
        // SAFETY: reads the eight hashes of the array.
        let hashes = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hashes), shape.factor);
        let low = _mm512_mul_epu32(hashes, shape.factor);
        _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low))
    };
    let halves = hashes.as_chunks().0;
    let [a, b] = [fixed_point(&halves[0]), fixed_point(&halves[1])];
    let evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let odds = _mm512_or_si512(evens, _mm512_set1_epi32(1));
    let buckets = _mm512_permutex2var_epi32(a, odds, b);
    let fingerprint = |fixed_point| _mm512_srl_epi64(fixed_point, shape.fingerprint_shift);
    let [a, b] = [fingerprint(a), fingerprint(b)];
    let bits = _mm512_permutex2var_epi32(a, evens, b);
    let fingerprints = _mm512_and_si512(bits, _mm512_set1_epi32(0xFF));
    (buckets, _mm512_max_epu32(fingerprints, _mm512_set1_epi32(1)))
}

/// The alternate buckets: [`Geometry::alternate`](crate::Geometry) in lanes.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn alternates(shape: &Shape, buckets: __m512i, fingerprints: __m512i) -> __m512i {
    let [first, second] = core::array::from_fn(|i| _mm512_set1_epi32(MIX_FACTORS[i].into()));
    let once = _mm512_mullo_epi16(fingerprints, first);
    let mixed = _mm512_mullo_epi16(_mm512_xor_si512(once, _mm512_srli_epi16::<7>(once)), second);
    let half = _mm512_mulhi_epu16(mixed, shape.half_span);
    let offset = _mm512_or_si512(_mm512_slli_epi32::<1>(half), _mm512_set1_epi32(1));
    let offset = _mm512_sll_epi32(offset, shape.doublings);
    let is_odd = _mm512_test_epi32_mask(buckets, shape.odd);
    let forward = _mm512_mask_sub_epi32(offset, is_odd, shape.buckets, offset);
    let there = _mm512_add_epi32(buckets, forward);
    // Modulo `buckets`: if `there` is below `buckets`, the subtraction wraps to a huge number, and `there` is the
    // minimum.
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
    // SAFETY: the caller promises that the buckets of the lanes in `mask` are in the table.
    unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), mask, buckets, table.cast()) }
}

/// The lanes whose bucket holds the fingerprint of the lane.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn matches<W: Width>(words: __m512i, fingerprints: __m512i) -> Keys {
    let ones = _mm512_set1_epi8(1);
    let first_bytes =
        _mm512_broadcast_i32x4(_mm_set_epi32(0x0C0C_0C0C, 0x0808_0808, 0x0404_0404, 0));
    let x = _mm512_xor_si512(words, _mm512_shuffle_epi8(fingerprints, first_bytes));
    // The subtraction sets the highest bit of a byte that was 0; `& !x` drops the bytes that had this bit set before.
    let zeros = _mm512_andnot_si512(x, _mm512_sub_epi32(x, ones));
    _mm512_test_epi32_mask(zeros, _mm512_set1_epi8(0x80u8.cast_signed()))
}

/// The lanes in whose bucket the flag of the fingerprint's class is set.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn flagged<W: Width>(shape: &Shape, words: __m512i, fingerprints: __m512i) -> Keys {
    let is_even = _mm512_testn_epi32_mask(fingerprints, _mm512_set1_epi32(1));
    // Slots 0 and 1 encode the flag of even fingerprints, and slots 2 and 3 that of odd ones. A lane of `odd_slots` has
    // the odd slot of the key's pair in the highest byte, and the even slot in the byte below. A lane of `even_slots`
    // has the even slot in the highest byte.
    let odd_slots = _mm512_mask_slli_epi32::<16>(words, is_even, words);
    let even_slots =
        _mm512_or_si512(_mm512_slli_epi32::<8>(odd_slots), _mm512_set1_epi32(0xFF_FFFF));
    _mm512_cmpge_epu32_mask(even_slots, _mm512_max_epu32(odd_slots, shape.least_set))
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn store(lanes: __m512i, to: &mut [u32; KEYS]) {
    // SAFETY: writes the sixteen numbers of 32 bits of the array.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), lanes) };
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn load(from: &[u32; KEYS]) -> __m512i {
    // SAFETY: reads the sixteen numbers of 32 bits of the array.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}
