//! Operations and options of filters whose kind is chosen at run time. Some kinds lack some of these.

use trommel::error::{FoldError, WhyFull};
use trommel::{
    AnyFilter, Filter, FilterKind, FilterSpec, Hasher, Insert, KeyHash, MergeError, SpecError,
    Unsupported,
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

/// The kinds that store fingerprints.
const FINGERPRINT_KINDS: [FilterKind; 3] =
    [FilterKind::Quotient, FilterKind::CacheLineQuotient, FilterKind::Cuckoo];

fn counts(kind: FilterKind) -> bool {
    kind == FilterKind::CountingBloom || FINGERPRINT_KINDS.contains(&kind)
}

#[test]
fn unsupported_operations_are_errors_and_change_nothing() {
    let hashes = distinct(1, 0..KEYS as u64);
    for kind in FilterKind::ALL {
        let mut filter = filled(spec(*kind), &hashes);
        let before = filter.to_bytes();
        let len = filter.len();
        let (removed, count) = (filter.remove_hash(hashes[0]), filter.count_hash(hashes[1]));
        if counts(*kind) {
            assert_eq!((removed, count.map(|count| count >= 1)), (Ok(true), Ok(true)));
            assert_eq!(filter.len(), len - 1);
        } else {
            assert_eq!(removed, Err(Unsupported { kind: *kind, operation: "remove" }));
            assert_eq!(count, Err(Unsupported { kind: *kind, operation: "count" }));
            let message = removed.unwrap_err().to_string();
            assert!(
                message.contains(kind.name()) && message.contains("remove"),
                "the text is: {message}"
            );
            assert!(filter.to_bytes() == before);
        }
    }
}

#[test]
fn a_removed_key_is_gone_and_an_absent_one_is_not_removed() {
    let keys = distinct(2, 0..2 * KEYS as u64);
    let (members, absent) = keys.split_at(KEYS);
    for compact in [false, true] {
        let mut filter = filled(spec(FilterKind::CountingBloom).compact(compact), members);
        for hash in members {
            assert_eq!(filter.remove_hash(*hash), Ok(true));
        }
        assert!(filter.is_empty());
        assert!(keys.iter().all(|hash| !filter.contains_hash(*hash)));
        assert!(absent.iter().all(|hash| filter.remove_hash(*hash) == Ok(false)));
        assert!(absent.iter().all(|hash| filter.count_hash(*hash) == Ok(0)));
    }
}

/// A set holds a key once. A multiset holds it once per insert.
#[test]
fn copies_are_counted_where_they_are_kept() {
    let keys = distinct(2, 0..2 * KEYS as u64);
    let (members, absent) = keys.split_at(KEYS);
    for kind in FINGERPRINT_KINDS {
        for multiset in [false, true] {
            let mut filter = spec(kind).fpr(0.004).multiset(multiset).build().unwrap();
            let new = |filter: &mut AnyFilter, hash| filter.insert_hash(hash).unwrap();
            assert!(new(&mut filter, keys[0]));
            assert_eq!(new(&mut filter, keys[0]), multiset);
            assert_eq!(filter.count_hash(keys[0]), Ok(1 + u64::from(multiset)));
            assert_eq!(filter.remove_hash(keys[0]), Ok(true));
            assert_eq!(filter.contains_hash(keys[0]), multiset);
            let mut filter = spec(kind).multiset(true).build().unwrap();
            filter.insert_batch(members).unwrap();
            for hash in members {
                assert_eq!(filter.remove_hash(*hash), Ok(true));
            }
            assert!(filter.is_empty() && filter.expected_fpr() == 0.0);
            assert!(absent.iter().all(|hash| filter.remove_hash(*hash) == Ok(false)));
        }
    }
}

/// Every kind refuses the options that it does not have; the error has the option's name. Kinds with slots refuse loads
/// that are not strictly between 0 and 1, and a cuckoo filter refuses fingerprints of widths other than 8, 12, 16 and
/// 32 bits.
#[test]
fn options_that_a_kind_lacks_and_values_that_are_not_allowed_are_refused() {
    for kind in FilterKind::ALL {
        let options: [(&str, FilterSpec); 5] = [
            ("load", spec(*kind).load(0.5)),
            ("remainder_bits", spec(*kind).remainder_bits(8)),
            ("fingerprint_bits", spec(*kind).fingerprint_bits(32)),
            ("multiset", spec(*kind).multiset(true)),
            ("grow_at", spec(*kind).grow_at(0.9)),
        ];
        for (name, with) in options {
            match with.build() {
                Ok(filter) => {
                    assert!(
                        FINGERPRINT_KINDS.contains(kind) && filter.is_empty(),
                        "{kind} accepts {name}"
                    );
                }
                Err(error) => {
                    assert_eq!(error, SpecError::Option { kind: *kind, option: name });
                    // Two of the kinds with slots lack one option each. A new cache-line quotient filter has remainders
                    // of a fixed width, so the number of slots alone determines the width of a fingerprint. The cuckoo
                    // filter has no remainders.
                    let other_widths = [
                        (FilterKind::CacheLineQuotient, "fingerprint_bits"),
                        (FilterKind::Cuckoo, "remainder_bits"),
                    ];
                    assert!(
                        !FINGERPRINT_KINDS.contains(kind) || other_widths.contains(&(*kind, name))
                    );
                    assert!(
                        error.to_string().contains(name) && error.to_string().contains(kind.name())
                    );
                }
            }
        }
    }
    // `compact` is only for the counting Bloom filter. `foldable_by` is for the Bloom filters without counters.
    for kind in FilterKind::ALL {
        let folds = filled(spec(*kind), &[]).fold(1).is_ok();
        let options = [
            ("compact", spec(*kind).compact(true), *kind == FilterKind::CountingBloom),
            ("foldable_by", spec(*kind).foldable_by(4), folds),
        ];
        for (option, with, has_it) in options {
            let refused = SpecError::Option { kind: *kind, option };
            assert_eq!(with.build().err(), (!has_it).then_some(refused), "{kind}");
        }
    }
    for (load, kind) in [f64::NAN, 0.0, 1.0, -0.5, 2.0, f64::INFINITY]
        .into_iter()
        .flat_map(|load| FINGERPRINT_KINDS.map(|kind| (load, kind)))
    {
        for with in [spec(kind).load(load), spec(kind).grow_at(load)] {
            assert!(matches!(with.build(), Err(SpecError::LoadOutOfRange { .. })), "load {load}");
        }
    }
    for bits in [0, 1, 7, 9, 10, 13, 15, 17, 24, 31, 33, 64] {
        let error = spec(FilterKind::Cuckoo).fingerprint_bits(bits).build().unwrap_err();
        let (name, value, allowed) = ("fingerprint_bits", u64::from(bits), &[8, 12, 16, 32]);
        assert_eq!(error, SpecError::Choice { name, value, allowed });
        let expected = format!("fingerprint_bits is {bits}, allowed are 8, 12, 16, 32");
        assert_eq!(error.to_string(), expected);
    }
}

/// A filter that grows by itself has room for the keys that it is made for, whether they are inserted one by one or in
/// one batch. A spec for which this would not hold is refused.
#[test]
fn a_filter_that_grows_has_room_for_its_keys_or_is_refused() {
    let mut made = 0;
    for (kind, keys) in FINGERPRINT_KINDS
        .into_iter()
        .flat_map(|kind| [0, 1, 30, 1000].into_iter().map(move |keys| (kind, keys)))
    {
        let hashes = distinct(8, 0..(keys as u64).max(1));
        for fpr in [0.5, 0.03, 0.004, 1e-4, 1e-6] {
            for load in [1e-300, 1e-12, 1e-6, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9] {
                let spec = FilterSpec::new(kind).keys(keys).fpr(fpr).grow_at(load);
                match spec.multiset(true).build() {
                    // Filters of such specs would grow to more than two million slots, which takes too long in a test.
                    Ok(_) if hashes.len() as f64 / load > 2e6 => {}
                    Ok(mut singly) => {
                        made += 1;
                        let mut batched = spec.multiset(true).build().unwrap();
                        batched.insert_batch(&hashes).unwrap();
                        for hash in &hashes {
                            singly.insert_hash(*hash).unwrap();
                        }
                        assert_eq!((singly.len(), batched.len()), (hashes.len(), hashes.len()));
                    }
                    Err(SpecError::FprUnreachable { .. }) => {}
                    Err(error) => {
                        assert!(matches!(error, SpecError::GrowAt { .. }), "{error}");
                        // Only low loads, or fingerprints with few bits, are refused.
                        assert!(load < 0.2 || fpr > 0.1, "{kind}, {fpr}, {load}: {error}");
                    }
                }
            }
        }
    }
    assert!(made > 50, "only {made} filters were built");
    for kind in FINGERPRINT_KINDS {
        let error = spec(kind).grow_at(1e-12).build().unwrap_err();
        assert_eq!(error, SpecError::GrowAt { load: 1e-12, keys: 1000, most_keys: 0 });
        assert_eq!(
            error.to_string(),
            "1000 keys are expected, but a filter that grows at load 1e-12 has room for at most 0 keys"
        );
        // A growing filter can be made without a number of expected keys, at the default false-positive rate.
        let mut growing = FilterSpec::new(kind).grow_at(0.9).build().unwrap();
        assert_eq!(growing.insert_hash(distinct(9, 0..1)[0]), Ok(true));
    }
}

/// An insert into a full `AnyFilter` returns an error. An `AnyFilter` that is allowed to grow takes all keys instead.
#[test]
fn a_full_filter_is_an_error_unless_it_grows() {
    let hashes = distinct(6, 0..5000);
    for kind in FINGERPRINT_KINDS {
        let spec = FilterSpec::new(kind).keys(1000).fpr(0.004);
        let mut filter = spec.build().unwrap();
        let full = filter.insert_batch(&hashes).unwrap_err();
        assert_eq!((full.why, full.len), (WhyFull::Slots, filter.len()));
        assert!(full.inserted >= 1000 && full.len <= full.inserted && full.capacity >= full.len);
        assert!(hashes[..full.inserted].iter().all(|hash| filter.contains_hash(*hash)));

        let small = filter.memory_bytes();
        let mut filter = spec.grow_at(0.9).build().unwrap();
        filter.insert_batch(&hashes).unwrap();
        assert!(filter.memory_bytes() > 3 * small);
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
    }
}

/// Filters with slots cannot be folded.
#[test]
fn filters_of_fingerprints_do_not_fold() {
    for kind in FINGERPRINT_KINDS {
        let filter = filled(spec(kind), &distinct(7, 0..100));
        assert_eq!(filter.fold(2).unwrap_err(), FoldError::Unsupported { kind });
    }
}

#[test]
fn a_merge_of_one_kind_is_the_union() {
    let hashes = distinct(3, 0..2 * KEYS as u64);
    let (a, b) = hashes.split_at(KEYS);
    for kind in FilterKind::ALL {
        // A cuckoo filter that is a set does not insert a key that it mistakes for a stored key. So the cuckoo filter
        // of this test is a multiset.
        let spec = |kind| spec(kind).multiset(kind == FilterKind::Cuckoo);
        let mut left = filled(spec(*kind), a);
        left.merge(&filled(spec(*kind), b)).unwrap();
        assert!(hashes.iter().all(|hash| left.contains_hash(*hash)), "{kind} lost a key");
        if *kind == FilterKind::Cuckoo {
            // The order of inserts decides in which slot a fingerprint is, but not whether the filter has it.
            assert_eq!(left.len(), hashes.len());
            continue;
        }
        assert!(
            left.to_bytes() == filled(spec(*kind), &hashes).to_bytes(),
            "{kind}: the merge has other bytes"
        );
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
            let message = error.to_string();
            assert!(
                message.contains(left_kind.name()) && message.contains(right_kind.name()),
                "the text is: {message}"
            );
            assert!(left.to_bytes() == before, "{right_kind} changed {left_kind}");
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
            assert!(left.to_bytes() == before, "{kind}: changed by an error");
        }
    }
    let counting = spec(FilterKind::CountingBloom);
    let mut wide = filled(counting, &hashes);
    assert!(
        wide.merge(&filled(counting.compact(true), &hashes)).is_err(),
        "filters with different counters were merged"
    );
}

#[test]
fn equal_specs_build_equal_filters_and_another_seed_builds_another() {
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
        assert!(
            build(1) == build(1) && build(1) != build(2),
            "{kind}: the seed does not decide the bytes"
        );
    }
}
