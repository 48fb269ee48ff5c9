//! Cuckoo hashing: exact sets of 64-bit keys, and the variants that the literature makes of them.
//!
//! A key has a few *places*, given by hash functions, and is in one of them: a lookup reads these and
//! no others. If all are taken, an insert *displaces* a key, which goes to another of its own places,
//! displacing another, until a free place ends it. The *cuckoo graph* has the places as its nodes and
//! each key as an edge between its two places: keys can all be placed if and only if no component has
//! more edges than nodes. An insert that makes a component so *cycles*: it would displace for ever.
//!
//! | set | what is different | if an insert cycles |
//! |---|---|---|
//! | [`StandardCuckooSet`] | two tables, displaces before it looks | rehash into larger tables |
//! | [`AsymmetricCuckooSet`] | the first table is larger | as the standard |
//! | [`SimplifiedCuckooSet`] | both hash functions into one table | refused |
//! | [`StashCuckooSet`] | a few places beside the tables | into the stash, then refused |
//! | [`DAryCuckooSet`] | `d` places a key | refused |
//! | [`BucketCuckooSet`] | a place is a bucket of several keys | refused |
//! | [`HintedCuckooSet`] | buckets whose hint lets a lookup skip the second one | refused |
//! | [`DensityCuckooSet`] | the denser table displaces; looks ahead on the graph | into an overflow chain |
//!
//! Where a paper answers a refusal with a rehash, that is left to the caller here: how full a table
//! gets before it is refused is what its paper is about. A refused insert changes nothing. Only
//! [`StandardCuckooSet`] and [`AsymmetricCuckooSet`] displace before they know the end, as their papers
//! do; the others plan the whole path and move nothing before it is found.
//!
//! | file | idea |
//! |---|---|
//! | `set.rs` | what all of them can do, and what they count |
//! | `places.rs` | an array of places |
//! | `hashes.rs` | hash functions that can be drawn again |
//! | `two_tables.rs` | two arrays, a place of a key in each |
//! | `walk.rs` | the one path of displacements where keys have two places |
//! | `breadth_first.rs` | the shortest path where they have more |
//! | the others | one variant each |

mod asymmetric;
mod breadth_first;
mod bucketised;
mod d_ary;
mod density;
mod hashes;
mod hinted;
mod places;
mod set;
mod simplified;
mod standard;
mod stash;
mod two_tables;
mod walk;

pub use asymmetric::AsymmetricCuckooSet;
pub use bucketised::{BucketCuckooSet, MAX_BUCKET_KEYS};
pub use d_ary::{DAryCuckooSet, MAX_CHOICES};
pub use density::DensityCuckooSet;
pub use hinted::HintedCuckooSet;
pub use places::MAX_PLACES;
pub use set::{CuckooSet, InsertError, Statistics};
pub use simplified::SimplifiedCuckooSet;
pub use standard::StandardCuckooSet;
pub use stash::{MAX_STASH, StashCuckooSet};
