//! Tests of the claims in the documentation of the textbook cuckoo filter.

mod examples;
mod limits;
mod loads;
mod model;
mod rates;
