//! Encodes plans as bytes, for engines that send them to other processes.
//!
//! Each codec extends another codec by this crate's functions, encoded by name, and by the runtime filter. A process
//! that decodes with it needs no function registry.

mod logical;
mod physical;
mod wire;

pub use logical::TrommelLogicalCodec;
pub use physical::TrommelPhysicalCodec;
