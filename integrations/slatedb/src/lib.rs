//! Trommel's filter blocks as filters of [SlateDB](slatedb), through its public traits.
//!
//! [`TrommelFilterPolicy`] is a [`slatedb::FilterPolicy`]. With this policy, SlateDB writes a Trommel filter block into
//! each table of at least `Settings::min_filter_keys` rows, and looks a key up in the block before it reads data of the
//! table. The writer, every reader and a compactor that runs in its own process need the same policies.
//!
//! ```
//! use slatedb::object_store::{ObjectStore, memory::InMemory};
//! use slatedb::{Db, DbReader};
//! use std::sync::Arc;
//! use trommel_slatedb::TrommelFilterPolicy;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
//! let policy = TrommelFilterPolicy::with_bits_per_key(10.0)?;
//! let db = Db::builder("words", store.clone()).with_filter_policies(vec![Arc::new(policy.clone())]).build().await?;
//! db.put(b"anvil", b"iron").await?.await_durable().await?;
//!
//! let reader = DbReader::builder("words", store).with_filter_policies(vec![Arc::new(policy)]).build().await?;
//! assert!(reader.get(b"anvil").await?.is_some());
//! assert!(reader.get(b"bellows").await?.is_none());
//! # reader.close().await?;
//! # db.close().await?;
//! # Ok(())
//! # }
//! ```

mod builder;
mod encoding;
mod filter;
mod hashing;
mod policy;

pub use policy::TrommelFilterPolicy;
pub use trommel;

/// Compiles the example in README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
