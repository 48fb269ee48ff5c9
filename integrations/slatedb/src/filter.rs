//! The filter of one table, in its encoded form.

use crate::encoding;
use crate::hashing::Hashing;
use slatedb::bytes::{BufMut, Bytes};
use slatedb::{Filter, FilterQuery};
use std::sync::Arc;

/// An encoded filter that this crate has built or verified. Lookups read the bytes in place.
pub(crate) struct BlockFilter {
    hashing: Arc<Hashing>,
    bytes: Bytes,
}

impl BlockFilter {
    pub(crate) fn new(hashing: Arc<Hashing>, bytes: Bytes) -> Self {
        Self { hashing, bytes }
    }
}

impl Filter for BlockFilter {
    fn might_match(&self, query: &FilterQuery) -> bool {
        let Some(hash) = self.hashing.query(&query.target) else { return true };
        let Some(block) = encoding::block(&self.bytes) else { return true };
        self.hashing.blocks.may_match(block, hash)
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        writer.put_slice(&self.bytes);
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(Self::new(self.hashing.clone(), Bytes::copy_from_slice(&self.bytes)))
    }
}

/// The result of decoding bytes that are not a filter of the policy. A `CorruptFilter` excludes no key and does not
/// keep the bytes. Its encoding is empty, and an empty encoding decodes to a `CorruptFilter` again.
pub(crate) struct CorruptFilter;

impl Filter for CorruptFilter {
    fn might_match(&self, _query: &FilterQuery) -> bool {
        true
    }

    fn encode(&self, _writer: &mut dyn BufMut) {}

    fn size(&self) -> usize {
        0
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(Self)
    }
}
