//! The selection of cases on the command line.

use super::Cases;
use clap::Args;
use regex::Regex;
use std::path::Path;

/// The most threads of an engine.
pub(crate) const MAX_THREADS: usize = 1024;

/// Selects cases.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Measure every kind at 1e5 keys, lookups in large filters (1e7 to 3e7 keys, or fewer if memory is short), filters
    /// of 2^20 slots at 75 and 95 % load with their fastest rival, and TPC-H at scale 0.1, in about two minutes. With
    /// neither --quick nor --full, a run takes a quarter of an hour. Such a run has 1e5, 1e6 and 1e7 keys, and adds
    /// Zipf-distributed probes, all loads, all widths of slots and all rivals at 2^20 slots, filters of 2^24 slots with
    /// their fastest rival, the matrix of further influences on lookups, and the engine with 1e6 keys.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Measure everything at 1e5 to 1e8 keys (but builds of 1e8 keys only with the engine), filters of 1 GiB, TPC-H at
    /// scale 1, filters of 2^20 and 2^24 slots at all loads, with all widths of slots and all rivals that are fast
    /// enough, filters of 2^27 slots of 8 bits at loads of 75 and 95 %, the matrix, and all cases of the engine.
    #[arg(long)]
    pub(crate) full: bool,
    /// Select only the cases whose name (see `list`) matches, and the rivals of these cases.
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) filter: Option<Regex>,
    /// Measure these key counts, such as 1e5,3e6. Leaves out TPC-H, filters of 1 GiB, the matrix, the engine's map of
    /// strategies and, without --load, the sweep over loads. The engine is measured, with these key counts, only if
    /// --full or --threads is given or --filter contains "engine".
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = parse_count)]
    pub(crate) keys: Option<Vec<usize>>,
    /// Measure filters with slots at these loads, in per cent, such as 75,85,95, and nothing else unless --keys is
    /// given or --filter contains "engine". Each load is measured at 2^20 and 2^24 slots, and with --full at 2^27 slots
    /// too.
    #[arg(long, value_name = "P,P", value_delimiter = ',', value_parser = parse_load, conflicts_with = "threads")]
    pub(crate) load: Option<Vec<u32>>,
    /// Measure only the engine, with these numbers of threads, such as 1,2. Without this option, the engine is measured
    /// with one thread and with one thread per core.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = parse_threads)]
    pub(crate) threads: Option<Vec<usize>>,
    /// Measure the cases that this file describes, and nothing else. It is a TOML file with a table `[[case]]` for each
    /// filter: `filter` (the kind), `size` (`12-bit`, `fpr-1%` or `64-MiB`), `keys` (a list), and optionally
    /// `operations` (a list of contains/hit, contains/miss, contains/mixed, insert and build) and `rivals = false`.
    #[arg(long, value_name = "FILE", value_parser = read_cases, conflicts_with_all = ["full", "keys", "load", "threads"])]
    pub(crate) cases: Option<Cases>,
    /// With --filter, leave out the rivals of the selected cases, unless --filter matches them too.
    #[arg(long)]
    pub(crate) no_rivals: bool,
}

/// Reads the cases of a file.
fn read_cases(path: &str) -> Result<Cases, String> {
    Cases::read(Path::new(path)).map_err(|error| format!("{error:#}"))
}

/// Parses a count: `1000000`, `1e6`, `2.5e6`.
pub(crate) fn parse_count(text: &str) -> Result<usize, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("{text:?} is not a number"))?;
    if value.fract() != 0.0 || !(1.0..=1e10).contains(&value) {
        return Err(format!("{text:?} is not a whole number from 1 to 1e10"));
    }
    Ok(value as usize)
}

/// Parses a number of threads that an engine can have.
fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = parse_count(text).ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    threads.ok_or_else(|| format!("{text:?} is not a whole number from 1 to {MAX_THREADS}"))
}

/// Parses a load in whole per cent, up to 95, because the rival `qfilter` fills at most 95 % of its slots.
fn parse_load(text: &str) -> Result<u32, String> {
    let load = text.trim().parse().ok().filter(|load| (1..=95).contains(load));
    load.ok_or_else(|| format!("{text:?} is not a whole number from 1 to 95"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_in_any_notation() {
        assert_eq!(parse_count("1e6"), Ok(1_000_000));
        assert_eq!(parse_count(" 250000"), Ok(250_000));
        for bad in ["", "x", "1.5", "-3", "0", "1e20", "NaN", "inf"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn loads_are_whole_per_cent_up_to_95() {
        assert_eq!(parse_load(" 95"), Ok(95));
        for bad in ["", "0", "96", "0.95", "95%", "-1"] {
            assert!(parse_load(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_of_threads_are_whole_and_within_the_limit_of_engines() {
        assert_eq!(parse_threads(" 2"), Ok(2));
        for bad in ["", "0", "1e9", "1025", "1.5", "-1", "x"] {
            assert!(parse_threads(bad).is_err(), "{bad}");
        }
    }
}
