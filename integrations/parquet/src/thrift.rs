//! A reader of the parts of Thrift's compact protocol that occur in footers, filter headers and offset indexes. The
//! `parquet` crate has a reader too, but it is private.
//!
//! Source: "Thrift Compact protocol encoding" of Apache Thrift.

/// Why bytes are malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThriftError {
    /// Position in the bytes given to the reader.
    pub(crate) at: usize,
    /// What is wrong there.
    pub(crate) problem: &'static str,
}

/// [`Reader::skip`] skips values nested up to this depth; deeper nesting is an error. A value without values inside has
/// depth 1.
const MAX_DEPTH: u32 = 64;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    True,
    False,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List,
    Set,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4 => Self::I16,
            5 => Self::I32,
            6 => Self::I64,
            7 => Self::Double,
            8 => Self::Binary,
            9 => Self::List,
            10 => Self::Set,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return None,
        })
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::True => 1,
            Self::False => 2,
            Self::Byte => 3,
            Self::I16 => 4,
            Self::I32 => 5,
            Self::I64 => 6,
            Self::Double => 7,
            Self::Binary => 8,
            Self::List => 9,
            Self::Set => 10,
            Self::Map => 11,
            Self::Struct => 12,
            Self::Uuid => 13,
        }
    }
}

/// Reads values from untrusted bytes.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Result<T> = core::result::Result<T, ThriftError>;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The bytes from `start` to the reader's position.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    pub(crate) fn error<T>(&self, problem: &'static str) -> Result<T> {
        Err(ThriftError { at: self.at, problem })
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => self.error("the bytes end within a value"),
        }
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let left = &self.bytes[self.at..];
        match usize::try_from(len).ok().and_then(|len| left.get(..len)) {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => self.error("a value is longer than the remaining bytes"),
        }
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        self.error("a variable-length integer has more than 64 bits")
    }

    pub(crate) fn i64(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        let value = self.i64()?;
        i32::try_from(value).or_else(|_| self.error("an integer of 32 bits is out of range"))
    }

    pub(crate) fn binary(&mut self) -> Result<&'a [u8]> {
        let len = self.varint()?;
        self.take(len)
    }

    /// Reads the head of the next field of a struct: the field's number and type. `None` at the end of the struct.
    /// `last` is the number of the previous field, initially 0.
    pub(crate) fn field(&mut self, last: &mut i16) -> Result<Option<(i16, Kind)>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let Some(kind) = Kind::from_code(head & 0x0F) else {
            return self.error("a field has an unknown type");
        };
        let id = match head >> 4 {
            0 => i16::try_from(self.i64()?).ok(),
            delta => last.checked_add(i16::from(delta)),
        };
        let Some(id) = id else { return self.error("the number of a field is out of range") };
        *last = id;
        Ok(Some((id, kind)))
    }

    /// Reads the beginning of a list: the type and number of its elements. An element takes at least one byte, so a
    /// number that exceeds the remaining bytes is refused here, before a caller allocates.
    pub(crate) fn list(&mut self) -> Result<(Kind, usize)> {
        let head = self.byte()?;
        let len = match head >> 4 {
            15 => self.varint()?,
            len => u64::from(len),
        };
        let kind = match Kind::from_code(head & 0x0F) {
            Some(kind) => kind,
            // Some writers state no type for the elements of an empty list.
            None if len == 0 => Kind::Byte,
            None => return self.error("the elements of a list have an unknown type"),
        };
        if len > (self.bytes.len() - self.at) as u64 {
            return self.error("a list has more elements than bytes are left");
        }
        Ok((kind, len as usize))
    }

    /// Reads the beginning of a list of structs. Returns the number of structs.
    pub(crate) fn structs(&mut self) -> Result<usize> {
        match self.list()? {
            (Kind::Struct, len) | (_, len @ 0) => Ok(len),
            _ => self.error("the elements of a list are not structs"),
        }
    }

    /// Skips a field's value.
    pub(crate) fn skip(&mut self, kind: Kind) -> Result<()> {
        self.skip_value(kind, false, MAX_DEPTH)
    }

    /// Skips a value: an element of a list or map if `element` is true, otherwise a field. A boolean takes one byte as
    /// an element, and no byte as a field.
    fn skip_value(&mut self, kind: Kind, element: bool, depth: u32) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return self.error("values are nested too deeply");
        };
        match kind {
            Kind::True | Kind::False if element => self.byte().map(drop),
            Kind::True | Kind::False => Ok(()),
            Kind::Byte => self.byte().map(drop),
            Kind::I16 | Kind::I32 | Kind::I64 => self.varint().map(drop),
            Kind::Double => self.take(8).map(drop),
            Kind::Uuid => self.take(16).map(drop),
            Kind::Binary => self.binary().map(drop),
            Kind::List | Kind::Set => {
                let (kind, len) = self.list()?;
                (0..len).try_for_each(|_| self.skip_value(kind, true, depth))
            }
            Kind::Map => self.skip_map(depth),
            Kind::Struct => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_value(kind, false, depth)?;
                }
                Ok(())
            }
        }
    }

    fn skip_map(&mut self, depth: u32) -> Result<()> {
        let len = self.varint()?;
        if len == 0 {
            return Ok(());
        }
        if len > (self.bytes.len() - self.at) as u64 {
            return self.error("a map has more entries than bytes are left");
        }
        let kinds = self.byte()?;
        let (Some(key), Some(value)) = (Kind::from_code(kinds >> 4), Kind::from_code(kinds & 0x0F))
        else {
            return self.error("a map has an unknown type");
        };
        for _ in 0..len {
            self.skip_value(key, true, depth)?;
            self.skip_value(value, true, depth)?;
        }
        Ok(())
    }
}

/// Refuses a field that does not have the expected type.
pub(crate) fn expect(reader: &Reader<'_>, kind: Kind, expected: Kind) -> Result<()> {
    if kind == expected { Ok(()) } else { reader.error("a field has the wrong type") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_more_than_64_bits_are_refused() {
        let max = [&[0xFF; 9][..], &[0x01]].concat();
        assert_eq!(Reader::new(&max).varint(), Ok(u64::MAX));
        let beyond = [&[0xFF; 9][..], &[0x02]].concat();
        assert!(Reader::new(&beyond).varint().is_err());
        assert!(Reader::new(&[0x80; 11]).varint().is_err());
    }

    #[test]
    fn a_list_longer_than_the_bytes_is_refused_at_its_beginning() {
        let bytes = [0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0, 0];
        let refused = Reader::new(&bytes).list().unwrap_err();
        assert_eq!(
            refused,
            ThriftError { at: 6, problem: "a list has more elements than bytes are left" }
        );
    }

    #[test]
    fn nesting_is_bounded() {
        // Each struct is a field of the struct before it.
        let bytes = vec![0x1C; 1 << 20];
        assert!(Reader::new(&bytes).skip(Kind::Struct).is_err());
    }
}
