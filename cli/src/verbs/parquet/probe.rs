//! `trommel parquet probe`.

use super::file::ParquetFile;
use crate::cli::{InputFormat, KeyType, ProbeArgs};
use crate::failure::{Failure, ParquetFailure};
use crate::input::Inputs;
use crate::verbs::{NOTHING_PRINTED, of_stdout, write};
use std::io;
use std::process::ExitCode;
use trommel::Bitmap;
use trommel_parquet::{
    ChunkFilter, Column, Literal, Literals, LogicalType, PhysicalType, ProbeError,
};

pub(super) fn run(arguments: &ProbeArgs) -> Result<ExitCode, Failure> {
    let file = ParquetFile::open(&arguments.file)?;
    let footer = file.footer()?;
    let probe_failure = |error| file.failure(ParquetFailure::Probe(error));
    let column = footer.column(&arguments.column).map_err(probe_failure)?;
    // Refuses column types that cannot have filters, even if there are no keys.
    Literals::new(column, []).map_err(probe_failure)?;
    let mut groups = Vec::new();
    for row_group in 0..footer.row_groups().len() {
        groups.push(file.filter_bytes(row_group, column)?.map(|(_, bytes)| bytes));
    }
    let mut probe = Probe { column, groups: Vec::new(), absent: arguments.absent, printed: false };
    for (row_group, bytes) in groups.iter().enumerate() {
        let filter = bytes.as_deref().map(ChunkFilter::parse).transpose().map_err(|error| {
            let column = column.path().to_owned();
            file.failure(ParquetFailure::Filter { row_group, column, error })
        })?;
        probe.groups.push(filter);
    }
    let asked = if arguments.keys.is_empty() {
        let inputs = Inputs::stdin();
        let progress = inputs.progress();
        let mut lines_before = 0;
        let mut asked = Ok(());
        for block in inputs.source(InputFormat::Lines, None, KeyType::Bytes, &progress) {
            let block = block.map_err(|mut error| {
                error.line = crate::input::Line::Number(lines_before + 1);
                inputs.failure(error, &progress)
            })?;
            let mut keys = Vec::new();
            block.for_each(|key| keys.push(key.to_vec()));
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            asked = probe.ask(&keys).map_err(|refused| refused.after(Some(lines_before)));
            if asked.is_err() {
                break;
            }
            lines_before += keys.len() as u64;
        }
        asked
    } else {
        let keys: Vec<&[u8]> = arguments.keys.iter().map(|key| key.as_encoded_bytes()).collect();
        probe.ask(&keys).map_err(|refused| refused.after(None))
    };
    match asked {
        Ok(()) => {}
        Err(Refused::Key(line, error)) => {
            let failure = ParquetFailure::Key { line, error };
            let is_stdin = line.is_some();
            let name = if is_stdin { "standard input".into() } else { file.name.clone() };
            return Err(Failure::Parquet { name, error: failure });
        }
        Err(Refused::Stdout(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(Refused::Stdout(error)) => return Err(of_stdout(error)),
    }
    Ok(if probe.printed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_PRINTED) })
}

enum Refused {
    /// A key is not a value of the column's type. The number is the key's index in its batch or, after
    /// [`Refused::after`], the number of its line.
    Key(Option<u64>, ProbeError),
    Stdout(io::Error),
}

impl Refused {
    /// Replaces the key's index in its batch by its line number, or by `None` if keys are arguments of the command.
    /// `lines_before` is the number of lines before the batch.
    fn after(self, lines_before: Option<u64>) -> Self {
        match self {
            Self::Key(index, error) => {
                let line = lines_before.zip(index).map(|(before, index)| before + index + 1);
                Self::Key(line, error)
            }
            stdout => stdout,
        }
    }
}

struct Probe<'f> {
    column: &'f Column,
    /// The filter of each row group; `None` if the row group has no filter.
    groups: Vec<Option<ChunkFilter<'f>>>,
    absent: bool,
    printed: bool,
}

impl Probe<'_> {
    /// Looks up a batch of keys. Prints each key that may be present, and the row groups that may have it. With
    /// `absent`, prints the keys that are in no row group instead.
    fn ask(&mut self, keys: &[&[u8]]) -> Result<(), Refused> {
        let literals = self.literals(keys).map_err(|error| {
            // Finds the key that is not a value of the column's type, for the message.
            let index = keys.iter().position(|key| self.literals(&[key]).is_err());
            Refused::Key(index.map(|index| index as u64), error)
        })?;
        let found: Vec<Option<Bitmap>> = self
            .groups
            .iter()
            .map(|filter| Some(filter.as_ref()?.might_contain_each(&literals)))
            .collect();
        let mut text = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            // A row group without a filter may have any key.
            let may_have =
                |found: &Option<Bitmap>| found.as_ref().is_none_or(|found| found.get(index));
            let groups: Vec<String> = found
                .iter()
                .enumerate()
                .filter(|(_, found)| may_have(found))
                .map(|(row_group, _)| row_group.to_string())
                .collect();
            if groups.is_empty() == self.absent {
                text.extend_from_slice(key);
                if !self.absent {
                    text.push(b'\t');
                    text.extend_from_slice(groups.join(",").as_bytes());
                }
                text.push(b'\n');
            }
        }
        if !text.is_empty() {
            self.printed = true;
            write(&text).map_err(Refused::Stdout)?;
        }
        Ok(())
    }

    fn literals(&self, keys: &[&[u8]]) -> Result<Literals, ProbeError> {
        let is_decimal = matches!(self.column.logical_type(), Some(LogicalType::Decimal { .. }));
        if self.column.physical_type() == PhysicalType::ByteArray && !is_decimal {
            return Literals::new(self.column, keys.iter().map(|key| Literal::Bytes(key)));
        }
        // Keys of other types are given as text. Bytes that are not UTF-8 become replacement characters, which no valid
        // text has, so such a key is refused.
        let texts = keys.iter().map(|key| String::from_utf8_lossy(key));
        Literals::parse(self.column, texts)
    }
}
