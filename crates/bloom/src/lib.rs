//! Bloom filters: four layouts of the same idea, and a filter with counters.
//!
//! A key sets `k` bits; a lookup that finds one of them clear proves that the key is absent.
//!
//! | filter | a key's bits | cache lines per lookup | bits/key at 1 % / 0.1 % |
//! |---|---|---|---|
//! | [`BloomFilter`] | `k` anywhere | up to `k` | 9.6 / 14.4 |
//! | [`CacheLineBloom`] | one in each of 8 lanes of a 512-bit line | 1 | 10.1 / 15.7 |
//! | [`SplitBlockBloom`] | one in each of 8 lanes of a 256-bit block (Parquet's) | 1 | 10.5 / 16.9 |
//! | [`RegisterBloom`] | up to 8 in one 64-bit word | 1 | 12.1 / 24.0 |
//! | [`CountingBloomFilter`] | a standard filter, with a counter per bit | up to `k` | 5 times the standard's; with compact counters 3 times, and 16 bytes for each counter above 2 |
//!
//! A view reads a frozen filter in place. If the frozen bytes are not aligned to 64 bytes, the word, block or 512-bit
//! line that has a key's bits can span two cache lines of the processor. A lookup then reads more cache lines than the
//! table above says.
//!
//! The first four filters are one type, [`Bloom`], generic over a [`Layout`] and over owned or borrowed bytes. The
//! fifth adds counters to the standard filter. [`Bloom::into_shared`] turns a filter of the first four kinds into a
//! [`SharedBloom`], which several threads can insert into at once.
//!
//! ```
//! use trommel::{Filter, Insert, SplitBlockBloom};
//!
//! let mut filter = SplitBlockBloom::with_capacity_and_fpr(1000, 0.01)?;
//! filter.insert("anvil").unwrap();
//! assert!(filter.contains("anvil"));
//! # Ok::<(), trommel::SpecError>(())
//! ```
#![no_std]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod add;
mod block;
mod bulk;
mod counters;
mod counting;
mod filter;
mod frozen;
mod geometry;
mod kernel;
mod layout;
mod overflow;
#[cfg(test)]
mod safety_tests;
mod set_algebra;
#[cfg(target_has_atomic = "64")]
mod shared;

pub use counters::CounterWidth;
pub use counting::CountingBloomFilter;
pub use filter::Bloom;
pub use geometry::Geometry;
pub use layout::{CacheLine, Layout, Register, SplitBlock, Standard};
#[cfg(target_has_atomic = "64")]
pub use shared::SharedBloom;
use trommel_base::Storage;
#[doc(inline)]
pub use trommel_base::builder::{Builder, CountingOptions, FoldOptions};

/// The standard Bloom filter; see [`Standard`].
pub type BloomFilter<S = Storage> = Bloom<Standard, S>;
/// The register-blocked Bloom filter; see [`Register`].
pub type RegisterBloom<S = Storage> = Bloom<Register, S>;
/// The split-block Bloom filter of Parquet; see [`SplitBlock`].
pub type SplitBlockBloom<S = Storage> = Bloom<SplitBlock, S>;
/// The cache-line-blocked Bloom filter; see [`CacheLine`].
pub type CacheLineBloom<S = Storage> = Bloom<CacheLine, S>;

/// A [`BloomFilter`] that several threads insert into.
#[cfg(target_has_atomic = "64")]
pub type SharedBloomFilter = SharedBloom<Standard>;
/// A [`RegisterBloom`] that several threads insert into.
#[cfg(target_has_atomic = "64")]
pub type SharedRegisterBloom = SharedBloom<Register>;
/// A [`SplitBlockBloom`] that several threads insert into.
#[cfg(target_has_atomic = "64")]
pub type SharedSplitBlockBloom = SharedBloom<SplitBlock>;
/// A [`CacheLineBloom`] that several threads insert into.
#[cfg(target_has_atomic = "64")]
pub type SharedCacheLineBloom = SharedBloom<CacheLine>;
