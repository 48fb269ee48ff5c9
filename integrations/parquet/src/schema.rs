//! The columns of a file, which are the leaves of its schema.

use crate::error::FileError;
use crate::thrift::{Kind, Reader, ThriftError, expect};
use crate::types::{LogicalType, PhysicalType};

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

    /// The names on the way from the root to the leaf, without the root's name, separated by dots: `address.city`,
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
/// All paths of columns together may be at most this many times as long as the list of schema elements, in bytes. The
/// limit is checked after each column, for the part of the list that has been read so far. A schema that exceeds the
/// limit is refused. Without this limit, a small footer with long group names could use much memory.
const MAX_PATH_GROWTH: usize = 64;

/// Reads the list of schema elements.
pub(crate) fn read_columns(reader: &mut Reader<'_>) -> Result<Vec<Column>, FileError> {
    let refuse = |problem| Err(FileError::Schema { problem });
    let start = reader.position();
    let elements = reader.structs()?;
    let mut columns = Vec::new();
    // For each open group, the number of children that are still to come and the length of the group's path.
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
    let converted = || {
        let [scale, precision] =
            [element.scale, element.precision].map(|digits| digits.unwrap_or(0));
        element.converted.map(|code| LogicalType::from_converted(code, scale, precision))
    };
    let logical = element.logical.or_else(converted);
    Ok(Column { index, path, physical, fixed_len, logical })
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
            10 => element.logical = LogicalType::read(reader)?,
            _ => reader.skip(kind)?,
        }
    }
    Ok(element)
}
