//! A run: groups of cases, each verified, timed, and saved as soon as it ends.

pub(crate) mod engine;
pub(crate) mod progress;
pub(crate) mod session;
pub(crate) mod simulate;
