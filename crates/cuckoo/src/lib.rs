//! Cuckoo filters: fingerprints in buckets of four, two buckets a key.
#![no_std]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod bucket;
mod bulk;
mod evict;
mod filter;
mod frozen;
mod full_buckets;
mod geometry;
mod grow;
mod kernel;
mod merge;
mod overflow;
mod place;
mod rate;
mod sizing;
mod table;
mod walk;
mod width;

pub use filter::CuckooFilter;
pub use geometry::{GUARANTEED_LOAD, Geometry};
pub use grow::GrowError;
