//! Bulk builds: fill an empty filter with many keys, in pieces that are independent of each other.
//!
//! 1. **Partition.** The batch is split into *shares*, and each share is grouped by *regions* of the table. The keys of
//!    a region are read share by share, hence in the order of the batch, for any number of shares.
//! 2. **Fill, then evict within units.** The table is split into *units* of whole regions. In a unit, every bucket
//!    takes up to four of the keys that have it as primary bucket (`fill.rs`). In a build to 95 % load, more than 80 %
//!    of the keys are placed in this way. The other keys are inserted by windowed eviction (`evict::window`) within the
//!    unit.
//! 3. **Evict across the borders.** If a unit has no room for a key, the key is nearly always near a border of the
//!    unit, and its other bucket is beyond that border. These keys are inserted in windows that have the length of a
//!    unit. Each window begins in the middle of a unit, so the border to the next unit is in the middle of the window.
//! 4. **The last keys.** The windows leave a few keys, and the units leave a few near both ends of the table. These
//!    keys are inserted with the whole table as window. Keys that are left even then are inserted one by one.
//!
//! Units and windows depend on the table alone, and only one thread works on each, so the bytes of the filter do not
//! depend on the number of threads.
//!
//! # What was measured
//!
//! Median ns per key of filling a table to 95 % load, on a Cascade Lake (AVX-512 without byte permutes), in thread CPU
//! time on a shared machine. "Before" is an earlier algorithm: it filled primary buckets region by region. Then it
//! evicted over the whole table, in eight rounds: each inserted an eighth of every region's other keys. Runs of both
//! algorithms were interleaved.
//!
//! | slots | fingerprints | before | now |
//! |---|---|---|---|
//! | 2^20 | 8 bits, multiset | 25.3 | 17.1 |
//! | 2^20 | 8 bits, set | 33.3 | 18.1 |
//! | 2^24 | 8 bits, set | 38.4 | 22.3 |
//! | 2^24 | 16 bits, multiset | 37.0 | 25.7 |
//! | 1.05e8 | 8 bits, multiset | 31.8 | 21.0 |
//!
//! When a build pays: time in ns per key without / with a build, for one batch into an empty filter that is a set, on a
//! Zen 4 core with AVX-512. Runs without and with a build were interleaved.
//!
//! | buckets, fingerprints | 7 % load | 25 % | 50 % | 75 % | 95 % |
//! |---|---|---|---|---|---|
//! | 2^12, 12 bits | 6.7 / 22.5 | 6.8 / 9.7 | 9.8 / 8.4 | 12.7 / 8.0 | 19.7 / 11.3 |
//! | 2^16, 16 bits | 9.8 / 21.3 | 12.3 / 11.6 | 12.7 / 8.9 | 13.2 / 7.5 | 25.0 / 14.7 |
//! | 2^17, 8 bits | 5.1 / 14.7 | 6.7 / 7.4 | 8.4 / 6.5 | 11.5 / 7.9 | 17.0 / 13.1 |
//! | 2^20, 8 bits | 7.1 / 15.9 | 13.1 / 9.7 | 13.3 / 8.8 | 14.8 / 9.3 | 22.5 / 12.2 |
//! | 2^22, 8 bits | 24.6 / 16.6 | 27.3 / 8.9 | 33.5 / 9.2 | 39.6 / 8.8 | 51.2 / 12.0 |
//!
//! Multisets gain less, since they do not look for a key before they insert it: at 2^12 to 2^18 buckets, inserts
//! without a build take 0.7 to 1.2 times as long as a build at 50 % load, and 1.04 to 1.45 times as long at 75 % and
//! more.
//!
//! Times in ns per key at 2^24 slots of 8 bits, best of five runs, for several sizes of units and of regions. The size
//! of a region is given as the bytes that its words take (see `fill.rs`):
//!
//! | unit, buckets | ns |
//! |---|---|
//! | 2^18 | 26.4 |
//! | 2^19 (in use) | 24.5 |
//! | 2^20 | 24.7 |
//! | 2^22 | 24.9 |
//!
//! | region | ns |
//! |---|---|
//! | 128 KiB | 28.3 |
//! | 256 KiB (in use) | 24.4 |
//! | 512 KiB | 33.0 |
//! | 1 MiB | 35.4 |
//!
//! Rejected: up to 96 steps per chain in units of 2^18 buckets, where chains near borders make most steps in vain (57.7
//! ns per key in the same measurement).

pub(crate) mod fill;

use crate::bucket::EmptyPair;
use crate::evict::full_buckets::FullBuckets;
use crate::evict::parts::{BoxedScratch, Placed};
use crate::evict::window::Window;
use crate::filter::CuckooFilter;
use crate::geometry::{Geometry, MAX_BUCKETS, SLOTS};
use crate::table::Entry;
use crate::width::{Width, with_width};
use alloc::vec::Vec;
use core::ops::Range;
pub(crate) use fill::{Filling, Grouped};
use trommel_base::partition::{MAX_PARTS, Partitioned, Record, SharePlan, partition_shares};
use trommel_base::{Bulk, KeyHash, Workers};

/// Tables of fewer buckets are never built in bulk: the fixed cost of a build is as high as its gain.
const FEWEST_BUILT_BUCKETS: u64 = 1 << 12;
/// Tables of at most this many bytes fit into an L2 cache of 1 to 2 MiB, or nearly so.
const NEAR_BYTES: u64 = 2 << 20;
/// A batch into an empty table of at most [`NEAR_BYTES`] is a bulk build if the table has at most this many slots per
/// key of the batch. With fewer keys, a build gains nothing: inserts without a build then find few full buckets, and
/// the table is in cache. This constant and the next are the same on every machine, so that all machines make the same
/// bytes.
const NEAR_SLOTS_PER_BUILT_KEY: u64 = 2;
/// A batch into a larger empty table is a bulk build if the table has at most this many slots per key of the batch.
const FAR_SLOTS_PER_BUILT_KEY: u64 = 8;
/// The base-2 logarithm of the buckets of a unit, in a filter that has not grown. Such a unit is more than eight
/// times as long as the distance between the two buckets of a fingerprint.
const UNIT_LOG2: u32 = 19;
/// The number of steps after which a chain within a unit is given up. This number is small, since a chain near a border
/// can need buckets beyond the unit.
const UNIT_STEPS: u32 = 8;
/// The number of steps after which a chain in a window around a border is given up.
const BORDER_STEPS: u32 = 32;
/// The number of steps after which a chain in the whole table is given up.
const LAST_STEPS: u32 = 96;
/// The base-2 logarithm of the bytes that the words of a region (see `fill.rs`) take while the region is filled: these
/// bytes are a quarter of an L2 cache of 1 MiB, and a smaller part of a larger L2. Regions are longer if there would
/// otherwise be more than [`MAX_PARTS`] regions.
const PAIRS_LOG2: u32 = 18;
/// The base-2 logarithm of the buckets of the longest region: a record of [`Grouped::Narrow`] has at least 16 bits for
/// the bucket.
const LONGEST_REGION_LOG2: u32 = 16;

/// How a build is split into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    region_log2: u32,
    regions: usize,
    /// The number of buckets in a unit. The last unit also has the buckets that the division into units leaves over.
    unit_buckets: usize,
    units: usize,
}

/// How many units are worked on at a time, and the memory that a build needs with this number of units.
struct Units {
    at_once: usize,
    /// The number of bytes of scratch memory for the whole build, without the memory for the partitioned keys.
    bytes: usize,
}

/// The outcome of a unit or of a window.
#[derive(Debug, Default)]
struct Done {
    /// The number of keys that a unit adds to the filter, including those in `left`; 0 for a window, since the units
    /// have counted its keys. `None` if the unit or window failed.
    kept: Option<u64>,
    /// The fingerprints for which the unit or window had no room, each with one of its two buckets.
    left: Vec<u64>,
}

/// An empty vector with room for `len` elements, if there is memory.
fn room_for<T>(len: usize) -> Option<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).ok()?;
    Some(vec)
}

impl Plan {
    /// Plans a build. `None` if a build does not pay, or if the table has too many buckets for a build.
    fn of(geometry: &Geometry, keys: usize) -> Option<Self> {
        let Geometry { buckets, doublings, .. } = *geometry;
        let is_near = geometry.table_bytes() <= NEAR_BYTES;
        let slots_per_key =
            if is_near { NEAR_SLOTS_PER_BUILT_KEY } else { FAR_SLOTS_PER_BUILT_KEY };
        let can_be = FEWEST_BUILT_BUCKETS..=(MAX_PARTS as u64) << LONGEST_REGION_LOG2;
        if !can_be.contains(&buckets) || (keys as u64) < geometry.slots() / slots_per_key {
            return None;
        }
        let mut region_log2 = PAIRS_LOG2 - pair_bytes_log2(geometry);
        while buckets.div_ceil(1 << region_log2) > MAX_PARTS as u64 {
            region_log2 += 1;
        }
        let regions = buckets.div_ceil(1 << region_log2) as usize;
        let unit_buckets = (1u64 << (UNIT_LOG2 + doublings)).min(MAX_BUCKETS) as usize;
        let units = (buckets as usize / unit_buckets).max(1);
        Some(Self { region_log2, regions, unit_buckets, units })
    }

    /// How many units are worked on at a time. `None` if `most_bytes` are not enough for one unit.
    fn units_at_once(
        &self,
        geometry: &Geometry,
        keys: usize,
        most_bytes: usize,
        threads: usize,
    ) -> Option<Units> {
        let full = geometry.buckets as usize / 8;
        // At most three lists of fingerprints are in memory at a time: the fingerprints that the units left, the
        // fingerprints that the windows read, and the fingerprints that the windows leave. After the windows, the list
        // for the last step replaces the list that the windows read.
        let left = self.left_room(keys) * size_of::<u64>() * 3;
        let for_all = full + left;
        let unit_keys = (keys as u64).min(self.longest_unit(geometry) * SLOTS) as usize;
        let pairs = 1 << self.region_log2 << pair_bytes_log2(geometry);
        let surplus = self.surplus_room(unit_keys) * size_of::<u64>();
        let for_each = pairs * 2 + surplus * 2;
        match most_bytes.checked_sub(for_all)? / for_each {
            0 => None,
            // There is memory for a unit per thread, so all units are handed out at once.
            units if units >= threads => {
                Some(Units { at_once: self.units, bytes: for_all + for_each * threads })
            }
            units => Some(Units { at_once: units, bytes: for_all + for_each * units }),
        }
    }

    fn longest_unit(&self, geometry: &Geometry) -> u64 {
        geometry.buckets - ((self.units - 1) * self.unit_buckets) as u64
    }

    /// The number of surplus keys (see `fill.rs`) for which a unit has room; if there are more, the build is given up.
    /// A quarter of the keys is enough: at full load, a fifth of the keys find four other keys in their primary bucket.
    fn surplus_room(&self, unit_keys: usize) -> usize {
        unit_keys / 4 + 1024
    }

    /// The most fingerprints that units with `keys` keys may leave; if they leave more, the build is given up.
    fn left_room(&self, keys: usize) -> usize {
        keys / 16 + 1024
    }
}

impl CuckooFilter {
    /// Inserts the keys by a bulk build. Returns false, and inserts nothing, in these cases:
    ///
    /// - the filter is not empty;
    /// - the keys are too few for a build, or more than the slots, or more than the filter takes before it grows;
    /// - the table has too few or too many buckets for a build;
    /// - the build has no room for a key;
    /// - far more keys share buckets than with uniform hashes;
    /// - there is too little memory for a build.
    pub(crate) fn try_build(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> bool {
        let most = self.grow_at.unwrap_or(1.0) * self.geometry.slots() as f64;
        if self.len > 0 || hashes.len() as f64 > most {
            return false;
        }
        let Some(plan) = Plan::of(&self.geometry, hashes.len()) else { return false };
        // The filter is empty and the build writes every bucket, so what the filter recorded about the old buckets is
        // dropped.
        self.scratch = None;
        self.empty = EmptyPair::Clear;
        let built = with_width!(self.geometry, W => match W::BITS {
            ..=16 => self.build::<W, u32>(hashes, plan, bulk),
            _ => self.build::<W, u64>(hashes, plan, bulk),
        });
        match built {
            Some(len) => self.len = len,
            None => self.clear(),
        }
        built.is_some()
    }

    fn build<W: Width, R: RegionRecord>(
        &mut self,
        hashes: &[KeyHash],
        plan: Plan,
        bulk: Bulk<'_>,
    ) -> Option<u64> {
        let Bulk { workers, scratch_bytes } = bulk;
        let (geometry, threads) = (self.geometry, workers.threads().max(1));
        let keys = hashes.len();
        let share_plan = SharePlan::new(workers, keys, 1, plan.regions);
        let unit_bytes = scratch_bytes.checked_sub(share_plan.bytes_for::<R>(keys))?;
        let Units { at_once, bytes } = plan.units_at_once(&geometry, keys, unit_bytes, threads)?;
        let mut shares = share_plan.take::<R>(workers, keys, scratch_bytes - bytes).ok()?;
        // In the fixed-point number, the bits of the fingerprint follow those of the bucket, as in a record.
        let (region_shift, shift) = (32 + plan.region_log2, geometry.fingerprint_shift());
        let split = |hash: u64| {
            let fixed_point = geometry.fixed_point(hash);
            [((fixed_point >> region_shift) as usize, R::of(fixed_point >> shift))]
        };
        let grouped = partition_shares(workers, &mut shares, hashes, split).ok()?;
        let words = geometry.buckets.div_ceil(64) as usize;
        let mut full = room_for::<u64>(words)?;
        full.resize(words, 0);
        let mut done = room_for::<Done>(plan.units)?;
        done.resize_with(plan.units, Done::default);
        let grouped = R::grouped(&grouped);
        self.fill_units::<W>(&plan, at_once, grouped, &mut full, &mut done, workers)?;
        shares.give_back(workers);
        let kept = done.iter().map(|done| done.kept).sum::<Option<u64>>()?;
        let last = self.evict_across_borders::<W>(&plan, &mut full, &done, workers)?;
        self.insert_last::<W>(full, &last)?;
        Some(kept)
    }

    /// Fills all units, and inserts the surplus of each unit by eviction within the unit.
    fn fill_units<W: Width>(
        &mut self,
        plan: &Plan,
        at_once: usize,
        grouped: Grouped<'_>,
        full: &mut [u64],
        done: &mut [Done],
        workers: &dyn Workers,
    ) -> Option<()> {
        let Self { geometry, kernels, multiset, .. } = *self;
        let mut fillings = room_for(plan.units)?;
        let mut tables = &mut self.table.as_mut()[..buckets_bytes::<W>(&geometry)];
        let mut fulls = full;
        for (unit, done) in done.iter_mut().enumerate() {
            let is_last = unit + 1 == plan.units;
            let bytes = plan.unit_buckets * W::BUCKET_BYTES;
            let (table, full);
            (table, tables) = tables.split_at_mut(if is_last { tables.len() } else { bytes });
            (full, fulls) =
                fulls.split_at_mut(if is_last { fulls.len() } else { plan.unit_buckets / 64 });
            let filling = Filling {
                geometry: &geometry,
                grouped,
                is_set: !multiset,
                region_log2: plan.region_log2,
                first: (unit * plan.unit_buckets) as u32,
                table,
                full,
            };
            fillings.push((filling, done));
        }
        // The last unit is at least as long as any other. It is filled first, so that other threads do not wait for it.
        fillings.reverse();
        while !fillings.is_empty() {
            let group = fillings.drain(..at_once.min(fillings.len()));
            let filled = workers.for_each(group.len(), group, |(mut filling, done)| {
                let keys = filling.regions().map(|region| grouped.keys(region)).sum();
                let Some(mut surplus) = room_for(plan.surplus_room(keys)) else { return };
                let Some(kept) = kernels.fill(&mut filling, &mut surplus) else { return };
                let Some(left) = room_for(surplus.len()) else { return };
                done.left = left;
                let Filling { first, table, full, .. } = filling;
                let max_steps = UNIT_STEPS;
                let mut window = Window { geometry: &geometry, first, table, full, max_steps };
                kernels.insert_within(&mut window, &surplus, &mut done.left);
                // Shrinking a vector in place ends the program if the allocator fails, so the list is copied into a
                // shorter vector.
                if let Some(mut shorter) = room_for(done.left.len()) {
                    shorter.extend_from_slice(&done.left);
                    done.left = shorter;
                }
                if done.left.len() <= plan.left_room(keys) {
                    done.kept = Some(kept);
                }
            });
            filled.ok()?;
        }
        Some(())
    }

    /// Inserts the keys that the units left, in windows around the borders of the units. Returns the keys that the
    /// windows left, and the keys that the units left at the two ends of the table: no window covers the ends.
    fn evict_across_borders<W: Width>(
        &mut self,
        plan: &Plan,
        full: &mut [u64],
        done: &[Done],
        workers: &dyn Workers,
    ) -> Option<Vec<u64>> {
        let Self { geometry, kernels, .. } = *self;
        let borders = plan.units - 1;
        let half = plan.unit_buckets / 2;
        let whole = 0..geometry.buckets as usize;
        let windows_end = half + borders * plan.unit_buckets;
        // The two ends of the table, which are in no window. If there is only one unit, the first end is the whole
        // table.
        let ends = if borders == 0 { [whole, 0..0] } else { [0..half, windows_end..whole.end] };

        let mut windows = room_for(borders)?;
        let mut lefts = room_for(borders)?;
        lefts.resize_with(borders, Done::default);
        let mut tables = &mut self.table.as_mut()[ends[0].end * W::BUCKET_BYTES..];
        let mut fulls = &mut full[ends[0].end / 64..];
        for ((border, units), left) in done.windows(2).enumerate().zip(&mut lefts) {
            let first = half + border * plan.unit_buckets;
            let (table, full);
            (table, tables) = tables.split_at_mut(plan.unit_buckets * W::BUCKET_BYTES);
            (full, fulls) = fulls.split_at_mut(plan.unit_buckets / 64);
            windows.push((first, table, full, units, left));
        }
        let evicted = workers.for_each(borders, windows, |(first, table, full, units, done)| {
            let Some(keys) = left_in(units, first..first + plan.unit_buckets) else { return };
            let Some(left) = room_for(keys.len()) else { return };
            done.left = left;
            let (first, max_steps) = (first as u32, BORDER_STEPS);
            let mut window = Window { geometry: &geometry, first, table, full, max_steps };
            kernels.insert_within(&mut window, &keys, &mut done.left);
            done.kept = Some(0);
        });
        evicted.ok()?;
        let at_ends =
            [left_in(&done[..1], ends[0].clone())?, left_in(&done[borders..], ends[1].clone())?];
        let left: usize = lefts.iter().map(|done| done.left.len()).sum();
        let mut last = room_for(left + at_ends[0].len() + at_ends[1].len())?;
        for done in &lefts {
            done.kept?;
            last.extend_from_slice(&done.left);
        }
        last.extend(at_ends.iter().flatten());
        Some(last)
    }

    /// Inserts keys with the whole table as window. If keys are left, inserts these one by one, into the table or the
    /// overflow area. `None` if there is no room or no memory.
    fn insert_last<W: Width>(&mut self, mut full: Vec<u64>, keys: &[u64]) -> Option<()> {
        let (geometry, kernels) = (self.geometry, self.kernels);
        let mut left = room_for(keys.len())?;
        let table = &mut self.table.as_mut()[..buckets_bytes::<W>(&geometry)];
        let (full_bits, max_steps) = (&mut full[..], LAST_STEPS);
        let mut window =
            Window { geometry: &geometry, first: 0, table, full: full_bits, max_steps };
        kernels.insert_within(&mut window, keys, &mut left);
        self.scratch = Some(BoxedScratch::new(FullBuckets::of_words(full))?);
        let mut parts = self.parts();
        left.iter()
            .all(|entry| parts.place::<W>(Entry::from_word(*entry)) == Placed::Inserted)
            .then_some(())
    }
}

/// The base-2 logarithm of the bytes of a bucket's two words. Each word holds four fingerprints, so two words for
/// fingerprints of `n` bits take `n` bytes. Words for 12 bits are the exception: they are as long as words for 16 bits.
fn pair_bytes_log2(geometry: &Geometry) -> u32 {
    geometry.fingerprint_bits.next_power_of_two().trailing_zeros()
}

/// The fingerprints that `units` left and whose bucket is in the range `buckets`. `None` if there is no memory.
fn left_in(units: &[Done], buckets: Range<usize>) -> Option<Vec<u64>> {
    let within = |entry: &&u64| buckets.contains(&(Entry::from_word(**entry).bucket as usize));
    let left = || units.iter().flat_map(|unit| &unit.left).filter(within);
    let mut collected = room_for(left().count())?;
    collected.extend(left());
    Some(collected)
}

/// The number of bytes of all buckets, without the padding after the last bucket.
fn buckets_bytes<W: Width>(geometry: &Geometry) -> usize {
    geometry.buckets as usize * W::BUCKET_BYTES
}

/// The part of a key's hash that is kept while keys are grouped by region.
trait RegionRecord: Record {
    /// The record with the low bits of `bits`.
    fn of(bits: u64) -> Self;
    fn grouped<'a>(shares: &'a [Partitioned<'a, Self>]) -> Grouped<'a>;
}

impl RegionRecord for u32 {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        bits as Self
    }

    fn grouped<'a>(shares: &'a [Partitioned<'a, Self>]) -> Grouped<'a> {
        Grouped::Narrow(shares)
    }
}

impl RegionRecord for u64 {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        bits
    }

    fn grouped<'a>(shares: &'a [Partitioned<'a, Self>]) -> Grouped<'a> {
        Grouped::Wide(shares)
    }
}
