//! Compares a row with the row of its rival, and the runs of an old build of `trommel-perf` with those of a new one.

pub(crate) mod compare;
pub(crate) mod rival;
