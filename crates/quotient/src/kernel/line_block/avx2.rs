//! Single lookups with AVX2 and BMI2: a key's metadata in scalar registers, a line compared in two halves.

use super::lines::{
    Byte, LINE_BYTES, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, SLOT_BITS, SLOTS, lines, starts,
};
use crate::geometry::Geometry;
use crate::kernel::scalar;
use crate::kernel::vectors::BLOCK;
use crate::kernel::words::word;
use crate::layout::LineBlock;
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::range::reduce;
use trommel_base::with_fetch;

/// Where a key belongs.
#[derive(Clone, Copy)]
pub(super) struct Located {
    /// Byte of the table where the line begins.
    pub(super) line: usize,
    pub(super) slot: u32,
    pub(super) remainder: u8,
}

/// A run that its line does not show the end of: where it goes on.
pub(super) struct Continued {
    pub(super) line: usize,
    /// The number of its start in that line.
    pub(super) start: u32,
    pub(super) remainder: u8,
}

#[inline(always)]
pub(super) fn locate(geometry: &Geometry, hash: u64) -> Located {
    let byte = Byte::of(geometry);
    let lines = lines(geometry);
    let below = hash.wrapping_mul(lines);
    let slot = reduce(below, SLOTS.into()) as u32;
    let top = (below.wrapping_mul(SLOTS.into()) >> 56) as u8;
    let remainder = (top & byte.keep | byte.mark).max(1);
    Located { line: reduce(hash, lines) as usize * LINE_BYTES, slot, remainder }
}

/// The slots of a line whose byte is `remainder`, and some that are metadata.
///
/// # Safety
/// The line lies within the table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn equal(table: *const u8, line: usize, remainder: u8) -> u64 {
    // SAFETY: the caller's duty.
    unsafe { equal_to(table, line, _mm256_set1_epi8(remainder as i8)) }
}

/// The same with the remainder in every byte of a register.
///
/// # Safety
/// The line lies within the table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn equal_to(table: *const u8, line: usize, remainder: __m256i) -> u64 {
    let half = |at: usize| {
        // SAFETY: half of the line, the caller's duty.
        let bytes = unsafe { _mm256_loadu_si256(table.add(line + at).cast()) };
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, remainder)) as u32)
    };
    half(0) | half(32) << 32
}

/// The slots of the run at the start of a number, and whether the line has its end.
#[inline]
#[target_feature(enable = "bmi1,bmi2")]
pub(super) fn run_of(starts: u64, number: u32) -> (u64, bool) {
    let ends = _pdep_u64(0b11 << number, starts);
    let next = _blsr_u64(ends);
    (next.wrapping_sub(_blsi_u64(ends)) & SLOT_BITS, next != 0)
}

/// The answer of a key's line: whether the key is there, and if need be, where its run goes on.
///
/// # Safety
/// The line lies within the table.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn probe(table: *const u8, key: Located) -> (bool, bool, Continued) {
    // SAFETY: both words are the line's, and so is what is compared.
    let (occupieds, runends, equal) = unsafe {
        (
            word(table, key.line + OCCUPIEDS_AT),
            word(table, key.line + RUNENDS_AT),
            equal(table, key.line, key.remainder),
        )
    };
    let occupied = occupieds >> key.slot & 1 == 1;
    let number = _bzhi_u64(occupieds, key.slot).count_ones();
    let offset = runends >> OFFSET_SHIFT;
    let starts = starts(runends) & (u64::MAX << offset);
    let (run, ends_here) = run_of(starts, number);
    let hit = occupied & (equal & run != 0);
    // All of the line, and more, is earlier lines': the table's own search walks back.
    // Below 0, and not used, if the run ends here.
    let start = (number + 1).wrapping_sub(starts.count_ones());
    let start = if offset > u64::from(SLOTS) { FAR } else { start };
    let line = key.line + LINE_BYTES;
    (hit, occupied & !hit & !ends_here, Continued { line, start, remainder: key.remainder })
}

/// A start that is not in the next line.
const FAR: u32 = u32::MAX;

/// Whether a key is in a run that goes on from the line before.
///
/// # Safety
/// The table has the geometry's lines.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn follow(
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
    mut from: Continued,
) -> bool {
    while from.start != FAR && from.line + LINE_BYTES <= table.len() {
        // SAFETY: a line of the table, as checked.
        let (runends, equal) = unsafe {
            (
                word(table.as_ptr(), from.line + RUNENDS_AT),
                equal(table.as_ptr(), from.line, from.remainder),
            )
        };
        let starts = starts(runends);
        let (run, ends_here) = run_of(starts, from.start);
        if equal & run != 0 || ends_here {
            return equal & run != 0;
        }
        from.line += LINE_BYTES;
        from.start = from.start + 1 - starts.count_ones();
    }
    // SAFETY: this function is compiled for AVX2 and BMI2.
    let words = unsafe { super::Avx2::new() };
    scalar::contains::<LineBlock, _>(words, geometry, table, hash)
}

/// One lookup.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains(geometry: &Geometry, table: &[u8], hash: u64) -> bool {
    assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
    let key = locate(geometry, hash);
    // SAFETY: a line's number is below `lines`, of which the table has more, as just checked.
    let (hit, more, next) = unsafe { probe(table.as_ptr(), key) };
    if more {
        // SAFETY: as above.
        return unsafe { follow(geometry, table, hash, next) };
    }
    hit
}

/// Lookups one by one, the lines of as many as a block has keys fetched together: of what is left of a batch beside
/// its blocks, and of tables that passes do not serve. Lists of keys that go on in the next line, as passes keep them,
/// made batches of 16 keys take 1.7 times as long in L2 and those of 48 keys 1.15 times; with 63 keys, in 5 MB, they
/// took 0.8 to 0.9.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_each(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => one_by_one::<F>(geometry, table, hashes, found));
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn one_by_one<F: Fetch>(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    for (hashes, found) in hashes.chunks(BLOCK).zip(found) {
        for hash in hashes {
            F::line(table.as_ptr().wrapping_add(locate(geometry, *hash).line));
        }
        for (i, hash) in hashes.iter().enumerate() {
            *found |= u64::from(contains(geometry, table, *hash)) << i;
        }
    }
}
