//! What threads share memory by: the standard library's atomics, or the model checker's under
//! `cfg(loom)`, which tries every order that the memory model allows.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering};
