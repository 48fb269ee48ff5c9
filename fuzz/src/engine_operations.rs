//! Runs the same operations on two filters of one kind: on one filter by its own methods, on the other through an
//! engine. The two filters must give the same results, and all keys must be found. Also lets two threads change one
//! filter at the same time.
//!
//! The engines have one or two threads. Engines with two threads split even small batches among them. With some of the
//! strategies and memory budgets, even small batches are grouped by pieces of the table. The timing of threads differs
//! from run to run, so an input that failed once can succeed when it is repeated.

use super::bloom_model::FOUR_BITS;
use super::input::{Input, isa};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread;
use trommel::bloom::{Bloom, Layout};
use trommel::engine::{Cancel, CostModel, Progress, ShardedFilter, Strategy, StreamError};
use trommel::{
    AnyFilter, Bitmap, Engine, Filter, FilterAccumulator, FilterKind, FilterPolicy, FilterSpec,
    FilterView, Full, Insert as _, InsertShared, KeyHash,
};

/// The most operations per input.
const MOST_OPERATIONS: usize = 20;
/// The most operations per input that use two threads. To start or wake a thread takes longer than most operations.
const MOST_WITH_THREADS: usize = 2;
/// An input ends when the filters hold more keys than this.
const MOST_KEYS: usize = 20_000;
/// The load at which a filter grows, if it grows by itself.
const GROW_AT: f64 = 0.85;
/// Memory budgets: no limit, a limit with which some batches are grouped chunk by chunk, and one that permits no
/// grouping.
const BUDGETS: [usize; 3] = [usize::MAX, 16 << 10, 0];
const STRATEGIES: [Option<Strategy>; 3] =
    [None, Some(Strategy::Direct), Some(Strategy::Partitioned)];

/// For each budget and strategy, an engine with one thread and an engine with two. The engines without a memory limit
/// come first. All engines are made once, since the start of a thread takes as long as some operations.
static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
    // In this model, starting a thread costs no time, so an engine uses its two threads even for small batches.
    let cost = CostModel { start_ns: 0.0, ..CostModel::default() };
    let mut engines = Vec::new();
    for budget in BUDGETS {
        for strategy in STRATEGIES {
            for threads in [1, 2] {
                let builder = Engine::builder().threads(threads).memory_budget(budget);
                let builder = builder.cost_model(cost);
                let builder = strategy.map_or(builder.clone(), |it| builder.strategy(it));
                engines.push(builder.build().expect("the system refuses a thread"));
            }
        }
    }
    engines
});

/// The number of engines without a memory limit.
const WITHOUT_BUDGET: usize = STRATEGIES.len() * 2;

/// Runs an input. Returns the number of its operations.
pub fn run(data: &[u8]) -> u64 {
    let mut input = Input(data);
    let kind = FilterKind::ALL[usize::from(input.byte()) % FilterKind::ALL.len()];
    let flags = input.byte();
    let isa = isa(flags >> 4);
    let fpr = [0.3, 0.03, 0.004, 0.000_1][usize::from(flags & 3)];
    // A cuckoo filter is built in bulk only if it has thousands of slots and gets thousands of keys at once.
    let is_large = input.byte() % 6 == 0;
    let keys = usize::from(input.short());
    let keys = if is_large { 14_000 + keys % 6000 } else { keys % 1000 };
    let mut spec = FilterSpec::new(kind).keys(keys).fpr(fpr).seed(u64::from(flags)).isa(isa);
    let has_slots =
        matches!(kind, FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo);
    let counts_copies = flags & 4 != 0 && has_slots || kind == FilterKind::CountingBloom;
    if has_slots {
        spec = spec.multiset(counts_copies);
    }
    if kind == FilterKind::CountingBloom {
        spec = spec.compact(flags & 4 != 0);
    }
    let growing = spec.grow_at(GROW_AT);
    let grows = has_slots && flags & 8 != 0 && growing.build().is_ok();
    if grows {
        spec = growing;
    }
    let Ok(plain) = spec.build() else { return 0 };
    let filter = plain.clone();
    let keys = Vec::new();
    let mut run = Run {
        spec,
        is_large,
        has_slots,
        grows,
        counts_copies,
        plain,
        filter,
        keys,
        with_threads: 0,
    };
    run.operations(&mut input)
}

struct Run {
    spec: FilterSpec,
    /// Whether the filter is made for thousands of keys, and some batches have thousands.
    is_large: bool,
    /// Whether the kind has slots, so that it can be full.
    has_slots: bool,
    /// Whether the filter grows by itself.
    grows: bool,
    /// Whether the filters count the copies of a key, so that keys can be removed.
    counts_copies: bool,
    /// The filter that is changed by its own methods.
    plain: AnyFilter,
    /// The filter that is changed through engines.
    filter: AnyFilter,
    /// The hashes of the keys that must be found, one for each copy that was inserted and not removed.
    keys: Vec<KeyHash>,
    /// The number of operations that used two threads.
    with_threads: usize,
}

impl Run {
    fn operations(&mut self, input: &mut Input<'_>) -> u64 {
        let mut done = 0;
        for _ in 0..MOST_OPERATIONS {
            if input.is_empty() || self.keys.len() > MOST_KEYS {
                break;
            }
            done += 1;
            match input.byte() % 18 {
                0..=3 => self.insert_batch(input),
                4 | 5 => self.insert(input),
                6 => self.remove(input),
                7 | 8 => self.ask(input),
                9 => self.build(input),
                10 => self.accumulate(input),
                11 => self.freeze(input),
                12 => self.block(input),
                13 => {
                    self.engine(input).release_memory();
                    self.filter.clear();
                    self.plain.clear();
                    self.keys.clear();
                }
                operation if self.with_threads < MOST_WITH_THREADS => {
                    self.with_threads += 1;
                    match operation {
                        14 => self.insert_stream(input),
                        15 => self.ask_stream(input),
                        16 => self.share_bloom(input),
                        _ => self.share_sharded(input),
                    }
                }
                _ => {}
            }
        }
        self.assert_holds(&self.filter, &self.keys);
        self.assert_equal();
        done
    }

    /// Chooses an engine, from all engines or only from the engines without a memory limit. If this input has already
    /// used two threads [`MOST_WITH_THREADS`] times, the engine has one thread.
    fn engine_of(&mut self, all: bool, input: &mut Input<'_>) -> &'static Engine {
        let any = if all { ENGINES.len() } else { WITHOUT_BUDGET };
        let chosen = usize::from(input.byte()) % any;
        if self.with_threads == MOST_WITH_THREADS {
            return &ENGINES[chosen / 2 * 2];
        }
        let engine = &ENGINES[chosen];
        self.with_threads += engine.threads() - 1;
        engine
    }

    /// Chooses an engine with which a filter of this kind gets the same bytes as without an engine. With a small memory
    /// budget, a cuckoo filter gets other bytes.
    fn engine(&mut self, input: &mut Input<'_>) -> &'static Engine {
        self.engine_of(self.spec.kind() != FilterKind::Cuckoo, input)
    }

    /// Chooses a hash: any hash, one of 256 hashes, or the hash of a key in the filters.
    fn hash(&self, input: &mut Input<'_>) -> KeyHash {
        match (input.byte() % 3, self.keys.len()) {
            (0, _) => KeyHash::from_raw(input.word()),
            (1, _) | (_, 0) => {
                KeyHash::from_raw(u64::from(input.byte()).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            }
            (_, keys) => self.keys[usize::from(input.short()) % keys],
        }
    }

    /// Chooses some hashes that are derived from one hash. Half of all batches have uniform hashes. In a quarter of all
    /// batches, up to four hashes in a row are equal.
    fn hashes(&self, input: &mut Input<'_>) -> Vec<KeyHash> {
        let (count, shape, shift) = (u64::from(input.byte()) * 4, input.byte(), input.byte());
        let count = if self.is_large && shape.is_multiple_of(2) { count * 16 } else { count };
        let copies = if shape / 4 % 4 == 0 { 1 + u64::from(shape / 16 % 4) } else { 1 };
        let shift = if shift.is_multiple_of(2) { 0 } else { shift / 2 % 64 };
        let (first, step) = (self.hash(input).raw(), 0x9E37_79B9_7F4A_7C15 >> shift);
        (0..count)
            .map(|i| KeyHash::from_raw(first.wrapping_add((i / copies).wrapping_mul(step))))
            .collect()
    }

    fn assert_equal(&self) {
        assert!(
            self.filter.to_bytes() == self.plain.to_bytes(),
            "{:?} has other bytes than without an engine",
            self.filter
        );
    }

    /// Checks that all keys are found in a filter of the spec, and that their counts are not too low.
    fn assert_holds(&self, filter: &AnyFilter, keys: &[KeyHash]) {
        let mut found = Bitmap::new(0);
        filter.contains_batch(keys, &mut found);
        assert_eq!(found.count_ones(), keys.len(), "{filter:?} lacks a key");
        if self.counts_copies {
            for (key, copies) in counts(keys) {
                let count = filter.count_hash(key).expect("the filter counts");
                assert!(count >= self.least_count(copies), "{count} of {copies} copies");
            }
        }
    }

    /// The least count that a filter may report for a key if it has this number of copies of the key.
    fn least_count(&self, copies: u64) -> u64 {
        match self.spec.kind() {
            FilterKind::CountingBloom => copies.min(FOUR_BITS),
            _ => copies,
        }
    }

    fn insert(&mut self, input: &mut Input<'_>) {
        let hash = self.hash(input);
        let expected = self.plain.insert_hash(hash);
        assert_eq!(self.filter.insert_hash(hash), expected);
        if expected.is_ok() {
            self.keys.push(hash);
        }
    }

    fn insert_batch(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let expected = self.plain.insert_batch(&hashes);
        let outcome = self.engine(input).insert_batch(&mut self.filter, &hashes);
        assert_eq!(outcome, expected, "the outcome of a batch for {:?}", self.filter);
        self.note(&hashes, expected);
        self.assert_equal();
    }

    /// Appends the inserted keys of a batch to `keys`.
    fn note(&mut self, hashes: &[KeyHash], outcome: Result<(), Full>) {
        assert!(self.has_slots || outcome.is_ok(), "a filter without slots is full");
        let inserted = outcome.map_or_else(|full| full.inserted, |()| hashes.len());
        self.keys.extend_from_slice(&hashes[..inserted]);
    }

    /// Removes an inserted key, if the filters count copies. From other filters no key is removed, since a removal
    /// could make them lose another key.
    fn remove(&mut self, input: &mut Input<'_>) {
        if self.counts_copies && !self.keys.is_empty() {
            let key = self.keys.swap_remove(usize::from(input.short()) % self.keys.len());
            assert_eq!(self.plain.remove_hash(key), Ok(true), "a key that is held is not found");
            assert_eq!(self.filter.remove_hash(key), Ok(true), "a key that is held is not found");
            self.assert_equal();
        }
    }

    /// Returns some hashes, followed by the keys that were inserted last, and the number of these keys.
    fn probes(&self, input: &mut Input<'_>) -> (Vec<KeyHash>, usize) {
        let mut probes = self.hashes(input);
        let held = self.keys.len().min(1000);
        probes.extend_from_slice(&self.keys[self.keys.len() - held..]);
        (probes, held)
    }

    /// Compares batched lookups in `filter` through an engine with those in `plain` without one.
    fn ask(&mut self, input: &mut Input<'_>) {
        let (probes, held) = self.probes(input);
        let engine = self.engine(input);
        self.ask_through(engine, &self.filter, &probes, held);
    }

    /// Looks up a batch through an engine in `copy`, which is `filter` or a view of it. Compares the answers with those
    /// of `plain`. The last `held` keys of the batch must be found.
    fn ask_through<F: Filter + Sync>(
        &self,
        engine: &Engine,
        copy: &F,
        probes: &[KeyHash],
        held: usize,
    ) {
        let (mut found, mut expected) = (Bitmap::new(0), Bitmap::new(0));
        self.plain.contains_batch(probes, &mut expected);
        engine.contains_batch(copy, probes, &mut found);
        assert_eq!(found, expected, "the answers of {engine:?} for {:?}", self.filter);
        assert!((probes.len() - held..probes.len()).all(|i| found.get(i)), "a key is not found");
    }

    /// Builds a filter of all keys by an engine with any memory budget, and another without an engine. All keys must be
    /// found, and the two filters must be equal, except for cuckoo filters that are built with a limited budget.
    fn build(&mut self, input: &mut Input<'_>) {
        let engine = self.engine_of(true, input);
        let (built, expected) =
            (engine.build(&self.spec, &self.keys), self.spec.build_from(&self.keys));
        if let Ok(built) = &built {
            self.assert_holds(built, &self.keys);
        }
        if self.spec.kind() != FilterKind::Cuckoo || engine.memory_budget() == usize::MAX {
            let bytes = |filter: AnyFilter| filter.to_bytes();
            assert!(
                built.map(bytes) == expected.map(bytes),
                "{:?} is another filter if {engine:?} builds it",
                self.spec
            );
        }
    }

    /// Splits the keys among up to four accumulators, and merges these into another one.
    fn accumulate(&self, input: &mut Input<'_>) {
        let (shape, most_hashes) = (input.byte(), usize::from(input.short()) % 512);
        let len = self.keys.len().div_ceil(1 + usize::from(shape) % 4).max(1);
        let accumulator =
            |most| FilterAccumulator::new(self.spec, most).expect("the spec was built before");
        let mut whole = accumulator(usize::from(input.short()) % 512);
        for part in self.keys.chunks(len) {
            let mut accumulated = accumulator(most_hashes);
            let outcome = accumulated.insert_batch(part).is_ok()
                && match shape & 4 {
                    0 => whole.merge(accumulated).is_ok(),
                    _ => whole.merge_bytes(&accumulated.to_bytes()).is_ok(),
                };
            if !outcome {
                assert!(self.has_slots, "a filter without slots refuses to accumulate");
                return;
            }
        }
        let Ok(filter) = whole.finish() else {
            assert!(self.has_slots, "a filter without slots refuses to accumulate");
            return;
        };
        self.assert_holds(&filter, &self.keys);
        let mut expected = self.spec.build().expect("the spec was built before");
        let is_exact = self.spec.kind() != FilterKind::Cuckoo && !self.grows;
        if expected.insert_batch(&self.keys).is_ok() && is_exact {
            assert!(
                filter.to_bytes() == expected.to_bytes(),
                "{filter:?} was accumulated, and has other bytes"
            );
        }
    }

    /// Freezes the filter, looks keys up in a view of its bytes by an engine, and replaces the filter by one that is
    /// read from the bytes. A filter that grows by itself is not replaced, since the bytes do not say that it grows.
    fn freeze(&mut self, input: &mut Input<'_>) {
        let bytes = self.filter.to_bytes();
        let view = FilterView::parse(&bytes).expect("our own bytes are refused");
        let (probes, held) = self.probes(input);
        let engine = self.engine(input);
        self.ask_through(engine, &view, &probes, held);
        if !self.grows {
            self.filter = AnyFilter::from_bytes(&bytes).expect("our own bytes are refused");
            self.assert_equal();
        }
    }

    /// Builds a filter block of each half of the keys. Looks up each key in its block, by one call for all keys and by
    /// a call for each key.
    fn block(&self, input: &mut Input<'_>) {
        let bits = 8.0 + f64::from(input.byte() % 16);
        let policy = FilterPolicy::builder(self.spec.kind()).bits_per_key(bits);
        let Ok(policy) = policy.build() else { return };
        let mut keys = self.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        let (left, right) = keys.split_at(keys.len() / 2);
        let blocks = [left, right].map(|keys| policy.build(keys));
        let pairs = [(&blocks[0], left), (&blocks[1], right)];
        let probes: Vec<(&[u8], KeyHash)> = pairs
            .into_iter()
            .flat_map(|(block, keys)| keys.iter().map(|key| (block.as_slice(), *key)))
            .collect();
        let mut found = Bitmap::new(0);
        policy.may_match_many(&probes, &mut found);
        assert_eq!(found.count_ones(), keys.len(), "a block lacks a key");
        assert!(probes.iter().all(|(block, key)| policy.may_match(block, *key)));
        assert!(blocks.iter().all(|block| policy.verify(block).is_ok()));
    }

    /// Inserts a stream of batches. The source can fail at the end; the keys before its failure are still inserted.
    fn insert_stream(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let (len, gathered) =
            (1 + usize::from(input.short()) % 512, usize::from(input.short()) % 2048);
        let fails = input.byte() % 2 == 1;
        let batches = hashes.chunks(len).map(|batch| Ok(batch.to_vec()));
        let batches = batches.chain(fails.then_some(Err("the source failed")));
        let stream = self.engine(input).stream().keys_at_a_time(gathered);
        let outcome = stream.insert(&mut self.filter, batches);

        let (mut inserted, mut expected) = (0, Ok(()));
        for gathered in hashes.chunks(gathered.max(1).next_multiple_of(len)) {
            expected = self.plain.insert_batch(gathered);
            inserted += expected.map_or_else(|full| full.inserted, |()| gathered.len());
            if expected.is_err() {
                break;
            }
        }
        let done = match (&outcome, expected) {
            (Ok(done), Ok(())) if !fails => {
                assert_eq!(done.batches, hashes.len().div_ceil(len) as u64);
                done
            }
            (Err(StreamError::Failed { done, .. }), Ok(())) if fails => done,
            (Err(StreamError::Full { error, done }), Err(full)) => {
                assert_eq!((error.inserted, error.len, error.why), (inserted, full.len, full.why));
                done
            }
            _ => panic!("a stream ended with {outcome:?}, and the same inserts with {expected:?}"),
        };
        assert_eq!(done.keys, inserted as u64);
        self.note(&hashes[..inserted], Ok(()));
        self.assert_equal();
    }

    /// Looks up a stream of batches. The stream can be cancelled after some batches.
    fn ask_stream(&mut self, input: &mut Input<'_>) {
        let (probes, _) = self.probes(input);
        let len = 1 + usize::from(input.short()) % 512;
        let (most, total) = (u64::from(input.byte() % 32), probes.len().div_ceil(len) as u64);
        let (cancel, mut answered, mut expected) = (Cancel::new(), 0, Bitmap::new(0));
        let batches = probes.chunks(len).map(|batch| Ok::<_, ()>(batch.to_vec()));
        let stream = self.engine(input).stream().cancel(&cancel);
        let outcome = stream.contains(&self.filter, batches, |batch, found| {
            let at = answered as usize * len;
            assert_eq!(
                batch,
                probes[at..probes.len().min(at + len)],
                "a batch is not in its place"
            );
            self.plain.contains_batch(&batch, &mut expected);
            assert_eq!(*found, expected, "the answers of a stream for {:?}", self.filter);
            answered += 1;
            if answered == most {
                cancel.cancel();
            }
            Ok(())
        });
        let all = |done: Progress| (done.batches, done.keys) == (total, probes.len() as u64);
        match outcome {
            Ok(done) => assert!(all(done) && answered == total && !cancel.is_cancelled()),
            Err(StreamError::Cancelled { done }) => {
                assert_eq!((done.batches, answered), (most, most));
            }
            Err(error) => panic!("a stream of lookups ended with {error:?}"),
        }
    }

    /// Lets two threads insert into the shared form of a Bloom filter. Only the four kinds of Bloom filters without
    /// counters have this form.
    fn share_bloom(&self, input: &mut Input<'_>) {
        let (hashes, len) = (self.hashes(input), usize::from(input.byte()));
        match &self.filter {
            AnyFilter::Bloom(filter) => share(filter, &hashes, len),
            AnyFilter::RegisterBloom(filter) => share(filter, &hashes, len),
            AnyFilter::SplitBlockBloom(filter) => share(filter, &hashes, len),
            AnyFilter::CacheLineBloom(filter) => share(filter, &hashes, len),
            _ => {}
        }
    }

    /// Inserts all keys into a sharded filter by two threads. A shard can be full, since keys are not spread evenly.
    /// Then removes half of the inserted keys by two threads, if the filters count copies.
    fn share_sharded(&self, input: &mut Input<'_>) {
        let (shards, len) = (1 << (input.byte() % 4), usize::from(input.byte()));
        let Ok(sharded) = ShardedFilter::build(&self.spec, shards) else { return };
        let mut held = by_two_threads(&self.keys, |keys| insert_and_ask(&sharded, keys, len));
        assert!(self.has_slots || held.len() == self.keys.len());
        if self.counts_copies {
            let gone = held.split_off(held.len() / 2);
            by_two_threads(&gone, |keys| remove_and_ask(&sharded, keys, &held));
        }

        let mut found = Bitmap::new(0);
        sharded.contains_batch(&held, &mut found);
        assert_eq!(found.count_ones(), held.len(), "a sharded filter lacks a key");
        if self.counts_copies {
            for (key, copies) in counts(&held) {
                let count = sharded.count_hash(key).expect("the filter counts");
                assert!(count >= self.least_count(copies), "{count} of {copies} copies in a shard");
            }
        }
        let places: Vec<(usize, KeyHash)> = held.iter().map(|key| sharded.shard_of(*key)).collect();
        let frozen: Vec<Vec<u8>> = sharded.into_shards().iter().map(AnyFilter::to_bytes).collect();
        let views: Vec<FilterView<'_>> = frozen
            .iter()
            .map(|bytes| FilterView::parse(bytes).expect("the bytes of a shard are refused"))
            .collect();
        assert!(places.iter().all(|(shard, key)| views[*shard].contains_hash(*key)));
    }
}

/// The number of copies of each key.
fn counts(keys: &[KeyHash]) -> BTreeMap<KeyHash, u64> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(*key).or_default() += 1;
    }
    counts
}

/// Calls `change` on two threads at the same time: with the first half of the keys on a new thread, and with the second
/// half on this thread. Returns all keys that the calls return.
fn by_two_threads(
    keys: &[KeyHash],
    change: impl Fn(&[KeyHash]) -> Vec<KeyHash> + Sync,
) -> Vec<KeyHash> {
    let (left, right) = keys.split_at(keys.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| change(left));
        let mut keys = change(right);
        keys.extend(other.join().expect("one of two threads panicked"));
        keys
    })
}

/// Inserts keys in batches of `len` keys, or one by one if `len` is less than 8, and looks each batch up. Returns the
/// keys that were certainly inserted.
fn insert_and_ask<F: InsertShared + Filter>(
    filter: &F,
    keys: &[KeyHash],
    len: usize,
) -> Vec<KeyHash> {
    let (mut inserted, mut found) = (Vec::with_capacity(keys.len()), Bitmap::new(0));
    for batch in keys.chunks(len.max(8)) {
        let first = inserted.len();
        if len < 8 {
            inserted.extend(batch.iter().filter(|key| filter.insert_hash(**key).is_ok()));
        } else if filter.insert_batch(batch).is_ok() {
            inserted.extend_from_slice(batch);
        }
        filter.contains_batch(&inserted[first..], &mut found);
        assert_eq!(found.count_ones(), inserted.len() - first, "an inserted key is lost");
        assert!(inserted.last().is_none_or(|key| filter.contains_hash(*key)));
    }
    inserted
}

/// Removes the keys in `gone`, and looks up the keys in `held`, which must still be found. Returns no keys.
fn remove_and_ask(sharded: &ShardedFilter, gone: &[KeyHash], held: &[KeyHash]) -> Vec<KeyHash> {
    for (i, key) in gone.iter().enumerate() {
        assert_eq!(sharded.remove_hash(*key), Ok(true), "a key that is held is not found");
        if let Some(key) = held.get(i) {
            assert!(sharded.contains_hash(*key), "a removal lost another key");
        }
    }
    Vec::new()
}

/// Inserts hashes into a copy of a filter by two threads at once. The result must have the same bytes as after inserts
/// by one thread.
fn share<L: Layout>(filter: &Bloom<L>, hashes: &[KeyHash], len: usize) {
    let (mut expected, shared) = (filter.clone(), filter.clone().into_shared());
    expected.add_batch(hashes);
    by_two_threads(hashes, |keys| insert_and_ask(&shared, keys, len));
    assert!(
        shared.into_filter().to_bytes() == expected.to_bytes(),
        "{expected:?} has other bytes after inserts by two threads"
    );
}
