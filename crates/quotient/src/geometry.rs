//! The size of a table, and the quotient and remainder of a hash in it.

use crate::layout::{Layout, Shape};
use trommel_base::range::reduce;

/// The size of a table and of its fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of quotients. Each has a slot. The number need not be a power of two.
    pub slots: u64,
    /// The number of blocks in the table. They have room for `slots` slots, and for at least
    /// `min(320, 32 + 4 · ⌊√slots⌋)` more slots, for remainders that are pushed beyond the last quotient's slot. So
    /// remainders need not wrap around to the first slots.
    pub blocks: u64,
    /// The number of bits of a remainder.
    pub remainder_bits: u32,
    /// The most copies of one fingerprint: 1 in a set, [`MAX_COPIES`] in a multiset.
    pub copies: u32,
    /// The number of possible fingerprints. It is `slots · 2^remainder_bits` in a new filter, or `2^fingerprint_bits`
    /// if that option was given. A resize does not change it: the filter does not store the keys, so it cannot take
    /// more bits from their hashes.
    pub fingerprints: u64,
}

/// The most copies of one fingerprint that a multiset keeps. The time of an insert grows with the number of copies that
/// the filter holds already, and this maximum bounds that growth.
pub const MAX_COPIES: u32 = 255;
/// The most slots of a filter.
pub(crate) const MAX_SLOTS: u64 = 1 << 42;
/// The most bits of quotient and remainder together. Two bits of the hash are left for rounding: see
/// [`Rounding`](crate::fingerprint::Rounding).
pub(crate) const MAX_FINGERPRINT_BITS: u32 = 62;
/// The load that a filter reaches with any distinct keys whose hashes are uniform. Above this load, or with many copies
/// of few keys, inserts get slower and slower until an insert finds no free slot.
pub const GUARANTEED_LOAD: f64 = 0.95;

impl Geometry {
    /// The number of slots after the last quotient's slot, called the overhang. At 95 % load, runs extend `x` slots or
    /// more beyond the last quotient with a probability of about `e^(−0.102 x)`, so 320 slots are too few in less than
    /// one of 10^14 filters. Runs extend `x` slots beyond the last quotient only if some range of slots gets `x` more
    /// keys than it has slots. The number of keys that hash to a range has a standard deviation of at most `√slots`, so
    /// runs extend less far in a small filter, and an overhang of 32 slots plus four times `√slots` is enough for it.
    pub(crate) fn overhang_slots(slots: u64) -> u64 {
        320.min(32 + 4 * slots.isqrt())
    }

    /// The largest number of slots that, together with its overhang, is at most `with_overhang`. `None` if even one
    /// slot and its overhang are more than that.
    pub(crate) fn slots_with_overhang_of(with_overhang: u64) -> Option<u64> {
        // From 72² slots on, the overhang is 32 + 4 · 72 = 320.
        if with_overhang >= 72 * 72 + 320 {
            return Some(with_overhang - 320);
        }
        // With `root = ⌊√slots⌋`, the sum of slots and overhang is `slots + 32 + 4 · root`. If `slots` is a square,
        // this sum is `(root + 2)² + 28`. So `root` below is the root of the largest square that fits with its
        // overhang. The largest number of slots with this root is `root · (root + 2)`, one less than the next square.
        let root = with_overhang.checked_sub(28)?.isqrt().checked_sub(2)?;
        let slots = (with_overhang - 32 - 4 * root).min(root * (root + 2));
        (slots > 0).then_some(slots)
    }

    /// The number of blocks for `slots` slots and their overhang.
    pub(crate) fn blocks_for<L: Layout>(slots: u64) -> u64 {
        (slots + Self::overhang_slots(slots)).div_ceil(u64::from(L::SLOTS))
    }

    /// The numbers from which byte offsets in the table are computed.
    #[inline(always)]
    pub(crate) fn shape(&self) -> Shape {
        Shape { blocks: self.blocks as usize, remainder_bits: self.remainder_bits }
    }

    /// The number of bytes of the table.
    pub(crate) fn table_bytes<L: Layout>(&self) -> u64 {
        L::table_bytes(self.blocks, self.remainder_bits)
    }

    /// The number of pairs of quotient and remainder: at least `fingerprints`.
    pub(crate) fn places(&self) -> u64 {
        self.slots << self.remainder_bits
    }

    /// The quotient and the stored remainder of a hash: the high and the low part of
    /// `floor(hash · slots · 2^r / 2^64)`. That number grows with the hash, so ascending hashes belong to ascending
    /// slots.
    ///
    /// [`Layout::stored`] gives the stored form of a remainder. The stored form is never 0 if the layout reserves 0 to
    /// mark free slots.
    #[inline(always)]
    pub(crate) fn split<L: Layout>(&self, hash: u64) -> (u64, u32) {
        let quotient = reduce(hash, self.slots);
        let fraction = hash.wrapping_mul(self.slots);
        let remainder = (fraction >> (64 - self.remainder_bits)) as u32;
        (quotient, L::stored(self.remainder_bits, remainder))
    }
}
