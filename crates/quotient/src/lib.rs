//! Quotient filters: hash tables that store a short fingerprint of each key instead of the key.
//!
//! A fingerprint is the key's hash, reduced to fewer bits. The fingerprint's high part, the quotient, is the number of
//! a slot. Its low part, the remainder, is stored in that slot or, if other remainders take that slot, in a later slot.
//! Two bits per slot record which remainders belong to which quotient.
//!
//! # When to use one
//!
//! | you need | use |
//! |---|---|
//! | only lookups and inserts | a blocked Bloom filter: batches of lookups are 2 to 5 times as fast as in a [`QuotientFilter`], batches of inserts at least 5 times, and it is never full |
//! | to remove keys, or count them | a quotient filter: at a false-positive rate of 1 %, a [`QuotientFilter`] takes 9.6 bits per key and a [`CacheLineQuotient`] 10.8; a counting Bloom filter takes 48, or with compact counters 29 when empty and 75 with all keys |
//! | a false-positive rate below 0.4 % | a [`QuotientFilter`]: with remainders of `r` bits it takes `(r + 2.125) / 0.95` bits per key, so 1.05 more bits halve the rate; a blocked Bloom filter needs 1.7 or more to halve it |
//! | removals and fast lookups, at a false-positive rate below 3 % | a cuckoo filter with fingerprints of 8 bits: at 75 to 95 % load, batches of lookups are 1.6 to 4.0 times as fast as in a [`QuotientFilter`] with remainders of 8 bits, and 1.2 to 2.6 times as fast as in a [`CacheLineQuotient`] with 2^20 slots. With 2^24 and 2^27 slots they are 0.9 to 1.8 times as fast as in a [`CacheLineQuotient`], so sometimes slower |
//! | to merge filters, or make them larger or smaller, without the keys | a [`QuotientFilter`]: it can get any number of slots that leaves remainders of 1 to 32 bits; filters of any sizes merge if they have the same [`fingerprint_bits`](trommel_base::Builder::fingerprint_bits). A [`CacheLineQuotient`] can have only its first size or at least twice that, and merges with filters that had the same first size |
//! | the keys' fingerprints back, in order | a quotient filter |
//!
//! The speeds in this table were measured on a Zen 4 core with AVX-512 and 1 MiB of L2.
//!
//! Lookups are faster in a [`CacheLineQuotient`] than in a [`QuotientFilter`]. A [`CacheLineQuotient`] has the metadata
//! and remainders of 50 slots in one cache line, and at 95 % load a lookup reads 1.2 cache lines on average. A
//! [`QuotientFilter`] has metadata and remainders in different cache lines. A new [`CacheLineQuotient`] always has
//! remainders of 8 bits. So its false-positive rate is 0.37 % at 95 % load, and a lower rate needs more slots per key,
//! that is, a lower load. A [`QuotientFilter`] is built for any false-positive rate that its remainders can reach.
//! Remainders have at most 32 bits, and fewer if the table has more than 2^30 slots. So at 95 % load, rates below
//! 2.2 · 10^−10 are refused.
//!
//! On the Zen 4 core, batches of lookups at 95 % load took at most 1.8 times as long as at 75 % load. The cost of an
//! insert grows faster with the load: on average, an insert moves 6 stored remainders at 75 % load, 45 at 90 %, and 190
//! at 95 %. A build from all keys at once moves no stored remainder to make room. Such a build is an
//! [`insert_batch`](trommel_base::Insert::insert_batch) into an empty filter that does not grow by itself. The batch
//! must have at least 1024 keys, and at least one key for every eight slots. If the keys do not fit, a key has too many
//! copies, or there is too little scratch memory, the build fails, and the keys are inserted without it. For a filter
//! that changes all the time, choose a load of 85 to 90 % ([`load`](trommel_base::Builder::load)).
//!
//! # The modules
//!
//! | module | idea |
//! |---|---|
//! | `geometry` | the size of a table: any number of slots in a [`WideBlock`] table, a multiple of 50 in a [`LineBlock`] table; splits a hash into quotient and remainder |
//! | `fingerprint` | quotient and remainder as one number, which a resize keeps |
//! | `layout` | where a block keeps its metadata and remainders: [`WideBlock`], [`LineBlock`] |
//! | `table` | finds runs by rank and select: lookup, insert, remove |
//! | `words`, `balance` | operations on the words of a table: rank, select, comparisons, and counting open runs to find the free slots of a block or the last slots of its clusters (`table` defines runs and clusters) |
//! | `append` | fills a table from fingerprints in order, without moving stored remainders |
//! | `build` | fills a table from hashes in any order, and moves stored remainders only to sort runs and to drop copies |
//! | `bulk`, `resize` | batches (with `build`); growing, shrinking and merging (with `append`) |
//! | `enumerate` | lists the fingerprints in order |
//! | `check` | tells whether bytes are a table that inserts can make |
//! | `sizing`, `filter`, `frozen` | the geometry that a spec asks for; the filter; its bytes |
//! | `block` | filter blocks: a table without a header |
//! | `kernel` | the code for each instruction set |
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
#[cfg(test)]
mod safety_tests;
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
