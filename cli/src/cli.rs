//! The command line as clap knows it.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use trommel::FilterKind;

const AFTER_HELP: &str = "\
Exit codes:
  0  done; of query and parquet probe: at least one key was printed
  1  query, or parquet probe, printed no key
  2  an error; the message names the file and, where there is one, the line

A filter that is written replaces an existing file as a whole or not at all. `-o -` writes to standard output.
Progress is shown if standard error is a terminal.";

/// Approximate-membership filters of files: a filter says of a key that it is certainly absent, or that it may be present.
#[derive(Clone, Debug, Parser)]
#[command(name = "trommel", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Build a filter from the lines or a column of files.
    #[command(after_long_help = BUILD_HELP)]
    Build(BuildArgs),
    /// Print the keys that may be in a filter.
    #[command(after_long_help = QUERY_HELP)]
    Query(QueryArgs),
    /// Show what a filter is and how full.
    Info(InfoArgs),
    /// Merge filters into one of all their keys.
    Merge(MergeArgs),
    /// Fold a filter to the smallest size that keeps a false-positive rate.
    #[command(after_long_help = FOLD_HELP)]
    Fold(FoldArgs),
    /// Show, add and ask the Bloom filters of a Parquet file.
    #[cfg(feature = "parquet")]
    #[command(subcommand)]
    Parquet(ParquetVerb),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, of trommel or of one verb.
    Man(ManArgs),
}

const BUILD_HELP: &str = "\
Keys:
  lines    each line without its line feed; a carriage return before it is part of the key. An empty line is
           the empty key. Any bytes are allowed, up to 268,435,456 in a line.
  csv      one column. The first record has the names; fields may be quoted.
  tsv      the same with tabs between fields, and without quotes.
  parquet  one column, nulls left out. Strings and byte arrays are their bytes, INT32 and INT64 are integers as
           --key-type i32 and i64 have them, FLOAT and DOUBLE are their bytes. Files only.

How many keys:
  With --keys, inputs are read once. Without, regular files of lines are read twice, to count the lines first.
  Other inputs are read once, and the hashes of their keys are kept, 8 bytes each: up to 16,777,216 in
  memory, then all of them in a temporary file without a name in TMPDIR. Repeated keys are counted each time.

  More keys than --keys make a Bloom filter less precise, and a warning says by how much. Filters of the kinds
  quotient, cache-line-quotient and cuckoo can be full: an error names the line that did not fit.";

const QUERY_HELP: &str = "\
Keys are the arguments, or without any the lines of standard input, as in `trommel build`. They are printed in
their order, a line each. Answers are written for what was read before more is read, so keys may come one by one.";

const FOLD_HELP: &str = "\
A Bloom filter without counters can be halved as often as its number of blocks is even. `trommel build
--foldable-by 64` makes a filter that can be halved six times.";

/// A count as people write it: `1000000`, `1_000_000`, `1e6`.
fn count(text: &str) -> Result<usize, String> {
    let digits = text.replace('_', "");
    let exact = digits.parse::<u64>().ok().or_else(|| {
        let number = digits.parse::<f64>().ok()?;
        // Every whole number up to this is a floating-point number.
        (number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number))
            .then_some(number as u64)
    });
    let exact = exact.and_then(|number| usize::try_from(number).ok());
    exact.ok_or_else(|| "a whole number such as 1000000 or 1e6 is expected".to_owned())
}

fn fpr(text: &str) -> Result<f64, String> {
    let fpr = text.parse::<f64>().map_err(|error| error.to_string())?;
    if fpr > 0.0 && fpr < 1.0 {
        Ok(fpr)
    } else {
        Err(format!("a false-positive rate lies strictly between 0 and 1, got {fpr}"))
    }
}

fn kind(name: &str) -> Result<FilterKind, String> {
    name.parse().map_err(|error: trommel::error::UnknownKind| error.to_string())
}

/// How inputs are divided into keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// A key is a line.
    Lines,
    /// A key is a field of a comma-separated record.
    Csv,
    /// A key is a field of a tab-separated line.
    Tsv,
    /// A key is a value of a Parquet file.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Which bytes of a key are hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyType {
    /// The bytes as they are.
    #[default]
    Bytes,
    /// A decimal number, as the library hashes an `i32`.
    I32,
    /// A decimal number, as the library hashes an `i64`.
    I64,
    /// A decimal number, as the library hashes a `u32`.
    U32,
    /// A decimal number, as the library hashes a `u64`.
    U64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct BuildArgs {
    /// The kind of the filter: bloom, counting-bloom, register-bloom, split-block-bloom, cache-line-bloom, quotient,
    /// cache-line-quotient or cuckoo.
    #[arg(long, value_parser = kind, default_value = "split-block-bloom")]
    pub(crate) kind: FilterKind,
    /// The share of absent keys that may be reported as present.
    #[arg(long, value_name = "RATE", value_parser = fpr, default_value = "0.01", allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// The number of keys that the filter is sized for. By default as many as there are.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) keys: Option<usize>,
    /// The column that has the keys, by its name or its number from 1. Not needed if there is only one.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub(crate) column: Option<String>,
    /// How inputs are divided into keys.
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) input_format: InputFormat,
    /// Which bytes of a key are hashed: as they are, or those of an integer, little-endian.
    #[arg(long, value_name = "TYPE", default_value = "bytes")]
    pub(crate) key_type: KeyType,
    /// The seed of the hash.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Make the number of blocks a multiple of this, so that `trommel fold` can halve the filter.
    #[arg(long, value_name = "FACTOR", default_value_t = 1)]
    pub(crate) foldable_by: u32,
    /// Threads that insert, beside one that reads and one that hashes. By default one for each core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// The file of the filter. `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Files with keys. `-`, or no file, is standard input.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct QueryArgs {
    /// Print the keys that are certainly absent instead.
    #[arg(long)]
    pub(crate) absent: bool,
    /// Which bytes of a key are hashed, as in `trommel build`.
    #[arg(long, value_name = "TYPE", default_value = "bytes")]
    pub(crate) key_type: KeyType,
    /// Threads that look keys up, beside one that reads and one that hashes. By default one for each core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// The file of the filter.
    pub(crate) filter: PathBuf,
    /// Keys. Without any, the lines of standard input.
    #[arg(value_name = "KEY")]
    pub(crate) keys: Vec<std::ffi::OsString>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct InfoArgs {
    /// Print JSON, in the form that cli/README.md describes.
    #[arg(long)]
    pub(crate) json: bool,
    /// The file of the filter.
    pub(crate) filter: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// The file of the merged filter, which may be one of those that are merged. `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Files of filters.
    #[arg(value_name = "FILTER", required = true, num_args = 2..)]
    pub(crate) filters: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct FoldArgs {
    /// The file of the folded filter, which may be the one that is folded. `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The false-positive rate to keep, with the keys that the filter has.
    #[arg(long, value_name = "RATE", value_parser = fpr, allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// The file of the filter.
    pub(crate) filter: PathBuf,
}

/// What `parquet` does.
#[cfg(feature = "parquet")]
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ParquetVerb {
    /// List the columns of a file and their Bloom filters.
    Inspect(InspectArgs),
    /// Add Bloom filters to a file, without encoding its pages anew.
    #[command(after_long_help = ADD_HELP)]
    Add(AddArgs),
    /// Print the keys that may be in a column, each with its row groups.
    #[command(after_long_help = PROBE_HELP)]
    Probe(ProbeArgs),
}

#[cfg(feature = "parquet")]
const ADD_HELP: &str = "\
A filter is made for each row group, for the distinct values that it has. The file is replaced as a whole or not at
all. A process that is killed leaves a temporary file, `.NAME.PROCESS-NUMBER.tmp`, in the folder of the output.";

#[cfg(feature = "parquet")]
const PROBE_HELP: &str = "\
Keys are the arguments, or without any the lines of standard input: text, numbers, decimals with a point, dates as
2026-01-31, UUIDs, other byte arrays of fixed length as 0x and hexadecimal digits. A line that is printed has the key,
a tab, and the row groups that may have it, with commas between. A row group without a filter may have any key.";

#[cfg(feature = "parquet")]
#[derive(Args, Clone, Debug)]
pub(crate) struct InspectArgs {
    /// Print JSON, in the form that cli/README.md describes.
    #[arg(long)]
    pub(crate) json: bool,
    /// The Parquet file.
    pub(crate) file: PathBuf,
}

#[cfg(feature = "parquet")]
#[derive(Args, Clone, Debug)]
pub(crate) struct AddArgs {
    /// The path of a column, with dots. May be given several times.
    #[arg(long, value_name = "COLUMN", required = true)]
    pub(crate) column: Vec<String>,
    /// The share of absent values that may be reported as present.
    #[arg(long, value_name = "RATE", value_parser = fpr, default_value = "0.01", allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// Make new filters where there are some already, instead of refusing.
    #[arg(long)]
    pub(crate) replace: bool,
    /// The file to write instead of replacing the one that is read.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The Parquet file.
    pub(crate) file: PathBuf,
}

#[cfg(feature = "parquet")]
#[derive(Args, Clone, Debug)]
pub(crate) struct ProbeArgs {
    /// The path of the column, with dots.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) column: String,
    /// Print the keys that are in no row group instead.
    #[arg(long)]
    pub(crate) absent: bool,
    /// The Parquet file.
    pub(crate) file: PathBuf,
    /// Keys. Without any, the lines of standard input.
    #[arg(value_name = "KEY")]
    pub(crate) keys: Vec<std::ffi::OsString>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsArgs {
    /// For which shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ManArgs {
    /// The verb.
    pub(crate) verb: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_names_every_kind() {
        let help = Cli::command().find_subcommand_mut("build").unwrap().render_help().to_string();
        let help: Vec<&str> = help.split([' ', ',', '.', '\n']).collect();
        for kind in FilterKind::ALL {
            assert!(help.contains(&kind.name()), "{kind}");
        }
    }

    #[test]
    fn counts_are_whole_numbers() {
        assert_eq!([count("17"), count("1_000"), count("1e6")], [Ok(17), Ok(1_000), Ok(1_000_000)]);
        assert_eq!(count("18446744073709551615"), Ok(usize::MAX));
        for refused in ["", "-1", "1.5", "1e30", "NaN", "inf", "ten", "18446744073709551616"] {
            assert!(count(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn rates_lie_between_zero_and_one() {
        assert_eq!(fpr("0.01"), Ok(0.01));
        for refused in ["0", "1", "-0.1", "NaN", "inf", "", "1%"] {
            assert!(fpr(refused).is_err(), "{refused}");
        }
    }
}
