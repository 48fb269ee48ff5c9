//! Cache-line blocks with AVX-512 as Skylake has it, without byte permutations.
//!
//! Share of the time of the AVX2 functions on a Cascade Lake core, 12 bits a key: lookups in batches 0.41 to 0.57 up
//! to 1e5 keys, 0.63 to 0.87 at 1e6, 0.88 to 0.96 at 1e7; inserts in batches 0.57 to 0.72, 0.79 to 0.86, 1; one key
//! a call 0.6 to 0.75 up to 1e5 keys.

use super::wide;
use crate::geometry::Geometry;
use crate::kernel::Kernels;
use core::arch::x86_64::*;

pub(super) const KERNELS: Kernels = Kernels { contains, contains_batch, insert, insert_batch };

/// In each lane its field of the product, and above it more of the product.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn fields(products: __m512i) -> __m512i {
    _mm512_srlv_epi64(products, wide::starts())
}

/// # Safety
/// The table has the length that the geometry says.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn contains(geometry: &Geometry, table: *const u8, hash: u64) -> bool {
    // SAFETY: the caller's duty.
    unsafe { wide::contains(geometry, table, hash, |products| fields(products)) }
}

/// # Safety
/// The table has the length that the geometry says.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    // SAFETY: the caller's duty.
    unsafe { wide::insert(geometry, table, hash, |products| fields(products)) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    wide::contains_batch(geometry, table, hashes, found, |products| fields(products));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    wide::insert_batch(geometry, table, hashes, |products| fields(products));
}
