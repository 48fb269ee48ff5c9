//! The vocabulary of prefetching.

/// How close to the core a prefetched line is brought.
///
/// Measured on a Sapphire Rapids core with random 64-byte lines: `T0` is best while the structure
/// fits the last-level cache, `T1` at around 256 MB (131–157 M lines/s against 91–154), `Nta` at
/// 1 GB (77–84 against 56–60) and two to four times worse below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Into every level of cache.
    T0,
    /// Into the second level and beyond.
    T1,
    /// Close to the core, leaving the outer levels alone.
    Nta,
}
