//! The engine, which builds and probes filters on all cores.

mod builder;
mod cost;
mod pool;
mod probe;
mod skew;
mod stream;

pub use crate::sharded::{MAX_SHARDS, ShardedFilter};
pub use builder::{EngineBuilder, EngineError};
#[doc(hidden)]
pub use cost::{ACCESSES_PER_LINE, TABLE_BYTES};
pub use cost::{CostModel, LineCost, Strategy};
pub use stream::{
    Cancel, IntegerBatches, KeyBatch, LineBatches, Lines, Progress, Stream, StreamError,
};
pub use trommel_base::InsertBulk;

use crate::any::AnyFilter;
use crate::spec::{BuildError, FilterSpec};
use alloc::sync::Arc;
use pool::{CallerOf, Pool};
use trommel_base::{Bitmap, Bulk, Filter, Full, KeyHash, Workers as _};

/// Builds, fills and probes filters of every kind on all cores. An engine holds threads, scratch memory and a cost
/// model.
///
/// For each batch, a [`CostModel`] chooses a strategy, mainly by the sizes of batch and filter and the number of
/// threads:
///
/// - *direct*: the filter's own batch methods, with prefetches. Lookups, and inserts into Bloom filters without
///   counters, can run on all threads, each with a part of the keys; for inserts, each thread fills a table of its own,
///   and the tables are united at the end;
/// - *partitioned*: keys are first grouped by the piece of the table that they access. All threads process pieces, but
///   each piece is processed by only one thread, in the cache of that thread's core, without atomics. Answers are in
///   the order of the keys.
///
/// Small batches run on the caller's thread. The filter and the answers are the same, byte for byte, with every
/// strategy and any number of threads. (The exception is a cuckoo filter: if the memory budget is too small for its
/// bulk build, or the system refuses the memory for the build, fingerprints are in other slots than after a bulk build,
/// and the answers for some absent keys can differ.)
///
/// ```
/// use trommel::{Bitmap, Engine, Filter, FilterKind, FilterSpec, Hasher};
///
/// let engine = Engine::builder().threads(2).build()?;
/// let keys: Vec<u64> = (0..100_000).collect();
/// let mut hashes = Vec::new();
/// Hasher::default().hash_batch(&keys, &mut hashes);
///
/// let filter = engine.build(&FilterSpec::new(FilterKind::SplitBlockBloom).fpr(0.01), &hashes)?;
/// let mut found = Bitmap::new(0);
/// engine.contains_batch(&filter, &hashes, &mut found);
/// assert_eq!(found.count_ones(), keys.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Make one engine and share it: its methods take `&self`, and concurrent calls share its workers. A panic of a
/// worker becomes a panic of the caller, once every worker has left the call.
///
/// # Which threads may call it, and with which locks held
/// Any thread may call an engine: a plain thread, a worker of a Rayon pool, a thread for blocking work of an async
/// runtime. The caller may hold a lock, unless a call on this engine takes the same lock. A call waits for its own
/// work, and also for workers that are still busy with other calls. If the caller is a worker of another Rayon pool,
/// the call runs no jobs of that pool while it waits. For this purpose, such a call starts a thread each time that it
/// needs the engine's workers.
///
/// A call runs methods of the filter on the caller's thread and on the engine's workers. A [`Stream`] runs its source,
/// and [`KeyBatch::hash_all`], on threads that it starts. If a method of the filter, a source or a `hash_all` takes a
/// lock, do not hold that lock during a call on the same engine. The call could wait for ever, for a worker or thread
/// that waits for the lock. The filters of this crate take no locks, except [`ShardedFilter`], which holds a shard's
/// lock only during its own work. If a method of the filter calls the engine again from a worker, that call runs on
/// that worker alone.
#[derive(Clone, Debug)]
pub struct Engine {
    pool: Arc<Pool>,
    memory_budget: usize,
    strategy: Option<Strategy>,
    cost: CostModel,
}

impl Engine {
    /// Returns a builder, which sets threads, pinning and memory.
    ///
    /// ```
    /// use trommel::Engine;
    /// let engine = Engine::builder().threads(1).memory_budget(1 << 20).build()?;
    /// assert_eq!((engine.threads(), engine.memory_budget()), (1, 1 << 20));
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// The number of threads.
    ///
    /// ```
    /// use trommel::Engine;
    /// assert_eq!(Engine::builder().threads(2).build()?.threads(), 2);
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The number of threads that are pinned to a core of their own. It is 0 if pinning was not requested, if there is
    /// only one thread, if the process may use fewer cores than there are threads, or if the system refused to pin
    /// them.
    ///
    /// ```
    /// use trommel::Engine;
    /// assert_eq!(Engine::builder().threads(2).build()?.pinned_threads(), 0); // not asked for
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    #[must_use]
    pub fn pinned_threads(&self) -> usize {
        self.pool.pinned_threads()
    }

    /// The upper bound on the bytes of scratch memory of a call, as set by [`EngineBuilder::memory_budget`].
    ///
    /// ```
    /// use trommel::Engine;
    /// assert_eq!(Engine::builder().threads(1).build()?.memory_budget(), usize::MAX);
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    #[must_use]
    pub fn memory_budget(&self) -> usize {
        self.memory_budget
    }

    /// The cost model by which strategies are chosen.
    ///
    /// ```
    /// use trommel::Engine;
    /// use trommel::engine::CostModel;
    /// assert_eq!(Engine::builder().threads(1).build()?.cost_model(), &CostModel::default());
    /// # Ok::<(), trommel::engine::EngineError>(())
    /// ```
    #[must_use]
    pub fn cost_model(&self) -> &CostModel {
        &self.cost
    }

    /// Frees the scratch memory that the engine keeps between calls. An engine never keeps more than the memory budget,
    /// nor more than 1 GiB.
    ///
    /// ```
    /// use trommel::{Engine, Filter, FilterKind, FilterSpec, Hasher};
    /// let engine = Engine::builder().threads(1).build()?;
    /// let hashes = [Hasher::default().hash("anvil")];
    /// let filter = engine.build(&FilterSpec::new(FilterKind::Quotient), &hashes)?;
    /// engine.release_memory(); // no build follows soon
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_memory(&self) {
        self.pool.release_memory();
    }

    /// Makes a filter and inserts the keys. If the spec does not set the number of keys, the filter is made for the
    /// number of `hashes`.
    ///
    /// ```
    /// use trommel::{Engine, Filter, FilterKind, FilterSpec, Hasher};
    /// let engine = Engine::builder().threads(2).build()?;
    /// let mut hashes = Vec::new();
    /// Hasher::default().hash_batch(&["anvil", "forge"], &mut hashes);
    /// let filter = engine.build(&FilterSpec::new(FilterKind::Cuckoo), &hashes)?;
    /// assert!(filter.contains("anvil") && filter.contains("forge"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the spec cannot be met, memory is refused, or the keys do not fit.
    pub fn build(&self, spec: &FilterSpec, hashes: &[KeyHash]) -> Result<AnyFilter, BuildError> {
        let mut filter = spec.or_keys(hashes.len()).build()?;
        self.insert_batch(&mut filter, hashes)?;
        Ok(filter)
    }

    /// Inserts a batch. The filter is the same, byte for byte, as after [`Insert::insert_batch`](crate::Insert). (A
    /// cuckoo filter can differ if there is too little memory for its bulk build: see [`Engine`].)
    ///
    /// Scratch memory, within the budget: a direct insert into a Bloom filter on several threads takes the size of the
    /// table for every thread but one. A partitioned insert takes about 9 bytes per key; in a standard filter, it takes
    /// about 4.5 bytes for every bit that a key sets. Besides the budget, the scratch memory of a partitioned insert
    /// has a bound of its own: the size of the table, but at least 256 MiB and at most 1 GiB; for a table of more than
    /// 4 GiB, a quarter of the table. If the bound or the budget is too small for the whole batch, the batch is
    /// inserted in chunks. If the bound or the budget is too small even for a useful chunk, or if the system refuses
    /// memory, the batch, or what is left of it, is inserted directly. For filters with counters or slots, see their
    /// `insert_bulk`.
    ///
    /// ```
    /// use trommel::{Engine, Filter, SplitBlockBloom};
    /// let engine = Engine::builder().threads(2).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(100_000, 0.01)?;
    /// let mut hashes = Vec::new();
    /// filter.hasher().hash_batch(&(0..100_000u64).collect::<Vec<_>>(), &mut hashes);
    /// engine.insert_batch(&mut filter, &hashes)?;
    /// assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`] if there is no room for all keys, or if the system refuses memory that the inserts need. The error has
    /// the number of keys that were inserted.
    ///
    /// # Panics
    /// If a worker panics. The contents of the filter are then unknown: drop it.
    pub fn insert_batch<F: InsertBulk>(
        &self,
        filter: &mut F,
        hashes: &[KeyHash],
    ) -> Result<(), Full> {
        if self.is_small(hashes) && filter.lines_per_insert().is_some() {
            return filter.insert_batch(hashes);
        }
        let on_all = self.on_all();
        match (self.insert_strategy(filter, hashes), filter.lines_per_insert()) {
            (Strategy::Direct, Some(lines)) => {
                let (keys, bytes) = (hashes.len(), filter.memory_bytes());
                if self.cost.is_worth_slices(keys, bytes, lines, filter.slices(on_all))
                    && !skew::is_skewed(hashes)
                {
                    filter.insert_slices(hashes, on_all)
                } else {
                    filter.insert_batch(hashes)
                }
            }
            // The filter groups keys by itself, within the budget, on the caller's thread.
            (Strategy::Direct, None) => {
                let (workers, scratch_bytes) = (&CallerOf(&self.pool), self.memory_budget);
                filter.insert_bulk(hashes, Bulk { workers, scratch_bytes })
            }
            (Strategy::Partitioned, _) => filter.insert_bulk(hashes, on_all),
        }
    }

    /// Whether the cost model can be skipped: no strategy was set, and the batch is so small that one thread would
    /// process all of it. Evaluating the model took up to a ninth of the time of a thousand lookups.
    fn is_small(&self, hashes: &[KeyHash]) -> bool {
        self.strategy.is_none() && hashes.len() <= probe::FEWEST_KEYS_AT_A_TIME
    }

    /// Returns the strategy if it is known without the cost model: a strategy was set, or the batch is small.
    fn settled_strategy(&self, hashes: &[KeyHash]) -> Option<Strategy> {
        self.strategy.or_else(|| self.is_small(hashes).then_some(Strategy::Direct))
    }

    /// All threads, and the memory that they may take together.
    fn on_all(&self) -> Bulk<'_> {
        Bulk { workers: &*self.pool, scratch_bytes: self.memory_budget }
    }

    /// Looks up a batch: bit `i` of `found` becomes the answer for `hashes[i]`. `found` gets the batch's length, and
    /// reuses its allocation if that is large enough.
    ///
    /// Scratch memory, within the budget: a partitioned batch takes about 9 bytes per key. This memory has the same
    /// bound as the scratch memory of a partitioned insert: see [`Engine::insert_batch`]. If the bound or the budget is
    /// too small for the whole batch, the batch is looked up in chunks or directly. If the system refuses scratch
    /// memory, the batch is looked up directly. If the allocation of `found` is too small and the system refuses a
    /// larger one, the call ends the program. To get an error instead, call [`Bitmap::try_reserve`] first.
    ///
    /// ```
    /// use trommel::{Bitmap, Engine, Filter, SplitBlockBloom};
    /// let engine = Engine::builder().threads(2).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("forge");
    /// let hashes = ["anvil", "forge"].map(|key| filter.hash(key));
    /// let mut found = Bitmap::new(0);
    /// engine.contains_batch(&filter, &hashes, &mut found);
    /// assert_eq!(found.iter_ones().collect::<Vec<_>>(), [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If a worker panics.
    pub fn contains_batch<F: Filter + Sync>(
        &self,
        filter: &F,
        hashes: &[KeyHash],
        found: &mut Bitmap,
    ) {
        if self.is_small(hashes) {
            return filter.contains_batch(hashes, found);
        }
        let strategy = self.lookup_strategy(filter, hashes);
        probe::contains_batch(self, filter, hashes, found, strategy);
    }

    /// The strategy with which [`Engine::insert_batch`] would insert the keys of these hashes. (If there is too little
    /// memory for [`Strategy::Partitioned`], [`Engine::insert_batch`] inserts the keys directly instead.)
    ///
    /// ```
    /// use trommel::{Engine, KeyHash, SplitBlockBloom};
    /// use trommel::engine::Strategy;
    /// let engine = Engine::builder().threads(2).build()?;
    /// let filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let few = [KeyHash::from_raw(7)];
    /// assert_eq!(engine.insert_strategy(&filter, &few), Strategy::Direct);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn insert_strategy<F: InsertBulk>(&self, filter: &F, hashes: &[KeyHash]) -> Strategy {
        if let Some(strategy) = self.settled_strategy(hashes) {
            return strategy;
        }
        let (bytes, threads) = (filter.memory_bytes(), self.threads());
        let Some(lines) = filter.lines_per_insert() else {
            return self.cost.of_bulk(hashes.len(), threads);
        };
        let slices = filter.slices(self.on_all());
        let strategy = self.cost.of_insert(hashes.len(), bytes, lines, threads, slices);
        unless_skewed(strategy, hashes)
    }

    /// The strategy with which [`Engine::contains_batch`] would look up the keys of these hashes. (If there is too
    /// little memory for [`Strategy::Partitioned`], [`Engine::contains_batch`] looks the keys up directly instead.)
    ///
    /// ```
    /// use trommel::{BloomFilter, Engine, KeyHash};
    /// use trommel::engine::Strategy;
    /// let engine = Engine::builder().threads(2).strategy(Strategy::Partitioned).build()?;
    /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// // In a standard filter, the bits of a key are spread over the whole table, so grouping would gain nothing.
    /// assert_eq!(engine.lookup_strategy(&filter, &[KeyHash::from_raw(7)]), Strategy::Direct);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lookup_strategy<F: Filter>(&self, filter: &F, hashes: &[KeyHash]) -> Strategy {
        if !filter.is_ordered_by_hash() {
            return Strategy::Direct;
        }
        if let Some(strategy) = self.settled_strategy(hashes) {
            return strategy;
        }
        let strategy = self.cost.of_lookup(hashes.len(), filter.memory_bytes(), self.threads());
        unless_skewed(strategy, hashes)
    }
}

/// Chooses direct processing for skewed keys: most of their cache lines are in the caches already, so grouping costs
/// more time than it saves.
fn unless_skewed(strategy: Strategy, hashes: &[KeyHash]) -> Strategy {
    if strategy == Strategy::Partitioned && skew::is_skewed(hashes) {
        return Strategy::Direct;
    }
    strategy
}
