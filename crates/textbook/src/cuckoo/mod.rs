//! The cuckoo filter of the paper: each fingerprint stands in one of two buckets.
//!
//! The filter stores an `f`-bit *fingerprint* of a key in one of the key's two *buckets*, each of which has
//! `b` *entries*. Unlike a hash table, the filter need not store the keys, because either bucket can be computed
//! from the other bucket and the fingerprint:
//!
//! ```text
//! primary = hash of the key        alternate = primary xor hash of the fingerprint
//! ```
//!
//! So a fingerprint can be moved, *kicked*, to its other bucket long after its key has been forgotten.
//! An insert takes a free entry in either bucket. If neither bucket has a free entry, the insert kicks a random
//! fingerprint out of one of the two. The kicked fingerprint takes a free entry in its other bucket or kicks another
//! fingerprint, and so on, up to a limit.
//!
//! **A failed insert.** When the paper's pseudo-code gives up, it is left with the last kicked fingerprint, which
//! almost always belongs to a key inserted earlier: dropping it would cause a false negative. The authors'
//! implementation keeps this fingerprint as a "victim" outside the table, where every later lookup and
//! removal has to look too. This implementation undoes the kicks in reverse order: the filter is unchanged, and
//! the key without a place is the new one.
//!
//! | file | idea |
//! |---|---|
//! | `shape.rs` | `f`, `b` and the number of buckets; from a hash to a fingerprint and buckets |
//! | `buckets.rs` | packed entries; lookup, count and removal in two buckets |
//! | `kick.rs` | insert, for any function that gives the alternate bucket |
//! | `filter.rs` | the filter, its parameters and operations |
//!
//! Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than Bloom",
//! CoNEXT 2014, sections 3 to 5. Semi-sorted buckets (section 5.2) are left out.

mod buckets;
mod filter;
mod kick;
mod shape;

pub use buckets::{Buckets, Entry};
pub use filter::TextbookCuckooFilter;
pub use kick::{DEFAULT_MAX_KICKS, Kicks, MAX_KICKS};
pub use shape::{
    MAX_BUCKET_BITS, MAX_BUCKET_ENTRIES, MAX_FINGERPRINT_BITS, fingerprint_bits_for, full_rate,
};
