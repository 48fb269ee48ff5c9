//! Many keys at once.
//!
//! **Into an empty filter.** Hashes are partitioned by regions of the table that fit into the nearest
//! cache; the fingerprints of a region are sorted there, and appended one after another. Nothing is ever
//! shifted, so a filter at 95 % load is built as fast, per key, as one at 50 %.
//!
//! **Into any other.** Hashes are partitioned likewise, and inserted region by region.

use crate::append::Appender;
use crate::filter::Quotient;
use crate::geometry::Geometry;
use crate::layout::Layout;
use alloc::vec;
use alloc::vec::Vec;
use trommel_base::partition::{MAX_HASHES, Partitioner, Record};
use trommel_base::{Full, Insert, KeyHash};

/// Up to this load, inserts hardly ever fail.
const SURE_LOAD: f64 = 0.97;
/// Fewer keys are inserted as they come.
const FEWEST_KEYS: usize = 256;
/// A batch into an empty filter is a bulk build if it brings a key for so many slots: what a build costs
/// for every slot, such a batch would pay for shifting.
const SLOTS_PER_BUILT_KEY: u64 = 16;
/// Keys that are grouped at a time for inserts, nine bytes of scratch memory each: more for tables that
/// leave few of them to a region.
const GROUPED_KEYS: usize = 1 << 16;
const GROUPED_KEYS_OF_LARGE: usize = 1 << 20;
const LARGE_BYTES: usize = 64 << 20;
/// Bytes of the table that keys are grouped by: the nearest cache holds them.
const GROUPED_BYTES: usize = 32 << 10;
/// The fewest keys that a group is worth making for.
const FEWEST_KEYS_PER_GROUP: usize = 8;
/// Blocks of a region that is built at a time, as a power of two; more if there would be more parts than
/// one pass can keep apart.
const REGION_BLOCKS_LOG2: u32 = 7;
const MOST_REGIONS: u64 = 4096;

impl<L: Layout> Quotient<L> {
    pub(crate) fn insert_many(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut done = 0;
        // One for all chunks: its memory is touched once.
        let mut partitioner = Partitioner::new();
        while done < hashes.len() {
            let rest = &hashes[done..];
            if self.grow_at.is_none() && self.try_build(rest) {
                return Ok(());
            }
            // No more than can be inserted before the filter is to grow: the key that makes it grow goes
            // in by itself.
            let before_growth = self
                .grow_at
                .map_or(u64::MAX, |load| self.keys_at(load).saturating_sub(self.len).max(1));
            let grouped =
                if self.table.len() > LARGE_BYTES { GROUPED_KEYS_OF_LARGE } else { GROUPED_KEYS };
            let keys =
                rest.len().min(grouped).min(usize::try_from(before_growth).unwrap_or(grouped));
            self.insert_chunk(&rest[..keys], &mut partitioner)
                .map_err(|full| self.full(done + full.inserted, full.why))?;
            done += keys;
        }
        Ok(())
    }

    /// Builds an empty filter of many keys; false, and nothing changed, if that is not the case, or the
    /// keys do not fit, or there is no memory to sort them in.
    fn try_build(&mut self, hashes: &[KeyHash]) -> bool {
        let many = hashes.len() as u64 >= self.geometry.slots / SLOTS_PER_BUILT_KEY;
        if self.len > 0 || !many || !(FEWEST_KEYS..=MAX_HASHES).contains(&hashes.len()) {
            return false;
        }
        let plan = Plan::new::<L>(&self.geometry);
        let built = if plan.local_bits.max(plan.stored_bits) <= u32::STORED_BITS {
            self.build::<u32>(plan, hashes)
        } else {
            self.build::<u64>(plan, hashes)
        };
        match built {
            Some(len) => self.len = len,
            None => self.table.fill(0),
        }
        built.is_some()
    }

    fn build<R: LocalFingerprint>(&mut self, plan: Plan, hashes: &[KeyHash]) -> Option<u64> {
        let (geometry, rounding) = (self.geometry, self.rounding);
        let mut partitioner = Partitioner::<R>::new();
        let grouped = partitioner
            .partition(hashes, plan.regions, |hash| {
                plan.split::<L, R>(&geometry, rounding.apply::<L>(&geometry, hash))
            })
            .ok()?;
        let mut sorter = Sorter::new(plan);
        let mut appender = Appender::<L>::new(&geometry, &mut self.table);
        for (region, fingerprints) in grouped.iter().enumerate() {
            let first = ((region as u64) << plan.region_log2) * u64::from(L::SLOTS);
            let sorted = sorter.sort(fingerprints).iter();
            appender.extend(sorted.map(|f| (first + f.local() as u64, f.stored()))).ok()?;
        }
        Some(appender.finish())
    }

    /// Inserts some keys region by region; if one does not fit, as many as go in in their own order.
    fn insert_chunk(
        &mut self,
        hashes: &[KeyHash],
        partitioner: &mut Partitioner<u64>,
    ) -> Result<(), Full> {
        let regions = self.table.len() / GROUPED_BYTES;
        let groups = regions.min(hashes.len() / FEWEST_KEYS_PER_GROUP).min(MOST_REGIONS as usize);
        // What is likely to fail is not begun: to take a group back is slow when the table is full.
        let fits =
            (self.len + hashes.len() as u64) as f64 <= SURE_LOAD * self.geometry.slots as f64;
        if !fits
            || hashes.len() < FEWEST_KEYS
            || groups < 2
            || !self.insert_grouped(hashes, groups, partitioner)
        {
            return self.insert_in_order(hashes);
        }
        Ok(())
    }

    /// Inserts keys group by group; false, and nothing changed, if one does not fit or there is no memory
    /// to group them in.
    fn insert_grouped(
        &mut self,
        hashes: &[KeyHash],
        groups: usize,
        partitioner: &mut Partitioner<u64>,
    ) -> bool {
        let shift = u64::BITS - groups.ilog2();
        let (geometry, rounding) = (self.geometry, self.rounding);
        let Ok(grouped) = partitioner.partition(hashes, 1 << groups.ilog2(), |hash| {
            let hash = rounding.apply::<L>(&geometry, hash);
            ((hash >> shift) as usize, hash)
        }) else {
            return false;
        };
        let mut inserted: Vec<Vec<u64>> = Vec::with_capacity(grouped.parts());
        for group in grouped.iter() {
            let mut new = vec![0; group.len().div_ceil(64)];
            let (_, stopped) =
                self.kernels.insert_batch(&geometry, self.table.as_mut(), group, &mut new);
            self.len += new.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            inserted.push(new);
            if stopped.is_some() {
                for (group, new) in grouped.iter().zip(&inserted) {
                    self.take_back(group, new);
                }
                return false;
            }
        }
        true
    }

    /// Removes the hashes of a group that were inserted a moment ago.
    fn take_back(&mut self, group: &[u64], new: &[u64]) {
        for (i, hash) in group.iter().enumerate() {
            if new[i / 64] >> (i % 64) & 1 == 1 {
                let removed = self.kernels.remove(&self.geometry, self.table.as_mut(), *hash);
                self.len -= u64::from(removed);
            }
        }
    }

    fn insert_in_order(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        for (i, hash) in hashes.iter().enumerate() {
            self.insert_hash(*hash).map_err(|full| self.full(i, full.why))?;
        }
        Ok(())
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
trait LocalFingerprint: Record + Default + Ord {
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

/// Sorts the fingerprints of a region, least significant digit first: the remainder's highest bits,
/// then the quotient. What is left, of remainders that begin alike, is a few exchanges of neighbours.
struct Sorter<R> {
    plan: Plan,
    by_digit: Vec<R>,
    sorted: Vec<R>,
    cursors: Vec<u32>,
}

/// Bits of a remainder that are a digit.
const DIGIT_BITS: u32 = 8;

impl<R: LocalFingerprint> Sorter<R> {
    fn new(plan: Plan) -> Self {
        Self { plan, by_digit: Vec::new(), sorted: Vec::new(), cursors: Vec::new() }
    }

    fn sort(&mut self, fingerprints: &[R]) -> &[R] {
        let Plan { stored_bits, local_bits, .. } = self.plan;
        let digit_bits = stored_bits.min(DIGIT_BITS);
        for buffer in [&mut self.by_digit, &mut self.sorted] {
            buffer.resize(fingerprints.len().max(buffer.len()), R::default());
        }
        let (by_digit, sorted) =
            (&mut self.by_digit[..fingerprints.len()], &mut self.sorted[..fingerprints.len()]);
        let (digit_shift, digit_mask) = (stored_bits - digit_bits, (1 << digit_bits) - 1);
        scatter(fingerprints, by_digit, &mut self.cursors, 1 << digit_bits, |fingerprint| {
            (fingerprint.stored() >> digit_shift & digit_mask) as usize
        });
        scatter(by_digit, sorted, &mut self.cursors, 1 << local_bits, |fingerprint| {
            fingerprint.local()
        });
        if digit_shift > 0 {
            exchange(sorted);
        }
        sorted
    }
}

/// A pass of the sort: stable, by a digit below `digits`.
fn scatter<R: LocalFingerprint>(
    from: &[R],
    to: &mut [R],
    cursors: &mut Vec<u32>,
    digits: usize,
    digit: impl Fn(R) -> usize,
) {
    cursors.clear();
    cursors.resize(digits, 0);
    for fingerprint in from {
        cursors[digit(*fingerprint)] += 1;
    }
    let mut begin = 0;
    for cursor in cursors.iter_mut() {
        begin += core::mem::replace(cursor, begin);
    }
    for fingerprint in from {
        let cursor = &mut cursors[digit(*fingerprint)];
        to[*cursor as usize] = *fingerprint;
        *cursor += 1;
    }
}

/// Sorts what is nearly sorted: by insertion, as long as that pays.
fn exchange<R: LocalFingerprint>(sorted: &mut [R]) {
    let mut exchanges = 4 * sorted.len();
    for i in 1..sorted.len() {
        let mut at = i;
        while at > 0 && sorted[at - 1] > sorted[at] {
            if exchanges == 0 {
                return sorted.sort_unstable();
            }
            exchanges -= 1;
            sorted.swap(at - 1, at);
            at -= 1;
        }
    }
}
