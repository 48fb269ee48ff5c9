//! What only some kinds can do, asked of all.

use trommel::{
    AnyFilter, Filter, FilterKind, FilterSpec, Hasher, Insert, KeyHash, MergeError, Unsupported,
};
use trommel_testkit::streams::distinct;

const KEYS: usize = 500;

fn spec(kind: FilterKind) -> FilterSpec {
    FilterSpec::new(kind).keys(2 * KEYS).fpr(0.01)
}

fn filled(spec: FilterSpec, hashes: &[KeyHash]) -> AnyFilter {
    let mut filter = spec.build().unwrap();
    filter.insert_batch(hashes).unwrap();
    filter
}

fn counts(kind: FilterKind) -> bool {
    kind == FilterKind::CountingBloom
}

#[test]
fn what_a_kind_cannot_do_it_says_and_nothing_changes() {
    let hashes = distinct(1, 0..KEYS as u64);
    for kind in FilterKind::ALL {
        let mut filter = filled(spec(*kind), &hashes);
        let before = filter.to_bytes();
        let (removed, count) = (filter.remove_hash(hashes[0]), filter.count_hash(hashes[1]));
        if counts(*kind) {
            assert_eq!((removed, count.map(|count| count >= 1)), (Ok(true), Ok(true)));
            assert_eq!(filter.len(), KEYS - 1);
        } else {
            assert_eq!(removed, Err(Unsupported { kind: *kind, operation: "remove" }));
            assert_eq!(count, Err(Unsupported { kind: *kind, operation: "count" }));
            let told = removed.unwrap_err().to_string();
            assert!(told.contains(kind.name()) && told.contains("remove"), "{told}");
            assert!(filter.to_bytes() == before);
        }
    }
}

#[test]
fn a_removed_key_is_gone_and_an_absent_one_is_not_removed() {
    let keys = distinct(2, 0..2 * KEYS as u64);
    let (members, strangers) = keys.split_at(KEYS);
    for compact in [false, true] {
        let mut filter = filled(spec(FilterKind::CountingBloom).compact(compact), members);
        for hash in members {
            assert_eq!(filter.remove_hash(*hash), Ok(true));
        }
        assert!(filter.is_empty());
        assert!(keys.iter().all(|hash| !filter.contains_hash(*hash)));
        assert!(strangers.iter().all(|hash| filter.remove_hash(*hash) == Ok(false)));
        assert!(strangers.iter().all(|hash| filter.count_hash(*hash) == Ok(0)));
    }
}

#[test]
fn a_merge_of_one_kind_is_the_union() {
    let hashes = distinct(3, 0..2 * KEYS as u64);
    let (a, b) = hashes.split_at(KEYS);
    for kind in FilterKind::ALL {
        let mut left = filled(spec(*kind), a);
        left.merge(&filled(spec(*kind), b)).unwrap();
        assert!(left.to_bytes() == filled(spec(*kind), &hashes).to_bytes(), "{kind}");
    }
}

#[test]
fn unlike_kinds_do_not_merge_and_nothing_changes() {
    let hashes = distinct(4, 0..KEYS as u64);
    for left_kind in FilterKind::ALL {
        for right_kind in FilterKind::ALL.iter().filter(|kind| *kind != left_kind) {
            let (mut left, right) =
                (filled(spec(*left_kind), &hashes), filled(spec(*right_kind), &[]));
            let before = left.to_bytes();
            let error = left.merge(&right).unwrap_err();
            assert_eq!(error, MergeError::Kinds { left: *left_kind, right: *right_kind });
            let told = error.to_string();
            assert!(told.contains(left_kind.name()) && told.contains(right_kind.name()), "{told}");
            assert!(left.to_bytes() == before, "{left_kind} after {right_kind}");
        }
    }
}

#[test]
fn unlike_filters_of_a_kind_do_not_merge_and_nothing_changes() {
    let hashes = distinct(5, 0..KEYS as u64);
    for kind in FilterKind::ALL {
        let unlike =
            [spec(*kind).keys(5 * KEYS), spec(*kind).seed(1), spec(*kind).hasher(Hasher::xxh64(0))];
        for other in unlike {
            let (mut left, right) = (filled(spec(*kind), &hashes), filled(other, &hashes));
            let before = left.to_bytes();
            match left.merge(&right).unwrap_err() {
                MergeError::Incompatible(error) => assert_ne!(error.left, error.right, "{error}"),
                error => panic!("{kind}: {error}"),
            }
            assert!(left.to_bytes() == before, "{kind}");
        }
    }
    let counting = spec(FilterKind::CountingBloom);
    let mut wide = filled(counting, &hashes);
    assert!(wide.merge(&filled(counting.compact(true), &hashes)).is_err(), "other counters");
}

#[test]
fn equal_specs_build_equal_filters_and_another_seed_another() {
    let keys: Vec<u64> = (0..KEYS as u64).collect();
    for kind in FilterKind::ALL {
        let build = |seed| {
            let mut filter = spec(*kind).seed(seed).build().unwrap();
            let mut hashes = Vec::new();
            filter.hasher().hash_batch(&keys, &mut hashes);
            filter.insert_batch(&hashes).unwrap();
            assert!(keys.iter().all(|key| filter.contains(key)));
            filter.to_bytes()
        };
        assert!(build(1) == build(1) && build(1) != build(2), "{kind}");
    }
}
