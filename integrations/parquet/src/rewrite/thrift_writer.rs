//! Writes Thrift's compact protocol, and copies unknown fields byte for byte.
//!
//! Rejected: the `parquet` crate's writer of metadata. It drops fields for which it has no type, such as the key-value
//! metadata of a column chunk, and it decodes and re-encodes statistics.

use crate::thrift::{Kind, Reader, ThriftError};

type Result<T> = core::result::Result<T, ThriftError>;

/// Writes the fields of a struct, in any order, to the end of `out`. `last` is the number of the previous field.
#[derive(Debug)]
pub(crate) struct StructWriter<'o> {
    out: &'o mut Vec<u8>,
    last: i16,
}

impl<'o> StructWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    /// Writes the head of a field. The caller appends the value to the returned bytes.
    pub(crate) fn head(&mut self, id: i16, kind: Kind) -> &mut Vec<u8> {
        match i32::from(id) - i32::from(self.last) {
            delta @ 1..=15 => self.out.push((delta as u8) << 4 | kind.code()),
            _ => {
                self.out.push(kind.code());
                write_i64(i64::from(id), self.out);
            }
        }
        self.last = id;
        self.out
    }

    /// Writes an integer of 32 or 64 bits.
    pub(crate) fn integer(&mut self, id: i16, kind: Kind, value: i64) {
        write_i64(value, self.head(id, kind));
    }

    /// Copies a field whose head the caller has read from `reader`: writes the head, and copies the value byte for
    /// byte.
    pub(crate) fn copy(&mut self, id: i16, kind: Kind, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.position();
        reader.skip(kind)?;
        self.head(id, kind).extend_from_slice(reader.since(start));
        Ok(())
    }

    /// Writes the end of the struct.
    pub(crate) fn end(self) {
        self.out.push(0);
    }
}

/// Writes the beginning of a list of structs.
pub(crate) fn write_structs(len: usize, out: &mut Vec<u8>) {
    if len < 15 {
        out.push((len as u8) << 4 | Kind::Struct.code());
    } else {
        out.push(0xF0 | Kind::Struct.code());
        write_varint(len as u64, out);
    }
}

pub(crate) fn write_i64(value: i64, out: &mut Vec<u8>) {
    write_varint((value << 1 ^ value >> 63) as u64, out);
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_integers_are_read_back() {
        let edges = (0..63).flat_map(|bits| [1i64 << bits, -1 << bits, (1i64 << bits) - 1]);
        for value in edges.chain([0, i64::MIN, i64::MAX]) {
            let mut bytes = Vec::new();
            write_i64(value, &mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.i64(), Ok(value));
            assert_eq!(reader.position(), bytes.len());
        }
    }

    /// The struct has a value of every kind except `I16` and `Set`. The differences between consecutive field ids
    /// include 1, 15, 16 and a negative number.
    #[test]
    fn a_copied_struct_is_the_same() {
        let mut bytes = Vec::new();
        let mut to = StructWriter::new(&mut bytes);
        to.head(1, Kind::True);
        to.head(16, Kind::Byte).push(7);
        to.integer(32, Kind::I64, -3);
        to.integer(2, Kind::I32, 5);
        to.head(3, Kind::Double).extend([1; 8]);
        to.head(4, Kind::Binary).extend([3, b'a', b'b', b'c']);
        to.head(5, Kind::List).extend([0x32, 1, 2, 1]);
        to.head(6, Kind::Map).extend([1, 0x58, 2, 1, b'z']);
        to.head(7, Kind::Uuid).extend([9; 16]);
        to.head(8, Kind::Struct).extend([0x15, 2, 0]);
        to.head(9, Kind::False);
        to.end();
        let mut reader = Reader::new(&bytes);
        let (mut copy, mut last) = (Vec::new(), 0);
        let mut to = StructWriter::new(&mut copy);
        while let Some((id, kind)) = reader.field(&mut last).unwrap() {
            to.copy(id, kind, &mut reader).unwrap();
        }
        to.end();
        assert_eq!(copy, bytes);
        for end in 0..bytes.len() {
            assert!(Reader::new(&bytes[..end]).skip(Kind::Struct).is_err());
        }
    }
}
