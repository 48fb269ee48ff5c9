//! The command line.

mod examples;

use crate::advise::AdviseArgs;
use crate::measure::plan::Selection;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use trommel::Isa;

/// Measures Trommel's filters on this machine, next to other crates and against the machine's roofline.
#[derive(Debug, Parser)]
#[command(name = "trommel-perf", version, about, after_help = examples::PROGRAM)]
pub(crate) struct Cli {
    /// What to do; without a command, `measure --quick`.
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// The verbs. The files of `cmd/` run them.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure, print tables, write results.csv, results.json, env.json and report.html.
    #[command(after_help = examples::MEASURE)]
    Measure(MeasureArgs),
    /// Run every kind of case briefly on few keys, only to verify the answers. Exit with 1 if an answer is wrong.
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Compare an old and a new build of this program by one or more runs of each. Exit with 3 if a case of ours is
    /// slower, or if its false-positive rate or bits per key changed; else with 4 if a case of ours is unsettled, has
    /// too few repetitions, or was measured with the old program but not in every run.
    #[command(after_help = examples::COMPARE)]
    Compare(CompareArgs),
    /// Write report.html again from a run's results, splice its tables into a document, or show the runs of several
    /// machines side by side.
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Repeat experiments of papers on cuckoo filters and cuckoo hashing: the maximum load of each variant, and the
    /// density-based method of inserting compared with the standard one.
    #[command(after_help = examples::TEXTBOOK)]
    Textbook(TextbookArgs),
    /// Advise which filter, with which parameters, has the lowest cost per probe. Lookup times are measured, in about a
    /// minute at most, or taken from the results of a run.
    #[command(after_help = examples::ADVISE)]
    Advise(AdviseArgs),
    /// Measure the constants of the engine's cost model on this machine, in about a minute; print them and write
    /// calibration.json.
    #[command(after_help = examples::CALIBRATE)]
    Calibrate(CalibrateArgs),
    /// Measure random 64-byte cache-line reads per second, by working-set size and prefetch hint.
    #[command(after_help = examples::ROOFLINE)]
    Roofline,
    /// Describe the machine and the build.
    #[command(after_help = examples::ENV)]
    Env,
    /// List the cases that `measure` would run.
    #[command(after_help = examples::LIST)]
    List(Selection),
    /// Run the cases of a job, with their timed sections marked: `measure` runs this verb under Callgrind.
    #[command(hide = true)]
    Simulated(SimulatedArgs),
    /// Print a script that completes this command line in a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write manual pages.
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
}

/// The arguments of `measure`.
#[derive(Args, Clone, Debug)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512,
    /// avx512-gather or neon.
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
    /// The directory for the results.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
    /// End after about N seconds: groups get less time, down to three repetitions per case; if that takes too long,
    /// groups are left out. A full run, a run with --load, and a run of selected cases without --quick leave out no
    /// group, so such a run can take longer.
    #[arg(long, value_name = "N", value_parser = parse_seconds)]
    pub(crate) seconds: Option<Duration>,
    /// Continue the run in the output directory: keep its results, and measure only the groups that are missing. A run
    /// on another machine, of another build or commit, or on other keys is refused.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Let the engine choose strategies by the constants in this file, which `calibrate` wrote.
    #[arg(long, value_name = "FILE")]
    pub(crate) cost_model: Option<PathBuf>,
    /// If there are no hardware counters, count instructions and misses in a simulation by Valgrind, for filters of up
    /// to 2^20 keys or slots: always, never, or only with --full (auto). The simulation takes minutes per filter.
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = Simulate::Auto,
        default_missing_value = "always"
    )]
    pub(crate) simulate: Simulate,
    /// Fill the filters with the keys of this file, one per line, instead of generated ones.
    #[arg(long, value_name = "FILE", requires = "probes_file")]
    pub(crate) keys_file: Option<PathBuf>,
    /// Look up the keys of this file, one per line.
    #[arg(long, value_name = "FILE", requires = "keys_file")]
    pub(crate) probes_file: Option<PathBuf>,
}

/// The default directory for results.
pub(crate) const DEFAULT_OUT: &str = "perf-out";

impl Default for MeasureArgs {
    fn default() -> Self {
        Self {
            selection: Selection { quick: true, ..Selection::default() },
            isa: None,
            out: DEFAULT_OUT.into(),
            seconds: None,
            resume: false,
            cost_model: None,
            simulate: Simulate::Auto,
            keys_file: None,
            probes_file: None,
        }
    }
}

/// When to simulate events on a machine without hardware counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Simulate {
    /// Only in a full run, and only if Valgrind is installed.
    Auto,
    Always,
    Never,
}

/// The arguments of `simulated`.
#[derive(Args, Clone, Debug)]
pub(crate) struct SimulatedArgs {
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
    /// The job, as JSON: cases of one filter.
    pub(crate) job: String,
}

/// The arguments of `check`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512,
    /// avx512-gather or neon.
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
}

/// The arguments of `compare`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompareArgs {
    /// The directories that `measure --out` wrote for the old program and for the new one.
    #[arg(
        value_names = ["OLD", "NEW"],
        num_args = 2,
        required_unless_present = "old",
        conflicts_with_all = ["old", "new"]
    )]
    pub(crate) dirs: Vec<PathBuf>,
    /// Several runs of the old program: the first is compared with the first --new, and so on.
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "new")]
    pub(crate) old: Vec<PathBuf>,
    /// The same number of runs of the new program, made in alternation with the old ones.
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "old")]
    pub(crate) new: Vec<PathBuf>,
    /// Treat times that differ by less than PERCENT as equal.
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = parse_effect)]
    pub(crate) min_effect: f64,
    /// Compare runs even if their machines, flags, rivals, input keys or row schemas differ; the output is marked.
    #[arg(long)]
    pub(crate) force: bool,
    /// Exit with 0 instead of 4 if there is no regression, but cases are unsettled or have too few repetitions, or
    /// cases of the old program were not measured in every run.
    #[arg(long)]
    pub(crate) allow_undecided: bool,
    /// Show all cases, not only those that differ.
    #[arg(long)]
    pub(crate) all: bool,
    /// Write the comparison to FILE as JSON, for scripts.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the comparison to FILE as JUnit XML, for continuous integration: one test per case of ours that all runs
    /// have.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Add a line for each case of ours to FILE, a CSV file with the columns time,machine,base,commit,case,ratio, which
    /// `report --history` plots over commits.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
}

/// The arguments of `calibrate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CalibrateArgs {
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512,
    /// avx512-gather or neon.
    #[arg(long)]
    pub(crate) isa: Option<Isa>,
    /// The directory for calibration.json.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
}

/// The arguments of `report`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// The directory that `measure --out` wrote. With several directories, whose runs are from different machines, the
    /// report of the first begins with tables that show all runs side by side.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Plot a history of times or instructions over commits, and list its latest values. For times, FILE is a file that
    /// `compare --history` wrote; for instructions, a CSV file with the columns
    /// time,commit,bench,isa,instructions,d1_misses,ll_misses.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Write the run to a folder that can be published: a page in Markdown with all tables, the plots, results.csv,
    /// results.json and env.json.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) publish: Option<PathBuf>,
    /// A Markdown file in which the regions `<!-- trommel-perf:NAME begin -->` to
    /// `<!-- trommel-perf:NAME end -->` are replaced by this run's tables.
    #[arg(long, value_name = "FILE")]
    pub(crate) splice: Option<PathBuf>,
    /// Splice only into the regions `trommel-perf-PART:NAME`, so that a document can show the tables of several runs.
    #[arg(long, value_name = "PART", requires = "splice", value_parser = part)]
    pub(crate) part: Option<String>,
}

/// Parses the name of a part of a document.
fn part(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !text.is_empty() && text.chars().all(is_name) {
        Ok(text.to_owned())
    } else {
        Err("a name of lower-case letters and digits is expected".to_owned())
    }
}

/// The arguments of `completions`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell for which the script is printed.
    pub(crate) shell: clap_complete::Shell,
}

/// The arguments of `man`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ManArgs {
    /// The directory for the pages.
    pub(crate) dir: PathBuf,
}

/// The arguments of `textbook`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TextbookArgs {
    /// Measure small tables and up to 1e4 keys; takes seconds.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The directory for the CSV files.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
    /// The directory for the plots; by default, the directory of the CSV files.
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// A Markdown file in which the regions `<!-- trommel-perf-textbook:NAME begin -->` to
    /// `<!-- trommel-perf-textbook:NAME end -->` are replaced by the tables.
    #[arg(long, value_name = "FILE")]
    pub(crate) splice: Option<PathBuf>,
}

/// Parses an effect in per cent; returns it as a share.
fn parse_effect(text: &str) -> Result<f64, String> {
    let effect = text.trim().trim_end_matches(['%', ' ']).parse::<f64>().ok();
    let effect = effect.filter(|effect| (0.0..=1000.0).contains(effect));
    effect
        .map(|effect| effect / 100.0)
        .ok_or_else(|| format!("{text:?} is not a number from 0 to 1000"))
}

/// Parses a time in whole seconds, up to a day.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| format!("{text:?} is not a whole number from 1 to 86400"))?;
    Ok(Duration::from_secs(seconds))
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
    fn effects_are_given_in_per_cent() {
        assert_eq!(parse_effect("5"), Ok(0.05));
        assert_eq!(parse_effect("2.5 %"), Ok(0.025));
        for bad in ["", "-1", "NaN", "inf", "x"] {
            assert!(parse_effect(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn runs_to_compare_are_given_as_a_pair_or_by_old_and_new() {
        let parses = |rest: &[&str]| {
            let arguments = ["trommel-perf", "compare"].iter().chain(rest);
            Cli::try_parse_from(arguments).is_ok()
        };
        assert!(parses(&["a", "b"]) && parses(&["--old", "a", "c", "--new", "b", "d"]));
        assert!(parses(&["--old", "a", "--new", "b", "--old", "c", "--new", "d"]));
        assert!(!parses(&[]) && !parses(&["a"]) && !parses(&["a", "b", "c"]));
        assert!(!parses(&["--old", "a"]) && !parses(&["a", "b", "--old", "a", "--new", "b"]));
    }

    #[test]
    fn every_verb_has_examples_that_parse() {
        for verb in Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> =
                help.lines().filter_map(|line| line.strip_prefix("  trommel-perf")).collect();
            assert!(!examples.is_empty(), "{}", verb.get_name());
            for example in examples {
                let words = example.split_whitespace().map(|word| word.trim_matches('\''));
                let parsed = Cli::try_parse_from(["trommel-perf"].into_iter().chain(words));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn a_key_file_needs_a_probe_file() {
        let parsed = Cli::try_parse_from(["trommel-perf", "measure", "--keys-file", "k"]);
        assert!(parsed.is_err());
    }
}
