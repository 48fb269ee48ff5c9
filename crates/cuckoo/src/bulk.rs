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
use crate::place::Placed;
use crate::table::{Entry, Table};
use crate::walk::GROUP_KEYS;
use crate::width::{Width, with_width};
use alloc::vec;
use alloc::vec::Vec;
use trommel_base::partition::{MAX_HASHES, MAX_PARTS, Partitioner, Record};
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
            let group = &rest[..rest.len().min(GROUP_KEYS).min(self.keys_before_growth())];
            self.insert_group(group).map_err(|full| self.full(done + full.inserted, full.why))?;
            done += group.len();
        }
        Ok(())
    }

    fn insert_group(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        if self.is_growth_due() {
            return self.insert_in_order(hashes);
        }
        let mut new = [0; GROUP_KEYS / 64];
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
        let built = with_width!(self.geometry, W => {
            if W::BITS <= 16 { self.build::<W, u32>(hashes) } else { self.build::<W, u64>(hashes) }
        });
        match built {
            Some(len) => self.len = len,
            None => self.clear(),
        }
        built.is_some()
    }

    fn build<W: Width, R: LocalEntry>(&mut self, hashes: &[KeyHash]) -> Option<u64> {
        let geometry = self.geometry;
        let regions = geometry.buckets.div_ceil(1 << REGION_LOG2) as usize;
        let mut partitioner = Partitioner::<R>::new();
        let grouped = partitioner
            .partition(hashes, regions, |hash| {
                let (bucket, fingerprint) = geometry.split(hash);
                (bucket as usize >> REGION_LOG2, R::pack(bucket, fingerprint))
            })
            .ok()?;
        let mut rest = Rest::with_room_for(hashes.len(), regions)?;
        let mut fills = vec![0; 1 << REGION_LOG2];
        let mut len = 0;
        for (region, keys) in grouped.iter().enumerate() {
            let first = region as u32 * (1 << REGION_LOG2);
            let mut table = Table::<W, _>::new(&self.geometry, self.table.as_mut(), self.empty);
            len += fill::<W, R>(&mut table, first, keys, &mut fills, !self.multiset, &mut rest)?;
        }
        for round in 0..ROUNDS {
            for region in 0..regions {
                for entry in rest.share(region, round) {
                    let mut parts = self.parts();
                    if !parts.multiset && parts.has::<W>(*entry) {
                        continue;
                    }
                    if parts.place::<W>(*entry) == Placed::NoRoom {
                        return None;
                    }
                    len += 1;
                }
            }
        }
        Some(len)
    }
}

/// Fills the primary buckets of a region with their first keys; how many found room. Nothing if so many found
/// none that they are not uniform.
#[inline(always)]
fn fill<W: Width, R: LocalEntry>(
    table: &mut Table<'_, W, &mut [u8]>,
    first: u32,
    keys: &[R],
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
    for key in keys {
        let (local, fingerprint) = key.unpack();
        let bucket = first + local;
        let fill = fills[local as usize];
        let word = table.word(bucket);
        if is_set && W::has(word, fingerprint) {
            continue;
        }
        let Some(slot) = ORDER.get(fill as usize) else {
            if rest.entries.len() == rest.entries.capacity() {
                return None;
            }
            rest.entries.push(Entry { bucket, fingerprint });
            continue;
        };
        W::store(
            W::with(word, *slot, fingerprint),
            &mut table.bytes[Table::<W, &[u8]>::at(bucket)..],
        );
        fills[local as usize] = fill + 1;
        placed += 1;
    }
    rest.ends.push(rest.entries.len());
    for bucket in first..end {
        let slots = table.slots(bucket);
        table.store(bucket, with_flags(slots, [false, false]));
    }
    debug_assert_eq!(table.empty, EmptyPair::Clear);
    Some(placed)
}

/// Keys whose primary bucket was full, region by region.
struct Rest {
    entries: Vec<Entry>,
    /// Where the keys of each region end.
    ends: Vec<usize>,
}

impl Rest {
    /// Nothing if there is no memory.
    fn with_room_for(keys: usize, regions: usize) -> Option<Self> {
        let (mut entries, mut ends) = (Vec::new(), Vec::new());
        // At full load, one key in five finds four others in its bucket.
        entries.try_reserve_exact(keys / 4).ok()?;
        ends.try_reserve_exact(regions).ok()?;
        Some(Self { entries, ends })
    }

    /// The keys of a region that are inserted in a round.
    fn share(&self, region: usize, round: usize) -> &[Entry] {
        let begin = if region == 0 { 0 } else { self.ends[region - 1] };
        let entries = &self.entries[begin..self.ends[region]];
        let cut = |round: usize| entries.len() * round / ROUNDS;
        &entries[cut(round)..cut(round + 1)]
    }
}

/// A bucket within its region, and a fingerprint.
trait LocalEntry: Record + Default {
    fn pack(bucket: u32, fingerprint: u32) -> Self;
    fn unpack(self) -> (u32, u32);
}

impl LocalEntry for u32 {
    #[inline(always)]
    fn pack(bucket: u32, fingerprint: u32) -> Self {
        bucket << 16 | fingerprint
    }
    #[inline(always)]
    fn unpack(self) -> (u32, u32) {
        (self >> 16, self & 0xFFFF)
    }
}

impl LocalEntry for u64 {
    #[inline(always)]
    fn pack(bucket: u32, fingerprint: u32) -> Self {
        u64::from(bucket) << 32 | u64::from(fingerprint)
    }
    #[inline(always)]
    fn unpack(self) -> (u32, u32) {
        ((self >> 32) as u32 & ((1 << REGION_LOG2) - 1), self as u32)
    }
}

const _: () = assert!(REGION_LOG2 == 16, "a bucket within its region is half of a record");
