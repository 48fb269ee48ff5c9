//! Tests of concurrent operations, in every order that the model checker loom explores. scripts/check-loom runs them.
#![cfg(all(loom, feature = "parallel"))]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use trommel::bloom::SharedRegisterBloom;
use trommel::engine::ShardedFilter;
use trommel::{Filter, FilterKind, FilterSpec, Insert, InsertShared, Isa, KeyHash, RegisterBloom};

/// A table of one word, in which all keys set their bits.
fn one_word() -> RegisterBloom {
    RegisterBloom::builder().keys(4).memory_bytes(8).isa(Isa::Portable).build().unwrap()
}

const HASHES: [KeyHash; 3] = [
    KeyHash::from_raw(0x0123_4567_89AB_CDEF),
    KeyHash::from_raw(0xFEDC_BA98_7654_3210),
    KeyHash::from_raw(0x9E37_79B9_7F4A_7C15),
];

fn unshared(shared: Arc<SharedRegisterBloom>) -> RegisterBloom {
    Arc::try_unwrap(shared).expect("the threads are joined").into_filter()
}

#[test]
fn inserts_into_one_word_lose_no_bit_and_no_count() {
    loom::model(|| {
        let shared = Arc::new(one_word().into_shared());
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.insert_hash(HASHES[0]).unwrap())
        };
        shared.insert_batch(&HASHES[1..]).unwrap();
        assert!(HASHES[1..].iter().all(|hash| shared.contains_hash(*hash)));
        other.join().unwrap();
        assert!(shared.contains_hash(HASHES[0]));
        assert_eq!(shared.len(), 3);
        let mut plain = one_word();
        plain.insert_batch(&HASHES).unwrap();
        assert_eq!(unshared(shared).to_bytes(), plain.to_bytes());
    });
}

/// A thread that inserts the first hash and then sets the flag. It returns whether the insert changed the filter.
fn insert_and_set_flag(
    shared: &Arc<(SharedRegisterBloom, AtomicBool)>,
) -> thread::JoinHandle<bool> {
    let shared = shared.clone();
    thread::spawn(move || {
        let changed = shared.0.insert_hash(HASHES[0]).unwrap();
        shared.1.store(true, Ordering::Release);
        changed
    })
}

#[test]
fn a_lookup_that_a_flag_orders_after_an_insert_finds_the_key() {
    loom::model(|| {
        let shared = Arc::new((one_word().into_shared(), AtomicBool::new(false)));
        let other = insert_and_set_flag(&shared);
        if shared.1.load(Ordering::Acquire) {
            assert!(shared.0.contains_hash(HASHES[0]));
        } else {
            // The lookup is concurrent with the insert, so either answer is right.
            let _ = shared.0.contains_hash(HASHES[0]);
        }
        other.join().unwrap();
        assert!(shared.0.contains_hash(HASHES[0]));
    });
}

/// Threads `other` and `second` insert the same key. If `other` has set its bits already, `second` sets none. A third
/// thread that is ordered after the insert of `second`, but not after that of `other`, still finds the key.
#[test]
fn an_insert_that_skips_set_bits_is_seen_by_threads_ordered_after_it() {
    loom::model(|| {
        let shared = Arc::new((one_word().into_shared(), AtomicBool::new(false)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.0.insert_hash(HASHES[0]).unwrap())
        };
        let second = insert_and_set_flag(&shared);
        if shared.1.load(Ordering::Acquire) {
            assert!(shared.0.contains_hash(HASHES[0]));
        }
        let changes = [other.join().unwrap(), second.join().unwrap()];
        assert_eq!(changes.iter().filter(|changed| **changed).count(), 1);
        assert_eq!(shared.0.len(), 2);
    });
}

#[test]
fn shards_keep_what_threads_insert_and_remove() {
    loom::model(|| {
        let spec = FilterSpec::new(FilterKind::Quotient).keys(8).multiset(true);
        let filter = Arc::new(ShardedFilter::build(&spec.isa(Isa::Portable), 2).unwrap());
        // Both threads change the shard of the first hash.
        let other = {
            let filter = filter.clone();
            thread::spawn(move || {
                assert_eq!(filter.insert_hash(HASHES[0]), Ok(true));
                filter.insert_hash(HASHES[1]).unwrap();
            })
        };
        assert_eq!(filter.insert_hash(HASHES[0]), Ok(true));
        assert!(filter.count_hash(HASHES[0]).unwrap() >= 1);
        assert_eq!(filter.remove_hash(HASHES[0]), Ok(true));
        other.join().unwrap();
        assert_eq!(filter.count_hash(HASHES[0]), Ok(1));
        assert!(filter.contains_hash(HASHES[1]));
        assert_eq!(filter.len(), 2);
    });
}
