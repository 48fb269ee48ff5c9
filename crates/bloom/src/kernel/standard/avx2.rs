//! The standard filter with AVX2: the portable bodies, compiled with `mulx`, `shlx` and `bt`.

use super::{contains_batch_body, contains_bits, insert_batch_body, insert_body};
use crate::geometry::Geometry;
use crate::kernel::Kernels;

pub(super) const KERNELS: Kernels = Kernels { contains, contains_batch, insert, insert_batch };

/// # Safety
/// The table has the length that the geometry says.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn contains(geometry: &Geometry, table: *const u8, hash: u64) -> bool {
    contains_bits(*geometry, hash, |position| {
        // SAFETY: the position is below the table's number of bits, as a product's high half, so its
        // word is one of the table's, as the caller promises; the read needs no alignment.
        let word = unsafe { table.cast::<u64>().add((position / 64) as usize).read_unaligned() };
        word >> (position % 64)
    })
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    contains_batch_body(geometry, table, hashes, found);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert(geometry: Geometry, table: &mut [u8], hash: u64) -> bool {
    insert_body(geometry, table, hash)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    insert_batch_body(geometry, table, hashes);
}
