//! Threads for tests of calls that split their work between several threads.

use std::sync::{Mutex, PoisonError};
use trommel_base::{Tasks, Workers};

/// Workers that start this number of threads for each list of tasks. A free thread takes the next task.
#[derive(Clone, Copy, Debug)]
pub struct ScopedThreads(pub usize);

impl Workers for ScopedThreads {
    fn threads(&self) -> usize {
        self.0
    }

    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>) {
        let queue = Mutex::new(tasks);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        std::thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(|| {
                    while let Some(task) = next() {
                        task();
                    }
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_piece_is_worked_on_once() {
        for threads in [1, 2, 7] {
            let sum = AtomicU64::new(0);
            let workers: &dyn Workers = &ScopedThreads(threads);
            let add = |item: u64| _ = sum.fetch_add(1_u64 << (item % 50), Ordering::Relaxed);
            workers.for_each(100, 0..100u64, add).unwrap();
            assert_eq!(sum.into_inner(), 2 * ((1 << 50) - 1), "{threads} threads");
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_after_all_other_pieces() {
        let done = AtomicU64::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let workers: &dyn Workers = &ScopedThreads(3);
            workers.for_each(20, 0..20, |item| {
                assert_ne!(item, 7);
                done.fetch_add(1, Ordering::Relaxed);
            })
        }));
        assert!(result.is_err());
        assert_eq!(done.into_inner(), 19);
    }
}
