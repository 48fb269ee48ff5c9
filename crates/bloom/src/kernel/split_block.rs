//! Split-block kernels: 256-bit blocks, one bit in each of eight 32-bit lanes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::Kernels;
use super::portable::{Body, portable_kernels};
use crate::geometry::Geometry;
use trommel_base::range::reduce_high;
use trommel_simd::Isa;

/// The odd multipliers of Parquet's specification, one a lane.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];
/// Bytes of a block.
const BLOCK_BYTES: usize = 32;
/// From a block's number to that of its first word of 64 bits.
#[cfg(target_arch = "x86_64")]
const WORDS_SHIFT: i32 = 2;

pub(super) struct SplitBlockBody;

/// One bit a lane.
#[inline(always)]
fn mask(hash: u64) -> [u32; 8] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

#[inline(always)]
fn lane(block: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]])
}

impl Body for SplitBlockBody {
    const BLOCK_BYTES: usize = BLOCK_BYTES;

    #[inline(always)]
    fn block(geometry: Geometry, hash: u64) -> u64 {
        u64::from(reduce_high(hash, geometry.units as u32))
    }

    #[inline(always)]
    fn test(_: Geometry, block: &[u8], hash: u64) -> bool {
        let missing = mask(hash)
            .into_iter()
            .enumerate()
            .fold(0, |missing, (i, bit)| missing | (bit & !lane(block, i)));
        missing == 0
    }

    #[inline(always)]
    fn set(_: Geometry, block: &mut [u8], hash: u64) -> bool {
        let mut missing = 0;
        for (i, bit) in mask(hash).into_iter().enumerate() {
            let lane = lane(block, i);
            missing |= bit & !lane;
            block[4 * i..4 * i + 4].copy_from_slice(&(lane | bit).to_le_bytes());
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
        _ => portable_kernels!(SplitBlockBody),
    }
}
