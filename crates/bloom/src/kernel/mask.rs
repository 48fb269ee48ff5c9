//! The bits of a key in its block, and how they are tested and set.

use trommel_base::batch::WORD_BYTES;

/// The bits of a key in its block: one number for each lane of the block. The block has its lanes one after the other,
/// as little-endian numbers.
pub(crate) trait Mask: Copy {
    type Words: AsRef<[u64]>;

    /// These bits, in words of 64 bits, for a block whose words are read as little-endian.
    fn words(self) -> Self::Words;

    /// Whether all of these bits are set in a block.
    #[inline(always)]
    fn test(self, block: &[u8]) -> bool {
        let words = block.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let bits = self.words();
        bits.as_ref().iter().zip(words).fold(0, |missing, (bits, word)| missing | (bits & !word))
            == 0
    }

    /// Sets these bits in a block.
    #[inline(always)]
    fn unite(self, block: &mut [u8]) {
        let bits = self.words();
        for (bits, word) in bits.as_ref().iter().zip(block.as_chunks_mut::<WORD_BYTES>().0) {
            *word = (u64::from_le_bytes(*word) | bits).to_le_bytes();
        }
    }

    /// Sets these bits in a block; true if any of them was clear.
    #[inline(always)]
    fn set(self, block: &mut [u8]) -> bool {
        let mut missing = 0;
        let bits = self.words();
        for (bits, word) in bits.as_ref().iter().zip(block.as_chunks_mut::<WORD_BYTES>().0) {
            let before = u64::from_le_bytes(*word);
            missing |= bits & !before;
            *word = (before | bits).to_le_bytes();
        }
        missing != 0
    }
}

impl<const LANES: usize> Mask for [u64; LANES] {
    type Words = Self;

    #[inline(always)]
    fn words(self) -> Self {
        self
    }
}

impl Mask for [u32; 8] {
    type Words = [u64; 4];

    #[inline(always)]
    fn words(self) -> [u64; 4] {
        core::array::from_fn(|i| u64::from(self[2 * i]) | u64::from(self[2 * i + 1]) << 32)
    }

    /// Sets the bits lane by lane. Compiled for SSE2, a batched insert takes 6 % fewer instructions lane by lane than
    /// word by word. A single insert must also find out whether a bit was clear; it would take 34 % more instructions
    /// lane by lane, so [`Mask::set`] works word by word.
    #[inline(always)]
    fn unite(self, block: &mut [u8]) {
        for (bits, lane) in self.iter().zip(block.as_chunks_mut().0) {
            *lane = (u32::from_le_bytes(*lane) | bits).to_le_bytes();
        }
    }
}
