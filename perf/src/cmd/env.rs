//! `env`: describes the machine and the build.

use crate::console::say;
use crate::environment::Environment;
use crate::results::Results;
use crate::tables;
use anyhow::Result;

/// Prints the description.
pub(crate) fn run() -> Result<()> {
    let results = Results::new(Environment::observe(None));
    say!("{}", tables::environment(&results).to_terminal())
}
