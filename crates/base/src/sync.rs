//! The atomics for memory that threads share. They come from the standard library or, under `cfg(loom)`, from the model
//! checker loom, which runs a test with one order of the threads' accesses after another.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering};
