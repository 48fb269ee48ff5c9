//! Trommel: approximate-membership filters. The fastest kinds answer hundreds of millions of lookups per second on one
//! core.
//!
//! Asked whether it holds a key, a filter answers "certainly not" or "perhaps". It never misses a key that it holds. Of
//! the keys that it does not hold, the share that it reports as present is its *false-positive rate*. The expected rate
//! is at most the rate that was chosen when the filter was made, as long as the filter holds no more keys than it was
//! made for. In front of a database table, a disk or a network, a filter saves most of the accesses that would find
//! nothing.
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
//! Bloom kinds have `add`, which returns no error. Every kind has [`Insert::insert`], which returns whether the filter
//! changed, or [`Full`] if a filter with slots (a quotient or cuckoo filter) has no room, or if the system refuses
//! memory for the insert.
//!
//! # Which filter
//!
//! | you want | take | bits per key at a false-positive rate of 1 % |
//! |---|---|---|
//! | faster lookups than those of [`SplitBlockBloom`] on some machines with AVX-512, and have memory to spare | [`RegisterBloom`] | 12.1 |
//! | a good all-rounder, or Parquet's format | [`SplitBlockBloom`] | 10.5 |
//! | a lower false-positive rate (0.1 to 0.4 %) at one cache line per lookup | [`CacheLineBloom`] | 10.1 |
//! | few bits per key, where most lookups are of absent keys | [`BloomFilter`] | 9.6 |
//! | to remove keys, and never be full | [`CountingBloomFilter`] | 48; with compact counters 29 when empty, 75 with all keys |
//! | to remove, count or enumerate keys; to grow or shrink without the keys; to merge filters of different sizes that have the same [`fingerprint_bits`](quotient::Builder::fingerprint_bits) | [`QuotientFilter`] | 9.6 |
//! | to remove, count or enumerate keys, with faster lookups than [`QuotientFilter`] and a false-positive rate of 0.37 %; to grow without the keys | [`CacheLineQuotient`] | 10.8 (at 0.37 %) |
//! | to remove or count keys, with lookups about as fast as those of [`BloomFilter`] | [`CuckooFilter`] | 12.6 (at 0.2 %); 8.4 at 3 % |
//!
//! To remove keys at a false-positive rate of 1 %, start with [`QuotientFilter`]. The modules [`quotient`] and
//! [`cuckoo`] explain when to take another kind. The kind can be chosen at run time: [`FilterSpec`] builds an
//! [`AnyFilter`].
//!
//! # One key or many
//!
//! A filter sees no keys, only their [`KeyHash`]es. In a large filter, a lookup of one key waits for memory. A batch
//! ([`Filter::contains_batch`]) keeps many cache lines in flight and computes in SIMD vectors, so a batch of about 64
//! keys or more is usually two to five times as fast as single lookups of its keys. The answers are a [`Bitmap`].
//!
//! ```
//! use trommel::{Bitmap, Filter, RegisterBloom};
//!
//! let mut filter = RegisterBloom::with_capacity_and_fpr(10_000, 0.01)?;
//! let orders: Vec<u64> = (0..10_000).map(|i| i * 32).collect();
//! let mut hashes = Vec::new();
//! filter.hasher().hash_batch(&orders, &mut hashes);
//! filter.add_batch(&hashes);
//!
//! let mut found = Bitmap::new(0);
//! filter.contains_batch(&hashes, &mut found);
//! assert_eq!(found.count_ones(), orders.len());
//! # Ok::<(), trommel::SpecError>(())
//! ```
//!
//! # Filters as bytes
//!
//! Every filter of the kinds above has `to_bytes`, which returns its frozen bytes, and, with the feature `std`,
//! `write_to`, which writes them. The frozen bytes name the hash function and its seed, and contain checksums.
//! `from_bytes` reads the bytes into an owned filter. A [`FilterView`] reads the bytes in place, without a copy of the
//! table. So does an [`OwnedView`](container::OwnedView), which has no lifetime, since it owns the bytes. If a byte was
//! changed, reading fails with a [`FormatError`], unless the view is [trusted](FilterView::parse_trusted).
//!
//! ```
//! use std::fs::{self, File};
//! use trommel::container::OwnedView;
//! use trommel::{BloomFilter, Filter, FilterView};
//!
//! # let path = std::env::temp_dir().join(format!("trommel-{}.filter", std::process::id()));
//! let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
//! filter.add("anvil");
//! filter.write_to(File::create(&path)?)?;
//!
//! let bytes = fs::read(&path)?;
//! assert!(FilterView::parse(&bytes)?.contains("anvil"));
//! let view = OwnedView::parse(bytes)?;
//! assert!(view.contains("anvil"));
//! # fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A storage engine that builds one filter for each few KB of data uses a [`FilterPolicy`]. The *filter blocks* of a
//! policy have no header, only a table and a trailer of one or two bytes. The storage engine stores the policy's name
//! once.
//!
//! ```
//! use trommel::{FilterKind, FilterPolicy};
//!
//! let policy = FilterPolicy::builder(FilterKind::Bloom).bits_per_key(10.0).build()?;
//! let hashes = ["anvil", "forge"].map(|key| policy.hash(key));
//! let mut block = vec![0; policy.encoded_len(hashes.len())];
//! policy.build_into(&hashes, &mut block)?;
//! assert!(policy.may_match(&block, policy.hash("anvil")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several threads
//!
//! An [`Engine`] builds, fills and probes filters of every kind on all cores. It chooses the method for each batch,
//! mainly by the sizes of the filter and the batch. The resulting filter has the same bytes with any number of threads.
//! (The exception is a cuckoo filter, if there is too little memory for its bulk build.) [`Engine::stream`] takes keys
//! that do not fit into memory.
//!
//! If your own threads insert into one filter at the same time ([`InsertShared`]), turn a Bloom filter without counters
//! into a [`SharedBloom`](bloom::SharedBloom), which has no locks. Turn it back into the Bloom filter when the threads
//! are done. For the other kinds, use a [`ShardedFilter`](engine::ShardedFilter).
//!
//! ```
//! use trommel::{Filter, SplitBlockBloom};
//!
//! let shared = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?.into_shared();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| shared.add("anvil"));
//!     scope.spawn(|| shared.add("forge"));
//! });
//! let filter = shared.into_filter();
//! assert!(filter.contains("anvil") && filter.contains("forge"));
//! # Ok::<(), trommel::SpecError>(())
//! ```
//!
//! # Merging
//!
//! Two filters that were built with the same parameters can be [merged](Merge) into a filter with the keys of both. A
//! filter with slots must have room for all keys, and two cuckoo filters must have doubled their tables equally often.
//! To merge frozen bytes without an owned copy, view them: each type's `union` takes a view of the same type, and
//! [`AnyFilter::merge_view`] takes a [`FilterView`] of the same kind. If a parameter that must be equal differs, the
//! error names the parameter and its two values. After an error, the filter is unchanged.
//!
//! ```
//! use trommel::{Filter, Merge, SplitBlockBloom};
//!
//! let mut all = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
//! let mut part = all.clone();
//! part.add("anvil");
//! all.merge(&part)?;
//! all.union(&SplitBlockBloom::parse(&part.to_bytes())?)?;
//! assert!(all.contains("anvil"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # If the system refuses memory
//!
//! If the system refuses memory, a call that returns a `Result` either does without the memory and takes longer, or
//! returns an error (the exceptions are listed last). The error states how many bytes were refused, unless it is an
//! error of `std::io`. After the error, the filter holds the same keys as before, except that a batch of inserts keeps
//! the keys that its error reports as inserted. (A filter that grows by itself can have doubled.)
//!
//! A call that can neither return an error nor do without the memory ends the program, as the standard library's
//! collections do. Most such calls are these:
//!
//! - `to_bytes`; the alternative is `write_to`;
//! - `clone`;
//! - calls that extend a [`Bitmap`] or a vector of hashes; the alternatives are [`Bitmap::try_reserve`] and
//!   `Vec::try_reserve`.
//!
//! Some calls can end the program although they return a `Result`: streams, [`LineBatches`](engine::LineBatches), the
//! making of an [`OwnedView`](container::OwnedView), changes of a counting filter with [compact](FilterSpec::compact)
//! counters, the start of an engine's threads, and the calls that hand work to these threads.
#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// This module comes first, since the modules below use its macros.
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

/// Runs the example of docs/security.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/security.md")]
struct SecurityExample;

/// Runs the examples of docs/embedding.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingExamples;
