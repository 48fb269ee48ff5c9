//! Inserts of large batches, one piece of the table after another.
//!
//! A large batch has many keys for each cache line of the table. If these keys were inserted in their order into a
//! table much larger than the caches, each would cost at least one cache miss. So keys are first grouped by the
//! *piece* of the table that they belong to ([`trommel_base::partition`]). Then each piece is filled by a single
//! thread, without atomics, while the piece is in L2. Bits are only ever set, so the order of the keys does not change
//! the table.
//!
//! For smaller tables, several threads insert slices of the batch ([`slices`]).
//!
//! If a layout confines the bits of a key to one unit, whole keys are grouped ([`blocked`]). In the standard layout and
//! in the counting filter, single bit positions are grouped ([`positions`], [`counting`]).

mod blocked;
mod counting;
mod positions;
mod slices;

use crate::filter::Bloom;
use crate::geometry::Geometry;
use crate::layout::{CacheLine, Layout, Register, SplitBlock};
use trommel_base::partition::{Partitioned, Record, SharePlan, chunk_bytes, partition_shares};
use trommel_base::storage::OutOfMemory;
use trommel_base::{Bulk, FilterKind, Full, Insert, InsertBulk, KeyHash};
use trommel_simd::Isa;

/// The largest number of pieces of a table. With more pieces, the buffers (*runs*) in which the partition collects
/// records before it writes them out would not fit into L2.
const MOST_PIECES: usize = 4096;

/// Upper bound on the bytes that each piece takes in the threads' lists of tasks.
const ITEM_BYTES: usize = 192;

/// The properties of a table that [`in_chunks`] needs.
struct Table {
    bytes: usize,
    pieces: usize,
    /// The number of records per key: 1 if whole keys are grouped, and the number of the key's positions if positions
    /// are grouped.
    each: usize,
}

/// The filter that keys are inserted into: its table and its properties. Unlike the filter's type, this type is the
/// same for all layouts.
struct Target<'t> {
    kind: FilterKind,
    geometry: Geometry,
    isa: Isa,
    table: &'t mut [u8],
}

impl Target<'_> {
    /// Inserts the first keys of a batch piece by piece, and returns the number of inserted keys. Inserts all keys
    /// unless memory is short, the batch has too few keys per piece for grouping to pay, or the layout is standard and
    /// the table is larger than 2 TiB.
    ///
    /// Not generic, so that the code is compiled with this crate, and not again with each crate that uses a filter.
    #[inline(never)]
    fn insert(self, hashes: &[KeyHash], bulk: Bulk<'_>) -> usize {
        match self.kind {
            FilterKind::SplitBlockBloom => blocked::insert::<SplitBlock>(self, hashes, bulk),
            FilterKind::CacheLineBloom => blocked::insert::<CacheLine>(self, hashes, bulk),
            FilterKind::RegisterBloom => blocked::insert::<Register>(self, hashes, bulk),
            FilterKind::Bloom => positions::insert(self, hashes, bulk),
            // The caller inserts the keys that are left.
            _ => 0,
        }
    }
}

/// Groups the records of the keys by piece, one chunk of keys after another, and calls `fill` with each grouped chunk.
/// Returns the number `n` of keys in the chunks that `fill` accepted: the first `n` keys of the batch. All keys are
/// accepted unless memory is short or the batch has too few keys per piece for grouping to pay. The caller must ensure
/// that a call of `fill` that returns an error changes nothing.
fn in_chunks<R, I>(
    bulk: Bulk<'_>,
    hashes: &[KeyHash],
    table: &Table,
    split: impl Fn(u64) -> I + Copy + Send + Sync,
    mut fill: impl FnMut(&[Partitioned<'_, R>]) -> Result<(), OutOfMemory>,
) -> usize
where
    R: Record,
    I: IntoIterator<Item = (usize, R)>,
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
        if fill(&grouped).is_err() {
            break;
        }
        done += chunk.len();
    }
    shares.give_back(workers);
    done
}

impl<L: Layout> InsertBulk for Bloom<L> {
    fn lines_per_insert(&self) -> Option<u32> {
        Some(if L::unit(self.geometry, 0).is_some() { 1 } else { self.geometry.hashes })
    }

    fn slices(&self, bulk: Bulk<'_>) -> usize {
        slices::count(self.table.len(), bulk)
    }

    /// Never fails. Takes scratch memory of the size of the table for every slice but one.
    fn insert_slices(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        if !slices::insert(self, hashes, bulk) {
            return self.insert_batch(hashes);
        }
        self.len = self.len.saturating_add(hashes.len() as u64);
        Ok(())
    }

    /// Never fails. Groups the keys (in a standard filter, their bit positions) by *piece*, a range of the table, and
    /// fills the table piece by piece. Takes about 9 bytes of scratch memory per key (in a standard filter, 4.5 for
    /// each bit that the key sets), or up to twice as much if the table has few pieces. The upper limit of this memory
    /// is the size of the table, but at least 256 MiB, and at most 1 GiB or, if the table has more than 4 GiB, a
    /// quarter of its size. The memory never exceeds `bulk.scratch_bytes`. Without enough memory, or with too few
    /// keys per piece of the table, keys are inserted without grouping.
    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        let (geometry, isa) = (self.geometry, self.isa());
        let target = Target { kind: L::KIND, geometry, isa, table: &mut self.table };
        let done = target.insert(hashes, bulk);
        self.len = self.len.saturating_add(done as u64);
        self.insert_batch(&hashes[done..])
    }
}
