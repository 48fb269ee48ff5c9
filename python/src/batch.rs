//! Hashes batches of Python keys.

use crate::arrow;
use crate::hashes::{Consumer, Hashes};
use crate::iterable::hash_iterable;
use crate::numpy::hash_ndarray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use trommel::Hasher;

/// Hashes a batch: a NumPy array, an object that exports an Arrow column, an object with the method `to_numpy`, or any
/// iterable. Calls `consumer` with the hashes.
///
/// If a key cannot be hashed, returns an error before `consumer` is called.
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
    // True for a pandas column with a NumPy dtype.
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

/// Refuses a single str, bytes, bytearray or memoryview. Such an object is an iterable of its characters or items, but
/// a caller who passes it does not want these as keys.
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
