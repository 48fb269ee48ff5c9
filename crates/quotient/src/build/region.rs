//! A region: its fingerprints in any order, and then its blocks.
//!
//! How many fingerprints a quotient has says where its run begins and ends, whatever its remainders are: a
//! pass over the counts gives every run its slots, a second one over the fingerprints puts remainders there,
//! and nothing is ever shifted. Which fingerprints share a run, and which runs are pushed from their homes,
//! cannot be predicted, so no pass takes a branch on it.

use super::order::{VECTOR, sort_runs};
use super::plan::{LocalFingerprint, Plan, Stored};
use crate::append::bits_of;
use crate::layout::{Blocks, Layout, Metadata};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

/// Longer runs are sorted one by one, before neighbours are exchanged.
const LONG_RUN: u32 = 16;
/// Fingerprints that crowd are left to somebody else: if more than one in so many of a region is a copy
/// that a set drops, each of which is taken out by itself;
const FINGERPRINTS_PER_COPY: usize = 16;
/// or if to take them out would move more than so many times the slots of the region, since they lie in
/// long clusters;
const MOST_MOVED: usize = 64;
/// or if a region has more than so many times its slots, or as many are pushed beyond it.
const MOST_CROWDED: usize = 4;

/// Slots of runs that are pushed out of the region that they begin in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spill<T> {
    stored: Vec<T>,
    ends: Vec<u8>,
}

/// The slots of a region, and of what its runs push beyond it: one region after another.
pub(super) struct Region<L, T> {
    remainder_bits: u32,
    /// The most copies of one fingerprint.
    copies: u32,
    blocks: usize,
    /// Slots of the region.
    slots: usize,
    /// How many of them, and perhaps beyond, runs of earlier regions take.
    begin: usize,
    /// Where the last run ends.
    end: usize,
    /// Of quotient `i`, number `i + 1` is how many fingerprints it has, then the slot of the next, and when
    /// all have theirs, the slot after the last run of quotients up to it. The first number is where earlier
    /// regions' runs end.
    cursors: Vec<u32>,
    /// Of slot `i`, number `i + 1`, here and in what follows: what it holds.
    stored: Vec<T>,
    /// The same, while neighbours are exchanged.
    exchanged: Vec<T>,
    /// Whether it ends a run. Number 0 means nothing.
    ends: Vec<u8>,
    /// All ones if it and the next hold one run.
    joined: Vec<T>,
    /// Slots whose remainder comes again after it in its run.
    repeated: Vec<u32>,
    layout: PhantomData<L>,
}

impl<L: Layout, T: Stored> Region<L, T> {
    /// The most bytes that a region takes.
    pub(super) fn scratch_bytes(plan: &Plan) -> usize {
        let slots = plan.region_slots::<L>();
        // Twice as much while a vector grows.
        let most = 2 * (2 * MOST_CROWDED * slots + VECTOR);
        let repeated = 2 * MOST_CROWDED * slots / FINGERPRINTS_PER_COPY * size_of::<u32>();
        (slots + 1) * size_of::<u32>() + most * (3 * size_of::<T>() + 1) + repeated
    }

    /// Nothing yet, of a region that runs are pushed into by those before.
    pub(super) fn after(spill: &Spill<T>, plan: &Plan) -> Option<Self> {
        let begin = spill.stored.len();
        let (mut stored, mut ends) = (Vec::new(), Vec::new());
        resize(&mut stored, begin + 1)?;
        resize(&mut ends, begin + 1)?;
        stored[1..].copy_from_slice(&spill.stored);
        ends[1..].copy_from_slice(&spill.ends);
        Some(Self {
            remainder_bits: plan.remainder_bits,
            copies: plan.copies,
            blocks: plan.region_blocks(),
            slots: plan.region_slots::<L>(),
            begin,
            end: 0,
            cursors: Vec::new(),
            stored,
            exchanged: Vec::new(),
            ends,
            joined: Vec::new(),
            repeated: Vec::new(),
            layout: PhantomData,
        })
    }

    /// What is pushed into the next region by those before.
    pub(super) fn spill(&self) -> Option<Spill<T>> {
        let mut spill = Spill { stored: Vec::new(), ends: Vec::new() };
        resize(&mut spill.stored, self.begin)?;
        resize(&mut spill.ends, self.begin)?;
        spill.stored.copy_from_slice(&self.stored[1..][..self.begin]);
        spill.ends.copy_from_slice(&self.ends[1..][..self.begin]);
        Some(spill)
    }

    /// Whether runs are pushed into the next region.
    pub(super) fn spills(&self) -> bool {
        self.begin > 0
    }

    /// Gives the fingerprints of the next region their slots, and says how many there are without those that
    /// a set drops; `None` if they crowd, have too many copies, or there is no memory.
    #[inline(always)]
    pub(super) fn place<R: LocalFingerprint>(&mut self, shares: &[&[R]]) -> Option<usize> {
        let fingerprints = shares.iter().map(|share| share.len()).sum::<usize>();
        if fingerprints.max(self.begin) > MOST_CROWDED * self.slots {
            return None;
        }
        self.make_room(fingerprints)?;
        self.count(shares);
        let longest = self.assign();
        self.scatter(shares);
        self.join();
        if longest > LONG_RUN {
            self.sort_long_runs()?;
        }
        let longest = longest.min(LONG_RUN);
        sort_runs(&mut self.stored, &mut self.exchanged, &self.joined, longest);
        if self.copies > 1 {
            return Some(fingerprints);
        }
        Some(fingerprints - self.drop_copies(fingerprints)?)
    }

    #[inline(always)]
    fn make_room(&mut self, fingerprints: usize) -> Option<()> {
        self.cursors.clear();
        resize(&mut self.cursors, self.slots + 1)?;
        // A slot before the first and one after the last, which are neighbours.
        let room = (self.begin.max(self.slots) + fingerprints).next_multiple_of(VECTOR) + 2;
        resize(&mut self.stored, room)?;
        resize(&mut self.ends, room)?;
        resize(&mut self.exchanged, room)?;
        self.joined.clear();
        resize(&mut self.joined, room)
    }

    /// Counts the fingerprints of every quotient.
    #[inline(always)]
    fn count<R: LocalFingerprint>(&mut self, shares: &[&[R]]) {
        let counts = &mut self.cursors[1..];
        for share in shares {
            for fingerprint in *share {
                counts[fingerprint.quotient(self.remainder_bits)] += 1;
            }
        }
    }

    /// Gives every run its slots. How long the longest is.
    #[inline(always)]
    fn assign(&mut self) -> u32 {
        let (first, cursors) = self.cursors.split_first_mut().unwrap();
        let longest = cursors.iter().copied().fold(0, u32::max);
        *first = self.begin as u32;
        let mut end = *first;
        let ends = &mut self.ends[..];
        for (quotient, cursor) in (0u32..).zip(&mut *cursors) {
            let count = *cursor;
            let begin = end.max(quotient);
            *cursor = begin;
            end = begin + count;
            // Quotients without a fingerprint write to byte 0.
            let any = u32::from(count != 0).wrapping_neg();
            ends[(end & any) as usize] = 1;
        }
        self.end = end as usize;
        longest
    }

    /// Gives every remainder a slot of its run.
    #[inline(always)]
    fn scatter<R: LocalFingerprint>(&mut self, shares: &[&[R]]) {
        let (cursors, stored) = (&mut self.cursors[1..], &mut self.stored[1..]);
        for share in shares {
            for fingerprint in *share {
                let cursor = &mut cursors[fingerprint.quotient(self.remainder_bits)];
                let remainder = fingerprint.remainder(self.remainder_bits);
                stored[*cursor as usize] = T::of(L::stored(self.remainder_bits, remainder));
                *cursor += 1;
            }
        }
    }

    /// Finds neighbours in one run: slots in use that do not end one.
    #[inline(always)]
    fn join(&mut self) {
        let (within, beyond) = self.joined[1..].split_at_mut(self.slots);
        let (ends, ends_beyond) = self.ends[1..].split_at(self.slots);
        let chunks = within.as_chunks_mut::<VECTOR>().0.iter_mut();
        let chunks = chunks.zip(ends.as_chunks::<VECTOR>().0);
        for (i, (joined, ends)) in chunks.enumerate() {
            let first = i * VECTOR;
            let runs_end: &[u32; VECTOR] = self.cursors[first + 1..].first_chunk().unwrap();
            for slot in 0..VECTOR {
                let in_use = runs_end[slot] > (first + slot) as u32;
                joined[slot] = if in_use & (ends[slot] == 0) { T::ONES } else { T::default() };
            }
        }
        let beyond = beyond.iter_mut().zip(ends_beyond);
        for (joined, end) in beyond.take(self.end.saturating_sub(self.slots)) {
            *joined = if *end == 0 { T::ONES } else { T::default() };
        }
    }

    /// The slots of a quotient's run.
    fn run(&self, quotient: usize) -> Range<usize> {
        quotient.max(self.cursors[quotient] as usize)..self.cursors[quotient + 1] as usize
    }

    /// Sorts the runs that exchanging neighbours would take long for; `None` if a fingerprint of a
    /// multiset has too many copies.
    #[inline(never)]
    fn sort_long_runs(&mut self) -> Option<()> {
        let copies = self.copies as usize;
        for quotient in 0..self.slots {
            let slots = self.run(quotient);
            if slots.len() > LONG_RUN as usize {
                let run = &mut self.stored[1..][slots];
                run.sort_unstable();
                if copies > 1 && run.iter().zip(run.iter().skip(copies)).any(|(a, b)| a == b) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Takes out all but one of equal fingerprints, and says how many those are; `None` if there are so many
    /// that it would take long.
    #[inline(always)]
    fn drop_copies(&mut self, fingerprints: usize) -> Option<usize> {
        self.find_repeated(fingerprints / FINGERPRINTS_PER_COPY)?;
        let repeated = core::mem::take(&mut self.repeated);
        let mut may_move = MOST_MOVED * self.slots;
        for slot in repeated.iter().rev() {
            may_move = may_move.checked_sub(self.take_out(*slot as usize))?;
        }
        self.repeated = repeated;
        Some(self.repeated.len())
    }

    /// Finds slots whose remainder comes again; `None` if there are more than so many.
    #[inline(always)]
    fn find_repeated(&mut self, most: usize) -> Option<()> {
        self.repeated.clear();
        self.repeated.try_reserve(most + VECTOR).ok()?;
        let chunks = self.joined[1..].as_chunks::<VECTOR>().0.iter();
        let chunks = chunks.zip(self.stored[1..].as_chunks::<VECTOR>().0);
        for (i, (joined, stored)) in chunks.enumerate() {
            let next: &[T; VECTOR] = self.stored[i * VECTOR + 2..].first_chunk().unwrap();
            let mut any = T::default();
            for slot in 0..VECTOR {
                let equal = if stored[slot] == next[slot] { T::ONES } else { T::default() };
                any = any | joined[slot] & equal;
            }
            if any != T::default() {
                let is_repeated =
                    |slot: &usize| joined[*slot] == T::ONES && stored[*slot] == next[*slot];
                let repeated = (0..VECTOR).filter(is_repeated);
                self.repeated.extend(repeated.map(|slot| (i * VECTOR + slot) as u32));
                if self.repeated.len() > most {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Takes what a slot holds out, and moves what was pushed over it down by one: how many slots.
    fn take_out(&mut self, slot: usize) -> usize {
        // Runs that begin at their home are not pushed, nor are those after them.
        let mut ends_and_homes = self.cursors.iter().zip(0u32..).skip(slot + 1);
        let stop = ends_and_homes.find(|(end, home)| *end <= home);
        let stop = stop.map_or(self.end, |(_, home)| home as usize);
        self.stored.copy_within(slot + 2..stop + 1, slot + 1);
        self.stored[stop] = T::default();
        self.ends.copy_within(slot + 2..stop + 1, slot + 1);
        self.ends[stop] = 0;
        self.end -= usize::from(stop == self.end);
        let after_run = self.cursors.partition_point(|end| *end as usize <= slot);
        for end in &mut self.cursors[after_run..=stop.min(self.slots)] {
            *end -= 1;
        }
        stop - slot
    }

    /// Writes the blocks of the region to the front of `blocks`, which it takes out; `None` if there are
    /// fewer, since the table ends there, and runs end beyond it.
    #[inline(always)]
    pub(super) fn write(&self, blocks: &mut Blocks<'_, L>) -> Option<()> {
        let per_block = L::SLOTS as usize;
        let mut blocks = blocks.split_off_front(self.blocks.min(blocks.len()));
        let count = blocks.len();
        if count < self.blocks && self.ends[count * per_block + 1..].contains(&1) {
            return None;
        }
        let mut occupied = [0; 64];
        for block in 0..count {
            let begin = block * per_block;
            let (before, after) = (&self.cursors[begin..], &self.cursors[begin + 1..]);
            for slot in 0..per_block {
                let least = before[slot].max((begin + slot) as u32);
                occupied[slot] = u8::from(after[slot] > least);
            }
            let offset = before[0].saturating_sub(begin as u32);
            let metadata = Metadata {
                occupieds: bits_of(&occupied[..per_block]),
                runends: bits_of(&self.ends[begin + 1..][..per_block]),
                offset: offset.min(L::MAX_OFFSET),
            };
            blocks.write(block, metadata, &self.stored[begin + 1..][..per_block]);
        }
        Some(())
    }

    /// Goes on to the next region.
    #[inline(always)]
    pub(super) fn go_on(&mut self) {
        let spilled = self.end.saturating_sub(self.slots);
        self.stored.copy_within(self.slots + 1..=self.slots + spilled, 1);
        self.stored.truncate(spilled + 1);
        self.ends.copy_within(self.slots + 1..=self.slots + spilled, 1);
        self.ends.truncate(spilled + 1);
        self.begin = spilled;
    }
}

/// Makes a vector longer or shorter, by zeros; `None` if there is no memory.
#[inline(always)]
fn resize<T: Copy + Default>(numbers: &mut Vec<T>, len: usize) -> Option<()> {
    numbers.try_reserve(len.saturating_sub(numbers.len())).ok()?;
    numbers.resize(len, T::default());
    Some(())
}
