//! `trommel-perf` measures how fast Trommel's filters are on this machine. In the same run, it measures competing
//! crates on the same keys. It also measures the machine's roofline: the number of random cache lines that one core
//! reads per second.
//!
//! The modules are in layers. The lowest is listed first. A module, apart from its unit tests, imports only modules of
//! its own layer and of lower ones, which `tests/layers.rs` checks.
//!
//! | layer | content |
//! |---|---|
//! | [`base`] | files, formats, statistics, errors, the terminal |
//! | [`model`] | a case, its name, and its row, as types |
//! | [`measure`] | the cases, their keys and subjects (our filters, and rivals); timing, counting, and the machine |
//! | [`store`] | the files that a run writes, and the lock on their directory |
//! | [`run`] | a run: groups of cases; each group is verified, timed, and saved as soon as it ends |
//! | [`analyse`] | the rival's row with which each row of ours is compared, and the changes between two runs |
//! | [`show`] | tables, plots, the report page, documents |
//! | [`advise`], [`textbook`] | two layers: advice on filters, and experiments of papers |
//! | [`cli`], [`cmd`] | two layers: the command line, and the verbs |

mod advise;
mod analyse;
mod base;
mod cli;
mod cmd;
mod measure;
mod model;
mod run;
mod show;
mod store;
mod textbook;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cmd::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            base::console::remark!("error: {error:#}");
            base::failure::exit_code(&error)
        }
    }
}
