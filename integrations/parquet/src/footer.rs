//! Reads the footer of a file, which lists its columns and row groups and the offsets of its Bloom filters.

use crate::error::FileError;
use crate::schema::{Column, read_columns};
use crate::thrift::{Kind, Reader, ThriftError, expect};
use crate::types::PhysicalType;

/// The first four bytes of a file. The last four bytes are the same.
pub(crate) const MAGIC: [u8; 4] = *b"PAR1";
/// The first four and the last four bytes of a file with an encrypted footer.
const ENCRYPTED_MAGIC: [u8; 4] = *b"PARE";
/// The number of bytes after the footer: the footer's length (4 bytes) and the magic bytes.
pub(crate) const TAIL_BYTES: u64 = 8;

/// A row group of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    pub(crate) rows: u64,
    pub(crate) chunks: Vec<Chunk>,
}

impl RowGroup {
    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of values of a column in this row group, including nulls. It is 0 if the row group has no such
    /// column.
    #[must_use]
    pub fn values(&self, column: &Column) -> u64 {
        self.chunks.get(column.index).map_or(0, |chunk| chunk.values)
    }

    /// Whether a column has a Bloom filter in this row group.
    #[must_use]
    pub fn has_filter(&self, column: &Column) -> bool {
        self.chunks.get(column.index).is_some_and(|chunk| chunk.filter_offset.is_some())
    }
}

/// The metadata of a column chunk, with the offsets of its parts. The offsets have not been checked against the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) physical: Option<PhysicalType>,
    pub(crate) values: u64,
    /// Whether the data of the chunk are in another file.
    pub(crate) elsewhere: bool,
    pub(crate) compressed_bytes: i64,
    pub(crate) data_offset: i64,
    pub(crate) dictionary_offset: Option<i64>,
    pub(crate) filter_offset: Option<i64>,
    pub(crate) filter_len: Option<i32>,
    /// The offset and the length in bytes of the index that lists the pages.
    pub(crate) offset_index: Option<(i64, i32)>,
    /// The offset and the length in bytes of the index that has the statistics of the pages.
    pub(crate) column_index: Option<(i64, i32)>,
}

impl Chunk {
    /// The offset of the first page. Some writers store the dictionary offset 0 if there is no dictionary.
    pub(crate) fn start(&self) -> i64 {
        match self.dictionary_offset {
            Some(offset) if offset > 0 => offset.min(self.data_offset),
            _ => self.data_offset,
        }
    }
}

/// The part of a file's metadata that this crate uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) columns: Vec<Column>,
    pub(crate) row_groups: Vec<RowGroup>,
}

/// Computes the offset of the footer from the length of a file, its first four bytes and its last eight.
pub(crate) fn footer_start(file: u64, head: [u8; 4], tail: [u8; 8]) -> Result<u64, FileError> {
    let [l0, l1, l2, l3, magic @ ..] = tail;
    for found in [head, magic] {
        if found == ENCRYPTED_MAGIC {
            return Err(FileError::Encrypted);
        }
        if found != MAGIC {
            return Err(FileError::Magic { found });
        }
    }
    let footer = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    let need = MAGIC.len() as u64 + footer + TAIL_BYTES;
    file.checked_sub(footer + TAIL_BYTES)
        .filter(|start| *start >= MAGIC.len() as u64)
        .ok_or(FileError::Truncated { need, got: file })
}

/// A file has at least this number of bytes: the magic bytes, the length of the footer, and the magic bytes again.
pub(crate) const MIN_FILE_BYTES: u64 = 12;

impl Footer {
    /// Parses the footer. `bytes` are all bytes from the footer's offset on, except the last [`TAIL_BYTES`] of the
    /// file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, FileError> {
        let mut reader = Reader::new(bytes);
        let (mut columns, mut row_groups, mut last) = (None, None, 0);
        while let Some((id, kind)) = reader.field(&mut last)? {
            match id {
                2 => {
                    expect(&reader, kind, Kind::List)?;
                    once(&reader, columns.is_some())?;
                    columns = Some(read_columns(&mut reader)?);
                }
                4 => {
                    expect(&reader, kind, Kind::List)?;
                    once(&reader, row_groups.is_some())?;
                    let mut groups = Vec::new();
                    for _ in 0..reader.structs()? {
                        groups.push(read_row_group(&mut reader)?);
                    }
                    row_groups = Some(groups);
                }
                // This field states an encryption algorithm. The footer is readable, but columns are encrypted.
                8 => return Err(FileError::Encrypted),
                _ => reader.skip(kind)?,
            }
        }
        let Some(columns) = columns else { return missing(&reader, "there is no schema") };
        let Some(row_groups) = row_groups else {
            return missing(&reader, "there is no list of row groups");
        };
        let footer = Self { columns, row_groups };
        footer.check()?;
        Ok(footer)
    }

    /// Checks that every row group has a chunk of the right type for each column.
    fn check(&self) -> Result<(), FileError> {
        for (row_group, RowGroup { chunks, .. }) in self.row_groups.iter().enumerate() {
            let (chunks, columns) = (chunks, self.columns.len());
            if chunks.len() != columns {
                return Err(FileError::ColumnCount { row_group, chunks: chunks.len(), columns });
            }
            for (chunk, column) in chunks.iter().zip(&self.columns) {
                if chunk.physical != Some(column.physical) {
                    let problem = "the chunk has another type than the column";
                    return Err(FileError::Chunk { row_group, column: column.index, problem });
                }
            }
        }
        Ok(())
    }
}

fn missing<T>(reader: &Reader<'_>, problem: &'static str) -> Result<T, FileError> {
    Ok(reader.error(problem)?)
}

/// Refuses a field that occurs a second time.
fn once(reader: &Reader<'_>, seen: bool) -> Result<(), ThriftError> {
    if seen { reader.error("a field occurs twice") } else { Ok(()) }
}

fn unsigned(reader: &mut Reader<'_>) -> Result<u64, ThriftError> {
    let value = reader.i64()?;
    u64::try_from(value).or_else(|_| reader.error("a number of rows or values is negative"))
}

fn read_row_group(reader: &mut Reader<'_>) -> Result<RowGroup, FileError> {
    let (mut chunks, mut rows, mut last) = (None, 0, 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        match id {
            1 => {
                expect(reader, kind, Kind::List)?;
                once(reader, chunks.is_some())?;
                let mut read = Vec::new();
                for _ in 0..reader.structs()? {
                    read.push(read_chunk(reader)?);
                }
                chunks = Some(read);
            }
            3 => {
                expect(reader, kind, Kind::I64)?;
                rows = unsigned(reader)?;
            }
            _ => reader.skip(kind)?,
        }
    }
    match chunks {
        Some(chunks) => Ok(RowGroup { rows, chunks }),
        None => missing(reader, "a row group has no columns"),
    }
}

fn read_chunk(reader: &mut Reader<'_>) -> Result<Chunk, FileError> {
    let (mut chunk, mut last) = (Chunk::default(), 0);
    let (mut offset_index, mut column_index) = ((None, None), (None, None));
    while let Some((id, kind)) = reader.field(&mut last)? {
        match id {
            3 => expect(reader, kind, Kind::Struct)?,
            4 | 6 => expect(reader, kind, Kind::I64)?,
            5 | 7 => expect(reader, kind, Kind::I32)?,
            _ => {}
        }
        match id {
            1 => {
                chunk.elsewhere = true;
                reader.skip(kind)?;
            }
            3 => {
                once(reader, chunk.physical.is_some())?;
                read_column_metadata(reader, &mut chunk)?;
            }
            4 => offset_index.0 = Some(reader.i64()?),
            5 => offset_index.1 = Some(reader.i32()?),
            6 => column_index.0 = Some(reader.i64()?),
            7 => column_index.1 = Some(reader.i32()?),
            8 | 9 => return Err(FileError::Encrypted),
            _ => reader.skip(kind)?,
        }
    }
    if chunk.physical.is_none() {
        return missing(reader, "a column chunk has no metadata");
    }
    chunk.offset_index = offset_index.0.zip(offset_index.1);
    chunk.column_index = column_index.0.zip(column_index.1);
    Ok(chunk)
}

fn read_column_metadata(reader: &mut Reader<'_>, chunk: &mut Chunk) -> Result<(), ThriftError> {
    let mut last = 0;
    let mut data_offset = None;
    while let Some((id, kind)) = reader.field(&mut last)? {
        match id {
            1 | 15 => expect(reader, kind, Kind::I32)?,
            5 | 7 | 9 | 11 | 14 => expect(reader, kind, Kind::I64)?,
            _ => {}
        }
        match id {
            1 => chunk.physical = Some(PhysicalType::read(reader)?),
            5 => chunk.values = unsigned(reader)?,
            7 => chunk.compressed_bytes = reader.i64()?,
            9 => data_offset = Some(reader.i64()?),
            11 => chunk.dictionary_offset = Some(reader.i64()?),
            14 => chunk.filter_offset = Some(reader.i64()?),
            15 => chunk.filter_len = Some(reader.i32()?),
            _ => reader.skip(kind)?,
        }
    }
    if chunk.physical.is_none() {
        return reader.error("a column chunk has no type");
    }
    match data_offset {
        Some(offset) => chunk.data_offset = offset,
        None => return reader.error("a column chunk has no offset"),
    }
    Ok(())
}
