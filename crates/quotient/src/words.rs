//! Rank, select and comparisons on words of a table, as the function that they are inlined into can compute them.

use crate::balance;

/// Rank and select on a 64-bit word. A value of such a type is the proof that the machine has the
/// instructions.
pub(crate) trait Words: Copy {
    /// Ones of `word` below bit `index`; all of them from 64 on.
    fn rank(self, word: u64, index: u32) -> u32;
    /// The index of the one after `skip` others. There is one.
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
pub(crate) const fn low_bits_of_bytes(bits: u32) -> u64 {
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

/// The instructions of the target.
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
