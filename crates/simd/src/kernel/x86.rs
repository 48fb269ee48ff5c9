//! Rank and select with POPCNT and BMI2.
#![allow(unsafe_code)]

use core::arch::x86_64::_pdep_u64;

#[inline]
#[target_feature(enable = "popcnt,bmi1,bmi2")]
fn rank_bmi2(word: u64, index: u32) -> u32 {
    super::rank::rank(word, index)
}

/// `pdep` moves bit `n` of its first argument to the position of the `n`-th set bit of `word` (the first is `n = 0`).
/// The number of trailing zeros of the result is that position, or 64 if `word` has at most `n` set bits. For `n` of 64
/// and more, `1 << n` would overflow.
#[inline]
#[target_feature(enable = "popcnt,bmi1,bmi2")]
fn select_bmi2(word: u64, n: u32) -> u32 {
    if n >= 64 { 64 } else { _pdep_u64(1 << n, word).trailing_zeros() }
}

/// Calls [`rank_bmi2`].
pub(crate) fn rank(word: u64, index: u32) -> u32 {
    // SAFETY: this function is reached only through `RankSelect::for_isa`, which checks that the machine has the
    // instruction set, and that the set is `Isa::Avx2` or one above it. These sets include POPCNT, BMI1 and BMI2.
    unsafe { rank_bmi2(word, index) }
}

/// Calls [`select_bmi2`].
pub(crate) fn select(word: u64, n: u32) -> u32 {
    // SAFETY: as in `rank`.
    unsafe { select_bmi2(word, n) }
}
