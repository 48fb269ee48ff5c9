//! The code of [`run_groups_with`](super::run_groups_with) for AVX-512.

use crate::geometry::Geometry;
use crate::kernel::portable::{Body, GROUP};
use crate::kernel::x86;
use core::arch::x86_64::*;

/// The number of units, in each 64-bit lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn units(geometry: Geometry) -> __m512i {
    _mm512_set1_epi64(geometry.units.cast_signed())
}

/// Writes, for each of eight keys, the index of its block's first 64-bit word. `units` must be the result of [`units`].
#[inline]
#[target_feature(enable = "avx512f,avx2")]
pub(crate) fn locate<B: Body>(units: __m512i, keys: &[u64; GROUP], places: &mut [u32; GROUP]) {
    let hashes = x86::load_8(keys);
    let blocks = if B::BLOCK_OF_HIGH_HALF {
        reduce_high_8(hashes, units)
    } else {
        x86::reduce_8(hashes, units)
    };
    let shift = _mm_cvtsi32_si128(B::WORDS_SHIFT.cast_signed());
    x86::store_places(places, _mm256_sll_epi32(blocks, shift));
}

/// Stores the words of eight keys.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store(to: &mut [u64; GROUP], words: __m512i) {
    // SAFETY: writes the 64 bytes of the array; the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), words) }
}

/// The unit indices of eight hashes, in a layout in which they come from `trommel_base::range::reduce_high`.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce_high_8(hashes: __m512i, units: __m512i) -> __m256i {
    let high = _mm512_srli_epi64::<32>(hashes);
    _mm512_cvtepi64_epi32(_mm512_srli_epi64::<32>(_mm512_mul_epu32(high, units)))
}
