//! Which parts of keys and queries are hashed.

use slatedb::{FilterTarget, PrefixExtractor, PrefixTarget};
use std::sync::Arc;
use trommel::{FilterPolicy, KeyHash};

/// The way in which a policy hashes keys and builds filter blocks (`blocks`), and the parts of a key that are added to
/// a block: the whole key, the prefix, both, or neither. A policy, its builders and its filters share one value of this
/// type.
#[derive(Clone)]
pub(crate) struct Hashing {
    pub(crate) blocks: FilterPolicy,
    pub(crate) whole_keys: bool,
    pub(crate) extractor: Option<Arc<dyn PrefixExtractor>>,
}

impl Hashing {
    pub(crate) fn key(&self, key: &[u8]) -> KeyHash {
        self.blocks.hash(key)
    }

    /// The hash of the target's prefix. `None` if the policy has no extractor or the extractor finds no prefix.
    ///
    /// Also `None` if the extractor returns a length that exceeds the target's length. SlateDB's own filter panics in
    /// this case. With `None`, a key is added to the filter without a prefix, and a query matches every filter.
    pub(crate) fn prefix(&self, target: &PrefixTarget) -> Option<KeyHash> {
        let len = self.extractor.as_ref()?.prefix_len(target)?;
        let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
        Some(self.key(bytes.get(..len)?))
    }

    /// The hash to look up for a query. If a table has a row that matches the query, the filter of the table holds this
    /// hash. `None` for a query that the filters cannot answer, such as a range.
    pub(crate) fn query(&self, target: &FilterTarget) -> Option<KeyHash> {
        match target {
            FilterTarget::Point(key) if self.whole_keys => Some(self.key(key)),
            target => self.prefix(&target.as_prefix_target()?),
        }
    }
}
