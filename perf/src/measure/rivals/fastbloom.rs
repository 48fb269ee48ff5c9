//! `fastbloom`: a standard Bloom filter, with the same number of bits and the same number of hashes as our filter in
//! the same case. In cases that hash keys in the timed section, the crate uses its default hasher.

use super::Size;
use super::parallel::{Shard, Shared};
use crate::measure::keys::Column;
use crate::measure::subject::{Scratch, Subject, answer_each};
use anyhow::Result;
use fastbloom::{AtomicBloomFilter, BloomFilter};
use trommel::{Bitmap, KeyHash};

#[derive(Clone, Debug)]
pub(super) struct Fastbloom(BloomFilter);

impl Fastbloom {
    pub(super) fn new(size: &Size) -> Self {
        let builder = BloomFilter::with_num_bits((size.bytes * 8).max(64));
        Self(match size.hash_count {
            Some(hashes) => builder.hashes(hashes),
            None => builder.expected_items(size.keys),
        })
    }
}

impl Subject for Fastbloom {
    fn memory_bytes(&self) -> usize {
        self.0.num_bits() / 8
    }

    fn hash_count(&self) -> Option<u32> {
        Some(self.0.num_hashes())
    }

    fn expected_fpr(&self, keys: usize) -> Option<f64> {
        Some(self.0.expected_false_pos(keys))
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
            Column::Integers(keys) => self.0.insert_all(keys),
            Column::Strings(keys) => self.0.insert_all(keys),
        }
        Ok(())
    }

    fn count_keys(&self, keys: &Column, _scratch: &mut Scratch) -> usize {
        match keys {
            Column::Integers(keys) => {
                keys.iter().map(|key| usize::from(self.0.contains(key))).sum()
            }
            Column::Strings(keys) => keys.iter().map(|key| usize::from(self.0.contains(key))).sum(),
        }
    }

    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap) {
        match keys {
            Column::Integers(keys) => answer_each(keys, answers, |key| self.0.contains(key)),
            Column::Strings(keys) => answer_each(keys, answers, |key| self.0.contains(key)),
        }
    }
}

impl Shard for Fastbloom {
    fn bytes(&self) -> usize {
        self.memory_bytes()
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
        self.0.clear();
    }
}

/// The crate's filter of atomic words, which threads share.
#[derive(Debug)]
pub(super) struct Atomic(AtomicBloomFilter);

impl Atomic {
    pub(super) fn new(size: &Size) -> Self {
        let builder = AtomicBloomFilter::with_num_bits((size.bytes * 8).max(64));
        Self(match size.hash_count {
            Some(hashes) => builder.hashes(hashes),
            None => builder.expected_items(size.keys),
        })
    }
}

impl Shared for Atomic {
    fn bytes(&self) -> usize {
        self.0.num_bits() / 8
    }

    #[inline]
    fn insert(&self, hash: u64) -> bool {
        self.0.insert_hash(hash);
        true
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
