//! Many keys at once.
//!
//! **Into an empty filter.** The table is built ([`build`]), by several threads if there are. Nothing is ever
//! shifted, so a filter at 95 % load is built as fast, per key, as one at 50 %.
//!
//! **Into any other.** Hashes are partitioned in the same way, and inserted region by region.

use crate::build::{Inputs, MOST_REGIONS, build};
use crate::filter::Quotient;
use crate::layout::Layout;
use alloc::vec;
use alloc::vec::Vec;
use trommel_base::partition::Partitioner;
use trommel_base::{Bulk, Full, Insert, InsertBulk, KeyHash, ScratchRequest, Storage, Workers};

/// Up to this load, inserts hardly ever fail.
const SURE_LOAD: f64 = 0.97;
/// Fewer keys are inserted as they come, and not grouped.
const FEWEST_KEYS: usize = 256;
/// A batch into an empty filter is a bulk build if it has at least a key per this number of slots, and at least
/// `FEWEST_BUILT_KEYS`. A build costs time per slot, and some ten microseconds before the first. Single inserts took,
/// relative to a build, with AVX-512 on a Zen 4 from 2^14 to 2^22 slots: 0.11 to 0.16 at 1 %, 0.52 to 0.73 at a sixteenth, 0.9
/// to 1.2 at an eighth, 1.2 to 1.8 at a quarter, 1.6 to 4.1 at 95 %; into 2^9 slots 0.8 to 0.9 at 95 %. A build of
/// a sixteenth gains where inserts are slow: with 8 bits in blocks of 64 slots, portable kernels 1.1, and AVX-512
/// 1.2 in 2^24 slots.
const SLOTS_PER_BUILT_KEY: u64 = 8;
const FEWEST_BUILT_KEYS: usize = 1024;
/// Keys that are grouped at a time for inserts, nine bytes of scratch memory each: more for tables that
/// leave few of them to a region.
const GROUPED_KEYS: usize = 1 << 16;
const GROUPED_KEYS_OF_LARGE: usize = 1 << 20;
const LARGE_BYTES: usize = 64 << 20;
/// Bytes of the table that keys are grouped by: the nearest cache holds them.
const GROUPED_BYTES: usize = 32 << 10;
/// The fewest keys that a group is worth making for.
const FEWEST_KEYS_PER_GROUP: usize = 8;

impl<L: Layout> InsertBulk for Quotient<L> {
    /// Into an empty filter, a batch of 1024 keys or more, a key for every eight slots or more, is built on all
    /// workers. Any other is inserted on the thread of the caller.
    ///
    /// Memory: a build takes four bytes per key, or eight where the remainder and the quotient within a region
    /// have more than 32 bits together (remainders from 20 bits on, and narrower ones in large tables), and 5
    /// to 50 % more, the fewer keys a region has; 1100 bytes for each thread and each of up to 4096 regions;
    /// and half a megabyte to two a thread, more where 4096 regions are of more than 8192 slots. Grouped
    /// inserts take up to 14 MB, or 1.5 MB into tables of up to 64 MiB. With less, keys are inserted one by
    /// one.
    fn insert_bulk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        let mut done = 0;
        // One piece for all chunks, so that its pages fault only once.
        let mut memory = None;
        while done < hashes.len() {
            let rest = &hashes[done..];
            if self.grow_at.is_none() && self.try_build(rest, bulk) {
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
    /// Builds an empty filter of many keys; false, and nothing changed, if that is not the case, or the
    /// keys do not fit, or there is no memory to sort them in.
    fn try_build<W: Workers>(&mut self, hashes: &[KeyHash], bulk: Bulk<'_, W>) -> bool {
        let many = hashes.len() as u64 >= self.geometry.slots / SLOTS_PER_BUILT_KEY;
        if self.len > 0 || !many || hashes.len() < FEWEST_BUILT_KEYS {
            return false;
        }
        let Self { geometry, rounding, .. } = *self;
        let inputs = Inputs { geometry: &geometry, rounding, hashes, isa: self.isa() };
        let built = build::<L, W>(&inputs, &mut self.table, bulk);
        match built {
            Some(len) => self.len = len,
            None => self.table.fill(0),
        }
        built.is_some()
    }

    /// Inserts some keys region by region; if one does not fit, as many as go in in their own order.
    fn insert_chunk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        memory: &mut Option<Storage>,
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        let regions = self.table.len() / GROUPED_BYTES;
        let groups = regions.min(hashes.len() / FEWEST_KEYS_PER_GROUP).min(MOST_REGIONS as usize);
        let groups = if groups < 2 { 1 } else { 1 << groups.ilog2() };
        // A group that is likely to fail is not begun: removing it again is slow when the table is full.
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

    /// Inserts keys in `groups`, a power of two; false, and nothing changed, if one does not fit or there is no memory to
    /// group them in.
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

/// Bytes that it takes to insert `keys` keys in `groups` groups: the keys by group, and a bit per key that says
/// whether it is new.
const fn grouping_bytes(keys: usize, groups: usize) -> usize {
    Partitioner::<u64>::scratch_bytes_for(keys, groups) + newness_bytes(keys, groups)
}

/// Bytes of a bit per key, in a list for each group.
const fn newness_bytes(keys: usize, groups: usize) -> usize {
    keys / 8 + groups * (size_of::<Vec<u64>>() + size_of::<u64>())
}

/// Exchanges memory that is too small for `keys` in `groups` for memory that the workers keep, if they have any. The
/// memory that they still keep is within the budget.
fn take_memory<W: Workers>(
    memory: &mut Option<Storage>,
    keys: usize,
    groups: usize,
    bulk: Bulk<'_, W>,
) {
    let piece_bytes = Partitioner::<u64>::piece_bytes_for(keys, groups);
    if memory.as_ref().is_none_or(|memory| memory.len() < piece_bytes) {
        if let Some(memory) = memory.take() {
            bulk.workers.give_memory(memory);
        }
        let places = Partitioner::<u64>::scratch_bytes_for(keys, groups)
            - Storage::memory_bytes_for(piece_bytes);
        let beside = newness_bytes(keys, groups) + places;
        let most_bytes = bulk.scratch_bytes.saturating_sub(beside);
        let request = ScratchRequest { pieces: 1, piece_bytes, most_bytes };
        *memory = bulk.workers.take_memory(request).pop();
    }
}
