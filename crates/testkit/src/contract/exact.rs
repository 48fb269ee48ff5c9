//! Filters that keep whole fingerprints, compared with a sorted multiset of fingerprints.
//!
//! The bytes of such a filter depend only on which fingerprints it holds. So most claims here compare the bytes of a
//! filter with the bytes of a second filter, which should hold the same fingerprints but was filled in another order,
//! by another call, or on another instruction set.

use super::{assert_all_found, fill, fill_up};
use crate::Splitmix;
use crate::streams::{Disjoint, Stream, distinct};
use crate::subject::{Exact, built, spec};
use std::collections::BTreeMap;
use trommel_base::{Count, Filter, Full, Insert, KeyHash, Merge, MergeError, Remove, WhyFull};
use trommel_simd::Isa;

/// All copies of all fingerprints as one ascending list.
pub(super) fn listed(held: &BTreeMap<u64, u64>) -> Vec<u64> {
    held.iter().flat_map(|(f, copies)| std::iter::repeat_n(*f, *copies as usize)).collect()
}

/// Fails unless the filter holds exactly these fingerprints.
#[track_caller]
pub(super) fn assert_holds<S: Exact>(filter: &S::Filter, held: &BTreeMap<u64, u64>, what: &str) {
    let listed = listed(held);
    assert_eq!(filter.len(), listed.len(), "{what}: len");
    assert!(
        S::fingerprints(filter) == listed,
        "{what}: the filter does not hold the expected fingerprints"
    );
}

fn shuffled(mut hashes: Vec<KeyHash>, seed: u64) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    for i in (1..hashes.len()).rev() {
        hashes.swap(i, random.below(i as u64 + 1) as usize);
    }
    hashes
}

/// In filters from nearly empty to full, inserts and removes random keys of a limited set, so that keys share
/// fingerprints, and copies come and go. Every call returns what an exact multiset of fingerprints predicts.
pub fn the_filter_follows_the_fingerprints<S: Exact>(isa: Isa) {
    // The number of planned keys, the number of keys used, the false-positive rate, and the percentage of inserts.
    let cases = [
        (500, 300, 0.3, 55),
        (20, 100, 0.01, 52),
        (4, 400, 0.3, 60),
        (300, 3, 0.01, 50),
        (700, 20_000, 0.1, 60),
    ];
    for (planned, universe, fpr, inserts) in cases {
        let hashes = distinct(planned as u64, 0..universe);
        let mut filter = built::<S>(&spec(planned, fpr, isa));
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        let mut random = Splitmix::new(planned as u64);
        for step in 0..6000 {
            let hash = hashes[random.below(universe) as usize];
            let f = S::fingerprint(&filter, hash);
            let copies = held.get(&f).copied().unwrap_or(0);
            assert_eq!(filter.count_hash(hash), copies, "step {step}: the count of {hash:?}");
            assert_eq!(
                filter.contains_hash(hash),
                copies > 0,
                "step {step}: whether {hash:?} is found"
            );
            if random.below(100) < inserts {
                match filter.insert_hash(hash) {
                    Ok(new) => {
                        assert_eq!(
                            new,
                            copies < S::copies(),
                            "step {step}: whether an insert adds a copy"
                        );
                        assert!(new || S::copies() == 1);
                        held.insert(f, S::copies().min(copies + 1));
                    }
                    Err(full) if full.why == WhyFull::Slots => {
                        assert!(
                            full.len >= planned,
                            "step {step}: full before {planned} keys: {full}"
                        );
                    }
                    Err(full) => {
                        let max = S::copies() as u32;
                        assert_eq!(full.why, WhyFull::Copies { max });
                        assert!(copies == S::copies() && copies > 1);
                    }
                }
            } else {
                assert_eq!(
                    filter.remove_hash(hash),
                    copies > 0,
                    "step {step}: whether {hash:?} is removed"
                );
                match copies {
                    0 => {}
                    1 => drop(held.remove(&f)),
                    _ => drop(held.insert(f, copies - 1)),
                }
            }
            if step % 500 == 0 {
                assert_holds::<S>(&filter, &held, &format!("step {step}"));
            }
        }
        assert_holds::<S>(&filter, &held, "at the end");
        let bytes = S::to_bytes(&filter);
        assert!(S::to_bytes(&S::from_bytes(&bytes).unwrap()) == bytes);
    }
}

/// `len` is the number of fingerprints, copies included, for every stream. The count of a hash is the number of held
/// copies of its fingerprint.
pub fn len_is_the_number_of_fingerprints<S: Exact>() {
    for stream in Stream::ALL {
        for fpr in [0.5, 0.01] {
            let empty = built::<S>(&spec(3000, fpr, Isa::Portable));
            let hashes = stream.hashes(81, 3000);
            let mut filter = empty.clone();
            fill::<S>(&mut filter, &hashes);
            let held = S::held(&empty, &hashes);
            assert_holds::<S>(&filter, &held, &format!("{stream}"));
            assert_eq!(S::len_after(&empty, &hashes), listed(&held).len());
            for (f, copies) in &held {
                let hash = S::hash_of(&filter, *f);
                assert_eq!(S::fingerprint(&filter, hash), *f);
                assert_eq!(filter.count_hash(hash), *copies);
            }
        }
    }
}

/// The same hashes make the same table in ascending, descending or shuffled order, whether they are inserted one by
/// one, in one batch or in three.
pub fn order_does_not_matter<S: Exact>(isa: Isa) {
    for keys in [1, 2, 50, 700, 5000] {
        for (stream, fpr) in [(Stream::Random, 0.01), (Stream::Zipf, 0.4), (Stream::Random, 0.4)] {
            let hashes = stream.hashes(keys as u64, keys);
            let mut ascending = hashes.clone();
            ascending.sort_unstable();
            let descending: Vec<KeyHash> = ascending.iter().rev().copied().collect();
            let empty = built::<S>(&spec(keys, fpr, isa));
            let expected = {
                let mut filter = built::<S>(&spec(keys, fpr, Isa::Portable));
                fill::<S>(&mut filter, &hashes);
                S::to_bytes(&filter)
            };
            let orders =
                [&ascending, &descending, &shuffled(hashes.clone(), 1), &shuffled(hashes, 2)];
            for order in orders {
                let mut singly = empty.clone();
                order.iter().for_each(|hash| super::put::<S>(&mut singly, *hash));
                assert!(
                    S::to_bytes(&singly) == expected,
                    "{keys} hashes of {stream}, inserted one by one, make another table"
                );
                let mut batch = empty.clone();
                fill::<S>(&mut batch, order);
                assert!(
                    S::to_bytes(&batch) == expected,
                    "{keys} hashes of {stream} in one batch make another table"
                );
                let mut batches = empty.clone();
                for part in order.chunks(order.len().div_ceil(3)) {
                    fill::<S>(&mut batches, part);
                }
                assert!(
                    S::to_bytes(&batches) == expected,
                    "{keys} hashes of {stream} in three batches make another table"
                );
            }
        }
    }
}

/// A batch makes the same bytes as single inserts in portable code. The filter is filled by many batches, until a key
/// does not fit. Some batches have about as many keys as a vector has lanes or a word has bits; others are longer.
pub fn batches_do_what_single_inserts_do_at_every_load<S: Exact>(isa: Isa) {
    for planned in [60, 1000, 9000] {
        let room = planned + planned / 8 + 300;
        let hashes = distinct(82, 0..room as u64);
        let mut filter = built::<S>(&spec(planned, 0.02, isa));
        let mut singly = built::<S>(&spec(planned, 0.02, Isa::Portable));
        let lengths = [1, 7, 8, 9, 63, 64, 65, 200, 513, 2049];
        let mut from = 0;
        for length in lengths.into_iter().cycle() {
            let length = length.min(planned / 4 + 1);
            let part = &hashes[from..room.min(from + length)];
            let taken = fill_up::<S>(&mut filter, part);
            for hash in &part[..taken] {
                singly.insert_hash(*hash).unwrap();
            }
            assert!(
                S::to_bytes(&filter) == S::to_bytes(&singly),
                "{planned} keys planned: {length} after {from} differ from single inserts"
            );
            from += taken;
            if taken < part.len() {
                assert_eq!(singly.insert_hash(part[taken]).unwrap_err().why, WhyFull::Slots);
                break;
            }
        }
        assert!(from >= planned);
        assert_all_found(&filter, &hashes[..from], "after the last batch");
    }
}

/// A filter is filled with the planned number of keys, or until a key does not fit, and then emptied in another order.
/// After that it is, bit for bit, the empty filter.
pub fn removing_all_leaves_the_empty_table<S: Exact>(isa: Isa) {
    for planned in [0, 1, 20, 300, 5000] {
        let empty = built::<S>(&spec(planned, 0.001, isa));
        let hashes = distinct(83, 0..planned as u64 * 3 / 2 + 400);
        for count in [planned, hashes.len()] {
            let mut filter = empty.clone();
            let taken = fill_up::<S>(&mut filter, &hashes[..count]);
            assert!(taken >= planned);
            let held = S::held(&empty, &hashes[..taken]);
            assert_holds::<S>(&filter, &held, "filled");
            let fingerprints: Vec<KeyHash> =
                listed(&held).iter().map(|f| S::hash_of(&filter, *f)).collect();
            for hash in shuffled(fingerprints, 84) {
                assert!(filter.remove_hash(hash));
            }
            assert!(filter.is_empty() && filter.expected_fpr() == 0.0);
            assert!(
                S::to_bytes(&filter) == S::to_bytes(&empty),
                "the emptied filter is not the empty one: {planned} keys planned, {count} tried"
            );
        }
    }
}

/// A filter from which fingerprints were removed has the same bytes as a filter into which these fingerprints were
/// never inserted.
pub fn a_removed_fingerprint_leaves_no_trace<S: Exact>(isa: Isa) {
    for planned in [30, 1000, 4000] {
        let empty = built::<S>(&spec(planned, 0.05, isa));
        let hashes = distinct(85, 0..planned as u64);
        let mut random = Splitmix::new(86);
        let mut filter = empty.clone();
        fill::<S>(&mut filter, &hashes);
        let mut held = S::held(&empty, &hashes);
        for percent in [5, 30, 70] {
            let (mut kept, mut gone) = (BTreeMap::new(), Vec::new());
            for (f, copies) in held {
                let removed = (0..copies).filter(|_| random.below(100) < percent).count() as u64;
                gone.extend(std::iter::repeat_n(S::hash_of(&empty, f), removed as usize));
                if copies > removed {
                    kept.insert(f, copies - removed);
                }
            }
            for hash in shuffled(gone, percent) {
                assert!(filter.remove_hash(hash));
            }
            let mut fresh = empty.clone();
            let hashes: Vec<KeyHash> =
                listed(&kept).into_iter().map(|f| S::hash_of(&empty, f)).collect();
            fresh.insert_batch(&hashes).unwrap();
            assert!(
                S::to_bytes(&filter) == S::to_bytes(&fresh),
                "{percent} % of {planned} keys removed: not the bytes of the kept keys"
            );
            held = kept;
        }
    }
}

/// Removing a key whose fingerprint the filter does not hold is refused and changes nothing.
pub fn what_is_absent_is_not_removed<S: Exact>(isa: Isa) {
    let keys = Disjoint::new(87, 2000, 6000);
    let mut filter = built::<S>(&spec(2000, 0.01, isa));
    assert!(!filter.remove_hash(keys.absent[0]), "a key was removed from an empty filter");
    fill::<S>(&mut filter, &keys.members);
    let held = S::held(&filter, &keys.members);
    let before = S::to_bytes(&filter);
    let mut refused = 0;
    for hash in keys.absent {
        if !held.contains_key(&S::fingerprint(&filter, hash)) {
            assert!(!filter.remove_hash(hash) && !filter.contains_hash(hash));
            assert_eq!(filter.count_hash(hash), 0);
            refused += 1;
        }
    }
    assert!(refused > 5800);
    assert!(S::to_bytes(&filter) == before, "a refused removal changed the filter");
}

/// A merged filter holds the fingerprints of both filters: one copy of each in a set, all copies in a multiset. A merge
/// succeeds if both filters together hold at most as many keys as each of them was planned for.
pub fn a_merge_keeps_every_fingerprint<S: Exact>() {
    let empty = built::<S>(&spec(3000, 0.2, Isa::Portable));
    for (left, right) in
        [(0..1500, 1500..3000), (0..1000, 500..1500), (0..900, 0..900), (0..0, 0..3000)]
    {
        let parts = [left, right].map(|range| distinct(88, range));
        let [mut merged, other] = parts.clone().map(|hashes| {
            let mut filter = empty.clone();
            fill::<S>(&mut filter, &hashes);
            filter
        });
        merged.merge(&other).unwrap();
        let both = parts.concat();
        assert_holds::<S>(&merged, &S::held(&empty, &both), "merged");
        let mut expected = empty.clone();
        fill::<S>(&mut expected, &both);
        assert!(S::to_bytes(&merged) == S::to_bytes(&expected));
    }
}

/// A merge fails if there are too few slots, or if a key would get more copies than a filter may hold. Then both
/// filters stay as they were. The error states that no key was inserted, and how many keys are in the left filter, into
/// which the right filter was to be merged.
pub fn a_merge_that_does_not_fit_changes_nothing<S: Exact>() {
    let empty = built::<S>(&spec(1000, 0.004, Isa::Portable));
    let filled = |range| {
        let mut filter = empty.clone();
        fill::<S>(&mut filter, &distinct(89, range));
        filter
    };
    let (mut left, right) = (filled(0..900), filled(900..1800));
    assert_unchanged::<S>(&mut left, &right);
    if S::copies() > 1 {
        let key = distinct(89, 0..1);
        let mut left = empty.clone();
        fill::<S>(&mut left, &vec![key[0]; 200]);
        let mut right = left.clone();
        let full = assert_unchanged::<S>(&mut left, &right);
        assert_eq!(full.why, WhyFull::Copies { max: S::copies() as u32 });
        (0..200 - (S::copies() - 200)).for_each(|_| assert!(right.remove_hash(key[0])));
        left.merge(&right).unwrap();
        assert_eq!(left.count_hash(key[0]), S::copies());
    }
}

fn assert_unchanged<S: Exact>(left: &mut S::Filter, right: &S::Filter) -> Full {
    let before = (S::to_bytes(left), S::to_bytes(right));
    let error = match left.merge(right).unwrap_err().into() {
        MergeError::Full(full) => full,
        error => panic!("a merge without room fails with the wrong error: {error}"),
    };
    assert_eq!((error.inserted, error.len), (0, left.len()));
    assert!(
        (S::to_bytes(left), S::to_bytes(right)) == before,
        "a refused merge changed a filter: {error}"
    );
    error
}
