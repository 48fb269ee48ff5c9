//! Inserts with AVX-512: a line of remainders in a register, moved up by one byte permute.
//!
//! An insert at 95 % load costs some four lines, each loaded, moved and stored once, and two
//! mispredicted branches: how many lines, and whether the run goes on in the next. Words and bytes of a
//! line are loaded before any of it is stored: to load a word that an earlier, narrower store has
//! written a part of took 2.4 times as long.

use super::avx2::{Located, locate, run_of};
use super::lines::{
    LINE_BYTES, MAX_OFFSET, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS,
    SLOTS, starts,
};
use crate::geometry::Geometry;
use crate::kernel::words::word;
use crate::kernel::{Progress, scalar};
use crate::layout::LineBlock;
use crate::table::bits_between;
use core::arch::x86_64::*;
use trommel_base::WhyFull;
use trommel_base::batch::Hint;
use trommel_simd::prefetch;

/// A slot: the byte where its line begins, and its place there.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) line: usize,
    pub(super) at: u32,
}

impl Slot {
    /// The place after the last is the next line's first.
    #[inline(always)]
    pub(super) fn of(line: usize, at: u32) -> Self {
        if at < SLOTS { Self { line, at } } else { Self { line: line + LINE_BYTES, at: 0 } }
    }
}

/// Lines after a key's that are prefetched, since the loop that reads them ends where no processor predicts:
/// with them, single inserts from 92 to 95 % of slots took 0.95 of the time at 2^20, 0.91 to 0.98 at 2^24, and 0.93
/// there with AVX2. To store lines whole instead of by a mask made no difference.
const FETCHED_LINES: usize = 3;

/// Prefetches the lines after a key's.
#[inline(always)]
pub(super) fn fetch_after(table: &[u8], key: &Located) {
    for line in 1..=FETCHED_LINES {
        prefetch(table.as_ptr().wrapping_add(key.line + line * LINE_BYTES), Hint::T0);
    }
}

/// Where a remainder goes.
pub(super) enum Place {
    /// It is there already.
    Held,
    /// The run begins at `first`, the remainder belongs at `at`.
    At { first: Slot, at: Slot, occupied: bool },
    /// Too far from home, or too long a run, for what is seen of one line and the next.
    Far,
}

/// Bytes equal to and below a remainder, among the slots of a line that `slots` says.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn compare(table: *const u8, line: usize, remainder: u8, slots: u64) -> (u64, u32) {
    // SAFETY: a line of the table, the caller's duty.
    let bytes = unsafe { _mm512_loadu_si512(table.add(line).cast()) };
    let remainder = _mm512_set1_epi8(remainder as i8);
    let equal = _mm512_mask_cmpeq_epu8_mask(slots, bytes, remainder);
    let below = _mm512_mask_cmplt_epu8_mask(slots, bytes, remainder);
    (equal, below.count_ones())
}

/// Finds the place of a key.
///
/// # Safety
/// The key's line lies in the table, and the table has a line after it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512vl")]
unsafe fn place(table: *const u8, key: Located) -> Place {
    // SAFETY: words of the key's line.
    let (occupieds, runends) =
        unsafe { (word(table, key.line + OCCUPIEDS_AT), word(table, key.line + RUNENDS_AT)) };
    let occupied = occupieds >> key.slot & 1 == 1;
    let mut number = _bzhi_u64(occupieds, key.slot).count_ones();
    let offset = runends >> OFFSET_SHIFT;
    if offset > u64::from(SLOTS) {
        return Place::Far;
    }
    let mut starts_here = starts(runends) & (u64::MAX << offset);
    let mut line = key.line;
    let mut home = key.slot;
    // A start after the last slot is the next line's first.
    if number >= (starts_here & SLOT_BITS).count_ones() {
        number = number + 1 - starts_here.count_ones();
        line += LINE_BYTES;
        home = 0;
        // SAFETY: the line after the key's.
        starts_here = starts(unsafe { word(table, line + RUNENDS_AT) });
        if number >= (starts_here & SLOT_BITS).count_ones() {
            return Place::Far;
        }
    }
    let begin = _pdep_u64(1 << number, starts_here).trailing_zeros();
    let first = Slot { line, at: begin.max(home) };
    // Whether the quotient is occupied cannot be predicted: if it is not, its run has no slots.
    let (run, ends_here) = run_of(starts_here, number);
    let run = run & (u64::MAX << first.at) & u64::from(occupied).wrapping_neg();
    // SAFETY: the key's line, or the one after it.
    let (equal, below) = unsafe { compare(table, line, key.remainder, run) };
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
    // SAFETY: the line after the key's.
    let (rest, ends_here) = run_of(starts(unsafe { word(table, line + RUNENDS_AT) }), 0);
    if !ends_here {
        return Place::Far;
    }
    // SAFETY: as above.
    let (equal, more_below) = unsafe { compare(table, line, key.remainder, rest) };
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

/// One insert.
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
pub(super) fn insert(geometry: &Geometry, table: &mut [u8], hash: u64) -> Result<bool, WhyFull> {
    assert!(table.len() as u64 == geometry.blocks * LINE_BYTES as u64);
    let key = locate(geometry, hash);
    fetch_after(table, &key);
    // SAFETY: a line's number is below `lines`, of which the table has more, as just checked.
    unsafe { insert_key(geometry, table, hash, key) }
}

/// Inserts a key whose line is known.
///
/// # Safety
/// The key's line is one that a hash can have, and the table has the geometry's length.
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
unsafe fn insert_key(
    geometry: &Geometry,
    table: &mut [u8],
    hash: u64,
    key: Located,
) -> Result<bool, WhyFull> {
    // First of all: how many lines it takes cannot be predicted, and is known soon, since it does not
    // depend on the key's place. Searched for from there, an insert took 56 ns instead of 51.
    let free = first_free(table, Slot { line: key.line, at: key.slot });
    // SAFETY: the caller's duty; and the overhang adds at least one line to those of hashes.
    match unsafe { place(table.as_ptr(), key) } {
        Place::Held if geometry.copies == 1 => Ok(false),
        Place::At { first, at, occupied } => {
            let free = free.ok_or(WhyFull::Slots)?;
            // SAFETY: the key's line, that of `at`, which is one of the two after it at most, and that
            // of the free slot lie in the table, the last not before the others.
            unsafe { insert_at(table.as_mut_ptr(), key, first, at, occupied, free) };
            Ok(true)
        }
        _ => {
            // SAFETY: a function that is compiled for AVX2 and BMI2 runs where they are.
            let words = unsafe { super::Avx2::new() };
            scalar::insert::<LineBlock, _>(words, geometry, table, hash)
        }
    }
}

/// The first free slot that a key at this home can take: the first byte that is zero from there on,
/// since all slots between a key's home and its place are in use.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn first_free(table: &[u8], home: Slot) -> Option<Slot> {
    let mut line = home.line;
    let mut slots = SLOT_BITS & (u64::MAX << home.at);
    while line + LINE_BYTES <= table.len() {
        // SAFETY: a line of the table, as just checked.
        let bytes = unsafe { _mm512_loadu_si512(table.as_ptr().add(line).cast()) };
        let free = _mm512_mask_testn_epi8_mask(slots, bytes, bytes);
        if free != 0 {
            return Some(Slot { line, at: free.trailing_zeros() });
        }
        slots = SLOT_BITS;
        line += LINE_BYTES;
    }
    None
}

/// Moves what is between a place and a free slot up by one, and puts the key there.
///
/// # Safety
/// The lines of all three slots lie in the table at `base`: not before the key's, `at` not before `first`
/// and `free` not before `at`.
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
unsafe fn insert_at(
    base: *mut u8,
    key: Located,
    first: Slot,
    at: Slot,
    occupied: bool,
    free: Slot,
) {
    let new_occupieds = {
        // SAFETY: a word of the key's line.
        let occupieds = unsafe { word(base, key.line + OCCUPIEDS_AT) };
        occupieds & SLOT_BITS | 1 << key.slot
    };
    let last = |line: usize| if line == free.line { free.at } else { SLOTS - 1 };
    let mut line = key.line;
    let mut carried = Carried { remainder: key.remainder, runend: u64::from(!occupied) };
    // The key's line, and perhaps those where its run is.
    loop {
        let (runends, remainders) = (moved(first, line, last(line)), moved(at, line, last(line)));
        // SAFETY: a line of the table: not after that of the free slot.
        unsafe { move_up(base.add(line), runends, remainders, line != key.line, &mut carried) };
        line += LINE_BYTES;
        if line > at.line {
            break;
        }
    }
    while line <= free.line {
        // SAFETY: as above.
        unsafe { push_through(base.add(line), last(line), &mut carried) };
        line += LINE_BYTES;
    }
    // Bits 48 and 49 share a byte with nothing that changed since; the others are stored without the
    // bytes after them, which now have the line's runends.
    // SAFETY: bytes of the key's line.
    unsafe {
        let occupieds = base.add(key.line + OCCUPIEDS_AT);
        occupieds.cast::<u32>().write_unaligned((new_occupieds as u32).to_le());
        occupieds.add(4).cast::<u16>().write_unaligned(((new_occupieds >> 32) as u16).to_le());
        let high = occupieds.add(6);
        *high |= (new_occupieds >> 48) as u8;
    }
}

/// The slot that moves from the end of a line to the beginning of the next.
pub(super) struct Carried {
    pub(super) remainder: u8,
    pub(super) runend: u64,
}

/// The slots of a line from `from` on up to `last`: none in a line before that of `from`.
#[inline(always)]
pub(super) fn moved(from: Slot, line: usize, last: u32) -> u64 {
    let first = if line == from.line { from.at } else { 0 };
    let none_before = u64::from(line >= from.line).wrapping_neg();
    bits_between(first, last) & none_before
}

/// Moves a line's `runends` and its `remainders` up by one; what is carried comes in, and what was in
/// the last goes out.
///
/// # Safety
/// 64 bytes from `line` on can be read and written.
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
unsafe fn move_up(
    line: *mut u8,
    runends: u64,
    remainders: u64,
    pushed: bool,
    carried: &mut Carried,
) {
    // SAFETY: the caller's duty, for this and all below.
    unsafe {
        let metadata = word(line, RUNENDS_AT);
        let bytes = _mm512_loadu_si512(line.cast());
        // Without slots, the last is the line's last byte, which is not used then.
        let out = *line.add(63 - (remainders | 1).leading_zeros() as usize);
        let up = _mm512_permutexvar_epi8(_mm512_load_si512(ONE_BEFORE.0.as_ptr().cast()), bytes);
        let up = _mm512_mask_set1_epi8(up, _blsi_u64(remainders), carried.remainder as i8);
        _mm512_mask_storeu_epi8(line.cast(), remainders, up);
        carried.remainder = if remainders == 0 { carried.remainder } else { out };

        let old = metadata >> RUNENDS_SHIFT & runends;
        let incoming = _blsi_u64(runends) & carried.runend.wrapping_neg();
        let up = old << 1 & runends | incoming;
        // The highest of those that move.
        let leaves = u64::from(old > runends >> 1);
        carried.runend = if runends == 0 { carried.runend } else { leaves };
        let metadata = metadata & !(runends << RUNENDS_SHIFT) | up << RUNENDS_SHIFT;
        let not_saturated = metadata >> OFFSET_SHIFT < MAX_OFFSET;
        let metadata = metadata + (u64::from(pushed & not_saturated) << OFFSET_SHIFT);
        line.add(RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
    }
}

/// The same for a line that is pushed from its first slot on, up to `last`.
///
/// # Safety
/// As for [`move_up`].
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
unsafe fn push_through(line: *mut u8, last: u32, carried: &mut Carried) {
    let slots = bits_between(0, last);
    // SAFETY: the caller's duty, for this and all below.
    unsafe {
        let metadata = word(line, RUNENDS_AT);
        let bytes = _mm512_loadu_si512(line.cast());
        let out = *line.add(last as usize);
        let up = _mm512_permutexvar_epi8(_mm512_load_si512(ONE_BEFORE.0.as_ptr().cast()), bytes);
        let up = _mm512_mask_set1_epi8(up, 1, carried.remainder as i8);
        _mm512_mask_storeu_epi8(line.cast(), slots, up);
        carried.remainder = out;
        let old = metadata >> RUNENDS_SHIFT & slots;
        let up = (old << 1 | carried.runend) & slots;
        carried.runend = old >> last;
        let not_saturated = u64::from(metadata >> OFFSET_SHIFT < MAX_OFFSET);
        let metadata = (metadata ^ (old ^ up) << RUNENDS_SHIFT) + (not_saturated << OFFSET_SHIFT);
        line.add(RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
    }
}

#[repr(align(64))]
struct Bytes([u8; LINE_BYTES]);

/// For every byte, the number of the one before.
static ONE_BEFORE: Bytes = {
    let mut bytes = [0; LINE_BYTES];
    let mut i = 1;
    while i < LINE_BYTES {
        bytes[i] = i as u8 - 1;
        i += 1;
    }
    Bytes(bytes)
};

/// Keys between prefetching the line of one and inserting it.
const DISTANCE_KEYS: usize = 16;

/// Inserts in order.
///
/// To find the places of eight keys before inserting any, so that no mispredicted branch of an insert
/// comes between them, was slower: 65 and 56 ns per key.
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
pub(super) fn insert_batch(
    geometry: &Geometry,
    table: &mut [u8],
    hashes: &[u64],
    new: &mut [u64],
) -> Progress {
    assert!(table.len() as u64 == geometry.blocks * LINE_BYTES as u64);
    let mut located = [Located { line: 0, slot: 0, remainder: 0 }; DISTANCE_KEYS];
    for step in 0..hashes.len() + DISTANCE_KEYS {
        let key = &mut located[step % DISTANCE_KEYS];
        if let Some(i) = step.checked_sub(DISTANCE_KEYS) {
            // SAFETY: a line's number is below `lines`, of which the table has more, as checked.
            match unsafe { insert_key(geometry, table, hashes[i], *key) } {
                Ok(inserted) => new[i / 64] |= u64::from(inserted) << (i % 64),
                Err(why) => return (i, Some(why)),
            }
        }
        if let Some(hash) = hashes.get(step) {
            *key = locate(geometry, *hash);
            prefetch(table.as_ptr().wrapping_add(key.line), Hint::T0);
            prefetch(table.as_ptr().wrapping_add(key.line + LINE_BYTES), Hint::T0);
        }
    }
    (hashes.len(), None)
}
