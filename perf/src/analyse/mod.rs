//! Compares a row with the row of its rival, and the runs of two programs with each other.

pub(crate) mod compare;
pub(crate) mod rival;
