//! Literals of a predicate. They are hashed once, with the hash function of Parquet's Bloom filters.
//!
//! A filter holds hashes of the plain encoding of values: integers and floats as little-endian bytes, byte arrays
//! without their length. So a literal must be of the column's physical type. The logical type determines how text is
//! converted to the physical type, and whether byte arrays are half-precision floats.

use crate::error::ProbeError;
use crate::schema::Column;
use crate::text;
use crate::types::{LogicalType, PhysicalType};
use trommel::{Bitmap, Filter, Hasher, KeyHash, SplitBlockBloom};

pub(crate) const HASHER: Hasher = Hasher::PARQUET;

/// The number of hashes that are looked up at a time to find out whether any literal is present. The lookup ends after
/// the first batch with a positive answer.
const BATCH: usize = 1024;

/// One literal of a physical type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Literal<'v> {
    /// `INT32`. Dates, times in milliseconds and integers of up to 32 bits have this type. Decimals of up to 9 digits
    /// can have this type.
    Int32(i32),
    /// `INT64`. Integers of 64 bits, timestamps, and times in microseconds or nanoseconds have this type. Decimals of
    /// up to 18 digits can have this type.
    Int64(i64),
    /// `FLOAT`.
    Float(f32),
    /// `DOUBLE`.
    Double(f64),
    /// `BYTE_ARRAY` and `FIXED_LEN_BYTE_ARRAY`. Strings and UUIDs have these types. A decimal for a column of
    /// `FIXED_LEN_BYTE_ARRAY` is given in big-endian two's complement, in the column's fixed number of bytes.
    Bytes(&'v [u8]),
}

impl Literal<'_> {
    fn physical(&self) -> PhysicalType {
        match self {
            Self::Int32(_) => PhysicalType::Int32,
            Self::Int64(_) => PhysicalType::Int64,
            Self::Float(_) => PhysicalType::Float,
            Self::Double(_) => PhysicalType::Double,
            Self::Bytes(_) => PhysicalType::ByteArray,
        }
    }
}

/// The hashed literals of `column IN (...)`, for lookups in any number of row groups and files.
///
/// If equal values can have different bytes, all encodings of a literal are looked up: `0.0` is found if the column has
/// `-0.0`. A `NaN` has too many encodings to look up, so every row group is assumed to have a `NaN`. Every row group is
/// also assumed to have certain [decimals](Literals::decimals). `NULL` equals nothing and is not a literal.
///
/// ```
/// use trommel_parquet::{FileFilters, Literal, Literals};
/// let bytes = std::fs::read("tests/golden/pyarrow.parquet")?;
/// let file = FileFilters::open(&bytes)?;
/// let id = file.column("id")?;
/// let literals = Literals::new(id, [Literal::Int64(3), Literal::Int64(-1)])?;
/// assert_eq!(literals.len(), 2);
/// // A string is not looked up among integers.
/// assert!(Literals::new(id, [Literal::Bytes(b"3")]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Literals {
    physical: PhysicalType,
    /// The lengths in bytes of the shortest and the longest byte array among the literals.
    lengths: Option<(usize, usize)>,
    /// Whether the byte arrays are half-precision floats.
    half: bool,
    len: usize,
    hashes: Vec<KeyHash>,
    /// For each hash, the index of its literal. The vector is empty if hash `i` belongs to literal `i` for all `i`.
    owners: Vec<usize>,
    /// The indexes of the literals that every filter is assumed to hold.
    anywhere: Vec<usize>,
}

impl Literals {
    fn empty(physical: PhysicalType) -> Self {
        let (hashes, owners, anywhere) = (Vec::new(), Vec::new(), Vec::new());
        Self { physical, lengths: None, half: false, len: 0, hashes, owners, anywhere }
    }

    /// Makes literals for a column.
    ///
    /// # Errors
    /// [`ProbeError::WrongType`] or [`ProbeError::WrongLength`] if a literal is not of the column's type,
    /// [`ProbeError::UnsupportedType`] if the format has no filters for the column's type.
    pub fn new<'v>(
        column: &Column,
        values: impl IntoIterator<Item = Literal<'v>>,
    ) -> Result<Self, ProbeError> {
        let mut literals = Self::for_column(column)?;
        for value in values {
            literals.push(column, value)?;
        }
        Ok(literals)
    }

    /// Makes `INT32` literals.
    #[must_use]
    pub fn int32(values: &[i32]) -> Self {
        let mut literals = Self::empty(PhysicalType::Int32);
        HASHER.hash_batch(values, &mut literals.hashes);
        literals.len = values.len();
        literals
    }

    /// Makes `INT64` literals.
    #[must_use]
    pub fn int64(values: &[i64]) -> Self {
        let mut literals = Self::empty(PhysicalType::Int64);
        HASHER.hash_batch(values, &mut literals.hashes);
        literals.len = values.len();
        literals
    }

    /// Makes `FLOAT` literals.
    #[must_use]
    pub fn float(values: &[f32]) -> Self {
        let mut literals = Self::empty(PhysicalType::Float);
        values.iter().for_each(|value| literals.push_float(*value));
        literals
    }

    /// Makes `DOUBLE` literals.
    #[must_use]
    pub fn double(values: &[f64]) -> Self {
        let mut literals = Self::empty(PhysicalType::Double);
        values.iter().for_each(|value| literals.push_double(*value));
        literals
    }

    /// Makes literals for columns of byte arrays, with or without a fixed length. Half-precision floats need
    /// [`Literals::new`] or [`Literals::parse`].
    #[must_use]
    pub fn bytes<B: AsRef<[u8]>>(values: impl IntoIterator<Item = B>) -> Self {
        let mut literals = Self::empty(PhysicalType::ByteArray);
        values.into_iter().for_each(|value| literals.push_bytes(value.as_ref()));
        literals
    }

    /// Makes literals from decimals, given as unscaled integers: for a column of scale 2, 12.34 is 1234.
    ///
    /// An integer that does not fit into the column's type is in no row group. A column of `BYTE_ARRAY` can store a
    /// number in more or fewer bytes, so every row group is assumed to have the number. Every row group is also assumed
    /// to have the number if the column's values have a fixed length of more than 64 KiB.
    ///
    /// # Errors
    /// [`ProbeError::WrongType`] if the column has floats, [`ProbeError::UnsupportedType`] if the format has no filters
    /// for the column's type.
    pub fn decimals(
        column: &Column,
        unscaled: impl IntoIterator<Item = i128>,
    ) -> Result<Self, ProbeError> {
        let mut literals = Self::for_column(column)?;
        for value in unscaled {
            literals.push_decimal(column, value)?;
        }
        Ok(literals)
    }

    /// Makes literals from text that a person types: integers, floats, strings, UUIDs with or without dashes, decimals
    /// with or without a point, dates as `2026-01-31` or as days since 1970. Times and timestamps are integers in the
    /// column's unit. Byte arrays of fixed length that are neither decimals nor UUIDs, such as intervals and
    /// half-precision floats, are hexadecimal with the prefix `0x`.
    ///
    /// # Errors
    /// [`ProbeError::Text`] if a text cannot be read as a value of the column's type, or an error of [`Literals::new`].
    pub fn parse<S: AsRef<str>>(
        column: &Column,
        texts: impl IntoIterator<Item = S>,
    ) -> Result<Self, ProbeError> {
        let mut literals = Self::for_column(column)?;
        for text in texts {
            match text::parse(column, text.as_ref())? {
                text::Value::Int32(value) => literals.push(column, Literal::Int32(value))?,
                text::Value::Int64(value) => literals.push(column, Literal::Int64(value))?,
                text::Value::Float(value) => literals.push(column, Literal::Float(value))?,
                text::Value::Double(value) => literals.push(column, Literal::Double(value))?,
                text::Value::Bytes(value) => literals.push(column, Literal::Bytes(&value))?,
                text::Value::Decimal(value) => literals.push_decimal(column, value)?,
            }
        }
        Ok(literals)
    }

    /// The number of literals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no literals. If there are none, no row can match, but lookups still return the row groups that
    /// have no filter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn for_column(column: &Column) -> Result<Self, ProbeError> {
        use PhysicalType as P;
        let physical = match column.physical {
            column @ (P::Boolean | P::Int96) => return Err(ProbeError::UnsupportedType { column }),
            P::FixedLenByteArray => P::ByteArray,
            physical => physical,
        };
        Ok(Self { half: is_half(column), ..Self::empty(physical) })
    }

    fn push(&mut self, column: &Column, value: Literal<'_>) -> Result<(), ProbeError> {
        if value.physical() != self.physical {
            let literal = value.physical();
            return Err(ProbeError::WrongType { column: column.physical, literal });
        }
        match value {
            Literal::Int32(value) => self.push_hash(HASHER.hash(&value)),
            Literal::Int64(value) => self.push_hash(HASHER.hash(&value)),
            Literal::Float(value) => self.push_float(value),
            Literal::Double(value) => self.push_double(value),
            Literal::Bytes(value) => {
                if let Some(len) = column.fixed_len.filter(|len| *len != value.len()) {
                    return Err(ProbeError::WrongLength { column: len, literal: value.len() });
                }
                match value {
                    [low, high] if self.half => self.push_half(u16::from_le_bytes([*low, *high])),
                    _ => self.push_bytes(value),
                }
            }
        }
        Ok(())
    }

    fn push_decimal(&mut self, column: &Column, value: i128) -> Result<(), ProbeError> {
        match column.physical {
            PhysicalType::Int32 => match i32::try_from(value) {
                Ok(value) => self.push(column, Literal::Int32(value)),
                Err(_) => self.push_nowhere(),
            },
            PhysicalType::Int64 => match i64::try_from(value) {
                Ok(value) => self.push(column, Literal::Int64(value)),
                Err(_) => self.push_nowhere(),
            },
            PhysicalType::FixedLenByteArray if !self.half => {
                let len = column.fixed_len.unwrap_or(0);
                if len > MAX_DECIMAL_BYTES {
                    self.push_anywhere();
                    return Ok(());
                }
                match big_endian(value, len) {
                    Some(bytes) => self.push(column, Literal::Bytes(&bytes)),
                    None => self.push_nowhere(),
                }
            }
            PhysicalType::ByteArray => {
                self.push_anywhere();
                Ok(())
            }
            physical => {
                Err(ProbeError::WrongType { column: physical, literal: PhysicalType::Int64 })
            }
        }
    }

    fn push_hash(&mut self, hash: KeyHash) {
        self.push_encodings([hash]);
    }

    /// Adds one literal, with the hashes of all its encodings.
    fn push_encodings(&mut self, encodings: impl IntoIterator<Item = KeyHash>) {
        let before = self.hashes.len();
        self.hashes.extend(encodings);
        let one_each = self.owners.is_empty() && before == self.len;
        if !one_each || self.hashes.len() != before + 1 {
            if one_each {
                self.owners.extend(0..before);
            }
            self.owners.resize(self.hashes.len(), self.len);
        }
        self.len += 1;
    }

    /// Adds a literal that is in no row group.
    fn push_nowhere(&mut self) -> Result<(), ProbeError> {
        self.push_encodings([]);
        Ok(())
    }

    /// Adds a literal that every row group is assumed to have.
    fn push_anywhere(&mut self) {
        self.anywhere.push(self.len);
        self.push_encodings([]);
    }

    fn push_float(&mut self, value: f32) {
        if value.is_nan() {
            self.push_anywhere();
        } else if value == 0.0 {
            self.push_encodings([0.0f32, -0.0].map(|zero| HASHER.hash(&zero.to_bits())));
        } else {
            self.push_hash(HASHER.hash(&value.to_bits()));
        }
    }

    fn push_double(&mut self, value: f64) {
        if value.is_nan() {
            self.push_anywhere();
        } else if value == 0.0 {
            self.push_encodings([0.0f64, -0.0].map(|zero| HASHER.hash(&zero.to_bits())));
        } else {
            self.push_hash(HASHER.hash(&value.to_bits()));
        }
    }

    fn push_half(&mut self, bits: u16) {
        self.lengths = Some((2, 2));
        match bits & 0x7FFF {
            0 => self.push_encodings([0u16, 0x8000].map(|zero| HASHER.hash(&zero))),
            0x7C01.. => self.push_anywhere(),
            _ => self.push_hash(HASHER.hash(&bits)),
        }
    }

    fn push_bytes(&mut self, value: &[u8]) {
        let (min, max) = self.lengths.unwrap_or((value.len(), value.len()));
        self.lengths = Some((min.min(value.len()), max.max(value.len())));
        self.push_hash(HASHER.hash_bytes(value));
    }

    /// Refuses a column whose type or fixed length differs from the type or the length of the literals.
    pub(crate) fn check(&self, column: &Column) -> Result<(), ProbeError> {
        let expected = Self::for_column(column)?;
        if self.physical != expected.physical {
            let literal = self.physical;
            return Err(ProbeError::WrongType { column: column.physical, literal });
        }
        if self.half != expected.half {
            return Err(ProbeError::NeedsColumn);
        }
        if let (Some(len), Some((min, max))) = (column.fixed_len, self.lengths) {
            for literal in [min, max] {
                if literal != len {
                    return Err(ProbeError::WrongLength { column: len, literal });
                }
            }
        }
        Ok(())
    }

    /// The only hash of the literals: its lookup alone determines whether any literal might be in a filter. `None` if
    /// the number of hashes is not 1, or if a literal is assumed to be in every filter.
    pub(crate) fn only_hash(&self) -> Option<KeyHash> {
        match self.hashes[..] {
            [hash] if self.anywhere.is_empty() => Some(hash),
            _ => None,
        }
    }

    /// Whether any literal might be in a filter. `found` is scratch memory.
    pub(crate) fn any_in(&self, filter: &SplitBlockBloom<&[u8]>, found: &mut Bitmap) -> bool {
        if !self.anywhere.is_empty() {
            return true;
        }
        if let Some(hash) = self.only_hash() {
            return filter.contains_hash(hash);
        }
        self.hashes.chunks(BATCH).any(|batch| {
            filter.contains_batch(batch, found);
            found.as_words().iter().any(|word| *word != 0)
        })
    }

    /// The literals that might be in a filter: a bit for each literal.
    pub(crate) fn each_in(&self, filter: &SplitBlockBloom<&[u8]>) -> Bitmap {
        let mut found = Bitmap::new(0);
        filter.contains_batch(&self.hashes, &mut found);
        if self.owners.is_empty() && self.anywhere.is_empty() && self.hashes.len() == self.len {
            return found;
        }
        let mut literals = Bitmap::new(self.len);
        self.anywhere.iter().for_each(|literal| literals.set(*literal));
        for hash in found.iter_ones() {
            literals.set(self.owners.get(hash).copied().unwrap_or(hash));
        }
        literals
    }

    /// A bit for each literal. All bits are set.
    pub(crate) fn each_anywhere(&self) -> Bitmap {
        let mut literals = Bitmap::new(self.len);
        (0..self.len).for_each(|literal| literals.set(literal));
        literals
    }
}

fn is_half(column: &Column) -> bool {
    column.logical == Some(LogicalType::Float16) && column.fixed_len == Some(2)
}

/// The maximum length in bytes of decimals that are looked up. It limits the memory of a literal, since a malformed
/// schema can state any length. Longer decimals are assumed to be in every row group.
const MAX_DECIMAL_BYTES: usize = 1 << 16;

/// The value as big-endian two's complement in `len` bytes. `None` if the value does not fit into `len` bytes.
fn big_endian(value: i128, len: usize) -> Option<Vec<u8>> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xFF } else { 0 };
    if let Some(longer) = len.checked_sub(bytes.len()) {
        return Some([vec![sign; longer], bytes.to_vec()].concat());
    }
    let (cut, kept) = bytes.split_at(bytes.len() - len);
    let fits = cut.iter().all(|byte| *byte == sign)
        && kept.first().is_some_and(|first| (first & 0x80 != 0) == (value < 0));
    fits.then(|| kept.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_encoded_if_they_fit() {
        assert_eq!(big_endian(-2, 1), Some(vec![0xFE]));
        assert_eq!(big_endian(127, 1), Some(vec![0x7F]));
        assert_eq!(big_endian(128, 1), None);
        assert_eq!(big_endian(128, 2), Some(vec![0, 0x80]));
        assert_eq!(big_endian(-129, 1), None);
        assert_eq!(big_endian(-1, 17), Some(vec![0xFF; 17]));
        assert_eq!(big_endian(0, 0), None);
        assert_eq!(big_endian(i128::MIN, 16), Some(i128::MIN.to_be_bytes().to_vec()));
    }

    /// A schema can state any length of a byte array. A decimal that is too long to be looked up must not exclude a
    /// row group.
    #[test]
    fn decimals_of_absurd_lengths_are_in_every_row_group() {
        let empty = SplitBlockBloom::builder().keys(100).fpr(1e-4).hasher(HASHER).build().unwrap();
        let view = SplitBlockBloom::parse_parquet_bitset(empty.parquet_bitset()).unwrap();
        for (len, expected) in [(MAX_DECIMAL_BYTES, 0), (MAX_DECIMAL_BYTES + 1, 2), (usize::MAX, 2)]
        {
            let column = Column {
                index: 0,
                path: "price".into(),
                physical: PhysicalType::FixedLenByteArray,
                fixed_len: Some(len),
                logical: None,
            };
            let literals = Literals::decimals(&column, [1, -1]).unwrap();
            assert_eq!(literals.each_in(&view).count_ones(), expected, "{len} bytes");
        }
    }

    #[test]
    fn a_literal_is_found_by_any_of_its_encodings() {
        let mut filter =
            SplitBlockBloom::builder().keys(100).fpr(1e-4).hasher(HASHER).build().unwrap();
        filter.add(&(-0.0f64).to_bits());
        filter.add(&2.5f64.to_bits());
        let view = SplitBlockBloom::parse_parquet_bitset(filter.parquet_bitset()).unwrap();
        let mut found = Bitmap::new(0);

        let literals = Literals::double(&[1.5, 0.0, 2.5, f64::NAN, 7.0]);
        assert_eq!(literals.each_in(&view).iter_ones().collect::<Vec<_>>(), [1, 2, 3]);
        assert!(literals.any_in(&view, &mut found));
        assert!(Literals::double(&[0.0]).any_in(&view, &mut found));
        assert!(!Literals::double(&[1.5, 7.0]).any_in(&view, &mut found));
        assert!(!Literals::double(&[]).any_in(&view, &mut found));
        assert_eq!(literals.each_anywhere().count_ones(), 5);
    }
}
