//! Bits and counters together: a position is grouped once, for both.

use super::positions::Pieces;
use super::{Table, in_chunks};
use crate::CountingBloomFilter;
use crate::counters::Counters;
use trommel_base::{Bulk, Full, Insert, InsertBulk, KeyHash, Workers};

/// Positions of a piece, in tables that are not so large that there would be too many: 128 KiB of counters
/// of four bits, and 32 KiB of bits.
const PIECE_POSITIONS: u64 = 1 << 18;

impl InsertBulk for CountingBloomFilter {
    /// A bit and a counter for every hash function.
    fn lines_per_insert(&self) -> Option<u32> {
        Some(2 * self.hash_count())
    }

    /// Never fails. Takes 4.5 bytes of scratch memory per counter of a key, if it can be had; at most the size of the
    /// table, or 256 MiB.
    fn insert_bulk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        let done = insert(self, hashes, bulk);
        self.bits.len = self.bits.len.saturating_add(done as u64);
        self.insert_batch(&hashes[done..])
    }
}

/// Inserts keys piece by piece. How many: the first ones, all unless memory is short.
fn insert<W: Workers>(
    filter: &mut CountingBloomFilter,
    hashes: &[KeyHash],
    bulk: Bulk<'_, W>,
) -> usize {
    let geometry = filter.geometry();
    let pieces = Pieces::of(geometry, PIECE_POSITIONS);
    if !pieces.fit_records() {
        return 0;
    }
    let each = geometry.hashes as usize;
    let table = Table { bytes: filter.bits.table.len(), pieces: pieces.count, each };
    in_chunks(
        bulk,
        hashes,
        &table,
        |hash| pieces.split(hash),
        |grouped| {
            let bits = filter.bits.table.chunks_mut(1 << (pieces.positions_log2 - 3));
            let mut counters = filter.counters.pieces(pieces.positions_log2);
            let tables = bits.zip(&mut counters).enumerate();
            bulk.workers.for_each(tables.collect(), |(piece, (bits, counters))| {
                for position in grouped.iter().flat_map(|share| share.part(piece)) {
                    counters.increment(u64::from(*position));
                    bits[*position as usize / 8] |= 1 << (position % 8);
                }
            });
            let take = |counters: &mut Counters<_>| core::mem::take(counters.overflow.map_mut());
            let overflows = counters.iter_mut().map(take).collect();
            filter.counters.join_overflows(overflows, pieces.positions_log2);
        },
    )
}
