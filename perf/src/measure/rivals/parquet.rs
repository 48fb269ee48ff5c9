//! `parquet`: inserts and lookups of its split-block filter accept only keys, and hash them with XXH64. The crate
//! rounds a requested size up to a power of two, and creates filters of at most 128 MiB.

use super::Size;
use crate::measure::keys::Column;
use crate::measure::subject::{Scratch, Subject, answer_each};
use anyhow::Result;
use parquet::bloom_filter::Sbbf;
use trommel::{Bitmap, KeyHash};

#[derive(Clone, Debug)]
pub(super) struct Parquet(Sbbf);

impl Parquet {
    pub(super) fn new(size: &Size) -> Self {
        Self(Sbbf::new_with_num_of_bytes(size.bytes))
    }
}

/// The reason why the crate is measured only with hashing (see [`super::Rival::takes_hashes`]).
const TAKES_NO_HASHES: &str = "the parquet crate has no public call that takes a hash";

/// Bytes of a block in Parquet's format.
const BLOCK_BYTES: usize = 32;

impl Subject for Parquet {
    fn memory_bytes(&self) -> usize {
        self.0.num_blocks() * BLOCK_BYTES
    }

    fn expected_fpr(&self, _keys: usize) -> Option<f64> {
        Some(self.0.estimated_fpp())
    }

    fn copy(&self) -> Box<dyn Subject> {
        Box::new(self.clone())
    }

    fn insert_single(&mut self, _hashes: &[KeyHash]) -> Result<()> {
        unreachable!("{TAKES_NO_HASHES}")
    }

    fn count_single(&self, _hashes: &[KeyHash]) -> usize {
        unreachable!("{TAKES_NO_HASHES}")
    }

    fn answer_single(&self, _hashes: &[KeyHash], _answers: &mut Bitmap) {
        unreachable!("{TAKES_NO_HASHES}")
    }

    fn insert_keys(&mut self, keys: &Column) -> Result<()> {
        match keys {
            Column::Integers(keys) => keys.iter().for_each(|key| self.0.insert(key)),
            Column::Strings(keys) => keys.iter().for_each(|key| self.0.insert(&**key)),
        }
        Ok(())
    }

    fn count_keys(&self, keys: &Column, _scratch: &mut Scratch) -> usize {
        match keys {
            Column::Integers(keys) => keys.iter().map(|key| usize::from(self.0.check(key))).sum(),
            Column::Strings(keys) => keys.iter().map(|key| usize::from(self.0.check(&**key))).sum(),
        }
    }

    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap) {
        match keys {
            Column::Integers(keys) => answer_each(keys, answers, |key| self.0.check(key)),
            Column::Strings(keys) => answer_each(keys, answers, |key| self.0.check(&**key)),
        }
    }
}
