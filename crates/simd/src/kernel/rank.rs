//! Rank in plain Rust, compiled for the target's baseline. On x86-64, it is also inlined into a function of `x86.rs`
//! that is compiled for POPCNT and BMI2.

/// The number of set bits of `word` below position `index`; the number of all its set bits if `index` is 64 or more.
#[inline(always)]
pub(crate) fn rank(word: u64, index: u32) -> u32 {
    let below = 1u64.checked_shl(index).map_or(u64::MAX, |bit| bit - 1);
    (word & below).count_ones()
}
