//! Making room for keys whose buckets are full.
//!
//! | module | inserts | how it makes room |
//! |---|---|---|
//! | [`search`] | one key | a breadth-first search: nothing moves before a shortest path to room is known |
//! | [`batch`] | batches | random-walk eviction chains, sixteen in lockstep, over the whole table |
//! | [`window`] | bulk builds | such chains, sixteen in lockstep, within a stretch of the table that one thread owns |
//!
//! [`parts`] inserts single keys. An insert tries the key's two buckets, then a path that `search` finds,
//! then the overflow area. Fingerprints for which the chains of a batch or a build find no room are placed in this way
//! too.
//!
//! A step of `batch` or `window` advances all chains of a group by one eviction. `kernel::insert` computes the steps of
//! both modules with SIMD instructions. Without these, the chains advance one by one: in `scalar_lanes` for `batch`, in
//! `window` itself for `window`.

pub(crate) mod batch;
pub(crate) mod full_buckets;
pub(crate) mod lane_group;
pub(crate) mod lockstep;
pub(crate) mod parts;
pub(crate) mod scalar_lanes;
pub(crate) mod search;
pub(crate) mod window;
