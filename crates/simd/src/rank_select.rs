//! Rank and select on one 64-bit word (Jacobson, "Space-efficient static trees and graphs", 1989).

use crate::{Isa, IsaError, kernel};

/// The number of ones of `word` below position `index`; all of them for an index of 64 and more.
///
/// ```
/// assert_eq!(trommel_simd::rank(0b1011, 0), 0);
/// assert_eq!(trommel_simd::rank(0b1011, 3), 2);
/// assert_eq!(trommel_simd::rank(u64::MAX, 64), 64);
/// ```
#[inline]
#[must_use]
pub fn rank(word: u64, index: u32) -> u32 {
    kernel::rank(word, index)
}

/// The position of the `n`-th one of `word`, counted from 0; 64 if it has no more than `n` ones.
///
/// This is a binary search over partial popcounts, in six steps and without a table. [`RankSelect`] does the same with
/// one `pdep` and one `tzcnt` if the instruction set has BMI2.
///
/// ```
/// assert_eq!(trommel_simd::select(0b1011, 0), 0);
/// assert_eq!(trommel_simd::select(0b1011, 2), 3);
/// assert_eq!(trommel_simd::select(0b1011, 3), 64);
/// ```
#[inline]
#[must_use]
pub fn select(word: u64, n: u32) -> u32 {
    if n >= word.count_ones() {
        return 64;
    }
    let mut rest = n;
    let mut position = 0;
    let mut width = 32;
    while width > 0 {
        let low = (word >> position) & ((1u64 << width) - 1);
        let ones = low.count_ones();
        if rest >= ones {
            rest -= ones;
            position += width;
        }
        width /= 2;
    }
    position
}

/// Rank and select on a given instruction set, for code that is not itself a kernel.
///
/// ```
/// use trommel_simd::{Isa, RankSelect};
/// let words = RankSelect::for_isa(Isa::best()).unwrap();
/// assert_eq!(words.select(0b1010, 1), 3);
/// assert_eq!(words.rank(0b1010, 3), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RankSelect {
    rank: fn(u64, u32) -> u32,
    select: fn(u64, u32) -> u32,
}

impl RankSelect {
    /// The functions for an instruction set.
    ///
    /// # Errors
    /// [`IsaError::Unavailable`] if the machine lacks it.
    pub fn for_isa(isa: Isa) -> Result<Self, IsaError> {
        match isa.require()? {
            #[cfg(target_arch = "x86_64")]
            isa if isa >= Isa::Avx2 => {
                use crate::kernel::x86;
                Ok(Self { rank: x86::rank, select: x86::select })
            }
            _ => Ok(Self { rank, select }),
        }
    }

    /// See [`rank`].
    #[inline]
    #[must_use]
    pub fn rank(&self, word: u64, index: u32) -> u32 {
        (self.rank)(word, index)
    }

    /// See [`select`].
    #[inline]
    #[must_use]
    pub fn select(&self, word: u64, n: u32) -> u32 {
        (self.select)(word, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words with no ones, all ones, single ones, and bits of a multiplicative sequence.
    fn words() -> impl Iterator<Item = u64> {
        let single = (0..64).map(|i| 1u64 << i);
        let mixed = (1..2000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17));
        let sparse = (1..500u64).map(|i| {
            let x = i.wrapping_mul(0xD6E8_FEB8_6659_FD93);
            x & x.rotate_left(13) & x.rotate_left(29)
        });
        [0, u64::MAX].into_iter().chain(single).chain(mixed).chain(sparse)
    }

    #[test]
    fn rank_and_select_agree_with_counting_bit_by_bit_on_every_isa() {
        for isa in Isa::available() {
            let of_isa = RankSelect::for_isa(isa).unwrap();
            for word in words() {
                let mut ones = 0;
                for i in 0..64 {
                    assert_eq!(of_isa.rank(word, i), ones, "{isa} rank({word:#x}, {i})");
                    if word >> i & 1 == 1 {
                        assert_eq!(of_isa.select(word, ones), i, "{isa} select({word:#x}, {ones})");
                        ones += 1;
                    }
                }
                for beyond in [ones, 63.max(ones), 64, 65, u32::MAX] {
                    assert_eq!(
                        of_isa.select(word, beyond),
                        64,
                        "{isa} select({word:#x}, {beyond})"
                    );
                    assert_eq!(of_isa.rank(word, beyond.max(64)), ones);
                }
            }
        }
    }
}
