//! The atomics for memory that threads share: the standard library's, or under `cfg(loom)` those of the model checker
//! loom, which tries the orders of the threads' accesses one after the other.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering};
