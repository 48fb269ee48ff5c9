//! Filters that several threads insert into: byte for byte what one thread makes, and no key ever missed.
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

/// Runs a generic check for the four layouts on every set of this machine.
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
        // Beyond the sizes where batches begin to be prefetched, with lengths that leave a rest.
        for (keys, fpr) in [(0, 0.01), (1, 0.5), (100, 0.01), (5003, 0.001), (2_000_003, 0.02)] {
            let hashes = hashes(0..keys);
            let mut spec = spec(keys as usize, isa);
            spec.fpr = Some(fpr);
            let mut plain = Bloom::<L>::from_spec(&spec).unwrap();
            let shared = Bloom::<L>::from_spec(&spec).unwrap().into_shared();
            let (first, rest) = hashes.split_at(hashes.len().min(1000));
            for hash in first {
                let changed = plain.insert_hash(*hash);
                assert_eq!(shared.insert_hash(*hash), changed, "{isa} {}", L::KIND);
            }
            for batch in rest.chunks(65_521) {
                plain.insert_batch(batch).unwrap();
                shared.insert_batch(batch).unwrap();
            }
            // Nothing is missing any more.
            assert_eq!(
                shared.insert_hash(KeyHash::from_raw(0)),
                plain.insert_hash(KeyHash::from_raw(0))
            );
            assert_eq!(shared.insert_hash(KeyHash::from_raw(0)), Ok(false));
            plain.insert_hash(KeyHash::from_raw(0)).unwrap();
            assert_eq!((shared.len(), shared.memory_bytes()), (plain.len(), plain.memory_bytes()));
            assert_eq!(shared.expected_fpr(), plain.expected_fpr());
            assert_eq!(shared.estimate_len(), plain.estimate_len());
            assert_eq!(shared.into_filter().to_bytes(), plain.to_bytes(), "{isa} {}", L::KIND);
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
                assert!(found.iter_ones().eq(single.map(|(i, _)| i)), "{isa} {} {len}", L::KIND);
                answers.push((asked, found.clone()));
            }
            let filter = shared.into_filter();
            for (asked, answer) in answers {
                filter.contains_batch(asked, &mut found);
                assert_eq!(found, answer, "{isa} {} {}", L::KIND, asked.len());
            }
        }
    }
    for_all!(check);
}

/// Four threads insert batches of which half overlap with the next thread's, and two look up, all the while,
/// keys that are known to be in. Batches are of fewer keys than the table has words, and of more.
#[test]
fn threads_lose_no_bit_and_no_count_and_lookups_beside_them_miss_no_key() {
    const SHARE: u64 = 8_192;
    fn check_batches<L: Layout, const BATCH: usize>(isa: Isa) {
        const THREADS: u64 = 4;
        // Few bits, so that threads meet in words all the time.
        let mut spec = spec(20_000, isa);
        spec.fpr = Some(0.05);
        let shared: SharedBloom<L> = Bloom::from_spec(&spec).unwrap().into_shared();
        assert!((257..SHARE as usize).contains(&(shared.memory_bytes() / 8)));
        let known = hashes(1 << 40..(1 << 40) + 1_000);
        shared.insert_batch(&known).unwrap();
        let part = |thread: u64| hashes(thread * SHARE / 2..(thread + 2) * SHARE / 2);
        // How many inserters are done, and how many batches of each are in.
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
        assert_eq!(shared.into_filter().to_bytes(), plain.to_bytes(), "{isa} {}", L::KIND);
    }
    fn check<L: Layout>(isa: Isa) {
        check_batches::<L, 256>(isa);
        check_batches::<L, { SHARE as usize }>(isa);
    }
    for_all!(check);
}

/// Of threads that insert the same keys at once, exactly one is told that it changed a given bit: as many
/// changes as bits are reported at least once, and no key is reported as a change when all was there.
#[test]
fn of_threads_that_insert_one_key_at_least_one_is_told_and_later_ones_are_not() {
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
        // All bits of a key are in one word here: one thread sets them all.
        assert_eq!(changes.into_inner(), usize::from(!was_in));
    }
}

#[test]
fn counts_go_on_from_what_was_in_and_stop_at_the_largest_number() {
    let mut plain = Bloom::<SplitBlock>::from_spec(&spec(100, Isa::best())).unwrap();
    plain.insert("before").unwrap();
    let shared: SharedBloom<SplitBlock> = plain.into();
    assert_eq!((shared.len(), shared.is_empty()), (1, false));
    assert!(shared.contains("before") && !shared.contains("after"));
    assert_eq!(shared.insert("after"), Ok(true));
    let filter: Bloom<SplitBlock> = shared.into();
    assert!(filter.len() == 2 && filter.contains("before") && filter.contains("after"));

    // What frozen bytes may say.
    let mut endless = filter.clone();
    for _ in 0..64 {
        let copy = endless.clone();
        endless.union(&copy).unwrap();
    }
    let shared = endless.into_shared();
    shared.insert_batch(&hashes(0..10)).unwrap();
    assert_eq!(shared.len(), usize::MAX);
    assert_eq!(shared.into_filter().len(), usize::MAX);
}

#[test]
fn shared_filters_go_where_threads_are() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<SharedBloom<Standard>>();
    shared::<SharedBloom<CacheLine>>();
}
