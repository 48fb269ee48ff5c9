//! Trommel: approximate-membership filters that answer hundreds of millions of keys a second.
//!
//! A filter says "certainly not" or "perhaps": it never misses a key that it holds, and errs on others
//! at a rate that was chosen when it was made. In front of a table, a disk or a network it saves the
//! trips that would find nothing.
//!
//! ```
//! use trommel::{Filter, SplitBlockBloom};
//!
//! let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000_000, 0.01)?;
//! filter.add("anvil");
//! assert!(filter.contains("anvil"));
//! # Ok::<(), trommel::SpecError>(())
//! ```
//!
//! # One key or many
//!
//! Keys are hashed once, at the edge, into [`KeyHash`]es. A lookup of one key waits for memory; a
//! batch ([`Filter::contains_batch`]) keeps many lines in flight and works in vectors, which is two to
//! five times as fast. It pays from some 64 keys on; answers come as a [`Bitmap`].
//!
//! ```
//! use trommel::{Bitmap, Filter, FilterKind, FilterSpec, Insert};
//!
//! let mut filter = FilterSpec::new(FilterKind::RegisterBloom).keys(10_000).fpr(0.01).build()?;
//! let orders: Vec<u64> = (0..10_000).map(|i| i * 32).collect();
//! let mut hashes = Vec::new();
//! filter.hasher().hash_batch(&orders, &mut hashes);
//! filter.insert_batch(&hashes).unwrap();
//!
//! let mut found = Bitmap::new(0);
//! filter.contains_batch(&hashes, &mut found);
//! assert_eq!(found.count_ones(), orders.len());
//! # Ok::<(), trommel::SpecError>(())
//! ```
//!
//! # All cores
//!
//! An [`Engine`] builds, fills and probes filters of every kind on several threads, and decides how from the sizes
//! of filter and batch; the filter is the same with any number of threads. [`Engine::stream`] takes keys that do
//! not fit into memory.
//!
//! # One filter for each block of data
//!
//! A storage engine that keeps a filter for each few KB of data, and holds only its bytes, takes a [`FilterPolicy`]: it
//! builds and probes filter blocks, which have no header.
//!
//! # Which filter
//!
//! | you want | take | bits/key at 1 % |
//! |---|---|---|
//! | the fastest lookups, memory to spare | [`RegisterBloom`] | 12.1 |
//! | a good all-rounder, or Parquet's format | [`SplitBlockBloom`] | 10.5 |
//! | a lower rate (0.1 to 0.4 %) at one line a lookup | [`CacheLineBloom`] | 10.1 |
//! | the fewest bits a key, mostly misses | [`BloomFilter`] | 9.6 |
//! | to forget keys, however many come | [`CountingBloomFilter`] | 48, or 29 compact |
//! | to forget, count or enumerate keys; to grow or shrink to any size, or merge unlike sizes of the same [`fingerprint_bits`](quotient::Builder::fingerprint_bits) | [`QuotientFilter`] | 9.6 |
//! | the same as fast as can be, at 0.37 % | [`CacheLineQuotient`] | 10.8 |
//! | to forget or count keys, with lookups as fast as a Bloom filter's, at 3 % or 0.2 % | [`CuckooFilter`] | 12.6 (0.2 %), 8.4 (3 %) |
//!
//! [`quotient`] says more of when to take a quotient filter, [`cuckoo`] of when to take a cuckoo filter.
//!
//! Several threads insert at once into a [`SharedBloom`](bloom::SharedBloom), which a Bloom filter without counters turns into and
//! back, and into a [`ShardedFilter`](engine::ShardedFilter) of any kind: [`InsertShared`].
//!
//! The kind can be chosen at run time: [`FilterSpec`] builds an [`AnyFilter`]. Frozen bytes of any kind
//! are read by [`AnyFilter::from_bytes`] or, without a copy, by [`FilterView::parse`].
#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// Before the modules whose macros it gives the rows to.
#[macro_use]
mod kinds;

mod accumulate;
mod any;
pub mod container;
#[cfg(feature = "parallel")]
pub mod engine;
pub mod error;
mod frozen;
#[cfg(target_has_atomic = "ptr")]
mod owned_view;
pub mod policy;
#[cfg(feature = "parallel")]
mod sharded;
mod spec;
mod view;

pub use accumulate::FilterAccumulator;
pub use any::AnyFilter;
#[cfg(feature = "parallel")]
pub use engine::Engine;
pub use policy::FilterPolicy;
pub use spec::FilterSpec;
pub use trommel_base::{
    Bitmap, Count, Filter, FilterKind, FormatError, Full, Hasher, Incompatible, Insert,
    InsertShared, Key, KeyHash, Merge, MergeError, PolicyError, Remove, SpecError, Unsupported,
};
#[doc(inline)]
pub use trommel_bloom as bloom;
pub use trommel_bloom::{
    BloomFilter, CacheLineBloom, CountingBloomFilter, RegisterBloom, SplitBlockBloom,
};
#[doc(inline)]
pub use trommel_cuckoo as cuckoo;
pub use trommel_cuckoo::CuckooFilter;
#[doc(inline)]
pub use trommel_quotient as quotient;
pub use trommel_quotient::{CacheLineQuotient, QuotientFilter};
pub use trommel_simd::Isa;
pub use view::FilterView;
