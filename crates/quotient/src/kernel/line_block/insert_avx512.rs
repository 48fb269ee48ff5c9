//! Inserts with AVX-512. The remainders of a line (a block of the table) are in one register, where a byte permute
//! moves them up.
//!
//! At 95 % load, an insert loads, moves and stores some four lines, and mispredicts two branches: on the number of
//! lines, and on whether the run goes on in the next line. When a line is moved up, all its words and bytes are loaded
//! before any part of it is stored: loading a word soon after a narrower store to a part of it has to wait for that
//! store. Inserts that loaded words soon after such stores took 2.4 times as long.

use super::insert_steps::{
    Carried, Compare, Place, Slot, fetch_after, move_runends, moved, place, push_runends,
    set_occupieds,
};
use super::lines::{LINE_BYTES, OCCUPIEDS_AT, RUNENDS_AT, SLOT_BITS, SLOTS};
use super::lookup::{Located, locate};
use crate::geometry::Geometry;
use crate::kernel::words::word;
use crate::kernel::{Progress, scalar};
use crate::layout::LineBlock;
use crate::table::bits_between;
use core::arch::x86_64::*;
use trommel_base::WhyFull;
use trommel_base::batch::Hint;
use trommel_simd::prefetch;

/// A table and the remainder that its slots are compared with.
struct Slots {
    table: *const u8,
    remainder: u8,
}

impl Compare for Slots {
    #[inline(always)]
    unsafe fn compare(&self, line: usize, slots: u64) -> (u64, u32) {
        // SAFETY: only `insert_key`, which is compiled for AVX-512F and AVX-512BW, makes a value of this type. The
        // caller guarantees that the line lies in the table.
        unsafe { compare(self.table, line, self.remainder, slots) }
    }
}

/// Compares a remainder with those slots of a line whose bits are set in `slots`. Returns a bit for each of these slots
/// that holds the remainder, and the number of these slots that hold a smaller remainder.
///
/// # Safety
/// The caller must ensure that the line lies in the table.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn compare(table: *const u8, line: usize, remainder: u8, slots: u64) -> (u64, u32) {
    // SAFETY: the caller guarantees that the line lies in the table.
    let bytes = unsafe { _mm512_loadu_si512(table.add(line).cast()) };
    let remainder = _mm512_set1_epi8(remainder as i8);
    let equal = _mm512_mask_cmpeq_epu8_mask(slots, bytes, remainder);
    let below = _mm512_mask_cmplt_epu8_mask(slots, bytes, remainder);
    (equal, below.count_ones())
}

/// Inserts one key.
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
pub(super) fn insert(geometry: &Geometry, table: &mut [u8], hash: u64) -> Result<bool, WhyFull> {
    assert!(table.len() as u64 == geometry.blocks * LINE_BYTES as u64);
    let key = locate(geometry, hash);
    fetch_after(table, &key);
    // SAFETY: `locate` made `key`, and the assertion checks that the table has the geometry's length.
    unsafe { insert_key(geometry, table, hash, key) }
}

/// Inserts a key that is located.
///
/// # Safety
/// The caller must ensure that `locate` made `key`, and that the table has the geometry's length.
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
    // The free slot is searched for first, from the home. The number of lines that the search takes cannot be
    // predicted. It is known sooner if the search does not have to wait for the slot where the remainder belongs.
    // Rejected: a search from that slot (56 ns per insert instead of 51).
    let free = first_free(table, Slot { line: key.line, at: key.slot });
    // SAFETY: this function is compiled for AVX2, BMI1, BMI2 and POPCNT, so it runs only on machines that have them.
    let words = unsafe { super::Avx2::new() };
    let slots = Slots { table: table.as_ptr(), remainder: key.remainder };
    // SAFETY: the caller guarantees that `locate` made `key` and that the table has the geometry's length, so the key's
    // line is in the table; and the overhang (the slots after the last quotient's slot) adds at least one line after
    // the lines of keys.
    match unsafe { place(words, table.as_ptr(), key, &slots) } {
        Place::Held if geometry.copies == 1 => Ok(false),
        Place::At { first, at, occupied } => {
            let free = free.ok_or(WhyFull::Slots)?;
            // SAFETY: the key's line lies in the table, and so does that of `free`, which `first_free` found. In the
            // table of an owned filter, which was filled by inserts or checked, all slots from the key's home to before
            // `at` are in use. So `free`, the first free slot from the home on, is `at` or a slot after it.
            unsafe { insert_at(table.as_mut_ptr(), key, first, at, occupied, free) };
            Ok(true)
        }
        _ => scalar::insert::<LineBlock, _>(words, geometry, table, hash),
    }
}

/// The first free slot from a key's home on, which is the first zero byte. (The home is the slot whose number is the
/// key's quotient.) All slots between the home and the slot where the key's remainder belongs are in use, so the search
/// can begin at the home.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn first_free(table: &[u8], home: Slot) -> Option<Slot> {
    let mut line = home.line;
    let mut slots = SLOT_BITS & (u64::MAX << home.at);
    while line + LINE_BYTES <= table.len() {
        // SAFETY: the loop condition checks that the line lies in the table.
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

/// Moves the remainders in the slots `at..free` and the runends in the slots `first..free` up by one slot, and stores
/// the key's remainder at `at`. Increments the offset of each line after the key's line, up to the line of `free`,
/// unless this line's offset has its highest value. Marks the key's quotient as occupied. `occupied` tells whether the
/// quotient was occupied before.
///
/// # Safety
/// The caller must ensure that the lines of the key and of all three slots lie in the table at `base`. The key's line
/// must not be after the line of `first`, `first` must not be after `at`, and `at` must not be after `free`.
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
        // SAFETY: this is a word of the key's line.
        let occupieds = unsafe { word(base, key.line + OCCUPIEDS_AT) };
        occupieds & SLOT_BITS | 1 << key.slot
    };
    let last = |line: usize| if line == free.line { free.at } else { SLOTS - 1 };
    let mut line = key.line;
    let mut carried = Carried { remainder: key.remainder, runend: u64::from(!occupied) };
    // From the key's line to the line of slot `at`, moves can begin within the line. In later lines, they begin at slot
    // 0. If `at` is after `free`, as only a forged table can have it, nothing after the line of `free` is written.
    loop {
        let (runends, remainders) = (moved(first, line, last(line)), moved(at, line, last(line)));
        // SAFETY: the line lies between that of the key and that of the free slot, which are in the table.
        unsafe { move_up(base.add(line), runends, remainders, line != key.line, &mut carried) };
        line += LINE_BYTES;
        if line > at.line.min(free.line) {
            break;
        }
    }
    while line <= free.line {
        // SAFETY: the line lies between that of the key and that of the free slot, which are in the table.
        unsafe { push_through(base.add(line), last(line), &mut carried) };
        line += LINE_BYTES;
    }
    // SAFETY: the key's line lies in the table.
    unsafe { set_occupieds(base, key.line, new_occupieds) };
}

/// Moves runends and remainders of a line up by one slot. `runends` and `remainders` are masks of the adjacent slots
/// whose runends and remainders move. The first slot of each mask gets what is carried, and the content of the last is
/// carried on. If the line is `pushed`, runs of earlier lines take one slot more of it, and its offset is incremented,
/// unless it is [`MAX_OFFSET`] already.
///
/// # Safety
/// The caller must ensure that 64 bytes from `line` on can be read and written.
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
    // SAFETY: all reads and writes are within the 64 bytes from `line` on, which the caller guarantees.
    unsafe {
        let metadata = word(line, RUNENDS_AT);
        let bytes = _mm512_loadu_si512(line.cast());
        // If no remainders move, this reads the line's first byte, which is then not used.
        let out = *line.add(63 - (remainders | 1).leading_zeros() as usize);
        let up = _mm512_permutexvar_epi8(_mm512_load_si512(ONE_BEFORE.0.as_ptr().cast()), bytes);
        let up = _mm512_mask_set1_epi8(up, _blsi_u64(remainders), carried.remainder as i8);
        _mm512_mask_storeu_epi8(line.cast(), remainders, up);
        carried.remainder = if remainders == 0 { carried.remainder } else { out };

        let metadata = move_runends(metadata, runends, pushed, carried);
        line.add(RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
    }
}

/// [`move_up`] for a pushed line in which all slots up to and including `last` move.
///
/// # Safety
/// The caller must ensure that 64 bytes from `line` on can be read and written.
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq"
)]
unsafe fn push_through(line: *mut u8, last: u32, carried: &mut Carried) {
    let slots = bits_between(0, last);
    // SAFETY: all reads and writes are within the 64 bytes from `line` on, which the caller guarantees.
    unsafe {
        let metadata = word(line, RUNENDS_AT);
        let bytes = _mm512_loadu_si512(line.cast());
        let out = *line.add(last as usize);
        let up = _mm512_permutexvar_epi8(_mm512_load_si512(ONE_BEFORE.0.as_ptr().cast()), bytes);
        let up = _mm512_mask_set1_epi8(up, 1, carried.remainder as i8);
        _mm512_mask_storeu_epi8(line.cast(), slots, up);
        carried.remainder = out;
        let metadata = push_runends(metadata, last, carried);
        line.add(RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
    }
}

#[repr(align(64))]
struct Bytes([u8; LINE_BYTES]);

/// For every byte of a register, the index of the byte before it; 0 for the first.
static ONE_BEFORE: Bytes = {
    let mut bytes = [0; LINE_BYTES];
    let mut i = 1;
    while i < LINE_BYTES {
        bytes[i] = i as u8 - 1;
        i += 1;
    }
    Bytes(bytes)
};

/// The line of a key is prefetched this number of keys before the key is inserted.
const DISTANCE_KEYS: usize = 16;

/// Inserts hashes in order until one is refused, and prefetches their lines. Sets bit `i` of `new` if hash `i` added a
/// fingerprint.
///
/// Rejected: finding the slots of eight keys before inserting any, so that no mispredicted branch of an insert comes
/// between these searches (65 ns per key instead of 56).
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
            // SAFETY: `locate` made `key`, and the assertion checks that the table has the geometry's length.
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
