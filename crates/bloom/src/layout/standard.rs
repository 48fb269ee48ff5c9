//! The standard layout.

use super::{Layout, count_ones};
use crate::geometry::Geometry;
#[cfg(target_has_atomic = "64")]
use crate::kernel::shared::SharedKernels;
use crate::kernel::{self, Kernels};
use core::ops::RangeInclusive;
use trommel_base::sizing::{self, MAX_BITS_PER_KEY, MAX_HASHES};
use trommel_base::{FilterKind, KeyHash, storage};
use trommel_simd::Isa;

/// One table of bits; a key sets `k` bits anywhere. The most compact Bloom filter, but a lookup reads up to `k` cache
/// lines. (If half of the bits are set, a lookup of an absent key must test two bits on average to find a clear one.)
///
/// In a table of `m` bits, a key with hash `h` sets the bit at position `x_i · m >> 64` for each `i` from 0 to `k − 1`,
/// where `x_0 = h`, and `x_(i+1) = x_i · c` for an odd 64-bit constant `c`. Rejected: double hashing, whose
/// false-positive rate in a small table can be nine times the predicted one. A unit of the table is a word of 64 bits.
///
/// Source: Bloom, "Space/time trade-offs in hash coding with allowable errors", CACM 13 (1970).
#[derive(Clone, Copy, Debug)]
pub struct Standard;

/// Bits of a unit.
const UNIT_BITS: f64 = 64.0;

impl Layout for Standard {
    type Body = kernel::standard::StandardBody;
    const KIND: FilterKind = FilterKind::Bloom;
    const UNIT_BYTES: usize = 8;
    const MAX_UNITS: u64 = storage::MAX_BYTES / 8;
    const HASHES: RangeInclusive<u32> = 1..=MAX_HASHES;
    // If the table of a filter block had to have whole words, the block of 18 keys at 10 bits per key would be one byte
    // longer than LevelDB's filter.
    const BLOCK_STEP_BYTES: usize = 1;

    fn fpr(hashes: u32, keys_per_unit: f64) -> f64 {
        sizing::standard_fpr(UNIT_BITS / keys_per_unit, hashes)
    }

    fn keys_per_unit(hashes: u32, fpr: f64) -> Option<f64> {
        let bits_per_key = sizing::standard_bits_per_key(fpr, hashes);
        (bits_per_key > 0.0 && bits_per_key <= MAX_BITS_PER_KEY).then(|| UNIT_BITS / bits_per_key)
    }

    fn hashes_worth_trying(fpr: f64) -> RangeInclusive<u32> {
        // The optimum is −log2 of the false-positive rate; only the integers next to it can be best.
        let optimum = -libm::log2(fpr);
        let below = (optimum as u32).clamp(1, MAX_HASHES);
        below..=(below + 1).min(MAX_HASHES)
    }

    fn best_hashes(keys_per_unit: f64) -> u32 {
        sizing::standard_hashes(UNIT_BITS / keys_per_unit)
    }

    #[inline(always)]
    fn unit(_geometry: Geometry, _hash: u64) -> Option<u64> {
        None
    }

    fn prefetch(geometry: Geometry, table: *const u8, hash: u64) {
        kernel::standard::prefetch(geometry, table, hash);
    }

    fn fpr_of_table(geometry: Geometry, words: impl Iterator<Item = u64>) -> f64 {
        let fill = count_ones(words) as f64 / (geometry.units as f64 * UNIT_BITS);
        libm::pow(fill, f64::from(geometry.hashes))
    }

    fn estimate_len(geometry: Geometry, ones: u64) -> f64 {
        sizing::estimate_len(geometry.units * 64, geometry.hashes, ones)
    }

    /// Folds adjacent bits instead of adjacent units: bit `p` of the large table becomes bit `p / factor`.
    fn fold(from: &[u8], factor: usize, to: &mut [u8]) {
        for (i, byte) in from.iter().enumerate() {
            let mut rest = *byte;
            while rest != 0 {
                let bit = (i * 8 + rest.trailing_zeros() as usize) / factor;
                to[bit / 8] |= 1 << (bit % 8);
                rest &= rest - 1;
            }
        }
    }

    fn fill_block(_: Isa, hashes_per_key: u8, hashes: &[KeyHash], table: &mut [u8]) {
        kernel::standard::bytes::insert_batch(table, hashes_per_key.into(), hashes);
    }

    #[inline(always)]
    fn block_contains(_: Isa, hashes_per_key: u8, table: &[u8], hash: KeyHash) -> bool {
        kernel::standard::bytes::contains(table, hashes_per_key.into(), hash)
    }

    #[inline(always)]
    fn prefetch_block(hashes_per_key: u8, table: &[u8], hash: KeyHash) {
        kernel::standard::bytes::prefetch(table, hashes_per_key.into(), hash);
    }

    fn kernels(isa: Isa) -> Kernels<Self::Body> {
        Kernels::new(isa, kernel::standard::batch_kernels(isa))
    }

    #[cfg(target_has_atomic = "64")]
    fn shared_kernels(isa: Isa) -> SharedKernels {
        kernel::standard::shared_kernels(isa)
    }
}
