//! `env`: describes the machine and the build.

use crate::environment::Environment;
use crate::results::Results;
use crate::tables;
use anyhow::Result;

/// Prints the description.
pub(crate) fn run() -> Result<()> {
    println!("{}", tables::environment(&Results::new(Environment::observe(None))).to_terminal());
    Ok(())
}
