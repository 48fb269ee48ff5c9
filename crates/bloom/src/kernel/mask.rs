//! The bits of a key in its block, and how they are tested and set.

/// The bits of a key in its block: one number for each lane of the block. The block has its lanes one after the other,
/// as little-endian numbers.
pub(crate) trait Mask: Copy {
    /// The mask as words of 64 bits.
    #[cfg(target_has_atomic = "64")]
    type Words: AsRef<[u64]>;
    /// Whether all bits are set in a block.
    fn test(self, block: &[u8]) -> bool;
    /// Sets all bits in a block; true if any of them was clear.
    fn set(self, block: &mut [u8]) -> bool;
    /// The same bits as words of 64 bits, for a block whose words are read as little-endian.
    #[cfg(target_has_atomic = "64")]
    fn words(self) -> Self::Words;
}

macro_rules! mask_of_lanes {
    ($lane:ty) => {
        #[inline(always)]
        fn test(self, block: &[u8]) -> bool {
            let lanes = block.as_chunks().0.iter().map(|lane| <$lane>::from_le_bytes(*lane));
            self.into_iter().zip(lanes).fold(0, |missing, (bits, lane)| missing | (bits & !lane))
                == 0
        }

        #[inline(always)]
        fn set(self, block: &mut [u8]) -> bool {
            let mut missing = 0;
            for (bits, lane) in self.into_iter().zip(block.as_chunks_mut().0) {
                let before = <$lane>::from_le_bytes(*lane);
                missing |= bits & !before;
                *lane = (before | bits).to_le_bytes();
            }
            missing != 0
        }
    };
}

impl<const LANES: usize> Mask for [u64; LANES] {
    #[cfg(target_has_atomic = "64")]
    type Words = Self;

    mask_of_lanes!(u64);

    #[cfg(target_has_atomic = "64")]
    #[inline(always)]
    fn words(self) -> Self {
        self
    }
}

impl Mask for [u32; 8] {
    #[cfg(target_has_atomic = "64")]
    type Words = [u64; 4];

    mask_of_lanes!(u32);

    #[cfg(target_has_atomic = "64")]
    #[inline(always)]
    fn words(self) -> [u64; 4] {
        core::array::from_fn(|i| u64::from(self[2 * i]) | u64::from(self[2 * i + 1]) << 32)
    }
}
