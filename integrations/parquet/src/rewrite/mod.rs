//! Adds, replaces, folds and removes the Bloom filters of a file. Pages are copied unchanged.

mod build;
mod error;
mod footer;
mod input;
mod job;
mod layout;
mod output;
mod plan;
mod report;
mod thrift_writer;
mod values;

pub use error::RewriteError;
pub use report::{FilterChange, RewriteReport};

use crate::error::FileError;
use crate::file::find_column;
use crate::footer::{Footer, MAGIC};
use crate::schema::Column;
use crate::types::PhysicalType;
use input::{Input, range};
use job::Job;
use layout::{Layout, Parts};
use output::Output;
use plan::{Operation, Plan, Task};
use std::path::{Path, PathBuf};

/// Changes the Bloom filters of a file. Column chunks are copied byte for byte. The new footer differs from the old one
/// only in the offsets and lengths of parts that are moved, changed, new or removed. The values of all other fields are
/// copied byte for byte: schema, statistics, key-value metadata, sorting columns, the writer's name, and fields that
/// this crate does not know.
///
/// ```
/// use trommel_parquet::{FileFilters, Rewrite};
/// # let folder = std::env::temp_dir().join(format!("trommel-parquet-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let output = folder.join("orders.parquet");
/// let report = Rewrite::new("tests/golden/pyarrow.parquet")
///     .add("plain", 0.01)
///     .remove("id")
///     .write(&output)?;
/// assert_eq!(report.filters[0].column, "id");
///
/// let bytes = std::fs::read(&output)?;
/// let file = FileFilters::open(&bytes)?;
/// assert!(file.filter(0, file.column("plain")?)?.is_some());
/// assert!(file.filter(0, file.column("id")?)?.is_none());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rewrite {
    input: PathBuf,
    operations: Vec<(String, Operation)>,
    any_size: bool,
}

impl Rewrite {
    /// Starts the rewriting of a file.
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), operations: Vec::new(), any_size: false }
    }

    /// Makes filters for all row groups of a column that has no filters. Each filter has the size that its distinct
    /// values need for a false-positive rate of at most `fpr`. The size is rounded up to a power of two unless
    /// [`Rewrite::any_size`] is called with `true`.
    #[must_use]
    pub fn add(self, column: &str, fpr: f64) -> Self {
        self.with(column, Operation::Add { fpr })
    }

    /// Makes filters like [`Rewrite::add`]. The new filters replace the existing filters of the column, if any.
    #[must_use]
    pub fn replace(self, column: &str, fpr: f64) -> Self {
        self.with(column, Operation::Replace { fpr })
    }

    /// Halves each filter of a column repeatedly, while its number of blocks is even and its false-positive rate stays
    /// at most `fpr`. Reads no values. A filter is not changed if its false-positive rate is already higher than `fpr`,
    /// or if memory runs out.
    #[must_use]
    pub fn fold(self, column: &str, fpr: f64) -> Self {
        self.with(column, Operation::Fold { fpr })
    }

    /// Removes the filters of a column.
    #[must_use]
    pub fn remove(self, column: &str) -> Self {
        self.with(column, Operation::Remove)
    }

    /// Sets whether the filters that [`Rewrite::add`] and [`Rewrite::replace`] make can have any number of blocks, not
    /// only a power of two. With `true`, a filter can take little more than half of the bytes that it takes with
    /// `false`. The format and DuckDB allow any number of blocks. Arrow C++, ClickHouse, Doris and Velox refuse to read
    /// a filter whose number of blocks is not a power of two.
    #[must_use]
    pub fn any_size(self, any_size: bool) -> Self {
        Self { any_size, ..self }
    }

    fn with(mut self, column: &str, operation: Operation) -> Self {
        self.operations.push((column.into(), operation));
        self
    }

    /// Writes the new file. The file appears whole or not at all: the bytes are written to a temporary file in the same
    /// folder, and the temporary file is renamed when it is complete and on the disk. The output can be the input. The
    /// new file has the permissions of the file that it replaces. If the output is a symbolic link to a file, the link
    /// stays, and the file is replaced. If the process is killed before the renaming, the temporary file remains. The
    /// name of the temporary file is `.NAME.PROCESS-NUMBER.tmp`, with the name of the output, the id of the process and
    /// a number.
    ///
    /// Takes memory for the footer, buffers and, for one column chunk at a time, the pages that are being decoded, the
    /// values of 8,192 records, hashes, and the filter. The number of hashes is at most about 65,536 or twice the
    /// number of distinct values, whichever is larger, plus the number of values in the 8,192 records. A record of a
    /// list can have many values.
    ///
    /// # Errors
    /// [`RewriteError`]. After an error, the output is unchanged, with one exception: if only the sync of the folder
    /// failed, the output has been replaced.
    pub fn write(&self, output: impl AsRef<Path>) -> Result<RewriteReport, RewriteError> {
        self.write_with_progress(output, |_, _| {})
    }

    /// Writes the new file like [`Rewrite::write`]. After each filter, calls `progress` with the number of finished
    /// filters and the number of all filters.
    ///
    /// # Errors
    /// The errors of [`Rewrite::write`].
    pub fn write_with_progress(
        &self,
        output: impl AsRef<Path>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<RewriteReport, RewriteError> {
        let mut input = Input::open(&self.input)?;
        let plan = self.plan(&mut input)?;
        let output = output.as_ref();
        let io_error = |source| RewriteError::Io { path: output.into(), source };
        let mut out = Output::create(output).map_err(io_error)?;
        let mut job = Job { any_size: self.any_size, input: &mut input, plan: &plan, output };
        let report = job.run(&mut out, &mut progress)?;
        out.commit().map_err(io_error)?;
        Ok(report)
    }

    /// Checks the operations and plans the layout of the new file.
    fn plan(&self, input: &mut Input) -> Result<Plan, RewriteError> {
        let columns = &input.footer.columns;
        let mut operations = vec![None; columns.len()];
        for (path, operation) in &self.operations {
            let column = find_column(columns, path).map_err(RewriteError::Column)?;
            if operations[column.index].replace(*operation).is_some() {
                return Err(RewriteError::TwoOperations { column: path.clone() });
            }
            self.check(&input.footer, column, *operation)?;
        }
        let mut tasks = Vec::new();
        let mut parts = Parts::default();
        for (row_group, group) in input.footer.row_groups.clone().iter().enumerate() {
            for (column, chunk) in group.chunks.iter().enumerate() {
                if chunk.elsewhere {
                    let problem = "the chunk's data are in another file";
                    return Err(FileError::Chunk { row_group, column, problem }.into());
                }
                let old = input.filter_range(chunk)?;
                let operation = operations[column].filter(|operation| match operation {
                    Operation::Add { .. } | Operation::Replace { .. } => true,
                    Operation::Fold { .. } | Operation::Remove => chunk.filter_offset.is_some(),
                });
                let filters = match operation {
                    Some(_) => &mut parts.dropped_filters,
                    None => &mut parts.kept_filters,
                };
                filters.extend(old.clone());
                let data = range(chunk.start(), chunk.compressed_bytes);
                let data = data.filter(|data| data.end <= input.footer_start);
                if let (None, Some(Operation::Add { .. } | Operation::Replace { .. })) =
                    (&data, operation)
                {
                    let problem = "the chunk's data are outside the file";
                    return Err(FileError::Chunk { row_group, column, problem }.into());
                }
                parts.chunks.extend(data);
                let indexes = [chunk.offset_index, chunk.column_index].into_iter().flatten();
                parts.page_indexes.extend(indexes.filter_map(|(at, len)| range(at, len.into())));
                if let Some(operation) = operation {
                    tasks.push(Task { row_group, column, operation, old });
                }
            }
        }
        let layout = Layout::new(&parts, MAGIC.len() as u64, input.footer_start);
        Ok(Plan { tasks, layout })
    }

    /// Checks whether an operation is possible for a column.
    fn check(
        &self,
        footer: &Footer,
        column: &Column,
        operation: Operation,
    ) -> Result<(), RewriteError> {
        let path = || column.path.clone();
        let with_filter = footer.row_groups.iter().position(|group| group.has_filter(column));
        if let Operation::Add { fpr } | Operation::Replace { fpr } | Operation::Fold { fpr } =
            operation
            && !(fpr > 0.0 && fpr < 1.0)
        {
            return Err(RewriteError::Fpr { column: path(), fpr });
        }
        match operation {
            Operation::Add { .. } | Operation::Replace { .. } => {
                let physical = column.physical;
                if matches!(physical, PhysicalType::Boolean | PhysicalType::Int96) {
                    return Err(RewriteError::UnsupportedType { column: path(), physical });
                }
                match (operation, with_filter) {
                    (Operation::Add { .. }, Some(row_group)) => {
                        Err(RewriteError::FilterExists { column: path(), row_group })
                    }
                    _ => Ok(()),
                }
            }
            Operation::Fold { .. } | Operation::Remove if with_filter.is_none() => {
                Err(RewriteError::NoFilter { column: path() })
            }
            Operation::Fold { .. } | Operation::Remove => Ok(()),
        }
    }
}
