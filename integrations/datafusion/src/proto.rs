//! Plans as bytes, for engines that send them to other processes.
//!
//! Each codec adds to another one what this crate has: the functions by name, and the runtime filter. So a process that
//! decodes with it needs no function registry.

mod logical;
mod physical;
mod wire;

pub use logical::TrommelLogicalCodec;
pub use physical::TrommelPhysicalCodec;
