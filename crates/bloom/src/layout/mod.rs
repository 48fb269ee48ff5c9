//! Layouts: where in the table the bits of a key are. Bloom filters without counters are one type, generic over
//! the layout.

mod cache_line;
mod lanes;
mod register;
mod split_block;
mod standard;

pub use cache_line::CacheLine;
pub use register::Register;
pub use split_block::SplitBlock;
pub use standard::Standard;

use crate::geometry::Geometry;
#[cfg(target_has_atomic = "64")]
use crate::kernel::shared::SharedKernels;
use crate::kernel::{Kernels, SingleKey};
use core::fmt::Debug;
use core::ops::RangeInclusive;
use trommel_base::sizing::{self, MAX_BITS_PER_KEY};
use trommel_base::spec::Size;
use trommel_base::{FilterKind, KeyHash, Spec, SpecError};
use trommel_simd::{Hint, Isa, prefetch};

/// A layout of a Bloom filter: its units, its equations and its kernels.
///
/// Sealed, since a layout needs kernels, which only this crate has.
pub trait Layout: Copy + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The lookup and the insert of one key.
    #[doc(hidden)]
    type Body: SingleKey;
    /// The kind of filter that has this layout.
    const KIND: FilterKind;
    /// Bytes of a unit. In a blocked layout, a unit is the word, block or cache line that holds all bits of a key. In
    /// the standard layout, a unit is a word of 64 bits.
    const UNIT_BYTES: usize;
    /// The most units that a table can have.
    const MAX_UNITS: u64;
    /// The numbers of bits that a key can set in filters of this layout.
    const HASHES: RangeInclusive<u32>;
    /// The block form of a filter is the bare table, without a header. The table's length is a multiple of this number
    /// of bytes.
    #[doc(hidden)]
    const BLOCK_STEP_BYTES: usize = Self::UNIT_BYTES;

    /// The false-positive rate with `keys_per_unit` keys per unit, each of which sets `hashes` bits.
    ///
    /// ```
    /// use trommel::bloom::{Layout, Standard};
    /// assert!((Standard::fpr(7, 64.0 / 9.59) - 0.01).abs() < 1e-4); // 9.59 bits of a word per key
    /// ```
    fn fpr(hashes: u32, keys_per_unit: f64) -> f64;

    /// The most keys per unit at which [`Layout::fpr`] does not exceed `fpr`; `None` if this rate needs more than
    /// [`MAX_BITS_PER_KEY`] bits per key. In blocked layouts the result is at most one key per bit, even if more keys
    /// would not exceed the rate.
    ///
    /// ```
    /// use trommel::bloom::{Layout, Standard};
    /// let keys = Standard::keys_per_unit(7, 0.01).unwrap();
    /// assert!((64.0 / keys - 9.59).abs() < 0.01); // bits per key
    /// ```
    fn keys_per_unit(hashes: u32, fpr: f64) -> Option<f64>;

    /// The numbers of hashes worth trying for a false-positive rate. The number of hashes is the number of bits that a
    /// key sets.
    ///
    /// ```
    /// use trommel::bloom::{Layout, SplitBlock};
    /// assert_eq!(SplitBlock::hashes_worth_trying(0.01), 8..=8);
    /// ```
    fn hashes_worth_trying(_fpr: f64) -> RangeInclusive<u32> {
        Self::HASHES
    }

    /// The number of hashes with the lowest false-positive rate at `keys_per_unit`.
    ///
    /// ```
    /// use trommel::bloom::{Layout, Standard};
    /// assert_eq!(Standard::best_hashes(6.4), 7); // 10 bits per key
    /// ```
    fn best_hashes(keys_per_unit: f64) -> u32 {
        let fpr = |hashes| Self::fpr(hashes, keys_per_unit);
        let mut best = *Self::HASHES.start();
        for hashes in Self::HASHES.skip(1) {
            if fpr(hashes) < fpr(best) {
                best = hashes;
            }
        }
        best
    }

    /// The unit that holds all bits of the key with this hash. The unit is computed from the high bits of the hash, and
    /// the positions within the unit from the low half. `None` in the standard layout, in which the bits of a key can
    /// be anywhere.
    #[doc(hidden)]
    fn unit(geometry: Geometry, hash: u64) -> Option<u64>;

    /// Prefetches the cache lines that a lookup reads first.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch(geometry: Geometry, table: *const u8, hash: u64) {
        if let Some(unit) = Self::unit(geometry, hash) {
            let start = unit as usize * Self::UNIT_BYTES;
            prefetch(table.wrapping_add(start), Hint::T0);
        }
    }

    /// The false-positive rate of a table with these words of 64 bits, if the bits of an absent key are uniform and
    /// independent of each other. In a blocked layout, the rate is the mean over the units of the table.
    #[doc(hidden)]
    fn fpr_of_table(geometry: Geometry, words: impl Iterator<Item = u64>) -> f64;

    /// Estimated number of distinct keys in a table with `ones` set bits.
    #[doc(hidden)]
    fn estimate_len(geometry: Geometry, ones: u64) -> f64;

    /// Merges each group of `factor` adjacent units of `from` into one unit of `to`. The caller must ensure that `to`
    /// has only zero bytes, and that `from` is `factor ≥ 1` times as long as `to`.
    #[doc(hidden)]
    fn fold(from: &[u8], factor: usize, to: &mut [u8]) {
        for (large, small) in
            from.chunks_exact(Self::UNIT_BYTES * factor).zip(to.chunks_exact_mut(Self::UNIT_BYTES))
        {
            for unit in large.chunks_exact(Self::UNIT_BYTES) {
                small.iter_mut().zip(unit).for_each(|(to, from)| *to |= from);
            }
        }
    }

    /// Inserts keys into a table in the block form. The caller must ensure that the table has only zero bytes and a
    /// length that the layout allows.
    #[doc(hidden)]
    fn fill_block(isa: Isa, hashes_per_key: u8, hashes: &[KeyHash], table: &mut [u8]) {
        assert!(isa.is_available());
        let geometry = block_geometry::<Self>(hashes_per_key, table);
        Self::kernels(isa).insert_batch(geometry, table, hashes);
    }

    /// Whether all bits of a key are set in a table in the block form. The caller must ensure that the table has a
    /// length that the layout allows.
    #[doc(hidden)]
    #[inline(always)]
    fn block_contains(isa: Isa, hashes_per_key: u8, table: &[u8], hash: KeyHash) -> bool {
        assert!(isa.is_available());
        let geometry = block_geometry::<Self>(hashes_per_key, table);
        Self::kernels(isa).contains(geometry, table, hash)
    }

    /// Prefetches the cache lines that [`Layout::block_contains`] reads first.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch_block(hashes_per_key: u8, table: &[u8], hash: KeyHash) {
        let geometry = block_geometry::<Self>(hashes_per_key, table);
        Self::prefetch(geometry, table.as_ptr(), hash.raw());
    }

    /// The functions of this layout for one instruction set. The caller must ensure that the machine has the set.
    #[doc(hidden)]
    fn kernels(isa: Isa) -> Kernels<Self::Body>;

    /// The functions of this layout for a table that threads share, for one instruction set. The caller must ensure
    /// that the machine has the set.
    #[cfg(target_has_atomic = "64")]
    #[doc(hidden)]
    fn shared_kernels(isa: Isa) -> SharedKernels;
}

/// The geometry of a table in the block form. Panics unless the table is a whole number of units.
#[inline(always)]
fn block_geometry<L: Layout>(hashes_per_key: u8, table: &[u8]) -> Geometry {
    // The single-key kernels access the table unchecked. This assertion makes these accesses sound in filter blocks;
    // the assertion in `Bloom::assemble` makes them sound in filters.
    assert!(table.len().is_multiple_of(L::UNIT_BYTES));
    Geometry { units: (table.len() / L::UNIT_BYTES) as u64, hashes: hashes_per_key.into() }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Standard {}
    impl Sealed for super::Register {}
    impl Sealed for super::SplitBlock {}
    impl Sealed for super::CacheLine {}
}

/// The geometry of the table for a spec: the smallest table that reaches a false-positive rate, or the largest that
/// fits into a number of bytes.
pub(crate) fn geometry<L: Layout>(spec: &Spec) -> Result<Geometry, SpecError> {
    let multiple = u64::from(spec.foldable_by);
    if multiple == 0 {
        let max = u64::from(u32::MAX);
        return Err(SpecError::Parameter { name: "foldable_by", value: 0, min: 1, max });
    }
    let spec = &spec.in_bytes(multiple * L::UNIT_BYTES as u64)?;
    match spec.size()? {
        Size::Fpr(fpr) => geometry_for_fpr::<L>(spec.keys, fpr, multiple),
        Size::Bytes(bytes) => geometry_for_bytes::<L>(spec.keys, bytes, multiple),
        Size::FprWithin(fpr, limit) => {
            let geometry = geometry_for_fpr::<L>(spec.keys, fpr, multiple)?;
            let bytes = geometry.units * L::UNIT_BYTES as u64;
            if bytes > limit as u64 {
                return Err(SpecError::TooSmall { bytes: limit as u64, min_bytes: bytes });
            }
            Ok(geometry)
        }
    }
}

fn geometry_for_fpr<L: Layout>(
    keys: usize,
    fpr: f64,
    multiple: u64,
) -> Result<Geometry, SpecError> {
    // Collisions of 64-bit hashes add to the false-positive rate in every layout.
    let floor = sizing::hash_floor(keys, 64);
    let best = if fpr > floor { best_load::<L>(fpr - floor) } else { None };
    let Some((hashes, keys_per_unit)) = best else {
        let fewest_keys = L::UNIT_BYTES as f64 * 8.0 / MAX_BITS_PER_KEY;
        let lowest = L::fpr(L::best_hashes(fewest_keys), fewest_keys);
        return Err(SpecError::FprUnreachable { fpr, floor: floor + lowest });
    };
    // The quotient is finite, since a unit has at least one key per `MAX_BITS_PER_KEY` bits. The conversion to an
    // integer saturates, and `checked` refuses tables that are too large.
    let units = (libm::ceil(keys as f64 / keys_per_unit) as u64).max(1);
    let units = units.checked_next_multiple_of(multiple).unwrap_or(u64::MAX);
    checked::<L>(units, hashes)
}

/// The number of hashes that permits the highest load without exceeding a false-positive rate, and that load in keys
/// per unit.
///
/// If a number of hashes has a rate above `fpr` at the best load so far, it reaches `fpr` only at a lower load. So the
/// function first evaluates the rate of each number of hashes at the best load so far. If this rate is above `fpr`, the
/// function does not search for the highest load of this number of hashes.
fn best_load<L: Layout>(fpr: f64) -> Option<(u32, f64)> {
    let mut best: Option<(u32, f64)> = None;
    for hashes in L::hashes_worth_trying(fpr) {
        if best.is_some_and(|(_, load)| L::fpr(hashes, load) > fpr) {
            continue;
        }
        let better = L::keys_per_unit(hashes, fpr).map(|load| (hashes, load));
        best = better.filter(|(_, load)| best.is_none_or(|best| *load >= best.1)).or(best);
    }
    best
}

fn geometry_for_bytes<L: Layout>(
    keys: usize,
    bytes: usize,
    multiple: u64,
) -> Result<Geometry, SpecError> {
    let units = (bytes / L::UNIT_BYTES) as u64 / multiple * multiple;
    if units == 0 {
        let min_bytes = multiple * L::UNIT_BYTES as u64;
        return Err(SpecError::TooSmall { bytes: bytes as u64, min_bytes });
    }
    // If the number of keys is not given, take the number of hashes that suits the default false-positive rate. With
    // the number of hashes that suits a single key in all of this memory, the table would be full after far too few
    // keys.
    let hashes = if keys == 0 {
        best_load::<L>(Spec::DEFAULT_FPR).map_or(*L::HASHES.start(), |(hashes, _)| hashes)
    } else {
        L::best_hashes(keys as f64 / units as f64)
    };
    checked::<L>(units, hashes)
}

/// Refuses tables that the layout cannot address or no machine can hold, before anything is allocated.
fn checked<L: Layout>(units: u64, hashes: u32) -> Result<Geometry, SpecError> {
    let unit_bytes = L::UNIT_BYTES as u64;
    let max_units = L::MAX_UNITS.min(trommel_base::storage::MAX_BYTES / unit_bytes);
    if units > max_units {
        let bytes = u128::from(units) * u128::from(unit_bytes);
        return Err(SpecError::TooLarge { bytes, max_bytes: max_units * unit_bytes });
    }
    Ok(Geometry { units, hashes })
}

/// The 64-bit words of a table, whose length must be a whole number of words.
pub(crate) fn words_of(table: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (words, _) = table.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word))
}

/// The number of set bits in words.
pub(crate) fn count_ones(words: impl Iterator<Item = u64>) -> u64 {
    words.map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheLine, Register, SplitBlock, Standard};

    /// Compares [`best_load`] with the highest of the loads of all numbers of hashes.
    #[test]
    fn best_load_is_the_highest_load_of_any_number_of_hashes() {
        fn check<L: Layout>() {
            for step in 0..300 {
                let fpr = 0.97 * libm::exp(-0.05 * f64::from(step));
                let loads =
                    L::HASHES.filter_map(|hashes| Some((hashes, L::keys_per_unit(hashes, fpr)?)));
                let highest = loads.max_by(|a, b| a.1.total_cmp(&b.1));
                assert_eq!(
                    best_load::<L>(fpr),
                    highest,
                    "{} at a false-positive rate of {fpr}",
                    L::KIND
                );
            }
        }
        check::<Standard>();
        check::<Register>();
        check::<SplitBlock>();
        check::<CacheLine>();
    }
}
