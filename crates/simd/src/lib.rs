//! The capabilities of the machine, and nothing about filters.
//!
//! - [`Isa`]: the instruction sets that the kernels of Trommel are written for. The best one is detected at
//!   run time; the variable `TROMMEL_ISA` or a filter's builder can force another.
//! - [`prefetch()`]: the prefetch hints that the batch pipeline issues.
//! - [`l2_bytes`]: the size of the second-level cache; prefetching pays for larger tables.
//! - [`rank`] and [`select`]: the two word operations of succinct structures, portable and with BMI2.
//! - [`bits_of`]: packs answers of one byte each into the bits of a word.
#![no_std]
#[cfg(any(feature = "std", test))]
extern crate std;

mod bytes;
mod cache;
mod isa;
mod kernel;
mod prefetch;
mod rank_select;

pub use bytes::bits_of;
pub use cache::l2_bytes;
pub use isa::{Isa, IsaError};
pub use kernel::prefetch;
pub use prefetch::Hint;
pub use rank_select::{RankSelect, rank, select};
