//! How an engine is made, and how making one fails.

use super::Engine;
use super::cost::{CostModel, Strategy};
use super::pool::Pool;
use alloc::sync::Arc;
use core::fmt;
use core::num::NonZero;

/// The most threads of an engine.
const MAX_THREADS: usize = 1024;

/// The options of an engine. By default: a thread for every core that the process may use, not pinned, as
/// much scratch memory as batches take.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct EngineBuilder {
    threads: Option<usize>,
    pin: bool,
    memory_budget: Option<usize>,
    strategy: Option<Strategy>,
    cost: CostModel,
}

/// Why there is no engine.
///
/// ```
/// use trommel::Engine;
/// use trommel::engine::EngineError;
/// let refused = Engine::builder().threads(0).build();
/// assert!(matches!(refused, Err(EngineError::Threads { threads: 0, max: 1024 })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// The number of threads is out of range, or the system refuses them.
    Threads {
        /// Threads asked for.
        threads: usize,
        /// The most there can be; the least is 1.
        max: usize,
    },
    /// The system refused to start a thread.
    Start {
        /// Threads asked for.
        threads: usize,
        /// The system's message.
        why: alloc::string::String,
    },
}

impl EngineBuilder {
    /// How many threads work, at least 1. The thread of the caller is one of them; the others are started, and wait
    /// while there is nothing to do. Without a number, as many as the process may use cores: affinity and the
    /// quotas of containers count.
    ///
    /// ```
    /// use trommel::Engine;
    /// assert_eq!(Engine::builder().threads(2).build()?.threads(), 2);
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Whether each thread is pinned to a core of its own, as far as that is possible:
    /// [`Engine::pinned_threads`] says. The thread of the caller is left where it is, and waits for the others.
    ///
    /// ```
    /// use trommel::Engine;
    /// let engine = Engine::builder().threads(1).pin(true).build()?;
    /// assert!(engine.pinned_threads() <= 1); // 0 if the system refused
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// The most bytes of scratch memory that a call takes, as they are taken from the system: from 4 MiB on in whole
    /// huge pages of 2 MiB. The memory that the engine keeps between calls counts: a call uses or frees it. Calls that
    /// run at the same time take as much each. With 0, nothing is partitioned.
    ///
    /// The filter itself, and the memory that a filter keeps for its inserts, do not count. Memory that a call has
    /// given back to the allocator may stay resident, as the allocator decides.
    ///
    /// ```
    /// use trommel::Engine;
    /// let engine = Engine::builder().threads(1).memory_budget(64 << 20).build()?;
    /// assert_eq!(engine.memory_budget(), 64 << 20);
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    pub fn memory_budget(mut self, bytes: usize) -> Self {
        self.memory_budget = Some(bytes);
        self
    }

    /// A strategy for everything that can follow it, instead of the one that the cost model says: for
    /// measurements.
    ///
    /// ```
    /// use trommel::{Engine, KeyHash, SplitBlockBloom};
    /// use trommel::engine::Strategy;
    /// let engine = Engine::builder().threads(1).strategy(Strategy::Partitioned).build()?;
    /// let filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let hashes = [KeyHash::from_raw(7)];
    /// assert_eq!(engine.lookup_strategy(&filter, &hashes), Strategy::Partitioned);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// The cost model that strategies are chosen by, measured on another machine than the author's.
    ///
    /// ```
    /// use trommel::Engine;
    /// use trommel::engine::CostModel;
    /// let cost = CostModel { start_ns: 10_000.0, ..CostModel::default() };
    /// let engine = Engine::builder().threads(1).cost_model(cost).build()?;
    /// assert_eq!(engine.cost_model(), &cost);
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    pub fn cost_model(mut self, cost: CostModel) -> Self {
        self.cost = cost;
        self
    }

    /// Starts the threads.
    ///
    /// ```
    /// use trommel::Engine;
    /// assert_eq!(Engine::builder().threads(1).build()?.threads(), 1);
    /// assert!(Engine::builder().threads(0).build().is_err());
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// [`EngineError`] if the number of threads is 0 or absurd, or the system refuses to start one.
    pub fn build(self) -> Result<Engine, EngineError> {
        let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = self.threads.unwrap_or_else(|| available().min(MAX_THREADS));
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(EngineError::Threads { threads, max: MAX_THREADS });
        }
        let memory_budget = self.memory_budget.unwrap_or(usize::MAX);
        Ok(Engine {
            pool: Arc::new(Pool::start(threads, self.pin, memory_budget)?),
            memory_budget,
            strategy: self.strategy,
            cost: self.cost,
        })
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads { threads, max } => {
                write!(f, "{threads} threads asked for, which are not 1 to {max}")
            }
            Self::Start { threads, why } => write!(f, "{threads} threads were refused: {why}"),
        }
    }
}

impl core::error::Error for EngineError {}
