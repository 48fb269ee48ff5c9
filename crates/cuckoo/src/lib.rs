//! Cuckoo filters: fingerprints in buckets of four slots, two buckets per key.
//!
//! A key's hash gives its *primary bucket* and a fingerprint of 8, 12, 16 or 32 bits. The fingerprint is stored in that
//! bucket or in the *alternate bucket*, which follows from the primary bucket and the fingerprint. So a lookup reads
//! at most two buckets, at any load. An insert that finds both buckets full makes room by moving stored fingerprints,
//! each to its other bucket.
//!
//! # When to use one
//!
//! | you need | use |
//! |---|---|
//! | only lookups and inserts | a blocked Bloom filter: one cache line per insert, and never full |
//! | to remove keys, or count a few copies of them | a cuckoo filter: one or two buckets per lookup; at 95 % load, 8.4 bits per key for a false-positive rate below 3 %, and 12.6 for a rate below 0.2 % |
//! | a false-positive rate between the rates of fingerprints of 8, 12, 16 and 32 bits, or the fewest bits for a given rate | a `QuotientFilter`: with remainders of `r` bits (`r` is any number from 1 to 32) it takes `(r + 2.125) / 0.95` bits per key, and has a false-positive rate of at most `0.95 · 2^−r`; a cuckoo filter with fingerprints of `f` bits takes `f / 0.95` bits per key, and has a false-positive rate of at most `8 · 2^−f` until it grows |
//! | to count many copies of a key | a quotient filter: up to 255 copies of each key; the two buckets of a key in a cuckoo filter have room for eight |
//! | fingerprints in order, or growth to other sizes than twice the present size | a quotient filter |
//!
//! In a table in cache, lookups cost nearly the same at any load. In a larger table, a batch of lookups reads more
//! alternate buckets the fuller the table is. The cost of inserts rises with the load: until the table is half full,
//! 96 % of the keys find room in their primary bucket; at 95 % load, a search for room looks at some thirty buckets.
//! Tables of more than 1024 buckets are [guaranteed](GUARANTEED_LOAD) to take distinct keys with uniform hashes up to a
//! load of 95 %, unless the filter was doubled; smaller tables are sized for lower loads. A key for which the table has
//! no room goes to an overflow area of at most 64 fingerprints. If the overflow area is full too, the insert fails, and
//! the filter holds the same fingerprints as before.
//!
//! **Remove only keys that were inserted.** A filter stores fingerprints, not keys, so there are keys that it cannot
//! tell apart. A filter that is not built as a [multiset](Builder::multiset) does not insert a key that it already
//! finds. But of two keys that it cannot tell apart, the second can have the first key's alternate bucket as its
//! primary bucket. Whether a lookup of the second key then finds the fingerprint of the first depends on the overflow
//! flags (see `bucket` below). If the lookup finds that fingerprint, the filter does not insert the second key, and
//! stores one fingerprint for both keys. If not, the filter stores one for each. See [`CuckooFilter`].
//!
//! # The modules
//!
//! | module | idea |
//! |---|---|
//! | `geometry` | tables of any even number of buckets; a hash's fingerprint and its two buckets |
//! | `width` | a bucket as one word, for every width of fingerprint |
//! | `bucket` | a bucket's two *overflow flags*, one for keys with even fingerprints and one for keys with odd ones: whether such keys with this primary bucket can be in their alternate bucket. The order of the bucket's four slots encodes the flags |
//! | `table` | a table of buckets over bytes: lookups, counts, and the changes that need no search |
//! | `evict` | inserts keys; makes room for keys whose two buckets are full: by a search, or by eviction chains, of which sixteen advance in lockstep |
//! | `bulk` | inserts of many keys: as a bulk build, in blocks of sixteen keys, or key by key |
//! | `build` | bulk builds: fill an empty filter in pieces, which several threads can do |
//! | `overflow` | the overflow area: the few fingerprints for which the table has no room |
//! | `block` | filter blocks: a table without a header |
//! | `grow`, `merge` | doubling a filter, and the union of two, without the keys |
//! | `rate` | the false-positive rate, counted from the table |
//! | `sizing`, `filter`, `frozen` | the size for a spec; the filter type; its serialized form |
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
#[cfg(test)]
mod safety_tests;
mod sizing;
mod table;
mod width;

pub use filter::CuckooFilter;
pub use geometry::{GUARANTEED_LOAD, Geometry};
pub use grow::GrowError;
#[doc(inline)]
pub use trommel_base::builder::{Builder, FingerprintOptions, SlotOptions};
