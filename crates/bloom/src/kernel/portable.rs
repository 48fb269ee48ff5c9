//! The portable batch loops of the blocked layouts, generic over a [`Body`] (a layout's arithmetic for one key). They
//! process whole batches on an instruction set for which a layout has no vector kernels. The vector kernels call
//! functions of this module for the last keys of a batch, which do not fill a group or an answer word.

use super::BatchKernels;
use super::mask::Mask;
use crate::geometry::Geometry;
use trommel_base::batch::{Fetch, Ring, WORD_BYTES, Window, run_stages};
use trommel_base::range::{reduce, reduce_high};
use trommel_base::with_fetch;

/// A blocked layout's arithmetic for one key, and for a group of keys. It is safe code, compiled for the instruction
/// set of the function that it is inlined into. On x86-64, the methods for groups have SSE2 intrinsics instead.
pub(crate) trait Body {
    /// The bits of a hash in its block.
    type Mask: Mask;
    /// Bytes of a block.
    const BLOCK_BYTES: usize = size_of::<Self::Mask>();
    /// The index of a block, shifted left by this number of bits, is the index of its first 64-bit word.
    const WORDS_SHIFT: u32 = (Self::BLOCK_BYTES / WORD_BYTES).ilog2();
    /// Whether the index of a block comes from [`reduce_high`], which uses the high half of the hash only, instead of
    /// [`reduce`].
    const BLOCK_OF_HIGH_HALF: bool = false;

    /// The bits that the hash sets in its block.
    fn mask(geometry: Geometry, hash: u64) -> Self::Mask;

    /// The block of a hash, below `geometry.units`.
    #[inline(always)]
    fn block(geometry: Geometry, hash: u64) -> u64 {
        if Self::BLOCK_OF_HIGH_HALF {
            u64::from(reduce_high(hash, geometry.units as u32))
        } else {
            reduce(hash, geometry.units)
        }
    }

    /// Whether all bits of the hash are set in its block.
    #[inline(always)]
    fn test(geometry: Geometry, hash: u64, block: &[u8]) -> bool {
        Self::mask(geometry, hash).test(block)
    }

    /// Returns where the blocks of a group's keys begin, counted in words of 64 bits.
    #[inline(always)]
    fn locate(geometry: Geometry, hashes: &[u64; GROUP]) -> [u32; GROUP] {
        locate::<Self>(geometry, hashes)
    }

    /// The answers for a group's keys: bit `i` tells whether all bits of key `i` are set in its block.
    ///
    /// # Panics
    /// If a block is not within the table.
    #[inline(always)]
    fn test_group(geometry: Geometry, table: &[u8], group: Group<'_>) -> u8 {
        let mut answers = 0;
        for (i, (hash, place)) in group.keys().enumerate() {
            let block = &table[range_at(*place, Self::BLOCK_BYTES)];
            answers |= u8::from(Self::test(geometry, *hash, block)) << i;
        }
        answers
    }

    /// Sets the bits of a group's keys.
    ///
    /// # Panics
    /// If a block is not within the table.
    #[inline(always)]
    fn unite_group(geometry: Geometry, table: &mut [u8], group: Group<'_>) {
        for (hash, place) in group.keys() {
            let block = &mut table[range_at(*place, Self::BLOCK_BYTES)];
            Self::mask(geometry, *hash).unite(block);
        }
    }
}

/// The keys of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) hashes: &'a [u64; GROUP],
    /// Where the blocks of the keys begin, counted in words of 64 bits.
    pub(crate) places: &'a [u32; GROUP],
}

impl<'a> Group<'a> {
    /// The hash of each key, and where its block begins.
    #[inline(always)]
    pub(super) fn keys(self) -> impl Iterator<Item = (&'a u64, &'a u32)> {
        self.hashes.iter().zip(self.places)
    }
}

/// Returns where the blocks of a group's keys begin, counted in words of 64 bits.
#[inline(always)]
pub(super) fn locate<B: Body + ?Sized>(geometry: Geometry, hashes: &[u64; GROUP]) -> [u32; GROUP] {
    // The index of a word fits 32 bits: `Layout::MAX_UNITS` of every blocked layout is low enough.
    core::array::from_fn(|i| (B::block(geometry, hashes[i]) << B::WORDS_SHIFT) as u32)
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
    with_fetch!(window, F => pipelined::<B, F, _>(
        geometry, table, hashes, window,
        |table, group, keys| {
            let answers = B::test_group(geometry, table, keys);
            found[group / 8] |= u64::from(answers) << (8 * (group % 8));
        },
    ));
    contains_rest::<B>(geometry, table, hashes, found);
}

/// Takes the complete groups of a batch through the pipeline. `probe` reads or writes the blocks of a group.
///
/// Does not use `run_groups`, which the kernels for AVX2 and AVX-512 share: through `run_groups`, the loops over arrays
/// take 6 % more instructions for a lookup, and up to 13 % more for an insert. Rejected: the stages as methods of a
/// `BatchPipeline` (a lookup in register blocks takes 25 % more instructions).
#[inline(always)]
fn pipelined<B: Body, F: Fetch, T: AsRef<[u8]>>(
    geometry: Geometry,
    table: T,
    hashes: &[u64],
    window: Window,
    mut probe: impl FnMut(&mut T, usize, Group<'_>),
) {
    let (groups, _) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut (Ring::default(), table),
        |(ring, _), group| *ring.group_mut(group) = B::locate(geometry, &groups[group]),
        |(ring, table), group| ring.fetch::<GROUP, F>(group, table.as_ref().as_ptr()),
        |(ring, table), group| {
            probe(table, group, Group { hashes: &groups[group], places: ring.group(group) });
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
    with_fetch!(window, F => pipelined::<B, F, _>(
        geometry, &mut *table, hashes, window,
        |table, _, keys| B::unite_group(geometry, table, keys),
    ));
    insert_rest::<B>(geometry, table, hashes);
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
#[inline(always)]
pub(super) const fn kernels<B: Body>() -> BatchKernels {
    BatchKernels { contains: contains_batch::<B>, insert: insert_batch::<B> }
}

/// Declares `batch_kernels(isa)`, which returns the batch functions of a blocked layout. These are the `KERNELS` of the
/// first listed module whose instruction set is `isa` or a lower set of the same architecture. If there is no such
/// module, they are those of [`kernels`].
macro_rules! batch_kernels {
    ($body:ty: $($least:ident => $set:ident),* $(; Neon => $neon:ident)?) => {
        // Never inlined, so that the kernels are compiled with this crate, and not again with each crate that uses it.
        #[inline(never)]
        pub(crate) fn batch_kernels(isa: Isa) -> $crate::kernel::BatchKernels {
            match isa {
                $(
                    #[cfg(target_arch = "x86_64")]
                    _ if isa >= Isa::$least => $set::KERNELS,
                )*
                $(
                    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
                    _ if isa >= Isa::Neon => $neon::KERNELS,
                )?
                _ => $crate::kernel::portable::kernels::<$body>(),
            }
        }
    };
}
pub(super) use batch_kernels;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cache_line::CacheLineBody;
    use crate::kernel::register::RegisterBody;
    use crate::kernel::split_block::SplitBlockBody;
    use std::vec;
    use std::vec::Vec;

    /// Groups of different hashes, among them the lowest and the highest hash, and hashes with one half of ones.
    fn groups() -> Vec<[u64; GROUP]> {
        let spread = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let count = if cfg!(miri) { 3 } else { 100 };
        let mut groups: Vec<[u64; GROUP]> = (0..count)
            .map(|group| core::array::from_fn(|i| spread(8 * group + i as u64)))
            .collect();
        groups.push([0, u64::MAX, 1 << 32, 0xFFFF_FFFF, u64::MAX << 32, 1, 1 << 63, 0x8000_0000]);
        groups
    }

    fn groups_agree_with_single_keys<B: Body>() {
        let words = B::BLOCK_BYTES / WORD_BYTES;
        let most = u64::from(u32::MAX) / words as u64;
        for units in [1, 7, 100, most - 1, most] {
            let geometry = Geometry { units, hashes: 1 };
            for keys in groups() {
                let expected = keys.map(|key| (B::block(geometry, key) * words as u64) as u32);
                assert_eq!(B::locate(geometry, &keys), expected, "{units} blocks, {keys:x?}");
            }
        }
        for hashes in 1..=8 {
            let geometry = Geometry { units: 7, hashes };
            let mut table = vec![0; 7 * B::BLOCK_BYTES];
            for keys in groups() {
                let places = &B::locate(geometry, &keys);
                let group = Group { hashes: &keys, places };
                let expected = (0..GROUP)
                    .filter(|i| contains::<B>(geometry, &table, keys[*i]))
                    .fold(0, |answers, i| answers | 1 << i);
                assert_eq!(B::test_group(geometry, &table, group), expected);

                let mut one_by_one = vec![0; table.len()];
                for key in keys {
                    insert::<B>(geometry, &mut one_by_one, key);
                }
                let mut together = vec![0; table.len()];
                B::unite_group(geometry, &mut together, group);
                assert_eq!(together, one_by_one, "{hashes} bits per key, {keys:x?}");
                assert_eq!(B::test_group(geometry, &together, group), 0xFF);

                // Inserts every other key, so that the next group finds some of its bits.
                for key in keys.iter().step_by(2) {
                    insert::<B>(geometry, &mut table, *key);
                }
            }
        }
    }

    #[test]
    fn groups_of_keys_agree_with_single_keys() {
        groups_agree_with_single_keys::<RegisterBody>();
        groups_agree_with_single_keys::<SplitBlockBody>();
        groups_agree_with_single_keys::<CacheLineBody>();
    }
}
