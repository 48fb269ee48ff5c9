//! Split-block with all of AVX-512. Shifts, rotates and multiplies of whole registers share one port, so the top bits
//! of the products are brought down by a multishift, which runs on the other.

use super::{avx2, wide};
use crate::geometry::Geometry;
use crate::kernel::Kernels;
use core::arch::x86_64::*;

// One key alone gains nothing from wider registers.
pub(super) const KERNELS: Kernels =
    Kernels { contains: avx2::contains, contains_batch, insert: avx2::insert, insert_batch };

/// The upper five bits of each product at its low end, and above them more of the products.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn top_bits(products: __m512i) -> __m512i {
    let starts = i64::from_le_bytes([27, 0, 0, 0, 32 + 27, 0, 0, 0]);
    _mm512_multishift_epi64_epi8(_mm512_set1_epi64(starts), products)
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    wide::contains_batch(geometry, table, hashes, found, |products| top_bits(products));
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    wide::insert_batch(geometry, table, hashes, |products| top_bits(products));
}
