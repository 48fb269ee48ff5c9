//! Slices of a batch, each inserted by a thread of its own into a table of its own.
//!
//! Bits are only ever set, so the tables united are that of one thread. It pays where a batch brings many keys for
//! every line of a table that is too small for its keys to be worth grouping. ns per key at 1 %, directly by one
//! thread, in slices and in pieces by two, on two cores of Zen 4:
//!
//! | keys | standard | register | split blocks | lines |
//! | --- | --- | --- | --- | --- |
//! | 1e6 | 10.3, 6.5, 12.6 | 2.0, 1.3, 2.9 | 1.7, 0.9, 2.5 | 2.0, 1.2, 3.2 |
//! | 3e6 | 12.8, 6.8, 13.2 | 1.6, 1.3, 2.9 | 1.6, 1.2, 2.7 | 1.9, 1.2, 3.4 |
//! | 1e7 | 12.5, 7.8, 13.3 | 2.2, 1.9, 2.8 | 1.9, 1.6, 2.9 | 2.1, 1.6, 2.8 |
//! | 3e7 | 24.7, 13.0, 12.3 | 3.7, 4.2, 3.4 | 3.5, 2.3, 2.7 | 4.9, 3.1, 2.7 |

use crate::filter::Bloom;
use crate::layout::Layout;
use crate::set_algebra::set_bits_of;
use core::iter::{once, repeat};
use trommel_base::{Bulk, KeyHash, ScratchRequest, Storage, Workers};

/// Bytes of the table that a thread unites at a time: a thread that is done early takes another part.
const UNITED_BYTES: usize = 64 << 10;

/// The number of slices: one per thread, or one alone if there is not enough memory for that number of tables of `bytes`.
pub(super) fn count<W: Workers>(bytes: usize, bulk: Bulk<'_, W>) -> usize {
    let threads = bulk.workers.threads().max(1);
    let table_bytes = Storage::memory_bytes_for(bytes);
    let is_enough = table_bytes.saturating_mul(threads - 1) <= bulk.scratch_bytes;
    if is_enough { threads } else { 1 }
}

/// Inserts all keys; or returns false, and nothing is done, if there is only one slice or memory is refused.
pub(super) fn insert<L: Layout, W: Workers>(
    filter: &mut Bloom<L>,
    hashes: &[KeyHash],
    bulk: Bulk<'_, W>,
) -> bool {
    let (workers, bytes) = (bulk.workers, filter.table.len());
    let slices = count(bytes, bulk);
    if slices == 1 {
        return false;
    }
    let pieces = slices - 1;
    let most_bytes = bulk.scratch_bytes;
    let mut tables = workers.take_memory(ScratchRequest { pieces, piece_bytes: bytes, most_bytes });
    let missing = pieces.saturating_sub(tables.len());
    tables.extend((0..missing).map_while(|_| Storage::zeroed(bytes, true).ok()));
    let has_all = tables.len() == pieces;
    if has_all {
        insert_apart(filter, hashes, &mut tables, workers);
        unite(&mut filter.table, &tables, workers);
    }
    tables.into_iter().for_each(|table| workers.give_memory(table));
    has_all
}

/// Inserts a slice into the filter's table, and one into each of the others, which are cleared before.
fn insert_apart<L: Layout, W: Workers>(
    filter: &mut Bloom<L>,
    hashes: &[KeyHash],
    others: &mut [Storage],
    workers: &W,
) {
    let (geometry, kernels, bytes) = (filter.geometry, filter.kernels, filter.table.len());
    let keys = hashes.len().div_ceil(others.len() + 1).max(1);
    let slices = hashes.chunks(keys).chain(repeat(&[][..]));
    let others = others.iter_mut().map(|other| (&mut other[..bytes], true));
    let tables = once((&mut filter.table[..], false)).chain(others);
    workers.for_each(tables.zip(slices).collect(), |((table, has_to_be_cleared), hashes)| {
        if has_to_be_cleared {
            table.fill(0);
        }
        kernels.insert_batch(geometry, table, hashes);
    });
}

/// Sets the bits of all tables in one, which is not longer than the others.
fn unite<W: Workers>(table: &mut [u8], others: &[Storage], workers: &W) {
    let parts = table.chunks_mut(UNITED_BYTES).enumerate();
    workers.for_each(parts.collect(), |(i, part)| {
        for other in others {
            set_bits_of(part, &other[i * UNITED_BYTES..]);
        }
    });
}
