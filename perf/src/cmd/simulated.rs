//! `simulated`: runs the cases of a *job*, an argument in JSON. This verb is not for users: `measure` starts the
//! program with this verb under Callgrind.

use super::usable_isa;
use crate::base::console::say;
use crate::base::failure::bad_input;
use crate::cli::SimulatedArgs;
use crate::run::simulate::Job;
use anyhow::Result;

/// Runs the cases of a job in sections that are marked for Callgrind. Prints, for each case, its name and its numbers
/// of sections and operations, as JSON.
pub(crate) fn run(arguments: &SimulatedArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    let job: Job = serde_json::from_str(&arguments.job)
        .map_err(|error| bad_input(format!("{:?} is not a job: {error}", arguments.job)))?;
    say!("{}", serde_json::to_string(&job.run(isa)?)?)
}
