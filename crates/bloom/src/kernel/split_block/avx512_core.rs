//! Split-block with AVX-512 as Skylake has it, without byte permutations.
//!
//! Share of the time of the AVX2 loops on a Cascade Lake core, 12 bits a key: lookups 0.63 to 0.70 up to 1e5 keys,
//! 0.84 to 0.93 at 1e6; inserts 0.88 to 0.97 up to 1e5 keys and no difference beyond.

use super::{avx2, wide};
use crate::geometry::Geometry;
use crate::kernel::Kernels;
use core::arch::x86_64::*;

// One key alone gains nothing from wider registers.
pub(super) const KERNELS: Kernels =
    Kernels { contains: avx2::contains, contains_batch, insert: avx2::insert, insert_batch };

/// The upper five bits of each product at its low end.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn top_bits(products: __m512i) -> __m512i {
    _mm512_srli_epi32::<27>(products)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    wide::contains_batch(geometry, table, hashes, found, |products| top_bits(products));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    wide::insert_batch(geometry, table, hashes, |products| top_bits(products));
}
