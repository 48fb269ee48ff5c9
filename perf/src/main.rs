//! `trommel-perf`: how fast the filters of Trommel are on this machine, beside the crates that one
//! would otherwise pick, measured in the same run on the same keys, and against what the machine's
//! memory allows at all.
//!
//! | module | idea |
//! |---|---|
//! | [`cli`], [`cmd`] | the command line; one file a verb |
//! | [`plan`] | which cases there are: filter × variant × operation × workload × keys |
//! | [`keys`], [`tpch`], [`keyfile`] | where keys come from, and the truth about them |
//! | [`subject`], [`slots`], [`ours`], [`rivals`], [`tree`], [`built`] | one face for everything that is measured |
//! | [`lanes`], [`interleave`], [`clock`], [`counters`] | timing: short interleaved repetitions |
//! | [`simulate`] | counts of events where there are no counters: the same cases under Callgrind |
//! | [`roofline`], [`noise`], [`pages`], [`environment`] | the machine: its limit, its quiet, its description |
//! | [`session`], [`effort`] | a run: groups of cases, each verified, saved as it ends |
//! | [`engine`] | the same on several threads: engine, rivals, strategies, and what they are chosen by |
//! | [`row`], [`samples`], [`results`], [`lock`] | what a run leaves behind, in a directory that it has for itself |
//! | [`stats`], [`bootstrap`] | medians, and how far they can be trusted |
//! | [`compare`] | what changed between two runs, and what of it is the machine |
//! | [`advise`] | which filter to take |
//! | [`textbook`] | the experiments of papers on cuckoo filters and cuckoo hashing |
//! | [`tables`], [`plots`], [`html`], [`splice`], [`console`] | how it is shown |
//! | [`history`], [`reproduce`] | what earlier commits took, and how to measure a row again |

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
mod row;
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
