//! The standard filter with AVX2: the portable loops, compiled with `mulx`, `shlx` and `bt`. Lookups and inserts access
//! words without checking indices.

use super::inserts::BatchInserts;
use super::{WORD_BITS, contains_batch_bits, contains_bits, positions, set_in_word};
use crate::geometry::Geometry;
use crate::kernel::BatchKernels;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// # Safety
/// The caller must ensure that the table has the length that the geometry says.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    contains_bits(geometry, hash, |position| {
        // SAFETY: `contains_bits` gets each position from `reduce`, so it is below `geometry.units * WORD_BITS`, and
        // the caller promises that the table has `geometry.units` words.
        let word = unsafe { word_of(table, position) };
        word >> (position % WORD_BITS)
    })
}

/// The table's word that has the bit at a position.
///
/// # Safety
/// The caller must ensure that the position is below the table's number of bits.
#[inline(always)]
unsafe fn word_of(table: *const u8, position: u64) -> u64 {
    // SAFETY: the caller promises that the table has this position. The read needs no alignment.
    unsafe { table.cast::<u64>().add((position / WORD_BITS) as usize).read_unaligned() }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    assert!(table.len() as u64 == geometry.units * (WORD_BITS / 8));
    contains_batch_bits(geometry, table.as_ptr(), hashes, found, |position| {
        // SAFETY: as in `contains`; the length was checked above.
        let word = unsafe { word_of(table.as_ptr(), position) };
        word >> (position % WORD_BITS)
    });
}

/// Changes whole words without checking indices. This takes 0.75 of the time of the portable body, which changes bytes
/// and checks each index.
///
/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    let mut missing = 0;
    for position in positions(geometry, hash) {
        let bit = 1 << (position % WORD_BITS);
        // SAFETY: as in `contains`, and the table is not borrowed elsewhere. The accesses need no alignment.
        unsafe {
            let word = table.cast::<u64>().add((position / WORD_BITS) as usize);
            let before = word.read_unaligned();
            word.write_unaligned(before | bit);
            missing |= bit & !before;
        }
    }
    missing != 0
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    assert_eq!(table.len() as u64, geometry.units * (WORD_BITS / 8));
    let (start, bytes) = (table.as_mut_ptr(), table.len());
    let set = |position: u64| {
        // SAFETY: `set` gets results of `positions` only. These positions are below `geometry.units * WORD_BITS`, since
        // `geometry.units` is at least 1. The assertion above checks the length, and the table is not borrowed
        // elsewhere.
        let word = unsafe { &mut *start.cast::<[u8; 8]>().add((position / WORD_BITS) as usize) };
        set_in_word(word, position);
    };
    BatchInserts { geometry, start, bytes, set }.insert(hashes);
}
