//! Sizes for tests that also run on machines with addresses of 32 bits.

/// `number`, or `usize::MAX` if that is less.
pub const fn clamped(number: u64) -> usize {
    if number > usize::MAX as u64 { usize::MAX } else { number as usize }
}
