//! The hints for prefetching.

/// The levels of cache into which a prefetched cache line is loaded.
///
/// The best hint depends on the machine and on the size of the table that is read; `trommel-perf roofline` measures
/// random reads with each hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Into every level of cache.
    T0,
    /// Into the second level and the levels farther from the core.
    T1,
    /// Into a level close to the core, with as little use of the outer levels as the processor allows.
    Nta,
}
