//! Threads, and the scratch memory that is kept for them.

use super::EngineError;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, PoisonError};
use trommel_base::{Storage, Workers};

/// The most bytes of scratch memory that are kept from call to call.
const KEPT_BYTES: usize = 256 << 20;

/// The workers of an engine.
pub(super) struct Pool {
    /// None if there is only the caller.
    threads: Option<ThreadPool>,
    pinned: Arc<AtomicUsize>,
    memory: Mutex<Vec<Storage>>,
}

impl Pool {
    pub(super) fn start(threads: usize, pin: bool) -> Result<Self, EngineError> {
        let pinned = Arc::new(AtomicUsize::new(0));
        let memory = Mutex::default();
        if threads == 1 {
            return Ok(Self { threads: None, pinned, memory });
        }
        let mut builder = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| alloc::format!("trommel-{i}"));
        // The cores that the process may use. Threads that would have to share one are better left to the
        // system.
        let cores = core_affinity::get_core_ids().filter(|cores| cores.len() >= threads);
        if let (true, Some(cores)) = (pin, cores) {
            let pinned = Arc::clone(&pinned);
            builder = builder.start_handler(move |i| {
                let is_pinned = core_affinity::set_for_current(cores[i]);
                pinned.fetch_add(usize::from(is_pinned), Ordering::Relaxed);
            });
        }
        let refused = |error: rayon::ThreadPoolBuildError| EngineError::Start {
            threads,
            why: error.to_string(),
        };
        let pool = builder.build().map_err(refused)?;
        // Once every thread has been given something to do, all handlers have run.
        pool.broadcast(|_| ());
        Ok(Self { threads: Some(pool), pinned, memory })
    }

    pub(super) fn pinned_threads(&self) -> usize {
        self.pinned.load(Ordering::Relaxed)
    }

    pub(super) fn release_memory(&self) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Workers for Pool {
    fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Send + Sync) {
        match &self.threads {
            None => items.into_iter().for_each(work),
            // Item by item: when another program takes a core, the other threads do its part.
            Some(pool) => pool.install(|| {
                items.into_par_iter().with_max_len(1).for_each(work);
            }),
        }
    }

    fn take_memory(&self) -> Option<Storage> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_memory(&self, memory: Storage) {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = kept.iter().map(|storage| storage.len()).sum();
        if bytes.saturating_add(memory.len()) <= KEPT_BYTES {
            kept.push(memory);
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads())
            .field("pinned", &self.pinned_threads())
            .finish_non_exhaustive()
    }
}
