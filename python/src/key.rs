//! Hashes of single Python objects.

use crate::buffer;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyMemoryView, PyString};
use trommel::{Hasher, KeyHash};

/// Text is hashed as its UTF-8 bytes, bytes as they are, an integer as the eight little-endian bytes of an `i64` or, from
/// 2⁶³ on, a `u64`.
///
/// Nothing is allocated for bytes, integers and ASCII text. Python makes the UTF-8 form of other text once, and keeps it
/// in the object.
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
        Err(_) => Err(PyOverflowError::new_err("an integer key lies between -2**63 and 2**64 - 1")),
    }
}

/// Subclasses, other holders of bytes, and what has `__index__`, such as the integers of NumPy.
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
    // An array of one integer has `__index__` too, and is a batch.
    if key.hasattr("__index__")? && !key.hasattr("__len__")? {
        return hash_int(hasher, &key.call_method0("__index__")?);
    }
    Err(refuse(key))
}

#[cold]
fn refuse(key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("a key is a str, an int or bytes, not {name}"))
}
