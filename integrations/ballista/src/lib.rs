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
//! The binaries `trommel-scheduler` and `trommel-executor` are Ballista's binaries with one of these lines each. The
//! scheduler also has an option that cancels queries without progress ([`cancel_stalled_jobs`]).
//!
//! Filters are on unless a client turns them off. A client that registers [`RuntimeFilterOptions`] with its session can
//! set `trommel.runtime_filter.enabled` and all other options for its own queries. Such a client sends all of these
//! options with each query. `RuntimeFilterOptions::default()` turns filters off, so a client that wants filters must
//! set `enabled` and `all_joins` to true.

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
