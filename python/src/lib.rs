//! Trommel's filters for Python: the extension module `trommel`.

mod answers;
mod arrow;
mod batch;
mod buffer;
mod errors;
mod filter;
mod hashes;
mod iterable;
mod key;
mod lock;
mod numpy;
mod output;
mod threads;
mod view;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use trommel::{FilterKind, Hasher};

/// Approximate-membership filters: Bloom, quotient and cuckoo.
///
/// >>> import trommel
/// >>> f = trommel.Filter(keys=1_000, fpr=0.01)
/// >>> f.update(["anvil", "forge"])
/// >>> "anvil" in f, "tongs" in f
/// (True, False)
#[pymodule(name = "trommel")]
fn trommel_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module
        .add("KINDS", PyTuple::new(module.py(), FilterKind::ALL.iter().map(|kind| kind.name()))?)?;
    module.add_class::<lock::PyFilter>()?;
    module.add_class::<view::PyFilterView>()?;
    module.add_function(wrap_pyfunction!(hash_key, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_threads, module)?)?;
    errors::Exceptions::add_to(module)
}

/// Returns the 64-bit hash of a key. The hash is the same on every machine. It is also the same in Rust and C, where an
/// int must be hashed as an integer of 64 bits.
///
/// >>> hex(trommel.hash_key(""))
/// '0x2d06800538d394c2'
/// >>> trommel.hash_key("anvil") == trommel.hash_key(b"anvil")
/// True
#[pyfunction]
#[pyo3(signature = (key, seed = 0))]
fn hash_key(key: &Bound<'_, PyAny>, seed: u64) -> PyResult<u64> {
    Ok(key::hash(&Hasher::xxh3(seed), key)?.raw())
}
