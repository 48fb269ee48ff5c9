//! The verbs (subcommands) of the program, one per file; `completions` and `man` share a file.

mod advise;
mod calibrate;
mod check;
mod compare;
mod completions;
mod env;
mod list;
mod measure;
mod report;
mod roofline;
mod simulated;
mod textbook;

use crate::base::console::remark;
use crate::base::failure::bad_input;
use crate::cli::{Cli, MeasureArgs, Verb};
use anyhow::Result;
use std::process::ExitCode;
use trommel::Isa;

/// Runs the verb of the command line; returns the exit code.
pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    match cli.verb.unwrap_or_else(|| Verb::Measure(MeasureArgs::default())) {
        Verb::Measure(arguments) => measure::run(arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Compare(arguments) => return compare::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Textbook(arguments) => textbook::run(&arguments),
        Verb::Advise(arguments) => advise::run(&arguments),
        Verb::Calibrate(arguments) => calibrate::run(&arguments),
        Verb::Roofline => roofline::run(),
        Verb::Env => env::run(),
        Verb::List(selection) => list::run(&selection),
        Verb::Simulated(arguments) => simulated::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => completions::man(&arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that this machine has the instruction set `asked`. If `asked` is `None`, checks the set that the environment
/// variable `TROMMEL_ISA` names, if any. Returns `asked`.
///
/// # Errors
/// Bad input if this machine lacks the instruction set, or if the variable names a set that does not exist.
fn usable_isa(asked: Option<Isa>) -> Result<Option<Isa>> {
    match asked {
        Some(isa) => isa.require().map(Some),
        None => Isa::active().map(|_| None),
    }
    .map_err(|error| bad_input(error.to_string()))
}

/// Pins this thread to the last core, which tends to be interrupted less than the first.
fn pin() {
    let core = core_affinity::get_core_ids().and_then(|cores| cores.last().copied());
    if !core.is_some_and(core_affinity::set_for_current) {
        remark!("note: the thread could not be pinned to a core");
    }
}
