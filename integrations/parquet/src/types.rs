//! The types of columns, which determine how values are hashed.

use crate::thrift::{Kind, Reader, ThriftError};
use core::fmt;

/// How a column's values are stored. A Bloom filter holds hashes of the values' plain encoding, but without the length
/// that the encoding writes before a byte array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PhysicalType {
    /// One bit; the format has no Bloom filters for this type.
    Boolean,
    /// Four bytes, little-endian.
    Int32,
    /// Eight bytes, little-endian.
    Int64,
    /// Twelve bytes; the format has no Bloom filters for this type.
    Int96,
    /// IEEE 754, four bytes.
    Float,
    /// IEEE 754, eight bytes.
    Double,
    /// Any number of bytes.
    ByteArray,
    /// The same number of bytes in each value.
    FixedLenByteArray,
}

impl PhysicalType {
    fn from_code(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Boolean,
            1 => Self::Int32,
            2 => Self::Int64,
            3 => Self::Int96,
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::ByteArray,
            7 => Self::FixedLenByteArray,
            _ => return None,
        })
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, ThriftError> {
        let code = reader.i32()?;
        Self::from_code(code).map_or_else(|| reader.error("there is no such physical type"), Ok)
    }
}

impl fmt::Display for PhysicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Boolean => "BOOLEAN",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Int96 => "INT96",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::ByteArray => "BYTE_ARRAY",
            Self::FixedLenByteArray => "FIXED_LEN_BYTE_ARRAY",
        })
    }
}

/// The meaning of a column's values, from the schema's logical type or, in older files, from its converted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogicalType {
    /// UTF-8.
    String,
    /// The name of an enumeration's value, in UTF-8.
    Enum,
    /// JSON, in UTF-8.
    Json,
    /// BSON.
    Bson,
    /// 16 bytes.
    Uuid,
    /// A half-precision float, two bytes.
    Float16,
    /// Days since 1970-01-01.
    Date,
    /// Time of day.
    Time,
    /// A point in time.
    Timestamp,
    /// Months, days and milliseconds.
    Interval,
    /// An integer whose number of bits and signedness are stated.
    Integer {
        /// 8, 16, 32 or 64 in a valid file. Other numbers are not refused.
        bits: u8,
        /// Whether the integer has a sign.
        signed: bool,
    },
    /// A decimal. Its value is the stored integer divided by `10^scale`.
    Decimal {
        /// The number of digits after the point.
        scale: i32,
        /// The total number of digits.
        precision: i32,
    },
    /// A type that is not listed here. Literals for a column of this type depend on its physical type alone.
    Other,
}

impl LogicalType {
    /// Returns the logical type that corresponds to a converted type. Older files have only converted types.
    pub(crate) fn from_converted(code: i32, scale: i32, precision: i32) -> Self {
        let integer = |bits, signed| Self::Integer { bits, signed };
        match code {
            0 => Self::String,
            4 => Self::Enum,
            5 => Self::Decimal { scale, precision },
            6 => Self::Date,
            7 | 8 => Self::Time,
            9 | 10 => Self::Timestamp,
            11..=14 => integer(8 << (code - 11), false),
            15..=18 => integer(8 << (code - 15), true),
            19 => Self::Json,
            20 => Self::Bson,
            21 => Self::Interval,
            _ => Self::Other,
        }
    }

    /// Reads the union of logical types. A union is a struct with one field.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, ThriftError> {
        let (mut logical, mut last) = (None, 0);
        while let Some((id, kind)) = reader.field(&mut last)? {
            logical = Some(match (id, kind) {
                (5, Kind::Struct) => read_decimal(reader)?,
                (10, Kind::Struct) => read_integer(reader)?,
                _ => {
                    reader.skip(kind)?;
                    match id {
                        1 => Self::String,
                        4 => Self::Enum,
                        6 => Self::Date,
                        7 => Self::Time,
                        8 => Self::Timestamp,
                        12 => Self::Json,
                        13 => Self::Bson,
                        14 => Self::Uuid,
                        15 => Self::Float16,
                        _ => Self::Other,
                    }
                }
            });
        }
        Ok(logical)
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::String => "STRING",
            Self::Enum => "ENUM",
            Self::Json => "JSON",
            Self::Bson => "BSON",
            Self::Uuid => "UUID",
            Self::Float16 => "FLOAT16",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP",
            Self::Interval => "INTERVAL",
            Self::Integer { bits, signed } => {
                return write!(f, "{}({bits})", if *signed { "INT" } else { "UINT" });
            }
            Self::Decimal { scale, precision } => {
                return write!(f, "DECIMAL({precision}, {scale})");
            }
            Self::Other => "OTHER",
        })
    }
}

fn read_decimal(reader: &mut Reader<'_>) -> Result<LogicalType, ThriftError> {
    let (mut scale, mut precision, mut last) = (0, 0, 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        match (id, kind) {
            (1, Kind::I32) => scale = reader.i32()?,
            (2, Kind::I32) => precision = reader.i32()?,
            _ => reader.skip(kind)?,
        }
    }
    Ok(LogicalType::Decimal { scale, precision })
}

fn read_integer(reader: &mut Reader<'_>) -> Result<LogicalType, ThriftError> {
    let (mut bits, mut signed, mut last) = (0, true, 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        match (id, kind) {
            (1, Kind::Byte) => bits = reader.byte()?,
            (2, Kind::True) => signed = true,
            (2, Kind::False) => signed = false,
            _ => reader.skip(kind)?,
        }
    }
    Ok(LogicalType::Integer { bits, signed })
}
