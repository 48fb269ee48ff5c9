//! A table from hashes in any order, region by region.
//!
//! Hashes are partitioned by regions of the table that fit into the nearest cache. In a region, how many
//! fingerprints a quotient has says where its run begins and ends, whatever its remainders are: a pass over
//! the counts gives every run its slots, a second one over the fingerprints puts remainders there, and
//! nothing is ever shifted. Which fingerprints share a run, and which runs are pushed from their homes,
//! cannot be predicted, so no pass takes a branch on it.
//!
//! Runs are put in order where they lie. Nine in ten have one remainder or two, so neighbours are
//! exchanged, all pairs of a region at once, in the few rounds that the longest run takes: vectors of
//! minima and maxima.
//!
//! At 95 % load a key takes 15.5 ns, 5 of them to partition, on a Cascade Lake core with AVX2. Lost: to sort
//! by remainder, then by quotient, and append one after another (20.4); pairs of neighbours as one number,
//! the larger of it and of its halves exchanged, which stays scalar code (24, of them 11 to exchange).

use crate::append::{Appender, bits_of};
use crate::fingerprint::Rounding;
use crate::geometry::Geometry;
use crate::kernel::{self, Job};
use crate::layout::{Layout, Metadata};
use crate::table::Table;
use alloc::vec::Vec;
use core::ops::{BitAnd, BitOr, Not, Range};
use trommel_base::KeyHash;
use trommel_base::partition::{Partitioned, Partitioner, Record};
use trommel_simd::Isa;

/// Blocks of a region, as a power of two; more if there would be more parts than one pass can keep apart.
const REGION_BLOCKS_LOG2: u32 = 7;
/// The most regions that one pass keeps apart.
pub(crate) const MOST_REGIONS: u64 = 4096;
/// Longer runs are sorted one by one, before neighbours are exchanged.
const LONG_RUN: u32 = 16;
/// Slots that are looked at together: loops over so many have no branch, and become vectors.
const VECTOR: usize = 64;
/// Fingerprints that crowd are sorted and appended instead: if more than one in so many of a region is a
/// copy that a set drops, each of which is taken out by itself;
const FINGERPRINTS_PER_COPY: usize = 16;
/// or if to take them out would move more than so many times the slots of the region, since they lie in
/// long clusters;
const MOST_MOVED: usize = 64;
/// or if a region has more than so many times its slots, or as many are pushed beyond it.
const MOST_CROWDED: usize = 4;

/// Fills an empty table, and says how many fingerprints it holds; `None`, with any bytes in the table, if
/// they do not fit, or if there is no memory to sort them in.
pub(crate) fn build<L: Layout>(
    geometry: &Geometry,
    rounding: Rounding,
    table: &mut [u8],
    hashes: &[KeyHash],
    isa: Isa,
) -> Option<u64> {
    let plan = Plan::new::<L>(geometry);
    let inputs = Inputs { geometry, rounding, plan, hashes, isa };
    match plan.stored_bits {
        0..=8 if plan.local_bits <= u32::STORED_BITS => build_of::<L, u32, u8>(&inputs, table),
        0..=16 if plan.local_bits <= u32::STORED_BITS => build_of::<L, u32, u16>(&inputs, table),
        _ => build_of::<L, u64, u32>(&inputs, table),
    }
}

/// What a table is built of.
struct Inputs<'a> {
    geometry: &'a Geometry,
    rounding: Rounding,
    plan: Plan,
    hashes: &'a [KeyHash],
    isa: Isa,
}

fn build_of<L: Layout, R: LocalFingerprint, T: Stored>(
    inputs: &Inputs<'_>,
    table: &mut [u8],
) -> Option<u64> {
    let Inputs { geometry, rounding, plan, hashes, isa } = *inputs;
    let mut partitioner = Partitioner::<R>::new();
    // Two closures: with the code of rounding in it, one is not inlined into the partitioner's loops.
    let grouped = if rounding == Rounding::None {
        partitioner.partition(hashes, plan.regions, |hash| plan.split::<L, R>(geometry, hash))
    } else {
        partitioner.partition(hashes, plan.regions, |hash| {
            plan.split::<L, R>(geometry, rounding.apply::<L>(geometry, hash))
        })
    };
    let grouped = grouped.ok()?;
    let region = Region::<L, T>::new(plan, Table::new(geometry, table));
    kernel::run(isa, Placing { grouped, region }).or_else(|| {
        table.fill(0);
        append_sorted::<L, R>(geometry, plan, table, grouped)
    })
}

/// Any fingerprints, in time that does not depend on where they crowd.
fn append_sorted<L: Layout, R: LocalFingerprint>(
    geometry: &Geometry,
    plan: Plan,
    table: &mut [u8],
    grouped: Partitioned<'_, R>,
) -> Option<u64> {
    let mut appender = Appender::<L>::new(geometry, table);
    let mut sorted = Vec::new();
    for (region, fingerprints) in grouped.iter().enumerate() {
        let first = ((region as u64) << plan.region_log2) * u64::from(L::SLOTS);
        sorted.clear();
        sorted.extend_from_slice(fingerprints);
        sorted.sort_unstable();
        appender.extend(sorted.iter().map(|f| (first + f.local() as u64, f.stored()))).ok()?;
    }
    Some(appender.finish())
}

/// All regions one after another.
struct Placing<'a, L, R, T> {
    grouped: Partitioned<'a, R>,
    region: Region<'a, L, T>,
}

impl<L: Layout, R: LocalFingerprint, T: Stored> Job for Placing<'_, L, R, T> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run(mut self) -> Option<u64> {
        for fingerprints in self.grouped.iter() {
            self.region.place(fingerprints)?;
        }
        // What is pushed beyond the last region.
        while self.region.begin > 0 {
            self.region.place::<R>(&[])?;
        }
        Some(self.region.len)
    }
}

/// The regions that a table is built by.
#[derive(Clone, Copy, Debug)]
struct Plan {
    regions: usize,
    /// Blocks of a region, as a power of two.
    region_log2: u32,
    /// Bits of a quotient within its region.
    local_bits: u32,
    /// Bits of what is stored of a remainder.
    stored_bits: u32,
}

impl Plan {
    fn new<L: Layout>(geometry: &Geometry) -> Self {
        let blocks = geometry.slots.div_ceil(u64::from(L::SLOTS));
        let too_many = blocks.div_ceil(MOST_REGIONS << REGION_BLOCKS_LOG2);
        let region_log2 = REGION_BLOCKS_LOG2 + too_many.next_power_of_two().ilog2();
        let stored_bits =
            if L::RESERVES_ZERO { *L::REMAINDER_BITS.end() } else { geometry.remainder_bits };
        Self {
            regions: blocks.div_ceil(1 << region_log2) as usize,
            region_log2,
            local_bits: region_log2 + L::SLOTS.next_power_of_two().ilog2(),
            stored_bits,
        }
    }

    /// The region of a hash, and its fingerprint there.
    #[inline(always)]
    fn split<L: Layout, R: LocalFingerprint>(&self, geometry: &Geometry, hash: u64) -> (usize, R) {
        let (quotient, stored) = geometry.split::<L>(hash);
        let region = (quotient / u64::from(L::SLOTS)) >> self.region_log2;
        let local = quotient - (region << self.region_log2) * u64::from(L::SLOTS);
        (region as usize, R::pack(local, stored))
    }
}

/// A fingerprint within a region: the local quotient above what is stored of the remainder.
trait LocalFingerprint: Record + Ord {
    /// Bits of each half.
    const STORED_BITS: u32;
    fn pack(local: u64, stored: u32) -> Self;
    fn local(self) -> usize;
    fn stored(self) -> u32;
}

macro_rules! local_fingerprint {
    ($record:ty, $half:ty) => {
        impl LocalFingerprint for $record {
            const STORED_BITS: u32 = <$half>::BITS;
            #[inline(always)]
            fn pack(local: u64, stored: u32) -> Self {
                (local as $record) << Self::STORED_BITS | stored as $record
            }
            #[inline(always)]
            fn local(self) -> usize {
                (self >> Self::STORED_BITS) as usize
            }
            #[inline(always)]
            fn stored(self) -> u32 {
                self as $half as u32
            }
        }
    };
}
local_fingerprint!(u32, u16);
local_fingerprint!(u64, u32);

/// What a slot holds, in as few bytes as hold it.
trait Stored:
    Copy + Default + Ord + Into<u32> + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// All bits.
    const ONES: Self;
    fn of(stored: u32) -> Self;
}

macro_rules! stored {
    ($stored:ty) => {
        impl Stored for $stored {
            const ONES: Self = Self::MAX;
            #[inline(always)]
            fn of(stored: u32) -> Self {
                stored as $stored
            }
        }
    };
}
stored!(u8);
stored!(u16);
stored!(u32);

/// Exchanges neighbours that are joined and not in order: slots `2 i + PARITY` with the next. Beside the
/// slots, there is one before them and one after them.
#[inline(always)]
fn exchange<T: Stored, const PARITY: usize>(from: &[T], to: &mut [T], joined: &[T]) {
    for (i, to) in to[1..].as_chunks_mut::<VECTOR>().0.iter_mut().enumerate() {
        let around = |slots: &[T]| -> [T; VECTOR] { *slots[i * VECTOR..].first_chunk().unwrap() };
        let (before, slots, after) = (around(from), around(&from[1..]), around(&from[2..]));
        let (joined_before, joined) = (around(joined), around(&joined[1..]));
        for slot in 0..VECTOR {
            // The smaller of the first of a pair and its next, the larger of the second and the one
            // before; what is not joined, with what changes nothing.
            let (first, second) =
                if slot % 2 == PARITY { (T::ONES, T::default()) } else { (T::default(), T::ONES) };
            let next = after[slot] | !(joined[slot] & first);
            let previous = before[slot] & joined_before[slot] & second;
            to[slot] = slots[slot].min(next).max(previous);
        }
    }
}

/// The slots of a region, and of what its runs push beyond it.
struct Region<'t, L, T> {
    table: Table<L, &'t mut [u8]>,
    first_block: usize,
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
    len: u64,
}

impl<'t, L: Layout, T: Stored> Region<'t, L, T> {
    fn new(plan: Plan, table: Table<L, &'t mut [u8]>) -> Self {
        let blocks = 1 << plan.region_log2;
        Self {
            table,
            first_block: 0,
            blocks,
            slots: blocks * L::SLOTS as usize,
            begin: 0,
            end: 0,
            cursors: Vec::new(),
            stored: Vec::new(),
            exchanged: Vec::new(),
            ends: Vec::new(),
            joined: Vec::new(),
            len: 0,
        }
    }

    /// Fills the next region; `None` if fingerprints crowd, have too many copies, or do not fit.
    #[inline(always)]
    fn place<R: LocalFingerprint>(&mut self, fingerprints: &[R]) -> Option<()> {
        if fingerprints.len().max(self.begin) > MOST_CROWDED * self.slots {
            return None;
        }
        let most = self.assign(fingerprints);
        self.join();
        if most > LONG_RUN {
            self.sort_long_runs()?;
        }
        self.exchange(most);
        self.len += fingerprints.len() as u64;
        if self.table.copies == 1 {
            let copies = self.copies();
            if copies.len() > fingerprints.len() / FINGERPRINTS_PER_COPY {
                return None;
            }
            let mut may_move = MOST_MOVED * self.slots;
            for slot in copies.iter().rev() {
                may_move = may_move.checked_sub(self.take_out(*slot))?;
            }
            self.len -= copies.len() as u64;
        }
        self.write()
    }

    /// Gives every quotient its slots, and every remainder one of them. How long the longest run is, or
    /// a number of as many bits.
    #[inline(always)]
    fn assign<R: LocalFingerprint>(&mut self, fingerprints: &[R]) -> u32 {
        self.cursors.clear();
        self.cursors.resize(self.slots + 1, 0);
        // A slot before the first and one after the last, which are neighbours.
        let room = (self.begin.max(self.slots) + fingerprints.len()).next_multiple_of(VECTOR) + 2;
        self.stored.resize(room, T::default());
        self.ends.resize(room, 0);
        let (first, cursors) = self.cursors.split_first_mut().unwrap();
        for fingerprint in fingerprints {
            cursors[fingerprint.local()] += 1;
        }
        *first = self.begin as u32;
        let ends = &mut self.ends[..];
        let (mut end, mut most) = (*first, 0);
        for (quotient, cursor) in (0u32..).zip(&mut *cursors) {
            let count = *cursor;
            most |= count;
            let begin = end.max(quotient);
            *cursor = begin;
            end = begin + count;
            // Quotients without a fingerprint write to byte 0.
            let any = u32::from(count != 0).wrapping_neg();
            ends[(end & any) as usize] = 1;
        }
        self.end = end as usize;
        let stored = &mut self.stored[..];
        for fingerprint in fingerprints {
            let cursor = &mut cursors[fingerprint.local()];
            stored[*cursor as usize + 1] = T::of(fingerprint.stored());
            *cursor += 1;
        }
        most
    }

    /// Finds neighbours in one run: slots in use that do not end one.
    #[inline(always)]
    fn join(&mut self) {
        self.joined.clear();
        self.joined.resize(self.stored.len(), T::default());
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
        let copies = self.table.copies as usize;
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

    /// Exchanges neighbours, those at even places and those at odd ones in turns, until all runs are in
    /// order: as many times as the longest has slots.
    #[inline(always)]
    fn exchange(&mut self, most: u32) {
        self.exchanged.resize(self.stored.len(), T::default());
        for _ in 0..most.min(LONG_RUN).div_ceil(2) {
            exchange::<T, 0>(&self.stored, &mut self.exchanged, &self.joined);
            exchange::<T, 1>(&self.exchanged, &mut self.stored, &self.joined);
        }
    }

    /// Slots whose remainder comes again after it in its run.
    #[inline(always)]
    fn copies(&self) -> Vec<usize> {
        let mut copies = Vec::new();
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
                let is_copy =
                    |slot: &usize| joined[*slot] == T::ONES && stored[*slot] == next[*slot];
                copies.extend((0..VECTOR).filter(is_copy).map(|slot| i * VECTOR + slot));
            }
        }
        copies
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

    /// Writes the blocks of the region, and goes on to the next; `None` if runs end beyond the table.
    #[inline(always)]
    fn write(&mut self) -> Option<()> {
        let per_block = L::SLOTS as usize;
        let blocks_left = self.table.shape.blocks - self.first_block;
        let blocks = self.blocks.min(blocks_left);
        // The end is that of the last run, or before the last quotient, which has none.
        if self.end > blocks_left * per_block
            && self.ends[blocks_left * per_block + 1..].contains(&1)
        {
            return None;
        }
        let mut occupied = [0; 64];
        for block in 0..blocks {
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
            let stored = &self.stored[begin + 1..][..per_block];
            L::set_block(
                &self.table.shape,
                self.table.bytes,
                self.first_block + block,
                metadata,
                stored,
            );
        }
        self.first_block += blocks;
        let spilled = self.end.saturating_sub(self.slots);
        self.stored.copy_within(self.slots + 1..=self.slots + spilled, 1);
        self.stored.truncate(spilled + 1);
        self.ends.copy_within(self.slots + 1..=self.slots + spilled, 1);
        self.ends.truncate(spilled + 1);
        self.begin = spilled;
        Some(())
    }
}
