//! Reads the keys of one column of CSV or TSV records.

use super::keys::Column;
use super::{Input, Inputs, Keys, Line, Progress, SourceError};
use crate::failure::Unreadable;
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use std::io::Read;
use std::sync::Arc;

/// A batch ends as soon as its keys have this total number of bytes, or it has [`BATCH_KEYS`] keys, or the input ends
/// or has an error.
const BATCH_BYTES: usize = 1 << 18;
const BATCH_KEYS: usize = 1 << 15;
/// The size of the read buffer. Bytes count as progress once they are in the buffer, before they are parsed.
const READ_BYTES: usize = 1 << 18;

/// The syntax of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Commas, and quotes as in RFC 4180.
    Csv,
    /// Tabs, and no quotes.
    Tsv,
}

impl Dialect {
    fn reader<R: Read>(self, from: R) -> Reader<R> {
        let mut builder = ReaderBuilder::new();
        builder.buffer_capacity(READ_BYTES);
        if self == Self::Tsv {
            builder.delimiter(b'\t').quoting(false);
        }
        builder.from_reader(from)
    }
}

/// The keys of one column of all inputs.
pub(crate) struct RecordColumns {
    inputs: Inputs,
    progress: Arc<Progress>,
    dialect: Dialect,
    column: Option<String>,
    /// The index of the input being read.
    input: usize,
    opened: Option<Opened>,
    record: ByteRecord,
    /// An error to return once the keys that were read before it have been returned.
    error: Option<SourceError>,
    failed: bool,
}

struct Opened {
    reader: Reader<Counted>,
    column: usize,
}

/// A reader that adds the bytes read to the progress.
struct Counted {
    reader: Box<dyn Read + Send>,
    progress: Arc<Progress>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.progress.add_bytes(read);
        Ok(read)
    }
}

impl RecordColumns {
    pub(crate) fn new(
        inputs: Inputs,
        progress: Arc<Progress>,
        dialect: Dialect,
        column: Option<String>,
    ) -> Self {
        let record = ByteRecord::new();
        let (opened, error) = (None, None);
        Self { inputs, progress, dialect, column, input: 0, opened, record, error, failed: false }
    }

    fn open(&self, input: &Input) -> Result<Opened, SourceError> {
        let error = |line, why| SourceError { input: self.input, line, why };
        let reader =
            input.open().map_err(|refused| error(Line::None, Unreadable::System(refused)))?;
        let counted = Counted { reader, progress: Arc::clone(&self.progress) };
        let mut reader = self.dialect.reader(counted);
        let names = reader.byte_headers().map_err(|error| source_error(self.input, error))?;
        let column = column(names, self.column.as_deref());
        // An empty file has no names and no keys.
        let column = if names.is_empty() { Ok(0) } else { column };
        Ok(Opened { reader, column: column.map_err(|why| error(Line::Number(1), why))? })
    }

    /// The next batch of keys of the current input. It is empty at the end of the input, or if an error comes before
    /// the next key.
    fn read(&mut self, opened: &mut Opened) -> Column {
        let mut keys = Column {
            bytes: Vec::new(),
            ends: Vec::new(),
            lines: Vec::new(),
            input: self.input,
            progress: Arc::clone(&self.progress),
        };
        while keys.bytes.len() < BATCH_BYTES && keys.lines.len() < BATCH_KEYS {
            match opened.reader.read_byte_record(&mut self.record) {
                Ok(true) => {
                    // A record has as many fields as there are names, since the reader refuses other records.
                    keys.bytes.extend_from_slice(self.record.get(opened.column).unwrap_or(b""));
                    keys.ends.push(keys.bytes.len());
                    keys.lines.push(self.record.position().map_or(0, csv::Position::line));
                }
                Ok(false) => break,
                Err(error) => {
                    self.error = Some(source_error(self.input, error));
                    break;
                }
            }
        }
        keys
    }
}

impl Iterator for RecordColumns {
    type Item = Result<Keys, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            if let Some(error) = self.error.take() {
                self.failed = true;
                return Some(Err(error));
            }
            let input = self.inputs.get(self.input)?;
            match self.opened.take().map_or_else(|| self.open(input), Ok) {
                Ok(mut opened) => {
                    let keys = self.read(&mut opened);
                    let is_empty = keys.lines.is_empty();
                    if is_empty && self.error.is_none() {
                        self.input += 1;
                    } else {
                        self.opened = Some(opened);
                    }
                    if !is_empty {
                        return Some(Ok(Keys::Column(keys)));
                    }
                }
                Err(error) => self.error = Some(error),
            }
        }
        None
    }
}

/// The index of the requested column. `asked` is a column's name or, if no column has that name, a column number,
/// counted from 1; `None` stands for the only column.
fn column(names: &ByteRecord, asked: Option<&str>) -> Result<usize, Unreadable> {
    let shown =
        || names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>();
    let Some(asked) = asked else {
        return if names.len() == 1 {
            Ok(0)
        } else {
            Err(Unreadable::WhichColumn { names: shown() })
        };
    };
    let mut named = names.iter().enumerate().filter(|(_, name)| *name == asked.as_bytes());
    match (named.next(), named.next()) {
        (Some((first, _)), Some((second, _))) => Err(Unreadable::RepeatedColumn {
            column: asked.to_owned(),
            first: first + 1,
            second: second + 1,
        }),
        (Some((index, _)), None) => Ok(index),
        (None, _) => match asked.parse::<usize>() {
            Ok(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
            _ => Err(Unreadable::NoColumn { column: asked.to_owned(), names: shown() }),
        },
    }
}

fn source_error(input: usize, error: csv::Error) -> SourceError {
    let line = error.position().map(csv::Position::line);
    let why = match error.into_kind() {
        ErrorKind::Io(error) => Unreadable::System(error),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Unreadable::UnequalRecord { fields: len, expected: expected_len }
        }
        other => Unreadable::Record(format!("{other:?}")),
    };
    SourceError { input, line: line.map_or(Line::None, Line::Number), why }
}

/// The line in which the record with index `index` begins. Index 0 is the first record after the column names. Reads
/// the file again. Returns `None` if the input is not a regular file, cannot be read or has no such record.
pub(crate) fn line_of_record(input: &Input, dialect: Dialect, index: u64) -> Option<u64> {
    input.regular_bytes()?;
    let mut reader = dialect.reader(input.open().ok()?);
    let mut record = ByteRecord::new();
    for _ in 0..=index {
        if !reader.read_byte_record(&mut record).ok()? {
            return None;
        }
    }
    record.position().map(csv::Position::line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(names: &[&str], column_asked: Option<&str>) -> Option<usize> {
        column(&ByteRecord::from(names.to_vec()), column_asked).ok()
    }

    #[test]
    fn a_column_is_found_by_name_before_number() {
        let names = ["id", "word", "1"];
        assert_eq!(asked(&names, Some("word")), Some(1));
        assert_eq!(asked(&names, Some("1")), Some(2));
        assert_eq!(asked(&names, Some("3")), Some(2));
        for refused in ["0", "4", "Word", "", "-1"] {
            assert_eq!(asked(&names, Some(refused)), None, "{refused}");
        }
    }

    #[test]
    fn only_a_single_column_needs_no_name() {
        assert_eq!(asked(&["word"], None), Some(0));
        assert_eq!(asked(&["id", "word"], None), None);
        assert_eq!(asked(&["word", "word"], Some("word")), None);
        assert_eq!(asked(&["word", "word"], Some("2")), Some(1));
    }
}
