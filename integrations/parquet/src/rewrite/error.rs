//! Errors of rewriting files.

use crate::error::{FileError, ProbeError};
use crate::types::PhysicalType;
use core::fmt;
use parquet::errors::ParquetError;
use std::io;
use std::path::PathBuf;
use trommel::SpecError;

/// Why rewriting a file failed. The output is unchanged, with one exception: after the output has been replaced, its
/// folder is synced, and this sync can fail too.
#[derive(Debug)]
#[non_exhaustive]
pub enum RewriteError {
    /// A file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// Why: usually the error of the operating system.
        source: io::Error,
    },
    /// The input is not a Parquet file, or it cannot be rewritten.
    File(FileError),
    /// No column of the input has the requested path, or two columns have this path.
    Column(ProbeError),
    /// Two operations were requested for one column.
    TwoOperations {
        /// The column's path.
        column: String,
    },
    /// The format has no Bloom filters for the column's type.
    UnsupportedType {
        /// The column's path.
        column: String,
        /// The column's type.
        physical: PhysicalType,
    },
    /// Adding filters was requested for a column that already has a filter.
    /// [`Rewrite::replace`](crate::Rewrite::replace) would replace it.
    FilterExists {
        /// The column's path.
        column: String,
        /// The first row group with a filter of the column.
        row_group: usize,
    },
    /// Folding or removing filters was requested for a column that has no filter.
    NoFilter {
        /// The column's path.
        column: String,
    },
    /// The requested false-positive rate is at most 0, at least 1, or NaN.
    Fpr {
        /// The column's path.
        column: String,
        /// The requested false-positive rate.
        fpr: f64,
    },
    /// No filter of the row group's values reaches the requested false-positive rate, the system refused the memory for
    /// the filter, or the variable `TROMMEL_ISA` names an instruction set that cannot be used.
    Size {
        /// The column's path.
        column: String,
        /// The number of distinct values in the row group.
        distinct: usize,
        /// Why the filter cannot be made.
        source: SpecError,
    },
    /// The bitset of the filter would be larger than `max_bytes`.
    TooLarge {
        /// The column's path.
        column: String,
        /// The index of the row group.
        row_group: usize,
        /// The size of the bitset in bytes.
        bytes: u64,
        /// The maximum size of a bitset in bytes.
        max_bytes: u64,
    },
    /// The values of a column chunk could not be decoded.
    Values {
        /// The index of the row group.
        row_group: usize,
        /// The column's path.
        column: String,
        /// The error of the `parquet` crate, or an error that reports a panic of the `parquet` crate.
        source: ParquetError,
    },
    /// The new footer would be longer than 2³¹ − 1 bytes.
    FooterTooLarge {
        /// The length of the new footer in bytes.
        bytes: u64,
    },
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, .. } => write!(f, "{} cannot be read or written", path.display()),
            Self::File(error) => error.fmt(f),
            Self::Column(error) => error.fmt(f),
            Self::TwoOperations { column } => {
                write!(f, "there are two operations for column {column:?}")
            }
            Self::UnsupportedType { column, physical } => write!(
                f,
                "column {column:?} has the type {physical}, for which the format has no Bloom filters"
            ),
            Self::FilterExists { column, row_group } => {
                write!(f, "column {column:?} has a Bloom filter already, in row group {row_group}")
            }
            Self::NoFilter { column } => write!(f, "column {column:?} has no Bloom filter"),
            Self::Fpr { column, fpr } => write!(
                f,
                "column {column:?}: the false-positive rate is {fpr}, but must be above 0 and below 1"
            ),
            Self::Size { column, distinct, .. } => write!(
                f,
                "column {column:?}: the requested Bloom filter of {distinct} values cannot be made"
            ),
            Self::TooLarge { column, row_group, bytes, max_bytes } => write!(
                f,
                "column {column:?}, row group {row_group}: the Bloom filter would have {bytes} \
                 bytes, but at most {max_bytes} are written"
            ),
            Self::Values { row_group, column, .. } => {
                write!(f, "column {column:?}, row group {row_group}: the values cannot be decoded")
            }
            Self::FooterTooLarge { bytes } => {
                write!(
                    f,
                    "the new footer would have {bytes} bytes, but its length must fit into 31 bits"
                )
            }
        }
    }
}

impl core::error::Error for RewriteError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::File(error) => error.source(),
            Self::Column(error) => error.source(),
            Self::Size { source, .. } => Some(source),
            Self::Values { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<FileError> for RewriteError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}
