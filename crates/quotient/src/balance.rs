//! Finds the slots of a block at which no run is open: up to such a slot, as many runs have ended as have begun.
//! (`layout/mod.rs` defines runs, occupieds and runends. `table.rs` defines homes and clusters.)
//!
//! Every occupied quotient begins a run at its home, and every runend ends one. Keep a sum from slot to slot: add 1 for
//! a run that begins, and subtract 1 for a run that ends. Where the sum is zero, no run is open. If the 1 is subtracted
//! at the slot after the runend, the slots with sum zero are the free ones. If the 1 is subtracted at the runend
//! itself, the last slots of clusters have sum zero too. So one pass over a block finds all its free slots and, in the
//! second case, also the ends of all its clusters.
//!
//! Rejected: jumping from run to run, where each jump waits for the jump before it (removals from tables at 95 % load
//! took 1.7 to 2.5 times as long).

/// A bit for each slot: whether `open`, plus the number of ones in `begun` up to and including the slot, equals the
/// number of ones in `ended` up to and including the slot. `begun` has the homes of the runs that begin in the block,
/// `ended` has the slots where runs stop being open, and `open` is the number of runs that are open before the block.
/// In a forged table, `ended` can have a bit where no run is open; then only the bits below the first such bit are
/// right, and the others can differ between instruction sets.
///
/// A byte of a word stands for eight slots. The sums of all eight bytes advance together, from one slot to the next.
#[inline(always)]
pub(crate) fn balanced(begun: u64, ended: u64, open: u32) -> u64 {
    // At most 64 runs end in a block, so 64 can stand for all higher numbers of open runs, or 65 if 64 runs do end.
    // Then no sum exceeds 128.
    let open = open.min(64 + u32::from(ended == u64::MAX));
    // For each byte: 8, plus the number of runs that begin in it, minus the number of runs that end in it.
    let more = ones_of_bytes(begun, !ended);
    // For each byte: the sum over all slots before its first slot, plus `BIAS`.
    let mut sums = (more.wrapping_mul(EACH << 8))
        .wrapping_add((u64::from(open) + BIAS).wrapping_mul(EACH))
        .wrapping_sub(EIGHTS_BEFORE);
    let mut above_zero = 0;
    for slot in 0..8 {
        sums = sums.wrapping_add(begun >> slot & EACH).wrapping_sub(ended >> slot & EACH);
        above_zero |= (sums & EACH << 7) >> (7 - slot);
    }
    !above_zero
}

/// The number 1 in every byte.
const EACH: u64 = 0x0101_0101_0101_0101;
/// Added to a sum, it sets the highest bit of the byte if the sum is 1 to 128, but not if the sum is 0.
const BIAS: u64 = 0x7F;
/// For each byte: eight times the number of bytes below it.
const EIGHTS_BEFORE: u64 = 0x3830_2820_1810_0800;

/// For each byte, the number of ones of both words in it.
#[inline(always)]
fn ones_of_bytes(one: u64, other: u64) -> u64 {
    const PAIRS: u64 = 0x5555_5555_5555_5555;
    const FOURS: u64 = 0x3333_3333_3333_3333;
    const BYTES: u64 = 0x0F0F_0F0F_0F0F_0F0F;
    let ones_of_fours = |word: u64| {
        let pairs = word - (word >> 1 & PAIRS);
        (pairs & FOURS) + (pairs >> 2 & FOURS)
    };
    let fours = ones_of_fours(one) + ones_of_fours(other);
    (fours & BYTES) + (fours >> 4 & BYTES)
}
