//! Making room for keys whose buckets are full.
//!
//! | module | inserts | how it makes room |
//! |---|---|---|
//! | [`search`] | one key | a breadth-first search: nothing moves before a shortest path to room is known |
//! | [`batch`] | batches | random-walk eviction chains, sixteen in lockstep, over the whole table |
//! | [`window`] | bulk builds | such chains, sixteen in lockstep, within a stretch of the table that one thread owns |
//!
//! [`parts`] removes single keys, and inserts them, including those for which a batch or a build has no other room.
//! `kernel::insert` does the steps of `batch` and `window` in vectors; `scalar_lanes` does the steps of `batch` lane by
//! lane, and `window` has its own steps lane by lane.

pub(crate) mod batch;
pub(crate) mod full_buckets;
pub(crate) mod lane_group;
pub(crate) mod lockstep;
pub(crate) mod parts;
pub(crate) mod scalar_lanes;
pub(crate) mod search;
pub(crate) mod window;
