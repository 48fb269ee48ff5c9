//! The file that is rewritten.

use super::error::RewriteError;
use crate::error::FileError;
use crate::filter::parse_header;
use crate::footer::{Chunk, Footer, MAGIC, MIN_FILE_BYTES, TAIL_BYTES, footer_start};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes from an offset on, unless either is negative or both are too large.
pub(super) fn range(offset: i64, len: i64) -> Option<Range<u64>> {
    let (start, len) = (u64::try_from(offset).ok()?, u64::try_from(len).ok()?);
    Some(start..start.checked_add(len)?)
}

/// The file that is read.
pub(super) struct Input {
    path: PathBuf,
    pub(super) file: File,
    pub(super) len: u64,
    /// Where the footer begins.
    pub(super) body: u64,
    pub(super) footer_bytes: Vec<u8>,
    pub(super) footer: Footer,
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, RewriteError> {
        let failed = |source| RewriteError::Io { path: path.into(), source };
        let mut file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if len < MIN_FILE_BYTES {
            return Err(FileError::Truncated { need: MIN_FILE_BYTES, got: len }.into());
        }
        let (mut head, mut tail) = ([0; MAGIC.len()], [0; TAIL_BYTES as usize]);
        read_at(&mut file, 0, &mut head).map_err(failed)?;
        read_at(&mut file, len - TAIL_BYTES, &mut tail).map_err(failed)?;
        let body = footer_start(len, head, tail)?;
        // Not more than the file has.
        let mut footer_bytes = vec![0; (len - TAIL_BYTES - body) as usize];
        read_at(&mut file, body, &mut footer_bytes).map_err(failed)?;
        let footer = Footer::parse(&footer_bytes)?;
        Ok(Self { path: path.into(), file, len, body, footer_bytes, footer })
    }

    pub(super) fn failed(&self) -> impl Fn(io::Error) -> RewriteError + use<> {
        let path = self.path.clone();
        move |source| RewriteError::Io { path: path.clone(), source }
    }

    /// The bytes of a range of the file's body.
    pub(super) fn read(&mut self, range: &Range<u64>) -> Result<Vec<u8>, RewriteError> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        read_at(&mut self.file, range.start, &mut bytes).map_err(self.failed())?;
        Ok(bytes)
    }

    /// Header and bitset of a chunk's filter. `None` if there is none, or one so malformed that its bytes are unknown:
    /// those stay in the file.
    pub(super) fn filter_range(
        &mut self,
        chunk: &Chunk,
    ) -> Result<Option<Range<u64>>, RewriteError> {
        const HEADER: u64 = 64;
        let within = |start: &u64| (MAGIC.len() as u64..self.body).contains(start);
        let Some(start) = chunk.filter_offset.and_then(|at| u64::try_from(at).ok()).filter(within)
        else {
            return Ok(None);
        };
        let header = self.read(&(start..self.body.min(start + HEADER)))?;
        let Ok((header, bitset)) = parse_header(&header) else { return Ok(None) };
        let end = start + header as u64 + bitset;
        let declared = chunk.filter_len.is_none_or(|len| i64::from(len) == (end - start) as i64);
        Ok((declared && end <= self.body).then_some(start..end))
    }
}

fn read_at(file: &mut File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}
