//! The threads that all filters share for large batches.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use trommel::Engine;
use trommel::engine::EngineBuilder;

/// Batches of at least this number of keys use several threads. In a smaller batch, several threads would save less
/// time than it takes to wake them.
pub(crate) const FEWEST_KEYS: usize = 1 << 15;

/// An engine, and the id of the process to which its threads belong.
struct OfProcess {
    process: u32,
    engine: Engine,
}

/// The shared engine, once it is made. A thread that locks this mutex is always attached to the interpreter, and does
/// not detach while it holds the mutex. Python forks the process in an attached thread, so at a fork no other thread
/// holds the mutex, and the child process finds it unlocked.
static ENGINE: Mutex<Option<OfProcess>> = Mutex::new(None);

fn build(builder: EngineBuilder) -> PyResult<Engine> {
    builder.build().map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The engine of this process, which is made when it is first needed. Threads do not survive a fork, so a forked child
/// process makes a new engine, with as many threads as its parent's engine has.
pub(crate) fn engine(_attached: Python<'_>) -> PyResult<Engine> {
    let process = std::process::id();
    let mut slot = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(present) = slot.as_ref().filter(|present| present.process == process) {
        return Ok(present.engine.clone());
    }
    let threads = slot.as_ref().map(|parent| parent.engine.threads());
    let builder = Engine::builder();
    let engine = build(match threads {
        Some(threads) => builder.threads(threads),
        None => builder,
    })?;
    replace(&mut slot, OfProcess { process, engine: engine.clone() });
    Ok(engine)
}

/// Replaces the engine. An old engine of another process is forgotten, because dropping it would wait for threads that
/// do not exist in this process.
fn replace(slot: &mut Option<OfProcess>, new: OfProcess) {
    let process = new.process;
    if let Some(old) = slot.replace(new)
        && old.process != process
    {
        std::mem::forget(old);
    }
}

/// Sets the number of threads that all filters of this process use for large batches. By default it is the number of
/// cores that the process may use. The number does not change answers or filters.
///
/// >>> import trommel
/// >>> trommel.set_threads(2)
///
/// Raises ValueError if this number of threads cannot be started.
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
