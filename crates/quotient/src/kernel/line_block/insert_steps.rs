//! The steps of an insert that are the same for all instruction sets: finding the slot where a remainder belongs, and
//! moving the metadata of a line (a block of the table) up.

use super::lines::{
    LINE_BYTES, MAX_OFFSET, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS,
    SLOTS, starts,
};
use super::lookup::{Located, run_of};
use crate::kernel::words::word;
use crate::table::bits_between;
use crate::words::Words;
use trommel_base::batch::Hint;
use trommel_simd::prefetch;

/// A slot of the table.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The byte of the table at which the slot's line begins.
    pub(super) line: usize,
    /// The index of the slot in its line.
    pub(super) at: u32,
}

impl Slot {
    /// Slot `at` of a line; the first slot of the next line if `at` is the number of slots of a line.
    #[inline(always)]
    pub(super) fn of(line: usize, at: u32) -> Self {
        if at < SLOTS { Self { line, at } } else { Self { line: line + LINE_BYTES, at: 0 } }
    }
}

/// The number of lines that are prefetched after a key's line. Without prefetching, these lines are fetched late,
/// because processors mispredict the end of the loop that reads them. The times of single inserts at loads of 92 to
/// 95 %, divided by those without prefetching: with AVX-512, 0.95 at 2^20 slots and 0.91 to 0.98 at 2^24 slots; with
/// AVX2, 0.93 at 2^24 slots. Rejected: storing whole lines instead of only the bytes that change, which made no
/// difference.
const FETCHED_LINES: usize = 3;

/// Prefetches the lines after a key's line.
#[inline(always)]
pub(super) fn fetch_after(table: &[u8], key: &Located) {
    for line in 1..=FETCHED_LINES {
        prefetch(table.as_ptr().wrapping_add(key.line + line * LINE_BYTES), Hint::T0);
    }
}

/// The slot where a remainder is to be inserted.
pub(super) enum Place {
    /// The key's run holds the remainder already.
    Held,
    /// The run begins at `first`, and the remainder belongs at `at`. `occupied` tells whether the quotient has a run.
    At { first: Slot, at: Slot, occupied: bool },
    /// The run begins or ends too far from the key's home (the slot whose number is its quotient) to be found from the
    /// key's line and the next.
    Far,
}

/// Compares slots with a key's remainder. This is a trait, since closures in functions that are always inlined can end
/// up compiled for fewer instruction sets than the caller.
pub(super) trait Compare {
    /// Compares those slots of a line whose bits are set in `slots`. Returns a bit for each of these slots that holds
    /// the remainder, and the number of these slots that hold a smaller remainder.
    ///
    /// # Safety
    /// The caller must ensure that the line lies in the table.
    unsafe fn compare(&self, line: usize, slots: u64) -> (u64, u32);
}

/// Finds the slot where a key's remainder belongs.
///
/// # Safety
/// The caller must ensure that the key's line lies in the table, and that the table has a line after it.
#[inline(always)]
pub(super) unsafe fn place<W: Words>(
    words: W,
    table: *const u8,
    key: Located,
    slots: &impl Compare,
) -> Place {
    // SAFETY: both are words of the key's line, which the caller guarantees to lie in the table.
    let (occupieds, runends) =
        unsafe { (word(table, key.line + OCCUPIEDS_AT), word(table, key.line + RUNENDS_AT)) };
    let occupied = occupieds >> key.slot & 1 == 1;
    let mut number = words.rank(occupieds, key.slot);
    let offset = runends >> OFFSET_SHIFT;
    if offset > u64::from(SLOTS) {
        return Place::Far;
    }
    let mut starts_here = starts(runends) & (u64::MAX << offset);
    let mut line = key.line;
    let mut home = key.slot;
    // A run whose start is after the line's last slot begins in the next line.
    if number >= (starts_here & SLOT_BITS).count_ones() {
        number = number + 1 - starts_here.count_ones();
        line += LINE_BYTES;
        home = 0;
        // SAFETY: the caller guarantees that the table has the line after the key's.
        starts_here = starts(unsafe { word(table, line + RUNENDS_AT) });
        if number >= (starts_here & SLOT_BITS).count_ones() {
            return Place::Far;
        }
    }
    let begin = words.one(starts_here, number).trailing_zeros();
    let first = Slot { line, at: begin.max(home) };
    // Whether the quotient is occupied cannot be predicted, so there is no branch on it: if the quotient is not
    // occupied, `run` has no slots.
    let (run, ends_here) = run_of(words, starts_here, number);
    let run = run & (u64::MAX << first.at) & u64::from(occupied).wrapping_neg();
    // SAFETY: `line` is the key's line or the one after it.
    let (equal, below) = unsafe { slots.compare(line, run) };
    if equal != 0 {
        return Place::Held;
    }
    if ends_here | !occupied {
        return Place::At { first, at: Slot::of(line, first.at + below), occupied };
    }
    if line != key.line {
        return Place::Far;
    }
    let line = line + LINE_BYTES;
    // SAFETY: the caller guarantees that the table has the line after the key's.
    let (rest, ends_here) = run_of(words, starts(unsafe { word(table, line + RUNENDS_AT) }), 0);
    if !ends_here {
        return Place::Far;
    }
    // SAFETY: the caller guarantees that the table has the line after the key's.
    let (equal, more_below) = unsafe { slots.compare(line, rest) };
    if equal != 0 {
        return Place::Held;
    }
    let at = if first.at + below < SLOTS {
        Slot { line: first.line, at: first.at + below }
    } else {
        Slot::of(line, more_below)
    };
    Place::At { first, at, occupied }
}

/// The content that moves from the last slot of a line to the first slot of the next.
pub(super) struct Carried {
    pub(super) remainder: u8,
    pub(super) runend: u64,
}

/// A mask of the slots of a line that come at or after `from`, up to and including slot `last` of the line. It is 0 for
/// a line before that of `from`.
#[inline(always)]
pub(super) fn moved(from: Slot, line: usize, last: u32) -> u64 {
    let first = if line == from.line { from.at } else { 0 };
    let none_before = u64::from(line >= from.line).wrapping_neg();
    bits_between(first, last) & none_before
}

/// Moves runends up by one slot in `metadata`, a line's word with the runends, and returns the new word. `runends` is a
/// mask of the adjacent slots whose runends move. The first of them gets the carried bit, and the bit of the last is
/// carried on. If the line is `pushed`, runs of earlier lines take one slot more of it, and its offset is incremented,
/// unless it is [`MAX_OFFSET`] already.
#[inline(always)]
pub(super) fn move_runends(
    metadata: u64,
    runends: u64,
    pushed: bool,
    carried: &mut Carried,
) -> u64 {
    let old = metadata >> RUNENDS_SHIFT & runends;
    let incoming = runends & runends.wrapping_neg() & carried.runend.wrapping_neg();
    let up = old << 1 & runends | incoming;
    // The bit in the last slot that moves.
    let leaves = u64::from(old > runends >> 1);
    carried.runend = if runends == 0 { carried.runend } else { leaves };
    let metadata = metadata & !(runends << RUNENDS_SHIFT) | up << RUNENDS_SHIFT;
    let not_saturated = metadata >> OFFSET_SHIFT < MAX_OFFSET;
    metadata + (u64::from(pushed & not_saturated) << OFFSET_SHIFT)
}

/// [`move_runends`] for a pushed line in which the runends of all slots up to and including `last` move.
#[inline(always)]
pub(super) fn push_runends(metadata: u64, last: u32, carried: &mut Carried) -> u64 {
    let slots = bits_between(0, last);
    let old = metadata >> RUNENDS_SHIFT & slots;
    let up = (old << 1 | carried.runend) & slots;
    carried.runend = old >> last;
    let not_saturated = u64::from(metadata >> OFFSET_SHIFT < MAX_OFFSET);
    (metadata ^ (old ^ up) << RUNENDS_SHIFT) + (not_saturated << OFFSET_SHIFT)
}

/// Stores the occupieds of a line. Bits 48 and 49 can only be set: if one of them is 0 in `occupieds`, it keeps its old
/// value.
///
/// # Safety
/// The caller must ensure that the line can be read and written.
#[inline(always)]
pub(super) unsafe fn set_occupieds(base: *mut u8, line: usize, occupieds: u64) {
    // The word with the occupieds also has a byte of runends. The runends have changed since the word was read, so the
    // word is not stored whole. Bits 0 to 47 are stored. Bits 48 and 49 are or-ed into their byte, whose other bits are
    // zero.
    // SAFETY: the caller guarantees that these bytes of the line can be written.
    unsafe {
        let at = base.add(line + OCCUPIEDS_AT);
        at.cast::<u32>().write_unaligned((occupieds as u32).to_le());
        at.add(4).cast::<u16>().write_unaligned(((occupieds >> 32) as u16).to_le());
        let high = at.add(6);
        *high |= (occupieds >> 48) as u8;
    }
}
