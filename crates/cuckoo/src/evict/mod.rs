//! Making room for a key whose two buckets are full.
//!
//! | way | for | moves |
//! |---|---|---|
//! | [`search`] | one key | nothing before it knows a shortest path to room |
//! | [`batch`] | batches | sixteen random-walk eviction chains in lockstep, over the whole table |
//! | [`window`] | bulk builds | the same within a stretch of the table that one thread owns |
//!
//! [`parts`] has the inserts of single keys, which the others end in. `kernel::insert` does the steps of `batch` and
//! `window` in vectors; `scalar_lanes` and `window` do them lane by lane.

pub(crate) mod batch;
pub(crate) mod full_buckets;
pub(crate) mod lane_group;
pub(crate) mod lockstep;
pub(crate) mod parts;
pub(crate) mod scalar_lanes;
pub(crate) mod search;
pub(crate) mod window;
