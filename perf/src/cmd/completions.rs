//! `completions` and `man`: shell completions and manual pages of the command line.

use crate::base::console::say;
use crate::base::failure::bad_input;
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use anyhow::Result;
use clap::CommandFactory as _;
use std::fs;
use std::io;

/// Prints the script with which a shell completes this command line.
pub(crate) fn run(arguments: &CompletionsArgs) -> Result<()> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    say!("{}", String::from_utf8_lossy(&script).trim_end())
}

/// Writes the manual pages: one of the program and one per verb.
pub(crate) fn man(arguments: &ManArgs) -> Result<()> {
    let directory = &arguments.dir;
    let write_error = |error: io::Error| {
        bad_input(format!("cannot write manual pages to {}: {error}", directory.display()))
    };
    fs::create_dir_all(directory).map_err(write_error)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(write_error)?;
    say!("wrote trommel-perf.1 and a page per verb to {}", directory.display())
}
