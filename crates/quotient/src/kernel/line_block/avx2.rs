//! Single lookups with AVX2 and BMI2. A key's metadata is in scalar registers, and a line is compared in two halves.

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

/// The home and the stored remainder of a key.
#[derive(Clone, Copy)]
pub(super) struct Located {
    /// The byte of the table at which the line begins.
    pub(super) line: usize,
    pub(super) slot: u32,
    pub(super) remainder: u8,
}

/// The continuation of a run that does not end in its line.
pub(super) struct Continued {
    /// The byte of the table at which the next line, where the run goes on, begins.
    pub(super) line: usize,
    /// The index of the run's start among the starts of that line.
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

/// A bit for each byte of a line: whether it equals `remainder`. The bits from 50 on are for bytes of metadata.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn equal(table: *const u8, line: usize, remainder: u8) -> u64 {
    // SAFETY: the caller guarantees that the line lies within the table.
    unsafe { equal_to(table, line, _mm256_set1_epi8(remainder as i8)) }
}

/// [`equal`] with the remainder in every byte of a register.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn equal_to(table: *const u8, line: usize, remainder: __m256i) -> u64 {
    let half = |at: usize| {
        // SAFETY: the caller guarantees that the line lies within the table, and this is half of it.
        let bytes = unsafe { _mm256_loadu_si256(table.add(line + at).cast()) };
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, remainder)) as u32)
    };
    half(0) | half(32) << 32
}

/// The slots of the run that begins at the start of index `number`, and whether the run ends in the line.
#[inline]
#[target_feature(enable = "bmi1,bmi2")]
pub(super) fn run_of(starts: u64, number: u32) -> (u64, bool) {
    let ends = _pdep_u64(0b11 << number, starts);
    let next = _blsr_u64(ends);
    (next.wrapping_sub(_blsi_u64(ends)) & SLOT_BITS, next != 0)
}

/// Looks a key up in its line. Returns whether the line holds the key; if not, whether the key's run goes on in the
/// next line; and the continuation for that case.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn probe(table: *const u8, key: Located) -> (bool, bool, Continued) {
    // SAFETY: both words and the compared bytes are of the line, which the caller guarantees to lie within the table.
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
    // If the run ends in this line, the start is below 0 and not used. If runs of earlier lines take the whole line and
    // more, the table's own search has to look at earlier lines.
    let start = (number + 1).wrapping_sub(starts.count_ones());
    let start = if offset > u64::from(SLOTS) { FAR } else { start };
    let line = key.line + LINE_BYTES;
    (hit, occupied & !hit & !ends_here, Continued { line, start, remainder: key.remainder })
}

/// The `start` of a run that is to be looked up by the table's own search.
const FAR: u32 = u32::MAX;

/// Looks a key up in a run that goes on in line `from`.
///
/// # Safety
/// The caller must ensure that the table has all lines of the geometry.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn follow(
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
    mut from: Continued,
) -> bool {
    while from.start != FAR && from.line + LINE_BYTES <= table.len() {
        // SAFETY: the loop condition checks that the line lies within the table.
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
    // SAFETY: this function is compiled for AVX2 and BMI2, so it runs only on machines that have them.
    let words = unsafe { super::Avx2::new() };
    scalar::contains::<LineBlock, _>(words, geometry, table, hash)
}

/// One lookup.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains(geometry: &Geometry, table: &[u8], hash: u64) -> bool {
    assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
    let key = locate(geometry, hash);
    // SAFETY: `locate` gives a line of the geometry, and the table has more, as the assertion checks.
    let (hit, more, next) = unsafe { probe(table.as_ptr(), key) };
    if more {
        return contains_beyond(geometry, table, hash, next.start);
    }
    hit
}

/// [`contains`] for a run that goes on beyond its line. It is a separate function, so that other lookups need not store
/// registers on the stack.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_beyond(geometry: &Geometry, table: &[u8], hash: u64, start: u32) -> bool {
    let Located { line, remainder, .. } = locate(geometry, hash);
    let next = Continued { line: line + LINE_BYTES, start, remainder };
    // SAFETY: `follow` reads only lines that it checks.
    unsafe { follow(geometry, table, hash, next) }
}

/// Looks keys up one by one, and prefetches the lines of up to 64 keys together. Batches use it for keys that do not
/// fill a block, and for tables that are too large for passes. Rejected: listing the keys whose run goes on in the next
/// line, as passes do (in L2, batches of 16 keys took 1.7 times as long, and batches of 48 keys 1.15 times; in a table
/// of 5 MB, batches of 63 keys took 0.8 to 0.9 times as long).
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
