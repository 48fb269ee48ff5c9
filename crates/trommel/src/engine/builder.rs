//! The builder of an engine, and its errors.

use super::Engine;
use super::cost::{CostModel, Strategy};
use super::pool::Pool;
use alloc::sync::Arc;
use core::num::NonZero;

/// The largest number of threads of an engine.
const MAX_THREADS: usize = 1024;

/// The options of an engine. By default, an engine has one thread for each core that the process may use, no pinned
/// threads, and an unlimited memory budget.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct EngineBuilder {
    threads: Option<usize>,
    pin: bool,
    memory_budget: Option<usize>,
    strategy: Option<Strategy>,
    cost: CostModel,
}

/// The reason why an engine was not built.
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
    /// The number of threads is out of range.
    Threads {
        /// The number of threads that was asked for.
        threads: usize,
        /// The largest number allowed; the smallest is 1.
        max: usize,
    },
    /// The system refused to start a thread.
    Start {
        /// The number of threads to start. The caller's thread is not one of them.
        threads: usize,
        /// The system's message.
        why: alloc::string::String,
    },
}

impl EngineBuilder {
    trommel_base::setters! {
        /// Sets the number of threads, from 1 to 1024. The caller's thread is one of them, unless threads are pinned.
        /// The other threads start with the engine, and sleep while there is no work. The default is the number of
        /// cores that the process may use, given its affinity and the quotas of its container, but at most 1024.
        ///
        /// ```
        /// use trommel::Engine;
        /// assert_eq!(Engine::builder().threads(2).build()?.threads(), 2);
        /// # Ok::<(), trommel::engine::EngineError>(())
        /// ```
        threads(threads: usize) sets threads = Some(threads);

        /// Sets whether each thread is pinned to a core of its own. Threads are pinned only if the engine has at least
        /// two threads, the process may use at least one core per thread, and the system allows pinning;
        /// [`Engine::pinned_threads`] returns the number of pinned threads. The caller's thread is not pinned, and
        /// waits while the pinned threads work.
        ///
        /// ```
        /// use trommel::Engine;
        /// let engine = Engine::builder().threads(1).pin(true).build()?;
        /// assert!(engine.pinned_threads() <= 1); // the only thread is the caller's, which is not pinned
        /// # Ok::<(), trommel::engine::EngineError>(())
        /// ```
        pin(pin: bool) sets pin = pin;

        /// Sets an upper bound on the bytes of scratch memory that a call takes from the system. An allocation of 4 MiB
        /// or more counts with its size rounded up to whole huge pages of 2 MiB. Memory that the engine keeps between
        /// calls counts too, since a call uses or frees this memory. Each of several concurrent calls can take the full
        /// budget. With a budget of 0, no batch is partitioned.
        ///
        /// The filter itself, and the memory that a filter keeps for its inserts, do not count. Lists of tasks do not
        /// count either, nor do the answers for the keys that each thread is looking up, which take a bit per key.
        /// Memory that a call has freed can stay resident, since the allocator can keep it.
        ///
        /// ```
        /// use trommel::Engine;
        /// let engine = Engine::builder().threads(1).memory_budget(64 << 20).build()?;
        /// assert_eq!(engine.memory_budget(), 64 << 20);
        /// # Ok::<(), trommel::engine::EngineError>(())
        /// ```
        memory_budget(bytes: usize) sets memory_budget = Some(bytes);

        /// Sets one strategy for all batches, instead of letting the cost model choose. The strategy is used as far as
        /// the filter and the memory budget permit it. This option is meant for measurements.
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
        strategy(strategy: Strategy) sets strategy = Some(strategy);

        /// Sets the cost model by which strategies are chosen, for example one that was measured on your machine.
        ///
        /// ```
        /// use trommel::Engine;
        /// use trommel::engine::CostModel;
        /// let cost = CostModel { start_ns: 10_000.0, ..CostModel::default() };
        /// let engine = Engine::builder().threads(1).cost_model(cost).build()?;
        /// assert_eq!(engine.cost_model(), &cost);
        /// # Ok::<(), trommel::engine::EngineError>(())
        /// ```
        cost_model(cost: CostModel) sets cost = cost;
    }

    /// Builds the engine and starts its threads. Ends the program if the system refuses the memory that each thread
    /// needs, a few hundred bytes.
    ///
    /// ```
    /// use trommel::Engine;
    /// assert_eq!(Engine::builder().threads(1).build()?.threads(), 1);
    /// assert!(Engine::builder().threads(0).build().is_err());
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// [`EngineError`] if the number of threads is out of range, or the system refuses to start a thread.
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

trommel_base::error_messages! { EngineError {
    Self::Threads { threads, max } =>
        "{threads} threads were requested; the number must be from 1 to {max}";
    Self::Start { threads: 1, why } => "the system refused to start a thread: {why}";
    Self::Start { threads, why } => "the system refused to start {threads} threads: {why}";
}}
