//! Register-blocked kernels: up to eight bits of one 64-bit word.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_core;

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

/// The same with the number of a key's bits as a constant.
struct OfHashes<const HASHES: u32>;

impl<const HASHES: u32> Body for OfHashes<HASHES> {
    type Mask = [u64; 1];

    #[inline(always)]
    fn block(geometry: Geometry, hash: u64) -> u64 {
        RegisterBody::block(geometry, hash)
    }

    #[inline(always)]
    fn mask(_: Geometry, hash: u64) -> [u64; 1] {
        [pattern(hash, HASHES)]
    }
}

/// One key alone has its number of bits as a constant, so that its loop is unrolled: as an argument, it takes 1.5
/// times as long with AVX2. A batch gains nothing from it.
macro_rules! of_hashes {
    ($kernels:ident, $hashes:expr) => {
        match $hashes {
            1 => $kernels::<1>(),
            2 => $kernels::<2>(),
            3 => $kernels::<3>(),
            4 => $kernels::<4>(),
            5 => $kernels::<5>(),
            6 => $kernels::<6>(),
            7 => $kernels::<7>(),
            _ => $kernels::<8>(),
        }
    };
}
#[cfg(target_arch = "x86_64")]
use of_hashes;

fn portable_kernels_of<const HASHES: u32>() -> Kernels {
    let Kernels { contains, insert, .. } = portable_kernels!(OfHashes<HASHES>);
    Kernels { contains, insert, ..portable_kernels!(RegisterBody) }
}

/// The functions for keys that set so many bits, one to eight.
pub(crate) fn kernels(isa: Isa, hashes: u32) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Gather => avx512::gathering(hashes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::kernels(hashes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Core => avx512_core::kernels(hashes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::kernels(hashes),
        _ => of_hashes!(portable_kernels_of, hashes),
    }
}

/// The baseline's on every set: compiled for AVX2, the pattern of one key is computed in vectors across its
/// bits, and an insert takes 17 ns instead of 12.
#[cfg(target_has_atomic = "64")]
pub(crate) fn shared_kernels(_: Isa) -> SharedKernels {
    shared::kernels::<shared::Blocks<RegisterBody>>(Isa::Portable)
}
