//! The command line.

use crate::engine::MAX_THREADS;
use clap::{Args, Parser, Subcommand};
use regex::Regex;
use std::path::PathBuf;
use trommel::Isa;

/// Measures Trommel's filters on this machine, beside other crates and against the machine's limit.
#[derive(Debug, Parser)]
#[command(name = "trommel-perf", version, about)]
pub(crate) struct Cli {
    /// What to do; `measure --quick` if not said.
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// One verb, one file in `cmd/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure, print tables, write results.csv, results.json, env.json and report.html.
    Measure(MeasureArgs),
    /// Run every workload once on few keys and verify every answer; exit 1 if one is wrong.
    Check(CheckArgs),
    /// Write report.html again from a run's results, and splice its tables into a document.
    Report(ReportArgs),
    /// Make the experiments of papers on cuckoo filters and cuckoo hashing again: how full each variant
    /// gets, and the density-based method beside the standard one.
    Textbook(TextbookArgs),
    /// Measure what the engine's cost model needs to know of this machine, in about half a minute; print it
    /// and write calibration.json.
    Calibrate(CalibrateArgs),
    /// Random 64-byte line touches a second, by working-set size and prefetch hint.
    Roofline,
    /// Describe the machine and the build.
    Env,
    /// List the cases that `measure` would run.
    List(Selection),
}

/// Which cases.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Selection {
    /// 1e5, 1e6 and 1e7 keys, TPC-H at scale 0.1 and the loads that matter most, in about three minutes
    /// (the default).
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Also 1e8 keys, filters of 1 GiB, TPC-H at scale 1, and all loads of filters with slots.
    #[arg(long)]
    pub(crate) full: bool,
    /// Only the cases whose name (see `list`) matches.
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) filter: Option<Regex>,
    /// Key counts, such as 1e5,3e6.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = parse_count)]
    pub(crate) keys: Option<Vec<usize>>,
    /// Per cent of their slots to fill filters that have slots to, such as 75,85,95: each at 2^20 and
    /// 2^24 slots, with --full at 2^27 too.
    #[arg(long, value_name = "P,P", value_delimiter = ',', value_parser = parse_load)]
    pub(crate) load: Option<Vec<u32>>,
    /// Numbers of threads to measure the engine with, such as 1,2: that alone. One and all cores if not
    /// said.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = parse_threads)]
    pub(crate) threads: Option<Vec<usize>>,
    /// Keep the rivals of the cases that --filter selects, even where it does not name them.
    #[arg(long)]
    pub(crate) rivals: bool,
}

/// What `measure` takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512 or
    /// neon.
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
    /// Where the results go.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
    /// Keep what DIR already holds from this machine and commit; measure only groups that are missing.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Let the engine choose strategies by the constants of this file, which `calibrate` wrote.
    #[arg(long, value_name = "FILE")]
    pub(crate) cost_model: Option<PathBuf>,
    /// Build on the keys of this file, one a line, instead of generated ones.
    #[arg(long, value_name = "FILE", requires = "probes_file")]
    pub(crate) keys_file: Option<PathBuf>,
    /// Probe the keys of this file, one a line.
    #[arg(long, value_name = "FILE", requires = "keys_file")]
    pub(crate) probes_file: Option<PathBuf>,
}

/// Where results go unless said otherwise.
pub(crate) const DEFAULT_OUT: &str = "perf-out";

impl Default for MeasureArgs {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            isa: None,
            out: DEFAULT_OUT.into(),
            resume: false,
            cost_model: None,
            keys_file: None,
            probes_file: None,
        }
    }
}

/// What `check` takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512 or
    /// neon.
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
}

/// What `calibrate` takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct CalibrateArgs {
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512 or
    /// neon.
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
    /// Where calibration.json goes.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
}

/// What `report` takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// The directory that `measure --out` wrote.
    pub(crate) dir: PathBuf,
    /// A Markdown file in which the regions `<!-- trommel-perf:NAME begin -->` to
    /// `<!-- trommel-perf:NAME end -->` are replaced by this run's tables.
    #[arg(long, value_name = "FILE")]
    pub(crate) splice: Option<PathBuf>,
}

/// What `textbook` takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct TextbookArgs {
    /// Small tables and up to 1e4 keys, in seconds.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where the CSV files go.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
    /// Where the plots go, if not to the CSV files.
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// A Markdown file in which the regions `<!-- trommel-perf-textbook:NAME begin -->` to
    /// `<!-- trommel-perf-textbook:NAME end -->` are replaced by the tables.
    #[arg(long, value_name = "FILE")]
    pub(crate) splice: Option<PathBuf>,
}

/// A count as people write it: `1000000`, `1e6`, `2.5e6`.
fn parse_count(text: &str) -> Result<usize, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("{text:?} is not a number"))?;
    if value.fract() != 0.0 || !(1.0..=1e10).contains(&value) {
        return Err(format!("{text:?} is not a whole number from 1 to 1e10"));
    }
    Ok(value as usize)
}

/// A number of threads that an engine takes.
fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = parse_count(text).ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    threads.ok_or_else(|| format!("{text:?} is not a whole number from 1 to {MAX_THREADS}"))
}

/// A load in whole per cent, as far as every filter with slots can be filled.
fn parse_load(text: &str) -> Result<u32, String> {
    let load = text.trim().parse().ok().filter(|load| (1..=95).contains(load));
    load.ok_or_else(|| format!("{text:?} is not a whole number from 1 to 95"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn counts_are_read_as_people_write_them() {
        assert_eq!(parse_count("1e6"), Ok(1_000_000));
        assert_eq!(parse_count(" 250000"), Ok(250_000));
        for bad in ["", "x", "1.5", "-3", "0", "1e20", "NaN", "inf"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn loads_are_whole_per_cent_that_filters_take() {
        assert_eq!(parse_load(" 95"), Ok(95));
        for bad in ["", "0", "96", "0.95", "95%", "-1"] {
            assert!(parse_load(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn threads_are_whole_numbers_that_an_engine_takes() {
        assert_eq!(parse_threads(" 2"), Ok(2));
        for bad in ["", "0", "1e9", "1025", "1.5", "-1", "x"] {
            assert!(parse_threads(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn key_and_probe_files_come_together() {
        let parsed = Cli::try_parse_from(["trommel-perf", "measure", "--keys-file", "k"]);
        assert!(parsed.is_err());
    }
}
