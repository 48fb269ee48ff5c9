//! What the cuckoo hash tables of the textbook claim.

mod claims;
mod density;
mod limits;
mod loads;
mod model;
mod variants;
