//! Errors of reading files and of probing their filters.

use crate::thrift::ThriftError;
use crate::types::PhysicalType;
use core::fmt;

/// Why the bytes of a Bloom filter, which are a header and a bitset, were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// The bytes end before the bitset does.
    Truncated {
        /// The length of header and bitset together, in bytes.
        need: u64,
        /// The number of bytes given.
        got: u64,
    },
    /// The header is not in Thrift's compact protocol, lacks a field, or has a field of the wrong type or a union with
    /// two fields.
    Header {
        /// Position in the header.
        at: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The algorithm, hash or compression is not one that the format defines.
    Unsupported {
        /// The field: `algorithm`, `hash` or `compression`.
        field: &'static str,
        /// The number that the header states for this field.
        choice: i16,
    },
    /// The length of the bitset is not a positive multiple of 32 bytes.
    BitsetLength {
        /// The length of the bitset in bytes, according to the header.
        bytes: i64,
    },
    /// The offset of the filter is below 4, or not below the offset of the footer.
    OutsideFile {
        /// The offset of the filter according to the footer.
        offset: i64,
        /// The offset of the footer.
        footer: u64,
    },
    /// The footer declares a length of the filter that differs from its actual length.
    DeclaredLength {
        /// The length that the footer declares, in bytes.
        declared: i64,
        /// The actual length of header and bitset together, in bytes.
        actual: u64,
    },
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { need, got } => {
                write!(f, "the Bloom filter has {need} bytes, but only {got} are there")
            }
            Self::Header { at, problem } => {
                write!(f, "the header of the Bloom filter is malformed at byte {at}: {problem}")
            }
            Self::Unsupported { field, choice } => {
                write!(f, "the Bloom filter has the unknown {field} {choice}")
            }
            Self::BitsetLength { bytes } => {
                write!(
                    f,
                    "the bitset has {bytes} bytes, but its length must be a positive multiple of 32"
                )
            }
            Self::OutsideFile { offset, footer } => write!(
                f,
                "the Bloom filter begins at byte {offset}, but must lie between byte 4 and byte {footer}"
            ),
            Self::DeclaredLength { declared, actual } => write!(
                f,
                "the footer declares {declared} bytes for the Bloom filter, but it has {actual}"
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
        /// The minimum size of the file in bytes.
        need: u64,
        /// The actual size of the file in bytes.
        got: u64,
    },
    /// The file does not begin and end with the magic bytes of Parquet files.
    Magic {
        /// The four bytes found instead of `PAR1`.
        found: [u8; 4],
    },
    /// The footer or a column is encrypted.
    Encrypted,
    /// The footer is not in Thrift's compact protocol, or it has a wrong, missing or repeated field.
    Footer {
        /// Position in the footer.
        at: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The schema is not a tree of columns with valid names and types, or its nesting or its paths exceed a limit.
    Schema {
        /// What is wrong.
        problem: &'static str,
    },
    /// The number of column chunks in a row group differs from the number of columns in the schema.
    ColumnCount {
        /// The index of the row group.
        row_group: usize,
        /// The number of column chunks in the row group.
        chunks: usize,
        /// The number of columns in the schema.
        columns: usize,
    },
    /// A chunk's metadata contradicts the schema or the file, or the operation is not possible for this chunk.
    Chunk {
        /// The index of the row group.
        row_group: usize,
        /// The column's index.
        column: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file has no row group with the requested index.
    NoSuchRowGroup {
        /// The index of the requested row group.
        row_group: usize,
        /// The number of row groups in the file.
        row_groups: usize,
    },
    /// The Bloom filter of a column chunk is malformed.
    Filter {
        /// The index of the row group.
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
                write!(f, "the file must have at least {need} bytes, but it has {got}")
            }
            Self::Magic { found } => {
                write!(f, "this is not a Parquet file: it has {found:02x?} instead of \"PAR1\"")
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
                write!(f, "there is no row group {row_group}; the file has {row_groups}")
            }
            Self::Filter { row_group, column, .. } => {
                write!(f, "row group {row_group}, column {column}: the Bloom filter is malformed")
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

/// Why literals cannot be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeError {
    /// A filter that the lookup needs cannot be read, or the file has no row group or column with the requested index.
    File(FileError),
    /// No column of the file has the requested path.
    NoSuchColumn {
        /// The requested path.
        path: String,
    },
    /// Two columns of the file have the requested path. Column names can contain dots, so two columns can have one
    /// path.
    AmbiguousColumn {
        /// The requested path.
        path: String,
    },
    /// A literal is not of the column's physical type.
    WrongType {
        /// The column's type.
        column: PhysicalType,
        /// The literal's type.
        literal: PhysicalType,
    },
    /// A literal's length differs from the fixed length of the column's values.
    WrongLength {
        /// The length of each value of the column, in bytes.
        column: usize,
        /// The length of the literal in bytes.
        literal: usize,
    },
    /// The column's type is `BOOLEAN` or `INT96`, for which the format has no Bloom filters.
    UnsupportedType {
        /// The column's type.
        column: PhysicalType,
    },
    /// Literals of plain bytes were looked up in a column of half-precision floats, whose physical type is a byte array
    /// too, or literals of half-precision floats were looked up in another column of byte arrays.
    /// [`Literals::new`](crate::Literals::new) and [`Literals::parse`](crate::Literals::parse) make literals for a
    /// column of half-precision floats. As plain bytes, 0.0 and −0.0 would be different literals, though they are equal
    /// as floats.
    NeedsColumn,
    /// A text is not a value of the column's type.
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
                write!(f, "the column has the type {column}, but a literal has {literal}")
            }
            Self::WrongLength { column, literal } => {
                write!(f, "the column's values have {column} bytes, but a literal has {literal}")
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
