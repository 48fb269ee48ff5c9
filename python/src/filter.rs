//! The methods of the class `Filter`.

use crate::answers::{self, FEWEST_KEYS_DETACHED, answer, engine_for};
use crate::batch::hash_batch;
use crate::buffer;
use crate::errors;
use crate::key;
use crate::lock::{PyFilter, unpoisoned};
use crate::output;
use crate::view::PyFilterView;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use std::path::PathBuf;
use trommel::{AnyFilter, Filter, FilterKind, FilterSpec, FormatError, Insert, MergeError};

impl PyFilter {
    fn merge_any(&self, py: Python<'_>, other: &FilterOrView<'_>) -> PyResult<()> {
        match other {
            FilterOrView::Filter(other) => self.merge_filter(py, other.get()),
            FilterOrView::View(view) => {
                let view = view.get().borrowed(py)?;
                let merged = py.detach(|| Ok(unpoisoned(self.filter.write())?.merge_view(&view)));
                merged.and_then(|result: Result<(), MergeError>| {
                    result.map_err(|error| errors::merge(py, &error))
                })
            }
        }
    }
}

/// The argument of a merge.
#[derive(FromPyObject)]
enum FilterOrView<'py> {
    Filter(Bound<'py, PyFilter>),
    View(Bound<'py, PyFilterView>),
}

#[pymethods]
impl PyFilter {
    #[new]
    #[pyo3(signature = (kind = "split-block-bloom", keys = 1_000_000, fpr = 0.01, seed = 0, *, multiset = false, grow_at = None))]
    fn new(
        py: Python<'_>,
        kind: &str,
        keys: usize,
        fpr: f64,
        seed: u64,
        multiset: bool,
        grow_at: Option<f64>,
    ) -> PyResult<Self> {
        let known = kind.parse::<FilterKind>().map_err(|_| errors::unknown_kind(py, kind))?;
        let mut spec = FilterSpec::new(known).keys(keys).fpr(fpr).seed(seed);
        if multiset {
            spec = spec.multiset(true);
        }
        if let Some(load) = grow_at {
            spec = spec.grow_at(load);
        }
        let built = py.detach(|| spec.build());
        Ok(built.map_err(|error| errors::spec(py, &error))?.into())
    }

    /// Adds a key. Returns False if the table did not change. In a counting-bloom filter, this means that all counters
    /// of the key are stuck at 15. In other filters, it means that the filter already reported the key as present.
    /// With ``multiset``, every added copy changes the table.
    ///
    /// >>> f = trommel.Filter(keys=100)
    /// >>> f.add("anvil"), f.add("anvil")
    /// (True, False)
    ///
    /// Raises FilterFull if there is no room. Bloom filters always have room.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(&self.hasher, key)?;
        let added = self.write(py)?.insert_hash(hash);
        added.map_err(|error| errors::full(py, &error))
    }

    /// Adds all keys of an array or iterable: NumPy arrays (integers, ``S``, ``U``, objects), pyarrow arrays, columns
    /// of pandas and polars, lists and other iterables. A null (None in iterables) is not a key and is skipped.
    ///
    /// >>> import numpy
    /// >>> f = trommel.Filter(keys=1_000)
    /// >>> f.update(numpy.arange(1_000))
    /// >>> len(f), 999 in f
    /// (1000, True)
    ///
    /// If a key has a wrong type or is out of range, no key is added. Raises FilterFull if there is no room for a key.
    /// Then only the keys before it were added; the attribute ``inserted`` of the exception is their number.
    fn update(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut before = 0;
        hash_batch(keys, &self.hasher, &mut |hashes| {
            let hashes = hashes.without_nulls();
            let engine = engine_for(py, hashes.len())?;
            let insert = |filter: &mut AnyFilter| match &engine {
                Some(engine) => engine.insert_batch(filter, hashes),
                None => filter.insert_batch(hashes),
            };
            let inserted = if hashes.len() < FEWEST_KEYS_DETACHED {
                insert(&mut *self.write(py)?)
            } else {
                py.detach(|| Ok::<_, PyErr>(insert(&mut *unpoisoned(self.filter.write())?)))?
            };
            let inserted = inserted.map_err(|mut error| {
                error.inserted += before;
                errors::full(py, &error)
            });
            before += hashes.len();
            inserted
        })
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(&self.hasher, key)?;
        Ok(self.read(py)?.contains_hash(hash))
    }

    /// Looks up all keys of an array or iterable, as accepted by ``update``. Returns a NumPy array with a bool for each
    /// key. The answer for a null is False.
    ///
    /// >>> f = trommel.Filter(keys=1_000)
    /// >>> f.update(["anvil", "forge"])
    /// >>> f.contains(["forge", None, "tongs"])
    /// array([ True, False, False])
    fn contains<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        answer(keys, &self.hasher, |hashes, engine, found| {
            if hashes.hashes.len() < FEWEST_KEYS_DETACHED {
                answers::look_up(&*self.read(py)?, hashes, engine, found);
                return Ok(());
            }
            py.detach(|| {
                answers::look_up(&*unpoisoned(self.filter.read())?, hashes, engine, found);
                Ok(())
            })
        })
    }

    /// Removes one copy of a key that was added. Returns False if the key is not in the filter.
    ///
    /// >>> f = trommel.Filter("cuckoo", keys=100, multiset=True)
    /// >>> f.add("anvil")
    /// True
    /// >>> f.remove("anvil"), f.remove("anvil")
    /// (True, False)
    ///
    /// Removing a key that was never added can remove another key. In a quotient or cuckoo filter without ``multiset``,
    /// any removal can remove another key, since two keys with the same fingerprint are stored once. A counting-bloom
    /// filter needs no ``multiset`` to count copies. Raises UnsupportedError, a TypeError, if the kind cannot remove
    /// keys.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(&self.hasher, key)?;
        let removed = self.write(py)?.remove_hash(hash);
        removed.map_err(|error| errors::unsupported(py, &error))
    }

    /// Returns the number of times that a key was added and not removed, or a larger number. In two cases the number
    /// can be smaller: a quotient or cuckoo filter without ``multiset`` stores a key once, and a counting-bloom filter
    /// made in Python counts only up to 15.
    ///
    /// >>> f = trommel.Filter("quotient", keys=100, multiset=True)
    /// >>> f.update(["anvil"] * 3)
    /// >>> f.count("anvil"), f.count("forge")
    /// (3, 0)
    ///
    /// Raises UnsupportedError, a TypeError, if the kind cannot count keys.
    fn count(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let hash = key::hash(&self.hasher, key)?;
        let counted = self.read(py)?.count_hash(hash);
        counted.map_err(|error| errors::unsupported(py, &error))
    }

    /// Removes every key. The filter keeps its size.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            unpoisoned(self.filter.write())?.clear();
            Ok(())
        })
    }

    /// Adds all keys of another filter or view, which must match this filter. Two filters match if they were made with
    /// the same ``kind``, ``keys``, ``fpr``, ``seed`` and ``multiset``. Two cuckoo filters must also have doubled their
    /// sizes equally often.
    ///
    /// >>> monday, tuesday = trommel.Filter(keys=100), trommel.Filter(keys=100)
    /// >>> tuesday.add("anvil")
    /// True
    /// >>> monday |= tuesday
    /// >>> "anvil" in monday, "anvil" in monday | tuesday
    /// (True, True)
    ///
    /// Raises MergeError, a ValueError, if the two filters do not match, and FilterFull if there is no room. In both
    /// cases, the filter is unchanged.
    fn merge(&self, py: Python<'_>, other: FilterOrView<'_>) -> PyResult<()> {
        self.merge_any(py, &other)
    }

    fn __ior__(&self, py: Python<'_>, other: FilterOrView<'_>) -> PyResult<()> {
        self.merge_any(py, &other)
    }

    fn __or__(&self, py: Python<'_>, other: FilterOrView<'_>) -> PyResult<Self> {
        let union = Self::from(self.clone_inner(py)?);
        union.merge_any(py, &other)?;
        Ok(union)
    }

    /// Whether both filters have the same kind and the same frozen bytes.
    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<bool> {
        let other = other.get();
        if std::ptr::eq(self, other) {
            return Ok(true);
        }
        let (first, second) = if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
            (self, other)
        } else {
            (other, self)
        };
        py.detach(|| {
            let first = unpoisoned(first.filter.read())?;
            Ok(*first == *unpoisoned(second.filter.read())?)
        })
    }

    /// The number of keys. Bloom filters count every insert, also of a key that was added before, and a counting-bloom
    /// filter subtracts removals. The other kinds count the fingerprints that they store.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.read(py)?.len())
    }

    /// Always true, even if the filter is empty. Use ``len`` to find out whether it is empty.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let filter = self.read(py)?;
        Ok(format!(
            "<trommel.Filter {}: {} keys, {} bytes, expected fpr {:.2e}>",
            self.kind,
            filter.len(),
            filter.memory_bytes(),
            filter.expected_fpr()
        ))
    }

    /// The kind, one of ``trommel.KINDS``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// The seed of the hash function.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    /// The expected false-positive rate with the keys that the filter holds now.
    #[getter]
    fn expected_fpr(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.read(py)?.expected_fpr())
    }

    /// The size of the filter's table in bytes.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.read(py)?.memory_bytes())
    }

    /// Returns the frozen filter: bytes with checksums, which Rust, C and the command-line tool read and write too.
    ///
    /// >>> f = trommel.Filter(keys=100)
    /// >>> trommel.Filter.from_bytes(f.to_bytes()) == f
    /// True
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| Ok::<_, PyErr>(unpoisoned(self.filter.read())?.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads a frozen filter from bytes or any contiguous buffer. Copies the bytes.
    ///
    /// Raises FormatError, a ValueError, if the bytes are not exactly one frozen filter.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        let buffer = PyUntypedBuffer::get(data)?;
        // The GIL is held while the bytes are read, since the buffer may be writable.
        let read = AnyFilter::from_bytes(buffer::bytes(&buffer)?);
        Ok(read.map_err(|error| errors::format(py, &error))?.into())
    }

    /// Writes the frozen filter to a file. The file appears whole or not at all: a temporary file in the same folder is
    /// written to the disk and then renamed. If the new file replaces an old one, it gets the old file's permissions.
    /// If the path is a symbolic link, the file it leads to is replaced. Devices and pipes are written directly.
    ///
    /// Raises OSError if the file cannot be written.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let filter = unpoisoned(self.filter.read())?;
            Ok(output::write_whole(&path, |file| filter.write_to(file))?)
        })
    }

    /// Reads a filter from a file that ``save`` or the command-line tool has written.
    ///
    /// Raises OSError if the file cannot be read, and FormatError, a ValueError, if the file is not exactly one frozen
    /// filter.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| {
            let bytes = std::fs::read(&path)?;
            Ok::<Result<AnyFilter, FormatError>, std::io::Error>(AnyFilter::from_bytes(&bytes))
        })?;
        Ok(read.map_err(|error| errors::format(py, &error))?.into())
    }

    /// Returns an independent filter with the same keys.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(self.clone_inner(py)?.into())
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let read = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((read, PyTuple::new(py, [self.to_bytes(py)?])?))
    }

    fn __sizeof__(&self, py: Python<'_>) -> PyResult<usize> {
        let table = self.read(py)?.memory_bytes();
        table.checked_add(size_of::<Self>()).ok_or_else(|| PyMemoryError::new_err("too large"))
    }
}
