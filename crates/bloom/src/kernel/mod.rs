//! Kernels: the code of lookups and inserts, for each instruction set. Only this module of the crate has intrinsics or
//! `unsafe`.
//!
//! The file of a layout, such as `register.rs`, has a portable body. The folder of the same name has code with
//! intrinsics, where such code was measured to be faster. [`Kernels`] has a layout's functions for one instruction set,
//! which is chosen once when a filter is made.
#![allow(unsafe_code)]

pub(crate) mod cache_line;
#[cfg(target_arch = "x86_64")]
mod groups;
mod mask;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
mod portable;
pub(crate) mod register;
#[cfg(target_has_atomic = "64")]
pub(crate) mod shared;
mod single_key;
pub(crate) mod split_block;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;
pub(crate) mod standard;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::geometry::Geometry;
use core::marker::PhantomData;
pub(crate) use portable::Body;
#[cfg(test)]
pub(crate) use portable::Group;
pub(crate) use single_key::SingleKey;
use trommel_base::KeyHash;
use trommel_base::batch::Window;
use trommel_simd::Isa;

/// If a batch has fewer keys than this, its keys are looked up one by one, since setting up the batch pipeline takes as
/// long as looking up some ten keys (on Sapphire Rapids, in split blocks in L1, a batch of eight keys takes 4.9 ns per
/// key with the pipeline and 2.3 ns without).
const SHORTEST_BATCH: usize = 16;
/// The same limit for a table that fits into L2. On a Zen 4 core, looking 24 keys up one by one took 0.55 to 0.75 times
/// as long as with the pipeline in a table of 512 KB, and 1.3 to 1.65 times as long in a table of 60 MB.
const SHORTEST_BATCH_IN_L2: usize = 32;

/// The functions of one layout for batches, compiled for one instruction set.
///
/// Code that calls the pointers must ensure that the machine has the instruction set, that the table has the length
/// that the geometry says, and that there are `⌈n / 64⌉` answer words for `n` hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchKernels {
    contains: unsafe fn(Geometry, &[u8], &[u64], &mut [u64]),
    insert: unsafe fn(Geometry, &mut [u8], &[u64]),
}

/// The functions of one layout for one instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Kernels<B> {
    isa: Isa,
    batch: BatchKernels,
    body: PhantomData<B>,
}

impl<B: SingleKey> Kernels<B> {
    /// The caller must ensure that the machine has the instruction set, and that `batch` is compiled for this set or
    /// for a subset of it.
    pub(crate) fn new(isa: Isa, batch: BatchKernels) -> Self {
        Self { isa, batch, body: PhantomData }
    }

    /// The instruction set.
    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    #[inline(always)]
    pub(crate) fn contains(&self, geometry: Geometry, table: &[u8], hash: KeyHash) -> bool {
        // SAFETY: `self.isa` is available, as `new` requires. Callers pass a geometry that fits the table's length:
        // `Bloom::assemble` and `block_geometry` assert that, `bulk/blocked.rs` computes the geometry of a piece of the
        // table from the piece's length, and `bulk/slices.rs` cuts its tables to the length of the filter's table.
        unsafe { B::contains(self.isa, geometry, table.as_ptr(), hash.raw()) }
    }

    /// Writes the answer for hash `i` to bit `i` of `found`. `found` must be zero, and have `⌈n / 64⌉` words for `n`
    /// hashes.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        geometry: Geometry,
        table: &[u8],
        hashes: &[KeyHash],
        found: &mut [u64],
    ) {
        assert_eq!(found.len(), hashes.len().div_ceil(64));
        let is_short = hashes.len() < SHORTEST_BATCH
            || hashes.len() < SHORTEST_BATCH_IN_L2
                && Window::for_gathers(table.len()).hint.is_none();
        if is_short {
            for (i, hash) in hashes.iter().enumerate() {
                found[0] |= u64::from(self.contains(geometry, table, *hash)) << i;
            }
            return;
        }
        // SAFETY: as in `contains`; the length of `found` was checked above.
        unsafe { (self.batch.contains)(geometry, table, KeyHash::slice_as_raw(hashes), found) }
    }

    #[inline(always)]
    pub(crate) fn insert(&self, geometry: Geometry, table: &mut [u8], hash: KeyHash) -> bool {
        // SAFETY: as in `contains`.
        unsafe { B::insert(self.isa, geometry, table.as_mut_ptr(), hash.raw()) }
    }

    #[inline]
    pub(crate) fn insert_batch(&self, geometry: Geometry, table: &mut [u8], hashes: &[KeyHash]) {
        // SAFETY: as in `contains`.
        unsafe { (self.batch.insert)(geometry, table, KeyHash::slice_as_raw(hashes)) }
    }
}

/// The bytes of answer words. They are in the order of the keys, since this function is compiled only for little-endian
/// machines.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
#[inline(always)]
fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the slice covers the same memory; bytes need no alignment and have no invalid values.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// The odd 32-bit constant by which the low half of a hash is multiplied. The product contains the *pattern positions*
/// of the key: the positions of the key's bits within the key's block. The constant is 2^32 divided by the golden
/// ratio, without the fraction.
///
/// Pattern positions are bits 8 to 55 of the product, because the top bits of a 32 × 32 product are its least random.
/// With positions from the top bits, the cache-line filter had a false-positive rate of 0.551 % instead of the expected
/// 0.422 %.
const PATTERN_SPREAD: u64 = 0x9E37_79B9;
/// The lowest bit of the first pattern position in the product.
const PATTERN_SHIFT: u32 = 8;
/// The number of bits of a pattern position.
const PATTERN_STEP: u32 = 6;

/// The product for a hash. From bit [`PATTERN_SHIFT`] on, it contains eight pattern positions of six bits each.
#[inline(always)]
const fn pattern_positions(hash: u64) -> u64 {
    (hash & 0xFFFF_FFFF) * PATTERN_SPREAD
}
