//! Hashes the keys of an iterable.

use crate::hashes::{Consumer, Hashes};
use crate::key;
use pyo3::prelude::*;
use trommel::Hasher;

/// The number of keys of an iterable between two checks for Ctrl-C. The checks are needed because an iterator can be
/// endless.
const KEYS_PER_SIGNAL_CHECK: usize = 1 << 16;

/// Hashes an iterable completely before `consumer` is called. The filter is not locked meanwhile, because an iterator
/// may run any Python code, even code that uses the filter.
pub(crate) fn hash_iterable(
    keys: &Bound<'_, PyAny>,
    hasher: &Hasher,
    consumer: Consumer<'_>,
) -> PyResult<()> {
    let mut hashes = Hashes::default();
    for key in keys.try_iter()? {
        let key = key?;
        if hashes.hashes.len().is_multiple_of(KEYS_PER_SIGNAL_CHECK) {
            keys.py().check_signals()?;
        }
        if hashes.hashes.len() == hashes.hashes.capacity() {
            hashes.reserve(hashes.hashes.len().max(64))?;
        }
        if key.is_none() {
            hashes.push_null();
        } else {
            hashes.hashes.push(key::hash(hasher, &key)?);
        }
    }
    consumer(&mut hashes)
}
