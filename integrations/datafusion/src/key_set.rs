//! The state of an aggregate or of a partial aggregate. The state begins as hashes, and can become a filter or
//! `ALWAYS_TRUE`. The state of a partial aggregate is called a *part*.

use crate::arguments::Agreed;
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use trommel::error::{AccumulateError, BuildError};
use trommel::{Filter, FilterAccumulator, Hasher, KeyHash, MergeError};

/// The bytes that stand for a filter of all keys: `might_contain` is true for every key.
pub const ALWAYS_TRUE: &[u8] = &[1];

/// A filter with a higher false-positive rate than this is replaced by [`ALWAYS_TRUE`].
const USELESS_FPR: f64 = 0.5;

/// The keys of one group, or the keys of those rows of a group that are in one partition.
#[derive(Debug)]
pub(crate) struct KeySet {
    agreed: Agreed,
    /// `None` stands for [`ALWAYS_TRUE`].
    keys: Option<FilterAccumulator>,
}

impl KeySet {
    pub(crate) fn new(agreed: Agreed) -> Result<Self> {
        Ok(Self { agreed, keys: Some(agreed.accumulator()?) })
    }

    pub(crate) fn hasher(agreed: &Agreed) -> Result<Hasher> {
        Ok(agreed.accumulator()?.hasher())
    }

    pub(crate) fn insert(&mut self, hashes: &[KeyHash]) -> Result<()> {
        let Some(keys) = &mut self.keys else { return Ok(()) };
        if self.agreed.is_too_large() && keys.len() + hashes.len() > self.agreed.max_hashes() {
            self.keys = None;
            return Ok(());
        }
        match keys.insert_batch(hashes) {
            Ok(()) => {}
            // The planned filter has no room for the keys.
            Err(BuildError::Full(_)) => self.keys = None,
            Err(error) => return exec_err!("trommel_filter: {error}"),
        }
        Ok(())
    }

    /// Adds the keys of another part, given as bytes of [`KeySet::into_state`].
    pub(crate) fn merge(&mut self, state: &[u8]) -> Result<()> {
        let Some(keys) = &mut self.keys else { return Ok(()) };
        if state == ALWAYS_TRUE {
            self.keys = None;
            return Ok(());
        }
        // If the planned filter is too large, parts never make it, so here both parts consist of hashes. `state` has at
        // most one hash per 8 bytes, so the sum below is an upper bound of the number of hashes after the merge.
        if self.agreed.is_too_large()
            && keys.len() + state.len() / size_of::<KeyHash>() > self.agreed.max_hashes()
        {
            self.keys = None;
            return Ok(());
        }
        match keys.merge_bytes(state) {
            Ok(()) => {}
            Err(
                AccumulateError::Build(BuildError::Full(_))
                | AccumulateError::Merge(MergeError::Full(_)),
            ) => {
                self.keys = None;
            }
            Err(error) => {
                return exec_err!("trommel_filter: the state of a part cannot be merged: {error}");
            }
        }
        Ok(())
    }

    /// The state as bytes, for [`KeySet::merge`].
    pub(crate) fn into_state(self) -> Vec<u8> {
        self.keys.map_or_else(|| ALWAYS_TRUE.to_vec(), |keys| keys.to_bytes())
    }

    /// The bytes of a part with the key `key`, or of a part without keys if `key` is `None`.
    pub(crate) fn state_of(agreed: &Agreed, key: Option<KeyHash>) -> Result<Vec<u8>> {
        let mut set = Self::new(*agreed)?;
        if let Some(key) = key {
            set.insert(&[key])?;
        }
        Ok(set.into_state())
    }

    /// The frozen filter, or `ALWAYS_TRUE`.
    pub(crate) fn into_filter(self) -> Result<Vec<u8>> {
        let Some(keys) = self.keys else { return Ok(ALWAYS_TRUE.to_vec()) };
        match keys.finish_compact() {
            Ok(filter) if filter.expected_fpr() > USELESS_FPR => Ok(ALWAYS_TRUE.to_vec()),
            Ok(filter) => Ok(filter.to_bytes()),
            Err(BuildError::Full(_)) => Ok(ALWAYS_TRUE.to_vec()),
            Err(error) => Err(exec_datafusion_err!("trommel_filter: {error}")),
        }
    }

    /// The number of bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.keys.as_ref().map_or(0, FilterAccumulator::memory_bytes)
    }
}
