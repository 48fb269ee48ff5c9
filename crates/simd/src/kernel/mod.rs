//! What is written per instruction set.

mod prefetch;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

pub use prefetch::prefetch;
