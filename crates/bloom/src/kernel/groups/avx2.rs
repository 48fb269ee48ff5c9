//! The code of [`run_groups_with`](super::run_groups_with) for AVX2.

use crate::geometry::Geometry;
use crate::kernel::portable::{Body, GROUP};
use crate::kernel::x86;
use core::arch::x86_64::*;

/// The number of units, in each 64-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn units(geometry: Geometry) -> __m256i {
    _mm256_set1_epi64x(geometry.units.cast_signed())
}

/// Writes, for each of eight keys, the index of its block's first 64-bit word. `units` must be the result of [`units`].
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn locate<B: Body>(units: __m256i, keys: &[u64; GROUP], places: &mut [u32; GROUP]) {
    let half = |half| {
        let hashes = x86::load_4(keys, half);
        if B::BLOCK_OF_HIGH_HALF { reduce_high_4(hashes, units) } else { reduce_4(hashes, units) }
    };
    let shift = _mm_cvtsi32_si128(B::WORDS_SHIFT.cast_signed());
    x86::store_places(places, _mm256_sll_epi32(narrow_8(half(0), half(1)), shift));
}

/// Stores the words of eight keys.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store(to: &mut [u64; GROUP], [low, high]: [__m256i; 2]) {
    let to = to.as_mut_ptr();
    // SAFETY: writes the two halves of the 64 bytes of the array; the instruction needs no alignment.
    unsafe {
        _mm256_storeu_si256(to.cast(), low);
        _mm256_storeu_si256(to.add(4).cast(), high);
    }
}

/// The unit indices of four hashes, as in [`x86::reduce_8`], one in each 64-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce_4(hashes: __m256i, units: __m256i) -> __m256i {
    let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(hashes), units);
    let low = _mm256_srli_epi64::<32>(_mm256_mul_epu32(hashes, units));
    _mm256_srli_epi64::<32>(_mm256_add_epi64(high, low))
}

/// The unit indices of four hashes, one in each 64-bit lane, in a layout in which they come from
/// `trommel_base::range::reduce_high`.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce_high_4(hashes: __m256i, units: __m256i) -> __m256i {
    let high = _mm256_srli_epi64::<32>(hashes);
    _mm256_srli_epi64::<32>(_mm256_mul_epu32(high, units))
}

/// The low halves of the 64-bit lanes of two vectors, in order: eight indices of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow_8(first: __m256i, second: __m256i) -> __m256i {
    // Takes the even 32-bit lanes of both vectors. Since the shuffle works within 128-bit halves, pairs of lanes from
    // `first` and from `second` alternate; the permutation puts the pairs in order.
    let pairs =
        _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second));
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(pairs))
}
