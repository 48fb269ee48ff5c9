//! The errors with which a verb fails, and their messages.

use std::fmt;
use std::io;
use trommel::engine::EngineError;
use trommel::error::FoldError;
use trommel::error::WhyFull;
use trommel::{FilterKind, FormatError, Full, MergeError, SpecError};

/// An error that ends the program with exit code 2. Its message is one line. If the error concerns a file, the message
/// names the file.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An input or a filter could not be opened or read.
    Read { name: String, line: Option<u64>, why: Unreadable },
    /// A filter of this kind cannot have the requested parameters.
    Spec { kind: FilterKind, error: SpecError },
    /// The filter has no room for a key, or the system refused memory that the insert of the key needs.
    Full { name: String, at: Position, error: Full },
    /// The file is not a filter that this program can read: it is something else, damaged or of a later version, or its
    /// keys were hashed with a secret key.
    Format { name: String, error: FormatError },
    /// Two filters cannot be merged.
    Merge { left: String, right: String, error: MergeError },
    /// A filter cannot be folded.
    Fold { name: String, error: FoldError },
    /// The filter to fold already has a false-positive rate above the requested one.
    AboveRate { name: String, expected: f64, asked: f64 },
    /// A Parquet file could not be read, probed or rewritten.
    #[cfg(feature = "parquet")]
    Parquet { name: String, error: ParquetFailure },
    /// The output could not be written.
    Write { name: String, error: io::Error },
    /// Hashes could not be written to a temporary file or read back from it.
    Spool { error: io::Error },
    /// A key on the command line is not a number of the key type.
    Argument { key: String, error: NotNumber },
    /// The arguments are invalid or contradict each other. Errors that have no variant of their own are here too, with
    /// their messages.
    Usage(String),
    /// The number of threads is out of range, or the system refused to start a thread.
    Engine(EngineError),
}

/// The position of a key in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Line(u64),
    /// The number of the record, from 1, without the record with the column names. For Parquet, the number of the
    /// value, from 1, without nulls. Used if the input has no lines or cannot be read again to find the line.
    Record(u64),
}

/// Why a verb on a Parquet file failed.
#[cfg(feature = "parquet")]
#[derive(Debug)]
pub(crate) enum ParquetFailure {
    File(trommel_parquet::FileError),
    Filter {
        row_group: usize,
        column: String,
        error: trommel_parquet::FilterError,
    },
    Probe(trommel_parquet::ProbeError),
    Rewrite(trommel_parquet::RewriteError),
    /// The `parquet` crate could not decode the footer.
    Footer(parquet::errors::ParquetError),
    /// A key is not a value of the column. `line` is the number of the key's line, from 1; `None` if keys are
    /// arguments.
    Key {
        line: Option<u64>,
        error: trommel_parquet::ProbeError,
    },
}

/// Why an input could not be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    #[cfg(feature = "parquet")]
    Parquet(parquet::errors::ParquetError),
    #[cfg(feature = "parquet")]
    NotSeekable,
    #[cfg(feature = "parquet")]
    NoKeyType {
        column: String,
        physical_type: String,
    },
    /// The error of a call of the operating system.
    System(io::Error),
    Directory,
    /// A line is too long: it has at least this number of bytes.
    LongLine {
        limit_bytes: usize,
    },
    /// The reason that the `csv` crate gives, without the position in the file.
    Record(String),
    UnequalRecord {
        fields: u64,
        expected: u64,
    },
    NoColumn {
        column: String,
        names: Vec<String>,
    },
    WhichColumn {
        names: Vec<String>,
    },
    RepeatedColumn {
        column: String,
        first: usize,
        second: usize,
    },
    NotNumber(NotNumber),
}

/// A key that is not a number of the key type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotNumber {
    /// The key, or its beginning.
    pub(crate) key: String,
    pub(crate) type_name: &'static str,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { name, line: Some(line), why } => write!(f, "{name}: line {line}: {why}"),
            Self::Read { name, line: None, why } => write!(f, "{name}: {why}"),
            Self::Spec { kind, error } => write!(f, "cannot make this {kind} filter: {error}"),
            Self::Full { name, at, error } if error.why != WhyFull::Slots => {
                write!(f, "{name}: {at}: {error}")
            }
            Self::Full { name, at, error } => write!(
                f,
                "{name}: {at}: the filter is full, with {} keys in {} slots: use a larger --keys",
                error.len, error.capacity
            ),
            Self::Format { name, error } => write!(f, "{name}: {error}"),
            Self::Merge { left, right, error } => {
                write!(f, "{left} and {right} do not merge: {error}")
            }
            Self::Fold { name, error } => write!(f, "{name}: {error}"),
            Self::AboveRate { name, expected, asked } => write!(
                f,
                "{name}: its expected false-positive rate is {expected:.3e}, already above {asked:.3e}"
            ),
            #[cfg(feature = "parquet")]
            Self::Parquet { name, error } => write!(f, "{name}: {error}"),
            Self::Write { name, error } => write!(f, "{name}: {error}"),
            Self::Spool { error } => {
                write!(f, "temporary file in {}: {error}", std::env::temp_dir().display())
            }
            Self::Argument { key, error } => write!(f, "argument {key:?}: {error}"),
            Self::Usage(message) => f.write_str(message),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record(record) => write!(f, "record {record}"),
        }
    }
}

#[cfg(feature = "parquet")]
impl fmt::Display for ParquetFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error: &dyn std::error::Error = match self {
            Self::File(error) => error,
            Self::Filter { row_group, column, error } => {
                return write!(f, "row group {row_group}, column {column}: {error}");
            }
            Self::Probe(error) | Self::Key { line: None, error } => error,
            Self::Key { line: Some(line), error } => return write!(f, "line {line}: {error}"),
            Self::Rewrite(error) => error,
            Self::Footer(error) => error,
        };
        write!(f, "{error}")?;
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet(error) => error.fmt(f),
            #[cfg(feature = "parquet")]
            Self::NotSeekable => {
                f.write_str("a Parquet file is read from its end, so it must be a regular file")
            }
            #[cfg(feature = "parquet")]
            Self::NoKeyType { column, physical_type } => {
                write!(f, "column {column} has the type {physical_type}, which cannot be a key")
            }
            Self::System(error) => error.fmt(f),
            Self::Directory => f.write_str("is a directory"),
            Self::LongLine { limit_bytes } => write!(f, "too long: {limit_bytes} bytes or more"),
            Self::Record(why) => f.write_str(why),
            Self::UnequalRecord { fields, expected } => {
                let plural = if *fields == 1 { "" } else { "s" };
                write!(f, "{fields} field{plural}, but the records before have {expected}")
            }
            Self::NoColumn { column, names } => {
                write!(f, "no column {column}; the columns are: {}", names.join(", "))
            }
            Self::WhichColumn { names } => {
                write!(f, "--column is needed; the columns are: {}", names.join(", "))
            }
            Self::RepeatedColumn { column, first, second } => write!(
                f,
                "two columns are named {column}: give the column's number, {first} or {second}"
            ),
            Self::NotNumber(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for NotNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a valid {}", self.key, self.type_name)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}
