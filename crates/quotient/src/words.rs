//! Rank, select and comparisons on words of a table. They are inlined, and compiled for the caller's instruction set.

use crate::balance;

/// Operations on a 64-bit word or on 64 bytes. A value of an implementing type proves that the machine has the
/// instructions that it uses.
pub(crate) trait Words: Copy {
    /// The number of ones of `word` below bit `index`; of all its ones if `index` is 64 or more.
    fn rank(self, word: u64, index: u32) -> u32;
    /// The index of the one that has `skip` ones below it. The caller must ensure that `word` has more than `skip`
    /// ones.
    fn select(self, word: u64, skip: u32) -> u32;
    /// A bit for each slot of a block: whether no run is open there. See [`balance`].
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64;
    /// Unpacks eight numbers of `bits` bits, which are packed from the lowest bit on, into a byte each. The caller must
    /// ensure that `bits` is at most 8.
    fn spread(self, packed: u64, bits: u32) -> u64;
    /// A bit for each byte: whether it is greater than the one at the same index of `others`.
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64;
    /// A bit for each byte: whether it equals the one at the same index of `others`.
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64;
}

/// A mask of the lowest `bits` bits of every byte.
#[inline(always)]
pub(crate) const fn low_bits_of_bytes(bits: u32) -> u64 {
    0x0101_0101_0101_0101 * (0xFF >> (8 - bits))
}

/// A bit for each index: whether `holds` is true of the two bytes there.
#[inline(always)]
fn each_pair(bytes: &[u8; 64], others: &[u8; 64], holds: impl Fn(u8, u8) -> bool) -> u64 {
    let mut bits = [0; 64];
    for ((bit, byte), other) in bits.iter_mut().zip(bytes).zip(others) {
        *bit = u8::from(holds(*byte, *other));
    }
    trommel_simd::bits_of(&bits)
}

/// [`Words`] in portable code, with no more instructions than the build target guarantees.
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
