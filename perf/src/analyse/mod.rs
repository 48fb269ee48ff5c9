//! What rows say about each other: the rival of a row, and the changes between two runs.

pub(crate) mod compare;
pub(crate) mod rival;
