//! Many keys at once.
//!
//! **Into an empty filter.** Keys are partitioned by regions of the table that fit into L2. In each region
//! every bucket takes its first four keys, by counting and without looking for room: at 95 % load that is
//! a place for more than four keys in five. The rest are inserted as always, but in rounds: an eighth of
//! every region's, then the next, so that all regions fill alike. In one round, each region would push its
//! surplus on to the next, and the last would have no room for it.
//!
//! **Into any other.** Keys are inserted in groups (`walk.rs`).

use crate::bucket::{EmptyPair, with_flags};
use crate::filter::CuckooFilter;
use crate::geometry::Geometry;
use crate::table::{Entry, Table};
use crate::walk::CHUNK_KEYS;
use crate::width::{Width, with_width};
use alloc::vec;
use alloc::vec::Vec;
use trommel_base::partition::{MAX_HASHES, MAX_PARTS, Partitioner};
use trommel_base::{Full, Insert, KeyHash, Remove};

/// A batch into an empty filter is a bulk build if it brings a key for so many slots.
const SLOTS_PER_BUILT_KEY: u64 = 16;
/// Smaller tables are in cache anyway.
const FEWEST_BUILT_BUCKETS: u64 = 1 << REGION_LOG2;
/// Buckets of a region, as a power of two: 256 KiB of 8-bit fingerprints, 512 KiB of 16-bit ones.
const REGION_LOG2: u32 = 16;
/// In how many rounds keys without a place in their primary bucket are inserted.
const ROUNDS: usize = 8;

impl CuckooFilter {
    pub(crate) fn insert_many(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        if self.try_build(hashes) {
            return Ok(());
        }
        let mut done = 0;
        while done < hashes.len() {
            let rest = &hashes[done..];
            let group = &rest[..rest.len().min(CHUNK_KEYS).min(self.keys_before_growth())];
            self.insert_group(group).map_err(|full| self.full(done + full.inserted, full.why))?;
            done += group.len();
        }
        Ok(())
    }

    fn insert_group(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        if self.is_growth_due() {
            return self.insert_in_order(hashes);
        }
        let mut new = [0; CHUNK_KEYS / 64];
        let kernels = self.kernels;
        let placed =
            kernels.insert_group(&mut self.parts(), KeyHash::slice_as_raw(hashes), &mut new);
        self.len += new.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        if placed.is_ok() {
            return Ok(());
        }
        // The keys that found places are any of the group, not its first.
        for (i, hash) in hashes.iter().enumerate() {
            if new[i / 64] >> (i % 64) & 1 == 1 {
                self.remove_hash(*hash);
            }
        }
        self.insert_in_order(hashes)
    }

    fn insert_in_order(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        for (i, hash) in hashes.iter().enumerate() {
            self.insert_hash(*hash).map_err(|full| self.full(i, full.why))?;
        }
        Ok(())
    }

    /// Builds an empty filter of many keys; false, and nothing changed, if that is not the case, or the keys
    /// do not fit, or there is no memory to sort them in.
    fn try_build(&mut self, hashes: &[KeyHash]) -> bool {
        let Geometry { buckets, .. } = self.geometry;
        let keys = hashes.len() as u64;
        let most = self.grow_at.unwrap_or(1.0) * self.geometry.slots() as f64;
        let pays = keys >= self.geometry.slots() / SLOTS_PER_BUILT_KEY
            && buckets >= FEWEST_BUILT_BUCKETS
            && buckets.div_ceil(1 << REGION_LOG2) <= MAX_PARTS as u64;
        if self.len > 0 || !pays || keys as f64 > most || hashes.len() > MAX_HASHES {
            return false;
        }
        // Of an emptied filter: `fill` keeps no bits of full buckets, and no key lives elsewhere.
        self.crowd = None;
        self.empty = EmptyPair::Clear;
        let built = with_width!(self.geometry, W => self.build::<W>(hashes));
        match built {
            Some(len) => self.len = len,
            None => self.clear(),
        }
        built.is_some()
    }

    fn build<W: Width>(&mut self, hashes: &[KeyHash]) -> Option<u64> {
        let geometry = self.geometry;
        let regions = geometry.buckets.div_ceil(1 << REGION_LOG2) as usize;
        let mut partitioner = Partitioner::<u64>::new();
        let grouped = partitioner
            .partition(hashes, regions, |hash| {
                (geometry.split(hash).0 as usize >> REGION_LOG2, hash)
            })
            .ok()?;
        let mut rest = Rest::with_room_for(hashes.len(), regions)?;
        let mut fills = vec![0; 1 << REGION_LOG2];
        let mut len = 0;
        for (region, hashes) in grouped.iter().enumerate() {
            let first = region as u32 * (1 << REGION_LOG2);
            let mut table = Table::<W, _>::new(&self.geometry, self.table.as_mut(), self.empty);
            len += fill(&mut table, first, hashes, &mut fills, !self.multiset, &mut rest)?;
        }
        let kernels = self.kernels;
        let mut new = Vec::new();
        for round in 0..ROUNDS {
            for region in 0..regions {
                let hashes = rest.share(region, round);
                new.clear();
                new.resize(hashes.len().div_ceil(64), 0);
                kernels.insert_group(&mut self.parts(), hashes, &mut new).ok()?;
                len += new.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            }
        }
        Some(len)
    }
}

/// Fills the primary buckets of a region with their first keys; how many found room. Nothing if so many found
/// none that they are not uniform.
#[inline(always)]
fn fill<W: Width>(
    table: &mut Table<'_, W, &mut [u8]>,
    first: u32,
    hashes: &[u64],
    fills: &mut [u8],
    is_set: bool,
    rest: &mut Rest,
) -> Option<u64> {
    // A pair that holds one holds it in its odd slot, and both pairs have one before one has two: so the
    // flags are clear.
    const ORDER: [u32; 4] = [1, 3, 0, 2];
    let end = table.geometry.buckets.min(u64::from(first) + (1 << REGION_LOG2)) as u32;
    fills.fill(0);
    let mut placed = 0;
    for hash in hashes {
        let Entry { bucket, fingerprint } = Entry::of_hash(table.geometry, *hash);
        let fill = &mut fills[(bucket - first) as usize];
        let word = table.word(bucket);
        if is_set && W::has(word, fingerprint) {
            continue;
        }
        let Some(slot) = ORDER.get(usize::from(*fill)) else {
            if rest.hashes.len() == rest.hashes.capacity() {
                return None;
            }
            rest.hashes.push(*hash);
            continue;
        };
        table.store_word(bucket, W::with(word, *slot, fingerprint));
        *fill += 1;
        placed += 1;
    }
    rest.ends.push(rest.hashes.len());
    for bucket in first..end {
        let slots = table.slots(bucket);
        table.store(bucket, with_flags(slots, [false, false]));
    }
    debug_assert_eq!(table.empty, EmptyPair::Clear);
    Some(placed)
}

/// Keys whose primary bucket was full, region by region.
struct Rest {
    hashes: Vec<u64>,
    /// Where the keys of each region end.
    ends: Vec<usize>,
}

impl Rest {
    /// Nothing if there is no memory.
    fn with_room_for(keys: usize, regions: usize) -> Option<Self> {
        let (mut hashes, mut ends) = (Vec::new(), Vec::new());
        // At full load, one key in five finds four others in its bucket.
        hashes.try_reserve_exact(keys / 4).ok()?;
        ends.try_reserve_exact(regions).ok()?;
        Some(Self { hashes, ends })
    }

    /// The keys of a region that are inserted in a round.
    fn share(&self, region: usize, round: usize) -> &[u64] {
        let begin = if region == 0 { 0 } else { self.ends[region - 1] };
        let hashes = &self.hashes[begin..self.ends[region]];
        let cut = |round: usize| hashes.len() * round / ROUNDS;
        &hashes[cut(round)..cut(round + 1)]
    }
}

impl trommel_base::InsertBulk for CuckooFilter {
    fn insert_bulk<W: trommel_base::Workers>(
        &mut self,
        hashes: &[KeyHash],
        _bulk: trommel_base::Bulk<'_, W>,
    ) -> Result<(), Full> {
        self.insert_batch(hashes)
    }
}
