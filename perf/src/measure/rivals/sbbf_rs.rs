//! `sbbf-rs-safe`: the crate takes hashes and has no hash function of its own. This wrapper hashes keys with XXH3, as a
//! user would.

use super::Size;
use super::parallel::Shard;
use crate::measure::keys::Column;
use crate::measure::subject::{Scratch, Subject, answer_each};
use anyhow::{Context as _, Result};
use sbbf_rs_safe::Filter;
use trommel::{Bitmap, KeyHash};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a block.
const BLOCK_BYTES: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct SbbfRs(Filter);

impl SbbfRs {
    /// Creates a filter with the case's bits per key. If the case is not sized by bits per key, the filter has as many
    /// bytes as ours.
    pub(super) fn new(size: &Size) -> Result<Self> {
        if let Some(bits) = size.bits_per_key {
            return Ok(Self(Filter::new(bits, size.keys)));
        }
        let bytes = size.bytes.next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES);
        // An empty filter is all zeros. `from_bytes` creates a filter of exactly `bytes` bytes.
        let filter = Filter::from_bytes(&vec![0; bytes]).context("sbbf-rs-safe refused a size")?;
        Ok(Self(filter))
    }
}

impl Subject for SbbfRs {
    fn memory_bytes(&self) -> usize {
        self.0.as_bytes().len()
    }

    fn expected_fpr(&self, keys: usize) -> Option<f64> {
        let blocks = self.memory_bytes() / BLOCK_BYTES;
        Some(trommel_base::sizing::split_fpr(8, 32, keys as f64 / blocks as f64))
    }

    fn copy(&self) -> Box<dyn Subject> {
        Box::new(self.clone())
    }

    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()> {
        for hash in hashes {
            self.0.insert_hash(hash.raw());
        }
        Ok(())
    }

    fn count_single(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.0.contains_hash(hash.raw()))).sum()
    }

    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        answer_each(hashes, answers, |hash| self.0.contains_hash(hash.raw()));
    }

    fn insert_keys(&mut self, keys: &Column) -> Result<()> {
        match keys {
            Column::Integers(keys) => {
                for key in keys {
                    self.0.insert_hash(xxh3_64(&key.to_le_bytes()));
                }
            }
            Column::Strings(keys) => {
                for key in keys {
                    self.0.insert_hash(xxh3_64(key));
                }
            }
        }
        Ok(())
    }

    fn count_keys(&self, keys: &Column, _scratch: &mut Scratch) -> usize {
        let found = |key: &[u8]| usize::from(self.0.contains_hash(xxh3_64(key)));
        match keys {
            Column::Integers(keys) => keys.iter().map(|key| found(&key.to_le_bytes())).sum(),
            Column::Strings(keys) => keys.iter().map(|key| found(key)).sum(),
        }
    }

    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap) {
        let contains = |key: &[u8]| self.0.contains_hash(xxh3_64(key));
        match keys {
            Column::Integers(keys) => {
                answer_each(keys, answers, |key| contains(&key.to_le_bytes()));
            }
            Column::Strings(keys) => answer_each(keys, answers, |key| contains(key)),
        }
    }
}

impl Shard for SbbfRs {
    fn bytes(&self) -> usize {
        self.0.as_bytes().len()
    }

    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        self.0.insert_hash(hash);
        true
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn clear(&mut self) {
        self.0.reset();
    }
}
