//! Inserts of large batches in the standard layout. The bits of a key can be in different pieces of the table, so
//! single bit positions are grouped by piece, instead of whole keys.

use super::{MOST_PIECES, Table, Target, in_chunks};
use crate::geometry::Geometry;
use crate::kernel::standard::positions;
use trommel_base::partition::Partitioned;
use trommel_base::storage::OutOfMemory;
use trommel_base::{Bulk, KeyHash};

/// The number of positions of a piece of the table. A table that would have more than [`MOST_PIECES`] such pieces has
/// larger pieces.
const PIECE_POSITIONS: u64 = 1 << 20;
/// The number of positions of a word; a table is a whole number of words.
const WORD_POSITIONS: u64 = 64;

/// How a table is divided into pieces. The number of positions of a piece is a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    geometry: Geometry,
    pub(crate) positions_log2: u32,
    pub(crate) count: usize,
}

impl Pieces {
    /// Divides a table into pieces of at least `positions` positions.
    pub(crate) fn of(geometry: Geometry, positions: u64) -> Self {
        let total = geometry.units * WORD_POSITIONS;
        let positions = positions.max(total.div_ceil(MOST_PIECES as u64)).next_power_of_two();
        let count = total.div_ceil(positions) as usize;
        Self { geometry, positions_log2: positions.ilog2(), count }
    }

    /// Whether every position within a piece fits into a record of 32 bits, as it does in tables of up to 2 TiB.
    fn fit_records(self) -> bool {
        self.positions_log2 <= u32::BITS
    }

    /// For each position of a hash, its piece and the position within the piece.
    #[inline(always)]
    pub(crate) fn split(self, hash: u64) -> impl Iterator<Item = (usize, u32)> {
        let mask = (1 << self.positions_log2) - 1;
        positions(self.geometry, hash).map(move |position| {
            ((position >> self.positions_log2) as usize, (position & mask) as u32)
        })
    }

    /// [`in_chunks`] for the positions of keys, in a table of `bytes` bytes. Returns 0 if positions do not fit into
    /// records.
    pub(super) fn in_chunks(
        self,
        bulk: Bulk<'_>,
        hashes: &[KeyHash],
        bytes: usize,
        fill: impl FnMut(&[Partitioned<'_, u32>]) -> Result<(), OutOfMemory>,
    ) -> usize {
        if !self.fit_records() {
            return 0;
        }
        let table = Table { bytes, pieces: self.count, each: self.geometry.hashes as usize };
        in_chunks(bulk, hashes, &table, |hash| self.split(hash), fill)
    }
}

/// [`Target::insert`] for the standard layout.
pub(super) fn insert(target: Target<'_>, hashes: &[KeyHash], bulk: Bulk<'_>) -> usize {
    let Target { geometry, table: bytes, .. } = target;
    let pieces = Pieces::of(geometry, PIECE_POSITIONS);
    pieces.in_chunks(bulk, hashes, bytes.len(), |grouped| {
        let tables = bytes.chunks_mut(1 << (pieces.positions_log2 - 3)).enumerate();
        bulk.workers.for_each(tables.len(), tables, |(piece, table)| {
            for position in grouped.iter().flat_map(|share| share.part(piece)) {
                table[*position as usize / 8] |= 1 << (position % 8);
            }
        })
    })
}
