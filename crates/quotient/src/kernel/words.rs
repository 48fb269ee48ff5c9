//! [`Words`] with BMI2 and AVX2, and reads of words of a table.

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
    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        // SAFETY: the code that made this value checked that the machine has BMI2.
        let below = unsafe { core::arch::x86_64::_bzhi_u64(word, index) };
        below.count_ones()
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        // SAFETY: the code that made this value checked that the machine has BMI2.
        let one = unsafe { core::arch::x86_64::_pdep_u64(1 << skip, word) };
        one.trailing_zeros()
    }

    #[inline(always)]
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64 {
        // SAFETY: the code that made this value checked that the machine has AVX2 and BMI2.
        unsafe { balance::balanced_avx2(begun, ended, open) }
    }

    #[inline(always)]
    fn spread(self, packed: u64, bits: u32) -> u64 {
        // SAFETY: the code that made this value checked that the machine has BMI2.
        unsafe { core::arch::x86_64::_pdep_u64(packed, low_bits_of_bytes(bits)) }
    }

    #[inline(always)]
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        // SAFETY: the code that made this value checked that the machine has AVX2 and BMI2.
        unsafe { above_avx2(bytes, others) }
    }

    #[inline(always)]
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        // SAFETY: the code that made this value checked that the machine has AVX2 and BMI2.
        unsafe { equal_avx2(bytes, others) }
    }
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
        // A byte is not above the other if the larger of both equals the other.
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
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn word(table: *const u8, at: usize) -> u64 {
    // SAFETY: the caller guarantees that the eight bytes lie within the table.
    u64::from_le(unsafe { table.add(at).cast::<u64>().read_unaligned() })
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    use super::Avx2;
    use crate::words::{Plain, Words};
    use trommel_testkit::Splitmix;

    fn agree<W: Words>(words: W) {
        let mut random = Splitmix::new(65);
        for bits in 1..=8 {
            for _ in 0..200 {
                let packed = random.word();
                let bytes = words.spread(packed, bits).to_le_bytes();
                for (i, byte) in bytes.into_iter().enumerate() {
                    let number = packed >> (i * bits as usize) & (0xFF >> (8 - bits));
                    assert_eq!(u64::from(byte), number, "{bits} {packed:x}");
                }
                let narrow = |byte: u8| byte >> (8 - bits);
                let [bytes, others]: [[u8; 64]; 2] =
                    [0, 0].map(|_| core::array::from_fn(|_| narrow(random.word() as u8)));
                let (above, equal) = (words.above(&bytes, &others), words.equal(&bytes, &others));
                for i in 0..64 {
                    assert_eq!(above >> i & 1 == 1, bytes[i] > others[i]);
                    assert_eq!(equal >> i & 1 == 1, bytes[i] == others[i]);
                }
            }
        }
    }

    #[test]
    fn bytes_are_spread_and_compared_as_one_by_one() {
        agree(Plain);
        #[cfg(target_arch = "x86_64")]
        if trommel_simd::Isa::Avx2.is_available() {
            // SAFETY: the condition checks that the machine has AVX2, with all that `Isa::Avx2` stands for.
            agree(unsafe { Avx2::new() });
        }
    }
}
