//! What the fuzz targets do with an input, as plain functions: the tests run them too.

pub mod malformed_file;
