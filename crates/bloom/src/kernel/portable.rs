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

    /// Returns where the blocks of a group's keys begin, counted in words of 64 bits.
    #[inline(always)]
    fn locate(geometry: Geometry, hashes: &[u64; GROUP]) -> [u32; GROUP] {
        // The index of a word fits 32 bits: `Layout::MAX_UNITS` of every blocked layout is low enough.
        let words = (Self::BLOCK_BYTES / WORD_BYTES) as u32;
        core::array::from_fn(|i| Self::block(geometry, hashes[i]) as u32 * words)
    }

    /// The answers for a group's keys, whose blocks begin at `places`: bit `i` tells whether all bits of key `i` are
    /// set in its block.
    ///
    /// # Panics
    /// If a block is not within the table.
    #[inline(always)]
    fn test_group(
        geometry: Geometry,
        table: &[u8],
        hashes: &[u64; GROUP],
        places: &[u32; GROUP],
    ) -> u8 {
        let mut answers = 0;
        for (i, (hash, place)) in hashes.iter().zip(places).enumerate() {
            let block = &table[range_at(*place, Self::BLOCK_BYTES)];
            answers |= u8::from(Self::test(geometry, *hash, block)) << i;
        }
        answers
    }

    /// Sets the bits of a group's keys, whose blocks begin at `places`.
    ///
    /// # Panics
    /// If a block is not within the table.
    #[inline(always)]
    fn unite_group(
        geometry: Geometry,
        table: &mut [u8],
        hashes: &[u64; GROUP],
        places: &[u32; GROUP],
    ) {
        for (hash, place) in hashes.iter().zip(places) {
            let block = &mut table[range_at(*place, Self::BLOCK_BYTES)];
            Self::mask(geometry, *hash).unite(block);
        }
    }
}

/// The range of bytes of a block that begins at this word of the table.
#[inline(always)]
pub(super) fn range_at(place: u32, block_bytes: usize) -> core::ops::Range<usize> {
    let start = place as usize * WORD_BYTES;
    start..start + block_bytes
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
        |ring, group| *ring.group_mut(group) = B::locate(geometry, &groups[group]),
        |ring, group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |ring, group| {
            let answers = B::test_group(geometry, table, &groups[group], ring.group(group));
            found[group / 8] |= u64::from(answers) << (8 * (group % 8));
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
        |(ring, _), group| *ring.group_mut(group) = B::locate(geometry, &groups[group]),
        |(ring, table), group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |(ring, table), group| {
            B::unite_group(geometry, table, &groups[group], ring.group(group));
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
