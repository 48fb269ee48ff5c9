//! The functions that the fuzz targets run. Each takes the bytes of an input, and panics if a claim of fuzz/README.md
//! does not hold. The tests of the crate `trommel` run the same functions without a fuzzer.

pub mod bloom_model;
pub mod bloom_operations;
pub mod cuckoo_operations;
pub mod engine_operations;
pub mod hostile_bytes;
pub mod input;
pub mod quotient_operations;
pub mod twin_operations;
