//! The Bloom filters of one file, whose bytes are in memory or mapped into memory.

use crate::error::{FileError, FilterError, ProbeError};
use crate::filter::ChunkFilter;
use crate::footer::{Footer, MIN_FILE_BYTES, RowGroup, TAIL_BYTES, footer_start};
use crate::literal::Literals;
use crate::schema::Column;
use core::fmt;
use trommel::Bitmap;

/// The Bloom filters of a Parquet file, found through its footer and read in place.
///
/// Opening reads only the magic bytes and the footer. [`FileFilters::filter`] reads the header of one filter, and a
/// lookup in the filter reads its bitset. No page is decoded.
///
/// ```
/// use trommel_parquet::{FileFilters, Literals};
/// let bytes = std::fs::read("tests/golden/pyarrow.parquet")?;
/// let file = FileFilters::open(&bytes)?;
/// let id = file.column("id")?;
///
/// let wanted = Literals::int64(&[7, 1_000_000]);
/// let read = file.row_groups_to_read(id, &wanted)?;
/// assert!(read.count_ones() < file.row_groups().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FileFilters<'a> {
    /// The bytes of the file before the footer, which include the filters.
    body: &'a [u8],
    footer: Footer,
}

impl<'a> FileFilters<'a> {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// [`FileError`] if the bytes are not a Parquet file, the footer is malformed, or the file is encrypted.
    pub fn open(bytes: &'a [u8]) -> Result<Self, FileError> {
        let file = bytes.len() as u64;
        let truncated = FileError::Truncated { need: MIN_FILE_BYTES, got: file };
        if file < MIN_FILE_BYTES {
            return Err(truncated);
        }
        let (Some(head), Some(tail)) = (bytes.first_chunk(), bytes.last_chunk()) else {
            return Err(truncated);
        };
        let start = footer_start(file, *head, *tail)? as usize;
        let footer = Footer::parse(&bytes[start..bytes.len() - TAIL_BYTES as usize])?;
        Ok(Self { body: &bytes[..start], footer })
    }

    /// The columns, which are the leaves of the schema.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.footer.columns
    }

    /// Finds the column with this path. A path is a list of names, separated by dots.
    ///
    /// # Errors
    /// [`ProbeError::NoSuchColumn`], or [`ProbeError::AmbiguousColumn`] if two columns have this path.
    pub fn column(&self, path: &str) -> Result<&Column, ProbeError> {
        find_column(&self.footer.columns, path)
    }

    /// The row groups.
    #[must_use]
    pub fn row_groups(&self) -> &[RowGroup] {
        &self.footer.row_groups
    }

    /// The filter of a column chunk. `None` if the chunk has no filter.
    ///
    /// # Errors
    /// [`FileError`] if the filter is malformed or not in this file, or if there is no such row group or column.
    pub fn filter(
        &self,
        row_group: usize,
        column: &Column,
    ) -> Result<Option<ChunkFilter<'a>>, FileError> {
        let row_groups = self.footer.row_groups.len();
        let group = self.footer.row_groups.get(row_group);
        let group = group.ok_or(FileError::NoSuchRowGroup { row_group, row_groups })?;
        let Some(chunk) = group.chunks.get(column.index) else {
            let problem = "there is no such column; perhaps the `Column` is from another file";
            return Err(FileError::Chunk { row_group, column: column.index, problem });
        };
        let Some(offset) = chunk.filter_offset else { return Ok(None) };
        if chunk.elsewhere {
            let problem = "the chunk and its Bloom filter are in another file";
            return Err(FileError::Chunk { row_group, column: column.index, problem });
        }
        locate(self.body, offset, chunk.filter_len).map(Some).map_err(|source| FileError::Filter {
            row_group,
            column: column.index,
            source,
        })
    }

    /// All filters of the file, each with its row group and column.
    pub fn filters(
        &self,
    ) -> impl Iterator<Item = (usize, &Column, Result<ChunkFilter<'a>, FileError>)> {
        let row_groups = 0..self.footer.row_groups.len();
        row_groups
            .flat_map(|row_group| self.footer.columns.iter().map(move |c| (row_group, c)))
            .filter_map(|(row_group, column)| {
                let filter = self.filter(row_group, column).transpose()?;
                Some((row_group, column, filter))
            })
    }

    /// The row groups that must be read to find the literals. The bitmap has a bit for each row group. The bit is set
    /// if the row group has no filter, if its filter reports one of the literals as present, or if one of the literals,
    /// such as a `NaN`, is assumed to be in every row group (see [`Literals`]).
    ///
    /// # Errors
    /// [`ProbeError`] if the literals do not have the column's type or fixed length, or a filter of the column cannot
    /// be read.
    pub fn row_groups_to_read(
        &self,
        column: &Column,
        literals: &Literals,
    ) -> Result<Bitmap, ProbeError> {
        literals.check(column)?;
        let mut read = Bitmap::new(self.footer.row_groups.len());
        let mut found = Bitmap::new(0);
        for row_group in 0..self.footer.row_groups.len() {
            let filter = self.filter(row_group, column)?;
            if filter.is_none_or(|filter| literals.any_in(filter.view(), &mut found)) {
                read.set(row_group);
            }
        }
        Ok(read)
    }

    /// The literals that might be in a row group: a bit for each literal. All bits are set if the row group has no
    /// filter.
    ///
    /// # Errors
    /// [`ProbeError`] if the literals do not have the column's type or fixed length, the filter cannot be read, or
    /// there is no such row group.
    pub fn might_contain(
        &self,
        row_group: usize,
        column: &Column,
        literals: &Literals,
    ) -> Result<Bitmap, ProbeError> {
        literals.check(column)?;
        Ok(match self.filter(row_group, column)? {
            Some(filter) => literals.each_in(filter.view()),
            None => literals.each_anywhere(),
        })
    }
}

/// Prints the numbers of columns and row groups, not the bytes of the file.
impl fmt::Debug for FileFilters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileFilters")
            .field("columns", &self.footer.columns.len())
            .field("row_groups", &self.footer.row_groups.len())
            .finish_non_exhaustive()
    }
}

pub(crate) fn find_column<'c>(columns: &'c [Column], path: &str) -> Result<&'c Column, ProbeError> {
    let mut found = columns.iter().filter(|column| column.path == path);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => Err(ProbeError::AmbiguousColumn { path: path.into() }),
        (None, _) => Err(ProbeError::NoSuchColumn { path: path.into() }),
    }
}

/// Reads the filter at an offset and compares its length with the length that the footer declares. If the footer
/// declares no length, as in old files, every length is accepted.
fn locate(body: &[u8], offset: i64, declared: Option<i32>) -> Result<ChunkFilter<'_>, FilterError> {
    let outside = FilterError::OutsideFile { offset, footer: body.len() as u64 };
    let begin = usize::try_from(offset).ok().filter(|begin| *begin >= 4);
    let bytes = begin.and_then(|begin| body.get(begin..)).ok_or_else(|| outside.clone())?;
    if bytes.is_empty() {
        return Err(outside);
    }
    let filter = ChunkFilter::parse(bytes)?;
    let actual = filter.len_bytes() as u64;
    match declared {
        Some(declared) if u64::try_from(declared) != Ok(actual) => {
            Err(FilterError::DeclaredLength { declared: declared.into(), actual })
        }
        _ => Ok(filter.at(offset as u64)),
    }
}
