//! How large a table is, and where in it a hash belongs.

use crate::layout::{Layout, Shape};
use trommel_base::range::reduce;

/// The numbers that a table's shape follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Slots that quotients are drawn from: any number, no power of two needed.
    pub slots: u64,
    /// Blocks of the table: those of the slots, and a few for what the last clusters push beyond them,
    /// so that nothing wraps around.
    pub blocks: u64,
    /// Bits of a remainder.
    pub remainder_bits: u32,
    /// The most copies of one fingerprint: 1 in a set, [`MAX_COPIES`] in a multiset.
    pub copies: u32,
    /// How many fingerprints there are. `slots · 2^remainder_bits` when a filter is made; growing and
    /// shrinking keep it, since they cannot ask the keys for more bits.
    pub fingerprints: u64,
}

/// The most copies of one key that a multiset keeps. An insert costs time in proportion to the copies
/// that are there, and this bounds it.
pub const MAX_COPIES: u32 = 255;
/// No filter has more slots.
pub(crate) const MAX_SLOTS: u64 = 1 << 42;
/// The most bits of quotient and remainder together. Two bits of the hash are left for rounding.
pub(crate) const MAX_FINGERPRINT_BITS: u32 = 62;
/// The load that a filter reaches with any distinct keys of uniform hashes. Above it, and with many copies of few
/// keys, inserts go on until one finds no slot, each slower than the last.
pub const GUARANTEED_LOAD: f64 = 0.95;

impl Geometry {
    /// Slots beyond the last quotient's. A cluster at 95 % load that reaches the end has pushed `x`
    /// slots beyond it with probability `e^(−0.105 x)`: 320 slots are one failure in 10^14 filters. A
    /// small filter cannot push so far; there, four standard deviations of the number of its keys do.
    pub(crate) fn overhang_slots(slots: u64) -> u64 {
        320.min(32 + 4 * slots.isqrt())
    }

    /// The largest number of slots that fits `with_overhang` slots with its overhang; `None` if not even one does.
    pub(crate) fn slots_with_overhang_of(with_overhang: u64) -> Option<u64> {
        // The overhang is 320 from 72² slots on.
        if with_overhang >= 72 * 72 + 320 {
            return Some(with_overhang - 320);
        }
        // With `root = ⌊√slots⌋`: `slots + 32 + 4 · root` slots, and `(root + 2)² + 28` at a square.
        let root = with_overhang.checked_sub(28)?.isqrt().checked_sub(2)?;
        let slots = (with_overhang - 32 - 4 * root).min(root * (root + 2));
        (slots > 0).then_some(slots)
    }

    /// The number of blocks for `slots` and their overhang.
    pub(crate) fn blocks_for<L: Layout>(slots: u64) -> u64 {
        (slots + Self::overhang_slots(slots)).div_ceil(u64::from(L::SLOTS))
    }

    /// The numbers that offsets in the table depend on.
    #[inline(always)]
    pub(crate) fn shape(&self) -> Shape {
        Shape { blocks: self.blocks as usize, remainder_bits: self.remainder_bits }
    }

    /// The bytes of the table.
    pub(crate) fn table_bytes<L: Layout>(&self) -> u64 {
        L::table_bytes(self.blocks, self.remainder_bits)
    }

    /// Fingerprints that quotient and remainder can tell apart: at least `fingerprints`.
    pub(crate) fn places(&self) -> u64 {
        self.slots << self.remainder_bits
    }

    /// Quotient and remainder of a hash: `floor(hash · slots · 2^r / 2^64)` in two parts. They grow
    /// with the hash, so to go through hashes in order is to go through the table in order.
    ///
    /// Where remainder 0 is reserved to mark free slots, it becomes 1.
    #[inline(always)]
    pub(crate) fn split<L: Layout>(&self, hash: u64) -> (u64, u32) {
        let quotient = reduce(hash, self.slots);
        let fraction = hash.wrapping_mul(self.slots);
        let remainder = (fraction >> (64 - self.remainder_bits)) as u32;
        (quotient, L::stored(self.remainder_bits, remainder))
    }
}
