//! Implements [`Words`] with BMI2 and AVX2. Also has the function that reads a 64-bit word of a table.

#[cfg(target_arch = "x86_64")]
use super::balance;
#[cfg(target_arch = "x86_64")]
use crate::words::{Words, low_bits_of_bytes};

/// [`Words`] with POPCNT, BMI1, BMI2 and AVX2, for functions that are compiled for them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// # Safety
    /// The caller must ensure that the machine has POPCNT, BMI1, BMI2 and AVX2.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for Avx2 {
    const SELECTS: bool = true;

    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has BMI2.
        let below = unsafe { core::arch::x86_64::_bzhi_u64(word, index) };
        below.count_ones()
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has BMI2.
        let one = unsafe { core::arch::x86_64::_pdep_u64(1 << skip, word) };
        one.trailing_zeros()
    }

    #[inline(always)]
    fn below(self, word: u64, index: u32) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has BMI2.
        unsafe { core::arch::x86_64::_bzhi_u64(word, index) }
    }

    #[inline(always)]
    fn one(self, word: u64, skip: u32) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has BMI2.
        unsafe { core::arch::x86_64::_pdep_u64(1 << skip, word) }
    }

    #[inline(always)]
    fn two_ones(self, word: u64, skip: u32) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has BMI2.
        unsafe { core::arch::x86_64::_pdep_u64(0b11 << skip, word) }
    }

    #[inline(always)]
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2, BMI2 and POPCNT.
        unsafe { balance::balanced_avx2(begun, ended, open) }
    }

    #[inline(always)]
    fn spread(self, packed: u64, bits: u32) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has BMI2.
        unsafe { core::arch::x86_64::_pdep_u64(packed, low_bits_of_bytes(bits)) }
    }

    #[inline(always)]
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2.
        unsafe { above_avx2(bytes, others) }
    }

    #[inline(always)]
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2.
        unsafe { equal_avx2(bytes, others) }
    }

    #[inline(always)]
    fn equal_to(self, bytes: &[u8; 64], other: u8) -> u64 {
        let (halves, _) = bytes.as_chunks();
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2.
        unsafe { joined(equal_to_avx2(&halves[0], other), equal_to_avx2(&halves[1], other)) }
    }

    #[inline(always)]
    fn at_most(self, bytes: &[u8; 64], other: u8) -> u64 {
        let (halves, _) = bytes.as_chunks();
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2.
        unsafe { joined(at_most_avx2(&halves[0], other), at_most_avx2(&halves[1], other)) }
    }

    #[inline(always)]
    fn rank_of(self, other: u8, bytes: &[u8; 32], count: u32) -> (u32, bool) {
        let first = self.below(u64::MAX, count) as u32;
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2.
        let (equal, at_most) =
            unsafe { (equal_to_avx2(bytes, other) & first, at_most_avx2(bytes, other) & first) };
        ((at_most & !equal).count_ones(), equal != 0)
    }
}

/// Joins the bits of the lower and of the upper half of 64 bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn equal_to_avx2(bytes: &[u8; 32], other: u8) -> u32 {
    use core::arch::x86_64::*;
    // SAFETY: the array has the 32 bytes that are read.
    let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(other as i8))) as u32
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn at_most_avx2(bytes: &[u8; 32], other: u8) -> u32 {
    use core::arch::x86_64::*;
    // SAFETY: the array has the 32 bytes that are read.
    let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    let lesser = _mm256_min_epu8(bytes, _mm256_set1_epi8(other as i8));
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(lesser, bytes)) as u32
}

/// The lower half (`half` = 0) or the upper half (1) of 64 bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn half(bytes: &[u8; 64], half: usize) -> core::arch::x86_64::__m256i {
    let half: &[u8; 32] = &bytes.as_chunks().0[half];
    // SAFETY: the array has the 32 bytes that are read.
    unsafe { core::arch::x86_64::_mm256_loadu_si256(half.as_ptr().cast()) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn above_avx2(bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
    use core::arch::x86_64::*;
    let above = |i| {
        let (bytes, others) = (half(bytes, i), half(others, i));
        // A byte is not above the byte of `others` if the larger of the two equals the byte of `others`.
        let most = _mm256_max_epu8(bytes, others);
        u64::from(!_mm256_movemask_epi8(_mm256_cmpeq_epi8(most, others)) as u32)
    };
    above(0) | above(1) << 32
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn equal_avx2(bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
    use core::arch::x86_64::*;
    let equal = |i| {
        let equal = _mm256_cmpeq_epi8(half(bytes, i), half(others, i));
        u64::from(_mm256_movemask_epi8(equal) as u32)
    };
    equal(0) | equal(1) << 32
}

/// The word that begins at byte `at` of a table.
///
/// # Safety
/// The caller must ensure that the eight bytes from `at` on lie within the table.
#[inline(always)]
pub(crate) unsafe fn word(table: *const u8, at: usize) -> u64 {
    // SAFETY: the caller guarantees that the eight bytes lie within the table.
    u64::from_le(unsafe { table.add(at).cast::<u64>().read_unaligned() })
}

/// Calls a generic function with each implementation of [`Words`] that the machine can run.
#[cfg(test)]
macro_rules! for_all_words {
    ($check:path) => {{
        $check($crate::words::Plain);
        #[cfg(target_arch = "x86_64")]
        if trommel_simd::Isa::Avx2.is_available() {
            // SAFETY: the condition checks that the machine has AVX2, with all that `Isa::Avx2` stands for.
            $check(unsafe { $crate::kernel::words::Avx2::new() });
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        {
            assert!(trommel_simd::Isa::Neon.is_available());
            // SAFETY: the line above checks that the machine has NEON.
            $check(unsafe { $crate::kernel::words_neon::Neon::new() });
        }
    }};
}
#[cfg(test)]
pub(super) use for_all_words;

#[cfg(test)]
mod tests {
    use crate::words::Words;
    use trommel_testkit::Splitmix;

    fn agree<W: Words>(words: W) {
        let mut random = Splitmix::new(65);
        for bits in 1..=8 {
            for _ in 0..if cfg!(miri) { 10 } else { 200 } {
                let packed = random.word();
                let bytes = words.spread(packed, bits).to_le_bytes();
                for (i, byte) in bytes.into_iter().enumerate() {
                    let number = packed >> (i * bits as usize) & (0xFF >> (8 - bits));
                    assert_eq!(u64::from(byte), number, "byte {i} of {packed:x}, {bits} bits");
                }
                let narrow = |byte: u8| byte >> (8 - bits);
                let [bytes, others]: [[u8; 64]; 2] =
                    [0, 0].map(|_| core::array::from_fn(|_| narrow(random.word() as u8)));
                let (above, equal) = (words.above(&bytes, &others), words.equal(&bytes, &others));
                for i in 0..64 {
                    assert_eq!(above >> i & 1 == 1, bytes[i] > others[i]);
                    assert_eq!(equal >> i & 1 == 1, bytes[i] == others[i]);
                }
                let other = others[0];
                let (equal, at_most) =
                    (words.equal_to(&bytes, other), words.at_most(&bytes, other));
                for (i, byte) in bytes.iter().enumerate() {
                    assert_eq!(equal >> i & 1 == 1, *byte == other);
                    assert_eq!(at_most >> i & 1 == 1, *byte <= other);
                }
                for count in 0..=32 {
                    let first = &bytes[..count];
                    let below = first.iter().filter(|byte| **byte < other).count() as u32;
                    assert_eq!(
                        words.rank_of(other, bytes.first_chunk().unwrap(), count as u32),
                        (below, first.contains(&other))
                    );
                }
            }
        }
    }

    /// Compares `one`, `two_ones` and `below` with a loop over the bits, for words with few and many ones. Tries every
    /// `skip` up to 63, even if the word has no more than `skip` ones.
    fn select_ones<W: Words>(words: W) {
        let mut random = Splitmix::new(66);
        let sparse = [0, 1, 1 << 63, u64::MAX, 0x8000_0000_0000_0001];
        let mixed = (0..if cfg!(miri) { 60 } else { 2000 }).map(|i| match i % 3 {
            0 => random.word(),
            1 => random.word() & random.word() & random.word(),
            _ => random.word() | random.word(),
        });
        for word in sparse.into_iter().chain(mixed) {
            let ones: alloc::vec::Vec<u64> =
                (0..64).map(|i| word & 1 << i).filter(|one| *one != 0).collect();
            for skip in 0..64 {
                let one = ones.get(skip).copied().unwrap_or(0);
                let next = ones.get(skip + 1).copied().unwrap_or(0);
                assert_eq!(words.one(word, skip as u32), one, "one({word:x}, {skip})");
                assert_eq!(
                    words.two_ones(word, skip as u32),
                    one | next,
                    "two_ones({word:x}, {skip})"
                );
                let below = word & ((1 << skip) - 1);
                assert_eq!(words.below(word, skip as u32), below, "below({word:x}, {skip})");
            }
            assert_eq!([64, 200].map(|index| words.below(word, index)), [word; 2]);
        }
    }

    #[test]
    fn ones_are_those_of_a_loop_over_bits() {
        for_all_words!(select_ones);
    }

    #[test]
    fn bytes_are_spread_and_compared_as_one_by_one() {
        for_all_words!(agree);
    }
}
