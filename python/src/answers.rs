//! Looks up batches and returns the answers as a NumPy array.

use crate::batch::hash_batch;
use crate::hashes::Hashes;
use crate::threads;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use trommel::{Bitmap, Engine, Filter, Hasher};

/// A call with at least this number of keys releases the GIL while it uses the filter.
pub(crate) const FEWEST_KEYS_DETACHED: usize = 1 << 12;

/// The engine for a batch of `keys` keys; `None` if the batch is too small for several threads.
pub(crate) fn engine_for(py: Python<'_>, keys: usize) -> PyResult<Option<Engine>> {
    (keys >= threads::FEWEST_KEYS).then(|| threads::engine(py)).transpose()
}

/// Looks up a batch in a filter, with `engine` or, if `engine` is `None`, on the calling thread.
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

/// Hashes a batch of keys piece by piece, calls the argument `look_up` for each piece, and returns all answers as a
/// NumPy array of bools. The answer for a null is false.
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
    // `frombuffer` does not copy: the array keeps the bytearray alive. The array is writable, like arrays that NumPy
    // makes.
    let numpy = py.import("numpy")?;
    numpy.call_method1("frombuffer", (bools, numpy.getattr("bool_")?))
}
