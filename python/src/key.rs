//! Hashes single Python objects.

use crate::buffer;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyMemoryView, PyString};
use trommel::{Hasher, KeyHash};

/// Hashes a key: text as its UTF-8 bytes, bytes as they are, and an integer as eight little-endian bytes, which are
/// those of an `i64` or, from 2⁶³ on, of a `u64`.
///
/// Bytes, integers below 2⁶³ and ASCII text need no allocation. For other text, Python allocates the UTF-8 form once
/// and caches it in the object.
#[inline]
pub(crate) fn hash(hasher: &Hasher, key: &Bound<'_, PyAny>) -> PyResult<KeyHash> {
    if let Ok(text) = key.cast_exact::<PyString>() {
        return Ok(hasher.hash_bytes(text.to_str()?.as_bytes()));
    }
    if key.is_exact_instance_of::<PyInt>() {
        return hash_int(hasher, key);
    }
    if let Ok(bytes) = key.cast_exact::<PyBytes>() {
        return Ok(hasher.hash_bytes(bytes.as_bytes()));
    }
    hash_other(hasher, key)
}

fn hash_int(hasher: &Hasher, key: &Bound<'_, PyAny>) -> PyResult<KeyHash> {
    if let Ok(key) = key.extract::<i64>() {
        return Ok(hasher.hash(&key));
    }
    match key.extract::<u64>() {
        Ok(key) => Ok(hasher.hash_u64(key)),
        Err(_) => {
            Err(PyOverflowError::new_err("an integer key must be between -2**63 and 2**64 - 1"))
        }
    }
}

/// Hashes keys of less common types: `bytearray`, `memoryview`, instances of subclasses of `str`, `int` and `bytes`,
/// and objects with `__index__`, such as NumPy integers.
#[cold]
fn hash_other(hasher: &Hasher, key: &Bound<'_, PyAny>) -> PyResult<KeyHash> {
    if key.is_instance_of::<PyBool>() {
        return Err(refuse(key));
    }
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(hasher.hash_bytes(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(hasher.hash_bytes(bytes.as_bytes()));
    }
    if key.is_instance_of::<PyByteArray>() || key.is_instance_of::<PyMemoryView>() {
        return Ok(hasher.hash_bytes(buffer::bytes(&PyUntypedBuffer::get(key)?)?));
    }
    // An array of one integer also has `__index__`, but it is a batch and not a key.
    if key.hasattr("__index__")? && !key.hasattr("__len__")? {
        return hash_int(hasher, &key.call_method0("__index__")?);
    }
    Err(refuse(key))
}

#[cold]
fn refuse(key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("a key must be a str, an int or bytes, not {name}"))
}
