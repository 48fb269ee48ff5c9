//! Register-blocked kernels: up to eight bits of one 64-bit word.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::portable::{Body, portable_kernels};
use super::{Kernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use crate::geometry::Geometry;
use trommel_base::range::reduce;
use trommel_simd::Isa;

/// Bytes of a word.
const WORD_BYTES: usize = 8;

pub(super) struct RegisterBody;

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

#[inline(always)]
fn word(block: &[u8]) -> u64 {
    let mut word = [0; WORD_BYTES];
    word.copy_from_slice(block);
    u64::from_le_bytes(word)
}

impl Body for RegisterBody {
    const BLOCK_BYTES: usize = WORD_BYTES;

    #[inline(always)]
    fn block(geometry: Geometry, hash: u64) -> u64 {
        reduce(hash, geometry.units)
    }

    #[inline(always)]
    fn test(geometry: Geometry, block: &[u8], hash: u64) -> bool {
        pattern(hash, geometry.hashes) & !word(block) == 0
    }

    #[inline(always)]
    fn set(geometry: Geometry, block: &mut [u8], hash: u64) -> bool {
        let (before, pattern) = (word(block), pattern(hash, geometry.hashes));
        block.copy_from_slice(&(before | pattern).to_le_bytes());
        pattern & !before != 0
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
