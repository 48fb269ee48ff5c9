//! The threads that large batches are worked on with, shared by all filters.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use trommel::Engine;
use trommel::engine::EngineBuilder;

/// Smaller batches take less time than it takes to wake threads.
pub(crate) const FEWEST_KEYS: usize = 1 << 15;

/// An engine, and the process that its threads belong to.
struct OfProcess {
    process: u32,
    engine: Engine,
}

/// Locked only by threads that are attached to the interpreter, and never across anything that detaches: a fork of the
/// process by Python happens in an attached thread too, so the child finds it unlocked.
static ENGINE: Mutex<Option<OfProcess>> = Mutex::new(None);

fn build(builder: EngineBuilder) -> PyResult<Engine> {
    builder.build().map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The engine of this process. It is made when it is first needed, and made anew in a child that was forked: threads do
/// not survive a fork.
pub(crate) fn engine(_attached: Python<'_>) -> PyResult<Engine> {
    let process = std::process::id();
    let mut slot = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(present) = slot.as_ref().filter(|present| present.process == process) {
        return Ok(present.engine.clone());
    }
    let threads = slot.as_ref().map(|parents| parents.engine.threads());
    let builder = Engine::builder();
    let engine = build(match threads {
        Some(threads) => builder.threads(threads),
        None => builder,
    })?;
    replace(&mut slot, OfProcess { process, engine: engine.clone() });
    Ok(engine)
}

/// An engine of another process is forgotten: to drop it would wait for threads that are not there.
fn replace(slot: &mut Option<OfProcess>, new: OfProcess) {
    let process = new.process;
    if let Some(old) = slot.replace(new)
        && old.process != process
    {
        std::mem::forget(old);
    }
}

/// Sets how many threads large batches are worked on with, by all filters of this process. By default there is one for
/// each core that the process may use. Answers and filters are the same with any number.
///
/// >>> import trommel
/// >>> trommel.set_threads(2)
///
/// Raises ValueError if that number of threads cannot be had.
#[pyfunction]
pub(crate) fn set_threads(_py: Python<'_>, threads: usize) -> PyResult<()> {
    let engine = Engine::builder()
        .threads(threads)
        .build()
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    let mut slot = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    replace(&mut slot, OfProcess { process: std::process::id(), engine });
    Ok(())
}
