//! The split-block layout.

use super::{Layout, fpr_of_lanes};
use crate::geometry::Geometry;
#[cfg(target_has_atomic = "64")]
use crate::kernel::shared::SharedKernels;
use crate::kernel::split_block::SplitBlockBody;
use crate::kernel::{self, Body, Kernels};
use core::ops::RangeInclusive;
use trommel_base::{FilterKind, sizing};
use trommel_simd::Isa;

/// Blocks of 256 bits in eight lanes of 32; a key sets one bit in each lane of one block.
///
/// In a table of `blocks` blocks, a hash `h` has its bits in block number `(h >> 32) · blocks >> 32`. In lane `i` the
/// key sets bit number `((low 32 bits of h) · salt_i mod 2^32) >> 27`. The eight salts are odd constants of Parquet's
/// specification. The table is bit for bit that of Parquet's split-block filter.
///
/// Source: Apache Parquet format, "Parquet Bloom filter"; after Putze, Sanders and Singler (2009).
#[derive(Clone, Copy, Debug)]
pub struct SplitBlock;

/// The number of bits that a key sets: one per lane.
const LANES: u32 = 8;

impl Layout for SplitBlock {
    type Body = SplitBlockBody;
    const KIND: FilterKind = FilterKind::SplitBlockBloom;
    const UNIT_BYTES: usize = 32;
    // Parquet computes the block from only 32 bits of the hash, so the blocks of a large table differ in how many of
    // the 2^32 values select them. With nearly 2^27 blocks (4 GiB), some blocks get 3 % more keys than others, which
    // raises the false-positive rate by less than 1 % of its value. With more blocks it would rise further.
    const MAX_UNITS: u64 = 1 << 27;
    const HASHES: RangeInclusive<u32> = LANES..=LANES;

    fn fpr(_hashes: u32, keys_per_unit: f64) -> f64 {
        sizing::split_fpr(LANES, 32, keys_per_unit)
    }

    fn keys_per_unit(_hashes: u32, fpr: f64) -> Option<f64> {
        sizing::split_keys_per_block(LANES, 32, fpr)
    }

    #[inline(always)]
    fn unit(geometry: Geometry, hash: u64) -> Option<u64> {
        Some(SplitBlockBody::block(geometry, hash))
    }

    fn fpr_of_table(geometry: Geometry, words: impl Iterator<Item = u64>) -> f64 {
        fpr_of_lanes::<32, 4>(geometry, words)
    }

    fn estimate_len(geometry: Geometry, ones: u64) -> f64 {
        sizing::estimate_len(geometry.units * 256, LANES, ones)
    }

    fn kernels(isa: Isa) -> Kernels<Self::Body> {
        Kernels::new(isa, kernel::split_block::batch_kernels(isa))
    }

    #[cfg(target_has_atomic = "64")]
    fn shared_kernels(isa: Isa) -> SharedKernels {
        kernel::split_block::shared_kernels(isa)
    }
}
