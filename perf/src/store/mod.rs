//! The files that runs and `compare --history` write, and the lock on the directory of a run.

pub(crate) mod lock;
pub(crate) mod results;
pub(crate) mod samples;
pub(crate) mod speeds;
