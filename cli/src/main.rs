//! `trommel`: filters of files, on the command line.
//!
//! `cli/README.md` is the page for people who use it. `verbs` has a file for each verb; `input` reads keys, `output`
//! writes files as a whole or not at all.

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
            // Nobody is told where standard error is closed; the exit code says it then.
            let _ = writeln!(std::io::stderr(), "trommel: {failure}");
            ExitCode::from(2)
        }
    }
}
