//! Making room for a key whose two buckets are full.
//!
//! | module | inserts | how it makes room |
//! |---|---|---|
//! | [`search`] | one key | a breadth-first search: nothing moves before a shortest path to room is known |
//! | [`batch`] | batches | sixteen random-walk eviction chains in lockstep, over the whole table |
//! | [`window`] | bulk builds | the same within a stretch of the table that one thread owns |
//!
//! [`parts`] inserts single keys, also those that a batch or a build has no other room for. `kernel::insert` does the
//! steps of `batch` and `window` in vectors; `scalar_lanes` and `window` do them lane by lane.

pub(crate) mod batch;
pub(crate) mod full_buckets;
pub(crate) mod lane_group;
pub(crate) mod lockstep;
pub(crate) mod parts;
pub(crate) mod scalar_lanes;
pub(crate) mod search;
pub(crate) mod window;
