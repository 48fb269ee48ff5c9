//! Kernels for the block form of the standard filter: the bare table, without a header. The table can have any number
//! of bytes but 0.
//!
//! A table of 18 keys has some twenty bytes. Rounding so short a table up to whole words would lengthen it noticeably.
//! Bit positions are computed as in the other kernels of the standard filter, for a table of `8 · bytes` bits.

use super::{BITS_A_BRANCH, GROUP, bit, positions_below, set_bit};
use trommel_base::KeyHash;
use trommel_base::batch::{Fetch, FetchT0, Window, run_stages};
use trommel_base::with_fetch;

#[inline(always)]
fn bits_of(table: &[u8]) -> u64 {
    table.len() as u64 * 8
}

/// Whether all bits of a key are set in a table. The caller must ensure that the table is not empty. The code branches
/// after every third bit, as lookups in tables of whole words do if the table has at most 1 MiB.
#[inline(always)]
pub(crate) fn contains(table: &[u8], count: u32, hash: KeyHash) -> bool {
    let mut all = 1;
    for (i, position) in (1..).zip(positions_below(bits_of(table), count, hash.raw())) {
        all &= bit(table, position) & 1;
        if i % BITS_A_BRANCH == 0 && all == 0 {
            return false;
        }
    }
    all == 1
}

/// Prefetches the cache lines of the first [`BITS_A_BRANCH`] bits of a key: most lookups of absent keys read no other
/// cache lines.
#[inline(always)]
pub(crate) fn prefetch(table: &[u8], count: u32, hash: KeyHash) {
    let positions = positions_below(bits_of(table), count, hash.raw());
    for position in positions.take(BITS_A_BRANCH as usize) {
        FetchT0::line(table.as_ptr().wrapping_add((position / 8) as usize));
    }
}

/// Sets the bits of many keys in a table. The caller must ensure that the table is not empty.
pub(crate) fn insert_batch(table: &mut [u8], count: u32, hashes: &[KeyHash]) {
    // Each key needs up to `count` cache lines, so even a short prefetch distance, counted in keys, keeps many cache
    // lines in flight.
    let window = Window { distance_keys: 32, ..Window::for_gathers(table.len()) };
    with_fetch!(window, F => insert_pipelined::<F>(table, count, hashes, window));
}

#[inline(always)]
fn insert_pipelined<F: Fetch>(table: &mut [u8], count: u32, hashes: &[KeyHash], window: Window) {
    let (start, bits) = (table.as_ptr(), bits_of(table));
    let hashes = KeyHash::slice_as_raw(hashes);
    let mut insert = |hash: u64| {
        for position in positions_below(bits, count, hash) {
            set_bit(table, position);
        }
    };
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut (),
        |(), _| {},
        |(), group| {
            for position in
                groups[group].iter().flat_map(|hash| positions_below(bits, count, *hash))
            {
                F::line(start.wrapping_add((position / 8) as usize));
            }
        },
        |(), group| groups[group].iter().for_each(|hash| insert(*hash)),
    );
    rest.iter().for_each(|hash| insert(*hash));
}
