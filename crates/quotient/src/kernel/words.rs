//! Words of a table, and rank and select on them, as the function that they are inlined into can compute them.

use super::balance;

/// Rank and select on a 64-bit word. A value of such a type is the proof that the machine has what it
/// takes.
pub(crate) trait Words: Copy {
    /// Ones of `word` below bit `index`; all of them from 64 on.
    fn rank(self, word: u64, index: u32) -> u32;
    /// The place of the one that comes after `skip` others. There is one.
    fn select(self, word: u64, skip: u32) -> u32;
    /// The slots of a block where no run is open any more: see [`balance`].
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64;
    /// Eight numbers of `bits` bits, at most eight, packed from the lowest bit on: a byte for each.
    fn spread(self, packed: u64, bits: u32) -> u64;
    /// Which bytes are greater than the others at the same index.
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64;
    /// Which bytes equal the others at the same index.
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64;
}

/// The lowest `bits` bits of every byte.
#[inline(always)]
const fn low_bits_of_bytes(bits: u32) -> u64 {
    0x0101_0101_0101_0101 * (0xFF >> (8 - bits))
}

/// A bit for each pair of bytes.
#[inline(always)]
fn each_pair(bytes: &[u8; 64], others: &[u8; 64], holds: impl Fn(u8, u8) -> bool) -> u64 {
    let mut bits = [0; 64];
    for ((bit, byte), other) in bits.iter_mut().zip(bytes).zip(others) {
        *bit = u8::from(holds(*byte, *other));
    }
    trommel_simd::bits_of(&bits)
}

/// Whatever the target has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl Words for Plain {
    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        trommel_simd::rank(word, index)
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        trommel_simd::select(word, skip)
    }

    #[inline(always)]
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64 {
        balance::balanced(begun, ended, open)
    }

    #[inline(always)]
    fn spread(self, packed: u64, bits: u32) -> u64 {
        (0..8).fold(0, |bytes, i| bytes | (packed >> (bits * i)) << (8 * i) & 0xFF << (8 * i))
            & low_bits_of_bytes(bits)
    }

    #[inline(always)]
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        each_pair(bytes, others, |byte, other| byte > other)
    }

    #[inline(always)]
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        each_pair(bytes, others, |byte, other| byte == other)
    }
}

/// POPCNT, BMI1, BMI2 and AVX2: inside functions that are compiled for them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// # Safety
    /// The machine has POPCNT, BMI1, BMI2 and AVX2.
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
        // SAFETY: as in `rank`.
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
        // SAFETY: as in `rank`.
        unsafe { core::arch::x86_64::_pdep_u64(packed, low_bits_of_bytes(bits)) }
    }

    #[inline(always)]
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        // SAFETY: as in `balanced`.
        unsafe { above_avx2(bytes, others) }
    }

    #[inline(always)]
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        // SAFETY: as in `balanced`.
        unsafe { equal_avx2(bytes, others) }
    }
}

/// Half of 64 bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn half(bytes: &[u8; 64], half: usize) -> core::arch::x86_64::__m256i {
    let half: &[u8; 32] = &bytes.as_chunks().0[half];
    // SAFETY: 32 bytes.
    unsafe { core::arch::x86_64::_mm256_loadu_si256(half.as_ptr().cast()) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn above_avx2(bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
    use core::arch::x86_64::*;
    let above = |i| {
        let (bytes, others) = (half(bytes, i), half(others, i));
        // Not above where the larger of both is the other.
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

/// A word of a table.
///
/// # Safety
/// The word lies within the table.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn word(table: *const u8, at: usize) -> u64 {
    // SAFETY: the caller's duty.
    u64::from_le(unsafe { table.add(at).cast::<u64>().read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;
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
            // SAFETY: the machine has what AVX2 stands for, as just checked.
            agree(unsafe { Avx2::new() });
        }
    }
}
