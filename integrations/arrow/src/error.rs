//! The reasons why columns are not hashed.

use arrow_schema::{ArrowError, DataType};
use std::fmt;
use trommel::error::OffsetsError;

/// Why columns were not hashed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnError {
    /// Values of this type cannot be keys of a filter.
    Unsupported {
        /// The type of the column, or of its values if the column is dictionary-encoded or run-end encoded.
        data_type: DataType,
    },
    /// No columns were given. A key needs at least one column.
    NoColumns,
    /// The columns have different lengths.
    Lengths {
        /// The number of rows of the first column.
        expected_rows: usize,
        /// The index of the first column that does not have `expected_rows` rows.
        column: usize,
        /// The number of rows of that column.
        rows: usize,
    },
    /// The offsets of a column of strings or binary values are invalid. Arrow's checked constructors refuse such
    /// arrays.
    Offsets(OffsetsError),
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { data_type } => {
                write!(f, "values of type {data_type} cannot be keys of a filter")
            }
            Self::NoColumns => f.write_str("a key needs at least one column"),
            Self::Lengths { expected_rows, column, rows } => {
                write!(f, "column {column} has {rows} rows, but column 0 has {expected_rows}")
            }
            Self::Offsets(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ColumnError {}

impl From<OffsetsError> for ColumnError {
    fn from(error: OffsetsError) -> Self {
        Self::Offsets(error)
    }
}

impl From<ColumnError> for ArrowError {
    fn from(error: ColumnError) -> Self {
        Self::InvalidArgumentError(error.to_string())
    }
}
