//! The algorithms on a table: lookup, insert and remove.
//!
//! The *run* of a quotient is its remainders in adjacent slots, in ascending order. A run begins at the slot whose
//! number is the quotient (its *home*) or, if the run before it ends at the home or later, right after that run. A
//! *cluster* is a sequence of adjacent runs of which only the first begins at its home.
//!
//! A quotient that has a run is *occupied*, and the last slot of a run is its *runend*. Runs are in the order of their
//! quotients. So the run of the `d`-th occupied quotient ends at the `d`-th runend, and rank and select find that slot.
//!
//! Source: Bender et al., "Don't thrash: how to cache your hash on flash", PVLDB 5 (2012), section 3,
//! for the filter; Pandey et al., SIGMOD 2017, section 4, for rank and select.

use crate::geometry::Geometry;
use crate::layout::Position;
use crate::layout::{Layout, Shape};
use crate::words::Words;
use core::marker::PhantomData;
use trommel_base::WhyFull;

/// The bytes of a table, and the geometry that is needed to read them.
#[derive(Clone, Debug)]
pub(crate) struct Table<L, S> {
    pub(crate) shape: Shape,
    /// The most copies of one fingerprint.
    pub(crate) copies: u32,
    pub(crate) bytes: S,
    layout: PhantomData<L>,
}

/// The first and the last slot of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: Position,
    pub(crate) last: Position,
}

impl<L: Layout, S: AsRef<[u8]>> Table<L, S> {
    #[inline(always)]
    pub(crate) fn new(geometry: &Geometry, bytes: S) -> Self {
        Self { shape: geometry.shape(), copies: geometry.copies, bytes, layout: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn occupieds(&self, block: usize) -> u64 {
        L::occupieds(self.bytes.as_ref(), block)
    }

    #[inline(always)]
    pub(crate) fn runends(&self, block: usize) -> u64 {
        L::runends(self.bytes.as_ref(), block)
    }

    #[inline(always)]
    pub(crate) fn remainder(&self, at: Position) -> u32 {
        L::remainder(&self.shape, self.bytes.as_ref(), at)
    }

    #[inline(always)]
    pub(crate) fn offset(&self, block: usize) -> u32 {
        L::offset(&self.shape, self.bytes.as_ref(), block)
    }

    #[inline(always)]
    pub(crate) fn is_occupied(&self, home: Position) -> bool {
        self.occupieds(home.block) >> home.slot & 1 == 1
    }

    /// The position after the last slot of the table.
    #[inline(always)]
    fn end(&self) -> Position {
        Position { block: self.shape.blocks, slot: 0 }
    }

    /// The slot after the last run whose quotient is below `home`, or the first slot of the block of `home`, whichever
    /// is later. The run of `home` begins at this slot or at `home`, whichever is later.
    ///
    /// Cost: reads the block of `home`. In 14 of 100 lookups at 95 % load in blocks of 64 slots, it also reads the next
    /// block. It rarely reads further blocks. It reads earlier blocks only if the block's offset is too large to be
    /// stored.
    #[inline(always)]
    pub(crate) fn end_of_runs_below<W: Words>(&self, words: W, home: Position) -> Position {
        let mut block = home.block;
        let mut runs = words.rank(self.occupieds(block), home.slot);
        let mut offset = self.offset(block);
        while offset == L::MAX_OFFSET && block > 0 {
            block -= 1;
            runs += words.rank(self.occupieds(block), L::SLOTS);
            offset = self.offset(block);
        }
        let mut begin = Position { block, slot: offset };
        while begin.slot >= L::SLOTS {
            begin = Position { block: begin.block + 1, slot: begin.slot - L::SLOTS };
        }
        match runs.checked_sub(1) {
            None => begin,
            Some(runs) => self.select_runend(words, begin, runs).next::<L>(),
        }
    }

    /// Among the runends from `from` on, the runend that has `skip` of them before it; the end of the table if there
    /// are no more than `skip` runends.
    #[inline(always)]
    pub(crate) fn select_runend<W: Words>(&self, words: W, from: Position, skip: u32) -> Position {
        let (mut block, mut slot, mut skip) = (from.block, from.slot, skip);
        while block < self.shape.blocks {
            let runends = self.runends(block) & (u64::MAX << slot);
            let ones = words.rank(runends, L::SLOTS);
            if skip < ones {
                return Position { block, slot: words.select(runends, skip) };
            }
            skip -= ones;
            block += 1;
            slot = 0;
        }
        self.end()
    }

    /// The run of an occupied quotient.
    #[inline(always)]
    pub(crate) fn run<W: Words>(&self, words: W, home: Position) -> Run {
        let first = self.end_of_runs_below(words, home).max(home);
        Run { first, last: self.select_runend(words, first, 0) }
    }

    /// Whether the table holds a fingerprint. Also true if the run of the fingerprint's quotient has no end. A run
    /// without an end is possible only in bytes that no insert makes.
    #[inline(always)]
    pub(crate) fn contains<W: Words>(&self, words: W, home: Position, stored: u32) -> bool {
        self.is_occupied(home) && {
            let run = self.run(words, home);
            run.last >= self.end() || self.search(run, stored).1 > 0
        }
    }

    /// The number of copies of a fingerprint.
    pub(crate) fn count<W: Words>(&self, words: W, home: Position, stored: u32) -> u32 {
        if self.is_occupied(home) { self.search(self.run(words, home), stored).1 } else { 0 }
    }

    /// The slot where a remainder belongs in a run, and the number of the run's remainders that equal it. The slot is
    /// the first whose remainder is at least as large or, if the run has no such slot, the slot after the run.
    #[inline(always)]
    fn search(&self, run: Run, stored: u32) -> (Position, u32) {
        let mut at = run.first;
        while at <= run.last && self.remainder(at) < stored {
            at = at.next::<L>();
        }
        let (mut equal, mut next) = (0, at);
        while next <= run.last && self.remainder(next) == stored {
            equal += 1;
            next = next.next::<L>();
        }
        (at, equal)
    }

    /// The first free slot from `from` on.
    ///
    /// Slot `s` is in use if the run of a quotient `q <= s` ends at slot `s` or later.
    #[inline(always)]
    fn first_free<W: Words>(&self, words: W, from: Position) -> Option<Position> {
        if let Some(found) = L::first_free(self.bytes.as_ref(), from) {
            return found;
        }
        // `from` is the end of the table if the new remainder belongs after a run that takes the last slot of the
        // table, that is, if it is larger than all remainders of this run, or if its quotient is higher than the run's.
        if from >= self.end() {
            return None;
        }
        let up_to_from = Position { slot: from.slot + 1, ..from };
        let at = self.end_of_runs_below(words, up_to_from).max(from);
        if at >= self.end() {
            return None;
        }
        match self.occupied_between(words, from, at) {
            0 => Some(at),
            open => self.first_balanced::<W, AFTER_A_RUNEND>(words, at, open),
        }
    }

    /// The last slot of the cluster that contains the run of `home`; this run ends at `last`. The slot after the
    /// cluster is free, or is the home of the run that begins there, unless the cluster ends with the table.
    #[inline(always)]
    fn end_of_cluster<W: Words>(&self, words: W, home: Position, last: Position) -> Position {
        match self.occupied_between(words, home, last) {
            0 => last,
            open => self
                .first_balanced::<W, AT_A_RUNEND>(words, last, open)
                .unwrap_or(Position { block: self.shape.blocks - 1, slot: L::SLOTS - 1 }),
        }
    }

    /// The number of occupied quotients after `home`, up to and including `to`.
    #[inline(always)]
    fn occupied_between<W: Words>(&self, words: W, home: Position, to: Position) -> u32 {
        let up_to = |at: Position| words.rank(self.occupieds(at.block), at.slot + 1);
        let mut occupied = up_to(to);
        for block in home.block..to.block {
            occupied += words.rank(self.occupieds(block), L::SLOTS);
        }
        occupied - up_to(home)
    }

    /// The first slot after `at` where no run is open, if `open` runs are open at `at`; `None` if the table has no such
    /// slot. A run is open from its home on, and stops being open `SHIFT` slots after its runend. Cost: reads the
    /// metadata of the blocks from `at` to the returned slot once, however many runs they hold.
    #[inline(always)]
    fn first_balanced<W: Words, const SHIFT: u32>(
        &self,
        words: W,
        at: Position,
        mut open: u32,
    ) -> Option<Position> {
        let slots = bits_between(0, L::SLOTS - 1);
        let mut begin = u64::MAX << at.slot << 1;
        let mut end = u64::MAX << at.slot << (1 - SHIFT);
        for block in at.block..self.shape.blocks {
            let (begun, ended) = (self.occupieds(block) & begin, self.runends(block) & end);
            let balanced = words.balanced(begun, ended << SHIFT, open) & begin & slots;
            if balanced != 0 {
                return Some(Position { block, slot: balanced.trailing_zeros() });
            }
            let (begun, ended) = (words.rank(begun, L::SLOTS), words.rank(ended, L::SLOTS));
            open = (open + begun).wrapping_sub(ended);
            (begin, end) = (u64::MAX, u64::MAX);
        }
        None
    }
}

/// Values of `SHIFT`: a run stops being open at its runend, or at the slot after it.
const AT_A_RUNEND: u32 = 0;
const AFTER_A_RUNEND: u32 = 1;

impl<L: Layout, S: AsRef<[u8]> + AsMut<[u8]>> Table<L, S> {
    #[inline(always)]
    pub(crate) fn set_offset(&mut self, block: usize, offset: u64) {
        let stored = offset.min(u64::from(L::MAX_OFFSET)) as u32;
        L::set_offset(&self.shape, self.bytes.as_mut(), block, stored);
    }

    /// Inserts a fingerprint. Returns false, and changes nothing, if the table is a set that holds the fingerprint
    /// already. Changes nothing on an error either.
    #[inline(always)]
    pub(crate) fn insert<W: Words>(
        &mut self,
        words: W,
        home: Position,
        stored: u32,
    ) -> Result<bool, WhyFull> {
        let occupied = self.is_occupied(home);
        let first = self.end_of_runs_below(words, home).max(home);
        let mut at = first;
        if occupied {
            let last = self.select_runend(words, first, 0);
            let equal;
            (at, equal) = self.search(Run { first, last }, stored);
            if equal >= self.copies {
                let max = self.copies;
                return if max == 1 { Ok(false) } else { Err(WhyFull::Copies { max }) };
            }
        }
        let free = self.first_free(words, at).ok_or(WhyFull::Slots)?;
        L::insert_remainder(&self.shape, self.bytes.as_mut(), at, free, stored);
        // If the quotient has a run already, a 0 is inserted into the runends at the run's first slot, which moves the
        // run's own runend up by one. If the quotient has no run yet, a 1 is inserted: the new run begins and ends at
        // `first`.
        self.insert_runend(first, free, !occupied);
        for block in home.block + 1..=free.block {
            let offset = self.offset(block);
            self.set_offset(block, u64::from(offset) + 1);
        }
        let occupieds = self.occupieds(home.block) | 1 << home.slot;
        L::set_occupieds(self.bytes.as_mut(), home.block, occupieds);
        Ok(true)
    }

    /// Removes one copy of a fingerprint. Returns false, and changes nothing, if the table does not hold the
    /// fingerprint.
    #[inline(always)]
    pub(crate) fn remove<W: Words>(&mut self, words: W, home: Position, stored: u32) -> bool {
        if !self.is_occupied(home) {
            return false;
        }
        let run = self.run(words, home);
        let (at, equal) = self.search(run, stored);
        if equal == 0 {
            return false;
        }
        let last = self.end_of_cluster(words, home, run.last);
        L::remove_remainder(&self.shape, self.bytes.as_mut(), at, last);
        self.remove_runend(run.first, last);
        if run.first == run.last {
            let occupieds = self.occupieds(home.block) & !(1 << home.slot);
            L::set_occupieds(self.bytes.as_mut(), home.block, occupieds);
        }
        self.decrement_offsets(words, home.block, last.block);
        true
    }

    /// Inserts a bit into the runends at `first`, and moves the bits of the slots `first..free` up by one. The bit at
    /// `free`, which is 0, is overwritten.
    #[inline(always)]
    fn insert_runend(&mut self, first: Position, free: Position, bit: bool) {
        let mut carry = u64::from(bit);
        for block in first.block..=free.block {
            let low = if block == first.block { first.slot } else { 0 };
            let high = if block == free.block { free.slot } else { L::SLOTS - 1 };
            let runends = self.runends(block);
            let moved = bits_between(low, high);
            let shifted = (runends & moved) << 1 & moved | carry << low;
            carry = runends >> high & 1;
            L::set_runends(self.bytes.as_mut(), block, runends & !moved | shifted);
        }
    }

    /// Removes the bit at `first` from the runends, and moves the bits after it, up to `last`, down by one. The bit at
    /// `last` becomes 0.
    #[inline(always)]
    fn remove_runend(&mut self, first: Position, last: Position) {
        let mut carry = 0;
        for block in (first.block..=last.block).rev() {
            let low = if block == first.block { first.slot } else { 0 };
            let high = if block == last.block { last.slot } else { L::SLOTS - 1 };
            let runends = self.runends(block);
            let moved = bits_between(low, high);
            let shifted = (runends & moved) >> 1 & moved | carry << high;
            carry = runends >> low & 1;
            L::set_runends(self.bytes.as_mut(), block, runends & !moved | shifted);
        }
    }

    /// Decrements the offsets of blocks `home + 1` to `last`. The caller has already moved runs down by one slot, which
    /// makes these offsets smaller by one. An offset that was too large to be stored is computed again. Among adjacent
    /// blocks with such offsets, the offset of the first block is computed from the blocks before it, and the offset of
    /// each further block from the end of runs that was computed for the block before. (If each were computed from all
    /// blocks before it, the time of a removal would be quadratic in the length of its cluster.)
    #[inline(always)]
    fn decrement_offsets<W: Words>(&mut self, words: W, home: usize, last: usize) {
        // The `end` of the last iteration: where the runs of all quotients before block `block - 1` end; `None` if that
        // iteration did not compute it.
        let mut known: Option<Position> = None;
        for block in home + 1..=last {
            let offset = self.offset(block);
            if offset < L::MAX_OFFSET {
                self.set_offset(block, u64::from(offset) - 1);
                known = None;
                continue;
            }
            let before = Position { block: block - 1, slot: L::SLOTS };
            let end = match known {
                None => self.end_of_runs_below(words, before),
                Some(end) => {
                    match words.rank(self.occupieds(before.block), L::SLOTS).checked_sub(1) {
                        None => end,
                        Some(runs) => self.select_runend(words, end, runs).next::<L>(),
                    }
                }
            };
            let begin = Position { block, slot: 0 };
            self.set_offset(block, end.to_slot::<L>().saturating_sub(begin.to_slot::<L>()));
            known = Some(end);
        }
    }
}

/// A mask of the bits from `low` to `high`, both included.
#[inline(always)]
pub(crate) const fn bits_between(low: u32, high: u32) -> u64 {
    (u64::MAX << low) & (u64::MAX >> (63 - high))
}
