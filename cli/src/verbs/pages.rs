//! `trommel man` and `trommel completions`, both generated from the definition of the command line.

use super::print;
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use clap::CommandFactory as _;
use std::io;
use std::process::ExitCode;

pub(crate) fn completions(arguments: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "trommel", &mut script);
    print(&script)
}

pub(crate) fn man(arguments: &ManArgs) -> Result<ExitCode, Failure> {
    let mut command = Cli::command();
    command.build();
    let command = match &arguments.verb {
        None => command,
        Some(verb) => match command.find_subcommand(verb) {
            Some(verb) => verb.clone(),
            None => return Err(Failure::Usage(format!("no verb {verb}: see `trommel help`"))),
        },
    };
    let mut page = Vec::new();
    let written: io::Result<()> = clap_mangen::Man::new(command).render(&mut page);
    written.map_err(|error| Failure::Write { name: "manual page".into(), error })?;
    print(&page)
}
