//! Register-blocked kernels: up to eight bits of one 64-bit word.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::portable::{Body, portable_kernels};
#[cfg(target_has_atomic = "64")]
use super::shared::{self, SharedKernels};
use super::{Kernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use crate::geometry::Geometry;
use trommel_base::range::reduce;
use trommel_simd::Isa;

/// Bytes of a word.
#[cfg(target_arch = "x86_64")]
const WORD_BYTES: usize = 8;

pub(crate) struct RegisterBody;

/// The bits of a hash in its word.
#[inline(always)]
fn pattern(hash: u64, count: u32) -> u64 {
    let mut positions = pattern_positions(hash) >> PATTERN_SHIFT;
    let mut pattern = 0;
    for _ in 0..count {
        pattern |= 1 << (positions & 63);
        positions >>= PATTERN_STEP;
    }
    pattern
}

impl Body for RegisterBody {
    type Mask = [u64; 1];

    #[inline(always)]
    fn block(geometry: Geometry, hash: u64) -> u64 {
        reduce(hash, geometry.units)
    }

    #[inline(always)]
    fn mask(geometry: Geometry, hash: u64) -> [u64; 1] {
        [pattern(hash, geometry.hashes)]
    }
}

pub(crate) fn kernels(isa: Isa) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::KERNELS,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512Core => avx2::KERNELS,
        _ => portable_kernels!(RegisterBody),
    }
}

/// The baseline's on every set: compiled for AVX2, the pattern of one key is computed in vectors across its
/// bits, and an insert takes 17 ns instead of 12.
#[cfg(target_has_atomic = "64")]
pub(crate) fn shared_kernels(_: Isa) -> SharedKernels {
    shared::kernels::<shared::Blocks<RegisterBody>>(Isa::Portable)
}
