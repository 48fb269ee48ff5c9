//! Inserts with AVX2, with the remainders of a line in two registers.
//!
//! The steps are those of AVX-512 ([`insert`](super::insert)). Blends and shuffles replace its masked stores and its
//! byte permute across a register.

use super::avx2::{Located, equal, locate};
use super::insert_steps::{
    Carried, Place, Slot, define_place, fetch_after, move_runends, moved, set_occupieds,
};
use super::lines::{LINE_BYTES, OCCUPIEDS_AT, RUNENDS_AT, SLOT_BITS, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::words::word;
use crate::kernel::{Progress, scalar};
use crate::layout::LineBlock;
use core::arch::x86_64::*;
use trommel_base::WhyFull;

/// Compares the slots of a line that are set in `slots` with a remainder. Returns a bit for each slot that equals the
/// remainder, and the number of the slots that are below it.
///
/// # Safety
/// The caller must ensure that the line lies in the table.
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

define_place!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")],
    compare
);

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
/// The caller must ensure that the table has the geometry's length.
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
/// The caller must ensure that the lines of the key and of all three slots lie in the table at `base`, and that the
/// slots are in this order: the key's line is not behind `first`, `first` not behind `at`, and `at` not behind `free`.
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
/// The caller must ensure that 64 bytes from `line` on can be read and written.
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
