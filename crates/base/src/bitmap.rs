//! One bit per key: the answers for a batch.

use crate::storage::OutOfMemory;
use alloc::vec::Vec;

/// The positions of a word's ones, ascending.
#[inline(always)]
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let position = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (position < 64).then_some(position)
    })
}

/// A bitmap of a given length. Its bit `i` is bit `i % 64` of word `i / 64`, counted from the least significant bit: on
/// little-endian machines, this is the layout of Arrow's validity bitmaps.
///
/// Bits of the last word beyond the length are always zero, so counting and iterating need no mask.
///
/// Like a `Vec`, a bitmap that gets longer ends the program if the system refuses the memory.
/// [`Bitmap::try_reserve`] asks for the memory beforehand, and returns an error instead.
///
/// ```
/// use trommel::Bitmap;
/// let mut bitmap = Bitmap::new(70);
/// bitmap.set(3);
/// bitmap.set(69);
/// assert_eq!(bitmap.count_ones(), 2);
/// assert_eq!(bitmap.iter_ones().collect::<Vec<_>>(), [3, 69]);
/// assert!(bitmap.get(69) && !bitmap.get(4) && !bitmap.get(1_000_000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// A bitmap of `len` zeros.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let bitmap = Bitmap::new(70);
    /// assert_eq!((bitmap.len(), bitmap.count_ones()), (70, 0));
    /// ```
    #[must_use]
    pub fn new(len: usize) -> Self {
        let mut bitmap = Self::default();
        bitmap.reset(len);
        bitmap
    }

    /// Makes this a bitmap of `len` zeros. Reuses the memory if it suffices.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(70);
    /// bitmap.set(3);
    /// bitmap.reset(10);
    /// assert_eq!(bitmap, Bitmap::new(10));
    /// ```
    pub fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// Makes room for `len` bits in all. The length and the bits stay the same. A batch of up to `len` keys then
    /// allocates nothing for its answers.
    ///
    /// ```
    /// use trommel::{Bitmap, Filter, SplitBlockBloom};
    /// let filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let hashes = ["anvil", "forge"].map(|key| filter.hash(key));
    /// let mut found = Bitmap::default();
    /// found.try_reserve(hashes.len())?;
    /// filter.contains_batch(&hashes, &mut found); // allocates nothing
    /// assert_eq!(found.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses the memory.
    pub fn try_reserve(&mut self, len: usize) -> Result<(), OutOfMemory> {
        let words = len.div_ceil(64);
        let refused = OutOfMemory { bytes: (words as u64).saturating_mul(8) };
        let missing = words.saturating_sub(self.words.len());
        self.words.try_reserve_exact(missing).map_err(|_| refused)
    }

    /// The number of bits.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// assert_eq!(Bitmap::new(70).len(), 70);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// assert!(Bitmap::new(0).is_empty());
    /// assert!(!Bitmap::new(70).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bit `index`; false beyond the end.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(70);
    /// bitmap.set(3);
    /// assert!(bitmap.get(3) && !bitmap.get(4) && !bitmap.get(70));
    /// ```
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Sets bit `index`; does nothing beyond the end.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(70);
    /// bitmap.set(69);
    /// bitmap.set(70); // beyond the end
    /// assert!(bitmap.get(69));
    /// assert_eq!(bitmap.count_ones(), 1);
    /// ```
    #[inline]
    pub fn set(&mut self, index: usize) {
        if index < self.len {
            self.words[index / 64] |= 1 << (index % 64);
        }
    }

    /// The number of bits that are set.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(70);
    /// [3, 3, 69].into_iter().for_each(|bit| bitmap.set(bit));
    /// assert_eq!(bitmap.count_ones(), 2);
    /// ```
    #[must_use]
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The indices of the set bits, ascending.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let words = ["anvil", "bellows", "forge"];
    /// let mut found = Bitmap::new(3);
    /// found.set(0);
    /// found.set(2);
    /// let hits: Vec<_> = found.iter_ones().map(|i| words[i]).collect();
    /// assert_eq!(hits, ["anvil", "forge"]);
    /// ```
    pub fn iter_ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| ones(*word).map(move |bit| i * 64 + bit))
    }

    /// The words. Bits of the last word beyond the length are zero.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(70);
    /// bitmap.set(3);
    /// bitmap.set(64);
    /// assert_eq!(bitmap.as_words(), [0b1000, 1]);
    /// ```
    #[must_use]
    pub fn as_words(&self) -> &[u64] {
        &self.words
    }

    /// Converts the bitmap to its words, without a copy. Bits of the last word beyond the length are zero.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(70);
    /// bitmap.set(64);
    /// assert_eq!(bitmap.into_words(), [0, 1]);
    /// ```
    #[must_use]
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Makes this a bitmap of `len` bits. Calls `fill`, which gets the bitmap's words, all zero, and writes the bits
    /// into them. Then clears the bits beyond the end. The batch lookups of filters write their answers in this way.
    ///
    /// ```
    /// use trommel::Bitmap;
    /// let mut bitmap = Bitmap::new(0);
    /// bitmap.fill_words(70, |words| words.fill(u64::MAX));
    /// assert_eq!(bitmap.count_ones(), 70);
    /// ```
    pub fn fill_words(&mut self, len: usize, fill: impl FnOnce(&mut [u64])) {
        self.reset(len);
        fill(&mut self.words);
        if !len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (len % 64)) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_beyond_the_end_stay_zero() {
        for len in [0, 1, 7, 63, 64, 65, 128, 1000] {
            let mut bitmap = Bitmap::new(0);
            bitmap.fill_words(len, |words| words.fill(u64::MAX));
            assert_eq!((bitmap.count_ones(), bitmap.len()), (len, len));
            assert!(bitmap.iter_ones().eq(0..len));
            bitmap.set(len);
            assert_eq!(bitmap.count_ones(), len);
            assert!(!bitmap.get(len));
        }
    }

    #[test]
    fn reset_clears_all_bits() {
        let mut bitmap = Bitmap::new(100);
        (0..100).for_each(|i| bitmap.set(i));
        bitmap.reset(80);
        assert_eq!(bitmap, Bitmap::new(80));
    }
}
