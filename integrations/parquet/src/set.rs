//! Lookups in the filters of many files at once.

use crate::error::{FileError, ProbeError};
use crate::file::FileFilters;
use crate::literal::Literals;
use crate::schema::Column;
use trommel::{Bitmap, Filter, SplitBlockBloom};

/// The filters of one column in many files. A lookup returns the files that have to be read.
///
/// The set borrows the bytes of the filters, but not the [`FileFilters`]. The set takes about a hundred bytes of memory
/// per filter.
///
/// ```
/// use trommel_parquet::{FileFilters, FilterSet, Literals};
/// let files = ["pyarrow", "duckdb"].map(|name| format!("tests/golden/{name}.parquet"));
/// let files = files.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
/// let mut set = FilterSet::new();
/// for bytes in &files {
///     set.push(&FileFilters::open(bytes)?, "id")?;
/// }
/// let read = set.files_to_read(&Literals::int64(&[-77]))?;
/// assert_eq!((read.len(), read.count_ones()), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FilterSet<'a> {
    /// The column of the first file, and that of each later file in which the column's type differs from its type in
    /// the previous file. Every lookup checks the literals against these types.
    columns: Vec<Column>,
    /// The filters, each with the index of its file.
    filters: Vec<(usize, SplitBlockBloom<&'a [u8]>)>,
    /// The indexes of the files that have a row group without a filter.
    unfiltered: Vec<usize>,
    files: usize,
}

impl<'a> FilterSet<'a> {
    /// Makes a set without files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, with the filters that a column has in the file's row groups. `column` is the column's path. If a
    /// row group has no filter, every lookup returns the file.
    ///
    /// # Errors
    /// [`ProbeError`] if there is no such column, if two columns have this path, or if a filter cannot be read. The set
    /// is then unchanged.
    pub fn push(&mut self, file: &FileFilters<'a>, column: &str) -> Result<(), ProbeError> {
        let column = file.column(column)?;
        let filters = (0..file.row_groups().len())
            .map(|row_group| file.filter(row_group, column))
            .collect::<Result<Vec<_>, FileError>>()?;
        if filters.iter().any(Option::is_none) {
            self.unfiltered.push(self.files);
        } else {
            let filters = filters.into_iter().flatten();
            self.filters.extend(filters.map(|filter| (self.files, filter.view().clone())));
        }
        let type_of = |column: &Column| (column.physical, column.fixed_len, column.logical);
        if self.columns.last().map(type_of) != Some(type_of(column)) {
            self.columns.push(column.clone());
        }
        self.files += 1;
        Ok(())
    }

    /// The number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files
    }

    /// Whether there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// The files that must be read to find the literals: a bit for each file, in the order in which the files were
    /// added. The bit is set if one of the literals might be in the file, or if one of the file's row groups has no
    /// filter.
    ///
    /// # Errors
    /// [`ProbeError`] if the column has, in any of the files, a type or a fixed length that the literals do not have.
    pub fn files_to_read(&self, literals: &Literals) -> Result<Bitmap, ProbeError> {
        self.columns.iter().try_for_each(|column| literals.check(column))?;
        let mut read = Bitmap::new(self.files);
        self.unfiltered.iter().for_each(|file| read.set(*file));
        let mut found = Bitmap::new(0);
        if let Some(hash) = literals.only_hash() {
            // `contains_many` overlaps the memory accesses. A loop over the filters would wait for the cache line of
            // each filter before it reads the next filter.
            let probes: Vec<_> = self.filters.iter().map(|(_, filter)| (filter, hash)).collect();
            SplitBlockBloom::contains_many(&probes, &mut found);
            found.iter_ones().for_each(|i| read.set(self.filters[i].0));
            return Ok(read);
        }
        for (file, filter) in &self.filters {
            if !read.get(*file) && literals.any_in(filter, &mut found) {
                read.set(*file);
            }
        }
        Ok(read)
    }
}
