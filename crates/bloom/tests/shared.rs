//! Filters that several threads insert into: they equal, byte for byte, the filter that one thread makes, and lookups
//! never miss an inserted key.
#![cfg(target_has_atomic = "64")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use trommel_base::{Bitmap, Filter, FromSpec, Insert, InsertShared, KeyHash, Spec};
use trommel_bloom::{Bloom, CacheLine, Layout, Register, SharedBloom, SplitBlock, Standard};
use trommel_simd::Isa;

/// Uniform hashes of the keys of a range.
fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
    keys.map(|key| KeyHash::from_raw(trommel_testkit::streams::mix(key))).collect()
}

fn spec(keys: usize, isa: Isa) -> Spec {
    let mut spec = Spec::default();
    (spec.keys, spec.isa) = (keys, Some(isa));
    spec
}

/// Runs a generic check for the four layouts on every instruction set of this machine.
macro_rules! for_all {
    ($check:ident) => {
        for isa in Isa::available() {
            $check::<Standard>(isa);
            $check::<Register>(isa);
            $check::<SplitBlock>(isa);
            $check::<CacheLine>(isa);
        }
    };
}

#[test]
fn a_shared_filter_is_byte_for_byte_that_of_one_thread() {
    fn check<L: Layout>(isa: Isa) {
        // Tables so small that batches do not prefetch, and larger tables. The lengths of the batches are no multiples
        // of the number of keys that the kernels handle together.
        for (keys, fpr) in [(0, 0.01), (1, 0.5), (100, 0.01), (5003, 0.001), (2_000_003, 0.02)] {
            let hashes = hashes(0..keys);
            let mut spec = spec(keys as usize, isa);
            spec.fpr = Some(fpr);
            let mut plain = Bloom::<L>::from_spec(&spec).unwrap();
            let shared = Bloom::<L>::from_spec(&spec).unwrap().into_shared();
            let (first, rest) = hashes.split_at(hashes.len().min(1000));
            for hash in first {
                let changed = plain.insert_hash(*hash);
                assert_eq!(
                    shared.insert_hash(*hash),
                    changed,
                    "{isa}, {}: the outcome of an insert",
                    L::KIND
                );
            }
            for batch in rest.chunks(65_521) {
                plain.insert_batch(batch).unwrap();
                shared.insert_batch(batch).unwrap();
            }
            // Inserts one key twice: the second of these inserts sets no bit.
            assert_eq!(
                shared.insert_hash(KeyHash::from_raw(0)),
                plain.insert_hash(KeyHash::from_raw(0))
            );
            assert_eq!(shared.insert_hash(KeyHash::from_raw(0)), Ok(false));
            plain.insert_hash(KeyHash::from_raw(0)).unwrap();
            assert_eq!((shared.len(), shared.memory_bytes()), (plain.len(), plain.memory_bytes()));
            assert_eq!(shared.expected_fpr(), plain.expected_fpr());
            assert_eq!(shared.estimate_len(), plain.estimate_len());
            assert_eq!(
                shared.into_filter().to_bytes(),
                plain.to_bytes(),
                "{isa}, {}: the frozen bytes",
                L::KIND
            );
        }
    }
    for_all!(check);
}

#[test]
fn a_shared_filter_answers_like_the_filter_it_turns_back_into() {
    fn check<L: Layout>(isa: Isa) {
        for keys in [1_000, 1_500_000] {
            let shared = Bloom::<L>::from_spec(&spec(keys, isa)).unwrap().into_shared();
            shared.insert_batch(&hashes(0..keys as u64)).unwrap();
            let asked = hashes(keys as u64 / 2..keys as u64 * 3 / 2);
            let mut answers = Vec::new();
            let mut found = Bitmap::new(0);
            for len in [0, 1, 7, 8, 15, 16, 63, 64, 65, 999, asked.len()] {
                let asked = &asked[asked.len() - len.min(asked.len())..];
                shared.contains_batch(asked, &mut found);
                let single =
                    asked.iter().enumerate().filter(|(_, hash)| shared.contains_hash(**hash));
                assert!(
                    found.iter_ones().eq(single.map(|(i, _)| i)),
                    "{isa}, {}: a batch of {len} differs from single lookups",
                    L::KIND
                );
                answers.push((asked, found.clone()));
            }
            let is_ordered = shared.is_ordered_by_hash();
            let filter = shared.into_filter();
            assert_eq!(filter.is_ordered_by_hash(), is_ordered, "{}: ordered by hash", L::KIND);
            for (asked, answer) in answers {
                filter.contains_batch(asked, &mut found);
                assert_eq!(
                    found,
                    answer,
                    "{isa}, {}: the answers after `into_filter` to {} keys",
                    L::KIND,
                    asked.len()
                );
            }
        }
    }
    for_all!(check);
}

/// Four threads insert keys. Threads with adjacent numbers have half of their keys in common. Meanwhile, two more
/// threads look up keys that are known to be inserted. The check runs once with batches of fewer keys than the table
/// has words, and once with batches of more keys than that.
#[test]
fn threads_lose_no_bit_and_no_count_and_concurrent_lookups_miss_no_key() {
    const SHARE: u64 = 8_192;
    fn check_batches<L: Layout, const BATCH: usize>(isa: Isa) {
        const THREADS: u64 = 4;
        // The table has few bits, so that threads often change the same word.
        let mut spec = spec(20_000, isa);
        spec.fpr = Some(0.05);
        let shared: SharedBloom<L> = Bloom::from_spec(&spec).unwrap().into_shared();
        assert!((257..SHARE as usize).contains(&(shared.memory_bytes() / 8)));
        let known = hashes(1 << 40..(1 << 40) + 1_000);
        shared.insert_batch(&known).unwrap();
        let part = |thread: u64| hashes(thread * SHARE / 2..(thread + 2) * SHARE / 2);
        // The number of threads that have inserted all their keys, and for each thread the number of batches that it
        // has inserted.
        let (done, batches_in) =
            (AtomicUsize::new(0), [const { AtomicUsize::new(0) }; THREADS as usize]);
        thread::scope(|threads| {
            for thread in 0..THREADS {
                let (shared, done, batches_in) = (&shared, &done, &batches_in[thread as usize]);
                threads.spawn(move || {
                    for (i, batch) in part(thread).chunks(BATCH).enumerate() {
                        if i % 2 == 0 {
                            shared.insert_batch(batch).unwrap();
                        } else {
                            for hash in batch {
                                shared.insert_hash(*hash).unwrap();
                            }
                        }
                        batches_in.store(i + 1, Ordering::Release);
                    }
                    done.fetch_add(1, Ordering::Release);
                });
            }
            for _ in 0..2 {
                threads.spawn(|| {
                    let mut found = Bitmap::new(0);
                    while done.load(Ordering::Acquire) < THREADS as usize {
                        shared.contains_batch(&known, &mut found);
                        assert_eq!(found.count_ones(), known.len());
                        for (thread, batches_in) in (0..).zip(&batches_in) {
                            let len = batches_in.load(Ordering::Acquire) * BATCH;
                            let part = &part(thread)[..len];
                            shared.contains_batch(part, &mut found);
                            assert_eq!(found.count_ones(), len);
                            assert!(
                                part.iter().rev().take(50).all(|hash| shared.contains_hash(*hash))
                            );
                        }
                    }
                });
            }
        });
        let mut plain = Bloom::<L>::from_spec(&spec).unwrap();
        plain.insert_batch(&known).unwrap();
        (0..THREADS).for_each(|thread| plain.insert_batch(&part(thread)).unwrap());
        assert_eq!(shared.len(), 1_000 + (THREADS * SHARE) as usize);
        assert_eq!(
            shared.into_filter().to_bytes(),
            plain.to_bytes(),
            "{isa}, {}: the frozen bytes",
            L::KIND
        );
    }
    fn check<L: Layout>(isa: Isa) {
        check_batches::<L, 256>(isa);
        check_batches::<L, { SHARE as usize }>(isa);
    }
    for_all!(check);
}

/// If two threads insert the same key into a register-blocked filter at the same time, exactly one of them is told that
/// it changed the table, unless all bits of the key were set before: then neither is.
#[test]
fn of_two_threads_that_insert_one_key_exactly_one_is_told_of_a_change() {
    let shared = Bloom::<Register>::from_spec(&spec(1_000, Isa::best())).unwrap().into_shared();
    for hash in hashes(0..500) {
        let was_in = shared.contains_hash(hash);
        let changes = AtomicUsize::new(0);
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    changes.fetch_add(
                        usize::from(shared.insert_hash(hash).unwrap()),
                        Ordering::Relaxed,
                    )
                });
            }
        });
        // In the register layout, all bits of a key are in one word, so one atomic operation sets them all.
        assert_eq!(changes.into_inner(), usize::from(!was_in));
    }
}

#[test]
fn counts_continue_from_the_filters_len_and_saturate() {
    let mut plain = Bloom::<SplitBlock>::from_spec(&spec(100, Isa::best())).unwrap();
    plain.insert("before").unwrap();
    let shared: SharedBloom<SplitBlock> = plain.into();
    assert_eq!((shared.len(), shared.is_empty()), (1, false));
    assert!(shared.contains("before") && !shared.contains("after"));
    assert_eq!(shared.insert("after"), Ok(true));
    let filter: Bloom<SplitBlock> = shared.into();
    assert!(filter.len() == 2 && filter.contains("before") && filter.contains("after"));

    // Doubles the count until it saturates. A filter can also get a saturated count from its frozen bytes.
    let mut saturated = filter.clone();
    for _ in 0..64 {
        let copy = saturated.clone();
        saturated.union(&copy).unwrap();
    }
    let shared = saturated.into_shared();
    shared.insert_batch(&hashes(0..10)).unwrap();
    assert_eq!(shared.len(), usize::MAX);
    assert_eq!(shared.into_filter().len(), usize::MAX);
}

#[test]
fn shared_filters_can_be_sent_to_and_shared_by_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<SharedBloom<Standard>>();
    check::<SharedBloom<CacheLine>>();
}
