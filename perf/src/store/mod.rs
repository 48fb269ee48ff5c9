//! The files that a run writes, and the lock on their directory.

pub(crate) mod lock;
pub(crate) mod results;
pub(crate) mod samples;
pub(crate) mod speeds;
