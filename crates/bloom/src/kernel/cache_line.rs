//! Cache-line kernels: lines of 512 bits, one bit in each of eight 64-bit lanes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::portable::{Body, portable_kernels};
use super::{Kernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use crate::geometry::Geometry;
use trommel_base::range::reduce;
use trommel_simd::Isa;

/// Bytes of a line.
const LINE_BYTES: usize = 64;
/// From a line's number to that of its first word of 64 bits.
#[cfg(target_arch = "x86_64")]
const WORDS_SHIFT: i32 = 3;
/// Lanes of a line.
const LANES: usize = 8;

pub(super) struct CacheLineBody;

#[inline(always)]
fn mask(hash: u64) -> [u64; LANES] {
    let positions = pattern_positions(hash);
    core::array::from_fn(|i| 1 << (positions >> (PATTERN_SHIFT + PATTERN_STEP * i as u32) & 63))
}

#[inline(always)]
fn lane(block: &[u8], i: usize) -> u64 {
    let mut lane = [0; 8];
    lane.copy_from_slice(&block[8 * i..8 * i + 8]);
    u64::from_le_bytes(lane)
}

impl Body for CacheLineBody {
    const BLOCK_BYTES: usize = LINE_BYTES;

    #[inline(always)]
    fn block(geometry: Geometry, hash: u64) -> u64 {
        reduce(hash, geometry.units)
    }

    #[inline(always)]
    fn test(_: Geometry, block: &[u8], hash: u64) -> bool {
        let lanes = mask(hash).into_iter().enumerate();
        lanes.fold(0, |missing, (i, bit)| missing | (bit & !lane(block, i))) == 0
    }

    #[inline(always)]
    fn set(_: Geometry, block: &mut [u8], hash: u64) -> bool {
        let mut missing = 0;
        for (i, bit) in mask(hash).into_iter().enumerate() {
            let lane = lane(block, i);
            missing |= bit & !lane;
            block[8 * i..8 * i + 8].copy_from_slice(&(lane | bit).to_le_bytes());
        }
        missing != 0
    }
}

pub(crate) fn kernels(isa: Isa) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::KERNELS,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512Core => avx2::KERNELS,
        _ => portable_kernels!(CacheLineBody),
    }
}
