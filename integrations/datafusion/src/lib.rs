//! Trommel's filters in DataFusion: two SQL functions, and runtime filters of joins.
//!
//! [`register_all`] adds all of them to a session:
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::common::Result<()> {
//! let context = SessionContext::new();
//! trommel_datafusion::register_all(&context)?;
//! context.sql("CREATE TABLE chosen AS VALUES (3), (5)").await?.collect().await?;
//! let found = context
//!     .sql("SELECT value FROM range(1000000) WHERE might_contain((SELECT trommel_filter(column1) FROM chosen), value)")
//!     .await?
//!     .count()
//!     .await?;
//! assert!((2..20_000).contains(&found)); // 3, 5, and at most about 1 % of the other values
//! # Ok(())
//! # }
//! ```
//!
//! - [`TrommelFilter`], `trommel_filter(key [, fpr [, kind [, keys]]])`, makes the frozen filter of a column.
//! - [`MightContain`], `might_contain(filter, key)`, looks a key up in a frozen filter.
//! - [`RuntimeFilterRule`] filters an input of a join by the keys of the other input, before the filtered input is
//!   repartitioned, sorted or sent. The rule is off until `SET trommel.runtime_filter.enabled = true`;
//!   [`RuntimeFilterOptions`] has the options.
//!
//! [`trommel_arrow`] documents which values are equal as keys. `trommel_filter` leaves out NULLs. `might_contain` is
//! true if the key or the filter is NULL. A runtime filter of a join drops rows whose key is NULL.

mod aggregate;
mod arguments;
mod descend;
mod estimates;
mod exec;
mod filter;
mod groups;
mod key_set;
mod loading;
mod might_contain;
mod node;
mod options;
mod planner;
#[cfg(feature = "proto")]
pub mod proto;
mod register;
mod rule;
mod stream;

pub use aggregate::{TrommelFilter, trommel_filter_udaf};
pub use arguments::MAX_FILTER_BYTES;
pub use estimates::filtered_rows;
pub use exec::RuntimeFilterExec;
pub use key_set::ALWAYS_TRUE;
pub use might_contain::{MightContain, might_contain_udf};
pub use node::{FilteredJoin, RuntimeFilterNode};
pub use options::RuntimeFilterOptions;
pub use planner::{RuntimeFilterPlanner, RuntimeFilterQueryPlanner};
pub use register::{might_contain, register_all, register_functions, trommel_filter};
pub use rule::RuntimeFilterRule;
pub use stream::Sampling;
