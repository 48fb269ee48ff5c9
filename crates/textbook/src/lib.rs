//! Quotient and cuckoo filters as their papers describe them, and cuckoo hash tables, from which the cuckoo filter was
//! derived. The code of all three is written to be read beside the papers, and `trommel-perf` measures it. Tests use
//! the quotient filter as an oracle.
//!
//! The code puts clarity first: no SIMD, no prefetching, no clever arithmetic. If a fast quotient filter gives
//! another answer than the textbook version with the same fingerprints, the fast filter is wrong.
//!
//! | module | structure | paper |
//! |---|---|---|
//! | [`quotient`] | quotient filter with three metadata bits per slot | Bender et al., PVLDB 5 (2012) |
//! | [`cuckoo`] | cuckoo filter with buckets of 1 to 8 entries | Fan et al., CoNEXT (2014) |
//! | [`cuckoo_hashing`] | exact sets: cuckoo hashing and seven variants | Pagh and Rodler, J. Algorithms 51 (2004), and others |
//!
//! ```
//! use trommel_base::{Filter, Insert};
//! use trommel_textbook::TextbookQuotientFilter;
//!
//! let mut filter = TextbookQuotientFilter::new(10, 8)?;
//! filter.insert("anvil").unwrap();
//! assert!(filter.contains("anvil"));
//! # Ok::<(), trommel_base::SpecError>(())
//! ```
#![no_std]

extern crate alloc;

mod batch;
pub mod cuckoo;
pub mod cuckoo_hashing;
pub mod quotient;
mod random;

pub use cuckoo::TextbookCuckooFilter;
pub use quotient::TextbookQuotientFilter;
