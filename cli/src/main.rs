//! `trommel`: the command line, which builds and queries filters.
//!
//! `cli/README.md` is the documentation for users. `verbs` has the subcommands (called *verbs*); `input` reads keys;
//! `output` writes files whole or not at all.

mod cli;
mod failure;
mod fill;
mod input;
mod output;
mod picture;
mod progress;
mod spool;
mod verbs;

use clap::Parser as _;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match verbs::run(cli::Cli::parse().verb) {
        Ok(code) => code,
        Err(failure) => {
            // If standard error is closed, the exit code alone reports the failure.
            let _ = writeln!(std::io::stderr(), "trommel: {failure}");
            ExitCode::from(2)
        }
    }
}
