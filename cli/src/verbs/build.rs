//! `trommel build`.

use super::engine;
use crate::cli::{BuildArgs, InputFormat};
use crate::failure::{Failure, Position};
use crate::input::{
    Inputs, Keys, Progress, Source, SourceError, count_lines, dialect, line_of_record,
};
use crate::output::Output;
use crate::picture::{grouped, percent};
use crate::progress::{Bar, warn};
use crate::spool::{BatchError, MOST_HASHES_IN_MEMORY, Spool};
use std::process::ExitCode;
use std::sync::Arc;
use trommel::engine::{KeyBatch as _, StreamError};
use trommel::{AnyFilter, Engine, Filter as _, FilterSpec, Hasher};

pub(crate) fn run(arguments: &BuildArgs) -> Result<ExitCode, Failure> {
    if arguments.column.is_some() && arguments.input_format == InputFormat::Lines {
        let message = "--column needs an --input-format that has columns: lines have none";
        return Err(Failure::Usage(message.into()));
    }
    #[cfg(feature = "parquet")]
    if arguments.input_format == InputFormat::Parquet {
        if arguments.column.is_none() {
            return Err(Failure::Usage("--input-format parquet needs a --column".into()));
        }
        if arguments.key_type != crate::cli::KeyType::Bytes {
            return Err(Failure::Usage(
                "--key-type is for text: the values of a Parquet file have their own types".into(),
            ));
        }
    }
    let build = Build::new(arguments)?;
    if build.inputs.contain(&arguments.output) {
        let output = arguments.output.display();
        return Err(Failure::Usage(format!("{output} is an input: the filter would replace it")));
    }
    // Fails before any input is read if the output cannot be written, or if the kind cannot reach the false-positive
    // rate even for one key. A rate that is unreachable only for more keys is reported once their number is known.
    let output = Output::create(&arguments.output)?;
    build.spec.keys(1).encoded_len().map_err(|error| build.spec_failure(error))?;
    let (planned, filter) = build.filter()?;
    build.warn_if_above(planned, &filter);
    for input in build.inputs.with_carriage_returns(&build.progress) {
        warn(&format!("{input}: the first line ends in CR, and each CR is part of a key"));
    }
    output.commit(|to| filter.write_to(to))?;
    Ok(ExitCode::SUCCESS)
}

struct Build<'a> {
    arguments: &'a BuildArgs,
    inputs: Inputs,
    progress: Arc<Progress>,
    engine: Engine,
    spec: FilterSpec,
}

impl<'a> Build<'a> {
    fn new(arguments: &'a BuildArgs) -> Result<Self, Failure> {
        let inputs = Inputs::new(&arguments.inputs)?;
        let spec = FilterSpec::new(arguments.kind).fpr(arguments.fpr);
        let spec = spec.seed(arguments.seed).foldable_by(arguments.foldable_by);
        let (progress, engine) = (inputs.progress(), engine(arguments.threads)?);
        Ok(Self { arguments, inputs, progress, engine, spec })
    }

    /// Builds the filter of all keys. Returns the number of keys that it was sized for, and the filter.
    fn filter(&self) -> Result<(usize, AnyFilter), Failure> {
        let is_counted = self.arguments.input_format == InputFormat::Lines
            && self.inputs.regular_bytes().is_some();
        match self.arguments.keys {
            Some(keys) => self.insert(keys),
            None if is_counted => {
                let lines = count_lines(&self.inputs)?;
                self.insert(usize::try_from(lines).unwrap_or(usize::MAX))
            }
            None => self.insert_spooled(),
        }
    }

    fn source(&self) -> Source {
        let BuildArgs { input_format, column, key_type, .. } = self.arguments;
        self.inputs.source(*input_format, column.as_deref(), *key_type, &self.progress)
    }

    /// Makes a filter for `keys` keys, and inserts all keys while they are read. Returns `keys` and the filter.
    fn insert(&self, keys: usize) -> Result<(usize, AnyFilter), Failure> {
        let bar = Bar::new("insert", self.inputs.regular_bytes());
        let batches = self.source().map(|batch| {
            bar.set(self.progress.bytes(), self.progress.keys());
            batch.map_err(BatchError::Source)
        });
        self.insert_batches(keys, batches)
    }

    /// Reads all keys, and keeps their hashes in a [`Spool`] until their number is known. Then makes a filter and
    /// inserts the hashes. Returns the number of keys and the filter.
    fn insert_spooled(&self) -> Result<(usize, AnyFilter), Failure> {
        let hasher = Hasher::xxh3(self.arguments.seed);
        let mut spool = Spool::new(MOST_HASHES_IN_MEMORY);
        let bar = Bar::new("read", self.inputs.regular_bytes());
        let mut hashes = Vec::new();
        for batch in self.source() {
            batch.map_err(|error| self.source_failure(error))?.hash_all(&hasher, &mut hashes);
            spool.push(&hashes)?;
            bar.set(self.progress.bytes(), spool.len());
        }
        drop(bar);
        let keys = usize::try_from(spool.len()).unwrap_or(usize::MAX);
        let bar = Bar::new("insert", None);
        let mut done = 0;
        let batches = spool.into_batches()?.map(|batch| {
            if let Ok(Keys::Hashes(hashes)) = &batch {
                done += hashes.len() as u64;
            }
            bar.set(0, done);
            batch.map_err(BatchError::Spool)
        });
        self.insert_batches(keys, batches)
    }

    fn insert_batches(
        &self,
        keys: usize,
        batches: impl Iterator<Item = Result<Keys, BatchError>> + Send,
    ) -> Result<(usize, AnyFilter), Failure> {
        let mut filter = self.spec.keys(keys).build().map_err(|error| self.spec_failure(error))?;
        let mut stream = self.engine.stream();
        // The first batch of a quotient or cuckoo filter fills the empty table region by region, but later batches have
        // to move keys. So the first batch should be large. With `MOST_HASHES_IN_MEMORY` keys at a time instead of
        // the default, 20 million lines take 0.53 s instead of 1.06 s in a quotient filter, and 0.8 s instead of 1.0 s
        // in a cuckoo filter (AMD EPYC).
        if filter.load_factor().is_some() {
            stream = stream.keys_at_a_time(MOST_HASHES_IN_MEMORY);
        }
        let inserted = stream.insert(&mut filter, batches);
        inserted.map_err(|error| self.stream_failure(error))?;
        Ok((keys, filter))
    }

    fn source_failure(&self, error: SourceError) -> Failure {
        self.inputs.failure(error, &self.progress)
    }

    fn spec_failure(&self, error: trommel::SpecError) -> Failure {
        Failure::Spec { kind: self.arguments.kind, error }
    }

    fn stream_failure(&self, error: StreamError<BatchError>) -> Failure {
        match error {
            StreamError::Failed { error: BatchError::Source(error), .. } => {
                self.source_failure(error)
            }
            StreamError::Failed { error: BatchError::Spool(error), .. } => {
                Failure::Spool { error: error.0 }
            }
            StreamError::Full { error, done } => {
                let (input, index) = self.progress.locate(done.keys);
                let input = self.inputs.get(input);
                let at = match (dialect(self.arguments.input_format), input) {
                    (Some(dialect), Some(input)) => line_of_record(input, dialect, index)
                        .map_or(Position::Record(index + 1), Position::Line),
                    #[cfg(feature = "parquet")]
                    _ if self.arguments.input_format == InputFormat::Parquet => {
                        Position::Record(index + 1)
                    }
                    _ => Position::Line(index + 1),
                };
                let name = input.map_or_else(String::new, ToString::to_string);
                Failure::Full { name, at, error }
            }
            StreamError::Start { error } => Failure::Engine(error),
            other => Failure::Usage(other.to_string()),
        }
    }

    /// Warns if there were more keys than planned and the expected false-positive rate is above that of `--fpr`. This
    /// can happen without `--keys` too: a file may have grown since its lines were counted.
    fn warn_if_above(&self, planned: usize, filter: &AnyFilter) {
        let keys = self.progress.keys();
        if keys <= planned as u64 {
            return;
        }
        let expected = filter.expected_fpr();
        if expected > self.arguments.fpr {
            warn(&format!(
                "{} keys instead of {}: the expected false-positive rate is {} instead of {}",
                grouped(keys),
                grouped(planned as u64),
                percent(expected),
                percent(self.arguments.fpr)
            ));
        }
    }
}
