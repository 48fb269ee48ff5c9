//! The exceptions of the module, and the conversion of Rust errors to them.

use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use trommel::{FormatError, Full, MergeError, SpecError, Unsupported};

/// The exception types of the module. Most of them also derive from a built-in exception of Python, such as
/// `ValueError`, so that callers can catch the built-in one.
pub(crate) struct Exceptions {
    base: Py<PyType>,
    spec: Py<PyType>,
    full: Py<PyType>,
    format: Py<PyType>,
    merge: Py<PyType>,
    unsupported: Py<PyType>,
}

static EXCEPTIONS: PyOnceLock<Exceptions> = PyOnceLock::new();

impl Exceptions {
    fn get(py: Python<'_>) -> PyResult<&Self> {
        EXCEPTIONS.get_or_try_init(py, || Self::create(py))
    }

    fn create(py: Python<'_>) -> PyResult<Self> {
        let exception = py.get_type::<PyException>();
        let value_error = py.get_type::<PyValueError>();
        let type_error = py.get_type::<PyTypeError>();
        let base =
            class(py, "TrommelError", &[&exception], "Base class of the errors of this package.")?;
        let spec = "The filter cannot be made: the kind is unknown, a value is out of range, or the environment \
                    variable TROMMEL_ISA names an instruction set that cannot be used.";
        let full = "The filter has no room for a key. The call inserted ``inserted`` keys; the filter has ``length`` \
                    keys and can hold at most ``capacity``.";
        let format = "The bytes are not exactly one frozen filter: they are truncated or changed, or they are \
                      something else. Or the filter needs a secret key for hashing, and this package cannot take one.";
        let merge =
            "Two filters cannot be merged, because they differ, for example in kind, size or seed.";
        let unsupported =
            "This kind of filter does not support the operation, for example removing keys.";
        Ok(Self {
            spec: class(py, "SpecError", &[&base, &value_error], spec)?.unbind(),
            full: class(py, "FilterFull", &[&base], full)?.unbind(),
            format: class(py, "FormatError", &[&base, &value_error], format)?.unbind(),
            merge: class(py, "MergeError", &[&base, &value_error], merge)?.unbind(),
            unsupported: class(py, "UnsupportedError", &[&base, &type_error], unsupported)?
                .unbind(),
            base: base.unbind(),
        })
    }

    /// Adds the types to the module.
    pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let this = Self::get(module.py())?;
        module.add("TrommelError", &this.base)?;
        module.add("SpecError", &this.spec)?;
        module.add("FilterFull", &this.full)?;
        module.add("FormatError", &this.format)?;
        module.add("MergeError", &this.merge)?;
        module.add("UnsupportedError", &this.unsupported)
    }
}

/// Makes an exception class with several bases. PyO3's macro for exceptions accepts only one base.
fn class<'py>(
    py: Python<'py>,
    name: &str,
    bases: &[&Bound<'py, PyType>],
    doc: &str,
) -> PyResult<Bound<'py, PyType>> {
    let namespace = PyDict::new(py);
    namespace.set_item("__doc__", doc)?;
    namespace.set_item("__module__", "trommel")?;
    let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, namespace))?;
    Ok(class.cast_into::<PyType>()?)
}

/// Makes an exception of one of the types. If the types cannot be created, returns the error of their creation instead.
fn raise(py: Python<'_>, pick: fn(&Exceptions) -> &Py<PyType>, message: String) -> PyErr {
    match Exceptions::get(py) {
        Ok(types) => PyErr::from_type(pick(types).bind(py).clone(), message),
        Err(error) => error,
    }
}

pub(crate) fn unknown_kind(py: Python<'_>, kind: &str) -> PyErr {
    let kind = kind.chars().take(40).collect::<String>();
    raise(py, |types| &types.spec, format!("{kind:?}: {}", trommel::error::UnknownKind))
}

pub(crate) fn spec(py: Python<'_>, error: &SpecError) -> PyErr {
    match error {
        SpecError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => raise(py, |types| &types.spec, error.to_string()),
    }
}

pub(crate) fn full(py: Python<'_>, error: &Full) -> PyErr {
    let raised = raise(py, |types| &types.full, error.to_string());
    let value = raised.value(py);
    let numbers =
        [("inserted", error.inserted), ("length", error.len), ("capacity", error.capacity)];
    match numbers.iter().try_for_each(|(name, number)| value.setattr(*name, *number)) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

pub(crate) fn format(py: Python<'_>, error: &FormatError) -> PyErr {
    match error {
        FormatError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => raise(py, |types| &types.format, error.to_string()),
    }
}

pub(crate) fn merge(py: Python<'_>, error: &MergeError) -> PyErr {
    match error {
        MergeError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        MergeError::Full(error) => full(py, error),
        MergeError::Damaged(error) => format(py, error),
        MergeError::Unsupported(error) => unsupported(py, error),
        _ => raise(py, |types| &types.merge, error.to_string()),
    }
}

pub(crate) fn unsupported(py: Python<'_>, error: &Unsupported) -> PyErr {
    raise(py, |types| &types.unsupported, error.to_string())
}
