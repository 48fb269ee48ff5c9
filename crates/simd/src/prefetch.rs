//! The vocabulary of prefetching.

/// How close to the core a prefetched line is brought.
///
/// Which is best depends on the machine and on the size of the structure; the harness measures it
/// (`trommel-perf roofline`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Into every level of cache.
    T0,
    /// Into the second level and beyond.
    T1,
    /// Close to the core, leaving the outer levels alone.
    Nta,
}
