//! `trommel query`.

use super::{NOTHING_PRINTED, engine, of_stdout, read_filter, write};
use crate::cli::{InputFormat, KeyType, QueryArgs};
use crate::failure::Failure;
use crate::input::{Inputs, SourceError, number};
use std::io;
use std::process::ExitCode;
use trommel::engine::StreamError;
use trommel::{Bitmap, Filter as _, FilterView, Hasher, KeyHash};

pub(crate) fn run(arguments: &QueryArgs) -> Result<ExitCode, Failure> {
    let bytes = read_filter(&arguments.filter)?;
    let view = FilterView::parse(&bytes)
        .map_err(|error| Failure::Format { name: arguments.filter.display().to_string(), error })?;
    let printed = if arguments.keys.is_empty() {
        ask_lines(&view, arguments)?
    } else {
        ask_arguments(&view, arguments)?
    };
    Ok(if printed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_PRINTED) })
}

/// Looks up the keys given as arguments. Returns whether a key was printed.
fn ask_arguments(view: &FilterView<'_>, arguments: &QueryArgs) -> Result<bool, Failure> {
    let hasher = view.hasher();
    let mut text = Vec::new();
    for key in &arguments.keys {
        let bytes = key.as_encoded_bytes();
        let hash = hash(&hasher, bytes, arguments.key_type).map_err(|error| Failure::Argument {
            key: key.to_string_lossy().into_owned(),
            error,
        })?;
        if view.contains_hash(hash) != arguments.absent {
            text.extend_from_slice(bytes);
            text.push(b'\n');
        }
    }
    match write(&text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(of_stdout(error)),
        _ => Ok(!text.is_empty()),
    }
}

fn hash(
    hasher: &Hasher,
    key: &[u8],
    key_type: KeyType,
) -> Result<KeyHash, crate::failure::NotNumber> {
    Ok(match key_type {
        KeyType::Bytes => hasher.hash_bytes(key),
        KeyType::I32 | KeyType::U32 => hasher.hash(&(number(key, key_type)? as u32)),
        KeyType::I64 | KeyType::U64 => hasher.hash(&number(key, key_type)?),
    })
}

enum QueryError {
    Source(SourceError),
    Stdout(io::Error),
}

/// Looks up the lines of standard input. Returns whether a line was printed.
fn ask_lines(view: &FilterView<'_>, arguments: &QueryArgs) -> Result<bool, Failure> {
    let inputs = Inputs::stdin();
    let progress = inputs.progress();
    let source = inputs.source(InputFormat::Lines, None, arguments.key_type, &progress);
    let source = source.map(|batch| batch.map_err(QueryError::Source));
    let engine = engine(arguments.threads)?;
    let (mut text, mut printed) = (Vec::new(), false);
    let asked = engine.stream().contains(view, source, |keys, found: &Bitmap| {
        text.clear();
        let present = found.count_ones();
        let wanted = if arguments.absent { found.len() - present } else { present };
        if wanted > 0 {
            let mut index = 0;
            keys.for_each(|key| {
                if found.get(index) != arguments.absent {
                    text.extend_from_slice(key);
                    text.push(b'\n');
                }
                index += 1;
            });
            write(&text).map_err(QueryError::Stdout)?;
            printed = true;
        }
        Ok(())
    });
    match asked {
        Ok(_) => Ok(printed),
        Err(StreamError::Failed { error: QueryError::Source(error), .. }) => {
            Err(inputs.failure(error, &progress))
        }
        // The reader has closed standard output. There were keys to print, so this is a success.
        Err(StreamError::Failed { error: QueryError::Stdout(error), .. }) => {
            if error.kind() == io::ErrorKind::BrokenPipe { Ok(true) } else { Err(of_stdout(error)) }
        }
        Err(StreamError::Start { error }) => Err(Failure::Engine(error)),
        Err(other) => Err(Failure::Usage(other.to_string())),
    }
}
