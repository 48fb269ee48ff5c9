//! The columns of a file, which are the leaves of its schema, with the types that determine how values are hashed.

use crate::error::FileError;
use crate::thrift::{Kind, Reader, ThriftError, expect};
use core::fmt;

/// How a column's values are stored. A Bloom filter holds hashes of the plain encoding, without the length of byte
/// arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PhysicalType {
    /// One bit; the format has no Bloom filters for it.
    Boolean,
    /// Four bytes, little-endian.
    Int32,
    /// Eight bytes, little-endian.
    Int64,
    /// Twelve bytes; the format has no Bloom filters for it.
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
    /// A type that is not listed here. Literals for such a column depend on the physical type alone.
    Other,
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

/// A leaf of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(crate) index: usize,
    pub(crate) path: String,
    pub(crate) physical: PhysicalType,
    pub(crate) fixed_len: Option<usize>,
    pub(crate) logical: Option<LogicalType>,
}

impl Column {
    /// The index of the column among the leaves. Its chunk has the same index in each row group.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The names on the way from the root to the leaf, without the root's own, separated by dots: `address.city`,
    /// `tags.list.element`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How the column's values are stored.
    #[must_use]
    pub fn physical_type(&self) -> PhysicalType {
        self.physical
    }

    /// The length of each value in bytes. `None` if the physical type is not `FIXED_LEN_BYTE_ARRAY`.
    #[must_use]
    pub fn fixed_len(&self) -> Option<usize> {
        self.fixed_len
    }

    /// The meaning of the column's values, if the schema states it.
    #[must_use]
    pub fn logical_type(&self) -> Option<LogicalType> {
        self.logical
    }
}

/// A node of the schema. The footer lists the nodes depth first.
#[derive(Debug, Default)]
struct Element<'a> {
    physical: Option<PhysicalType>,
    type_length: Option<i32>,
    name: &'a [u8],
    children: Option<i32>,
    converted: Option<i32>,
    scale: Option<i32>,
    precision: Option<i32>,
    logical: Option<LogicalType>,
}

/// The maximum number of levels of nested groups, including the root. A deeper schema is refused.
const MAX_DEPTH: usize = 256;
/// The maximum number of bytes in the paths of columns per byte of the list of schema elements. It is checked after
/// each column, for the paths and the part of the list that have been read so far; a schema that exceeds it is refused.
/// Without this limit, a small footer with long group names could use much memory.
const MAX_PATH_GROWTH: usize = 64;

/// Reads the list of schema elements.
pub(crate) fn read_columns(reader: &mut Reader<'_>) -> Result<Vec<Column>, FileError> {
    let refuse = |problem| Err(FileError::Schema { problem });
    let start = reader.position();
    let elements = reader.structs()?;
    let mut columns = Vec::new();
    // For each open group, the number of children that are still to come and the length of its path.
    let mut open: Vec<(i32, usize)> = Vec::new();
    let (mut path, mut path_bytes) = (String::new(), 0);
    for i in 0..elements {
        let element = read_element(reader)?;
        let children = element.children.unwrap_or(0);
        if i == 0 {
            if element.physical.is_some() || children < 0 {
                return refuse("the root is not a group");
            }
            open.push((children, 0));
            continue;
        }
        while open.last().is_some_and(|(left, _)| *left == 0) {
            open.pop();
        }
        let Some((left, parent_len)) = open.last_mut() else {
            return refuse("there are more elements than the groups have children");
        };
        *left -= 1;
        path.truncate(*parent_len);
        if !path.is_empty() {
            path.push('.');
        }
        let Ok(name) = core::str::from_utf8(element.name) else {
            return refuse("a name is not UTF-8");
        };
        path.push_str(name);
        if element.physical.is_none() {
            if children < 0 || open.len() == MAX_DEPTH {
                return refuse(
                    "a group has a negative number of children, or is nested too deeply",
                );
            }
            open.push((children, path.len()));
            continue;
        }
        path_bytes += path.len();
        if path_bytes > MAX_PATH_GROWTH * (reader.position() - start) {
            return refuse("the paths of the columns are too long");
        }
        columns.push(leaf(columns.len(), path.clone(), &element)?);
    }
    if open.iter().any(|(left, _)| *left != 0) {
        return refuse("a group lacks children");
    }
    Ok(columns)
}

fn leaf(index: usize, path: String, element: &Element<'_>) -> Result<Column, FileError> {
    let refuse = |problem| Err(FileError::Schema { problem });
    let Some(physical) = element.physical else { return refuse("a leaf has no type") };
    let mut fixed_len = None;
    if physical == PhysicalType::FixedLenByteArray {
        match element.type_length.map(usize::try_from) {
            Some(Ok(len)) => fixed_len = Some(len),
            _ => return refuse("a column of fixed length has no length, or a negative one"),
        }
    }
    let logical = element.logical.or_else(|| converted(element));
    Ok(Column { index, path, physical, fixed_len, logical })
}

/// The logical type that the converted type of an older file stands for.
fn converted(element: &Element<'_>) -> Option<LogicalType> {
    let integer = |bits, signed| LogicalType::Integer { bits, signed };
    Some(match element.converted? {
        0 => LogicalType::String,
        4 => LogicalType::Enum,
        5 => LogicalType::Decimal {
            scale: element.scale.unwrap_or(0),
            precision: element.precision.unwrap_or(0),
        },
        6 => LogicalType::Date,
        7 | 8 => LogicalType::Time,
        9 | 10 => LogicalType::Timestamp,
        code @ 11..=14 => integer(8 << (code - 11), false),
        code @ 15..=18 => integer(8 << (code - 15), true),
        19 => LogicalType::Json,
        20 => LogicalType::Bson,
        21 => LogicalType::Interval,
        _ => LogicalType::Other,
    })
}

fn read_element<'a>(reader: &mut Reader<'a>) -> Result<Element<'a>, ThriftError> {
    let (mut element, mut last) = (Element::default(), 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        match id {
            1 | 2 | 5..=8 => expect(reader, kind, Kind::I32)?,
            4 => expect(reader, kind, Kind::Binary)?,
            10 => expect(reader, kind, Kind::Struct)?,
            _ => {}
        }
        match id {
            1 => element.physical = Some(PhysicalType::read(reader)?),
            2 => element.type_length = Some(reader.i32()?),
            4 => element.name = reader.binary()?,
            5 => element.children = Some(reader.i32()?),
            6 => element.converted = Some(reader.i32()?),
            7 => element.scale = Some(reader.i32()?),
            8 => element.precision = Some(reader.i32()?),
            10 => element.logical = read_logical(reader)?,
            _ => reader.skip(kind)?,
        }
    }
    Ok(element)
}

/// Reads the union of logical types. A union is a struct with one field.
fn read_logical(reader: &mut Reader<'_>) -> Result<Option<LogicalType>, ThriftError> {
    let (mut logical, mut last) = (None, 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        logical = Some(match (id, kind) {
            (5, Kind::Struct) => read_decimal(reader)?,
            (10, Kind::Struct) => read_integer(reader)?,
            _ => {
                reader.skip(kind)?;
                match id {
                    1 => LogicalType::String,
                    4 => LogicalType::Enum,
                    6 => LogicalType::Date,
                    7 => LogicalType::Time,
                    8 => LogicalType::Timestamp,
                    12 => LogicalType::Json,
                    13 => LogicalType::Bson,
                    14 => LogicalType::Uuid,
                    15 => LogicalType::Float16,
                    _ => LogicalType::Other,
                }
            }
        });
    }
    Ok(logical)
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
