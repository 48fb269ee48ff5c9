//! Rank in plain Rust. It is compiled for the target's baseline and, on x86-64, a second time for BMI2 by `x86.rs`.

/// The number of ones of `word` below position `index`; the number of all its ones if `index` is 64 or more.
#[inline(always)]
pub(crate) fn rank(word: u64, index: u32) -> u32 {
    let below = 1u64.checked_shl(index).map_or(u64::MAX, |bit| bit - 1);
    (word & below).count_ones()
}
