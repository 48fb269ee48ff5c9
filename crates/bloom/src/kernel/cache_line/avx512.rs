//! Cache-line blocks with all of AVX-512: fields are brought down by a multishift, which runs beside the rotate
//! and the test of a lane on another port than shifts do.

use super::wide;
use crate::geometry::Geometry;
use crate::kernel::Kernels;
use core::arch::x86_64::*;

pub(super) const KERNELS: Kernels = Kernels { contains, contains_batch, insert, insert_batch };

/// In each lane its field of the product, and above it more of the product.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn fields(products: __m512i) -> __m512i {
    _mm512_multishift_epi64_epi8(wide::starts(), products)
}

/// # Safety
/// The table has the length that the geometry says.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
unsafe fn contains(geometry: &Geometry, table: *const u8, hash: u64) -> bool {
    // SAFETY: the caller's duty.
    unsafe { wide::contains(geometry, table, hash, |products| fields(products)) }
}

/// # Safety
/// The table has the length that the geometry says.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    // SAFETY: the caller's duty.
    unsafe { wide::insert(geometry, table, hash, |products| fields(products)) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    wide::contains_batch(geometry, table, hashes, found, |products| fields(products));
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    wide::insert_batch(geometry, table, hashes, |products| fields(products));
}
