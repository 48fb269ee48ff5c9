//! Slices of a batch: each thread inserts one slice into a table of its own, and then the tables are united.
//!
//! Bits are only ever set, so the union of the tables is the table that one thread would make. Slices pay if a batch
//! has many keys for every cache line of the table, and the table is so small that grouping keys by *pieces* (ranges of
//! the table, see `blocked.rs`) would take longer than inserting slices. Times in ns per key at a false-positive rate
//! of 1 %, on two cores of Zen 4. The three figures of a cell are for one thread that inserts directly, two threads
//! that insert slices, and two threads that group keys by piece:
//!
//! | keys | standard | register | split blocks | cache lines |
//! | --- | --- | --- | --- | --- |
//! | 1e6 | 10.3, 6.5, 12.6 | 2.0, 1.3, 2.9 | 1.7, 0.9, 2.5 | 2.0, 1.2, 3.2 |
//! | 3e6 | 12.8, 6.8, 13.2 | 1.6, 1.3, 2.9 | 1.6, 1.2, 2.7 | 1.9, 1.2, 3.4 |
//! | 1e7 | 12.5, 7.8, 13.3 | 2.2, 1.9, 2.8 | 1.9, 1.6, 2.9 | 2.1, 1.6, 2.8 |
//! | 3e7 | 24.7, 13.0, 12.3 | 3.7, 4.2, 3.4 | 3.5, 2.3, 2.7 | 4.9, 3.1, 2.7 |

use crate::filter::Bloom;
use crate::layout::Layout;
use crate::set_algebra::set_bits_of;
use core::iter::{once, repeat};
use trommel_base::storage::OutOfMemory;
use trommel_base::{Bulk, KeyHash, ScratchRequest, Storage, Workers};

/// The number of bytes of the table that a thread unites at a time; a thread that finishes early takes another part.
const UNITED_BYTES: usize = 64 << 10;

/// The number of slices: one per thread. The first slice is inserted into the filter's own table, and every other slice
/// needs a table of `bytes` bytes. If the scratch memory cannot hold these other tables, there is only one slice.
pub(super) fn count(bytes: usize, bulk: Bulk<'_>) -> usize {
    let threads = bulk.workers.threads().max(1);
    let table_bytes = Storage::memory_bytes_for(bytes);
    let is_enough = table_bytes.saturating_mul(threads - 1) <= bulk.scratch_bytes;
    if is_enough { threads } else { 1 }
}

/// Inserts all keys and returns true. If there is only one slice or memory is refused, inserts nothing and returns
/// false.
pub(super) fn insert<L: Layout>(filter: &mut Bloom<L>, hashes: &[KeyHash], bulk: Bulk<'_>) -> bool {
    let (workers, bytes) = (bulk.workers, filter.table.len());
    let slices = count(bytes, bulk);
    if slices == 1 {
        return false;
    }
    let pieces = slices - 1;
    let most_bytes = bulk.scratch_bytes;
    let mut tables = workers.take_memory(ScratchRequest { pieces, piece_bytes: bytes, most_bytes });
    let missing = pieces.saturating_sub(tables.len());
    if tables.try_reserve_exact(missing).is_ok() {
        tables.extend((0..missing).map_while(|_| Storage::zeroed(bytes, true).ok()));
    }
    let is_inserted =
        tables.len() == pieces && insert_apart(filter, hashes, &mut tables, workers).is_ok();
    if is_inserted {
        unite(&mut filter.table, &tables, workers);
    }
    tables.into_iter().for_each(|table| workers.give_memory(table));
    is_inserted
}

/// Inserts one slice into the filter's table. Clears each of the other tables, and inserts one slice into it. If this
/// function returns an error, it has inserted nothing.
fn insert_apart<L: Layout>(
    filter: &mut Bloom<L>,
    hashes: &[KeyHash],
    others: &mut [Storage],
    workers: &dyn Workers,
) -> Result<(), OutOfMemory> {
    let (geometry, kernels, bytes) = (filter.geometry, filter.kernels, filter.table.len());
    let count = others.len() + 1;
    let slice_keys = hashes.len().div_ceil(count).max(1);
    let slices = hashes.chunks(slice_keys).chain(repeat(&[][..]));
    let others = others.iter_mut().map(|other| (&mut other[..bytes], true));
    let tables = once((&mut filter.table[..], false)).chain(others);
    workers.for_each(count, tables.zip(slices), |((table, is_scratch), hashes)| {
        if is_scratch {
            table.fill(0);
        }
        kernels.insert_batch(geometry, table, hashes);
    })
}

/// Sets in `table` the bits of all `others`, which must be at least as long as `table`.
fn unite(table: &mut [u8], others: &[Storage], workers: &dyn Workers) {
    let parts = table.chunks_mut(UNITED_BYTES).enumerate();
    let united = workers.for_each(parts.len(), parts, |(i, part)| {
        for other in others {
            set_bits_of(part, &other[i * UNITED_BYTES..]);
        }
    });
    if united.is_err() {
        // The memory for the list of parts was refused, so this thread unites the tables alone.
        others.iter().for_each(|other| set_bits_of(table, other));
    }
}
