//! Keys whose bits are confined to a unit: a piece of the table is a filter of its own.
//!
//! Nothing but the unit of a key depends on the size of the table. So a key of a piece is written as a hash
//! that a filter of the piece's size would put into the same unit, with the same bits; and the kernels of
//! whole filters work on pieces, which fit into the cache.

use super::{MOST_PIECES, Table, in_chunks};
use crate::filter::Bloom;
use crate::geometry::Geometry;
use crate::layout::Layout;
use trommel_base::batch::Hint;
use trommel_base::storage::LINE_BYTES;
use trommel_base::{Bulk, KeyHash, Workers};
use trommel_simd::prefetch;

/// Bytes of a piece, in tables that are not so large that there would be too many.
const PIECE_BYTES: usize = 128 << 10;

/// The low half of a key's hash, from which all layouts compute the key's bits. Its unit follows from the high bits.
const PATTERN_MASK: u64 = 0xFFFF_FFFF;

/// A table in pieces.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    geometry: Geometry,
    /// Units of a piece, as a power of two.
    units_log2: u32,
    count: usize,
    /// The high bits of a hash, for every unit of a piece; and of the last one, which may be shorter.
    step: u64,
    last_step: u64,
}

impl Pieces {
    fn of<L: Layout>(geometry: Geometry) -> Self {
        let units = (PIECE_BYTES / L::UNIT_BYTES) as u64;
        let units = units.max(geometry.units.div_ceil(MOST_PIECES as u64)).next_power_of_two();
        let units_log2 = units.ilog2();
        let count = geometry.units.div_ceil(units) as usize;
        let of_last = geometry.units - (count as u64 - 1) * units;
        Self { geometry, units_log2, count, step: step(units), last_step: step(of_last) }
    }

    /// The piece of a hash, and the hash that stands for it there.
    ///
    /// With `n` units in the piece, that is unit `u` times `⌈2^64 / n⌉`, rounded up to the pattern's bits: a
    /// number between `u · 2^64 / n` and `2^33 + u` more, which reduces to `u` as long as `n < 2^30`.
    #[inline(always)]
    fn split<L: Layout>(&self, hash: u64) -> (usize, u64) {
        let unit = L::unit(self.geometry, hash).unwrap_or(0);
        let piece = (unit >> self.units_log2) as usize;
        let local = unit & ((1 << self.units_log2) - 1);
        let step = if piece == self.count - 1 { self.last_step } else { self.step };
        let high = local.wrapping_mul(step).wrapping_add(PATTERN_MASK);
        (piece, high & !PATTERN_MASK | hash & PATTERN_MASK)
    }

    /// The geometry of a piece of `bytes`.
    fn geometry<L: Layout>(&self, bytes: usize) -> Geometry {
        Geometry { units: (bytes / L::UNIT_BYTES) as u64, ..self.geometry }
    }
}

/// `⌈2^64 / units⌉`; of one unit, which every hash reduces to, 0.
const fn step(units: u64) -> u64 {
    (u64::MAX / units).wrapping_add(1)
}

/// Runs of pieces per thread; a thread that is done early takes another run. Pieces go to threads in runs, so that a
/// thread fetches ahead the lines of a piece of its own. Rejected: single pieces, where two threads took each other's
/// lines away, and together were no faster than one.
const RUNS_PER_THREAD: usize = 16;

/// Keys that are inserted between two prefetches of the next piece.
const AHEAD_KEYS: usize = 512;

/// The lines of the next piece, fetched into the second-level cache while this one is filled, a few at a time: 7.2 ns
/// a key instead of 7.5 at 128 MB, with 15 keys a line, on a Cascade Lake core.
struct Ahead {
    next: *const u8,
    lines: usize,
    keys: usize,
    /// Lines due, times the keys of the piece.
    due: usize,
}

impl Ahead {
    /// Nothing is fetched for so few keys that they leave most lines alone.
    fn of(next: &[u8], keys: usize) -> Self {
        let lines = next.len() / LINE_BYTES;
        let lines = if keys >= lines / 2 { lines } else { 0 };
        Self { next: next.as_ptr(), lines, keys: keys.max(1), due: 0 }
    }

    /// Fetches the lines that are due after `keys` more inserts.
    #[inline]
    fn fetch(&mut self, keys: usize) {
        self.due += keys * self.lines;
        while self.due >= self.keys {
            prefetch(self.next, Hint::T1);
            self.next = self.next.wrapping_add(LINE_BYTES);
            self.due -= self.keys;
        }
    }
}

/// Inserts keys piece by piece. How many: the first ones, all unless memory is short.
pub(crate) fn insert<L: Layout, W: Workers>(
    filter: &mut Bloom<L>,
    hashes: &[KeyHash],
    bulk: Bulk<'_, W>,
) -> usize {
    let pieces = Pieces::of::<L>(filter.geometry);
    let kernels = filter.kernels;
    let split = |hash| [pieces.split::<L>(hash)];
    let piece_bytes = L::UNIT_BYTES << pieces.units_log2;
    let of_run = pieces.count.div_ceil(bulk.workers.threads().max(1) * RUNS_PER_THREAD);
    let table = Table { bytes: filter.table.len(), pieces: pieces.count, each: 1 };
    in_chunks(bulk, hashes, &table, split, |grouped| {
        let runs = filter.table.chunks_mut(of_run * piece_bytes).enumerate();
        bulk.workers.for_each(runs.collect(), |(run, mut rest)| {
            let mut piece = run * of_run;
            while !rest.is_empty() {
                let (table, after) = rest.split_at_mut(piece_bytes.min(rest.len()));
                let geometry = pieces.geometry::<L>(table.len());
                let shares = || grouped.iter().map(|share| share.part(piece));
                let next = &after[..piece_bytes.min(after.len())];
                let mut ahead = Ahead::of(next, shares().map(<[u64]>::len).sum());
                for hashes in shares().flat_map(|keys| keys.chunks(AHEAD_KEYS)) {
                    kernels.insert_batch(geometry, table, KeyHash::slice_from_raw(hashes));
                    ahead.fetch(hashes.len());
                }
                (piece, rest) = (piece + 1, after);
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheLine, Register, SplitBlock};
    use std::vec::Vec;

    fn hashes() -> Vec<u64> {
        let mixed =
            (0..3000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(i as u32));
        [0, 1, PATTERN_MASK, PATTERN_MASK + 1, u64::MAX - PATTERN_MASK, u64::MAX]
            .into_iter()
            .chain(mixed)
            .collect()
    }

    /// In its piece, a hash has the unit that it has in the table, and the bits that patterns are made of.
    fn check<L: Layout>(units: u64) {
        let geometry = Geometry { units, hashes: 8 };
        let pieces = Pieces::of::<L>(geometry);
        assert!(pieces.count <= MOST_PIECES);
        let of_piece = 1u64 << pieces.units_log2;
        let mut hashes = hashes();
        // The first and the last hash of units at the ends of pieces, and in the last piece.
        for unit in [0, 1, of_piece - 1, of_piece, (pieces.count as u64 - 1) * of_piece, units - 1]
        {
            let first = ((u128::from(unit.min(units - 1)) << 64) / u128::from(units)) as u64;
            hashes.extend([first.wrapping_sub(1), first, first.wrapping_add(1 << 33)]);
        }
        for hash in hashes {
            let (piece, local) = pieces.split::<L>(hash);
            let unit = L::unit(geometry, hash).unwrap();
            let bytes = of_piece.min(units - piece as u64 * of_piece) as usize * L::UNIT_BYTES;
            let found = L::unit(pieces.geometry::<L>(bytes), local).unwrap();
            assert_eq!(piece as u64 * of_piece + found, unit, "{hash:#x} of {units}");
            assert_eq!(local & PATTERN_MASK, hash & PATTERN_MASK);
        }
    }

    #[test]
    fn a_key_keeps_its_unit_and_its_pattern() {
        let sizes = [1, 2, 3, 1000, 2047, 2048, 2049, 4096, 4097, 16_384, 16_385, 99_999, 1 << 20];
        for units in sizes {
            check::<SplitBlock>(units);
            check::<CacheLine>(units);
            check::<Register>(units);
        }
        check::<SplitBlock>(SplitBlock::MAX_UNITS);
        check::<SplitBlock>(SplitBlock::MAX_UNITS - 1);
        check::<CacheLine>(CacheLine::MAX_UNITS);
        check::<CacheLine>(CacheLine::MAX_UNITS - 77);
        check::<Register>(Register::MAX_UNITS);
        check::<Register>(Register::MAX_UNITS / 3);
    }
}
