//! The bits of a key in its block, and how they are tested and set.

use wide::u32x8;

/// The bits of a key in its block: one number for each lane of the block. The block has its lanes one after the other,
/// as little-endian numbers.
pub(crate) trait Mask: Copy {
    /// Whether all bits are set in a block.
    fn test(self, block: &[u8]) -> bool;
    /// Sets all bits in a block; true if any of them was clear.
    fn set(self, block: &mut [u8]) -> bool;
}

impl<const LANES: usize> Mask for [u64; LANES] {
    #[inline(always)]
    fn test(self, block: &[u8]) -> bool {
        let lanes = block.as_chunks().0.iter().map(|lane| u64::from_le_bytes(*lane));
        self.into_iter().zip(lanes).fold(0, |missing, (bits, lane)| missing | (bits & !lane)) == 0
    }

    #[inline(always)]
    fn set(self, block: &mut [u8]) -> bool {
        let mut missing = 0;
        for (bits, lane) in self.into_iter().zip(block.as_chunks_mut().0) {
            let before = u64::from_le_bytes(*lane);
            missing |= bits & !before;
            *lane = (before | bits).to_le_bytes();
        }
        missing != 0
    }
}

/// The lanes of a block.
#[inline(always)]
fn lanes(block: &[u8]) -> u32x8 {
    let lanes: &[[u8; 4]; 8] = block.as_chunks().0.first_chunk().unwrap_or(&[[0; 4]; 8]);
    u32x8::new(lanes.map(u32::from_le_bytes))
}

impl Mask for u32x8 {
    #[inline(always)]
    fn test(self, block: &[u8]) -> bool {
        self & !lanes(block) == Self::ZERO
    }

    #[inline(always)]
    fn set(self, block: &mut [u8]) -> bool {
        let before = lanes(block);
        let after = (before | self).to_array();
        for (lane, after) in block.as_chunks_mut().0.iter_mut().zip(after) {
            *lane = after.to_le_bytes();
        }
        self & !before != Self::ZERO
    }
}
