//! A run: verifies and times groups of cases, and saves the results of each group as soon as the group ends.

pub(crate) mod engine;
pub(crate) mod progress;
pub(crate) mod session;
pub(crate) mod simulate;
