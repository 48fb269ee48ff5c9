//! The hints for prefetching.

/// How close to the core a prefetched line is brought.
///
/// The best hint depends on the machine and on the size of the table that is read; `trommel-perf roofline` measures
/// which hint is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Into every level of cache.
    T0,
    /// Into the second level and beyond.
    T1,
    /// Close to the core, without filling the outer levels.
    Nta,
}
