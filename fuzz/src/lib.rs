//! What the fuzz targets do with an input. Each is a function from bytes that panics where a claim does
//! not hold; the tests of the face run the same functions without a fuzzer.

pub mod cuckoo_operations;
pub mod hostile_bytes;
pub mod input;
pub mod quotient_operations;
