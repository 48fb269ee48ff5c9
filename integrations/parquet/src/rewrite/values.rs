//! Hashes the distinct values of a column chunk.

use crate::literal::HASHER;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::SerializedFileReader;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trommel::KeyHash;

/// The number of records that are decoded at a time.
const BATCH: usize = 8192;
/// Until all values have been read, repeated hashes are removed only if at least this number of hashes is collected.
/// With fewer hashes, the saved memory is not worth a sort.
const MIN_SORTED: usize = 1 << 16;

/// Collects distinct hashes. Removes repeated hashes at the end, and also earlier, whenever there are at least
/// [`MIN_SORTED`] hashes and their number has doubled since the previous removal.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    hashes: Vec<KeyHash>,
    distinct: usize,
}

impl Distinct {
    pub(crate) fn extend(&mut self, hashes: &[KeyHash]) {
        self.hashes.extend_from_slice(hashes);
        if self.hashes.len() >= MIN_SORTED.max(2 * self.distinct) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.distinct = self.hashes.len();
    }

    pub(crate) fn into_hashes(mut self) -> Vec<KeyHash> {
        self.sort();
        self.hashes
    }
}

/// Opens a file to read its values.
pub(crate) fn open(file: File) -> Result<SerializedFileReader<File>> {
    guarded(|| SerializedFileReader::new(file))
}

/// The hashes of the distinct values of a column chunk, without nulls, in ascending order.
pub(crate) fn distinct_hashes(
    reader: impl FnOnce() -> Result<ColumnReader>,
) -> Result<Vec<KeyHash>> {
    guarded(|| collect(reader()?))
}

/// Runs `read` and turns a panic into an error. Version 60 of the `parquet` crate panics at some malformed offsets and
/// lengths.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the parquet crate panicked".into())))
}

fn collect(reader: ColumnReader) -> Result<Vec<KeyHash>> {
    let hash_bytes = |bytes: &[u8]| HASHER.hash_bytes(bytes);
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            read(reader, |values, hashes| HASHER.hash_batch(values, hashes))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            read(reader, |values, hashes| HASHER.hash_batch(values, hashes))
        }
        ColumnReader::FloatColumnReader(reader) => read(reader, |values, hashes| {
            let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
            HASHER.hash_batch(&bits, hashes);
        }),
        ColumnReader::DoubleColumnReader(reader) => read(reader, |values, hashes| {
            let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
            HASHER.hash_batch(&bits, hashes);
        }),
        ColumnReader::ByteArrayColumnReader(reader) => read(reader, |values, hashes| {
            hashes.extend(values.iter().map(|value| hash_bytes(value.as_bytes())));
        }),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => read(reader, |values, hashes| {
            hashes.extend(values.iter().map(|value| hash_bytes(value.as_bytes())));
        }),
        ColumnReader::BoolColumnReader(_) | ColumnReader::Int96ColumnReader(_) => {
            Err(ParquetError::NYI("Bloom filters of BOOLEAN or INT96".into()))
        }
    }
}

fn read<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    hash: impl Fn(&[T::T], &mut Vec<KeyHash>),
) -> Result<Vec<KeyHash>> {
    let (mut distinct, mut hashes) = (Distinct::default(), Vec::new());
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        definitions.clear();
        repetitions.clear();
        values.clear();
        let (records, _, levels) = reader.read_records(
            BATCH,
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        hashes.clear();
        hash(&values, &mut hashes);
        distinct.extend(&hashes);
        if records == 0 && levels == 0 {
            return Ok(distinct.into_hashes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_does_not_grow_with_repeated_hashes() {
        let mut distinct = Distinct::default();
        for round in 0..100u64 {
            let hashes: Vec<_> =
                (0..10_000).map(|i| KeyHash::from_raw((i * 7 + round) % 1_000)).collect();
            distinct.extend(&hashes);
            assert!(distinct.hashes.len() < MIN_SORTED);
        }
        let hashes = distinct.into_hashes();
        assert_eq!(hashes, (0..1_000).map(KeyHash::from_raw).collect::<Vec<_>>());
    }
}
