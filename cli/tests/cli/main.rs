//! Runs the program `trommel` as people and scripts do.

mod build;
mod errors;
mod faults;
mod info;
mod interchange;
mod io_errors;
mod kills;
mod merge_fold;
mod pages;
mod parquet;
mod query;
mod readme;
mod records;
mod signals;
mod support;
