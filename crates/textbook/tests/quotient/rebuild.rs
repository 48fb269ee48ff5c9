//! Tests of merge, double and halve.

use crate::definition::assert_holds;
use trommel_base::{Filter, Full, Hasher, Incompatible, Insert, SpecError};
use trommel_testkit::Splitmix;
use trommel_textbook::TextbookQuotientFilter;
use trommel_textbook::quotient::RebuildError;

/// A multiset of `count` random fingerprints, and the sorted list of them. `bits` is the pair of quotient bits and
/// remainder bits.
fn filled(seed: u64, bits: (u32, u32), count: usize) -> (TextbookQuotientFilter, Vec<u64>) {
    let mut random = Splitmix::new(seed);
    let mut filter = TextbookQuotientFilter::new_multiset(bits.0, bits.1).unwrap();
    let mut sorted: Vec<u64> = (0..count).map(|_| random.below(1 << (bits.0 + bits.1))).collect();
    for fingerprint in &sorted {
        filter.insert_fingerprint(*fingerprint).unwrap();
    }
    sorted.sort_unstable();
    (filter, sorted)
}

#[test]
fn doubling_and_halving_keep_every_fingerprint() {
    for (seed, (bits, count)) in
        [((1, 7), 2), ((3, 9), 8), ((8, 4), 0), ((8, 4), 256), ((10, 3), 973), ((6, 20), 63)]
            .into_iter()
            .enumerate()
    {
        let (mut filter, sorted) = filled(seed as u64, bits, count);
        let table: Vec<_> = filter.slots().collect();
        let steps = bits.1 - 1;
        for step in 1..=steps {
            if bits.0 + step > 14 {
                break;
            }
            filter.double().unwrap();
            assert_eq!(
                (filter.quotient_bits(), filter.remainder_bits()),
                (bits.0 + step, bits.1 - step)
            );
            assert_holds(&filter, &sorted);
        }
        while filter.quotient_bits() > bits.0 {
            filter.halve().unwrap();
            assert_holds(&filter, &sorted);
        }
        assert_eq!(filter.slots().collect::<Vec<_>>(), table);
    }
}

#[test]
fn halving_a_filter_that_is_too_full_changes_nothing() {
    let (mut filter, sorted) = filled(7, (5, 6), 17);
    assert_eq!(filter.halve(), Err(RebuildError::Full(Full::new(0, 17, 16))));
    assert_holds(&filter, &sorted);
    assert!(filter.remove_fingerprint(sorted[3]));
    assert_eq!(filter.halve(), Ok(()));
    assert_eq!(filter.load(), 1.0);
}

#[test]
fn rebuilding_to_an_impossible_width_is_refused() {
    let refused = |name, value, max| {
        Err(RebuildError::Spec(SpecError::Parameter { name, value, min: 1, max }))
    };
    let filter = |q, r| TextbookQuotientFilter::new(q, r).unwrap();
    assert_eq!(filter(5, 1).double(), refused("remainder_bits", 0, 58));
    assert_eq!(filter(1, 5).halve(), refused("quotient_bits", 0, 40));
    assert_eq!(filter(3, 61).halve(), refused("remainder_bits", 62, 61));
}

#[test]
fn a_merge_is_the_sum_of_multisets() {
    for (seed, (left_bits, right_bits, left_count, right_count)) in [
        ((8, 6), (8, 6), 100, 156),
        ((8, 6), (8, 6), 0, 200),
        ((8, 6), (8, 6), 200, 0),
        ((8, 6), (6, 8), 150, 64),
        ((5, 2), (4, 3), 16, 16),
    ]
    .into_iter()
    .enumerate()
    {
        let (mut left, mut sorted) = filled(seed as u64, left_bits, left_count);
        let (right, others) = filled(50 + seed as u64, right_bits, right_count);
        sorted.extend(&others);
        sorted.sort_unstable();
        assert_eq!(left.merge(&right), Ok(()));
        assert_eq!((left.quotient_bits(), left.remainder_bits()), left_bits);
        assert_holds(&left, &sorted);
        assert_holds(&right, &others);
    }
}

#[test]
fn a_merge_of_sets_is_their_union() {
    let set = |fingerprints: std::ops::Range<u64>| {
        let mut filter = TextbookQuotientFilter::new(6, 4).unwrap();
        for fingerprint in fingerprints {
            filter.insert_fingerprint(fingerprint * 13).unwrap();
        }
        filter
    };
    let mut left = set(0..40);
    // The sets share 20 fingerprints, so the union has 64 members, which fill the 64 slots.
    assert_eq!(left.merge(&set(20..64)), Ok(()));
    assert_holds(&left, &(0..64).map(|i| i * 13).collect::<Vec<_>>());
    assert_eq!(left.merge(&set(10..30)), Ok(()));
    assert_eq!(left.load(), 1.0);
    let too_many = Err(RebuildError::Full(Full::new(0, 64, 64)));
    assert_eq!(left.merge(&set(63..65)), too_many);
    assert_holds(&left, &(0..64).map(|i| i * 13).collect::<Vec<_>>());
}

#[test]
fn filters_with_incompatible_fingerprints_do_not_merge() {
    let (mut filter, sorted) = filled(3, (6, 6), 40);
    let multiset = |q, r| TextbookQuotientFilter::new_multiset(q, r).unwrap();
    let others = [
        (multiset(6, 7), Incompatible::new("fingerprint bits", 12, 13)),
        (multiset(6, 6).with_hasher(Hasher::xxh64(0)), Incompatible::new("hash function", 1, 2)),
        (multiset(6, 6).with_hasher(Hasher::xxh3(9)), Incompatible::new("hash seed", 0, 9)),
        (TextbookQuotientFilter::new(6, 6).unwrap(), Incompatible::new("copies", 1, 0)),
    ];
    for (other, reason) in others {
        assert_eq!(filter.merge(&other), Err(RebuildError::Incompatible(reason)));
        assert_holds(&filter, &sorted);
    }
}

#[test]
fn a_rebuilt_filter_keeps_its_hasher() {
    let mut filter = TextbookQuotientFilter::new(8, 8).unwrap().with_hasher(Hasher::xxh3(42));
    filter.insert("anvil").unwrap();
    filter.double().unwrap();
    filter.halve().unwrap();
    filter.merge(&filter.clone()).unwrap();
    assert_eq!((filter.hasher(), filter.len()), (Hasher::xxh3(42), 1));
    assert!(filter.contains("anvil"));
}
