//! Cuckoo hashing: exact sets of 64-bit keys, in the standard form and in variants from the literature.
//!
//! A table is an array of *places*, each free or taken by one key. Hash functions give each key a few places, and the
//! key stands in one of them, so a lookup reads only these places. An insert can put its key at a taken place: it
//! *displaces* the key that stood there. The displaced key goes to another of its own places, and can displace another
//! key there, until one key finds a free place. If keys have two places each, the *cuckoo graph* has the places as
//! nodes, and each key is an edge between its two places. All keys can be placed if and only if no component has more
//! edges than nodes. An insert *cycles* if it would give a component more edges than nodes: its displacements would
//! never end.
//!
//! | set | difference | if an insert finds no free place |
//! |---|---|---|
//! | [`StandardCuckooSet`] | two tables, displaces without a search | rehash into larger tables |
//! | [`AsymmetricCuckooSet`] | the first table is larger | rehash into larger tables |
//! | [`SimplifiedCuckooSet`] | both hash functions into one table | refused |
//! | [`StashCuckooSet`] | a few places beside the tables | into the stash; refused if the stash is full |
//! | [`DAryCuckooSet`] | `d` places per key | refused |
//! | [`BucketCuckooSet`] | two buckets per key, each with several places | refused |
//! | [`HintedCuckooSet`] | buckets with a hint that lets lookups skip the second bucket | refused |
//! | [`DensityCuckooSet`] | two tables, displaces in the denser one first | into an overflow chain |
//!
//! Where a set of this module refuses a key, the sets of some papers rehash. The refusal leaves this decision to the
//! caller. So the load at which a set first refuses a key can be measured, and this load is the subject of these
//! papers. After a refused insert, every key stands where it stood before. Only [`StandardCuckooSet`] and
//! [`AsymmetricCuckooSet`] displace keys before they know whether the path ends, as their papers do; the other sets
//! find the whole path before they move a key.
//!
//! | file | idea |
//! |---|---|
//! | `set.rs` | the trait that all sets implement, and its statistics |
//! | `places.rs` | an array of places |
//! | `hashes.rs` | seeded hash functions, which a rehash replaces by new ones |
//! | `one_table.rs` | the set in one array: insert, lookup and removal, for any rule that gives a key its places |
//! | `two_tables.rs` | two arrays; a key has one place in each |
//! | `walk.rs` | the only path of displacements from a place, if keys have two places |
//! | `breadth_first.rs` | a shortest path of displacements, if keys can have more than two places |
//! | the other files | one set each |

mod asymmetric;
mod breadth_first;
mod bucketised;
mod d_ary;
mod density;
mod hashes;
mod hinted;
mod one_table;
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
pub use one_table::OneTableSet;
pub use places::MAX_PLACES;
pub use set::{CuckooSet, InsertError, Statistics};
pub use simplified::SimplifiedCuckooSet;
pub use standard::StandardCuckooSet;
pub use stash::{MAX_STASH, StashCuckooSet};
