//! The definition of the command line for clap.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use trommel::FilterKind;

const AFTER_HELP: &str = "\
Exit codes:
  0  success; query and parquet probe: at least one key was printed
  1  query or parquet probe printed no key
  2  an error; the message names the file, if the error concerns one, and the line, if known

An existing output file is replaced as a whole or not at all. `-o -` writes a filter to standard output, except in
`parquet add`, which takes `-` as the name of a file. `build` and `parquet add` show their progress if standard error
is a terminal.";

/// Builds and queries approximate-membership filters: a filter tells whether a key is certainly absent or may be
/// present.
#[derive(Clone, Debug, Parser)]
#[command(name = "trommel", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Build a filter from the lines or from one column of files.
    #[command(after_long_help = BUILD_HELP)]
    Build(BuildArgs),
    /// Print the keys that may be in a filter.
    #[command(after_long_help = QUERY_HELP)]
    Query(QueryArgs),
    /// Show the parameters, the size and the fill of a filter.
    Info(InfoArgs),
    /// Merge filters into one filter with the keys of all.
    Merge(MergeArgs),
    /// Halve a filter as often as a given false-positive rate allows.
    #[command(after_long_help = FOLD_HELP)]
    Fold(FoldArgs),
    /// Show, add and query the Bloom filters of a Parquet file.
    #[cfg(feature = "parquet")]
    #[command(subcommand)]
    Parquet(ParquetVerb),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page of trommel or of one verb.
    Man(ManArgs),
}

const BUILD_HELP: &str = "\
Keys:
  lines    Each line is a key, without its line feed. A carriage return before the line feed is part of the key.
           An empty line is the empty key. A line can have any bytes, but must have fewer than 268,435,456.
  csv      One column. The first record has the column names; fields may be quoted.
  tsv      Like csv, but with tabs between fields and without quotes.
  parquet  One column, without its nulls. The key of a string or byte array is its bytes. An INT32 is hashed as with
           --key-type i32, an INT64 as with --key-type i64. The key of a FLOAT or DOUBLE is its little-endian bytes.
           Inputs must be regular files.

Number of keys:
  With --keys, inputs are read once. Without --keys, inputs that are all regular files of lines are read twice:
  the first time to count the lines. Other inputs are read once, and the hashes of their keys are kept, 8 bytes
  each. If there are fewer than 16,777,216 hashes, they stay in memory; otherwise all of them are written to a
  temporary file (on Unix, one without a name) in the folder that the variable TMPDIR names, or else in the system's
  temporary folder. A repeated key counts each time.

  If there are more keys than --keys, the false-positive rate of a Bloom filter rises. If the expected rate is then
  above --fpr, a warning gives it. Filters of the kinds quotient, cache-line-quotient and cuckoo can become full: an
  error then names the line of the first key that does not fit, or the number of its record if the input has no
  lines or is a csv or tsv input that cannot be read again.";

const QUERY_HELP: &str = "\
Keys are the arguments or, without arguments, the lines of standard input. `trommel build --help` describes such lines.
The keys that may be in the filter (with --absent, the keys that are certainly absent) are printed in input order, one
per line. The keys read so far are answered without waiting for more, so another program can send keys one by one.";

const FOLD_HELP: &str = "\
A Bloom filter without counters can be halved as long as its number of units (words, blocks or cache lines) is even and
its false-positive rate stays at most RATE. For example, `trommel build --foldable-by 64` makes a filter whose number of
units can be halved six times.";

/// Parses a count such as `1000000`, `1_000_000` or `1e6`.
fn count(text: &str) -> Result<usize, String> {
    let digits = text.replace('_', "");
    let exact = digits.parse::<u64>().ok().or_else(|| {
        let number = digits.parse::<f64>().ok()?;
        // An `f64` represents all whole numbers up to this one, 2^53, exactly.
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
        Err(format!("a false-positive rate must lie strictly between 0 and 1, got {fpr}"))
    }
}

fn kind(name: &str) -> Result<FilterKind, String> {
    name.parse().map_err(|error: trommel::error::UnknownKind| error.to_string())
}

/// How inputs are divided into keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Each line is a key.
    Lines,
    /// Each field in one column of comma-separated records is a key.
    Csv,
    /// Each field in one column of tab-separated lines is a key.
    Tsv,
    /// Each value in one column of a Parquet file is a key.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// How a key is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyType {
    /// The bytes of the key are hashed.
    #[default]
    Bytes,
    /// The key is a decimal number, hashed as the library hashes an `i32`.
    I32,
    /// The key is a decimal number, hashed as the library hashes an `i64`.
    I64,
    /// The key is a decimal number, hashed as the library hashes a `u32`.
    U32,
    /// The key is a decimal number, hashed as the library hashes a `u64`.
    U64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct BuildArgs {
    /// The kind of the filter: bloom, counting-bloom, register-bloom, split-block-bloom, cache-line-bloom, quotient,
    /// cache-line-quotient or cuckoo.
    #[arg(long, value_parser = kind, default_value = "split-block-bloom")]
    pub(crate) kind: FilterKind,
    /// The false-positive rate: the share of absent keys that may be reported as present.
    #[arg(long, value_name = "RATE", value_parser = fpr, default_value = "0.01", allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// The number of keys to size the filter for. By default, the number of keys in the inputs.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) keys: Option<usize>,
    /// The column with the keys: its name, or its number, counted from 1. Not needed if csv or tsv files have only one
    /// column.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub(crate) column: Option<String>,
    /// How inputs are divided into keys.
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) input_format: InputFormat,
    /// How a key is hashed: as bytes or, if the keys are decimal numbers, as an integer.
    #[arg(long, value_name = "TYPE", default_value = "bytes")]
    pub(crate) key_type: KeyType,
    /// The seed of the hash function.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Make the number of units (words, blocks or cache lines) a multiple of FACTOR, so that `trommel fold` can halve
    /// the filter.
    #[arg(long, value_name = "FACTOR", default_value_t = 1)]
    pub(crate) foldable_by: u32,
    /// The number of threads that insert keys, besides one that reads and one that hashes. By default, one per core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// The file to write the filter to. `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Files with keys. `-` is standard input, which is also read if no file is given.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct QueryArgs {
    /// Print the keys that are certainly absent, instead of those that may be present.
    #[arg(long)]
    pub(crate) absent: bool,
    /// How a key is hashed, as in `trommel build`.
    #[arg(long, value_name = "TYPE", default_value = "bytes")]
    pub(crate) key_type: KeyType,
    /// The number of threads that look up keys, besides one that reads and one that hashes. By default, one per core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// The filter file.
    pub(crate) filter: PathBuf,
    /// Keys. If none is given, the lines of standard input are the keys.
    #[arg(value_name = "KEY")]
    pub(crate) keys: Vec<std::ffi::OsString>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct InfoArgs {
    /// Print JSON. cli/README.md describes its fields.
    #[arg(long)]
    pub(crate) json: bool,
    /// The filter file.
    pub(crate) filter: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// The file to write the merged filter to, which may be one of the inputs. `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The filter files to merge.
    #[arg(value_name = "FILTER", required = true, num_args = 2..)]
    pub(crate) filters: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct FoldArgs {
    /// The file to write the folded filter to, which may be the input. `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The highest false-positive rate that the folded filter may have with the keys that it holds.
    #[arg(long, value_name = "RATE", value_parser = fpr, allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// The filter file.
    pub(crate) filter: PathBuf,
}

/// The verbs of `trommel parquet`.
#[cfg(feature = "parquet")]
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ParquetVerb {
    /// List the columns of a file and their Bloom filters.
    Inspect(InspectArgs),
    /// Add Bloom filters to a file without encoding its pages again.
    #[command(after_long_help = ADD_HELP)]
    Add(AddArgs),
    /// Print the keys that may be in a column, each with the row groups that may have it.
    #[command(after_long_help = PROBE_HELP)]
    Probe(ProbeArgs),
}

#[cfg(feature = "parquet")]
const ADD_HELP: &str = "\
Each given column gets a filter in each row group, sized for the distinct values of the row group. The file is replaced
as a whole or not at all. A killed process can leave a temporary file in the folder of the output. Its name is
`.NAME.PROCESS-NUMBER.tmp`: NAME is the output's name, PROCESS the number of the process, and NUMBER a counter.";

#[cfg(feature = "parquet")]
const PROBE_HELP: &str = "\
Keys are the arguments or, without arguments, the lines of standard input: text, numbers, decimals with a point,
dates such as 2026-01-31, and UUIDs. If the column has byte arrays of fixed length that are neither decimals nor UUIDs,
give a key as 0x and hexadecimal digits. Each printed line has the key, a tab, and the numbers of the row groups that
may have the key, separated by commas. With --absent, a line has only the key. A row group without a filter may have
any key.";

#[cfg(feature = "parquet")]
#[derive(Args, Clone, Debug)]
pub(crate) struct InspectArgs {
    /// Print JSON. cli/README.md describes its fields.
    #[arg(long)]
    pub(crate) json: bool,
    /// The Parquet file.
    pub(crate) file: PathBuf,
}

#[cfg(feature = "parquet")]
#[derive(Args, Clone, Debug)]
pub(crate) struct AddArgs {
    /// The path of a column, with dots between its parts. May be given several times.
    #[arg(long, value_name = "COLUMN", required = true)]
    pub(crate) column: Vec<String>,
    /// The false-positive rate: the share of absent values that may be reported as present.
    #[arg(long, value_name = "RATE", value_parser = fpr, default_value = "0.01", allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// Replace existing filters of the columns. Without this option, an existing filter is an error.
    #[arg(long)]
    pub(crate) replace: bool,
    /// The file to write. By default, the input is replaced.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The Parquet file.
    pub(crate) file: PathBuf,
}

#[cfg(feature = "parquet")]
#[derive(Args, Clone, Debug)]
pub(crate) struct ProbeArgs {
    /// The path of the column, with dots between its parts.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) column: String,
    /// Print the keys that are in no row group, instead of those that may be in a row group.
    #[arg(long)]
    pub(crate) absent: bool,
    /// The Parquet file.
    pub(crate) file: PathBuf,
    /// Keys. If none is given, the lines of standard input are the keys.
    #[arg(value_name = "KEY")]
    pub(crate) keys: Vec<std::ffi::OsString>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ManArgs {
    /// The verb whose manual page to print.
    pub(crate) verb: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn clap_accepts_the_definition() {
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
    fn false_positive_rates_lie_between_zero_and_one() {
        assert_eq!(fpr("0.01"), Ok(0.01));
        for refused in ["0", "1", "-0.1", "NaN", "inf", "", "1%"] {
            assert!(fpr(refused).is_err(), "{refused}");
        }
    }
}
