//! Split-block kernels: a key sets one bit in each of the eight 32-bit lanes of a 256-bit block.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_single;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;

use super::portable::{self, Body, batch_kernels};
use super::single_key::single_key;
use crate::geometry::Geometry;
use trommel_simd::Isa;

/// The odd multipliers of Parquet's specification, one per lane.
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
/// The number of bytes in a block.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const BLOCK_BYTES: usize = 32;

#[derive(Clone, Copy, Debug)]
pub struct SplitBlockBody;

impl Body for SplitBlockBody {
    type Mask = [u32; 8];
    const BLOCK_OF_HIGH_HALF: bool = true;

    /// One bit in each lane.
    #[inline(always)]
    fn mask(_: Geometry, hash: u64) -> [u32; 8] {
        core::array::from_fn(|lane| 1 << ((hash as u32).wrapping_mul(SALTS[lane]) >> 27))
    }

    /// Shifts the key's bit of each lane to the lowest bit of the lane. On the baseline of x86-64 (SSE2, which cannot
    /// shift each lane by its own number of bits), a lookup of a single key takes 23 % fewer instructions in this way
    /// than with `mask`.
    #[inline(always)]
    fn test(_: Geometry, hash: u64, block: &[u8]) -> bool {
        let lanes = block.as_chunks().0.iter().map(|lane| u32::from_le_bytes(*lane));
        let all = lanes
            .zip(SALTS)
            .fold(1, |all, (lane, salt)| all & lane >> ((hash as u32).wrapping_mul(salt) >> 27));
        all == 1
    }

    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    super::sse2::group_methods!(
        test_group = |_geometry, table, group| sse2::test_group(table, group),
        unite_group = |_geometry, table, group| super::sse2::unite_group(table, group, sse2::mask),
    );
}

single_key! { SplitBlockBody:
    Avx2 => avx2_single,
    _ => portable::contains_at::<Self>, portable::insert_at::<Self>
}

batch_kernels! { SplitBlockBody: Avx512Core => avx512, Avx2 => avx2; Neon => neon }

#[cfg(target_has_atomic = "64")]
super::shared::shared_kernels!(super::shared::Blocks<SplitBlockBody>);
