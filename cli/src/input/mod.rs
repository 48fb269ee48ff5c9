//! Reads keys from files and standard input, in batches. Most callers pass the batches to a
//! [`trommel::engine::Stream`].

mod count;
mod keys;
mod lines;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod split;

pub(crate) use count::count_lines;
pub(crate) use keys::{Keys, number};
pub(crate) use lines::LineBlocks;
pub(crate) use records::{Dialect, RecordColumns, line_of_record};

use crate::failure::{Failure, Unreadable};
use numbers::Numbers;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cli::{InputFormat, KeyType};

/// A file or standard input, from which keys are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

/// The inputs of one command, in order.
#[derive(Clone, Debug)]
pub(crate) struct Inputs(Arc<[Input]>);

/// What has been read so far.
#[derive(Debug)]
pub(crate) struct Progress {
    /// For each input, the number of its keys that have been hashed. If each line is a key and this number is
    /// `n`, an error after these keys is in line `n + 1`.
    keys: Vec<AtomicU64>,
    /// The number of bytes that have been read from all inputs. For a Parquet file, the compressed sizes of the column
    /// chunks read are counted instead.
    bytes: AtomicU64,
    /// The indices of the inputs in which each line is a key and the first line ends in a carriage return.
    carriage_returns: Mutex<Vec<usize>>,
}

/// The reason why a source of keys ended early. [`Inputs::failure`] turns `input` into a name and `line` into a
/// number.
#[derive(Debug)]
pub(crate) struct SourceError {
    pub(crate) input: usize,
    pub(crate) line: Line,
    pub(crate) why: Unreadable,
}

/// The line of a [`SourceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line is unknown, or the error concerns no line: for example, the input could not be opened.
    None,
    /// The line after the keys that [`Progress`] has counted for the input: their number plus one. Only for inputs in
    /// which each line is a key.
    Next,
    Number(u64),
}

/// Batches of keys, for [`trommel::engine::Stream`].
pub(crate) type Source = Box<dyn Iterator<Item = Result<Keys, SourceError>> + Send>;

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Input {
    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Stdin => Box::new(io::stdin()),
            Self::File(path) => Box::new(File::open(path)?),
        })
    }

    /// The size of a regular file; `None` for other inputs, such as pipes, which might be readable only once.
    fn regular_bytes(&self) -> Option<u64> {
        let Self::File(path) = self else { return None };
        fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len())
    }

    /// Refuses a missing file, a directory, and a regular file that cannot be opened.
    fn check(&self) -> Result<(), Unreadable> {
        let Self::File(path) = self else { return Ok(()) };
        let file = fs::metadata(path).map_err(Unreadable::System)?;
        if file.is_dir() {
            return Err(Unreadable::Directory);
        }
        if file.is_file() {
            // Only regular files are opened here. If this check opened and closed a named pipe, the pipe would have no
            // reader for a moment, and SIGPIPE could end its writer.
            File::open(path).map_err(Unreadable::System)?;
        }
        Ok(())
    }
}

impl Inputs {
    /// The inputs with the given paths. The path `-` stands for standard input, and an empty list stands for standard
    /// input alone. Missing files, directories and regular files that cannot be opened are refused before anything is
    /// read.
    pub(crate) fn new(paths: &[PathBuf]) -> Result<Self, Failure> {
        let inputs: Vec<Input> = if paths.is_empty() {
            vec![Input::Stdin]
        } else {
            let input = |path: &PathBuf| match path {
                path if path == Path::new("-") => Input::Stdin,
                path => Input::File(path.clone()),
            };
            paths.iter().map(input).collect()
        };
        for input in &inputs {
            let refused = |why| Failure::Read { name: input.to_string(), line: None, why };
            input.check().map_err(refused)?;
        }
        Ok(Self(inputs.into()))
    }

    pub(crate) fn stdin() -> Self {
        Self([Input::Stdin].into())
    }

    /// Whether `path` is one of the inputs and a regular file. Follows symbolic links.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        let Ok(path) = fs::canonicalize(path) else { return false };
        self.iter().any(|input| match input {
            Input::File(file) if input.regular_bytes().is_some() => {
                fs::canonicalize(file).is_ok_and(|file| file == path)
            }
            _ => false,
        })
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Input> {
        self.0.iter()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Input> {
        self.0.get(index)
    }

    /// The total size of all inputs; `None` unless all are regular files.
    pub(crate) fn regular_bytes(&self) -> Option<u64> {
        self.iter().try_fold(0u64, |sum, input| Some(sum.saturating_add(input.regular_bytes()?)))
    }

    pub(crate) fn progress(&self) -> Arc<Progress> {
        let keys = self.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(Progress { keys, bytes: AtomicU64::new(0), carriage_returns: Mutex::default() })
    }

    /// The keys of all inputs.
    pub(crate) fn source(
        &self,
        format: InputFormat,
        column: Option<&str>,
        key_type: KeyType,
        progress: &Arc<Progress>,
    ) -> Source {
        let source: Source = match dialect(format) {
            Some(dialect) => {
                let column = column.map(str::to_owned);
                Box::new(RecordColumns::new(self.clone(), Arc::clone(progress), dialect, column))
            }
            #[cfg(feature = "parquet")]
            None if format == InputFormat::Parquet => {
                let column = column.unwrap_or_default().to_owned();
                Box::new(parquet::ParquetColumns::new(self.clone(), Arc::clone(progress), column))
            }
            None => Box::new(LineBlocks::new(self.clone(), Arc::clone(progress))),
        };
        Numbers::of_type(key_type, source, progress)
    }

    /// The inputs in which each line is a key and the first line ends in a carriage return.
    pub(crate) fn with_carriage_returns(&self, progress: &Progress) -> Vec<&Input> {
        let inputs = progress.carriage_returns.lock().unwrap_or_else(PoisonError::into_inner);
        inputs.iter().filter_map(|input| self.get(*input)).collect()
    }

    /// Converts a source's error into a failure with the input's name and the line. `progress` gives the number of keys
    /// hashed so far.
    pub(crate) fn failure(&self, error: SourceError, progress: &Progress) -> Failure {
        let line = match error.line {
            Line::None => None,
            Line::Next => Some(progress.keys_of(error.input) + 1),
            Line::Number(line) => Some(line),
        };
        let name = self.get(error.input).map_or_else(String::new, Input::to_string);
        Failure::Read { name, line, why: error.why }
    }
}

/// The syntax of the records of a format; `None` if the format has no text records.
pub(crate) fn dialect(format: InputFormat) -> Option<Dialect> {
    match format {
        InputFormat::Lines => None,
        #[cfg(feature = "parquet")]
        InputFormat::Parquet => None,
        InputFormat::Csv => Some(Dialect::Csv),
        InputFormat::Tsv => Some(Dialect::Tsv),
    }
}

impl Progress {
    pub(crate) fn bytes(&self) -> u64 {
        // All accesses to these counters are relaxed. A progress bar can show an older value. A line number must be
        // computed from the newest value. So it is computed on the thread that counted the keys, or after the threads
        // of the stream were joined, which makes all their writes visible.
        self.bytes.load(Ordering::Relaxed)
    }

    fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn add_carriage_returns(&self, input: usize) {
        let mut inputs = self.carriage_returns.lock().unwrap_or_else(PoisonError::into_inner);
        inputs.push(input);
    }

    fn add_keys(&self, input: usize, keys: usize) {
        if let Some(count) = self.keys.get(input) {
            count.fetch_add(keys as u64, Ordering::Relaxed);
        }
    }

    /// The number of hashed keys of all inputs.
    pub(crate) fn keys(&self) -> u64 {
        (0..self.keys.len()).map(|input| self.keys_of(input)).sum()
    }

    fn keys_of(&self, input: usize) -> u64 {
        self.keys.get(input).map_or(0, |keys| keys.load(Ordering::Relaxed))
    }

    /// Finds the key with index `key` among the hashed keys of all inputs. Returns the index of its input, and the
    /// key's index among the keys of that input. Batches are hashed in order, so all keys of earlier inputs have been
    /// counted.
    pub(crate) fn locate(&self, key: u64) -> (usize, u64) {
        let mut before = 0;
        for input in 0..self.keys.len() {
            let keys = self.keys_of(input);
            if key < before + keys {
                return (input, key - before);
            }
            before += keys;
        }
        (self.keys.len().saturating_sub(1), key.saturating_sub(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_located_in_its_input() {
        let inputs = Inputs([Input::Stdin, Input::Stdin, Input::Stdin].into());
        let progress = inputs.progress();
        for (input, keys) in [(0, 2), (2, 3)] {
            progress.add_keys(input, keys);
        }
        let located: Vec<_> = (0..5).map(|key| progress.locate(key)).collect();
        assert_eq!(located, [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]);
    }
}
