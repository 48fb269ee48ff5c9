//! The seeded generator for random kicks and hash seeds: the same seed and the same order of operations
//! always give the same table.

/// Splitmix64, which returns every 64-bit word once in a period of 2^64.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with
/// Stafford's variant 13 of the constants.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`; the relative bias is below `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        trommel_base::range::reduce(self.word(), bound)
    }

    /// The next word.
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published outputs for state 0 (Vigna's reference implementation).
    #[test]
    fn words_are_the_published_ones() {
        let mut random = Random::new(0);
        let words = [random.word(), random.word(), random.word()];
        assert_eq!(words, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }
}
