//! Inserts with AVX2, with the remainders of a line in two registers.
//!
//! The steps are those of AVX-512 ([`insert`](super::insert)). Blends and shuffles replace its masked stores and its
//! byte permute across a register.

use super::avx2::{Located, equal, locate, run_of};
use super::insert::{Carried, Place, Slot, fetch_after, moved};
use super::lines::{
    LINE_BYTES, MAX_OFFSET, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS,
    SLOTS, starts,
};
use crate::geometry::Geometry;
use crate::kernel::words::word;
use crate::kernel::{Progress, scalar};
use crate::layout::LineBlock;
use core::arch::x86_64::*;
use trommel_base::WhyFull;

/// Compares the slots of a line that are set in `slots` with a remainder. Returns a bit for each that equals it, and
/// the number of those below it.
///
/// # Safety
/// The line lies in the table.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn compare(table: *const u8, line: usize, remainder: u8, slots: u64) -> (u64, u32) {
    let wanted = _mm256_set1_epi8(remainder as i8);
    // SAFETY: the caller guarantees that the line lies in the table, and this is half of it.
    let half = |at: usize| unsafe { _mm256_loadu_si256(table.add(line + at).cast()) };
    let mask = |low: __m256i, high: __m256i| {
        let half = |bytes| u64::from(_mm256_movemask_epi8(bytes) as u32);
        half(low) | half(high) << 32
    };
    let (low, high) = (half(0), half(LINE_BYTES / 2));
    let equal = mask(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
    let at_most = |bytes| _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, wanted), bytes);
    let below = mask(at_most(low), at_most(high)) & !equal & slots;
    (equal & slots, below.count_ones())
}

/// One insert.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert(geometry: &Geometry, table: &mut [u8], hash: u64) -> Result<bool, WhyFull> {
    assert!(table.len() as u64 == geometry.blocks * LINE_BYTES as u64);
    // SAFETY: the assertion checks that the table has the geometry's length.
    unsafe { insert_key(geometry, table, hash) }
}

/// Inserts hashes in order.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert_batch(
    geometry: &Geometry,
    table: &mut [u8],
    hashes: &[u64],
    new: &mut [u64],
) -> Progress {
    assert!(table.len() as u64 == geometry.blocks * LINE_BYTES as u64);
    scalar::insert_batch::<LineBlock>(geometry, table, hashes, new, |table, hash| {
        // SAFETY: the assertion checks that the table has the geometry's length.
        unsafe { insert_key(geometry, table, hash) }
    })
}

/// Inserts a key.
///
/// # Safety
/// The table has the geometry's length.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn insert_key(geometry: &Geometry, table: &mut [u8], hash: u64) -> Result<bool, WhyFull> {
    let key = locate(geometry, hash);
    fetch_after(table, &key);
    let free = first_free(table, Slot { line: key.line, at: key.slot });
    // SAFETY: `locate` returns a line below `lines`, which is in the table; and the overhang adds at least one line
    // after those.
    match unsafe { place(table.as_ptr(), key) } {
        Place::Held if geometry.copies == 1 => Ok(false),
        Place::At { first, at, occupied } => {
            let free = free.ok_or(WhyFull::Slots)?;
            // SAFETY: the key's line lies in the table, and so does that of `free`, which `first_free` found. `at` is
            // between `first` and `free`, since all slots from the key's home to before `free` are in use.
            unsafe { insert_at(table.as_mut_ptr(), key, first, at, occupied, free) };
            Ok(true)
        }
        _ => {
            // SAFETY: this function is compiled for AVX2 and BMI2, so it runs only on machines that have them.
            let words = unsafe { super::Avx2::new() };
            scalar::insert::<LineBlock, _>(words, geometry, table, hash)
        }
    }
}

/// Finds the slot where a key's remainder belongs.
///
/// # Safety
/// The key's line lies in the table, and the table has a line after it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn place(table: *const u8, key: Located) -> Place {
    // SAFETY: both are words of the key's line, which the caller guarantees to lie in the table.
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
    let begin = _pdep_u64(1 << number, starts_here).trailing_zeros();
    let first = Slot { line, at: begin.max(home) };
    // Whether the quotient is occupied cannot be predicted, so there is no branch on it: if not, `run` has no slots.
    let (run, ends_here) = run_of(starts_here, number);
    let run = run & (u64::MAX << first.at) & u64::from(occupied).wrapping_neg();
    // SAFETY: `line` is the key's line or the one after it.
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
    // SAFETY: the caller guarantees that the table has the line after the key's.
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

/// The first free slot from a key's home on, which is the first zero byte. All slots between the home and the key's
/// slot are in use, so the search can begin at the home.
#[inline]
#[target_feature(enable = "avx2")]
fn first_free(table: &[u8], home: Slot) -> Option<Slot> {
    let mut line = home.line;
    let mut slots = SLOT_BITS & (u64::MAX << home.at);
    while line + LINE_BYTES <= table.len() {
        // SAFETY: the loop condition checks that the line lies in the table.
        let free = unsafe { equal(table.as_ptr(), line, 0) } & slots;
        if free != 0 {
            return Some(Slot { line, at: free.trailing_zeros() });
        }
        slots = SLOT_BITS;
        line += LINE_BYTES;
    }
    None
}

/// Moves the slots from `at` to before `free` up by one, and stores the key's remainder at `at`.
///
/// # Safety
/// The lines of the key and of all three slots lie in the table at `base`. The slots are in this order: the key's line
/// is not behind `first`, `first` not behind `at`, and `at` not behind `free`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn insert_at(
    base: *mut u8,
    key: Located,
    first: Slot,
    at: Slot,
    occupied: bool,
    free: Slot,
) {
    // SAFETY: this is a word of the key's line.
    let occupieds = unsafe { word(base, key.line + OCCUPIEDS_AT) };
    let mut carried = Carried { remainder: key.remainder, runend: u64::from(!occupied) };
    let mut line = key.line;
    while line <= free.line {
        let last = if line == free.line { free.at } else { SLOTS - 1 };
        let (runends, remainders) = (moved(first, line, last), moved(at, line, last));
        // SAFETY: the line lies between that of the key and that of the free slot, which are in the table.
        unsafe {
            let metadata = word(base, line + RUNENDS_AT);
            move_remainders(base.add(line), remainders, &mut carried);
            let metadata = move_runends(metadata, runends, line != key.line, &mut carried);
            base.add(line + RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
        }
        line += LINE_BYTES;
    }
    // SAFETY: the key's line lies in the table.
    unsafe { set_occupieds(base, key.line, occupieds & SLOT_BITS | 1 << key.slot) };
}

/// Moves the remainders of adjacent `slots` of a line up by one. The first gets the carried remainder, and that of the
/// last is carried on. The line's other bytes keep their values.
///
/// # Safety
/// 64 bytes from `line` on can be read and written.
#[inline]
#[target_feature(enable = "avx2,bmi1,lzcnt")]
unsafe fn move_remainders(line: *mut u8, slots: u64, carried: &mut Carried) {
    // SAFETY: all reads and writes are within the 64 bytes from `line` on, which the caller guarantees.
    unsafe {
        let low = _mm256_loadu_si256(line.cast());
        let high = _mm256_loadu_si256(line.add(32).cast());
        // The bytes from one before the upper half on, so that each byte moves up by one.
        let high_up = _mm256_loadu_si256(line.add(31).cast());
        let below = _mm256_permute2x128_si256::<0x08>(low, low);
        let low_up = _mm256_alignr_epi8::<15>(low, below);
        // If no slots move, this reads the line's first byte, which is then not used.
        let out = *line.add(63 - (slots | 1).leading_zeros() as usize);
        let incoming = _mm256_set1_epi8(carried.remainder as i8);
        let first = _blsi_u64(slots);
        let merged = |old, up, shift: u32| {
            let up = _mm256_blendv_epi8(up, incoming, bytes_of((first >> shift) as u32));
            _mm256_blendv_epi8(old, up, bytes_of((slots >> shift) as u32))
        };
        _mm256_storeu_si256(line.cast(), merged(low, low_up, 0));
        _mm256_storeu_si256(line.add(32).cast(), merged(high, high_up, 32));
        carried.remainder = if slots == 0 { carried.remainder } else { out };
    }
}

/// Moves adjacent `runends` in a line's word up by one. The first gets the carried bit, and the last bit is carried on.
/// If the line is `pushed`, runs of earlier lines take one slot more of it, and its offset is incremented.
#[inline]
#[target_feature(enable = "bmi1")]
fn move_runends(metadata: u64, runends: u64, pushed: bool, carried: &mut Carried) -> u64 {
    let old = metadata >> RUNENDS_SHIFT & runends;
    let incoming = _blsi_u64(runends) & carried.runend.wrapping_neg();
    let up = old << 1 & runends | incoming;
    // The bit in the last slot that moves.
    let leaves = u64::from(old > runends >> 1);
    carried.runend = if runends == 0 { carried.runend } else { leaves };
    let metadata = metadata & !(runends << RUNENDS_SHIFT) | up << RUNENDS_SHIFT;
    let not_saturated = metadata >> OFFSET_SHIFT < MAX_OFFSET;
    metadata + (u64::from(pushed & not_saturated) << OFFSET_SHIFT)
}

/// Stores the occupieds of a line.
///
/// # Safety
/// The line can be written.
#[inline(always)]
unsafe fn set_occupieds(base: *mut u8, line: usize, occupieds: u64) {
    // The word with the occupieds also has bytes of runends, which have changed, so only bits 0 to 47 are stored.
    // Bits 48 and 49 are set in their byte, whose other bits are zero.
    // SAFETY: the caller guarantees that these bytes of the line can be written.
    unsafe {
        let at = base.add(line + OCCUPIEDS_AT);
        at.cast::<u32>().write_unaligned((occupieds as u32).to_le());
        at.add(4).cast::<u16>().write_unaligned(((occupieds >> 32) as u16).to_le());
        let high = at.add(6);
        *high |= (occupieds >> 48) as u8;
    }
}

/// A byte for every bit, which is all ones if the bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes_of(bits: u32) -> __m256i {
    let byte_of_bit =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let bit_of_byte = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), byte_of_bit);
    _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit_of_byte), bit_of_byte)
}
