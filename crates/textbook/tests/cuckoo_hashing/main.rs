//! Tests of the claims in the documentation of the textbook cuckoo hash tables.

mod claims;
mod density;
mod limits;
mod loads;
mod model;
mod variants;
