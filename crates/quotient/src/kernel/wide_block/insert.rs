//! Inserts, which find all free slots of a block at once, and move remainders of 8 bits in vectors.
//!
//! A slot is in use if a run whose quotient is at most the slot's number ends at this slot or later; such a run is
//! *open* at the slot ([`balance`](crate::balance)). As many runs are open at the beginning of a block as at the
//! end of the block before it, so the search for a free slot needs no rank, no select, and no offset except the offset
//! of the key's block.
//!
//! Rejected: jumping from the end of a run to the ends of the runs that it pushes (each jump waits for the jump before
//! it), together with moving remainders by a function call. With AVX2, this took 239 ns per insert in batches that
//! raise the load of 2^20 slots from 93 to 95 %; the code in this module takes 93 ns.

use super::lookup::{Located, locate};
use super::places::{Places, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::moves::{BEHIND, Moves};
use crate::kernel::words::word;
use crate::layout::Position;
use crate::layout::{Layout, WideBlock};
use crate::words::Words;
use trommel_base::WhyFull;
use trommel_base::batch::Hint;
use trommel_base::storage::LINE_BYTES;
use trommel_simd::prefetch;
use wide::{i8x16, u8x16};

/// The number of slots of a run that are compared at once.
const VECTOR: usize = 32;
/// The number of offsets that are incremented at once.
const OFFSETS: usize = 16;

/// The number of cache lines of remainders that are prefetched while the metadata is read. Compared with the algorithm
/// of `table.rs`, single inserts at 95 % load of 2^24 slots took 0.55 times as long with these prefetches, and 0.77
/// times without them.
const FETCHED_LINES: usize = 3;

/// The slot where a remainder is to be inserted. Slots are counted from the table's first slot.
struct Place {
    /// The slot where the run begins.
    first: usize,
    /// The slot where the remainder belongs.
    at: usize,
    /// Whether the quotient has a run already.
    occupied: bool,
}

/// The constants of the table; `None` if the table is too small for these inserts.
pub(super) type Prepared = Option<Places>;

/// Computes the constants of the table, which all inserts of a batch share.
///
/// # Panics
/// If the table does not have the geometry's length.
#[inline(always)]
pub(super) fn prepare(geometry: &Geometry, table: &[u8]) -> Prepared {
    Places::with_two_blocks_after(geometry, table)
}

impl Places {
    /// Like [`Places::of`], but also returns `None` if a key's block can be the table's last block but one.
    #[inline(always)]
    fn with_two_blocks_after(geometry: &Geometry, table: &[u8]) -> Option<Self> {
        let last_home = (geometry.slots - 1) / u64::from(SLOTS);
        Self::of(geometry, table).filter(|_| last_home + 2 < geometry.blocks)
    }
}

/// Inserts a key. `rest` inserts the key by the algorithms of `table.rs` if the table is too small or holds the key
/// already, if the key's run begins too far from the key's home (the slot whose number is the quotient), or if the run
/// is too long.
///
/// # Safety
/// The caller must ensure that `prepared` comes from [`prepare`] with the geometry and a table of this length.
#[inline(always)]
pub(super) unsafe fn insert<M: Moves>(
    words: M,
    geometry: &Geometry,
    prepared: &Prepared,
    table: &mut [u8],
    hash: u64,
    rest: impl Fn(&Geometry, &mut [u8], u64) -> Result<bool, WhyFull>,
) -> Result<bool, WhyFull> {
    let Some(places) = prepared else {
        return rest(geometry, table, hash);
    };
    let key = locate(geometry, hash);
    // Only the metadata tells which bytes move, but these bytes begin near the key's home. So their cache lines can be
    // prefetched before the metadata is read.
    let slot = key.block * 64 + key.slot as usize;
    let remainders =
        table.as_ptr().wrapping_add(places.remainders + slot * places.bits as usize / 8);
    for line in 0..FETCHED_LINES {
        prefetch(remainders.wrapping_add(line * LINE_BYTES), Hint::T0);
    }
    prefetch(table.as_ptr().wrapping_add(key.block * 16 + LINE_BYTES), Hint::T0);
    // SAFETY: `prepare` checked the table's length.
    let free = unsafe { first_free(words, geometry, places, table.as_ptr(), key) };
    // SAFETY: `prepare` checked the table's length, and that the table has two blocks after a key's block.
    let place = unsafe { place(words, places, table, key) };
    let (Some(free), Some(place)) = (free, place) else {
        return rest(geometry, table, hash);
    };
    if free >= geometry.blocks as usize * 64 {
        return Err(WhyFull::Slots);
    }
    // The assertion holds in every table that inserts make, but the soundness of writes must not rest on the table's
    // content.
    assert!(place.at <= free);
    // SAFETY: the checks above make sure that `free` is in the table and not before `place.at`. `place` returns a
    // `place.first` that is not before the key's home, and not after `place.at`.
    unsafe { insert_at(words, places, table, key, &place, free) };
    Ok(true)
}

/// The first free slot at or after a key's home; the number of the table's slots if all slots from the home on are in
/// use. `None` if runs of earlier blocks take the key's whole block and more.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length.
#[inline(always)]
unsafe fn first_free<W: Words>(
    words: W,
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
    let own = runends ^ words.below(runends, offset);
    let not_before = u64::MAX << key.slot & !words.below(u64::MAX, offset);
    // A run takes the slot at which it ends, so each runend is shifted to the slot after it.
    let mut free = words.balanced(occupieds, own << 1, 0) & not_before;
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
        free = words.balanced(occupieds, runends << 1, open);
        open = open + occupieds.count_ones() - runends.count_ones();
    }
    Some(block * 64 + free.trailing_zeros() as usize % 64)
}

/// Finds the slot where a key's remainder belongs. `None` if the key's run holds the remainder already, if the run
/// begins neither in the key's block nor in the next, or if the run has more than [`VECTOR`] slots.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length, and two blocks after the key's block.
#[inline(always)]
unsafe fn place<W: Words>(words: W, places: &Places, table: &[u8], key: Located) -> Option<Place> {
    let bytes = table.as_ptr();
    // SAFETY: these are words and the offset of the key's block, and a word of the next block.
    let (occupieds, runends, next, offset) = unsafe {
        let at = key.block * 16;
        (
            word(bytes, at),
            word(bytes, at + 8),
            word(bytes, at + 24),
            u32::from(*bytes.add(places.offsets + key.block)),
        )
    };
    let below_offset = words.below(u64::MAX, offset);
    let own = runends & !below_offset;
    // `number` is the number of the block's own runs that come before the key's run. `ends` is the number of all the
    // block's own runs that end in the block.
    let number = words.rank(occupieds, key.slot);
    let ends = own.count_ones();
    // All ones if the run before the key's run ends in the next block, else 0.
    let later = u64::from(number > ends).wrapping_neg();
    // A run can begin at the offset, or after a runend.
    let starts = own << 1 | below_offset.wrapping_add(1);
    let starts = starts ^ (starts ^ (next << 1 | 1)) & later;
    let number = number - (ends & later as u32);
    let start = words.one(starts, number).trailing_zeros();
    if later != 0 && start == SLOTS {
        return None;
    }
    let start = start + (SLOTS & later as u32);
    let first = key.block * 64 + start.max(key.slot) as usize;
    let occupied = occupieds >> key.slot & 1;
    // SAFETY: the run begins in the key's block or the next block, and the table has a block after each of the two.
    let ends_from_first = unsafe {
        let (at, slot) = (first / 64 * 16, first % 64);
        word(bytes, at + 8) >> slot | word(bytes, at + 24) << 1 << (63 - slot)
    };
    // The processor cannot predict whether the quotient is occupied, so the comparison of remainders of 8 bits has no
    // branch that depends on it: if the quotient is not occupied, no remainders are compared.
    let last = ends_from_first.trailing_zeros();
    if occupied != 0 && last as usize >= VECTOR {
        return None;
    }
    let (below, held) = if places.bits == 8 {
        let count = (last + 1) & (occupied as u32).wrapping_neg();
        // SAFETY: the run begins in the section of remainders, and the section of offsets after it has 64 bytes or
        // more, so the `VECTOR` bytes from the run's first slot on are in the table.
        let bytes = unsafe { &*bytes.add(places.remainders + first).cast::<[u8; VECTOR]>() };
        words.rank_of(key.remainder as u8, bytes, count)
    } else if occupied != 0 {
        // SAFETY: the run ends in the block of its first slot or in the next block, and both blocks are in the table.
        unsafe { places.search(words, table, first, last, key.remainder) }
    } else {
        (0, false)
    };
    let at = first + below as usize;
    (!held).then_some(Place { first, at, occupied: occupied != 0 })
}

impl Places {
    /// The number of a run's remainders that are below `remainder`, and whether one of them equals `remainder`.
    ///
    /// # Safety
    /// The caller must ensure that the `last + 1` slots of the run, from slot `first` on, are in the table.
    #[inline(always)]
    unsafe fn search<W: Words>(
        &self,
        words: W,
        table: &[u8],
        first: usize,
        last: u32,
        remainder: u32,
    ) -> (u32, bool) {
        let (mut below, mut is_held) = (0, false);
        let mut bit = first * self.bits as usize;
        for _ in 0..=last {
            // SAFETY: the remainder is in the section of remainders. After that section comes the section of offsets,
            // of 64 bytes or more.
            let window = unsafe { word(table.as_ptr(), self.remainders + bit / 8) };
            let held = words.below(window >> (bit % 8), self.bits) as u32;
            below += u32::from(held < remainder);
            is_held |= held == remainder;
            bit += self.bits as usize;
        }
        (below, is_held)
    }
}

/// Moves the remainders in the slots `place.at..free` and the runends in the slots `place.first..free` up by one slot,
/// and stores the key's remainder at `place.at`. Increments the offsets of the blocks after the key's block up to the
/// block of `free`; an offset of 255, the highest value, stays 255. Marks the key's quotient as occupied.
///
/// # Safety
/// The caller must ensure that the table has the geometry's length, that the key's home, both slots of `place` and the
/// slot `free` are in the table, and that they are in this order: the home, `place.first`, `place.at`, `free`.
/// Neighbours in this order can be the same slot.
#[inline(always)]
unsafe fn insert_at<M: Moves>(
    words: M,
    places: &Places,
    table: &mut [u8],
    key: Located,
    place: &Place,
    free: usize,
) {
    if places.bits == 8 {
        const { assert!(BEHIND <= LINE_BYTES) };
        // SAFETY: the slots are in the table. The metadata words come before the section of remainders, and at least 64
        // bytes of offsets come after that section, so the byte before any slot, and the `BEHIND` bytes after it, are
        // in the table too.
        unsafe {
            let remainders = table.as_mut_ptr().add(places.remainders);
            words.insert_byte(remainders, place.at, free, key.remainder as u8);
        }
    } else {
        let position = |slot: usize| Position::of_slot::<WideBlock>(slot as u64);
        let (at, free) = (position(place.at), position(free));
        WideBlock::insert_remainder(&places.shape, table, at, free, key.remainder);
    }
    let bytes = table.as_mut_ptr();
    // In each block, the runends in the slots of `moved` move up by one slot: adding their bits to the word doubles
    // them. `incoming` is the runend that moves into the first of these slots. No run ends at `free`, so in the last
    // block no bit after `free` changes.
    let mut moved = u64::MAX << (place.first % 64);
    let mut incoming = u64::from(!place.occupied) << (place.first % 64);
    for block in place.first / 64..=free / 64 {
        // SAFETY: this is a word of a block that is not after the block of `free`, which is in the table.
        unsafe {
            let at = bytes.add(block * 16 + 8).cast::<u64>();
            let runends = u64::from_le(at.read_unaligned());
            if block == free / 64 {
                moved &= (1 << (free % 64)) - 1;
            }
            let up = runends.wrapping_add(runends & moved).wrapping_add(incoming);
            at.write_unaligned(up.to_le());
            (moved, incoming) = (u64::MAX, runends >> 63);
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

/// Increments `count` offsets from the offset of `block` on. An offset that is 255 keeps that value.
#[inline(always)]
fn raise_offsets(offsets: &mut [u8], block: usize, count: usize) {
    let Some(vector) = offsets[block..].first_chunk_mut::<OFFSETS>().filter(|_| count <= OFFSETS)
    else {
        for offset in &mut offsets[block..block + count] {
            *offset = offset.saturating_add(1);
        }
        return;
    };
    let indices = i8x16::from(core::array::from_fn(|i| i as i8));
    let raised = (i8x16::splat(count as i8).simd_gt(indices) & i8x16::ONE).to_array();
    let raised = u8x16::from(core::array::from_fn(|i| raised[i] as u8));
    *vector = u8x16::from(*vector).saturating_add(raised).to_array();
}
