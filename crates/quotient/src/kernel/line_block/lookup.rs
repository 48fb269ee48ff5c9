//! Lookups key by key. The batch kernels in `avx2.rs` and `avx512.rs` keep the metadata of many lines in vectors; these
//! lookups keep the two metadata words of one line (a block of the table) in scalar registers. They compare the
//! remainders of a line in two halves. (`kernel/line_block.rs` says how they find a run.) Portable lookups do not find
//! the run: they compare all slots of the line with the key's remainder, and count (see `kernel/equal_slots.rs`).

use super::lines::{
    Byte, LINE_BYTES, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS, SLOTS,
    lines, starts,
};
use crate::geometry::Geometry;
use crate::kernel::equal_slots::Probe;
use crate::kernel::scalar;
use crate::kernel::words::word;
use crate::layout::LineBlock;
use crate::words::Words;
use trommel_base::batch::{Fetch, Window};
use trommel_base::bitmap::ones;
use trommel_base::range::reduce;
use trommel_base::with_fetch;

/// The home of a key (the slot whose number is the key's quotient), as a line and an index in that line, and the key's
/// stored remainder.
#[derive(Clone, Copy)]
pub(super) struct Located {
    /// The byte of the table at which the line begins.
    pub(super) line: usize,
    pub(super) slot: u32,
    pub(super) remainder: u8,
}

/// The continuation of a run that does not end in the key's line.
pub(super) struct Continued {
    /// The byte of the table at which the next line begins. The run goes on in this line.
    pub(super) line: usize,
    /// The number of that line's [`starts`] that are below the start of the run's slots, or [`FAR`] if only the
    /// algorithms of `table.rs` can find the run.
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

/// A bit for each byte of a line: whether it equals `byte`. Bits 50 to 63 compare bytes of metadata, and mean nothing.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline(always)]
pub(super) unsafe fn equal_to<W: Words>(words: W, table: *const u8, line: usize, byte: u8) -> u64 {
    // SAFETY: the caller guarantees that the line lies within the table.
    let bytes = unsafe { &*table.add(line).cast::<[u8; LINE_BYTES]>() };
    words.equal_to(bytes, byte)
}

/// The slots of a run in a line, and whether the run ends in that line. `starts` are the line's [`starts`]; the run
/// begins at the start that has `number` starts below it.
#[inline(always)]
pub(super) fn run_of<W: Words>(words: W, starts: u64, number: u32) -> (u64, bool) {
    let ends = words.two_ones(starts, number);
    let first = ends & ends.wrapping_neg();
    let next = ends ^ first;
    (next.wrapping_sub(first) & SLOT_BITS, next != 0)
}

/// Looks a key up in its line. Returns three values. The first is whether the line holds the key. The second is whether
/// the lookup must go on in the next line: this line does not hold the key, but the key's run goes on in the next. The
/// third is where the lookup goes on, which has a meaning only if the second is true.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline(always)]
unsafe fn probe<W: Words>(words: W, table: *const u8, key: Located) -> (bool, bool, Continued) {
    // SAFETY: both words and the compared bytes are of the line, which the caller guarantees to lie within the table.
    let (occupieds, runends, equal) = unsafe {
        (
            word(table, key.line + OCCUPIEDS_AT),
            word(table, key.line + RUNENDS_AT),
            equal_to(words, table, key.line, key.remainder),
        )
    };
    let occupied = occupieds >> key.slot & 1 == 1;
    let number = words.rank(occupieds, key.slot);
    let offset = runends >> OFFSET_SHIFT;
    let starts = starts(runends) & (u64::MAX << offset);
    let (run, ends_here) = run_of(words, starts, number);
    let hit = occupied & (equal & run != 0);
    // If the run ends in this line, the subtraction wraps, and `start` is not used. If runs of earlier lines take this
    // whole line and more, the starts of this line and the next do not tell where the key's run begins, and only the
    // algorithms of `Table` find the run.
    let start = (number + 1).wrapping_sub(starts.count_ones());
    let start = if offset > u64::from(SLOTS) { FAR } else { start };
    let line = key.line + LINE_BYTES;
    (hit, occupied & !hit & !ends_here, Continued { line, start, remainder: key.remainder })
}

/// Looks a key up in its line without a selection of bits (see `kernel/equal_slots.rs`). Returns whether the quotient is
/// occupied, and what the line tells if it is. The home needs no mask: slots between the end of a run and the home of
/// the next run are free, and a free slot equals no remainder.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline(always)]
unsafe fn count<W: Words>(words: W, table: *const u8, key: Located) -> (bool, Probe) {
    // SAFETY: both words and the compared bytes are of the line, which the caller guarantees to lie within the table.
    let (occupieds, runends, equal) = unsafe {
        (
            word(table, key.line + OCCUPIEDS_AT),
            word(table, key.line + RUNENDS_AT),
            equal_to(words, table, key.line, key.remainder),
        )
    };
    let from_offset = SLOT_BITS & u64::MAX << (runends >> OFFSET_SHIFT);
    let probe = Probe {
        equal: equal & from_offset,
        own: runends >> RUNENDS_SHIFT & from_offset,
        number: words.rank(occupieds, key.slot),
    };
    (occupieds >> key.slot & 1 == 1, probe)
}

/// Whether the table holds a key about which [`count`] does not decide. `None` if only the algorithms of `table.rs` can
/// find the key's run.
///
/// # Panics
/// If the key's line is not in the table.
#[inline(always)]
fn look_again<W: Words>(words: W, table: &[u8], key: Located) -> Option<bool> {
    assert!(key.line + LINE_BYTES <= table.len());
    // SAFETY: the assertion checks that the line lies within the table.
    let (probe, runends) = unsafe {
        (count(words, table.as_ptr(), key).1, word(table.as_ptr(), key.line + RUNENDS_AT))
    };
    if runends >> OFFSET_SHIFT > u64::from(SLOTS) {
        return None;
    }
    probe.look_again(|next| {
        let line = key.line + next * LINE_BYTES;
        if line + LINE_BYTES > table.len() {
            return None;
        }
        // SAFETY: the condition above checks that the line lies within the table.
        let (runends, equal) = unsafe {
            let runends = word(table.as_ptr(), line + RUNENDS_AT);
            (runends, equal_to(words, table.as_ptr(), line, key.remainder))
        };
        Some((runends >> RUNENDS_SHIFT & SLOT_BITS, equal & SLOT_BITS))
    })
}

/// [`Continued::start`] of a run that only the algorithms of `table.rs` can find.
const FAR: u32 = u32::MAX;

/// Looks a key up whose run goes on in the line of `from`. Leaves the key to the algorithms of `table.rs` if only they
/// can find the run, or if the run does not end in the table.
#[inline(always)]
pub(super) fn follow<W: Words>(
    words: W,
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
                equal_to(words, table.as_ptr(), from.line, from.remainder),
            )
        };
        let starts = starts(runends);
        let (run, ends_here) = run_of(words, starts, from.start);
        if equal & run != 0 || ends_here {
            return equal & run != 0;
        }
        from.line += LINE_BYTES;
        from.start = from.start + 1 - starts.count_ones();
    }
    scalar::contains::<LineBlock, _>(words, geometry, table, hash)
}

/// [`Continued::start`] of a run that goes on in the line after the key's line.
pub(super) type Rest = u32;

/// Looks a key up whose run goes on beyond the key's line. In portable code, looks a key up about which [`count`] does
/// not decide, and does not use `start`.
#[inline(always)]
pub(super) fn contains_rest<W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
    start: Rest,
) -> bool {
    let key = locate(geometry, hash);
    if !W::SELECTS {
        let held = look_again(words, table, key);
        return held
            .unwrap_or_else(|| scalar::contains::<LineBlock, _>(words, geometry, table, hash));
    }
    let Located { line, remainder, .. } = key;
    let next = Continued { line: line + LINE_BYTES, start, remainder };
    follow(words, geometry, table, hash, next)
}

/// One lookup. `rest` calls [`contains_rest`] through a function that is not inlined (see `scalar_kernels!`), so that
/// lookups that end in the key's line need not store registers on the stack.
#[inline(always)]
pub(super) fn contains<W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
    rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool,
) -> bool {
    assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
    let key = locate(geometry, hash);
    if !W::SELECTS {
        // SAFETY: `locate` returns one of the geometry's lines, and the table has all of them, as the assertion checks.
        let (occupied, probe) = unsafe { count(words, table.as_ptr(), key) };
        let (hit, again) = probe.judge();
        return occupied && if again { rest(geometry, table, hash, FAR) } else { hit };
    }
    // SAFETY: as above.
    let (hit, more, next) = unsafe { probe(words, table.as_ptr(), key) };
    if more { rest(geometry, table, hash, next.start) } else { hit }
}

/// The number of keys whose lines are prefetched together. Their answers fill a word.
const BLOCK: usize = 64;

/// Looks keys up one by one. If the table is larger than half of L2, prefetches the lines of up to 64 keys together.
/// The batch kernels with vectors use this function for keys that do not fill a block, and for tables of more than 256
/// GiB, since those kernels compute line numbers of 32 bits. Rejected: listing the keys whose run goes on in the next
/// line, as the AVX-512 kernel does (with the list, batches of 16 keys in tables in L2 took 1.7 times as long as
/// without it, and batches of 48 keys 1.15 times; in a table of 5 MB, batches of 63 keys took 0.8 to 0.9 times as
/// long).
#[inline(always)]
pub(super) fn contains_batch<W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool + Copy,
) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => if W::SELECTS {
        one_by_one::<F, _>(words, geometry, table, hashes, found, rest);
    } else {
        by_counts::<F, _>(words, geometry, table, hashes, found, rest);
    });
}

#[inline(always)]
fn one_by_one<F: Fetch, W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool + Copy,
) {
    for (hashes, found) in hashes.chunks(BLOCK).zip(found) {
        for hash in hashes {
            F::line(table.as_ptr().wrapping_add(locate(geometry, *hash).line));
        }
        for (i, hash) in hashes.iter().enumerate() {
            *found |= u64::from(contains(words, geometry, table, *hash, rest)) << i;
        }
    }
}

/// Looks up, by [`count`], those keys of each block whose quotients are occupied. Then looks again for the few of them
/// about which [`count`] does not decide.
#[inline(always)]
fn by_counts<F: Fetch, W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool + Copy,
) {
    let start = table.as_ptr();
    let mut keys = [Located { line: 0, slot: 0, remainder: 0 }; BLOCK];
    for (hashes, found) in hashes.chunks(BLOCK).zip(found) {
        assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
        for (hash, key) in hashes.iter().zip(&mut keys) {
            *key = locate(geometry, *hash);
            F::line(start.wrapping_add(key.line));
        }
        let (mut with_run, mut others) = (0u64, 0u64);
        for (i, key) in keys[..hashes.len()].iter().enumerate() {
            // SAFETY: the table has the lines that `locate` returns, as the assertion checks.
            let occupieds = unsafe { word(start, key.line + OCCUPIEDS_AT) };
            with_run |= (occupieds >> key.slot & 1) << i;
        }
        for i in ones(with_run) {
            // SAFETY: as above.
            let (hit, again) = unsafe { count(words, start, keys[i]) }.1.judge();
            *found |= u64::from(hit) << i;
            others |= u64::from(again) << i;
        }
        for i in ones(others) {
            *found |= u64::from(rest(geometry, table, hashes[i], FAR)) << i;
        }
    }
}
