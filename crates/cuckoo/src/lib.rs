//! Cuckoo filters: fingerprints in buckets of four, two buckets a key.
//!
//! A key's hash is a bucket and a fingerprint of 8, 12, 16 or 32 bits. The fingerprint is in that bucket or, if
//! it had to make way, in one other, which bucket and fingerprint alone lead to. So a lookup reads one line or
//! two, whatever the load, and an insert that finds both buckets full moves fingerprints to where they may be as
//! well.
//!
//! # When to take one
//!
//! | you need | take |
//! |---|---|
//! | lookups and inserts alone | a blocked Bloom filter: one line an insert, and never full |
//! | to remove keys, or count a few copies of them | a cuckoo filter: at most two cache lines per lookup, 8.4 bits per key below 3 %, 12.6 below 0.2 % |
//! | a rate between these steps, or the fewest bits for it | a quotient filter: every bit of a remainder is a step, `(r + 2.125) / 0.95` bits per key; of a cuckoo filter `f / 0.95`, at eight times `2^−f` |
//! | many copies of a key counted | a quotient filter: 255 of each; here a pair of buckets has room for eight |
//! | fingerprints in order, or other sizes than twice the last | a quotient filter |
//!
//! Lookups cost the same at any load. Inserts do not: below half of the slots nearly every key finds room in
//! its first bucket; at 95 %, a search looks at some thirty buckets for room. Beyond 1024 buckets 95 % is
//! [guaranteed](GUARANTEED_LOAD); what finds no place by then goes to an overflow area of at most 64 fingerprints,
//! and when that is full an insert fails and changes nothing. Smaller tables are planned for less.
//!
//! **Remove only what was inserted.** A filter knows fingerprints and no keys. In a set, keys that are found as
//! one are one; see [`CuckooFilter`].
//!
//! # The modules
//!
//! | module | idea |
//! |---|---|
//! | `geometry` | any even number of buckets; a hash to bucket, fingerprint, and the other bucket |
//! | `width` | a bucket of any width as one word |
//! | `bucket` | two overflow flags in the order of four slots |
//! | `table` | buckets over bytes: lookup, count, and changes without a search |
//! | `evict` | inserts, and room for keys whose buckets are full: by search, or sixteen chains in lockstep |
//! | `bulk` | batches: a build, or blocks of keys |
//! | `build` | an empty filter from many keys, in pieces for several threads |
//! | `overflow` | the few fingerprints that there is no path for |
//! | `grow`, `merge` | twice the size, and two filters in one, without the keys |
//! | `rate` | the false-positive rate, counted |
//! | `sizing`, `filter`, `frozen` | the size for a spec; the filter; its bytes |
//! | `kernel` | the code per instruction set |
//!
//! Sources: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than Bloom", CoNEXT 2014;
//! Li, Andersen, Kaminsky and Freedman, "Algorithmic improvements for fast concurrent cuckoo hashing", EuroSys
//! 2014; Le Scouarnec, "Cuckoo++ hash tables", ANCS 2018; Kirsch, Mitzenmacher and Wieder, "More robust hashing:
//! cuckoo hashing with a stash", SIAM J. Computing 39 (2009).
#![no_std]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod block;
mod bucket;
mod build;
mod bulk;
mod evict;
mod filter;
mod frozen;
mod geometry;
mod grow;
mod kernel;
mod merge;
mod overflow;
mod rate;
mod sizing;
mod table;
mod width;

pub use filter::CuckooFilter;
pub use geometry::{GUARANTEED_LOAD, Geometry};
pub use grow::GrowError;
#[doc(inline)]
pub use trommel_base::builder::{Builder, FingerprintOptions, SlotOptions};
