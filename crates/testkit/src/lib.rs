//! Code that the tests of every family of filters share. The statistical tests of `trommel-benches` need
//! this crate as an ordinary dependency; the other crates that use it have it as a dev-dependency.
//!
//! | module | idea |
//! |---|---|
//! | [`streams`] | deterministic streams of hashes, friendly and hostile |
//! | [`oracle`] | an exact multiset of hashes, the truth that a filter approximates |
//! | [`sizes`] | huge sizes, limited to `usize::MAX` on machines with addresses of 32 bits; specs of a size |
//! | [`stats`] | how far a count may be from its expectation |
//! | [`subject`] | the information that the contract needs to test a filter |
//! | [`process`] | a test that runs in a process of its own |
//! | [`threads`] | threads that work on the pieces of a large batch |
//! | [`contract`] | the claims, and the macros that make tests of them: [`contract_suite!`] for the claims about every filter, and further macros for the claims about capabilities |
//!
//! The test of a family describes each of the family's filters once, as a [`subject::Subject`], and lists
//! suites of claims for that filter. Each claim becomes a test, or one test per instruction set if the claim depends
//! on the instruction set. A claim is a plain generic function that panics if the claim does not hold.

pub mod contract;
pub mod oracle;
pub mod process;
pub mod sizes;
pub mod stats;
pub mod streams;
pub mod subject;
pub mod threads;

pub use oracle::Multiset;
pub use streams::{Splitmix, Stream};
pub use subject::Subject;
pub use threads::ScopedThreads;

// The macros' expansions name these types by this path, so that a test crate need not depend on their crates itself.
#[doc(hidden)]
pub use trommel_base::{FormatError, Hasher, KeyHash};
#[doc(hidden)]
pub use trommel_simd::Isa;

/// Implements the required methods of [`Filter`](trommel_base::Filter), except `contains_batch`, for a type that wraps a
/// filter in the given field.
#[macro_export]
macro_rules! delegate_to {
    ($field:tt) => {
        fn contains_hash(&self, hash: $crate::KeyHash) -> bool {
            self.$field.contains_hash(hash)
        }
        fn hasher(&self) -> $crate::Hasher {
            self.$field.hasher()
        }
        fn len(&self) -> usize {
            self.$field.len()
        }
        fn memory_bytes(&self) -> usize {
            self.$field.memory_bytes()
        }
        fn expected_fpr(&self) -> f64 {
            self.$field.expected_fpr()
        }
    };
}

/// Calls a generic function once for each type of a list: `for_each_type!(check: Standard, Register)`.
#[macro_export]
macro_rules! for_each_type {
    ($check:ident: $($type:ty),+ $(,)?) => {
        $($check::<$type>();)+
    };
}
