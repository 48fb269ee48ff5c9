//! Reads the filters and the footer of a Parquet file, and the magic number at its beginning. Decodes no pages.

use crate::failure::{Failure, ParquetFailure, Unreadable};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::panic::catch_unwind;
use std::path::Path;
use trommel_parquet::{ChunkFilter, Column, FileFilters, FilterError};

/// The size of the magic number `PAR1`, which is at the beginning and at the end of a Parquet file.
const MAGIC_BYTES: u64 = 4;
/// The size of the tail, the last bytes of a file: 4 bytes with the length of the footer, and the magic number.
const TAIL_BYTES: u64 = 8;
/// The number of bytes to read first, from a filter's offset on, if the footer does not give the filter's length.
/// `trommel_parquet` refuses filters with a longer header, so these bytes hold the filter's whole header, which gives
/// the length. They can include bytes that follow the filter.
const HEADER_BYTES: u64 = 4096;

pub(super) struct ParquetFile {
    pub(super) name: String,
    file: File,
    bytes: u64,
    /// The magic number at the beginning of the file, the footer and the tail, one after another.
    ends: Vec<u8>,
    metadata: ParquetMetaData,
}

impl ParquetFile {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let unreadable = |error: io::Error| {
            let why = match error.kind() {
                io::ErrorKind::IsADirectory => Unreadable::Directory,
                _ => Unreadable::System(error),
            };
            Failure::Read { name: name.clone(), line: None, why }
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let ends = read_ends(&mut file, bytes).map_err(unreadable)?;
        let refused = |error| Failure::Parquet { name: name.clone(), error };
        // `trommel_parquet` checks the footer before the `parquet` crate decodes it, since the `parquet` crate panics
        // on some malformed footers. The `parquet` crate is needed for the offsets of filters.
        FileFilters::open(&ends).map_err(|error| refused(ParquetFailure::File(error)))?;
        let footer = &ends[MAGIC_BYTES as usize..ends.len() - TAIL_BYTES as usize];
        let decoded = catch_unwind(|| ParquetMetaDataReader::decode_metadata(footer));
        let metadata = decoded.unwrap_or_else(|_| {
            Err(parquet::errors::ParquetError::General("the parquet crate panicked".into()))
        });
        let metadata = metadata.map_err(|error| refused(ParquetFailure::Footer(error)))?;
        Ok(Self { name, file, bytes, ends, metadata })
    }

    /// The columns and row groups. Filters cannot be read through the result: [`ParquetFile::filter_bytes`] reads them.
    pub(super) fn footer(&self) -> Result<FileFilters<'_>, Failure> {
        FileFilters::open(&self.ends).map_err(|error| self.failure(ParquetFailure::File(error)))
    }

    pub(super) fn failure(&self, error: ParquetFailure) -> Failure {
        Failure::Parquet { name: self.name.clone(), error }
    }

    /// Reads the filter of a column chunk. Returns the filter's offset in the file, and the bytes of its header and
    /// bitset; `None` if the chunk has no filter, or if the file has no such row group or column.
    pub(super) fn filter_bytes(
        &self,
        row_group: usize,
        column: &Column,
    ) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        let groups = self.metadata.row_groups();
        let chunk = groups.get(row_group).and_then(|group| group.columns().get(column.index()));
        let Some(chunk) = chunk else { return Ok(None) };
        let Some(offset) = chunk.bloom_filter_offset() else { return Ok(None) };
        let failure = |error| {
            let column = column.path().to_owned();
            self.failure(ParquetFailure::Filter { row_group, column, error })
        };
        // The offset of the footer. Filters lie before the footer.
        let footer = self.bytes - (self.ends.len() as u64 - MAGIC_BYTES);
        let begin =
            u64::try_from(offset).ok().filter(|begin| (MAGIC_BYTES..footer).contains(begin));
        let Some(begin) = begin else {
            return Err(failure(FilterError::OutsideFile { offset, footer }));
        };
        let declared = chunk.bloom_filter_length();
        let wanted = declared.and_then(|length| u64::try_from(length).ok()).unwrap_or(HEADER_BYTES);
        let mut read = self.range(begin, wanted.min(footer - begin))?;
        let parsed = match ChunkFilter::parse(&read) {
            // `need`, the filter's length according to its header, is more than was read.
            Err(FilterError::Truncated { need, .. }) if need <= footer - begin => {
                read = self.range(begin, need)?;
                ChunkFilter::parse(&read)
            }
            parsed => parsed,
        };
        let actual = parsed.map_err(&failure)?.len_bytes();
        if let Some(declared) = declared.filter(|declared| *declared as usize != actual) {
            let (declared, actual) = (i64::from(declared), actual as u64);
            return Err(failure(FilterError::DeclaredLength { declared, actual }));
        }
        read.truncate(actual);
        Ok(Some((begin, read)))
    }

    /// Reads `bytes` bytes from offset `begin` on, or fewer if the file ends earlier.
    fn range(&self, begin: u64, bytes: u64) -> Result<Vec<u8>, Failure> {
        let mut file = &self.file;
        let mut range = Vec::new();
        file.seek(SeekFrom::Start(begin))
            .and_then(|_| file.take(bytes).read_to_end(&mut range))
            .map_err(|error| {
                let why = Unreadable::System(error);
                Failure::Read { name: self.name.clone(), line: None, why }
            })?;
        Ok(range)
    }
}

/// Reads the magic number at the beginning, the footer and the tail of a file of `bytes` bytes. If `bytes` is less than
/// the size of the magic number and the tail, reads the whole file.
fn read_ends(file: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut ends = Vec::new();
    if bytes < MAGIC_BYTES + TAIL_BYTES {
        // Either the file is too short for a Parquet file, which `FileFilters::open` reports, or it is not a regular
        // file, and its length is unknown.
        file.read_to_end(&mut ends)?;
        return Ok(ends);
    }
    file.take(MAGIC_BYTES).read_to_end(&mut ends)?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(bytes - TAIL_BYTES))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, ..] = tail;
    let footer = u64::from(u32::from_le_bytes([a, b, c, d])).min(bytes - MAGIC_BYTES - TAIL_BYTES);
    file.seek(SeekFrom::Start(bytes - TAIL_BYTES - footer))?;
    file.take(footer + TAIL_BYTES).read_to_end(&mut ends)?;
    Ok(ends)
}
