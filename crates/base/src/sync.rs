//! The atomics for memory that threads share: the standard library's, or under `cfg(loom)` those of the
//! model checker, which tries every order that the memory model allows.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering};
