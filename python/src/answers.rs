//! The answers for a batch, as an array of NumPy.

use crate::batch::{Hashes, hash_batch};
use crate::threads;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use trommel::{Bitmap, Engine, Filter, Hasher};

/// The fewest keys of a batch during which other threads of Python run.
pub(crate) const FEWEST_KEYS_DETACHED: usize = 1 << 12;

/// Gets the engine for a batch that is worth several threads.
pub(crate) fn engine_for(py: Python<'_>, keys: usize) -> PyResult<Option<Engine>> {
    (keys >= threads::FEWEST_KEYS).then(|| threads::engine(py)).transpose()
}

/// Looks up a batch in a filter, on several threads if there is an engine.
pub(crate) fn look_up<F: Filter + Sync>(
    filter: &F,
    hashes: &Hashes,
    engine: Option<&Engine>,
    found: &mut Bitmap,
) {
    match engine {
        Some(engine) => engine.contains_batch(filter, &hashes.hashes, found),
        None => filter.contains_batch(&hashes.hashes, found),
    }
}

/// Hashes a batch of keys and collects what `look_up` says of each piece. A null is no key, so the answer is false.
pub(crate) fn answer<'py>(
    keys: &Bound<'py, PyAny>,
    hasher: &Hasher,
    mut look_up: impl FnMut(&Hashes, Option<&Engine>, &mut Bitmap) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    let (mut words, mut len) = (Vec::<u64>::new(), 0);
    let mut found = Bitmap::new(0);
    hash_batch(keys, hasher, &mut |hashes| {
        let engine = engine_for(py, hashes.hashes.len())?;
        look_up(hashes, engine.as_ref(), &mut found)?;
        let start = words.len();
        words.extend_from_slice(found.as_words());
        for null in &hashes.nulls {
            words[start + null / 64] &= !(1 << (null % 64));
        }
        len += hashes.hashes.len();
        Ok(())
    })?;
    let bools = PyByteArray::new_with(py, len, |bools| {
        for (bools, word) in bools.chunks_mut(64).zip(&words) {
            for (bit, answer) in bools.iter_mut().enumerate() {
                *answer = (word >> bit & 1) as u8;
            }
        }
        Ok(())
    })?;
    // Not a copy: the array keeps the bytearray, and can be written to, as every other result of NumPy.
    let numpy = py.import("numpy")?;
    numpy.call_method1("frombuffer", (bools, numpy.getattr("bool_")?))
}
