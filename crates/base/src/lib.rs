//! The parts that all filters of Trommel share, and nothing that only one of them needs.
//!
//! | module | idea |
//! |---|---|
//! | [`key`], [`hash`] | keys are hashed once, at the edge: [`Key`] → [`Hasher`] → [`KeyHash`] |
//! | [`mod@column`] | strings as columnar formats have them: offsets and bytes |
//! | [`range`] | a hash to a block: multiply and shift, any number of blocks |
//! | [`storage`] | zeroed, line-aligned memory in huge pages where it is large |
//! | [`bitmap`] | one answer bit a key |
//! | [`batch`] | the batch pipeline: locate, prefetch, probe |
//! | [`partition`] | keys grouped by the part of a table that they belong to, one pass |
//! | [`sizing`] | exact false-positive rates and their inverses |
//! | [`spec`], [`builder`] | what a filter is asked to be, checked before anything is allocated; how a kind is asked |
//! | [`container`] | frozen, checked bytes |
//! | [`block`] | the block form: a table and a trailer, for engines that hold many small filters |
//! | [`workers`] | pieces of a large batch, and the threads that work on them |
//! | [`filter`], [`error`] | the traits, and how they fail |
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
pub use workers::{Bulk, CallerThread, InsertBulk, ScratchRequest, Workers};
