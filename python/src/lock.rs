//! The class `Filter`: a filter behind a lock. Its methods for Python are in the module `filter`.

use crate::errors;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use std::sync::{LockResult, RwLock, RwLockReadGuard, RwLockWriteGuard};
use trommel::{AnyFilter, Filter, FilterKind, Hasher, MergeError};

/// An approximate-membership filter. A lookup answers that a key is certainly absent, or that it may be present.
///
/// >>> from trommel import Filter
/// >>> f = Filter(keys=1_000, fpr=0.01)
/// >>> f.add("anvil")
/// True
/// >>> "anvil" in f, 7 in f
/// (True, False)
/// >>> f.update(["forge", b"tongs", 2**63])
/// >>> f.contains(["forge", "anvil", -1]).tolist()
/// [True, True, False]
/// >>> len(f), f.kind
/// (4, 'split-block-bloom')
///
/// A key is a str (hashed as its UTF-8 bytes), bytes, a bytearray or a contiguous memoryview (hashed as they are), or
/// an int from -2**63 to 2**64 - 1 (hashed as eight bytes, little-endian, so -1 and 2**64 - 1 are the same key). An
/// object with ``__index__``, such as a NumPy integer, counts as an int. Everything else, including bool, float, None
/// and tuple, raises TypeError. An int out of range raises OverflowError, and a memoryview that is not contiguous
/// raises BufferError.
///
/// ``kind`` is one of ``trommel.KINDS``. ``keys`` is the number of keys that the filter is made for. With this number
/// of keys, the expected false-positive rate is at most ``fpr``. ``seed`` chooses the hash function. ``multiset``
/// makes a quotient or cuckoo filter that stores every copy of a key. ``grow_at``, for example 0.9, makes a quotient or
/// cuckoo filter that doubles its size at this load. Values that no filter can have raise SpecError, a ValueError.
/// ``keys`` or a ``seed`` below 0 or above 2**64 - 1 raise OverflowError.
///
/// Threads may share a filter. Calls that change it wait for one another. During large batches, other Python
/// threads run.
#[pyclass(frozen, module = "trommel", name = "Filter")]
#[derive(Debug)]
pub(crate) struct PyFilter {
    /// The lock is never held during a call into Python, and a thread releases the GIL while it waits for the lock. So
    /// the lock and the GIL cannot cause a deadlock.
    pub(crate) filter: RwLock<AnyFilter>,
    /// The filter's hasher, which never changes.
    pub(crate) hasher: Hasher,
    pub(crate) kind: FilterKind,
}

/// Converts a poisoned lock to an exception. If a thread panicked while it changed the filter, the filter's state is
/// unknown.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> PyResult<T> {
    locked.map_err(|_| {
        PyRuntimeError::new_err("the filter is not usable: a call that changed it failed midway")
    })
}

impl PyFilter {
    pub(crate) fn read<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockReadGuard<'a, AnyFilter>> {
        unpoisoned(self.filter.read_py_attached(py))
    }

    pub(crate) fn write<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'a, AnyFilter>> {
        unpoisoned(self.filter.write_py_attached(py))
    }

    /// Clones the filter behind the lock, without the GIL.
    pub(crate) fn clone_inner(&self, py: Python<'_>) -> PyResult<AnyFilter> {
        py.detach(|| Ok(unpoisoned(self.filter.read())?.clone()))
    }

    /// Adds all keys of another filter. The locks of the two filters are taken in the order of their addresses, so that
    /// two threads that merge the same filters in opposite directions do not deadlock.
    pub(crate) fn merge_filter(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        let merged = if std::ptr::eq(self, other) {
            let copy = self.clone_inner(py)?;
            py.detach(|| Ok(unpoisoned(self.filter.write())?.merge(&copy)))
        } else if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
            py.detach(|| {
                let mut filter = unpoisoned(self.filter.write())?;
                Ok(filter.merge(&*unpoisoned(other.filter.read())?))
            })
        } else {
            py.detach(|| {
                let read = unpoisoned(other.filter.read())?;
                Ok(unpoisoned(self.filter.write())?.merge(&read))
            })
        };
        merged.and_then(|result: Result<(), MergeError>| {
            result.map_err(|error| errors::merge(py, &error))
        })
    }
}

impl From<AnyFilter> for PyFilter {
    fn from(filter: AnyFilter) -> Self {
        let (hasher, kind) = (filter.hasher(), filter.kind());
        Self { filter: RwLock::new(filter), hasher, kind }
    }
}
