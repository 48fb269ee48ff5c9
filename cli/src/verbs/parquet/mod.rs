//! `trommel parquet`: Bloom filters in Parquet files.

mod add;
mod file;
mod inspect;
mod probe;

use crate::cli::ParquetVerb;
use crate::failure::Failure;
use std::process::ExitCode;

pub(super) fn run(verb: &ParquetVerb) -> Result<ExitCode, Failure> {
    match verb {
        ParquetVerb::Inspect(arguments) => inspect::run(arguments),
        ParquetVerb::Add(arguments) => add::run(arguments),
        ParquetVerb::Probe(arguments) => probe::run(arguments),
    }
}
