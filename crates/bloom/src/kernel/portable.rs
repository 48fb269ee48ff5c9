//! The portable batch loops of the blocked layouts, generic over a [`Body`] (a layout's arithmetic for one key). They
//! process whole batches on an instruction set for which a layout has no vector kernels. The vector kernels call
//! functions of this module for the last keys of a batch, which do not fill a group or an answer word.

use super::mask::Mask;
use crate::geometry::Geometry;
use trommel_base::batch::{Fetch, Ring, WORD_BYTES, Window, run_stages};
use trommel_base::with_fetch;

/// A blocked layout's arithmetic for one key. It is safe code, compiled for the instruction set of the function that it
/// is inlined into.
pub(crate) trait Body {
    /// The bits of a hash in its block.
    type Mask: Mask;
    /// Bytes of a block.
    const BLOCK_BYTES: usize = size_of::<Self::Mask>();
    /// The block of a hash, below `geometry.units`.
    fn block(geometry: Geometry, hash: u64) -> u64;
    /// The bits that the hash sets in its block.
    fn mask(geometry: Geometry, hash: u64) -> Self::Mask;

    /// Whether all bits of the hash are set in its block.
    #[inline(always)]
    fn test(geometry: Geometry, hash: u64, block: &[u8]) -> bool {
        Self::mask(geometry, hash).test(block)
    }
}

#[inline(always)]
fn block_range<B: Body>(geometry: Geometry, hash: u64) -> core::ops::Range<usize> {
    let start = B::block(geometry, hash) as usize * B::BLOCK_BYTES;
    start..start + B::BLOCK_BYTES
}

#[inline(always)]
pub(super) fn contains<B: Body>(geometry: Geometry, table: &[u8], hash: u64) -> bool {
    B::test(geometry, hash, &table[block_range::<B>(geometry, hash)])
}

#[inline(always)]
pub(super) fn insert<B: Body>(geometry: Geometry, table: &mut [u8], hash: u64) -> bool {
    B::mask(geometry, hash).set(&mut table[block_range::<B>(geometry, hash)])
}

/// [`contains`], not inlined, for a table that is given by its address.
///
/// # Safety
/// The caller must ensure that the table has the length that the geometry says.
#[inline(never)]
pub(super) unsafe fn contains_at<B: Body>(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    let bytes = geometry.units as usize * B::BLOCK_BYTES;
    // SAFETY: the caller promises that the table has this length.
    let table = unsafe { core::slice::from_raw_parts(table, bytes) };
    contains::<B>(geometry, table, hash)
}

/// [`insert`], not inlined, for a table that is given by its address.
///
/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
#[inline(never)]
pub(super) unsafe fn insert_at<B: Body>(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    let bytes = geometry.units as usize * B::BLOCK_BYTES;
    // SAFETY: the caller promises that the table has this length and is not borrowed elsewhere.
    let table = unsafe { core::slice::from_raw_parts_mut(table, bytes) };
    insert::<B>(geometry, table, hash)
}

/// The number of keys in a group.
pub(super) const GROUP: usize = 8;

/// Returns where the blocks of a group's keys begin, counted in words of 64 bits.
#[inline(always)]
pub(super) fn locate<B: Body>(geometry: Geometry, hashes: &[u64; GROUP]) -> [u32; GROUP] {
    // The index of a word fits 32 bits: `Layout::MAX_UNITS` of every blocked layout is low enough.
    let words = (B::BLOCK_BYTES / WORD_BYTES) as u64;
    core::array::from_fn(|i| (B::block(geometry, hashes[i]) * words) as u32)
}

#[inline(always)]
pub(super) fn contains_batch<B: Body>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => contains_pipelined::<B, F>(geometry, table, hashes, found, window));
    contains_rest::<B>(geometry, table, hashes, found);
}

/// Does not use `run_groups`, which the x86 vector kernels share: through `run_groups`, portable lookups take 6 % more
/// instructions, and inserts up to 13 % more.
#[inline(always)]
fn contains_pipelined<B: Body, F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    window: Window,
) {
    let (groups, _) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut Ring::default(),
        |ring, group| *ring.group_mut(group) = locate::<B>(geometry, &groups[group]),
        |ring, group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |ring, group| {
            let mut answers = 0;
            let keys = groups[group].iter().zip(ring.group::<GROUP>(group));
            for (i, (hash, place)) in keys.enumerate() {
                let start = *place as usize * WORD_BYTES;
                let block = &table[start..start + B::BLOCK_BYTES];
                answers |= u64::from(B::test(geometry, *hash, block)) << i;
            }
            found[group / 8] |= answers << (8 * (group % 8));
        },
    );
}

/// Answers the last keys of a batch, which do not fill a group, one at a time.
#[inline(always)]
pub(super) fn contains_rest<B: Body>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let first = hashes.len() / GROUP * GROUP;
    contains_from::<B>(geometry, table, hashes, first, found);
}

/// Answers the keys of a batch from index `first` on, one at a time.
#[inline(always)]
pub(super) fn contains_from<B: Body>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    first: usize,
    found: &mut [u64],
) {
    for (i, hash) in hashes.iter().enumerate().skip(first) {
        found[i / 64] |= u64::from(contains::<B>(geometry, table, *hash)) << (i % 64);
    }
}

#[inline(always)]
pub(super) fn insert_batch<B: Body>(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => insert_pipelined::<B, F>(geometry, table, hashes, window));
    insert_rest::<B>(geometry, table, hashes);
}

#[inline(always)]
fn insert_pipelined<B: Body, F: Fetch>(
    geometry: Geometry,
    table: &mut [u8],
    hashes: &[u64],
    window: Window,
) {
    let (groups, _) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut (Ring::default(), &mut *table),
        |(ring, _), group| *ring.group_mut(group) = locate::<B>(geometry, &groups[group]),
        |(ring, table), group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |(ring, table), group| {
            for (hash, place) in groups[group].iter().zip(ring.group::<GROUP>(group)) {
                let start = *place as usize * WORD_BYTES;
                B::mask(geometry, *hash).unite(&mut table[start..start + B::BLOCK_BYTES]);
            }
        },
    );
}

/// Inserts the last keys of a batch, which do not fill a group.
#[inline(always)]
pub(super) fn insert_rest<B: Body>(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let (_, rest) = hashes.as_chunks::<GROUP>();
    for hash in rest {
        insert::<B>(geometry, table, *hash);
    }
}

/// The batch functions of a body, compiled for the target's baseline.
macro_rules! portable_batch_kernels {
    ($body:ty) => {{
        use $crate::kernel::portable;
        $crate::kernel::BatchKernels {
            contains: |geometry, table, hashes, found| {
                portable::contains_batch::<$body>(geometry, table, hashes, found);
            },
            insert: |geometry, table, hashes| {
                portable::insert_batch::<$body>(geometry, table, hashes);
            },
        }
    }};
}
pub(super) use portable_batch_kernels;
