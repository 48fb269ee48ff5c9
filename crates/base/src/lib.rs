//! The parts that the families of filters share, and the options, sizing equations and errors of every family.
//!
//! | module | idea |
//! |---|---|
//! | [`key`], [`hash`] | a key is hashed once, before it reaches a filter: [`Key`] → [`Hasher`] → [`KeyHash`] |
//! | [`mod@column`] | columns of strings as columnar formats store them: offsets and bytes |
//! | [`range`] | maps a hash to an index below `n` by a multiplication and a shift, for any `n` |
//! | [`storage`] | zeroed memory, aligned to cache lines, in huge pages if it is large |
//! | [`bitmap`] | one answer bit per key |
//! | [`batch`] | the batch pipeline: locate, prefetch, probe |
//! | [`partition`] | groups keys by the part of a table that they belong to |
//! | [`sizing`] | the equations of the false-positive rates, and their inverses |
//! | [`spec`], [`builder`] | the options of a filter, checked before anything is allocated; the builder of each kind |
//! | [`kind`] | the list of the kinds of filter, with their names and numbers |
//! | [`container`] | the frozen format: a header with checksums, then the payload |
//! | [`block`] | the block form: a table and a trailer, for engines that hold many small filters |
//! | [`workers`] | the pieces of a large batch, and the threads that work on them |
//! | [`filter`], [`error`] | the traits and the error types |
#![no_std]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod batch;
pub mod bitmap;
pub mod block;
pub mod builder;
pub mod column;
pub mod container;
pub mod error;
pub mod filter;
pub mod hash;
mod kernel;
pub mod key;
pub mod kind;
mod methods;
pub mod partition;
pub mod range;
pub mod sizing;
pub mod spec;
pub mod storage;
#[cfg(target_has_atomic = "64")]
#[doc(hidden)]
pub mod sync;
pub mod workers;

pub use bitmap::Bitmap;
pub use block::PolicyError;
pub use builder::Builder;
pub use column::OffsetsError;
pub use error::{
    FoldError, FormatError, Full, Incompatible, MergeError, SpecError, Unsupported, WhyFull,
};
pub use filter::{Count, Filter, Insert, InsertShared, Merge, Remove};
pub use hash::{HashId, Hasher};
pub use key::{Key, KeyHash};
pub use kind::FilterKind;
pub use spec::{FromSpec, Spec};
pub use storage::{Backing, Storage};
pub use workers::{Bulk, CallerThread, InsertBulk, ScratchRequest, Task, Tasks, Workers};
