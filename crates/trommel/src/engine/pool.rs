//! The threads of an engine, and the scratch memory that it keeps.
//!
//! The caller's thread works as one of the engine's threads, unless these are pinned.
//!
//! Rejected: the caller wakes two threads and sleeps. On Linux 6.18 with two cores, both threads woke on the same core
//! in 7 to 25 of 100 calls, and one of them waited 2.9 ms until it was moved to the other core. Work that one thread
//! does in 1.0 ms took these two threads 0.88 ms. The caller and one more thread do the same work in 0.49 ms. Two
//! pinned threads are never on the same core, and also take 0.49 ms, while the caller sleeps. So if threads are pinned,
//! the caller sleeps.
//!
//! While a thread of a Rayon pool waits for another pool, it runs jobs of its own pool. If the thread holds a lock and
//! such a job needs the same lock, the thread waits for itself. So if the caller is a thread of another Rayon pool, the
//! caller starts a thread that belongs to no pool. The new thread does what the caller would do otherwise, and the
//! caller sleeps until the new thread has finished.

use super::EngineError;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use trommel_base::{ScratchRequest, Storage, Tasks, Workers};

/// The most bytes of scratch memory that an engine keeps between calls. For a table of up to 4 GiB, this is enough for
/// the largest chunk (the keys that are grouped at a time, see [`chunk_bytes`](trommel_base::partition::chunk_bytes)).
const KEPT_BYTES: usize = 1 << 30;

/// The workers of an engine.
pub(super) struct Pool {
    threads: ThreadSet,
    pinned: Arc<AtomicUsize>,
    kept: Mutex<Vec<Storage>>,
    /// The most bytes of scratch memory to keep between calls.
    most_kept_bytes: usize,
}

/// The caller's thread as the only worker, with the memory that the pool keeps.
pub(super) struct CallerOf<'p>(pub(super) &'p Pool);

/// The threads of an engine.
enum ThreadSet {
    Caller,
    /// The caller's thread and those of the pool.
    CallerAnd(ThreadPool),
    /// Threads, each pinned to a core of its own. The caller's thread waits for them.
    Pinned(ThreadPool),
}

impl Pool {
    /// Starts the threads, unless the caller's thread is the only one. Pins them if `pin` is set and there are enough
    /// cores. The pool will keep scratch memory between calls: at most `memory_budget` bytes, and never more than
    /// [`KEPT_BYTES`].
    pub(super) fn start(
        threads: usize,
        pin: bool,
        memory_budget: usize,
    ) -> Result<Self, EngineError> {
        let pinned = Arc::new(AtomicUsize::new(0));
        // The cores that the process may use. If there are fewer cores than threads, some threads share a core. For
        // such threads, the system's scheduling is better than pinning, so no thread is pinned.
        let cores = || core_affinity::get_core_ids().filter(|cores| cores.len() >= threads);
        let cores = if pin { cores() } else { None };
        let pool = |threads: usize, builder: ThreadPoolBuilder| {
            let pool = builder.num_threads(threads).thread_name(|i| alloc::format!("trommel-{i}"));
            let refused = |error: rayon::ThreadPoolBuildError| EngineError::Start {
                threads,
                why: error.to_string(),
            };
            pool.build().map_err(refused)
        };
        let set = match (threads, cores) {
            (1, _) => ThreadSet::Caller,
            (_, None) => ThreadSet::CallerAnd(pool(threads - 1, ThreadPoolBuilder::new())?),
            (_, Some(cores)) => {
                let pinned = Arc::clone(&pinned);
                let (started, all_started) = sync_channel(threads);
                let builder = ThreadPoolBuilder::new().start_handler(move |i| {
                    let is_pinned = core_affinity::set_for_current(cores[i]);
                    pinned.fetch_add(usize::from(is_pinned), Ordering::Relaxed);
                    // `send` never waits, since the channel has room for a message of every thread. It fails only if
                    // another thread could not be started, in which case nobody receives the messages.
                    let _ = started.send(());
                });
                let pool = pool(threads, builder)?;
                all_started.iter().take(threads).for_each(drop);
                ThreadSet::Pinned(pool)
            }
        };
        let most_kept_bytes = KEPT_BYTES.min(memory_budget);
        Ok(Self { threads: set, pinned, kept: Mutex::default(), most_kept_bytes })
    }

    pub(super) fn pinned_threads(&self) -> usize {
        self.pinned.load(Ordering::Relaxed)
    }

    pub(super) fn release_memory(&self) {
        self.lock_kept().clear();
    }

    fn lock_kept(&self) -> MutexGuard<'_, Vec<Storage>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn memory_bytes(pieces: &[Storage]) -> usize {
    pieces.iter().map(Storage::memory_bytes).sum()
}

impl Workers for Pool {
    fn threads(&self) -> usize {
        match &self.threads {
            ThreadSet::Caller => 1,
            ThreadSet::CallerAnd(others) => 1 + others.current_num_threads(),
            ThreadSet::Pinned(all) => all.current_num_threads(),
        }
    }

    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>) {
        let (others, caller_works) = match &self.threads {
            ThreadSet::CallerAnd(others) => (others, true),
            ThreadSet::Pinned(all) => (all, false),
            ThreadSet::Caller => return tasks.for_each(|task| task()),
        };
        let helpers = tasks.len().saturating_sub(usize::from(caller_works));
        // If a filter's own method calls the engine, the calling thread can be a worker of this pool. Such a worker
        // does the work alone, since the other workers might be waiting for it.
        if helpers == 0 || others.current_thread_index().is_some() {
            return tasks.for_each(|task| task());
        }
        let tasks = Mutex::new(tasks);
        // Threads take one task at a time: if another program takes a thread's core, the other threads do that thread's
        // share. The lock is not held while a task runs, so a panic does not poison it.
        let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work_on = || core::iter::from_fn(next).for_each(|task| task());
        let work_with_others = || {
            others.in_place_scope(|scope| {
                for _ in 0..helpers.min(others.current_num_threads()) {
                    scope.spawn(|_| work_on());
                }
                if caller_works {
                    work_on();
                }
            });
        };
        if rayon::current_thread_index().is_none() {
            return work_with_others();
        }
        thread::scope(|scope| {
            let representative = thread::Builder::new().name("trommel-caller".to_string());
            match representative.spawn_scoped(scope, work_with_others).map(ScopedJoinHandle::join) {
                Ok(Ok(())) => {}
                Ok(Err(panic)) => resume_unwind(panic),
                // No thread could be started: the caller does all of the work.
                Err(_) => work_on(),
            }
        });
    }

    fn take_memory(&self, request: ScratchRequest) -> Vec<Storage> {
        let ScratchRequest { pieces, piece_bytes, most_bytes } = request;
        let new_bytes = Storage::memory_bytes_for(piece_bytes);
        let mut kept = self.lock_kept();
        kept.sort_unstable_by_key(|piece| piece.len());
        // Takes the smallest pieces that are large enough.
        let first = kept.partition_point(|piece| piece.len() < piece_bytes);
        let end = kept.len().min(first.saturating_add(pieces));
        // If there is no memory for the list, no piece is taken.
        let mut taken = Vec::new();
        if taken.try_reserve_exact(end - first).is_ok() {
            taken.extend(kept.drain(first..end));
        }
        let fits = |taken: &[Storage], kept: &[Storage]| {
            let missing_bytes = new_bytes.saturating_mul(pieces.saturating_sub(taken.len()));
            memory_bytes(taken)
                .checked_add(memory_bytes(kept))
                .and_then(|bytes| bytes.checked_add(missing_bytes))
                .is_some_and(|bytes| bytes <= most_bytes)
        };
        // Until the limit `most_bytes` holds, frees kept pieces that this call does not use, then taken pieces that are
        // larger than new pieces would be.
        while !fits(&taken, &kept) && kept.pop().is_some() {}
        while !fits(&taken, &kept)
            && taken.pop_if(|piece| piece.memory_bytes() > new_bytes).is_some()
        {}
        taken
    }

    fn give_memory(&self, memory: Storage) {
        let mut kept = self.lock_kept();
        let bytes = memory_bytes(&kept).saturating_add(memory.memory_bytes());
        if bytes <= self.most_kept_bytes && kept.try_reserve(1).is_ok() {
            kept.push(memory);
        }
    }
}

impl Workers for CallerOf<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>) {
        tasks.for_each(|task| task());
    }

    fn take_memory(&self, request: ScratchRequest) -> Vec<Storage> {
        self.0.take_memory(request)
    }

    fn give_memory(&self, memory: Storage) {
        self.0.give_memory(memory);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn pools() -> impl Iterator<Item = Pool> {
        let of = |threads| [false, true].map(|pin| Pool::start(threads, pin, 0).unwrap());
        [1, 2, 5].into_iter().flat_map(of)
    }

    #[test]
    fn every_item_is_processed_once() {
        for pool in pools() {
            for items in [0, 1, 2, 1000] {
                let (workers, mut done): (&dyn Workers, _) = (&pool, alloc::vec![0; items]);
                workers.for_each(items, &mut done, |times| *times += 1).unwrap();
                assert_eq!(done, alloc::vec![1; items], "{pool:?}");
            }
        }
    }

    /// After the caller has caught the panic, no work is running, and the pool can be used again.
    #[test]
    fn a_panic_reaches_the_caller_after_all_work_has_stopped() {
        for pool in pools() {
            let running = AtomicUsize::new(0);
            let work = |item: usize| {
                assert!(item != 3, "a bad item");
                running.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_micros(100));
                running.fetch_sub(1, Ordering::SeqCst);
            };
            let workers: &dyn Workers = &pool;
            let call = || workers.for_each(100, 0..100, work);
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err(), "{pool:?}: no panic");
            assert_eq!(running.load(Ordering::SeqCst), 0);
            let mut done = [0; 10];
            workers.for_each(10, &mut done, |times| *times += 1).unwrap();
            assert_eq!(done, [1; 10], "{pool:?}");
        }
    }
}
