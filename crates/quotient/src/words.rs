//! Rank, select and comparisons on words of a table. They are inlined, and compiled for the caller's instruction set.

use crate::balance;
use wide::u8x16;

/// Operations on a 64-bit word, or on 32 or 64 bytes. A value of an implementing type proves that the machine has the
/// instructions that the methods of this type use.
pub(crate) trait Words: Copy {
    /// Whether there is an instruction that selects a set bit. Otherwise, a selection takes some 30 instructions.
    const SELECTS: bool;
    /// The number of set bits of `word` below bit `index`. If `index` is 64 or more, this is the number of all set
    /// bits of `word`. The caller must ensure that `index` is at most 255.
    fn rank(self, word: u64, index: u32) -> u32;
    /// The index of the set bit of `word` that has `skip` set bits below it. The caller must ensure that `word` has
    /// more than `skip` set bits.
    fn select(self, word: u64, skip: u32) -> u32;
    /// `word` without the bits from `index` on; all of `word` if `index` is 64 or more. The caller must ensure that
    /// `index` is at most 255.
    fn below(self, word: u64, index: u32) -> u64;
    /// A word with a single bit: the set bit of `word` that has `skip` set bits below it. Returns 0 if `word` has no
    /// more than `skip` set bits. The caller must ensure that `skip` is below 64.
    fn one(self, word: u64, skip: u32) -> u64;
    /// A word with two bits: the set bit of `word` that has `skip` set bits below it, and the next set bit above it. If
    /// `word` has too few set bits, the result has only the first of the two, or no bits. The caller must ensure that
    /// `skip` is below 64.
    #[inline(always)]
    fn two_ones(self, word: u64, skip: u32) -> u64 {
        let first = self.one(word, skip);
        let after = word & !(first | first.wrapping_sub(1));
        first | after & after.wrapping_neg()
    }
    /// A bit for each slot of a block: 1 if no run is open at the slot. See [`balance::balanced`].
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64;
    /// `packed` has numbers of `bits` bits, one after another from bit 0 on. Returns the first eight, each in a byte of
    /// its own. The caller must ensure that `bits` is 1 to 8.
    fn spread(self, packed: u64, bits: u32) -> u64;
    /// A bit for each byte of `bytes`: whether the byte is greater than that at the same index of `others`.
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64;
    /// A bit for each byte of `bytes`: whether the byte equals that at the same index of `others`.
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64;
    /// A bit for each byte of `bytes`: whether the byte equals `other`.
    fn equal_to(self, bytes: &[u8; 64], other: u8) -> u64;
    /// A bit for each byte of `bytes`: whether the byte is at most `other`.
    fn at_most(self, bytes: &[u8; 64], other: u8) -> u64;
    /// The number of the first `count` bytes that are less than `other`, and whether one of them equals `other`. The
    /// caller must ensure that `count` is at most 32.
    fn rank_of(self, other: u8, bytes: &[u8; 32], count: u32) -> (u32, bool);
}

/// A mask of the lowest `bits` bits of every byte.
#[inline(always)]
pub(crate) const fn low_bits_of_bytes(bits: u32) -> u64 {
    0x0101_0101_0101_0101 * (0xFF >> (8 - bits))
}

/// A bit for each index: whether `holds` is true of the two bytes at that index.
#[inline(always)]
fn each_pair(bytes: &[u8; 64], others: &[u8; 64], holds: impl Fn(u8, u8) -> bool) -> u64 {
    let mut bits = [0; 64];
    for ((bit, byte), other) in bits.iter_mut().zip(bytes).zip(others) {
        *bit = u8::from(holds(*byte, *other));
    }
    trommel_simd::bits_of(&bits)
}

/// Implements [`Words`] in portable code, which uses only instructions that the build target guarantees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl Words for Plain {
    const SELECTS: bool = false;

    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        trommel_simd::rank(word, index)
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        trommel_simd::select(word, skip)
    }

    #[inline(always)]
    fn below(self, word: u64, index: u32) -> u64 {
        word & 1u64.checked_shl(index).map_or(u64::MAX, |bit| bit - 1)
    }

    #[inline(always)]
    fn one(self, word: u64, skip: u32) -> u64 {
        let index = trommel_simd::select(word, skip);
        u64::from(index < 64) << (index % 64)
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

    #[inline(always)]
    fn equal_to(self, bytes: &[u8; 64], other: u8) -> u64 {
        of_vectors(bytes, |bytes| bytes.simd_eq(u8x16::splat(other)))
    }

    #[inline(always)]
    fn at_most(self, bytes: &[u8; 64], other: u8) -> u64 {
        of_vectors(bytes, |bytes| at_most(bytes, other))
    }

    #[inline(always)]
    fn rank_of(self, other: u8, bytes: &[u8; 32], count: u32) -> (u32, bool) {
        let first = self.below(u64::MAX, count);
        let equal = of_vectors(bytes, |bytes| bytes.simd_eq(u8x16::splat(other))) & first;
        let below = of_vectors(bytes, |bytes| at_most(bytes, other)) & first & !equal;
        (below.count_ones(), equal != 0)
    }
}

/// 0xFF for each byte that is at most `other`, else 0. SSE2 has an instruction for the minimum of unsigned bytes, but
/// none that compares them for order.
#[inline(always)]
fn at_most(bytes: u8x16, other: u8) -> u8x16 {
    bytes.min(u8x16::splat(other)).simd_eq(bytes)
}

/// `of` maps each of 16 bytes to 0 or 0xFF. Returns a bit for each of up to 64 bytes: whether `of` maps it to 0xFF.
#[inline(always)]
fn of_vectors<const BYTES: usize>(bytes: &[u8; BYTES], of: impl Fn(u8x16) -> u8x16) -> u64 {
    const { assert!(BYTES <= 64) };
    let (vectors, _) = bytes.as_chunks::<16>();
    let mut bits = 0;
    for (i, vector) in vectors.iter().enumerate() {
        bits |= u64::from(of(u8x16::from(*vector)).to_bitmask()) << (16 * i);
    }
    bits
}
