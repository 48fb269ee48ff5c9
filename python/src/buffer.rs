//! Reads the memory of Python objects in place, through the buffer protocol.
//!
//! The rule of this module: a thread must be attached to the interpreter (hold the GIL) while it reads memory that
//! Python code could write to, so no Python code runs meanwhile. Without the GIL, code may read only two sorts of
//! memory: that of this crate, such as hashes and filters; and memory that is immutable by contract, which is that of
//! Arrow arrays and of read-only views. Some C functions, such as parts of NumPy, write to an array without the GIL. If
//! one of them runs during a call, it races with the reads of this module, as it would with those of NumPy's own
//! functions. The bytes of keys are then hashed as they happen to be read, and nothing else depends on these bytes.
//! `Filter.from_bytes` also takes writable buffers. If C code writes to such a buffer without the GIL, it can change
//! bytes of the frozen filter after they were checked.

use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use std::fmt;
use std::sync::Arc;
use trommel::container::StableBytes;

/// The bytes of a contiguous buffer, whatever the type of its items.
#[allow(unsafe_code)]
pub(crate) fn bytes(buffer: &PyUntypedBuffer) -> PyResult<&[u8]> {
    if !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the buffer is not contiguous"));
    }
    let (start, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
    if start.is_null() || len == 0 {
        return Ok(&[]);
    }
    // SAFETY: the checks above ensure that `start` is not null and the buffer is contiguous. So the exporter keeps
    // `len` initialised bytes there until the buffer is released, and it is not released during the borrow of `buffer`.
    // The buffer stores `len` as a `Py_ssize_t`, so it is at most `isize::MAX`. No Python code writes to the bytes
    // meanwhile, by the rule of this module.
    Ok(unsafe { std::slice::from_raw_parts(start, len) })
}

/// The items of a contiguous buffer. Refuses a buffer whose items do not have the size, format and alignment of `T`.
#[allow(unsafe_code)]
pub(crate) fn items<T: Element>(buffer: &PyUntypedBuffer) -> PyResult<&[T]> {
    let items = buffer.as_typed::<T>()?;
    let slice = items
        .as_slice_ptr()
        .ok_or_else(|| PyBufferError::new_err("the buffer is not contiguous"))?;
    if slice.is_empty() {
        return Ok(&[]);
    }
    // SAFETY: `as_typed` has checked that the items have the size, format and alignment of `T`, and `as_slice_ptr` that
    // they are contiguous. The exporter keeps them until the buffer is released, and it is not released during the
    // borrow of `buffer`. No Python code writes to them meanwhile, by the rule of this module.
    Ok(unsafe { slice.as_ref() })
}

/// A read-only buffer. It is released when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct ReadOnlyBytes(Arc<PyUntypedBuffer>);

impl ReadOnlyBytes {
    /// Gets the buffer of an object. Refuses a writable buffer, and one that is not contiguous. A caller that passes
    /// `memoryview.toreadonly()` promises that nobody writes to the memory.
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
        // `get` has checked that `bytes` succeeds, and the layout of a buffer does not change. So the default is never
        // used.
        bytes(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for ReadOnlyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} read-only bytes", self.as_ref().len())
    }
}

// SAFETY: while a buffer is exported, its memory is neither freed nor moved. `ReadOnlyBytes::get` accepts only
// read-only buffers, so nobody writes to the memory through the buffer's object. The memory can change in three other
// ways: by a write through another object, such as the writable base of a read-only NumPy array or of
// `memoryview.toreadonly`; by a change of a mapped file; and by the truncation of a mapped file. The documentation of
// `FilterView` forbids all three.
#[allow(unsafe_code)]
unsafe impl StableBytes for ReadOnlyBytes {}
