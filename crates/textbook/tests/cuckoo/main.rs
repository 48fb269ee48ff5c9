//! What the cuckoo filter of the textbook claims.

mod examples;
mod limits;
mod loads;
mod model;
mod rates;
