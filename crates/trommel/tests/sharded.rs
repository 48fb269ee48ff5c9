//! Sharded filters of every kind find all keys, and have the false-positive rate of the spec. Multisets count exactly
//! while several threads insert and remove.
#![cfg(feature = "parallel")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use trommel::engine::{MAX_SHARDS, ShardedFilter};
use trommel::error::WhyFull;
use trommel::{
    Bitmap, Filter, FilterKind, FilterSpec, InsertShared, Isa, KeyHash, SpecError, Unsupported,
};
use trommel_testkit::streams::mix;

fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
    keys.map(|key| KeyHash::from_raw(mix(key))).collect()
}

#[test]
fn batches_of_keys_are_hashed_on_the_instruction_set_of_the_spec() {
    for isa in Isa::available() {
        let spec = FilterSpec::new(FilterKind::RegisterBloom).keys(100).isa(isa);
        let sharded = ShardedFilter::build(&spec, 4).unwrap();
        assert_eq!(
            (sharded.hasher(), sharded.hasher().isa()),
            (spec.build().unwrap().hasher(), isa)
        );
    }
}

#[test]
fn every_kind_finds_all_keys_counts_them_and_answers_in_the_order_of_the_batch() {
    for kind in FilterKind::ALL.iter().copied() {
        for shards in [1, 2, 64] {
            let spec = FilterSpec::new(kind).keys(20_000).fpr(0.02).seed(3);
            let filter = ShardedFilter::build(&spec, shards).unwrap();
            assert_eq!((filter.kind(), filter.shards(), filter.is_empty()), (kind, shards, true));
            assert_eq!(filter.hasher(), spec.build().unwrap().hasher());
            let keys = hashes(0..20_000);
            let (batch, single) = keys.split_at(19_000);
            filter.insert_batch(batch).unwrap();
            single.iter().for_each(|hash| assert!(filter.insert_hash(*hash).is_ok()));
            let mut found = Bitmap::new(7);
            for len in [0, 1, 31, 32, 63, 64, 65, 1000, 20_000] {
                filter.contains_batch(&keys[..len], &mut found);
                assert_eq!(
                    (found.len(), found.count_ones()),
                    (len, len),
                    "{kind}, {shards} shards"
                );
            }
            let mixed: Vec<KeyHash> = hashes(19_000..22_000);
            filter.contains_batch(&mixed, &mut found);
            for (i, hash) in mixed.iter().enumerate() {
                assert_eq!(
                    found.get(i),
                    filter.contains_hash(*hash),
                    "{kind}, {shards} shards, key {i}"
                );
            }
            // In a set, keys with the same fingerprint are stored only once, so `len` can be below 20,000.
            let len = filter.len();
            assert!(len <= 20_000 && len > 19_500, "{kind}, {shards} shards: len {len}");
            let shard_filters: Vec<_> = filter.into_shards();
            assert_eq!(shard_filters.len(), shards);
            assert_eq!(shard_filters.iter().map(Filter::len).sum::<usize>(), len);
        }
    }
}

#[test]
fn multisets_count_exactly_under_threads_that_insert_and_remove() {
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient, FilterKind::Cuckoo] {
        const THREADS: u64 = 4;
        const SHARE: u64 = 5_000;
        let spec = FilterSpec::new(kind).keys(50_000).multiset(true);
        let filter = ShardedFilter::build(&spec, 8).unwrap();
        let shared_keys = hashes(1 << 40..(1 << 40) + 500);
        let done = AtomicBool::new(false);
        thread::scope(|threads| {
            let inserters: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (filter, shared_keys) = (&filter, &shared_keys);
                    threads.spawn(move || {
                        let own = hashes(thread * SHARE..(thread + 1) * SHARE);
                        filter.insert_batch(shared_keys).unwrap();
                        for batch in own.chunks(501) {
                            filter.insert_batch(batch).unwrap();
                            let mut found = Bitmap::new(0);
                            filter.contains_batch(batch, &mut found);
                            assert_eq!(found.count_ones(), batch.len());
                        }
                        for hash in own.iter().step_by(2) {
                            assert_eq!(filter.remove_hash(*hash), Ok(true));
                        }
                    })
                })
                .collect();
            threads.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    assert!(filter.len() <= (THREADS * SHARE) as usize + 2000);
                }
            });
            let outcomes: Vec<_> = inserters.into_iter().map(|thread| thread.join()).collect();
            done.store(true, Ordering::Release);
            assert!(outcomes.iter().all(Result::is_ok));
        });
        assert_eq!(filter.len(), (THREADS * SHARE / 2) as usize + 4 * shared_keys.len());
        for hash in &shared_keys {
            assert!(filter.count_hash(*hash).unwrap() >= THREADS);
        }
        let kept = hashes(0..THREADS * SHARE);
        assert!(kept.iter().skip(1).step_by(2).all(|hash| filter.contains_hash(*hash)));
        // The filter is empty once all remaining keys are removed.
        let left = kept.iter().skip(1).step_by(2).chain((0..THREADS).flat_map(|_| &shared_keys));
        left.for_each(|hash| assert_eq!(filter.remove_hash(*hash), Ok(true)));
        assert!(filter.is_empty(), "{kind}: not empty");
        assert!(!kept.iter().any(|hash| filter.contains_hash(*hash)));
    }
}

/// Blocked Bloom filters compute positions from the low bits of a hash. If all hashes of a shard had some of these bits
/// in common, the false-positive rate would rise with the number of shards.
#[test]
fn the_false_positive_rate_holds_with_the_largest_number_of_shards() {
    for kind in FilterKind::ALL.iter().copied() {
        let keys = 4_000_000;
        let spec = FilterSpec::new(kind).keys(keys).fpr(0.02).huge_pages(false);
        let filter = ShardedFilter::build(&spec, MAX_SHARDS).unwrap();
        filter.insert_batch(&hashes(0..keys as u64)).unwrap();
        let expected = filter.expected_fpr();
        assert!(expected < 0.02, "{kind}: false-positive rate {expected}");
        let probes = 2_000_000;
        let mut found = Bitmap::new(0);
        filter.contains_batch(&hashes(1 << 40..(1 << 40) + probes), &mut found);
        let deviation = (expected * (1.0 - expected) / probes as f64).sqrt();
        let rate = found.count_ones() as f64 / probes as f64;
        assert!((rate - expected).abs() < 5.0 * deviation, "{kind}: {rate} instead of {expected}");
    }
}

#[test]
fn operations_that_a_kind_lacks_are_errors() {
    let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::SplitBlockBloom), 2).unwrap();
    let hash = filter.hash("anvil");
    let kind = FilterKind::SplitBlockBloom;
    assert_eq!(filter.remove_hash(hash), Err(Unsupported { kind, operation: "remove" }));
    assert_eq!(filter.count_hash(hash), Err(Unsupported { kind, operation: "count" }));
    assert_eq!(filter.insert("anvil"), Ok(true));
    assert!(filter.contains("anvil"));
}

#[test]
fn a_spec_that_a_shard_cannot_meet_is_an_error() {
    let spec = FilterSpec::new(FilterKind::Cuckoo).keys(1000);
    for shards in [0, 3, MAX_SHARDS * 2, usize::MAX] {
        let refused = ShardedFilter::build(&spec, shards).unwrap_err();
        assert!(
            matches!(refused, SpecError::Choice { name: "shards", value, .. } if value == shards as u64)
        );
        let allowed = "allowed are 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096";
        assert_eq!(refused.to_string(), format!("shards is {shards}, {allowed}"));
    }
    let tiny = FilterSpec::new(FilterKind::CacheLineBloom).keys(1000).memory_bytes(1000);
    assert!(matches!(ShardedFilter::build(&tiny, 16), Err(SpecError::TooSmall { bytes: 62, .. })));
    assert!(ShardedFilter::build(&spec.keys(usize::MAX), 64).is_err());
    assert!(ShardedFilter::build(&spec.fpr(2.0), 2).is_err());
}

#[test]
fn a_full_shard_reports_how_many_keys_were_inserted_and_loses_none() {
    let spec = FilterSpec::new(FilterKind::Quotient).keys(2_000).multiset(true);
    let filter = ShardedFilter::build(&spec, 4).unwrap();
    let batch = hashes(0..10_000);
    let full = filter.insert_batch(&batch).unwrap_err();
    assert_eq!(full.why, WhyFull::Slots);
    assert_eq!(filter.len(), full.inserted);
    assert!(full.inserted > 0 && full.len <= full.capacity && full.capacity < 2_000);
    let held: u64 = batch.iter().filter(|hash| filter.contains_hash(**hash)).count() as u64;
    assert!(held >= full.inserted as u64);
    // Inserts one by one until some shard is full.
    let filter = ShardedFilter::build(&spec, 4).unwrap();
    let (inserted, full) = (0..)
        .zip(&batch)
        .find_map(|(i, hash)| filter.insert_hash(*hash).err().map(|full| (i, full)))
        .unwrap();
    assert_eq!((filter.len(), full.inserted), (inserted, 0));
    assert!(batch[..inserted].iter().all(|hash| filter.contains_hash(*hash)));
}

/// If counters have stuck at their maximum, a shard can hold keys although its `len` is 0.
#[test]
fn a_filter_with_keys_in_a_shard_is_not_empty() {
    let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::CountingBloom), 4).unwrap();
    let (often, once) = (filter.hash("a"), filter.hash("b"));
    for _ in 0..20 {
        filter.insert_hash(often).unwrap();
    }
    assert_eq!(filter.remove_hash(often), Ok(true));
    (0..24).for_each(|_| assert_eq!(filter.remove_hash(often), Ok(true)));
    filter.insert_hash(once).unwrap();
    assert_eq!(filter.remove_hash(once), Ok(true));
    assert!(filter.len() == 0 && filter.contains("a") && !filter.is_empty());
}
