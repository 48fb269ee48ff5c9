//! Filters that can remove keys, and in which several keys can share a counter, compared with an exact multiset. The
//! stricter claims about filters that keep whole fingerprints are in [`exact`](super::exact).

use super::{assert_all_found, fill};
use crate::streams::{Disjoint, distinct};
use crate::subject::{Subject, built, spec};
use crate::{Multiset, Splitmix};
use trommel_base::{Count, Filter, Insert, KeyHash, Remove};
use trommel_simd::Isa;

/// Inserts and removes a few keys at random, so that counters are shared, run high and fall to zero.
///
/// Only keys that the filter holds are removed, as the contract of [`Remove`] requires. Under this condition, every key
/// with a copy left is found, and removing such a key always succeeds. A reported count is at least the true number of
/// copies, or at least 15 (the ceiling of a four-bit counter) if the true number is larger.
pub fn the_filter_follows_the_multiset<S: Subject>(isa: Isa)
where
    S::Filter: Remove + Count,
{
    // Each case: planned keys, keys used, percentage of inserts. The filter is lightly loaded in the first case and
    // highly loaded in the second; counters overflow in the third; the last case has only three keys.
    for (planned, universe, inserts) in [(500, 300, 55), (20, 100, 52), (4, 12, 60), (200, 3, 50)] {
        let hashes = distinct(planned as u64, 0..universe);
        let mut filter = built::<S>(&spec(planned, 0.05, isa));
        let mut truth = Multiset::default();
        let mut random = Splitmix::new(planned as u64);
        for step in 0..6000 {
            let hash = hashes[random.below(universe) as usize];
            if random.below(100) < inserts {
                filter.insert_hash(hash).unwrap();
                truth.insert(hash);
            } else if truth.contains(hash) {
                assert!(
                    filter.remove_hash(hash),
                    "step {step}: {hash:?} is there, but was not removed"
                );
                truth.remove(hash);
            }
            assert_eq!(filter.contains_hash(hash), filter.count_hash(hash) > 0);
            if step % 500 == 0 {
                assert_bounds::<S>(&filter, &truth, step);
            }
        }
        assert_bounds::<S>(&filter, &truth, 6000);
    }
}

fn assert_bounds<S: Subject>(filter: &S::Filter, truth: &Multiset, step: usize)
where
    S::Filter: Count,
{
    let entries = truth.entries();
    let held: Vec<KeyHash> = entries.iter().map(|(hash, _)| *hash).collect();
    assert_all_found(filter, &held, &format!("step {step}"));
    for (hash, count) in entries {
        let reported = filter.count_hash(hash);
        // A four-bit counter stays at its ceiling of 15.
        assert!(
            reported >= count.min(15),
            "step {step}: {count} copies of {hash:?}, {reported} reported"
        );
    }
}

/// Removing a key that the filter does not report as present is refused and changes nothing.
pub fn what_is_absent_is_not_removed<S: Subject>(isa: Isa)
where
    S::Filter: Remove + Count,
{
    let keys = Disjoint::new(51, 200, 2000);
    let mut filter = built::<S>(&spec(200, 0.01, isa));
    assert!(!filter.remove_hash(keys.absent[0]), "a key was removed from an empty filter");
    fill::<S>(&mut filter, &keys.members);
    let before = S::to_bytes(&filter);
    let mut refused = 0;
    for hash in keys.absent {
        // Removing a false positive would succeed and damage another key, so callers must not remove one.
        if !filter.contains_hash(hash) {
            assert!(!filter.remove_hash(hash));
            assert_eq!(filter.count_hash(hash), 0);
            refused += 1;
        }
    }
    assert!(refused > 1900);
    assert!(S::to_bytes(&filter) == before, "a refused removal changed the filter");
    assert_all_found(&filter, &keys.members, "after refused removals");
}

/// A removed key is no longer found, except as a false positive. The other keys stay, and the removed key can be
/// inserted again.
pub fn a_removed_key_can_be_reinserted<S: Subject>(isa: Isa)
where
    S::Filter: Remove + Count,
{
    let members = distinct(52, 0..1000);
    let mut filter = built::<S>(&spec(1000, 0.001, isa));
    fill::<S>(&mut filter, &members);
    let full = S::to_bytes(&filter);
    let (gone, kept) = members.split_at(500);
    for hash in gone {
        assert!(filter.remove_hash(*hash));
    }
    assert_eq!(filter.len(), 500);
    assert_all_found(&filter, kept, "not removed");
    let left = gone.iter().filter(|hash| filter.contains_hash(**hash)).count();
    assert!(left <= 5, "{left} of 500 removed keys are still found");
    fill::<S>(&mut filter, gone);
    assert_all_found(&filter, &members, "inserted again");
    assert!(S::to_bytes(&filter) == full, "the same keys made another filter");
}

/// After every copy of every key is removed, the filter equals the empty filter, bit for bit. (No four-bit counter
/// reaches its ceiling of 15 in this test. A counter that did would stay at 15, and so cause false positives, but no
/// false negatives.)
pub fn removing_all_leaves_an_empty_filter<S: Subject>(isa: Isa)
where
    S::Filter: Remove + Count,
{
    let empty = built::<S>(&spec(300, 0.01, isa));
    let members = distinct(53, 0..300);
    let twice = [&members[..], &members[..]].concat();
    let mut filter = empty.clone();
    fill::<S>(&mut filter, &twice);
    assert_eq!(filter.len(), 600);
    for hash in twice.iter().rev() {
        assert!(filter.remove_hash(*hash));
    }
    assert!(S::to_bytes(&filter) == S::to_bytes(&empty));
    assert!(filter.is_empty() && filter.expected_fpr() == 0.0);
}

/// If a caller removes false positives, other keys can be lost, as documented. But nothing panics,
/// and the bytes stay those of a valid filter.
pub fn removing_false_positives_breaks_nothing_else<S: Subject>(isa: Isa)
where
    S::Filter: Remove + Count,
{
    for planned in [1, 4, 50] {
        let mut filter = built::<S>(&spec(planned, 0.3, isa));
        let mut random = Splitmix::new(planned as u64);
        for step in 0..3000 {
            let hash = KeyHash::from_raw(random.word());
            if step % 3 == 0 {
                filter.insert_hash(hash).unwrap();
                assert!(filter.contains_hash(hash));
            } else {
                let there = filter.contains_hash(hash);
                assert_eq!(filter.remove_hash(hash), there);
            }
            assert_eq!(filter.contains_hash(hash), filter.count_hash(hash) > 0);
        }
        let bytes = S::to_bytes(&filter);
        assert!(S::to_bytes(&S::from_bytes(&bytes).unwrap()) == bytes);
    }
}

/// A key is found as long as a copy is left, even if the key had more copies than the 15 that a four-bit counter can
/// count. A key that never had 15 copies is not found after its last copy was removed.
pub fn many_copies_of_a_key_are_never_lost<S: Subject>(isa: Isa)
where
    S::Filter: Remove + Count,
{
    let hashes = distinct(54, 0..3);
    for copies in [2, 3, 4, 14, 15, 16, 17, 100, 1000] {
        let mut filter = built::<S>(&spec(100, 1e-4, isa));
        let mut batch = hashes.clone();
        batch.resize(2 + copies, hashes[2]);
        fill::<S>(&mut filter, &batch);
        for left in (0..copies as u64).rev() {
            let there = filter.count_hash(hashes[2]);
            assert!(
                there > left.min(14),
                "{there} copies reported before a removal that leaves {left} of {copies}"
            );
            assert!(filter.remove_hash(hashes[2]));
            assert!(
                left == 0 || filter.contains_hash(hashes[2]),
                "the key is not found, with {left} of {copies} copies left"
            );
        }
        if copies < 15 {
            assert!(
                !filter.contains_hash(hashes[2]),
                "the key is still found after all {copies} copies were removed"
            );
        }
        assert_all_found(&filter, &hashes[..2], "the other keys");
    }
}
