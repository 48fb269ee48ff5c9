//! Writes the new file.

use super::build::{self, BuildError};
use super::error::RewriteError;
use super::footer::{self, Changes, Location};
use super::input::{Input, range};
use super::layout::Moves;
use super::output::Output;
use super::plan::{Operation, Plan, Task};
use super::report::{FilterChange, RewriteReport};
use super::values;
use crate::error::FileError;
use crate::filter::ChunkFilter;
use crate::footer::MAGIC;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use trommel::Filter;

/// One rewriting of a file.
pub(super) struct Job<'j> {
    pub(super) any_size: bool,
    pub(super) input: &'j mut Input,
    pub(super) plan: &'j Plan,
    pub(super) output: &'j Path,
}

/// What the new footer needs: the moves of parts of the old file, the locations of changed filters (`None` for a
/// removed filter), and the lengths of changed offset indexes. The maps have row group and column as keys.
#[derive(Default)]
struct Written {
    moves: Moves,
    filters: HashMap<(usize, usize), Option<Location>>,
    offset_indexes: HashMap<(usize, usize), u32>,
}

impl Changes for Written {
    fn moved(&self, offset: i64) -> i64 {
        self.moves.moved(offset)
    }

    fn filter(&self, row_group: usize, column: usize) -> Option<Option<Location>> {
        self.filters.get(&(row_group, column)).copied()
    }

    fn offset_index_len(&self, row_group: usize, column: usize) -> Option<u32> {
        self.offset_indexes.get(&(row_group, column)).copied()
    }
}

impl Job<'_> {
    /// Writes the new file to `out`. After each filter, calls `progress` with the number of finished filters and the
    /// number of all filters.
    pub(super) fn run(
        &mut self,
        out: &mut Output,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<RewriteReport, RewriteError> {
        let mut written = Written::default();
        let layout = &self.plan.layout;
        self.copy(0..layout.insert_at, out, &mut written)?;
        let filters = self.write_filters(out, &mut written, progress)?;
        self.copy_page_indexes(out, &mut written)?;
        self.write_footer(out, &written)?;
        let old_bytes = |task: &Task| task.old.as_ref().map_or(0, |old| old.end - old.start);
        // If the layout drops nothing, the new file still has the bytes of the old filters, unused.
        let unused = layout.dropped.is_empty().then(|| self.plan.tasks.iter().map(old_bytes).sum());
        Ok(RewriteReport {
            file_bytes_before: self.input.len,
            file_bytes_after: out.position(),
            unused_bytes: unused.unwrap_or(0),
            filters,
        })
    }

    fn write(&self, out: &mut Output, bytes: &[u8]) -> Result<(), RewriteError> {
        out.write_all(bytes).map_err(|source| RewriteError::Io { path: self.output.into(), source })
    }

    /// Copies a range of the old file without the parts that the layout drops.
    fn copy(
        &mut self,
        range: Range<u64>,
        out: &mut Output,
        written: &mut Written,
    ) -> Result<(), RewriteError> {
        let mut buffer = vec![0; 1 << 18];
        for kept in self.plan.layout.kept(range) {
            written.moves.push(kept.clone(), out.position());
            let io_error = self.input.io_error();
            self.input.file.seek(SeekFrom::Start(kept.start)).map_err(&io_error)?;
            let mut left = kept.end - kept.start;
            while left > 0 {
                let part = &mut buffer[..left.min(1 << 18) as usize];
                self.input.file.read_exact(part).map_err(&io_error)?;
                self.write(out, part)?;
                left -= part.len() as u64;
            }
        }
        Ok(())
    }

    fn write_filters(
        &mut self,
        out: &mut Output,
        written: &mut Written,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<FilterChange>, RewriteError> {
        let mut reader = None;
        let mut filters = Vec::new();
        for (done, task) in self.plan.tasks.iter().enumerate() {
            let (filter, distinct, fpr) = match task.operation {
                Operation::Remove => (None, None, 1.0),
                Operation::Fold { fpr } => self.fold(task, fpr)?,
                Operation::Add { fpr } | Operation::Replace { fpr } => {
                    self.build(task, fpr, &mut reader)?
                }
            };
            let location = filter.as_ref().map(|bytes| (out.position(), bytes.len() as u32));
            if let Some(bytes) = &filter {
                self.write(out, bytes)?;
            }
            written.filters.insert((task.row_group, task.column), location);
            filters.push(FilterChange {
                column: self.path(task),
                row_group: task.row_group,
                distinct,
                bytes_before: task.old.as_ref().map_or(0, |old| old.end - old.start),
                bytes_after: location.map_or(0, |(_, len)| len.into()),
                fpr,
            });
            progress(done + 1, self.plan.tasks.len());
        }
        Ok(filters)
    }

    fn path(&self, task: &Task) -> String {
        self.input.footer.columns[task.column].path.clone()
    }

    /// Returns the folded filter, or the old filter if it cannot be folded, because its false-positive rate is already
    /// higher than `fpr` or memory runs out.
    fn fold(&mut self, task: &Task, fpr: f64) -> Result<Made, RewriteError> {
        let (row_group, column) = (task.row_group, task.column);
        let Some(old) = &task.old else {
            let problem = "the Bloom filter is malformed and cannot be folded";
            return Err(FileError::Chunk { row_group, column, problem }.into());
        };
        let bytes = self.input.read(old)?;
        let filter = ChunkFilter::parse(&bytes).map_err(|source| FileError::Filter {
            row_group,
            column,
            source,
        })?;
        Ok(match build::fold(&filter, fpr) {
            Some(folded) => {
                let fpr = folded.expected_fpr();
                (Some(build::with_header(folded.parquet_bitset())), None, fpr)
            }
            None => {
                let fpr = filter.estimated_fpr();
                (Some(bytes), None, fpr)
            }
        })
    }

    /// Builds a filter of the chunk's values. Opens `reader` when it is first needed.
    fn build(
        &mut self,
        task: &Task,
        fpr: f64,
        reader: &mut Option<SerializedFileReader<File>>,
    ) -> Result<Made, RewriteError> {
        let (row_group, column) = (task.row_group, self.path(task));
        let path = column.clone();
        let values_error =
            |source| RewriteError::Values { row_group, column: path.clone(), source };
        let reader = match reader {
            Some(reader) => reader,
            None => {
                let file = self.input.file.try_clone().map_err(self.input.io_error())?;
                reader.insert(values::open(file).map_err(values_error)?)
            }
        };
        let hashes = values::distinct_hashes(|| {
            reader.get_row_group(row_group)?.get_column_reader(task.column)
        })
        .map_err(values_error)?;
        let filter = match build::build(&hashes, fpr, self.any_size) {
            Ok(filter) => filter,
            Err(BuildError::Spec(source)) => {
                return Err(RewriteError::Size { column, distinct: hashes.len(), source });
            }
            Err(BuildError::TooLarge { bytes }) => {
                let max_bytes = build::MAX_BITSET_BYTES;
                return Err(RewriteError::TooLarge { column, row_group, bytes, max_bytes });
            }
        };
        let bytes = build::with_header(filter.parquet_bitset());
        Ok((Some(bytes), Some(hashes.len() as u64), filter.expected_fpr()))
    }

    /// Copies the part of the old file from `insert_at` to the footer: page indexes and kept filters. If pages have
    /// moved, adapts the offset indexes.
    fn copy_page_indexes(
        &mut self,
        out: &mut Output,
        written: &mut Written,
    ) -> Result<(), RewriteError> {
        let layout = &self.plan.layout;
        let moved = layout.dropped.iter().any(|dropped| dropped.start < layout.insert_at);
        let mut at = layout.insert_at;
        if moved {
            for (row_group, column, index) in self.offset_indexes() {
                self.copy(at..index.start, out, written)?;
                written.moves.push(index.clone(), out.position());
                let bytes = self.input.read(&index)?;
                let problem = "the chunk's offset index is malformed";
                let index_copy =
                    footer::copy_offset_index(&bytes, |page| written.moves.moved(page))
                        .map_err(|_| FileError::Chunk { row_group, column, problem })?;
                self.write(out, &index_copy)?;
                written.offset_indexes.insert((row_group, column), index_copy.len() as u32);
                at = index.end;
            }
        }
        self.copy(at..self.input.footer_start, out, written)
    }

    /// The offset indexes in the order of the file. The layout has checked that they are in the file and do not
    /// overlap.
    fn offset_indexes(&self) -> Vec<(usize, usize, Range<u64>)> {
        let groups = self.input.footer.row_groups.iter().enumerate();
        let mut indexes: Vec<_> = groups
            .flat_map(|(row_group, group)| {
                group.chunks.iter().enumerate().filter_map(move |(column, chunk)| {
                    let (offset, len) = chunk.offset_index?;
                    Some((row_group, column, range(offset, len.into())?))
                })
            })
            .filter(|(_, _, index)| !index.is_empty())
            .collect();
        indexes.sort_by_key(|(_, _, index)| index.start);
        indexes
    }

    fn write_footer(&self, out: &mut Output, written: &Written) -> Result<(), RewriteError> {
        let footer =
            footer::copy_footer(&self.input.footer_bytes, written).map_err(FileError::from)?;
        let bytes = footer.len() as u64;
        let Ok(len) = i32::try_from(bytes) else {
            return Err(RewriteError::FooterTooLarge { bytes });
        };
        self.write(out, &footer)?;
        self.write(out, &len.to_le_bytes())?;
        self.write(out, &MAGIC)
    }
}

/// The bytes of a new filter with its header (`None` if the filter is removed), the number of distinct values if they
/// were counted, and the false-positive rate.
type Made = (Option<Vec<u8>>, Option<u64>, f64);
