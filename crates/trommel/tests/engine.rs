//! An engine gives the same filter and the same answers as one thread without an engine, whatever the engine's number
//! of threads, strategy and memory budget, and whatever the keys. The exception is a cuckoo filter: with a small memory
//! budget, its fingerprints can be in other slots.
#![cfg(feature = "parallel")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use trommel::engine::{EngineError, InsertBulk, Strategy};
use trommel::error::BuildError;
use trommel::{
    AnyFilter, Bitmap, Engine, Filter, FilterKind, FilterSpec, FilterView, Full, Insert, KeyHash,
    SpecError,
};
use trommel_base::Bulk;
use trommel_testkit::delegate_to;
use trommel_testkit::streams::distinct;

const KEYS: usize = 150_000;
const STRATEGIES: [Option<Strategy>; 3] =
    [None, Some(Strategy::Direct), Some(Strategy::Partitioned)];

fn engine(threads: usize, strategy: Option<Strategy>, memory_budget: usize) -> Engine {
    let builder = Engine::builder().threads(threads).memory_budget(memory_budget);
    strategy.map_or(builder.clone(), |strategy| builder.strategy(strategy)).build().unwrap()
}

/// Returns batches of `KEYS` keys (uniform, sorted, few of them distinct, all equal, or half of them equal), and
/// smaller batches.
fn inputs() -> Vec<(&'static str, Vec<KeyHash>)> {
    let uniform = distinct(11, 0..KEYS as u64);
    let mut sorted = uniform.clone();
    sorted.sort_unstable();
    let few = (0..KEYS).map(|i| uniform[(i % 97).pow(2) % 97]).collect();
    let half = (0..KEYS).map(|i| uniform[if i % 2 == 0 { 0 } else { i }]).collect();
    let mut inputs = vec![
        ("sorted", sorted),
        ("few", few),
        ("equal", vec![uniform[0]; KEYS]),
        ("half", half),
        ("none", Vec::new()),
        ("one", uniform[..1].to_vec()),
        ("sixty-five", uniform[..65].to_vec()),
        ("odd", uniform[..4097].to_vec()),
    ];
    inputs.push(("uniform", uniform));
    inputs
}

fn one_thread(spec: &FilterSpec, hashes: &[KeyHash]) -> AnyFilter {
    let mut filter = spec.build().unwrap();
    filter.insert_batch(hashes).unwrap();
    filter
}

/// Returns probes of which half are members.
fn probes(members: &[KeyHash]) -> Vec<KeyHash> {
    let absent = distinct(12, 0..1 + members.len() as u64);
    members.iter().zip(absent).flat_map(|(member, absent)| [absent, *member]).collect()
}

#[test]
fn filters_and_answers_are_those_of_one_thread() {
    let inputs = inputs();
    for kind in FilterKind::ALL {
        let spec = FilterSpec::new(*kind).keys(KEYS).fpr(0.001);
        for (name, hashes) in &inputs {
            let expected = one_thread(&spec, hashes);
            let (bytes, probes) = (expected.to_bytes(), probes(hashes));
            let mut answers = Bitmap::new(0);
            expected.contains_batch(&probes, &mut answers);
            for threads in [1, 2, 5] {
                for strategy in STRATEGIES {
                    let what = format!("{kind}, {name} keys, {threads} threads, {strategy:?}");
                    let engine = engine(threads, strategy, usize::MAX);
                    let built = engine.build(&spec, hashes).unwrap();
                    assert!(built.to_bytes() == bytes, "{what}: the bytes differ");
                    let mut found = Bitmap::new(7);
                    engine.contains_batch(&built, &probes, &mut found);
                    assert_eq!(found, answers, "{what}");
                }
            }
        }
    }
}

#[test]
fn several_batches_give_the_filter_of_one_thread() {
    let hashes = distinct(13, 0..KEYS as u64);
    for kind in FilterKind::ALL {
        let spec = FilterSpec::new(*kind).keys(KEYS).fpr(0.001);
        for (threads, strategy) in [1, 3].into_iter().flat_map(|n| STRATEGIES.map(|it| (n, it))) {
            let engine = engine(threads, strategy, usize::MAX);
            let (mut expected, mut filter) = (spec.build().unwrap(), spec.build().unwrap());
            for hashes in hashes.chunks(KEYS / 3) {
                expected.insert_batch(hashes).unwrap();
                engine.insert_batch(&mut filter, hashes).unwrap();
            }
            assert!(
                filter.to_bytes() == expected.to_bytes(),
                "{kind}, {threads} threads, {strategy:?}: the bytes differ"
            );
        }
    }
}

#[test]
fn any_memory_budget_gives_the_same_filter_and_answers() {
    let hashes = distinct(14, 0..KEYS as u64);
    let probes = probes(&hashes);
    for kind in FilterKind::ALL {
        let spec = FilterSpec::new(*kind).keys(KEYS).fpr(0.001);
        let expected = one_thread(&spec, &hashes);
        let mut answers = Bitmap::new(0);
        expected.contains_batch(&probes, &mut answers);
        for budget in [0, 64 << 10, 1 << 20] {
            for threads in [1, 2] {
                let engine = engine(threads, Some(Strategy::Partitioned), budget);
                assert_eq!(engine.memory_budget(), budget);
                let built = engine.build(&spec, &hashes).unwrap();
                let mut found = Bitmap::new(0);
                if *kind == FilterKind::Cuckoo {
                    // The slots of a cuckoo filter's fingerprints depend on the order of inserts, so only lookups of
                    // the keys are checked.
                    engine.contains_batch(&built, &hashes, &mut found);
                    assert_eq!(
                        found.count_ones(),
                        KEYS,
                        "{kind}, budget {budget}, {threads} threads"
                    );
                    continue;
                }
                assert!(
                    built.to_bytes() == expected.to_bytes(),
                    "{kind}, budget {budget}, {threads} threads: the bytes differ"
                );
                engine.contains_batch(&built, &probes, &mut found);
                assert_eq!(found, answers, "{kind}, budget {budget}, {threads} threads");
                engine.release_memory();
            }
        }
    }
}

/// The tables are too small to be divided into pieces. At the high false-positive rate, a key has few positions in a
/// table; at the low rate, it has many. If there is too little memory to group the keys, they are inserted directly.
#[test]
fn small_filters_are_built_with_any_memory_budget() {
    let hashes = distinct(20, 0..10_000);
    for kind in FilterKind::ALL {
        for fpr in [0.03, 0.0001] {
            let spec = FilterSpec::new(*kind).keys(10_000).fpr(fpr);
            let Ok(mut expected) = spec.build() else { continue };
            expected.insert_batch(&hashes).unwrap();
            for budget in [0, 1000, 100_000] {
                let engine = engine(2, Some(Strategy::Partitioned), budget);
                let built = engine.build(&spec, &hashes).unwrap();
                assert_eq!(built.len(), expected.len(), "{kind}, fpr {fpr}, budget {budget}");
                let mut found = Bitmap::new(0);
                engine.contains_batch(&built, &hashes, &mut found);
                assert_eq!(found.count_ones(), hashes.len(), "{kind}, fpr {fpr}, budget {budget}");
            }
        }
    }
}

#[test]
fn compact_counters_that_overflow_are_counted_on_all_threads() {
    let spec = FilterSpec::new(FilterKind::CountingBloom).keys(KEYS).fpr(0.001).compact(true);
    let uniform = distinct(15, 0..KEYS as u64);
    // 75 distinct keys are inserted often: 25 only for even `i`, 25 only for odd `i`, and 25 for both. So later batches
    // find an overflow table.
    let hashes: Vec<_> = (0..KEYS).map(|i| uniform[i % 100 * (1 + i % 2)]).collect();
    let mut expected = spec.build().unwrap();
    let mut filter = spec.build().unwrap();
    let engine = engine(3, Some(Strategy::Partitioned), usize::MAX);
    for hashes in [&hashes, &uniform, &hashes] {
        expected.insert_batch(hashes).unwrap();
        engine.insert_batch(&mut filter, hashes).unwrap();
    }
    assert!(filter.count_hash(uniform[0]).unwrap() >= 2 * KEYS as u64 / 200);
    assert!(filter.to_bytes() == expected.to_bytes());
}

#[test]
fn frozen_filters_answer_through_an_engine() {
    let hashes = distinct(16, 0..KEYS as u64);
    let engine = engine(2, Some(Strategy::Partitioned), usize::MAX);
    for kind in FilterKind::ALL {
        let bytes = engine.build(&FilterSpec::new(*kind), &hashes).unwrap().to_bytes();
        let view = FilterView::parse(&bytes).unwrap();
        let mut found = Bitmap::new(0);
        engine.contains_batch(&view, &hashes, &mut found);
        assert_eq!(found.count_ones(), KEYS, "{kind}");
    }
}

#[test]
fn impossible_specs_and_keys_without_room_are_errors() {
    let hashes = distinct(17, 0..20_000);
    let engine = engine(2, None, usize::MAX);
    let impossible = FilterSpec::new(FilterKind::RegisterBloom).fpr(1e-12);
    let error = engine.build(&impossible, &hashes).unwrap_err();
    assert!(matches!(error, BuildError::Spec(SpecError::FprUnreachable { .. })), "{error}");
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient, FilterKind::Cuckoo] {
        let small = FilterSpec::new(kind).keys(5_000).fpr(0.01);
        let error = engine.build(&small, &hashes).unwrap_err();
        let BuildError::Full(full) = error else { panic!("{error}") };
        let mut alone = small.build().unwrap();
        let of_one_thread = alone.insert_batch(&hashes).unwrap_err();
        assert_eq!(full, of_one_thread, "{kind}");
        assert!(error.to_string().contains(&full.inserted.to_string()), "{error}");
    }
}

#[test]
fn a_number_of_threads_is_used_or_refused() {
    for threads in [0, 1025, usize::MAX] {
        let error = Engine::builder().threads(threads).build().unwrap_err();
        assert!(matches!(error, EngineError::Threads { threads: t, max: 1024 } if t == threads));
        assert!(error.to_string().contains(&threads.to_string()), "{error}");
    }
    let hashes = distinct(18, 0..100_000);
    for pin in [false, true] {
        // These are more threads than most machines have cores.
        let engine = Engine::builder().threads(200).pin(pin).build().unwrap();
        assert_eq!(engine.threads(), 200);
        assert!(engine.pinned_threads() <= 200 && (pin || engine.pinned_threads() == 0));
        let filter = engine.build(&FilterSpec::new(FilterKind::Bloom), &hashes).unwrap();
        let mut found = Bitmap::new(0);
        engine.contains_batch(&filter, &hashes, &mut found);
        assert_eq!(found.count_ones(), hashes.len());
    }
    let default = Engine::builder().pin(true).build().unwrap();
    assert!(default.threads() >= 1);
    assert!(default.pinned_threads() <= default.threads());
}

/// A filter whose batches of lookups and whose bulk inserts panic if they contain a certain key.
struct Trap(AnyFilter, KeyHash);

impl Filter for Trap {
    delegate_to!(0);

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        assert!(!hashes.contains(&self.1), "trapped");
        self.0.contains_batch(hashes, found);
    }
    fn is_ordered_by_hash(&self) -> bool {
        true
    }
}

impl Insert for Trap {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        self.0.insert_hash(hash)
    }
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.0.insert_batch(hashes)
    }
}

impl InsertBulk for Trap {
    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        let trap = self.1;
        let chunks = hashes.chunks(1000);
        let checked = bulk.workers.for_each(chunks.len(), chunks, |hashes| {
            assert!(!hashes.contains(&trap), "trapped");
        });
        checked.unwrap();
        self.0.insert_bulk(hashes, bulk)
    }
}

#[test]
fn a_panic_of_a_worker_reaches_the_caller_and_the_engine_keeps_working() {
    let hashes = distinct(19, 0..KEYS as u64);
    let filter = one_thread(&FilterSpec::new(FilterKind::SplitBlockBloom).keys(KEYS), &hashes);
    let mut trap = Trap(filter, hashes[KEYS / 2]);
    let mut found = Bitmap::new(0);
    for threads in [1, 2, 4] {
        for strategy in STRATEGIES {
            let engine = engine(threads, strategy, usize::MAX);
            let lookups = || engine.contains_batch(&trap, &hashes, &mut found);
            assert!(
                catch_unwind(AssertUnwindSafe(lookups)).is_err(),
                "{threads} threads, {strategy:?}: no panic"
            );
            engine.contains_batch(&trap.0, &hashes, &mut found);
            assert_eq!(found.count_ones(), KEYS);
        }
        let engine = engine(threads, Some(Strategy::Partitioned), usize::MAX);
        let inserts = || engine.insert_batch(&mut trap, &hashes);
        assert!(catch_unwind(AssertUnwindSafe(inserts)).is_err());
        engine.insert_batch(&mut trap, &hashes[..1000]).unwrap();
    }
}

#[test]
fn one_engine_serves_several_callers() {
    let engine = engine(2, None, usize::MAX);
    let spec = FilterSpec::new(FilterKind::CacheLineBloom).keys(KEYS);
    std::thread::scope(|scope| {
        for seed in 20..24 {
            let engine = &engine;
            scope.spawn(move || {
                let hashes = distinct(seed, 0..KEYS as u64);
                let filter = engine.build(&spec, &hashes).unwrap();
                assert!(filter.to_bytes() == one_thread(&spec, &hashes).to_bytes());
                let mut found = Bitmap::new(0);
                engine.contains_batch(&filter, &hashes, &mut found);
                assert_eq!(found.count_ones(), KEYS);
            });
        }
    });
}
