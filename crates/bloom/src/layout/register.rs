//! The register-blocked layout.

use super::Layout;
use crate::geometry::Geometry;
use crate::kernel::register::RegisterBody;
#[cfg(target_has_atomic = "64")]
use crate::kernel::shared::SharedKernels;
use crate::kernel::{self, Body, Kernels};
use core::ops::RangeInclusive;
use trommel_base::{FilterKind, sizing};
use trommel_simd::Isa;

/// Words of 64 bits; a key sets up to eight bits of one word. The fastest layout, since a lookup is
/// one load and one compare, and the least compact: 12.1 bits a key at 1 % against the standard
/// filter's 9.6.
///
/// Bits: `word = h · words >> 64`; `g = (low 32 bits of h) · c` for an odd 32-bit `c`; bit `j` of the
/// `k` is given by bits `8 + 6j ..` of `g`, six of them. Bits may coincide: at 12 bits a key the rate
/// is 1.03 %, and would be 0.97 % with distinct bits, but drawing those costs more than it saves.
///
/// Source: Lang et al., "Performance-optimal filtering" (2019), section 3.2.
#[derive(Clone, Copy, Debug)]
pub struct Register;

impl Layout for Register {
    const KIND: FilterKind = FilterKind::RegisterBloom;
    const UNIT_BYTES: usize = 8;
    // The kernels number the table's words in 32 bits: 32 GiB.
    const MAX_UNITS: u64 = u32::MAX as u64;
    const HASHES: RangeInclusive<u32> = 1..=8;

    fn fpr(hashes: u32, keys_per_unit: f64) -> f64 {
        sizing::blocked_fpr(64, hashes, keys_per_unit)
    }

    #[inline(always)]
    fn unit(geometry: Geometry, hash: u64) -> Option<u64> {
        Some(RegisterBody::block(geometry, hash))
    }

    fn fpr_of_table(geometry: Geometry, words: impl Iterator<Item = u64>) -> f64 {
        let hashes = f64::from(geometry.hashes);
        let of_ones: [f64; 65] = core::array::from_fn(|ones| libm::pow(ones as f64 / 64.0, hashes));
        let sum: f64 = words.map(|word| of_ones[word.count_ones() as usize]).sum();
        sum / geometry.units as f64
    }

    fn estimate_len(geometry: Geometry, ones: u64) -> f64 {
        sizing::estimate_len_blocked(geometry.units, 64, geometry.hashes, ones)
    }

    fn kernels(isa: Isa, geometry: Geometry) -> Kernels {
        kernel::register::kernels(isa, geometry.hashes)
    }

    #[cfg(target_has_atomic = "64")]
    fn shared_kernels(isa: Isa) -> SharedKernels {
        kernel::register::shared_kernels(isa)
    }
}
