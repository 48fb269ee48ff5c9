//! What several threads gain: the engine beside a filter's own batch and the crates that one would otherwise
//! pick, each on the same numbers of threads.
//!
//! | module | idea |
//! |---|---|
//! | [`plan`] | which cases there are, and their names |
//! | [`threads`] | engines, and threads for rivals, started before this thread is pinned |
//! | [`runner`] | one face for ours and rivals |
//! | [`rows`] | groups of cases, verified and timed interleaved |
//! | [`strategies`] | both strategies by size, density and threads, and what is picked |
//! | [`mod@calibrate`], [`calibration`] | what the cost model says, measured on this machine |
//! | [`scaling`] | plots of speed by threads |
//! | [`shared`] | filters that threads share |
//! | [`wall`], [`peak`] | time on the wall, and memory |

mod calibrate;
mod calibration;
mod peak;
mod plan;
mod rows;
mod runner;
pub(crate) mod scaling;
mod shared;
pub(crate) mod strategies;
mod threads;
mod wall;

pub(crate) use calibrate::{Extent, measure as calibrate};
pub(crate) use calibration::Calibration;
pub(crate) use peak::during as peak_during;
pub(crate) use plan::{Input, groups_of};
pub(crate) use rows::Bench;
pub(crate) use strategies::Choice;
pub(crate) use threads::{MAX_THREADS, ThreadSet, numbers_of_threads};
