//! Rank and select on one 64-bit word (Jacobson, "Space-efficient static trees and graphs", 1989).

use crate::{Isa, IsaError, kernel};

/// The number of set bits of `word` below position `index`; the number of all its set bits if `index` is 64 or more.
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

/// The position of the `n`-th set bit of `word` (the first is `n = 0`); 64 if `word` has at most `n` set bits.
///
/// One multiplication counts the set bits up to the end of each byte, one comparison of all bytes finds the byte that
/// contains the `n`-th set bit, and a table of 2 KiB gives the position of this bit in the byte. Source: Vigna,
/// "Broadword implementation of rank/select queries", WEA 2008, algorithm 2. On an instruction set with BMI2,
/// [`RankSelect`] does the same with one `pdep` and one `tzcnt`.
///
/// ```
/// assert_eq!(trommel_simd::select(0b1011, 0), 0);
/// assert_eq!(trommel_simd::select(0b1011, 2), 3);
/// assert_eq!(trommel_simd::select(0b1011, 3), 64);
/// ```
#[inline]
#[must_use]
pub fn select(word: u64, n: u32) -> u32 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = (nibbles + (nibbles >> 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    // Byte i of `ones` is the number of set bits in the bytes 0 to i of the word, at most 64.
    let ones = bytes.wrapping_mul(EACH);
    // The high bit of byte i of `before` is set if the bytes 0 to i of the word have at most `n` set bits. The `n`-th
    // set bit, if it exists, is after these bytes. No byte of the difference borrows from the next.
    let n = u64::from(n.min(64));
    let before = ((n * EACH) | (0x80 * EACH)).wrapping_sub(ones) & (0x80 * EACH);
    let shift = ((before >> 7).wrapping_mul(EACH) >> 53 & 0x38) as u32;
    let rest = n.wrapping_sub(ones << 8 >> shift & 0xFF);
    let byte = word >> shift & 0xFF;
    let position = shift + u32::from(SELECT_IN_BYTE[rest as usize % 8][byte as usize]);
    // There is no early return here, since the processor could not predict its branch.
    if n < ones >> 56 { position } else { 64 }
}

/// Entry `byte` of row `n`: the position of the `n`-th set bit of the byte (the first is `n = 0`); 0 if the byte has at
/// most `n` set bits.
static SELECT_IN_BYTE: [[u8; 256]; 8] = {
    let mut positions = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut n, mut position) = (0, 0);
        while position < 8 {
            if byte >> position & 1 == 1 {
                positions[n][byte] = position;
                n += 1;
            }
            position += 1;
        }
        byte += 1;
    }
    positions
};

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
    /// [`IsaError::Unavailable`] if the machine lacks the instruction set.
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

    /// The words 0 and `u64::MAX`; words with a single set bit; words of a multiplicative sequence, with about half of
    /// their bits set; and words with few set bits.
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

    #[test]
    fn a_set_that_the_machine_lacks_is_refused() {
        for isa in Isa::ALL {
            assert_eq!(RankSelect::for_isa(isa).is_ok(), isa.is_available(), "{isa}");
        }
    }
}
