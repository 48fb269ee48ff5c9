//! Memory that Python objects own, read in place through the buffer protocol.
//!
//! Rule for memory that Python code could write to: it is read only while this thread is attached to the interpreter
//! (holds the GIL), so no Python code runs meanwhile. What works without the GIL sees hashes, in memory of this crate.
//! A function of C that writes to an array without the GIL during a call, as parts of NumPy do, races with the reader as
//! it does with NumPy's own functions; the bytes are then hashed as they happen to be read, and nothing else depends on
//! them. Only memory that is immutable by contract, that of Arrow arrays and of read-only views, is read without the GIL.

use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use std::fmt;
use std::sync::Arc;
use trommel::container::StableBytes;

/// The bytes of a contiguous buffer, whatever its items are.
#[allow(unsafe_code)]
pub(crate) fn bytes(buffer: &PyUntypedBuffer) -> PyResult<&[u8]> {
    if !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the buffer is not contiguous"));
    }
    let (start, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
    if start.is_null() || len == 0 {
        return Ok(&[]);
    }
    // SAFETY: the exporter keeps `len` initialised bytes at `start` while the buffer is not released, which the borrow
    // excludes; every byte is a `u8`. Nobody writes to them: see the rule of this module.
    Ok(unsafe { std::slice::from_raw_parts(start, len) })
}

/// The items of a contiguous buffer. Refuses another item size, format or alignment than those of `T`.
#[allow(unsafe_code)]
pub(crate) fn items<T: Element>(buffer: &PyUntypedBuffer) -> PyResult<&[T]> {
    let items = buffer.as_typed::<T>()?;
    let slice = items
        .as_slice_ptr()
        .ok_or_else(|| PyBufferError::new_err("the buffer is not contiguous"))?;
    if slice.is_empty() {
        return Ok(&[]);
    }
    // SAFETY: PyO3 has checked size, format and alignment of the items and that they are contiguous; the exporter keeps
    // them while the buffer is not released, which the borrow excludes. Nobody writes to them: see the rule of this
    // module.
    Ok(unsafe { slice.as_ref() })
}

/// A read-only buffer, kept for as long as something reads it. Clones share it.
#[derive(Clone)]
pub(crate) struct ReadOnlyBytes(Arc<PyUntypedBuffer>);

impl ReadOnlyBytes {
    /// Refuses objects that could be written to, unless the caller says with `memoryview.toreadonly` that nobody does.
    pub(crate) fn get(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.readonly() {
            return Err(PyBufferError::new_err(
                "the buffer is writable: if nobody writes to it, pass memoryview(buffer).toreadonly()",
            ));
        }
        bytes(&buffer)?;
        Ok(Self(Arc::new(buffer)))
    }
}

impl AsRef<[u8]> for ReadOnlyBytes {
    fn as_ref(&self) -> &[u8] {
        // Never the default: `get` has asked once, and the layout of a buffer does not change.
        bytes(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for ReadOnlyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} read-only bytes", self.as_ref().len())
    }
}

// SAFETY: while a buffer is exported, its memory is neither freed nor moved. It is read-only, so it changes only if its
// owner breaks the promise that `ReadOnlyBytes::get` asks for; the same holds for a file under a map.
#[allow(unsafe_code)]
unsafe impl StableBytes for ReadOnlyBytes {}
