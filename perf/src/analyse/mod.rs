//! Comparisons between rows: of a row with that of its rival, and of the runs of two programs.

pub(crate) mod compare;
pub(crate) mod rival;
