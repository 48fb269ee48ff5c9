//! Stores hashes in bounded memory until the number of keys is known.

use crate::failure::Failure;
use crate::input::{Keys, SourceError};
use std::fs::File;
use std::io::{Read, Seek, Write};
use trommel::KeyHash;

/// When this number of hashes is in memory (128 MiB), they are written to a file.
pub(crate) const MOST_HASHES_IN_MEMORY: usize = 1 << 24;
/// The maximum number of hashes in a batch that is written or read back.
const BATCH_HASHES: usize = 1 << 17;
const HASH_BYTES: usize = size_of::<u64>();

/// A sequence of hashes. When too many are in memory, they are written to a temporary file. On Unix, the file has no
/// name, so it disappears when the process ends, even if the process is killed.
pub(crate) struct Spool {
    /// When this number of hashes is in memory, they are written to the file.
    most_in_memory: usize,
    in_memory: Vec<KeyHash>,
    file: Option<File>,
    in_file: u64,
}

impl Spool {
    pub(crate) fn new(most_in_memory: usize) -> Self {
        Self { most_in_memory, in_memory: Vec::new(), file: None, in_file: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.in_file + self.in_memory.len() as u64
    }

    pub(crate) fn push(&mut self, hashes: &[KeyHash]) -> Result<(), Failure> {
        self.in_memory.extend_from_slice(hashes);
        if self.in_memory.len() < self.most_in_memory { Ok(()) } else { self.spill() }
    }

    /// Moves all hashes in memory to the file.
    fn spill(&mut self) -> Result<(), Failure> {
        let failure = |error| Failure::Spool { error };
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile().map_err(failure)?),
        };
        let mut bytes = Vec::with_capacity(BATCH_HASHES * HASH_BYTES);
        for hashes in self.in_memory.chunks(BATCH_HASHES) {
            bytes.clear();
            bytes.extend(hashes.iter().flat_map(|hash| hash.raw().to_le_bytes()));
            file.write_all(&bytes).map_err(failure)?;
        }
        self.in_file += self.in_memory.len() as u64;
        self.in_memory.clear();
        Ok(())
    }

    /// Returns the hashes in batches, in their original order.
    pub(crate) fn into_batches(
        mut self,
    ) -> Result<impl Iterator<Item = Result<Keys, SpoolError>> + Send, Failure> {
        if self.file.is_some() {
            // Writes the last hashes to the file too, so that their memory is free for the filter.
            self.spill()?;
            self.in_memory = Vec::new();
        }
        if let Some(file) = &mut self.file {
            file.rewind().map_err(|error| Failure::Spool { error })?;
        }
        let mut left_in_file = self.in_file;
        let mut left_in_memory = self.in_memory.into_iter();
        let mut bytes = vec![0; if self.file.is_some() { BATCH_HASHES * HASH_BYTES } else { 0 }];
        Ok(std::iter::from_fn(move || {
            if let Some(file) = self.file.as_mut().filter(|_| left_in_file > 0) {
                let hashes = left_in_file.min(BATCH_HASHES as u64) as usize;
                left_in_file -= hashes as u64;
                let bytes = &mut bytes[..hashes * HASH_BYTES];
                return Some(file.read_exact(bytes).map_err(SpoolError).map(|()| {
                    let (words, _) = bytes.as_chunks::<HASH_BYTES>();
                    let hash =
                        |word: &[u8; HASH_BYTES]| KeyHash::from_raw(u64::from_le_bytes(*word));
                    Keys::Hashes(words.iter().map(hash).collect())
                }));
            }
            let batch: Vec<KeyHash> = left_in_memory.by_ref().take(BATCH_HASHES).collect();
            (!batch.is_empty()).then_some(Ok(Keys::Hashes(batch)))
        }))
    }
}

/// The temporary file could not be read.
#[derive(Debug)]
pub(crate) struct SpoolError(pub(crate) std::io::Error);

/// An error of the source of keys, or of reading spooled hashes back.
#[derive(Debug)]
pub(crate) enum BatchError {
    Source(SourceError),
    Spool(SpoolError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use trommel::Hasher;
    use trommel::engine::KeyBatch as _;

    #[test]
    fn hashes_come_back_in_order_from_memory_and_file() {
        let all: Vec<KeyHash> = (0..300_000).map(KeyHash::from_raw).collect();
        for (most, pushed) in
            [(1 << 20, 1_000), (1 << 17, 999), (1_000, 1), (1_000, 300_000), (1, 7)]
        {
            let expected = if pushed < 10 { &all[..10_000] } else { &all[..] };
            let mut spool = Spool::new(most);
            expected.chunks(pushed).for_each(|hashes| spool.push(hashes).unwrap());
            assert_eq!(spool.len(), expected.len() as u64);
            assert!(spool.in_memory.capacity() <= 2 * (most + pushed).max(4));
            let (mut hashes, mut back) = (Vec::new(), Vec::new());
            for batch in spool.into_batches().unwrap() {
                batch.unwrap().hash_all(&Hasher::default(), &mut hashes);
                back.extend_from_slice(&hashes);
            }
            assert!(back == expected, "{most} in memory, {pushed} at a time");
        }
        assert_eq!(Spool::new(1).into_batches().unwrap().count(), 0);
    }
}
