//! Threads for tests of work that several threads can share.

use std::sync::{Mutex, PoisonError};
use trommel_base::Workers;

/// Workers that start this number of threads for each list of pieces. A free thread takes the next piece.
#[derive(Clone, Copy, Debug)]
pub struct ScopedThreads(pub usize);

impl Workers for ScopedThreads {
    fn threads(&self) -> usize {
        self.0
    }

    fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Send + Sync) {
        let queue = Mutex::new(items.into_iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        std::thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(|| {
                    while let Some(item) = next() {
                        work(item);
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
            ScopedThreads(threads).for_each((0..100u64).collect(), |item| {
                sum.fetch_add(1 << (item % 50), Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 2 * ((1 << 50) - 1), "{threads} threads");
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_after_all_other_pieces() {
        let done = AtomicU64::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            ScopedThreads(3).for_each((0..20).collect(), |item| {
                assert_ne!(item, 7);
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert!(result.is_err());
        assert_eq!(done.into_inner(), 19);
    }
}
