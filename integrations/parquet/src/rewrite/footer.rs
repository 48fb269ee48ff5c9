//! Makes the new footer by copying the old footer. Offsets and lengths of parts that moved or changed are replaced. The
//! values of all other fields are copied byte for byte.

use super::thrift_writer::{StructWriter, write_structs};
use crate::thrift::{Kind, Reader, ThriftError};

/// A filter's offset and length in bytes.
pub(crate) type Location = (u64, u32);

/// The differences between the new footer and the old one.
pub(crate) trait Changes {
    /// The offset in the new file of the byte at `offset` in the old file.
    fn moved(&self, offset: i64) -> i64;
    /// The new location of a chunk's filter. `Some(None)` if the chunk has no filter any more. `None` if the filter's
    /// bytes are unchanged; `moved` maps the offset of an unchanged filter.
    fn filter(&self, row_group: usize, column: usize) -> Option<Option<Location>>;
    /// The length of a chunk's offset index, if it has changed.
    fn offset_index_len(&self, row_group: usize, column: usize) -> Option<u32>;
}

type Result<T> = core::result::Result<T, ThriftError>;

/// A function that handles a field of a struct: it copies the field, writes a changed field, or skips it. The reader is
/// after the head of the field, that is, after its number and type.
type Field<'f> = dyn FnMut(&mut StructWriter<'_>, i16, Kind, &mut Reader<'_>) -> Result<()> + 'f;

/// Copies a struct. Calls `field` for each of its fields.
fn copy_struct(reader: &mut Reader<'_>, out: &mut Vec<u8>, field: &mut Field<'_>) -> Result<()> {
    let (mut to, mut last) = (StructWriter::new(out), 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        field(&mut to, id, kind, reader)?;
    }
    to.end();
    Ok(())
}

/// Copies a field that is a list of structs. Calls `element` to copy each struct, with the struct's index.
fn copy_structs(
    to: &mut StructWriter<'_>,
    id: i16,
    reader: &mut Reader<'_>,
    mut element: impl FnMut(usize, &mut Reader<'_>, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let len = reader.structs()?;
    let out = to.head(id, Kind::List);
    write_structs(len, out);
    (0..len).try_for_each(|i| element(i, reader, out))
}

/// Copies a footer with the changes of offsets, lengths and filters that `changes` states.
pub(crate) fn copy_footer(bytes: &[u8], changes: &dyn Changes) -> Result<Vec<u8>> {
    let (mut reader, mut out) = (Reader::new(bytes), Vec::with_capacity(bytes.len() + 64));
    copy_struct(&mut reader, &mut out, &mut |to, id, kind, reader| match (id, kind) {
        (4, Kind::List) => copy_structs(to, id, reader, |row_group, reader, out| {
            copy_row_group(row_group, reader, out, changes)
        }),
        _ => to.copy(id, kind, reader),
    })?;
    // Keeps bytes that follow the metadata, such as a signature.
    out.extend_from_slice(&bytes[reader.position()..]);
    Ok(out)
}

fn move_offset(
    to: &mut StructWriter<'_>,
    id: i16,
    reader: &mut Reader<'_>,
    changes: &dyn Changes,
) -> Result<()> {
    to.integer(id, Kind::I64, changes.moved(reader.i64()?));
    Ok(())
}

fn copy_row_group(
    row_group: usize,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    changes: &dyn Changes,
) -> Result<()> {
    copy_struct(reader, out, &mut |to, id, kind, reader| match (id, kind) {
        (1, Kind::List) => copy_structs(to, id, reader, |column, reader, out| {
            copy_chunk((row_group, column), reader, out, changes)
        }),
        (5, Kind::I64) => move_offset(to, id, reader, changes),
        _ => to.copy(id, kind, reader),
    })
}

fn copy_chunk(
    (row_group, column): (usize, usize),
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    changes: &dyn Changes,
) -> Result<()> {
    copy_struct(reader, out, &mut |to, id, kind, reader| match (id, kind) {
        // The offset of the chunk, and the offsets of its two page indexes.
        (2 | 4 | 6, Kind::I64) => move_offset(to, id, reader, changes),
        (3, Kind::Struct) => copy_metadata((row_group, column), reader, to.head(id, kind), changes),
        (5, Kind::I32) => {
            let before = reader.i32()?;
            let len = changes.offset_index_len(row_group, column).map_or(before.into(), i64::from);
            to.integer(id, kind, len);
            Ok(())
        }
        _ => to.copy(id, kind, reader),
    })
}

/// Copies a chunk's metadata. Fields 14 and 15 are the offset and the length of the chunk's filter.
fn copy_metadata(
    (row_group, column): (usize, usize),
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    changes: &dyn Changes,
) -> Result<()> {
    let change = changes.filter(row_group, column);
    let mut to_write = change.flatten();
    let write = |to: &mut StructWriter<'_>, location: Option<Location>| {
        if let Some((offset, len)) = location {
            to.integer(14, Kind::I64, offset as i64);
            to.integer(15, Kind::I32, len.into());
        }
    };
    let (mut to, mut last) = (StructWriter::new(out), 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        match (id, kind) {
            (14 | 15, _) if change.is_some() => reader.skip(kind)?,
            // The offsets of the data page, the index page, the dictionary page, and a filter that is kept.
            (9 | 10 | 11 | 14, Kind::I64) => move_offset(&mut to, id, reader, changes)?,
            _ => {
                if id > 15 {
                    write(&mut to, to_write.take());
                }
                to.copy(id, kind, reader)?;
            }
        }
    }
    write(&mut to, to_write);
    to.end();
    Ok(())
}

/// Copies an offset index, which lists the pages of a chunk. Maps the offset of each page by `moved`.
pub(crate) fn copy_offset_index(
    bytes: &[u8],
    mut moved: impl FnMut(i64) -> i64,
) -> Result<Vec<u8>> {
    let (mut reader, mut out) = (Reader::new(bytes), Vec::with_capacity(bytes.len() + 16));
    copy_struct(&mut reader, &mut out, &mut |to, id, kind, reader| match (id, kind) {
        (1, Kind::List) => copy_structs(to, id, reader, |_, reader, out| {
            copy_struct(reader, out, &mut |to, id, kind, reader| match (id, kind) {
                (1, Kind::I64) => {
                    to.integer(id, kind, moved(reader.i64()?));
                    Ok(())
                }
                _ => to.copy(id, kind, reader),
            })
        }),
        _ => to.copy(id, kind, reader),
    })?;
    out.extend_from_slice(&bytes[reader.position()..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unchanged;

    impl Changes for Unchanged {
        fn moved(&self, offset: i64) -> i64 {
            offset
        }
        fn filter(&self, _: usize, _: usize) -> Option<Option<Location>> {
            None
        }
        fn offset_index_len(&self, _: usize, _: usize) -> Option<u32> {
            None
        }
    }

    /// The footers of pyarrow and DuckDB have fields that the `parquet` crate drops.
    #[test]
    fn a_footer_without_changes_is_the_same_bytes() {
        for name in ["pyarrow", "duckdb"] {
            let file = std::fs::read(format!("tests/golden/{name}.parquet")).unwrap();
            let (rest, tail) = file.split_last_chunk::<8>().unwrap();
            let len = u32::from_le_bytes(*tail.first_chunk().unwrap()) as usize;
            let footer = &rest[rest.len() - len..];
            assert!(
                copy_footer(footer, &Unchanged).unwrap() == footer,
                "{name}: the footer differs"
            );
        }
    }

    /// Moves all offsets by 1000 and changes the filters and offset indexes of row group 0.
    struct Changed;

    impl Changes for Changed {
        fn moved(&self, offset: i64) -> i64 {
            offset + 1000
        }
        fn filter(&self, row_group: usize, column: usize) -> Option<Option<Location>> {
            (row_group == 0).then_some((column == 0).then_some((70_000, 48)))
        }
        fn offset_index_len(&self, row_group: usize, _: usize) -> Option<u32> {
            (row_group == 0).then_some(33)
        }
    }

    /// Makes a footer with two row groups of two columns. The footer has fields that the parquet crate does not write:
    /// key-value metadata of chunks, and an unknown field, which stands for a field that a later version of the format
    /// could add. The unknown field is in the file's metadata, in each row group, in each chunk, and in each chunk's
    /// metadata.
    fn footer(offset: i64, filters: [Option<Location>; 4], index_len: [i64; 2]) -> Vec<u8> {
        let unknown = |to: &mut StructWriter<'_>| to.head(300, Kind::Binary).extend(b"\x03new");
        let mut out = Vec::new();
        let mut file = StructWriter::new(&mut out);
        file.integer(1, Kind::I32, 2);
        let groups = file.head(4, Kind::List);
        write_structs(2, groups);
        for row_group in 0..2 {
            let mut group = StructWriter::new(groups);
            let chunks = group.head(1, Kind::List);
            write_structs(2, chunks);
            for column in 0..2 {
                let mut chunk = StructWriter::new(chunks);
                chunk.integer(2, Kind::I64, offset);
                let mut metadata = StructWriter::new(chunk.head(3, Kind::Struct));
                metadata.integer(7, Kind::I64, 77);
                // Key-value metadata with one key and its value.
                metadata.head(8, Kind::List).extend(b"\x1C\x18\x01k\x18\x01v\x00");
                metadata.integer(9, Kind::I64, offset + 9);
                metadata.integer(11, Kind::I64, offset + 11);
                if let Some((offset, len)) = filters[row_group * 2 + column] {
                    metadata.integer(14, Kind::I64, offset as i64);
                    metadata.integer(15, Kind::I32, len.into());
                }
                metadata.head(16, Kind::Struct).push(0);
                unknown(&mut metadata);
                metadata.end();
                chunk.integer(4, Kind::I64, offset + 4);
                chunk.integer(5, Kind::I32, index_len[row_group]);
                unknown(&mut chunk);
                chunk.end();
            }
            group.integer(3, Kind::I64, 3);
            group.integer(5, Kind::I64, offset + 5);
            unknown(&mut group);
            group.end();
        }
        file.head(6, Kind::Binary).extend(b"\x02me");
        unknown(&mut file);
        file.end();
        out
    }

    #[test]
    fn offsets_and_filters_change_and_unknown_fields_stay() {
        let old = footer(500, [Some((40, 5)), Some((50, 6)), Some((60, 7)), None], [11, 22]);
        // The first chunk gets a new filter, the second loses its filter, and the filter of the third moves.
        let filters = [Some((70_000, 48)), None, Some((1060, 7)), None];
        assert!(copy_footer(&old, &Changed).unwrap() == footer(1500, filters, [33, 22]));
        for end in 0..old.len() {
            assert!(copy_footer(&old[..end], &Changed).is_err());
        }
    }
}
