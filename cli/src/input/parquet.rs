//! Reads the keys of one column of Parquet files.

use super::keys::{Column, Words};
use super::{Input, Inputs, Keys, Line, Progress, SourceError};
use crate::failure::Unreadable;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The number of records decoded at a time.
const BATCH_RECORDS: usize = 1 << 15;

/// The values of one column of all inputs, without nulls.
pub(super) struct ParquetColumns {
    inputs: Inputs,
    progress: Arc<Progress>,
    column: String,
    /// The index of the input being read.
    input: usize,
    opened: Option<Opened>,
    failed: bool,
}

struct Opened {
    reader: SerializedFileReader<File>,
    column: usize,
    /// The index of the row group to read next.
    row_group: usize,
    values: Option<ColumnReader>,
}

impl ParquetColumns {
    pub(super) fn new(inputs: Inputs, progress: Arc<Progress>, column: String) -> Self {
        Self { inputs, progress, column, input: 0, opened: None, failed: false }
    }

    fn open(&self, input: &Input) -> std::result::Result<Opened, Unreadable> {
        let Input::File(path) = input else { return Err(Unreadable::NotSeekable) };
        if input.regular_bytes().is_none() {
            return Err(Unreadable::NotSeekable);
        }
        let file = File::open(path).map_err(Unreadable::System)?;
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(Unreadable::Parquet)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names: Vec<String> =
            schema.columns().iter().map(|column| column.path().string()).collect();
        let mut found = names.iter().enumerate().filter(|(_, name)| **name == self.column);
        let column = match (found.next(), found.next()) {
            (Some((column, _)), None) => column,
            (Some((first, _)), Some((second, _))) => {
                let (first, second) = (first + 1, second + 1);
                return Err(Unreadable::RepeatedColumn {
                    column: self.column.clone(),
                    first,
                    second,
                });
            }
            // No column has this name, so the argument may be a column number, counted from 1, as for CSV.
            (None, _) => match self.column.parse::<usize>() {
                Ok(number) if (1..=names.len()).contains(&number) => number - 1,
                _ => return Err(Unreadable::NoColumn { column: self.column.clone(), names }),
            },
        };
        let physical = schema.column(column).physical_type();
        if matches!(physical, Type::BOOLEAN | Type::INT96) {
            let physical_type = physical.to_string();
            return Err(Unreadable::NoKeyType { column: names[column].clone(), physical_type });
        }
        Ok(Opened { reader, column, row_group: 0, values: None })
    }

    /// The next batch of keys of the current input; `None` at the end of the input.
    fn read(&self, opened: &mut Opened) -> Result<Option<Keys>> {
        loop {
            if let Some(reader) = &mut opened.values {
                if let Some(keys) = self.read_batch(reader)? {
                    return Ok(Some(keys));
                }
                opened.values = None;
            }
            if opened.row_group == opened.reader.num_row_groups() {
                return Ok(None);
            }
            let row_group = opened.reader.get_row_group(opened.row_group)?;
            opened.values = Some(row_group.get_column_reader(opened.column)?);
            let chunk = row_group.metadata().column(opened.column);
            self.progress.add_bytes(usize::try_from(chunk.compressed_size()).unwrap_or(0));
            opened.row_group += 1;
        }
    }

    /// The next batch of values of a column chunk; `None` at the end of the chunk.
    fn read_batch(&self, reader: &mut ColumnReader) -> Result<Option<Keys>> {
        let words =
            |words| Keys::Words { words, input: self.input, progress: Arc::clone(&self.progress) };
        Ok(match reader {
            ColumnReader::Int32ColumnReader(reader) => next(reader)?.map(|values| {
                words(Words::Narrow(values.into_iter().map(i32::cast_unsigned).collect()))
            }),
            ColumnReader::Int64ColumnReader(reader) => next(reader)?.map(|values| {
                words(Words::Wide(values.into_iter().map(i64::cast_unsigned).collect()))
            }),
            // A floating-point number is hashed like the unsigned integer with the same bits.
            ColumnReader::FloatColumnReader(reader) => next(reader)?
                .map(|values| words(Words::Narrow(values.into_iter().map(f32::to_bits).collect()))),
            ColumnReader::DoubleColumnReader(reader) => next(reader)?
                .map(|values| words(Words::Wide(values.into_iter().map(f64::to_bits).collect()))),
            ColumnReader::ByteArrayColumnReader(reader) => {
                next(reader)?.map(|values| self.strings(values.iter().map(AsBytes::as_bytes)))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                next(reader)?.map(|values| self.strings(values.iter().map(AsBytes::as_bytes)))
            }
            ColumnReader::BoolColumnReader(_) | ColumnReader::Int96ColumnReader(_) => {
                return Err(ParquetError::NYI("keys of BOOLEAN or INT96".into()));
            }
        })
    }

    fn strings<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> Keys {
        let mut column = Column {
            bytes: Vec::new(),
            ends: Vec::new(),
            lines: Vec::new(),
            input: self.input,
            progress: Arc::clone(&self.progress),
        };
        for value in values {
            column.bytes.extend_from_slice(value);
            column.ends.push(column.bytes.len());
        }
        Keys::Column(column)
    }
}

/// The non-null values of the next batch of records: empty if all values are null, `None` at the end of the column
/// chunk.
fn next<T: DataType>(reader: &mut ColumnReaderImpl<T>) -> Result<Option<Vec<T::T>>> {
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (records, _, levels) = reader.read_records(
        BATCH_RECORDS,
        Some(&mut definitions),
        Some(&mut repetitions),
        &mut values,
    )?;
    Ok((records > 0 || levels > 0).then_some(values))
}

/// Runs `read` and turns a panic into an error. Version 60 of the `parquet` crate panics on some malformed offsets and
/// lengths.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the parquet crate panicked".into())))
}

impl Iterator for ParquetColumns {
    type Item = std::result::Result<Keys, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let input = self.inputs.get(self.input)?;
            let opened = self.opened.take().map_or_else(|| self.open(input), Ok);
            let read = opened.and_then(|mut opened| {
                let keys = guarded(|| self.read(&mut opened)).map_err(Unreadable::Parquet)?;
                Ok((opened, keys))
            });
            match read {
                Ok((opened, Some(keys))) => {
                    self.opened = Some(opened);
                    return Some(Ok(keys));
                }
                Ok((_, None)) => self.input += 1,
                Err(why) => {
                    self.failed = true;
                    return Some(Err(SourceError { input: self.input, line: Line::None, why }));
                }
            }
        }
        None
    }
}
