//! `trommel-perf` measures how fast Trommel's filters are on this machine. The same run measures competing crates on
//! the same keys, and the machine's roofline: the speed at which its memory can be read.
//!
//! | module | content |
//! |---|---|
//! | [`cli`], [`cmd`] | the command line; one file per verb |
//! | [`plan`] | the cases: filter × variant × operation × workload × keys |
//! | [`keys`], [`tpch`], [`keyfile`] | the sources of keys and probes, and the bitmaps of probes that are keys |
//! | [`subject`], [`slots`], [`ours`], [`rivals`], [`tree`], [`built`] | one interface to everything that is measured |
//! | [`lanes`], [`interleave`], [`clock`], [`counters`] | timing: short interleaved repetitions |
//! | [`simulate`] | simulated event counts for machines without counters: the same cases under Callgrind |
//! | [`roofline`], [`noise`], [`pages`], [`environment`] | the machine: its roofline, its noise, its description |
//! | [`session`], [`effort`] | a run: groups of cases; each group is verified, and saved as soon as it ends |
//! | [`engine`] | measurements on several threads: engine, rivals, strategies, calibration |
//! | [`row`], [`samples`], [`results`], [`lock`] | the files that a run writes, and the lock on their directory |
//! | [`stats`], [`bootstrap`] | medians and their confidence intervals |
//! | [`compare`] | the changes between two runs, and how much of them is due to the machine |
//! | [`advise`] | the recommendation of a filter |
//! | [`textbook`] | the experiments of papers on cuckoo filters and cuckoo hashing |
//! | [`tables`], [`plots`], [`html`], [`splice`], [`console`] | tables, plots, the report page and terminal output |
//! | [`history`], [`reproduce`] | the event counts at earlier commits, and the command that measures a row again |

mod advise;
mod bootstrap;
mod built;
mod cli;
mod clock;
mod cmd;
mod compare;
mod console;
mod counters;
mod effort;
mod engine;
mod environment;
mod failure;
mod history;
mod html;
mod interleave;
mod keyfile;
mod keys;
mod lanes;
mod lock;
mod model;
mod noise;
mod ours;
mod pages;
mod plan;
mod plots;
mod progress;
mod reproduce;
mod results;
mod rivals;
mod roofline;
mod samples;
mod session;
mod simulate;
mod slots;
mod splice;
mod stats;
mod subject;
mod tables;
mod textbook;
mod tpch;
mod tree;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cmd::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            console::remark!("error: {error:#}");
            failure::exit_code(&error)
        }
    }
}
