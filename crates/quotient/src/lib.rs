//! Quotient filters: hash tables that keep only what tells keys apart.
//!
//! A key's hash is a fingerprint. Its high part, the quotient, is a slot; its low part, the remainder, is
//! stored there, or a little further where others are in the way. Two bits per slot say what belongs where.
//!
//! # When to take one
//!
//! | you need | take |
//! |---|---|
//! | lookups and inserts alone | a blocked Bloom filter: two to four times as fast, and never full |
//! | to remove keys, or count them | a quotient filter: 9.6 bits per key at 1 %, where a counting Bloom filter takes 29 to 48 |
//! | a low rate | a quotient filter below 0.4 %: `(r + 2.125) / 0.95` bits per key halve the rate with every 1.05 bits; a blocked Bloom filter takes 1.7 and more |
//! | the most lookups per second from L2, and removals | a cuckoo filter of 8 bits: at 2.5 %, batches 1.3 to 1.5 times as fast as in either quotient filter with 3e5 keys, 1.0 to 1.4 with 1e6; in lines they are 1.1 to 1.3 times as fast with 4e6 and 1.6e7 |
//! | to merge filters, or make them larger or smaller, without the keys | a quotient filter: any sizes; to merge, with the same [`fingerprint_bits`](trommel_base::Builder::fingerprint_bits) |
//! | the keys' fingerprints back, in order | a quotient filter |
//!
//! [`CacheLineQuotient`] is the faster of the two: a lookup reads 1.2 lines at 95 % load. Its rate is
//! 0.37 % at that load, or lower in a filter that is given more slots. [`QuotientFilter`] has any rate.
//!
//! Lookups cost nearly the same at any load up to 95 %. Inserts do not: one moves 7 slots at 75 % load,
//! 50 at 90 %, 200 at 95 %. A filter that is built once, from all keys at a time
//! ([`insert_batch`](trommel_base::Insert::insert_batch) into an empty filter), moves none. One that
//! changes all the time is better off at 85 to 90 % ([`load`](trommel_base::Builder::load)).
//!
//! # The modules
//!
//! | module | idea |
//! |---|---|
//! | `geometry` | any number of slots; a hash to quotient and remainder |
//! | `fingerprint` | quotient and remainder as one number, which outlives a resize |
//! | `layout` | where a block keeps its metadata and remainders: [`WideBlock`], [`LineBlock`] |
//! | `table` | runs by rank and select: lookup, insert, remove |
//! | `append` | a table from fingerprints in order, without a shift |
//! | `build` | a table from hashes in any order, without a shift |
//! | `bulk`, `resize` | what is made of them: batches; growing, shrinking, merging |
//! | `enumerate` | the fingerprints in order |
//! | `check` | whether bytes are a table that inserts make |
//! | `sizing`, `filter`, `frozen` | what is asked for; the filter; its bytes |
//! | `kernel` | what is written per instruction set |
//!
//! Sources: Bender, Farach-Colton, Johnson, Kraner, Kuszmaul, Medjedovic, Montes, Shetty, Spillane and
//! Zadok, "Don't thrash: how to cache your hash on flash", PVLDB 5 (2012); Pandey, Bender, Johnson and
//! Patro, "A general-purpose counting filter: making every bit count", SIGMOD 2017.
#![no_std]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod append;
mod balance;
mod block;
mod build;
mod bulk;
mod check;
mod enumerate;
mod filter;
mod fingerprint;
mod frozen;
mod geometry;
mod kernel;
mod layout;
mod resize;
mod sizing;
mod table;
mod words;

pub use enumerate::Fingerprints;
pub use filter::{CacheLineQuotient, Quotient, QuotientFilter};
pub use geometry::{GUARANTEED_LOAD, Geometry, MAX_COPIES};
pub use layout::{Layout, LineBlock, WideBlock};
pub use resize::ResizeError;
#[doc(inline)]
pub use trommel_base::builder::{Builder, FingerprintOptions, RemainderOptions, SlotOptions};
