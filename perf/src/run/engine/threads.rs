//! Starts the threads of the engine, and a pool of threads for rivals and shared filters. All these threads must be
//! started before the measuring thread is pinned to a core, since new threads inherit its pinning. If there are enough
//! cores, each thread of the pool is pinned to its own core. Without this pinning, Linux often wakes two of the pool's
//! threads on the same core when the measuring thread goes to sleep and waits for them. The engine's threads are not
//! pinned. They do not need pinning, since the engine's caller works too instead of waiting.

use crate::base::failure::bad_input;
use crate::measure::plan::MAX_THREADS;
use anyhow::{Context as _, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZero;
use std::sync::Arc;
use trommel::Engine;
use trommel::engine::{CostModel, Strategy};

/// Three engines and a pool, with `threads` threads each. One engine chooses its strategy; each of the other two is
/// forced to one strategy.
#[derive(Debug)]
pub(crate) struct ThreadSet {
    pub(crate) threads: usize,
    /// The engine that chooses strategies by the cost model.
    pub(crate) engine: Engine,
    pub(crate) direct: Engine,
    pub(crate) partitioned: Engine,
    /// The threads for rivals and shared filters; `None` if `threads` is 1, since rivals and shared filters then run on
    /// the calling thread.
    pub(crate) pool: Option<Arc<ThreadPool>>,
}

impl ThreadSet {
    /// Starts all threads; they sleep until they are given work.
    ///
    /// # Errors
    /// Bad input if an engine cannot have `threads` threads. Another error if the threads of the pool cannot be
    /// started.
    pub(crate) fn start(threads: usize, cost: CostModel) -> Result<Self> {
        let engine = |strategy: Option<Strategy>| {
            let mut builder = Engine::builder().threads(threads).cost_model(cost);
            if let Some(strategy) = strategy {
                builder = builder.strategy(strategy);
            }
            builder.build().map_err(|error| bad_input(error.to_string()))
        };
        let pool = if threads == 1 {
            None
        } else {
            let cores = core_affinity::get_core_ids().filter(|cores| cores.len() >= threads);
            let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(move |i| {
                // Best effort: unpinned threads are at worst slower.
                let _ =
                    cores.as_ref().is_some_and(|cores| core_affinity::set_for_current(cores[i]));
            });
            Some(Arc::new(pool.build().context("cannot start the threads of rivals")?))
        };
        Ok(Self {
            threads,
            engine: engine(None)?,
            direct: engine(Some(Strategy::Direct))?,
            partitioned: engine(Some(Strategy::Partitioned))?,
            pool,
        })
    }

    /// Starts a set for each number in `threads`, in the order of `threads`.
    pub(crate) fn start_all(threads: &[usize], cost: CostModel) -> Result<Vec<Self>> {
        threads.iter().map(|threads| Self::start(*threads, cost)).collect()
    }

    /// Releases the scratch memory of all engines, so that the next measurement includes allocating it.
    pub(crate) fn release_memory(&self) {
        for engine in [&self.engine, &self.direct, &self.partitioned] {
            engine.release_memory();
        }
    }
}

/// Returns the numbers of threads that are measured, in ascending order: those in `asked` or, by default, 1 and the
/// number of cores (at most [`MAX_THREADS`]).
pub(crate) fn numbers_of_threads(asked: Option<&[usize]>) -> Vec<usize> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let mut numbers = asked.map_or_else(|| vec![1, cores()], <[usize]>::to_vec);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_are_sorted_and_distinct() {
        assert_eq!(numbers_of_threads(Some(&[2, 1, 2])), [1, 2]);
        let default = numbers_of_threads(None);
        assert_eq!(default[0], 1);
        assert!(default.len() <= 2);
    }

    #[test]
    fn too_many_threads_are_bad_input() {
        for threads in [0, MAX_THREADS + 1] {
            let error = ThreadSet::start(threads, CostModel::default()).unwrap_err();
            assert!(error.is::<crate::base::failure::BadInput>(), "{error}");
        }
    }
}
