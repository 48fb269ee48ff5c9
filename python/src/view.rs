//! The class `FilterView`.

use crate::answers::{self, FEWEST_KEYS_DETACHED, answer};
use crate::buffer::ReadOnlyBytes;
use crate::errors;
use crate::key;
use crate::lock::PyFilter;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trommel::container::OwnedView;
use trommel::{Filter, FilterView};

/// A frozen filter that is read in place from a bytes object, a memoryview or a memory map. Nothing is copied. The view
/// keeps the buffer alive.
///
/// >>> f = trommel.Filter(keys=100)
/// >>> f.add("anvil")
/// True
/// >>> view = trommel.FilterView(f.to_bytes())
/// >>> "anvil" in view, "forge" in view, len(view)
/// (True, False, 1)
///
/// With a memory map, the view of a file needs no copy of the file in memory::
///
///     with open(path, "rb") as file:
///         view = FilterView(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
///
/// The bytes, or the mapped file, must not change while the view exists. A writable buffer raises BufferError; with
/// ``memoryview(buffer).toreadonly()`` the caller promises that nobody writes to it.
///
/// The bytes are verified when the view is made. FormatError, a ValueError, is raised if they are not exactly one
/// frozen filter.
#[pyclass(frozen, module = "trommel", name = "FilterView")]
#[derive(Debug)]
pub(crate) struct PyFilterView {
    view: OwnedView,
    bytes: ReadOnlyBytes,
}

impl PyFilterView {
    /// The view as Rust's `FilterView`, for functions that take one.
    pub(crate) fn borrowed(&self, py: Python<'_>) -> PyResult<FilterView<'_>> {
        FilterView::parse_trusted(self.bytes.as_ref()).map_err(|error| errors::format(py, &error))
    }
}

#[pymethods]
impl PyFilterView {
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        let bytes = ReadOnlyBytes::get(data)?;
        let shared = bytes.clone();
        let view = py.detach(|| OwnedView::parse(shared));
        Ok(Self { view: view.map_err(|error| errors::format(py, &error))?, bytes })
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.view.contains_hash(key::hash(&self.view.hasher(), key)?))
    }

    /// Looks up all keys of an array or iterable, like ``Filter.contains``.
    fn contains<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        answer(keys, &self.view.hasher(), |hashes, engine, found| {
            if hashes.hashes.len() < FEWEST_KEYS_DETACHED {
                answers::look_up(&self.view, hashes, engine, found);
            } else {
                py.detach(|| answers::look_up(&self.view, hashes, engine, found));
            }
            Ok(())
        })
    }

    /// Returns the same number as ``Filter.count``: the number of copies of a key in the filter, or a larger number, or
    /// a smaller number in the cases named there.
    fn count(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let hash = key::hash(&self.view.hasher(), key)?;
        self.borrowed(py)?.count_hash(hash).map_err(|error| errors::unsupported(py, &error))
    }

    /// Returns a filter with the same keys, to which keys can be added. Copies the bytes.
    fn to_filter(&self, py: Python<'_>) -> PyResult<PyFilter> {
        let owned = py.detach(|| self.view.to_owned_filter());
        Ok(owned.map_err(|error| errors::format(py, &error))?.into())
    }

    /// Returns a copy of the frozen bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.bytes.as_ref())
    }

    fn __len__(&self) -> usize {
        self.view.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        format!(
            "<trommel.FilterView {}: {} keys, {} bytes, expected fpr {:.2e}>",
            self.view.kind(),
            self.view.len(),
            self.view.memory_bytes(),
            self.view.expected_fpr()
        )
    }

    /// The kind, one of ``trommel.KINDS``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.view.kind().name()
    }

    /// The seed of the hash function.
    #[getter]
    fn seed(&self) -> u64 {
        self.view.hasher().seed()
    }

    /// The expected false-positive rate with the keys that the filter holds.
    #[getter]
    fn expected_fpr(&self) -> f64 {
        self.view.expected_fpr()
    }

    /// The size of the filter's table in bytes.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.view.memory_bytes()
    }
}
