//! Layouts whose units are blocks of eight lanes: a key sets one bit in each lane of one block.

use crate::geometry::Geometry;

/// The number of lanes of a block, which is the number of bits that a key sets.
pub(super) const LANES: u32 = 8;

/// Implements [`Layout`](super::Layout) for a layout whose units are blocks of [`LANES`] lanes. `kernels` is the module
/// of the layout's kernels.
macro_rules! lane_layout {
    ($layout:ident {
        kind: $kind:ident,
        kernels: $kernels:ident::$body:ident,
        lane_bits: $lane_bits:literal,
        max_units: $max_units:expr $(,)?
    }) => {
        impl $crate::layout::Layout for $layout {
            type Body = $crate::kernel::$kernels::$body;
            const KIND: trommel_base::FilterKind = trommel_base::FilterKind::$kind;
            const UNIT_BYTES: usize = ($crate::layout::lanes::LANES * $lane_bits / 8) as usize;
            const MAX_UNITS: u64 = $max_units;
            const HASHES: core::ops::RangeInclusive<u32> = {
                let lanes = $crate::layout::lanes::LANES;
                lanes..=lanes
            };

            fn fpr(_hashes: u32, keys_per_unit: f64) -> f64 {
                trommel_base::sizing::split_fpr(
                    $crate::layout::lanes::LANES,
                    $lane_bits,
                    keys_per_unit,
                )
            }

            fn keys_per_unit(_hashes: u32, fpr: f64) -> Option<f64> {
                trommel_base::sizing::split_keys_per_block(
                    $crate::layout::lanes::LANES,
                    $lane_bits,
                    fpr,
                )
            }

            #[inline(always)]
            fn unit(geometry: $crate::geometry::Geometry, hash: u64) -> Option<u64> {
                Some(<Self::Body as $crate::kernel::Body>::block(geometry, hash))
            }

            fn fpr_of_table(
                geometry: $crate::geometry::Geometry,
                words: impl Iterator<Item = u64>,
            ) -> f64 {
                $crate::layout::lanes::fpr_of_lanes::<$lane_bits, { Self::UNIT_BYTES / 8 }>(
                    geometry, words,
                )
            }

            fn estimate_len(geometry: $crate::geometry::Geometry, ones: u64) -> f64 {
                let bits = geometry.units * Self::UNIT_BYTES as u64 * 8;
                trommel_base::sizing::estimate_len(bits, $crate::layout::lanes::LANES, ones)
            }

            fn kernels(isa: trommel_simd::Isa) -> $crate::kernel::Kernels<Self::Body> {
                $crate::kernel::Kernels::new(isa, $crate::kernel::$kernels::batch_kernels(isa))
            }

            #[cfg(target_has_atomic = "64")]
            fn shared_kernels(isa: trommel_simd::Isa) -> $crate::kernel::shared::SharedKernels {
                $crate::kernel::$kernels::shared_kernels(isa)
            }
        }
    };
}
pub(super) use lane_layout;

/// The false-positive rate of a layout that tests one bit in each lane: the product of the fractions of set bits in the
/// lanes of a unit, averaged over all units.
pub(super) fn fpr_of_lanes<const LANE_BITS: u32, const UNIT_WORDS: usize>(
    geometry: Geometry,
    mut words: impl Iterator<Item = u64>,
) -> f64 {
    let fill = |lane: u64| f64::from(lane.count_ones()) / f64::from(LANE_BITS);
    let mut sum = 0.0;
    for _ in 0..geometry.units {
        let mut product = 1.0;
        let unit: [u64; UNIT_WORDS] = core::array::from_fn(|_| words.next().unwrap_or(0));
        for word in unit {
            for lane in 0..u64::BITS / LANE_BITS {
                product *= fill(word >> (lane * LANE_BITS) & (u64::MAX >> (u64::BITS - LANE_BITS)));
            }
        }
        sum += product;
    }
    sum / geometry.units as f64
}
