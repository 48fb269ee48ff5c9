//! Code that is written or compiled for particular instruction sets.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod cpuid;
mod prefetch;
mod rank;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use cpuid::cpuid;
pub use prefetch::prefetch;
pub(crate) use rank::rank;
