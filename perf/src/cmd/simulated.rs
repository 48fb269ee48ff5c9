//! `simulated`: runs the cases of a *job*, which the verb gets as an argument in JSON. The verb is not for users:
//! `measure` starts `trommel-perf simulated` under Callgrind.

use super::usable_isa;
use crate::base::console::say;
use crate::base::failure::bad_input;
use crate::cli::SimulatedArgs;
use crate::run::simulate::Job;
use anyhow::Result;

/// Runs the cases of a job in sections that are marked for Callgrind. Prints, as JSON, the name of each case, and how
/// many sections and operations it had.
pub(crate) fn run(arguments: &SimulatedArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    let job: Job = serde_json::from_str(&arguments.job)
        .map_err(|error| bad_input(format!("{:?} is not a job: {error}", arguments.job)))?;
    say!("{}", serde_json::to_string(&job.run(isa)?)?)
}
