//! The cache-line layout.

use super::{Layout, fpr_of_lanes};
use crate::geometry::Geometry;
use crate::kernel::cache_line::CacheLineBody;
#[cfg(target_has_atomic = "64")]
use crate::kernel::shared::SharedKernels;
use crate::kernel::{self, Body, Kernels};
use core::ops::RangeInclusive;
use trommel_base::{FilterKind, sizing};
use trommel_simd::Isa;

/// Cache lines of 512 bits, each split into eight lanes of 64 bits; a key sets one bit in each lane of one cache line.
/// With the same number of bits per key, the false-positive rate is lower than that of split blocks, and a lookup still
/// reads one cache line (two in a view whose bytes are not aligned to 64 bytes).
///
/// In a table of `lines` cache lines, a hash `h` has its bits in cache line number `h · lines >> 64`. `g` is the 64-bit
/// product of the low 32 bits of `h` and an odd 32-bit constant. In lane `i` the key sets bit number
/// `(g >> (8 + 6i)) & 63`. The number of the cache line comes from the high bits of the hash, and the bit numbers come
/// from the low half, so a key's cache line and its bits in this cache line are independent.
///
/// Source: Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters" (2009), with
/// the lanes of the split-block filter.
#[derive(Clone, Copy, Debug)]
pub struct CacheLine;

/// The number of bits that a key sets: one per lane.
const LANES: u32 = 8;

impl Layout for CacheLine {
    type Body = CacheLineBody;
    const KIND: FilterKind = FilterKind::CacheLineBloom;
    const UNIT_BYTES: usize = 64;
    // The kernels keep the index of a word in 32 bits, which limits the table to 32 GiB.
    const MAX_UNITS: u64 = 1 << 29;
    const HASHES: RangeInclusive<u32> = LANES..=LANES;

    fn fpr(_hashes: u32, keys_per_unit: f64) -> f64 {
        sizing::split_fpr(LANES, 64, keys_per_unit)
    }

    fn keys_per_unit(_hashes: u32, fpr: f64) -> Option<f64> {
        sizing::split_keys_per_block(LANES, 64, fpr)
    }

    #[inline(always)]
    fn unit(geometry: Geometry, hash: u64) -> Option<u64> {
        Some(CacheLineBody::block(geometry, hash))
    }

    fn fpr_of_table(geometry: Geometry, words: impl Iterator<Item = u64>) -> f64 {
        fpr_of_lanes::<64, 8>(geometry, words)
    }

    fn estimate_len(geometry: Geometry, ones: u64) -> f64 {
        sizing::estimate_len(geometry.units * 512, LANES, ones)
    }

    fn kernels(isa: Isa) -> Kernels<Self::Body> {
        Kernels::new(isa, kernel::cache_line::batch_kernels(isa))
    }

    #[cfg(target_has_atomic = "64")]
    fn shared_kernels(isa: Isa) -> SharedKernels {
        kernel::cache_line::shared_kernels(isa)
    }
}
