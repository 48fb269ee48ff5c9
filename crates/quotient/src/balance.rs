//! Finds the slots of a block at which no run is open: up to such a slot, as many runs have ended as have begun.
//! (`layout/mod.rs` defines runs, occupieds and runends. `table.rs` defines homes and clusters.)
//!
//! Every occupied quotient begins a run at its home, and every runend ends one. Keep a sum from slot to slot: add 1 for
//! a run that begins, and subtract 1 for a run that ends. Where the sum is zero, no run is open. If the 1 is subtracted
//! at the slot after the runend, the slots with sum zero are the free ones. If the 1 is subtracted at the runend
//! itself, the last slots of clusters have sum zero too. So one pass over a block finds all free slots of the block, or
//! the ends of all its clusters.
//!
//! Rejected: jumping from run to run, where each jump waits for the jump before it (removals from tables at 95 % load
//! took 1.7 to 2.5 times as long).

/// A bit for each slot: whether `open`, plus the number of ones in `begun` up to and including the slot, equals the
/// number of ones in `ended` up to and including the slot. `begun` has the homes of the runs that begin in the block,
/// `ended` has the slots where runs stop being open, and `open` is the number of runs that are open before the block.
/// In a forged table, `ended` can have a bit where no run is open; then only the bits below the first such bit are
/// right.
#[inline(always)]
pub(crate) fn balanced(begun: u64, ended: u64, open: u32) -> u64 {
    let mut open = u64::from(open);
    let mut balanced = 0;
    for byte in 0..8 {
        let begun = ones_up_to_each_bit(begun >> (8 * byte));
        let ended = ones_up_to_each_bit(ended >> (8 * byte));
        // The sums within a byte are at most 8, so all values of `open` above 8 have the same effect.
        let more_begun = begun.wrapping_add(open.min(9) * EACH);
        balanced |= zero_bytes(more_begun ^ ended) << (8 * byte);
        open = open.wrapping_add(begun >> 56).wrapping_sub(ended >> 56);
    }
    balanced
}

/// The number 1 in every byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// For each of the eight lowest bits, a byte: the number of ones up to and including that bit.
#[inline(always)]
fn ones_up_to_each_bit(bits: u64) -> u64 {
    let own = (bits & 0xFF).wrapping_mul(EACH) & 0x8040_2010_0804_0201;
    // 1 in every byte of `own` that is not zero.
    let set = own.wrapping_add(EACH * 0x7F) >> 7 & EACH;
    set.wrapping_mul(EACH)
}

/// A bit for each byte: whether it is zero. The caller must ensure that all bytes are below 128.
#[inline(always)]
fn zero_bytes(bytes: u64) -> u64 {
    let zero = !bytes.wrapping_add(EACH * 0x7F) >> 7 & EACH;
    trommel_simd::bits_of(&zero.to_le_bytes())
}
