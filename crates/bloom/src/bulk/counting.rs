//! Inserts of large batches into the counting filter: the positions of the keys are grouped once, by piece of the
//! table, and each position is then used twice, for its bit and for its counter.

use super::positions::Pieces;
use crate::CountingBloomFilter;
use crate::counters::Counters;
use trommel_base::storage::room_for;
use trommel_base::{Bulk, Full, Insert, InsertBulk, KeyHash};

/// The number of positions of a piece of the table: 128 KiB of four-bit counters, and 32 KiB of bits. A table that
/// would have more than [`MOST_PIECES`](super::MOST_PIECES) such pieces has larger pieces.
const PIECE_POSITIONS: u64 = 1 << 18;

impl InsertBulk for CountingBloomFilter {
    /// Two cache lines for each position of the key: the line of the bit, and the line of the counter.
    fn lines_per_insert(&self) -> Option<u32> {
        Some(2 * self.hash_count())
    }

    /// Never fails. Groups the positions of the keys by *piece*, a range of the table, and fills the table piece by
    /// piece. Takes about 4.5 bytes of scratch memory for each counter of each key, or up to twice as much if the table
    /// has few pieces. The upper limit of this memory is the size of the bit table, but at least 256 MiB, and at most
    /// 1 GiB or, if the bit table has more than 4 GiB, a quarter of its size. The memory never exceeds
    /// `bulk.scratch_bytes`. Compact counters also take a temporary copy of their overflow table, which does not count
    /// towards these limits. Without enough memory, or with too few keys per piece of the table, keys are inserted
    /// without grouping.
    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        let done = insert(self, hashes, bulk);
        self.bits.len = self.bits.len.saturating_add(done as u64);
        self.insert_batch(&hashes[done..])
    }
}

/// Inserts the first keys of a batch piece by piece, and returns the number of inserted keys. Inserts all keys unless
/// memory is short, the batch has too few keys per piece for grouping to pay, or the bit table is larger than 2 TiB.
fn insert(filter: &mut CountingBloomFilter, hashes: &[KeyHash], bulk: Bulk<'_>) -> usize {
    let geometry = filter.geometry();
    let pieces = Pieces::of(geometry, PIECE_POSITIONS);
    let bytes = filter.bits.table.len();
    pieces.in_chunks(bulk, hashes, bytes, |grouped| {
        // `overflows` and the list of pieces are allocated before the counters change. `for_each` allocates a list
        // of tasks. If the memory for this list is refused, no counter has changed, and the overflow tables are
        // joined unchanged.
        let mut overflows = room_for(pieces.count)?;
        let bits = filter.bits.table.chunks_mut(1 << (pieces.positions_log2 - 3));
        let mut counters = filter.counters.pieces(pieces.positions_log2)?;
        let tables = bits.zip(&mut counters).enumerate();
        let counted = bulk.workers.for_each(pieces.count, tables, |(piece, (bits, counters))| {
            for position in grouped.iter().flat_map(|share| share.part(piece)) {
                counters.increment(u64::from(*position));
                bits[*position as usize / 8] |= 1 << (position % 8);
            }
        });
        let take = |counters: &mut Counters<_>| core::mem::take(counters.overflow.map_mut());
        overflows.extend(counters.iter_mut().map(take));
        filter.counters.join_overflows(overflows, pieces.positions_log2);
        counted
    })
}
