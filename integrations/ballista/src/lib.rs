//! Runtime filters between the stages of a Ballista cluster, for unchanged clients.
//!
//! The scheduler puts a filter in front of the shuffle of a join's larger side, if the estimated sizes predict that the
//! filter pays. The filter is built from the keys of the smaller side. This works for the plans of any client.
//! Scheduler and executors need this crate; Ballista and DataFusion are unmodified:
//!
//! ```no_run
//! # use ballista_scheduler::config::SchedulerConfig;
//! # use ballista_executor::executor_process::ExecutorProcessConfig;
//! # fn configs(executor: ExecutorProcessConfig) {
//! let scheduler = trommel_ballista::scheduler_config(SchedulerConfig::default());
//! let executor = trommel_ballista::executor_config(executor);
//! # }
//! ```
//!
//! The binaries `trommel-scheduler` and `trommel-executor` are Ballista's binaries, the first with the line for the
//! scheduler, the second with that for the executor. The scheduler also has an option that cancels queries without
//! progress ([`cancel_stalled_jobs`]).
//!
//! Filters are on for each client that does not register [`RuntimeFilterOptions`] with its session. A client that
//! registers them can set the options `trommel.runtime_filter.*` for its own queries. With each query, it sends the
//! values of all these options, also of those that it has not set, and these values replace the scheduler's. In
//! `RuntimeFilterOptions::default()`, `enabled` and `all_joins` are false, so a client that registers the options and
//! wants filters must set both to true.

mod codec;
mod config;
mod merge;
mod planner;
mod stalled;

pub use codec::physical_codec;
pub use config::{executor_config, scheduler_config};
pub use planner::{DistributedFilterPlanner, DistributedQueryPlanner};
pub use stalled::cancel_stalled_jobs;
pub use trommel_datafusion::RuntimeFilterOptions;
