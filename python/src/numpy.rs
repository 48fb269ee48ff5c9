//! Hashes NumPy arrays.

use crate::buffer::{bytes, items};
use crate::hashes::{Consumer, Hashes};
use crate::iterable::hash_iterable;
use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trommel::{Hasher, Key, KeyHash};

/// The number of items of a *chunk*. A NumPy array of integers or bytes is hashed chunk by chunk. A chunk is enough
/// work for all threads. Only the hashes of one chunk, 8 MiB, are in memory at a time. The number of items is a
/// multiple of 64, so that the bitmaps of chunks, which consist of 64-bit words, can be concatenated word by word.
const CHUNK_KEYS: usize = 1 << 20;

/// The number of narrow integers that are widened at a time: few enough to stay in the L1 cache.
const WIDENED_KEYS: usize = 1024;

/// Hashes a NumPy array. Calls `consumer` with the hashes, chunk by chunk for integers and bytes. If a key cannot be
/// hashed, returns an error before `consumer` is called.
pub(crate) fn hash_ndarray(
    array: &Bound<'_, PyAny>,
    hasher: &Hasher,
    consumer: Consumer<'_>,
) -> PyResult<()> {
    let py = array.py();
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        return Err(PyValueError::new_err(format!(
            "an array of keys must have 1 dimension, not {dimensions}"
        )));
    }
    if array.is_instance(&py.import("numpy.ma")?.getattr("MaskedArray")?)? {
        return Err(PyTypeError::new_err(
            "a masked array is not an array of keys: use its compressed()",
        ));
    }
    let dtype = array.getattr("dtype")?;
    let kind: char = dtype.getattr("kind")?.extract()?;
    if kind == 'O' {
        return hash_iterable(array, hasher, consumer);
    }
    if !matches!(kind, 'i' | 'u' | 'S' | 'U') {
        return Err(PyTypeError::new_err(format!(
            "keys are integers, strings or bytes, not {}: convert them, for example with astype or view",
            dtype.str()?
        )));
    }
    let array = native(array, &dtype)?;
    let buffer = PyUntypedBuffer::get(&array)?;
    match (kind, buffer.item_size()) {
        ('i', 1) => hash_integers::<i8, _>(&buffer, i64::from, hasher, consumer),
        ('i', 2) => hash_integers::<i16, _>(&buffer, i64::from, hasher, consumer),
        ('i', 4) => hash_integers::<i32, _>(&buffer, i64::from, hasher, consumer),
        ('i', _) => hash_integers::<i64, _>(&buffer, |key| key, hasher, consumer),
        ('u', 1) => hash_integers::<u8, _>(&buffer, u64::from, hasher, consumer),
        ('u', 2) => hash_integers::<u16, _>(&buffer, u64::from, hasher, consumer),
        ('u', 4) => hash_integers::<u32, _>(&buffer, u64::from, hasher, consumer),
        ('u', _) => hash_integers::<u64, _>(&buffer, |key| key, hasher, consumer),
        ('S', size) => hash_padded_bytes(&buffer, size, hasher, consumer),
        (_, size) => hash_padded_text(&buffer, size, hasher, consumer),
    }
}

/// Returns the array itself if its items are contiguous, aligned and in the machine's byte order; otherwise a copy with
/// such items.
fn native<'py>(
    array: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let flags = array.getattr("flags")?;
    let is_native = flags.getattr("c_contiguous")?.is_truthy()?
        && flags.getattr("aligned")?.is_truthy()?
        && dtype.getattr("isnative")?.is_truthy()?;
    if is_native {
        return Ok(array.clone());
    }
    let native = dtype.call_method1("newbyteorder", ("=",))?;
    array.call_method1("astype", (native, "C"))
}

/// Widens integers to 64 bits and hashes them, so that a value is the same key at every width.
fn hash_integers<T: Element, Wide: Key + Copy + Default>(
    buffer: &PyUntypedBuffer,
    widen: impl Fn(T) -> Wide,
    hasher: &Hasher,
    consumer: Consumer<'_>,
) -> PyResult<()> {
    let mut wide = [Wide::default(); WIDENED_KEYS];
    in_chunks(buffer.item_count(), consumer, |range, hashes| {
        let mut out = hashes.as_mut_slice();
        for keys in items::<T>(buffer)?[range].chunks(WIDENED_KEYS) {
            for (wide, key) in wide.iter_mut().zip(keys) {
                *wide = widen(*key);
            }
            let (hashes, rest) = out.split_at_mut(keys.len());
            Wide::hash_slice_with(&wide[..keys.len()], hasher, hashes);
            out = rest;
        }
        Ok(())
    })
}

/// Hashes items of NumPy's type `S`. As in NumPy, zeros at the end of an item are not part of the key.
fn hash_padded_bytes(
    buffer: &PyUntypedBuffer,
    size: usize,
    hasher: &Hasher,
    consumer: Consumer<'_>,
) -> PyResult<()> {
    in_chunks(buffer.item_count(), consumer, |range, hashes| {
        let bytes = bytes(buffer)?;
        for (hash, index) in hashes.iter_mut().zip(range) {
            let padded = &bytes[index * size..(index + 1) * size];
            let end = padded.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            *hash = hasher.hash_bytes(&padded[..end]);
        }
        Ok(())
    })
}

/// Calls the closure `hash` for one range of keys after another, and `consumer` with the hashes of each range. A
/// reference to an array's memory must not outlive the call of `hash`, because the consumer may let other Python code
/// run.
fn in_chunks(
    keys: usize,
    consumer: Consumer<'_>,
    mut hash: impl FnMut(std::ops::Range<usize>, &mut Vec<KeyHash>) -> PyResult<()>,
) -> PyResult<()> {
    let mut chunk = Hashes::default();
    for start in (0..keys).step_by(CHUNK_KEYS) {
        let range = start..keys.min(start + CHUNK_KEYS);
        chunk.clear();
        chunk.reserve(range.len())?;
        chunk.hashes.resize(range.len(), KeyHash::default());
        hash(range, &mut chunk.hashes)?;
        consumer(&mut chunk)?;
    }
    Ok(())
}

/// Hashes items of NumPy's type `U`. NumPy stores a text with four bytes per code point, but the text's UTF-8 bytes are
/// hashed. Hashes all items before it calls `consumer`, because a code point may be refused.
fn hash_padded_text(
    buffer: &PyUntypedBuffer,
    size: usize,
    hasher: &Hasher,
    consumer: Consumer<'_>,
) -> PyResult<()> {
    let mut all = Hashes::default();
    all.reserve(buffer.item_count())?;
    let bytes = bytes(buffer)?;
    let mut text = String::new();
    for index in 0..buffer.item_count() {
        text.clear();
        for code in bytes[index * size..(index + 1) * size].as_chunks().0 {
            let code = u32::from_ne_bytes(*code);
            let refused = || {
                PyValueError::new_err(format!(
                    "key {index} has the code point {code:#x}, which is not a character"
                ))
            };
            text.push(char::from_u32(code).ok_or_else(refused)?);
        }
        all.hashes.push(hasher.hash_bytes(text.trim_end_matches('\0').as_bytes()));
    }
    consumer(&mut all)
}
