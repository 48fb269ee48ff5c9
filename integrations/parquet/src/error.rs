//! What can be wrong with a file, a question, or the rewriting of a file.

use crate::schema::PhysicalType;
use crate::thrift::ThriftError;
use core::fmt;

/// Why the bytes of a Bloom filter, its header and its bitset, were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// The bytes end before the bitset does.
    Truncated {
        /// Bytes of header and bitset.
        need: u64,
        /// Bytes given.
        got: u64,
    },
    /// The header is not in Thrift's compact protocol, or lacks a field.
    Header {
        /// Position in the header.
        at: u64,
        /// What was found there.
        problem: &'static str,
    },
    /// Algorithm, hash or compression is none that the format defines.
    Unsupported {
        /// The field: `algorithm`, `hash` or `compression`.
        field: &'static str,
        /// The number of the choice.
        choice: i16,
    },
    /// The bitset is empty, or not a multiple of 32 bytes.
    BitsetLength {
        /// Bytes, as the header has them.
        bytes: i64,
    },
    /// The filter does not lie between the beginning of the file and its footer.
    OutsideFile {
        /// Where the filter should begin.
        offset: i64,
        /// Where the footer begins.
        footer: u64,
    },
    /// The footer says that the filter has another length.
    DeclaredLength {
        /// Bytes that the footer declares.
        declared: i64,
        /// Bytes of header and bitset.
        actual: u64,
    },
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { need, got } => {
                write!(f, "the Bloom filter takes {need} bytes, there are {got}")
            }
            Self::Header { at, problem } => {
                write!(f, "the header of the Bloom filter is malformed at byte {at}: {problem}")
            }
            Self::Unsupported { field, choice } => {
                write!(f, "the Bloom filter has the unknown {field} {choice}")
            }
            Self::BitsetLength { bytes } => {
                write!(f, "{bytes} bytes are no bitset: it has 32 or a multiple of that")
            }
            Self::OutsideFile { offset, footer } => write!(
                f,
                "the Bloom filter begins at byte {offset}, outside the file's first {footer} bytes"
            ),
            Self::DeclaredLength { declared, actual } => write!(
                f,
                "the footer says that the Bloom filter has {declared} bytes, it has {actual}"
            ),
        }
    }
}

impl core::error::Error for FilterError {}

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// The file is shorter than it must be.
    Truncated {
        /// Bytes needed.
        need: u64,
        /// Bytes of the file.
        got: u64,
    },
    /// The file does not begin and end as Parquet files do.
    Magic {
        /// The four bytes found instead of `PAR1`.
        found: [u8; 4],
    },
    /// The footer or a column is encrypted.
    Encrypted,
    /// The footer is not in Thrift's compact protocol.
    Footer {
        /// Position in the footer.
        at: u64,
        /// What was found there.
        problem: &'static str,
    },
    /// The schema is no tree of columns.
    Schema {
        /// What is wrong.
        problem: &'static str,
    },
    /// A row group has not one chunk for each column of the schema.
    ColumnCount {
        /// The row group.
        row_group: usize,
        /// Chunks that it has.
        chunks: usize,
        /// Columns of the schema.
        columns: usize,
    },
    /// A chunk's metadata does not fit the schema, or has a number that cannot be.
    Chunk {
        /// The row group.
        row_group: usize,
        /// The column's index.
        column: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// There is no such row group.
    NoSuchRowGroup {
        /// The row group asked for.
        row_group: usize,
        /// Row groups of the file.
        row_groups: usize,
    },
    /// The Bloom filter of a column chunk is malformed.
    Filter {
        /// The row group.
        row_group: usize,
        /// The column's index.
        column: usize,
        /// What is wrong.
        source: FilterError,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { need, got } => {
                write!(f, "the file must have {need} bytes at least, it has {got}")
            }
            Self::Magic { found } => {
                write!(f, "this is no Parquet file: it has {found:02x?} instead of \"PAR1\"")
            }
            Self::Encrypted => f.write_str("the file is encrypted"),
            Self::Footer { at, problem } => {
                write!(f, "the footer is malformed at byte {at}: {problem}")
            }
            Self::Schema { problem } => write!(f, "the schema is malformed: {problem}"),
            Self::ColumnCount { row_group, chunks, columns } => {
                write!(f, "row group {row_group} has {chunks} column chunks for {columns} columns")
            }
            Self::Chunk { row_group, column, problem } => {
                write!(f, "row group {row_group}, column {column}: {problem}")
            }
            Self::NoSuchRowGroup { row_group, row_groups } => {
                write!(f, "there is no row group {row_group}, the file has {row_groups}")
            }
            Self::Filter { row_group, column, .. } => {
                write!(f, "row group {row_group}, column {column}: the Bloom filter is refused")
            }
        }
    }
}

impl core::error::Error for FileError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Filter { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<ThriftError> for FileError {
    fn from(error: ThriftError) -> Self {
        Self::Footer { at: error.at as u64, problem: error.problem }
    }
}

/// Why a question cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeError {
    /// A filter that the answer needs is malformed.
    File(FileError),
    /// The file has no such column.
    NoSuchColumn {
        /// The path asked for.
        path: String,
    },
    /// Two columns of the file have this path, since names may contain dots.
    AmbiguousColumn {
        /// The path asked for.
        path: String,
    },
    /// A literal is not of the column's physical type.
    WrongType {
        /// The column's type.
        column: PhysicalType,
        /// The literal's type.
        literal: PhysicalType,
    },
    /// A literal is not as long as the values of a column of fixed length.
    WrongLength {
        /// Bytes of the column's values.
        column: usize,
        /// Bytes of the literal.
        literal: usize,
    },
    /// The format has no Bloom filters for this type: `BOOLEAN` and `INT96`.
    UnsupportedType {
        /// The column's type.
        column: PhysicalType,
    },
    /// Literals for a column of half-precision floats are made by [`Literals::new`](crate::Literals::new), which knows
    /// the column: two zeros are equal, and have different bytes.
    NeedsColumn,
    /// A text is no value of the column's type.
    Text {
        /// The text.
        text: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoSuchColumn { path } => write!(f, "there is no column {path:?}"),
            Self::AmbiguousColumn { path } => write!(f, "two columns have the path {path:?}"),
            Self::WrongType { column, literal } => {
                write!(f, "the column has the type {column}, a literal has {literal}")
            }
            Self::WrongLength { column, literal } => {
                write!(f, "the column's values have {column} bytes, a literal has {literal}")
            }
            Self::UnsupportedType { column } => {
                write!(f, "the format has no Bloom filters for columns of type {column}")
            }
            Self::NeedsColumn => {
                f.write_str("literals for half-precision floats must be made for their column")
            }
            Self::Text { text, expected } => write!(f, "{text:?} is not {expected}"),
        }
    }
}

impl core::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            _ => None,
        }
    }
}

impl From<FileError> for ProbeError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}
