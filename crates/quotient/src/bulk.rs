//! Inserts of many keys at once.
//!
//! **Into an empty filter that does not grow by itself.** If there are enough keys, the table is built ([`build`]), on
//! several threads if the caller has them. A build does not move stored remainders to insert a key, so its time per key
//! does not grow with the load.
//!
//! **In all other cases.** Hashes are partitioned by region of the table, and inserted region by region. But the hashes
//! are inserted in their own order if the table or the batch is small, if not all keys are sure to fit, or if there is
//! too little scratch memory.

use crate::build::{Inputs, MOST_REGIONS, build};
use crate::filter::Quotient;
use crate::layout::Layout;
use core::iter::repeat;
use trommel_base::partition::Partitioner;
use trommel_base::storage::collected;
use trommel_base::{Bulk, Full, Insert, InsertBulk, KeyHash, ScratchRequest, Storage};

/// Up to this load, inserts hardly ever fail for lack of slots.
const SURE_LOAD: f64 = 0.97;
/// Keys are inserted chunk by chunk. A chunk of fewer keys than this number is inserted in its own order, not grouped.
const FEWEST_KEYS: usize = 256;
/// A batch into an empty filter that does not grow by itself is built in bulk if it has at least one key per this
/// number of slots, and at least `FEWEST_BUILT_KEYS`. A build takes about ten microseconds to start, and then some time
/// for each slot of the table. The time of single inserts divided by the time of a build depends on the share of slots
/// that the batch fills. With AVX-512 on a Zen 4 core, this ratio is:
///
/// | slots | 1 % filled | 1/16 | 1/8 | 1/4 | 95 % |
/// |---|---|---|---|---|---|
/// | 2^9 | – | – | – | – | 0.8 to 0.9 |
/// | 2^14 to 2^22 | 0.11 to 0.16 | 0.52 to 0.73 | 0.9 to 1.2 | 1.2 to 1.8 | 1.6 to 4.1 |
///
/// Where inserts are slow, a build is faster at 1/16 too: with remainders of 8 bits in blocks of 64 slots, the ratio at
/// 1/16 is 1.1 with portable kernels, and 1.2 with AVX-512 in 2^24 slots.
const SLOTS_PER_BUILT_KEY: u64 = 8;
const FEWEST_BUILT_KEYS: usize = 1024;
/// The most keys in a chunk. The keys of a chunk are grouped by region of the table before they are inserted, and take
/// 10 to 20 bytes of scratch memory each. Tables beyond `LARGE_BYTES` have many regions, so their chunks have up to
/// `GROUPED_KEYS_OF_LARGE` keys, to have enough for each region.
const GROUPED_KEYS: usize = 1 << 16;
const GROUPED_KEYS_OF_LARGE: usize = 1 << 20;
const LARGE_BYTES: usize = 64 << 20;
/// The keys of a group belong to one part of the table, which has at least this number of bytes. A part of this size
/// fits into the nearest cache.
const GROUPED_BYTES: usize = 32 << 10;
/// The fewest keys that a group has on average. This limits the number of groups.
const FEWEST_KEYS_PER_GROUP: usize = 8;

impl<L: Layout> InsertBulk for Quotient<L> {
    /// Inserts a batch. If the filter is empty and does not grow by itself, and the batch has at least 1024 keys, and
    /// at least one for every eight slots, the table is built on all workers. Otherwise, the keys are inserted on the
    /// caller's thread. If a build fails because the keys do not fit, a key has too many copies, or the scratch memory
    /// does not suffice, the keys are inserted on the caller's thread too.
    ///
    /// Scratch memory of a build:
    /// - four bytes per key, or eight if the remainder and the quotient within a region of the table have more than 32
    ///   bits together (remainders of 20 bits and more, and narrower ones in large tables);
    /// - slack, since keys do not spread evenly over the regions: another 5 to 60 % of those bytes with one thread, and
    ///   more if regions have few keys, or if several threads divide the keys of a region. With eight threads and 2^25
    ///   slots the slack is about 110 %. If the table has only two or three regions, the slack is 60 to 130 %;
    /// - 0.5 to 2 MB for each thread, and more if the table is so large that its regions, at most 4096, have more than
    ///   8192 slots each.
    ///
    /// Inserts by region of the table take up to 15 MB of scratch memory, or 1.5 MB for tables of up to 64 MiB. If the
    /// budget allows less, keys are inserted one by one.
    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        let mut done = 0;
        // All chunks use the same piece of memory, so that its pages fault only once. Only a chunk that needs more
        // memory takes another piece.
        let mut memory = None;
        while done < hashes.len() {
            let rest = &hashes[done..];
            if self.grow_at.is_none() && self.try_build(rest, bulk) {
                return Ok(());
            }
            // A chunk ends before the key that makes the filter grow; that key is a chunk of its own.
            let before_growth = self
                .grow_at
                .map_or(u64::MAX, |load| self.keys_at(load).saturating_sub(self.len).max(1));
            let grouped =
                if self.table.len() > LARGE_BYTES { GROUPED_KEYS_OF_LARGE } else { GROUPED_KEYS };
            let keys =
                rest.len().min(grouped).min(usize::try_from(before_growth).unwrap_or(grouped));
            self.insert_chunk(&rest[..keys], &mut memory, bulk)
                .map_err(|full| self.full(done + full.inserted, full.why))?;
            done += keys;
        }
        if let Some(memory) = memory {
            bulk.workers.give_memory(memory);
        }
        Ok(())
    }
}

impl<L: Layout> Quotient<L> {
    /// Builds the table if the filter is empty and there are enough keys. Returns false, and changes nothing, if the
    /// filter is not empty, if there are too few keys, if the keys do not fit or have too many copies, or if there is
    /// no memory for the build.
    fn try_build(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> bool {
        let many = hashes.len() as u64 >= self.geometry.slots / SLOTS_PER_BUILT_KEY;
        if self.len > 0 || !many || hashes.len() < FEWEST_BUILT_KEYS {
            return false;
        }
        let Self { geometry, rounding, .. } = *self;
        let inputs = Inputs { geometry: &geometry, rounding, hashes, isa: self.isa() };
        let built = build(L::KIND, &inputs, &mut self.table, bulk);
        match built {
            Some(len) => self.len = len,
            None => self.table.fill(0),
        }
        built.is_some()
    }

    /// Inserts the keys of a chunk by region of the table, or in their own order if grouping them does not pay. If a
    /// key is refused, inserts the keys before it, in their own order, and returns the error.
    fn insert_chunk(
        &mut self,
        hashes: &[KeyHash],
        memory: &mut Option<Storage>,
        bulk: Bulk<'_>,
    ) -> Result<(), Full> {
        let regions = self.table.len() / GROUPED_BYTES;
        let groups = regions.min(hashes.len() / FEWEST_KEYS_PER_GROUP).min(MOST_REGIONS as usize);
        let groups = if groups < 2 { 1 } else { 1 << groups.ilog2() };
        // Do not group keys that are not sure to fit: removing them again is slow in a full table.
        let fits =
            (self.len + hashes.len() as u64) as f64 <= SURE_LOAD * self.geometry.slots as f64;
        if !fits
            || hashes.len() < FEWEST_KEYS
            || groups < 2
            || grouping_bytes(hashes.len(), groups) > bulk.scratch_bytes
        {
            return self.insert_in_order(hashes);
        }
        take_memory(memory, hashes.len(), groups, bulk);
        let mut partitioner = Partitioner::with_memory(memory.take());
        let inserted = self.insert_grouped(hashes, groups, &mut partitioner);
        *memory = partitioner.into_memory();
        if !inserted {
            return self.insert_in_order(hashes);
        }
        Ok(())
    }

    /// Partitions keys into `groups` groups, and inserts them group by group. If a key is refused, or if there is no
    /// memory for the groups, returns false, and the filter holds the same keys as before. The caller must ensure that
    /// `groups` is a power of two, at least 2.
    fn insert_grouped(
        &mut self,
        hashes: &[KeyHash],
        groups: usize,
        partitioner: &mut Partitioner<u64>,
    ) -> bool {
        let shift = u64::BITS - groups.ilog2();
        let (geometry, rounding) = (self.geometry, self.rounding);
        let Ok(grouped) = partitioner.partition(hashes, groups, |hash| {
            let hash = rounding.apply::<L>(&geometry, hash);
            ((hash >> shift) as usize, hash)
        }) else {
            return false;
        };
        // A bit per key: whether the key is new. The bits of each group begin at a new word.
        let words = |group: &[u64]| group.len().div_ceil(64);
        let Ok(mut inserted) = collected(grouped.iter().map(words).sum(), repeat(0)) else {
            return false;
        };
        let mut rest = &mut inserted[..];
        let mut is_stopped = false;
        for group in grouped.iter() {
            let new;
            (new, rest) = rest.split_at_mut(words(group));
            let (_, stopped) =
                self.kernels.insert_batch(&geometry, self.table.as_mut(), group, new);
            self.len += new.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            is_stopped = stopped.is_some();
            if is_stopped {
                break;
            }
        }
        if is_stopped {
            let mut rest = &inserted[..];
            for group in grouped.iter() {
                let new;
                (new, rest) = rest.split_at(words(group));
                self.take_back(group, new);
            }
        }
        !is_stopped
    }

    /// Removes the hashes of a group that `insert_grouped` has inserted: those whose bit in `new` is set.
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

/// The number of scratch bytes for inserting `keys` keys in `groups` groups: for the grouped keys, and for a bit per
/// key, which is set if inserting the key added a fingerprint.
const fn grouping_bytes(keys: usize, groups: usize) -> usize {
    Partitioner::<u64>::scratch_bytes_for(keys, groups) + newness_bytes(keys, groups)
}

/// An upper bound of the bytes for a bit per key, if the bits of each group take whole words.
const fn newness_bytes(keys: usize, groups: usize) -> usize {
    keys / 8 + groups * size_of::<u64>()
}

/// If `memory` is too small for `keys` keys in `groups` groups, gives it back to the workers. Then takes a large enough
/// piece of memory from the workers, if they keep such a piece. The memory that the workers keep after that is within
/// the budget.
fn take_memory(memory: &mut Option<Storage>, keys: usize, groups: usize, bulk: Bulk<'_>) {
    let piece_bytes = Partitioner::<u64>::piece_bytes_for(keys, groups);
    if memory.as_ref().is_none_or(|memory| memory.len() < piece_bytes) {
        if let Some(memory) = memory.take() {
            bulk.workers.give_memory(memory);
        }
        let partitioner_bytes = Partitioner::<u64>::scratch_bytes_for(keys, groups)
            - Storage::memory_bytes_for(piece_bytes);
        let other_bytes = newness_bytes(keys, groups) + partitioner_bytes;
        let most_bytes = bulk.scratch_bytes.saturating_sub(other_bytes);
        let request = ScratchRequest { pieces: 1, piece_bytes, most_bytes };
        *memory = bulk.workers.take_memory(request).pop();
    }
}
