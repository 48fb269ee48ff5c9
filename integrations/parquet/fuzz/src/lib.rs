//! The fuzz target as plain functions, which the tests call too.

pub mod malformed_file;
