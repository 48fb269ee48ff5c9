//! Batches of keys, as Python has them, into hashes.

use crate::buffer::{bytes, items};
use crate::{arrow, key};
use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use trommel::{Hasher, Key, KeyHash};

/// The most hashes of an array at a time, 8 MB: enough for all threads, and little beside the keys. A multiple of 64, so
/// that bitmaps of chunks can be strung together.
const CHUNK_KEYS: usize = 1 << 20;

/// Narrow integers are widened in pieces of this many, which stay in the first cache.
const WIDENED_KEYS: usize = 1024;

/// Keys of an iterable between two looks for Ctrl-C: an iterator may have no end.
const KEYS_PER_SIGNAL_CHECK: usize = 1 << 16;

/// Hashes, and the positions among them that have no key.
#[derive(Default)]
pub(crate) struct Hashes {
    pub(crate) hashes: Vec<KeyHash>,
    /// Ascending. The hash at such a position means nothing.
    pub(crate) nulls: Vec<usize>,
}

impl Hashes {
    fn clear(&mut self) {
        self.hashes.clear();
        self.nulls.clear();
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.hashes.len());
        self.hashes.push(KeyHash::default());
    }

    /// Room for as many hashes more.
    pub(crate) fn reserve(&mut self, more: usize) -> PyResult<()> {
        let refused =
            |_| PyMemoryError::new_err(format!("the system refused memory for {more} hashes"));
        self.hashes.try_reserve(more).map_err(refused)
    }

    /// The hashes of keys alone.
    pub(crate) fn without_nulls(&mut self) -> &[KeyHash] {
        let mut nulls = std::mem::take(&mut self.nulls).into_iter().peekable();
        let mut index = 0;
        if nulls.peek().is_some() {
            self.hashes.retain(|_| {
                let is_null = nulls.next_if_eq(&index).is_some();
                index += 1;
                !is_null
            });
        }
        &self.hashes
    }
}

/// What becomes of the hashes of a batch, piece by piece. Each piece but the last has a multiple of 64.
pub(crate) type Consumer<'a> = &'a mut dyn FnMut(&mut Hashes) -> PyResult<()>;

/// Hashes a batch: an array of NumPy, a column of Arrow or what gives one, or any iterable.
///
/// If a key is refused, `consumer` has been given nothing.
pub(crate) fn hash_batch(
    keys: &Bound<'_, PyAny>,
    hasher: &Hasher,
    consumer: Consumer<'_>,
) -> PyResult<()> {
    let py = keys.py();
    refuse_single_key(keys)?;
    let numpy = py.import("numpy")?;
    if keys.is_instance(&numpy.getattr("ndarray")?)? {
        return hash_ndarray(keys, hasher, consumer);
    }
    let has_arrow = keys.hasattr("__arrow_c_array__")? || keys.hasattr("__arrow_c_stream__")?;
    let has_numpy = keys.hasattr("to_numpy")?;
    // A column of pandas with a dtype of NumPy.
    let is_numpy_inside = has_numpy
        && keys.hasattr("dtype")?
        && keys.getattr("dtype")?.is_instance(&numpy.getattr("dtype")?)?;
    if has_arrow && !is_numpy_inside && py.import("pyarrow").is_ok() {
        let mut hashes = Hashes::default();
        arrow::hash_column(keys, hasher, &mut hashes)?;
        return consumer(&mut hashes);
    }
    if has_numpy {
        return hash_ndarray(&keys.call_method0("to_numpy")?, hasher, consumer);
    }
    hash_iterable(keys, hasher, consumer)
}

/// The letters of a string, or the bytes of one key as integers, are not what anybody means.
fn refuse_single_key(keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_single = keys.is_instance_of::<PyString>()
        || keys.is_instance_of::<PyBytes>()
        || keys.is_instance_of::<PyByteArray>()
        || keys.is_instance_of::<PyMemoryView>();
    if is_single {
        return Err(PyTypeError::new_err(
            "a batch is an array or an iterable of keys, not one key",
        ));
    }
    Ok(())
}

/// The filter is not held meanwhile: iterators may run any code of Python, which may use the filter.
fn hash_iterable(keys: &Bound<'_, PyAny>, hasher: &Hasher, consumer: Consumer<'_>) -> PyResult<()> {
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

fn hash_ndarray(array: &Bound<'_, PyAny>, hasher: &Hasher, consumer: Consumer<'_>) -> PyResult<()> {
    let py = array.py();
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        return Err(PyValueError::new_err(format!(
            "an array of keys has 1 dimension, not {dimensions}"
        )));
    }
    if array.is_instance(&py.import("numpy.ma")?.getattr("MaskedArray")?)? {
        return Err(PyTypeError::new_err(
            "a masked array is no array of keys: use its compressed()",
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

/// The array itself, or a copy if its items are strided, not aligned, or in the byte order of another machine.
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

/// Integers of every width are keys of 64 bits, so that a value is one key whatever holds it.
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
            let (these, rest) = out.split_at_mut(keys.len());
            Wide::hash_slice_with(&wide[..keys.len()], hasher, these);
            out = rest;
        }
        Ok(())
    })
}

/// As NumPy reads them: zeros at the end are no part of a key.
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

/// Calls `hash` for one range of keys after another, and `consumer` with what it hashes. No reference into the memory of an array
/// outlives a call of `hash`, since the consumer may let other code of Python run.
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

/// Code points of four bytes, as the UTF-8 of the same text, all at once: a code point may be refused.
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
                    "key {index} has the code point {code:#x}, which is no character"
                ))
            };
            text.push(char::from_u32(code).ok_or_else(refused)?);
        }
        all.hashes.push(hasher.hash_bytes(text.trim_end_matches('\0').as_bytes()));
    }
    consumer(&mut all)
}
