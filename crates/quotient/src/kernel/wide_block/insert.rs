//! Inserts with AVX2. They find all free slots of a block at once, and move remainders of 8 bits in groups of 32.
//!
//! A slot is in use if the run of its own quotient or a lower one has not ended before the slot
//! ([`balance`](crate::balance)). A block begins with as many open runs as the block before ends with, so the search
//! for a free slot needs no rank, no select, and no offset but that of the key's block.
//!
//! Rejected: jumping from the end of a run to that of the runs that it pushes, where each jump waits for the one before
//! it, and moving remainders by a call (239 ns per insert in batches from 93 to 95 % load of 2^20 slots; the code here
//! takes 93 ns).

use super::avx2::{Located, locate};
use super::places::{Places, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::balance::balanced_avx2;
use crate::kernel::words::word;
use crate::kernel::{Progress, scalar};
use crate::layout::Position;
use crate::layout::{Layout, WideBlock};
use crate::table::bits_between;
use core::arch::x86_64::*;
use trommel_base::WhyFull;
use trommel_base::batch::Hint;
use trommel_base::storage::LINE_BYTES;
use trommel_simd::prefetch;

/// The number of slots of a run that are compared at once, and of bytes that are moved at once.
const VECTOR: usize = 32;
/// The number of offsets that are incremented at once.
const OFFSETS: usize = 16;

/// The number of cache lines of remainders that are prefetched while the metadata is read. Compared with the table's
/// algorithm, single inserts at 95 % load of 2^24 slots took 0.55 times as long with these prefetches, and 0.77 times
/// without.
const FETCHED_LINES: usize = 3;

/// The slot where a remainder is to be inserted. Slots are counted from the table's first.
struct Place {
    /// The slot where the run begins.
    first: usize,
    /// The slot where the remainder belongs.
    at: usize,
    /// Whether the quotient has a run already.
    occupied: bool,
}

/// One insert.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert(geometry: &Geometry, table: &mut [u8], hash: u64) -> Result<bool, WhyFull> {
    match Places::with_two_blocks_after(geometry, table) {
        // SAFETY: `with_two_blocks_after` checks the table's length, and that it has two blocks after a key's.
        Some(places) => unsafe { insert_key(geometry, &places, table, hash) },
        None => insert_any(geometry, table, hash),
    }
}

/// Inserts hashes in order.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert_batch(
    geometry: &Geometry,
    table: &mut [u8],
    hashes: &[u64],
    new: &mut [u64],
) -> Progress {
    let Some(places) = Places::with_two_blocks_after(geometry, table) else {
        return scalar::insert_batch::<WideBlock>(geometry, table, hashes, new, |table, hash| {
            insert_any(geometry, table, hash)
        });
    };
    scalar::insert_batch::<WideBlock>(geometry, table, hashes, new, |table, hash| {
        // SAFETY: `with_two_blocks_after` checks the table's length, and that it has two blocks after a key's.
        unsafe { insert_key(geometry, &places, table, hash) }
    })
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_any(geometry: &Geometry, table: &mut [u8], hash: u64) -> Result<bool, WhyFull> {
    // SAFETY: this function is compiled for AVX2 and BMI2, so it runs only on machines that have them.
    let words = unsafe { super::Avx2::new() };
    scalar::insert::<WideBlock, _>(words, geometry, table, hash)
}

impl Places {
    /// Like [`Places::of`], but returns `None` also if a key's block can be the last block but one.
    #[inline(always)]
    fn with_two_blocks_after(geometry: &Geometry, table: &[u8]) -> Option<Self> {
        let last_home = (geometry.slots - 1) / u64::from(SLOTS);
        Self::of(geometry, table).filter(|_| last_home + 2 < geometry.blocks)
    }
}

/// Inserts a key.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length, and two blocks after a key's.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn insert_key(
    geometry: &Geometry,
    places: &Places,
    table: &mut [u8],
    hash: u64,
) -> Result<bool, WhyFull> {
    let key = locate(geometry, hash);
    // Only the metadata tells which bytes move, but they begin near this slot.
    let slot = key.block * 64 + key.slot as usize;
    let remainders =
        table.as_ptr().wrapping_add(places.remainders + slot * places.bits as usize / 8);
    for line in 0..FETCHED_LINES {
        prefetch(remainders.wrapping_add(line * LINE_BYTES), Hint::T0);
    }
    prefetch(table.as_ptr().wrapping_add(key.block * 16 + LINE_BYTES), Hint::T0);
    // SAFETY: the caller guarantees the table's length.
    let free = unsafe { first_free(geometry, places, table.as_ptr(), key) };
    // SAFETY: the caller guarantees the table's length and two blocks after the key's.
    let place = unsafe { place(places, table, key) };
    let (Some(free), Some(place)) = (free, place) else {
        return insert_any(geometry, table, hash);
    };
    if free >= geometry.blocks as usize * 64 {
        return Err(WhyFull::Slots);
    }
    // This holds in every table that inserts make, but the soundness of writes must not rest on the table's content.
    assert!(place.at <= free);
    // SAFETY: the checks above make sure that `free` is in the table and not before `place.at`; and `place.first` is
    // not after `place.at`.
    unsafe { insert_at(places, table, key, &place, free) };
    Ok(true)
}

/// The first free slot at or after a key's home; the number of the table's slots if there is none. `None` if runs of
/// earlier blocks take the whole block and more.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn first_free(
    geometry: &Geometry,
    places: &Places,
    table: *const u8,
    key: Located,
) -> Option<usize> {
    // SAFETY: this is the offset of the key's block.
    let offset = u32::from(unsafe { *table.add(places.offsets + key.block) });
    if offset > SLOTS {
        return None;
    }
    // SAFETY: these are the words of the key's block.
    let (occupieds, runends) =
        unsafe { (word(table, key.block * 16), word(table, key.block * 16 + 8)) };
    // Runends below the offset belong to runs of earlier blocks.
    let own = runends ^ _bzhi_u64(runends, offset);
    let not_before = u64::MAX << key.slot & !_bzhi_u64(u64::MAX, offset);
    // The runends are shifted because a run takes the slot at which it ends.
    let mut free = balanced_avx2(occupieds, own << 1, 0) & not_before;
    let mut open = occupieds.count_ones() - own.count_ones();
    let mut block = key.block;
    while free == 0 {
        block += 1;
        if block == geometry.blocks as usize {
            break;
        }
        // SAFETY: these are the words of a block below `geometry.blocks`.
        let (occupieds, runends) =
            unsafe { (word(table, block * 16), word(table, block * 16 + 8)) };
        free = balanced_avx2(occupieds, runends << 1, open);
        open = open + occupieds.count_ones() - runends.count_ones();
    }
    Some(block * 64 + free.trailing_zeros() as usize % 64)
}

/// Finds the slot where a key's remainder belongs. `None` if the table holds the remainder already, or if the slot is
/// too far from home or the run too long to find the slot here.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length, and two blocks after the key's.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn place(places: &Places, table: &[u8], key: Located) -> Option<Place> {
    let bytes = table.as_ptr();
    // SAFETY: these are words and the offset of the key's block, and a word of the next.
    let (occupieds, runends, next, offset) = unsafe {
        let words = key.block * 16;
        (
            word(bytes, words),
            word(bytes, words + 8),
            word(bytes, words + 24),
            u32::from(*bytes.add(places.offsets + key.block)),
        )
    };
    let below_offset = _bzhi_u64(u64::MAX, offset);
    let own = runends & !below_offset;
    // The number of the block's runs before the key's, and the number of the block's own runs that end in it.
    let number = _bzhi_u64(occupieds, key.slot).count_ones();
    let ends = own.count_ones();
    // All ones if the run before the key's ends in the next block, else 0.
    let later = u64::from(number > ends).wrapping_neg();
    // A run can begin at the offset, or after a runend.
    let starts = own << 1 | below_offset.wrapping_add(1);
    let starts = starts ^ (starts ^ (next << 1 | 1)) & later;
    let number = number - (ends & later as u32);
    let start = _pdep_u64(1 << number, starts).trailing_zeros();
    if later != 0 && start == SLOTS {
        return None;
    }
    let start = start + (SLOTS & later as u32);
    let first = key.block * 64 + start.max(key.slot) as usize;
    let occupied = occupieds >> key.slot & 1;
    // SAFETY: the run begins in the key's block or the next, and there is a block after both.
    let ends_from_first = unsafe {
        let (words, slot) = (first / 64 * 16, first % 64);
        word(bytes, words + 8) >> slot | word(bytes, words + 24) << 1 << (63 - slot)
    };
    // Whether the quotient is occupied cannot be predicted, so there is no branch on it for remainders of 8 bits: if
    // the quotient is not occupied, `run` has no slots.
    let last = ends_from_first.trailing_zeros();
    if occupied != 0 && last as usize >= VECTOR {
        return None;
    }
    let (below, equal) = if places.bits == 8 {
        let run = _bzhi_u64(u64::MAX, last + 1) & occupied.wrapping_neg();
        // SAFETY: the run begins in the section of remainders, and the offsets after it are more than a vector.
        let run_bytes = unsafe { _mm256_loadu_si256(bytes.add(places.remainders + first).cast()) };
        let remainder = _mm256_set1_epi8(key.remainder as i8);
        let equal = _mm256_movemask_epi8(_mm256_cmpeq_epi8(run_bytes, remainder)) as u32;
        let at_most = _mm256_cmpeq_epi8(_mm256_min_epu8(run_bytes, remainder), run_bytes);
        let below = _mm256_movemask_epi8(at_most) as u32 & !equal;
        ((below & run as u32).count_ones(), equal & run as u32)
    } else if occupied != 0 {
        // SAFETY: the run ends in the block of its first slot or in the next, which are in the table.
        unsafe { places.search(table, first, last, key.remainder) }
    } else {
        (0, 0)
    };
    let at = first + below as usize;
    (equal == 0).then_some(Place { first, at, occupied: occupied != 0 })
}

impl Places {
    /// The number of remainders of a run that are below a key's, and the number of those that equal it.
    ///
    /// # Safety
    /// The caller must ensure that the run, from slot `first` on, has `last + 1` slots of the table.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn search(&self, table: &[u8], first: usize, last: u32, remainder: u32) -> (u32, u32) {
        let (mut below, mut equal) = (0, 0);
        let mut bit = first * self.bits as usize;
        for _ in 0..=last {
            // SAFETY: the remainder is in the section of remainders, and the section of offsets, of 64 bytes or more,
            // comes after it.
            let window = unsafe { word(table.as_ptr(), self.remainders + bit / 8) };
            let held = _bzhi_u64(window >> (bit % 8), self.bits) as u32;
            below += u32::from(held < remainder);
            equal += u32::from(held == remainder);
            bit += self.bits as usize;
        }
        (below, equal)
    }
}

/// Moves the slots from `place.at` to before `free` up by one, and stores the key's remainder at `place.at`.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length, that all slots are in the table, and that `free` is
/// not before the others.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn insert_at(places: &Places, table: &mut [u8], key: Located, place: &Place, free: usize) {
    if places.bits == 8 {
        // SAFETY: the slots are in the table. The words come before the section of remainders, and at least 64 bytes of
        // offsets after it, so a byte before and a vector after any slot are in the table too.
        unsafe {
            insert_byte(table.as_mut_ptr().add(places.remainders), place.at, free, key.remainder);
        }
    } else {
        let position = |slot: usize| Position::of_slot::<WideBlock>(slot as u64);
        let (at, free) = (position(place.at), position(free));
        WideBlock::insert_remainder(&places.shape, table, at, free, key.remainder);
    }
    let bytes = table.as_mut_ptr();
    let mut carry = u64::from(!place.occupied);
    for block in place.first / 64..=free / 64 {
        let low = if block == place.first / 64 { place.first % 64 } else { 0 };
        let high = if block == free / 64 { free % 64 } else { 63 };
        let moved = bits_between(low as u32, high as u32);
        // SAFETY: this is a word of a block up to that of `free`, which is in the table.
        unsafe {
            let at = bytes.add(block * 16 + 8).cast::<u64>();
            let runends = u64::from_le(at.read_unaligned());
            let up = (runends & moved) << 1 & moved | carry << low;
            carry = runends >> high & 1;
            at.write_unaligned((runends & !moved | up).to_le());
        }
    }
    // SAFETY: this is a word of the key's block.
    unsafe {
        let at = bytes.add(key.block * 16).cast::<u64>();
        let occupieds = u64::from_le(at.read_unaligned());
        at.write_unaligned((occupieds | 1 << key.slot).to_le());
    }
    raise_offsets(&mut table[places.offsets..], key.block + 1, free / 64 - key.block);
}

/// Moves bytes `at..free` up by one, and stores `byte` at `at`.
///
/// # Safety
/// The caller must ensure that the bytes from `at` to `free` and a vector behind `free` can be written, and that the
/// byte before `at` can be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn insert_byte(bytes: *mut u8, at: usize, free: usize, byte: u32) {
    let places = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31,
    );
    // SAFETY: all reads and writes are within the bytes that the caller guarantees.
    unsafe {
        let there = _mm256_loadu_si256(bytes.add(at).cast());
        let before = _mm256_loadu_si256(bytes.add(at).sub(1).cast());
        // From the end backwards, so that no byte is read after it was overwritten.
        let mut end = free;
        while end - at >= VECTOR {
            let moved = _mm256_loadu_si256(bytes.add(end - VECTOR).cast());
            _mm256_storeu_si256(bytes.add(end - VECTOR + 1).cast(), moved);
            end -= VECTOR;
        }
        let moved = (free - at).min(VECTOR) as i8;
        let stays = _mm256_cmpgt_epi8(places, _mm256_set1_epi8(moved));
        let up = _mm256_blendv_epi8(before, there, stays);
        let first = _mm256_cmpeq_epi8(places, _mm256_setzero_si256());
        let up = _mm256_blendv_epi8(up, _mm256_set1_epi8(byte as i8), first);
        _mm256_storeu_si256(bytes.add(at).cast(), up);
    }
}

/// Increments `count` offsets from that of `block` on. An offset that is 255 keeps that value.
#[inline]
#[target_feature(enable = "avx2")]
fn raise_offsets(offsets: &mut [u8], block: usize, count: usize) {
    let Some(vector) = offsets[block..].first_chunk_mut::<OFFSETS>().filter(|_| count <= OFFSETS)
    else {
        for offset in &mut offsets[block..block + count] {
            *offset = offset.saturating_add(1);
        }
        return;
    };
    let places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let raised = _mm_cmpgt_epi8(_mm_set1_epi8(count as i8), places);
    // SAFETY: `vector` has the sixteen bytes that are read and written.
    unsafe {
        let at = vector.as_mut_ptr().cast::<__m128i>();
        let offsets = _mm_loadu_si128(at);
        let one = _mm_and_si128(raised, _mm_set1_epi8(1));
        _mm_storeu_si128(at, _mm_adds_epu8(offsets, one));
    }
}
