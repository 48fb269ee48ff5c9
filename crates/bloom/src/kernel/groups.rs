//! The batch loop that the kernels of the blocked layouts for AVX2 and AVX-512 share.

use super::portable::{Body, GROUP};
use crate::geometry::Geometry;
use trommel_base::batch::{Fetch, Ring, Window, run_stages};

/// Takes the complete groups of a batch through the pipeline. `locate` writes where the blocks of a group's keys begin,
/// in words of 64 bits; `probe` reads or writes these blocks. Both closures get the state and the number of the group.
///
/// The caller handles the last keys of the batch, which do not fill a group. `F` is the window's prefetch hint as a
/// type, so that the loop need not branch on the hint. Rejected: one comparison of the hint per group (with AVX2 on a
/// Zen 3 core, lookups in filters of up to 1e6 keys take 1.02 to 1.06 times as long).
///
/// # Panics
/// If the table does not have the length that the geometry says. The unchecked accesses of the kernels rely on this
/// check.
#[inline(always)]
pub(super) fn run_groups<B: Body, F: Fetch, S>(
    geometry: Geometry,
    table: *const [u8],
    hashes: &[u64],
    window: Window,
    state: &mut S,
    mut locate: impl FnMut(&mut S, usize, &[u64; GROUP], &mut [u32; GROUP]),
    mut probe: impl FnMut(&mut S, usize, &[u64; GROUP], &[u32; GROUP]),
) {
    assert_eq!(table.len() as u64, geometry.units * B::BLOCK_BYTES as u64);
    let (groups, _) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut (Ring::default(), state),
        |(ring, state), group| locate(state, group, &groups[group], ring.group_mut(group)),
        |(ring, _), group| ring.fetch::<GROUP, F>(group, table.cast()),
        |(ring, state), group| probe(state, group, &groups[group], ring.group(group)),
    );
}
