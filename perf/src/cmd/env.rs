//! `env`: describes the machine and the build.

use crate::base::console::say;
use crate::measure::environment::Environment;
use crate::show::tables;
use crate::store::results::Results;
use anyhow::Result;

/// Prints the description.
pub(crate) fn run() -> Result<()> {
    let results = Results::new(Environment::observe(None));
    say!("{}", tables::environment(&results).to_terminal())
}
