//! The file that is rewritten.

use super::error::RewriteError;
use crate::error::FileError;
use crate::filter::{MAX_HEADER_BYTES, parse_header};
use crate::footer::{Chunk, Footer, MAGIC, MIN_FILE_BYTES, TAIL_BYTES, footer_start};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The range of `len` bytes from `offset` on. `None` if `offset` or `len` is negative, or if their sum overflows.
pub(super) fn range(offset: i64, len: i64) -> Option<Range<u64>> {
    let (start, len) = (u64::try_from(offset).ok()?, u64::try_from(len).ok()?);
    Some(start..start.checked_add(len)?)
}

/// The opened file and its parsed footer.
pub(super) struct Input {
    path: PathBuf,
    pub(super) file: File,
    pub(super) len: u64,
    /// The offset of the footer.
    pub(super) footer_start: u64,
    pub(super) footer_bytes: Vec<u8>,
    pub(super) footer: Footer,
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, RewriteError> {
        let io_error = |source| RewriteError::Io { path: path.into(), source };
        let mut file = File::open(path).map_err(io_error)?;
        let len = file.metadata().map_err(io_error)?.len();
        if len < MIN_FILE_BYTES {
            return Err(FileError::Truncated { need: MIN_FILE_BYTES, got: len }.into());
        }
        let (mut head, mut tail) = ([0; MAGIC.len()], [0; TAIL_BYTES as usize]);
        read_at(&mut file, 0, &mut head).map_err(io_error)?;
        read_at(&mut file, len - TAIL_BYTES, &mut tail).map_err(io_error)?;
        let footer_start = footer_start(len, head, tail)?;
        // `footer_start` has checked the footer's length, so the vector is not larger than the file.
        let mut footer_bytes = vec![0; (len - TAIL_BYTES - footer_start) as usize];
        read_at(&mut file, footer_start, &mut footer_bytes).map_err(io_error)?;
        let footer = Footer::parse(&footer_bytes)?;
        Ok(Self { path: path.into(), file, len, footer_start, footer_bytes, footer })
    }

    /// Returns a function that converts an I/O error of this file.
    pub(super) fn io_error(&self) -> impl Fn(io::Error) -> RewriteError + use<> {
        let path = self.path.clone();
        move |source| RewriteError::Io { path: path.clone(), source }
    }

    /// Reads a range of the bytes before the footer.
    pub(super) fn read(&mut self, range: &Range<u64>) -> Result<Vec<u8>, RewriteError> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        read_at(&mut self.file, range.start, &mut bytes).map_err(self.io_error())?;
        Ok(bytes)
    }

    /// The range of a chunk's filter, which consists of header and bitset. `None` if the chunk has no filter or a
    /// malformed filter. A filter is malformed if its header is not valid, if its length differs from the length that
    /// the footer states, or if the filter does not lie between the first four bytes and the footer. The bytes of a
    /// malformed filter are copied to the new file like any other bytes.
    pub(super) fn filter_range(
        &mut self,
        chunk: &Chunk,
    ) -> Result<Option<Range<u64>>, RewriteError> {
        let is_inside = |start: &u64| (MAGIC.len() as u64..self.footer_start).contains(start);
        let start = chunk.filter_offset.and_then(|offset| u64::try_from(offset).ok());
        let Some(start) = start.filter(is_inside) else { return Ok(None) };
        let header = self.read(&(start..self.footer_start.min(start + MAX_HEADER_BYTES as u64)))?;
        let Ok((header, bitset)) = parse_header(&header) else { return Ok(None) };
        let end = start + header as u64 + bitset;
        let has_declared_len =
            chunk.filter_len.is_none_or(|len| i64::from(len) == (end - start) as i64);
        Ok((has_declared_len && end <= self.footer_start).then_some(start..end))
    }
}

fn read_at(file: &mut File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}
