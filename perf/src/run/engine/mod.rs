//! Measures how much faster several threads are than one. Trommel's `Engine` is compared with the batch calls of the
//! filter itself, which run on one thread, and with rivals on the same numbers of threads.
//!
//! | module | content |
//! |---|---|
//! | [`plan`] | lists the cases and their names |
//! | [`threads`] | starts engines, and threads for rivals and shared filters |
//! | [`runner`] | builds and calls our filters and rivals through one trait |
//! | [`rows`] | verifies the cases of a group and times them interleaved |
//! | [`strategies`] | for each size, number of keys and threads: times both strategies, records which the model picks |
//! | [`mod@calibrate`], [`calibration`] | measure and store the constants of the cost model |
//! | [`shared`] | Bloom filters into which several threads insert at the same time |
//! | [`wall`], [`peak`] | measure wall-clock time and peak memory |

mod calibrate;
mod calibration;
mod peak;
mod plan;
mod rows;
mod runner;
mod shared;
pub(crate) mod strategies;
mod threads;
mod wall;

pub(crate) use calibrate::{Extent, measure as calibrate};
pub(crate) use calibration::Calibration;
pub(crate) use peak::during as peak_during;
pub(crate) use plan::groups_of;
pub(crate) use rows::Bench;
pub(crate) use threads::{ThreadSet, numbers_of_threads};
