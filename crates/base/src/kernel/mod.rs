//! Code that needs `unsafe`, or is compiled for several instruction sets.
#![allow(unsafe_code)]

pub(crate) mod cast;
pub(crate) mod hash;
pub(crate) mod hash_column;
pub(crate) mod replay;
pub(crate) mod siphash;
pub(crate) mod stream;
