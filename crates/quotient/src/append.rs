//! Fills a table from fingerprints in ascending order: each is stored at its home (the slot whose number is the
//! quotient) or, if that slot is taken, in the slot after the fingerprint that was stored before it. No stored
//! remainder is ever moved. A *run* is the remainders of one quotient, in adjacent slots.
//!
//! Whether a fingerprint begins a run, and whether its home is taken, cannot be predicted, so the appender takes no
//! branch on either. It collects the metadata bits in windows of 32 blocks, with a byte for each bit, and converts a
//! window to words when the next fingerprint lies beyond the window. Rejected: setting the bits of the words one by one
//! (a build took 18.5 ns per key instead of 9).

use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::table::Table;
use alloc::vec::Vec;
use core::iter::repeat;
use trommel_base::WhyFull;
use trommel_base::storage::{OutOfMemory, collected};
use trommel_simd::bits_of;

/// The number of blocks in a window.
const WINDOW_BLOCKS: usize = 32;

/// Fills an empty table in order. Merges and resizes use an appender, and so does a bulk build after it has failed to
/// fill the regions of the table independently.
pub(crate) struct Appender<'t, L> {
    table: Table<L, &'t mut [u8]>,
    slots: SlotWindow,
    homes: HomeWindow,
    last: Last,
}

/// The last fingerprint that was appended, and two counts of fingerprints.
#[derive(Clone, Copy)]
struct Last {
    quotient: u64,
    stored: u32,
    /// The number of copies of the last fingerprint so far.
    equal: u32,
    /// The number of fingerprints appended so far.
    len: u64,
}

/// The window of slots that fingerprints are written to.
struct SlotWindow {
    /// The first slot of the window.
    begin: u64,
    /// The slot after the window, or after the table if the table ends first.
    end: u64,
    /// The slot after the last fingerprint.
    next: u64,
    stored: Vec<u32>,
    /// Byte `i`: whether the slot *before* slot `i` of the window ends a run.
    ends_before: Vec<u8>,
}

/// The window of quotients. It is separate from the window of slots: a run can be many slots after its home, so the two
/// windows move at different times.
struct HomeWindow {
    begin: u64,
    end: u64,
    occupied: Vec<u8>,
    /// For every block, the slot after the last run of the block's quotients; 0 if no quotient of the block has a run.
    runs_end: Vec<u64>,
    /// The slot after the last run of all quotients before the window.
    runs_end_before: u64,
}

impl<'t, L: Layout> Appender<'t, L> {
    const WINDOW_SLOTS: usize = WINDOW_BLOCKS * L::SLOTS as usize;

    /// Begins to fill a table. The caller must ensure that all `bytes` are zero.
    pub(crate) fn new(geometry: &Geometry, bytes: &'t mut [u8]) -> Result<Self, OutOfMemory> {
        let end = Self::WINDOW_SLOTS as u64;
        let slots = SlotWindow {
            begin: 0,
            end: end.min(geometry.blocks * u64::from(L::SLOTS)),
            next: 0,
            stored: collected(Self::WINDOW_SLOTS, repeat(0))?,
            ends_before: collected(Self::WINDOW_SLOTS + 1, repeat(0))?,
        };
        let homes = HomeWindow {
            begin: 0,
            end,
            occupied: collected(Self::WINDOW_SLOTS, repeat(0))?,
            runs_end: collected(WINDOW_BLOCKS, repeat(0))?,
            runs_end_before: 0,
        };
        let table = Table::new(geometry, bytes);
        // No quotient is `u64::MAX`, so the first fingerprint begins a run.
        let last = Last { quotient: u64::MAX, stored: 0, equal: 0, len: 0 };
        Ok(Self { table, slots, homes, last })
    }

    /// Appends fingerprints, each a quotient and a stored remainder. The caller must ensure that no fingerprint is
    /// below the one before it, within a call and from one call to the next. A set drops repeated fingerprints. Fails
    /// if a multiset would get too many copies of a fingerprint, or if the table has no slot left.
    #[inline(always)]
    pub(crate) fn extend(
        &mut self,
        fingerprints: impl Iterator<Item = (u64, u32)>,
    ) -> Result<(), WhyFull> {
        // The loop uses local variables, since these stay in registers. If it used the fields, which are in memory,
        // each key would wait for the stores of the key before it.
        let Last { mut quotient, mut stored, mut equal, mut len } = self.last;
        let mut next = self.slots.next;
        for fingerprint in fingerprints {
            // No `&&` here and no `if` for `slot`: compilers turn these into branches, which would mispredict. Merging
            // took 16 ns per key with the branches, and takes 11 without.
            let differs = (fingerprint.0 ^ quotient) | u64::from(fingerprint.1 ^ stored);
            let begins = u64::from(fingerprint.0 != quotient);
            if differs == 0 {
                if equal >= self.table.copies {
                    let max = self.table.copies;
                    if max > 1 {
                        return Err(WhyFull::Copies { max });
                    }
                    continue;
                }
                equal += 1;
            } else {
                equal = 1;
            }
            (quotient, stored) = fingerprint;
            self.slots.ends_before[(next - self.slots.begin) as usize] = begins as u8;
            let slot = next.max(quotient * begins);
            if slot >= self.slots.end {
                self.move_slots(slot)?;
            }
            if quotient >= self.homes.end {
                self.move_homes(quotient);
            }
            let home = (quotient - self.homes.begin) as usize;
            self.homes.occupied[home] = 1;
            self.homes.runs_end[home / L::SLOTS as usize] = slot + 1;
            self.slots.stored[(slot - self.slots.begin) as usize] = stored;
            next = slot + 1;
            len += 1;
        }
        self.last = Last { quotient, stored, equal, len };
        self.slots.next = next;
        Ok(())
    }

    /// Writes both windows, and returns the number of fingerprints in the table.
    pub(crate) fn finish(mut self) -> u64 {
        if self.last.len == 0 {
            return 0;
        }
        let slots = &mut self.slots;
        slots.ends_before[(slots.next - slots.begin) as usize] = 1;
        let blocks = self.table.shape.blocks;
        self.write_slots(blocks);
        self.write_homes(blocks);
        self.last.len
    }

    /// Writes the window of slots, and moves it to the block of `slot`, which comes after the window.
    #[inline(never)]
    fn move_slots(&mut self, slot: u64) -> Result<(), WhyFull> {
        let blocks = self.table.shape.blocks;
        let per_block = u64::from(L::SLOTS);
        let slots = blocks as u64 * per_block;
        if slot >= slots {
            return Err(WhyFull::Slots);
        }
        self.write_slots(blocks);
        self.slots.begin = slot / per_block * per_block;
        self.slots.end = slots.min(self.slots.begin + Self::WINDOW_SLOTS as u64);
        self.slots.stored.fill(0);
        self.slots.ends_before.fill(0);
        // `ends_before[0]` stays 0: the slot before the window belongs to the previous window, which is already
        // written.
        Ok(())
    }

    fn write_slots(&mut self, blocks: usize) {
        let per_block = L::SLOTS as usize;
        let first = (self.slots.begin / u64::from(L::SLOTS)) as usize;
        let window = self.slots.stored.chunks_exact(per_block).enumerate();
        for (i, stored) in window.take(blocks.saturating_sub(first)) {
            let ends = &self.slots.ends_before[i * per_block + 1..][..per_block];
            L::set_runends(self.table.bytes, first + i, bits_of(ends));
            L::set_remainders(&self.table.shape, self.table.bytes, first + i, stored);
        }
    }

    /// Writes the window of quotients, and moves it to the block of `quotient`, which comes after the window.
    #[inline(never)]
    fn move_homes(&mut self, quotient: u64) {
        let per_block = u64::from(L::SLOTS);
        let to = quotient / per_block;
        self.write_homes(to as usize);
        self.homes.begin = to * per_block;
        self.homes.end = self.homes.begin + Self::WINDOW_SLOTS as u64;
        self.homes.occupied.fill(0);
        self.homes.runs_end.fill(0);
    }

    /// Writes the occupieds of the window (a bit for each quotient: whether it has a run). Also writes the offsets of
    /// the blocks after the window's first block, up to and including block `to`, which is the first block of the next
    /// window or the end of the table. Updates `runs_end_before`.
    fn write_homes(&mut self, to: usize) {
        let per_block = L::SLOTS as usize;
        let first = (self.homes.begin / u64::from(L::SLOTS)) as usize;
        let blocks = self.table.shape.blocks;
        let mut end = self.homes.runs_end_before;
        for (i, occupied) in self.homes.occupied.chunks_exact(per_block).enumerate() {
            if first + i >= blocks {
                break;
            }
            L::set_occupieds(self.table.bytes, first + i, bits_of(occupied));
            end = end.max(self.homes.runs_end[i]);
            set_offset(&mut self.table, first + i + 1, end);
        }
        for block in first + WINDOW_BLOCKS + 1..=to {
            if !set_offset(&mut self.table, block, end) {
                break;
            }
        }
        self.homes.runs_end_before = end;
    }
}

/// Sets a block's offset if the runs of earlier blocks, which end before slot `end`, reach into the block. Returns
/// whether the runs reach into it.
fn set_offset<L: Layout>(table: &mut Table<L, &mut [u8]>, block: usize, end: u64) -> bool {
    let begin = block as u64 * u64::from(L::SLOTS);
    let reaches = end > begin && block < table.shape.blocks;
    if reaches {
        table.set_offset(block, end - begin);
    }
    reaches
}
