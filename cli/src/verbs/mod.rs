//! The verbs (subcommands) of `trommel`, each in a file or a folder of its own, except `completions` and `man`, which
//! share one.

mod build;
mod fold;
mod info;
mod merge;
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod query;

use crate::cli::Verb;
use crate::failure::{Failure, Unreadable};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;
use std::process::ExitCode;
use trommel::container::HEADER_BYTES;
use trommel::{Engine, FilterView, FormatError};

/// The exit code of `query` and `parquet probe` if they print no key.
const NOTHING_PRINTED: u8 = 1;

pub(crate) fn run(verb: Verb) -> Result<ExitCode, Failure> {
    match verb {
        Verb::Build(arguments) => build::run(&arguments),
        Verb::Query(arguments) => query::run(&arguments),
        Verb::Info(arguments) => info::run(&arguments),
        Verb::Merge(arguments) => merge::run(&arguments),
        Verb::Fold(arguments) => fold::run(&arguments),
        #[cfg(feature = "parquet")]
        Verb::Parquet(verb) => parquet::run(&verb),
        Verb::Completions(arguments) => pages::completions(&arguments),
        Verb::Man(arguments) => pages::man(&arguments),
    }
}

/// Reads the bytes of a filter. The file is not mapped into memory: if another process truncated a mapped file, reading
/// from the mapping would end this process.
fn read_filter(path: &Path) -> Result<Vec<u8>, Failure> {
    bytes_of(path).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::IsADirectory => Unreadable::Directory,
            _ => Unreadable::System(error),
        };
        Failure::Read { name: path.display().to_string(), line: None, why }
    })
}

/// Returns the bytes of a file. A device or a pipe can be endless, so at most one byte is read from it beyond the
/// length that the filter's header gives. With this byte, [`FilterView::parse`] notices and refuses trailing bytes.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    (&mut file).take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    if let Err(FormatError::Truncated { need, got }) = FilterView::parse(&bytes) {
        file.take((need - got).saturating_add(1)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn engine(threads: Option<usize>) -> Result<Engine, Failure> {
    let builder = Engine::builder();
    Ok(match threads {
        Some(threads) => builder.threads(threads),
        None => builder,
    }
    .build()?)
}

/// Prints a whole text to standard output. It is no error if the reader has closed standard output.
fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    match write(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(of_stdout(error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn write(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()
}

fn of_stdout(error: io::Error) -> Failure {
    Failure::Write { name: "standard output".into(), error }
}
