//! The atomics for memory that threads share. They come from the standard library or, under `cfg(loom)`, from the model
//! checker loom, which runs a test many times, each time with another order of the threads' accesses.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering};
