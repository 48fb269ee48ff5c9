//! Collects the hashes of one table's keys and prefixes.

use crate::encoding;
use crate::filter::BlockFilter;
use crate::hashing::Hashing;
use slatedb::{Filter, FilterBuilder, PrefixTarget, RowEntry};
use std::sync::Arc;
use trommel::KeyHash;

/// Holds the hashes of keys and prefixes, 8 bytes each, until the filter is built.
pub(crate) struct BlockBuilder {
    hashing: Arc<Hashing>,
    hashes: Vec<KeyHash>,
    last_key: Option<KeyHash>,
    last_prefix: Option<KeyHash>,
}

impl BlockBuilder {
    pub(crate) fn new(hashing: Arc<Hashing>) -> Self {
        Self { hashing, hashes: Vec::new(), last_key: None, last_prefix: None }
    }
}

/// Adds the hash of a key or prefix to `hashes`, unless it equals `last`, the hash of the previous key or prefix.
/// Stores the new hash in `last`. Rows are sorted, so all versions of a key follow each other, and all keys with the
/// same prefix follow each other. So each key and each prefix is added once.
fn add(hashes: &mut Vec<KeyHash>, last: &mut Option<KeyHash>, hash: KeyHash) {
    if last.replace(hash) != Some(hash) {
        hashes.push(hash);
    }
}

impl FilterBuilder for BlockBuilder {
    fn add_entry(&mut self, entry: &RowEntry) {
        if self.hashing.extractor.is_some() {
            let target = PrefixTarget::Point(entry.key.clone());
            if let Some(hash) = self.hashing.prefix(&target) {
                add(&mut self.hashes, &mut self.last_prefix, hash);
            }
        }
        if self.hashing.whole_keys {
            add(&mut self.hashes, &mut self.last_key, self.hashing.key(&entry.key));
        }
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        let bytes = encoding::encode(&self.hashing.blocks, &std::mem::take(&mut self.hashes));
        (self.last_key, self.last_prefix) = (None, None);
        Arc::new(BlockFilter::new(self.hashing.clone(), bytes.into()))
    }
}
