//! Encodes plans as bytes, for engines that send them to other processes.
//!
//! Each codec extends another codec: it also encodes the runtime filter and this crate's functions. A function is
//! encoded as its name. A process that decodes with such a codec need not register this crate's functions.

mod logical;
mod physical;
mod wire;

pub use logical::TrommelLogicalCodec;
pub use physical::TrommelPhysicalCodec;
