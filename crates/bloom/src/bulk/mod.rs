//! Large batches, piece of the table by piece.
//!
//! A table that is much larger than the caches gets many keys a line from a large batch, and pays a miss for
//! each. So keys are first grouped by the *piece* of the table that they belong to
//! ([`trommel_base::partition`]); then each piece is filled while it is in the second-level cache, by one
//! thread, without atomics. Bits are only ever set, so the table is the same in whatever order.
//!
//! A table that is not so large is filled by several threads in slices of the batch ([`slices`]).
//!
//! What is grouped is keys where a key's bits are confined to a unit ([`blocked`]), and single positions where
//! they are not ([`positions`]).

mod blocked;
mod counting;
mod positions;
mod slices;

use crate::filter::Bloom;
use crate::layout::Layout;
use trommel_base::partition::{Partitioned, Record, SharePlan, chunk_bytes, partition_shares};
use trommel_base::{Bulk, Full, Insert, InsertBulk, KeyHash, Workers};

/// The most pieces of a table. Beyond, the runs of the partition do not fit the second-level cache.
const MOST_PIECES: usize = 4096;

/// Upper bound on the bytes that each piece takes in the lists of what threads work on.
const ITEM_BYTES: usize = 192;

/// A table as far as a pass over keys knows it.
struct Table {
    bytes: usize,
    pieces: usize,
    /// Records of a key.
    each: usize,
}

/// Groups the records of keys by piece, chunk of keys after chunk, and has `fill` put each chunk in. How many
/// keys that was: the first ones, all unless memory is short or they are too few.
fn in_chunks<R, I, W>(
    bulk: Bulk<'_, W>,
    hashes: &[KeyHash],
    table: &Table,
    split: impl Fn(u64) -> I + Copy + Send + Sync,
    mut fill: impl FnMut(&[Partitioned<'_, R>]),
) -> usize
where
    R: Record,
    I: IntoIterator<Item = (usize, R)>,
    W: Workers,
{
    let &Table { bytes, pieces, each } = table;
    let Bulk { workers, scratch_bytes } = bulk;
    let plan = SharePlan::new(workers, hashes.len(), each, pieces);
    let item_bytes = ITEM_BYTES * pieces;
    let chunk_bytes = scratch_bytes.min(chunk_bytes(bytes));
    let Some(keys) = plan.keys_at_a_time::<R>(hashes.len(), chunk_bytes, |_| item_bytes) else {
        return 0;
    };
    let Ok(mut shares) = plan.take(workers, keys, scratch_bytes - item_bytes) else {
        return 0;
    };
    let mut done = 0;
    for chunk in hashes.chunks(keys) {
        let Ok(grouped) = partition_shares(workers, &mut shares, chunk, split) else {
            break;
        };
        fill(&grouped);
        done += chunk.len();
    }
    shares.give_back(workers);
    done
}

impl<L: Layout> InsertBulk for Bloom<L> {
    fn lines_per_insert(&self) -> Option<u32> {
        Some(if L::unit(self.geometry, 0).is_some() { 1 } else { self.geometry.hashes })
    }

    fn slices<W: Workers>(&self, bulk: Bulk<'_, W>) -> usize {
        slices::count(self.table.len(), bulk)
    }

    /// Never fails. Takes as much scratch memory as the table for every slice but one.
    fn insert_slices<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        if !slices::insert(self, hashes, bulk) {
            return self.insert_batch(hashes);
        }
        self.len = self.len.saturating_add(hashes.len() as u64);
        Ok(())
    }

    /// Never fails. Takes 8.5 bytes of scratch memory per key, or 4.5 per bit that a key sets in a standard filter, if
    /// it can be had; at most the size of the table, or 256 MiB.
    fn insert_bulk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        let done = if L::unit(self.geometry, 0).is_some() {
            blocked::insert::<L, W>(self, hashes, bulk)
        } else {
            positions::insert::<L, W>(self, hashes, bulk)
        };
        self.len = self.len.saturating_add(done as u64);
        self.insert_batch(&hashes[done..])
    }
}
