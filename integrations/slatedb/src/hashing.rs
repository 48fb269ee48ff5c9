//! Which parts of keys and queries are hashed.

use slatedb::{FilterTarget, PrefixExtractor, PrefixTarget};
use std::sync::Arc;
use trommel::{FilterPolicy, KeyHash};

/// The kind of filter blocks of a policy, and the parts of a key that the policy adds to them. A policy, its builders
/// and its filters share one value of this type.
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

    /// The hash of the target's prefix, if it has one.
    ///
    /// An extractor can return a length that exceeds the target's length. The target then has no prefix, both when it
    /// is added and when it is looked up. SlateDB's own filter panics in this case.
    pub(crate) fn prefix(&self, target: &PrefixTarget) -> Option<KeyHash> {
        let len = self.extractor.as_ref()?.prefix_len(target)?;
        let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
        Some(self.key(bytes.get(..len)?))
    }

    /// The hash that a filter must hold if its table has a row that matches the query. `None` if no filter can exclude
    /// the query.
    pub(crate) fn query(&self, target: &FilterTarget) -> Option<KeyHash> {
        match target {
            FilterTarget::Point(key) if self.whole_keys => Some(self.key(key)),
            target => self.prefix(&target.as_prefix_target()?),
        }
    }
}
