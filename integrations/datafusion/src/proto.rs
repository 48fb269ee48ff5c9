//! Encodes plans as bytes, for engines that send them to other processes.
//!
//! Each codec of this module encodes the runtime filter and this crate's functions, and uses another codec for
//! everything else. A function is encoded as its name. A process that decodes with a codec of this module need not
//! register this crate's functions.

mod logical;
mod physical;
mod wire;

pub use logical::TrommelLogicalCodec;
pub use physical::TrommelPhysicalCodec;
