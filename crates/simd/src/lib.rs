//! The instruction sets and the second-level cache of the machine, prefetching, and operations on single words.
//!
//! - [`Isa`]: the instruction sets that the kernels of Trommel, the inner loops of its filters, are written for. On
//!   x86-64 with the feature `std`, filters use the best set of the machine, which is detected at run time. In all
//!   other cases, they use the best set that the target of the compilation guarantees. A filter's builder or, with the
//!   feature `std`, the environment variable `TROMMEL_ISA` can choose another available set.
//! - [`prefetch()`]: asks the processor to load a cache line ahead of its use.
//! - [`l2_bytes`]: the size of a core's second-level cache. The batch pipeline of the filters compares the size of a
//!   table with this size to decide whether to prefetch.
//! - [`rank`] and [`select`]: rank and select on one 64-bit word, as succinct data structures use them. Both are
//!   portable. [`RankSelect`] uses BMI2 on [`Isa::Avx2`] and the sets above it.
//! - [`bits_of`]: packs one-byte answers into the bits of a word.
#![no_std]
#[cfg(any(feature = "std", test))]
extern crate std;

mod bytes;
mod cache;
mod isa;
mod kernel;
mod names;
mod prefetch;
mod rank_select;

pub use bytes::bits_of;
pub use cache::l2_bytes;
pub use isa::{Isa, IsaError};
pub use kernel::prefetch;
pub use prefetch::Hint;
pub use rank_select::{RankSelect, rank, select};
