//! The Bloom filters of a file that is in memory or mapped.

use crate::error::{FileError, FilterError, ProbeError};
use crate::filter::ChunkFilter;
use crate::footer::{Footer, MIN_FILE_BYTES, RowGroup, TAIL_BYTES, footer_start};
use crate::literal::Literals;
use crate::schema::Column;
use core::fmt;
use trommel::Bitmap;

/// The Bloom filters of a Parquet file, found by its footer and read in place.
///
/// Opening reads the footer and nothing else. A filter's header is read when the filter is asked for, its bitset when
/// it is probed. No page is decoded.
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
    /// From the beginning to the footer: where filters can be.
    body: &'a [u8],
    footer: Footer,
}

impl<'a> FileFilters<'a> {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// [`FileError`] if the bytes are no Parquet file, the footer is malformed, or the file is encrypted.
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

    /// The columns: leaves of the schema.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.footer.columns
    }

    /// The column of a path, names with dots between.
    ///
    /// # Errors
    /// [`ProbeError::NoSuchColumn`], or [`ProbeError::AmbiguousColumn`] if there are two.
    pub fn column(&self, path: &str) -> Result<&Column, ProbeError> {
        find_column(&self.footer.columns, path)
    }

    /// The row groups.
    #[must_use]
    pub fn row_groups(&self) -> &[RowGroup] {
        &self.footer.row_groups
    }

    /// The filter of a column chunk; `None` if it has none.
    ///
    /// # Errors
    /// [`FileError`] if the filter is malformed or not in the file, or there is no such row group or column.
    pub fn filter(
        &self,
        row_group: usize,
        column: &Column,
    ) -> Result<Option<ChunkFilter<'a>>, FileError> {
        let row_groups = self.footer.row_groups.len();
        let group = self.footer.row_groups.get(row_group);
        let group = group.ok_or(FileError::NoSuchRowGroup { row_group, row_groups })?;
        let Some(chunk) = group.chunks.get(column.index) else {
            let problem = "there is no such column; was it of another file?";
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

    /// The row groups that may have one of the literals: a bit for each, set where a row group must be read. A row group
    /// without a filter must be.
    ///
    /// # Errors
    /// [`ProbeError`] if the literals are not of the column's type, or a filter of the column is malformed.
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

    /// Which literals may be in a row group: a bit for each. All are set where there is no filter.
    ///
    /// # Errors
    /// [`ProbeError`], as [`FileFilters::row_groups_to_read`].
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

/// Without the bytes of the file.
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

/// The filter at an offset, with the length that the footer declares; old files declare none.
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
