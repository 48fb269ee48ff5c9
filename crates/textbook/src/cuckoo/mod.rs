//! The cuckoo filter of the paper: buckets of fingerprints, each in one of two buckets.
//!
//! Of a key, a *fingerprint* of `f` bits is stored, in one of `b` *entries* of one of its two
//! *buckets*. What makes it a filter and not a hash table is that either bucket follows from the other
//! and the fingerprint alone:
//!
//! ```text
//! primary = hash of the key        alternate = primary xor hash of the fingerprint
//! ```
//!
//! So a fingerprint can be moved, *kicked*, to its other bucket long after its key has been forgotten.
//! An insert takes a free entry in either bucket. If there is none, it kicks a random fingerprint out
//! of one of them, which takes a free entry in its other bucket or kicks another, up to a limit.
//!
//! **A failed insert.** The pseudo-code of the paper ends with the last kicked fingerprint in its
//! hands, which belongs to a key that went in long ago: to drop it is a false negative. Its
//! implementation keeps it as a victim beside the table, where every lookup and every removal has to
//! look from then on. Here the kicks are undone, backwards: the filter is as it was, and the error is
//! about the key that was to go in.
//!
//! | file | idea |
//! |---|---|
//! | `shape.rs` | `f`, `b` and the number of buckets; what they make of a hash |
//! | `buckets.rs` | packed entries; lookup, count and removal in two buckets |
//! | `kick.rs` | insert, for any way to find the alternate |
//! | `filter.rs` | the filter, its parameters, and what it can do |
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
