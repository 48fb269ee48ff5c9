//! False-positive rates, and the probe lengths that the documentation states.

use trommel_base::{Filter, Insert, SpecError};
use trommel_testkit::stats::assert_binomial;
use trommel_testkit::streams::{Disjoint, distinct};
use trommel_textbook::TextbookQuotientFilter;
use trommel_textbook::quotient::remainder_bits_for;

/// The expected false-positive rate of `n` keys with `p`-bit fingerprints, `1 − e^(−n / 2^p)`.
fn predicted_fpr(keys: usize, fingerprint_bits: i32) -> f64 {
    1.0 - (-(keys as f64) / 2f64.powi(fingerprint_bits)).exp()
}

#[test]
fn absent_keys_are_reported_as_present_at_the_expected_fpr() {
    for (q, r, keys) in [(12, 1, 3000), (14, 4, 12_000), (14, 8, 15_500), (16, 10, 49_000)] {
        let hashes = Disjoint::new(u64::from(r), keys, 1_000_000);
        let mut set = TextbookQuotientFilter::new(q, r).unwrap();
        set.insert_batch(&hashes.members).unwrap();
        assert!(hashes.members.iter().all(|hash| set.contains_hash(*hash)));
        let false_positives =
            hashes.absent.iter().filter(|hash| set.contains_hash(**hash)).count() as u64;
        let what = format!("{q} + {r} bits");
        assert_binomial(&what, false_positives, 1_000_000, set.expected_fpr(), 3.0);
    }
}

/// A multiset predicts its false-positive rate from the number of keys; a set predicts it from the number of its
/// distinct fingerprints. If `n` fingerprints are drawn at random from `N` possible ones, and `x = n / N`, the
/// number of distinct ones has mean `N (1 − e^−x)` and variance `N (e^−x − (1 + x) e^−2x)`. The tolerance follows from
/// this variance.
#[test]
fn set_and_multiset_expect_the_same_fpr() {
    for (q, r, keys) in [(10, 1, 1000), (12, 1, 4096), (14, 2, 14_000), (14, 6, 16_000)] {
        let mut set = TextbookQuotientFilter::new(q, r).unwrap();
        let mut multiset = TextbookQuotientFilter::new_multiset(q, r).unwrap();
        let hashes = distinct(u64::from(q), 0..keys as u64);
        set.insert_batch(&hashes).unwrap();
        multiset.insert_batch(&hashes).unwrap();
        assert_eq!(multiset.len(), keys);

        let predicted = predicted_fpr(keys, (q + r) as i32);
        assert!((multiset.expected_fpr() / predicted - 1.0).abs() < 1e-9);
        let all = 2f64.powi((q + r) as i32);
        let x = keys as f64 / all;
        let sigma = ((-x).exp() - (1.0 + x) * (-2.0 * x).exp()).sqrt() / all.sqrt();
        let difference = set.expected_fpr() - predicted;
        assert!(difference.abs() < 3.0 * sigma, "the rates differ by {difference}, sigma {sigma}");
    }
}

#[test]
fn an_empty_filter_finds_nothing() {
    for filter in [TextbookQuotientFilter::new(8, 3), TextbookQuotientFilter::new_multiset(8, 3)] {
        let filter = filter.unwrap();
        assert_eq!((filter.expected_fpr(), filter.load(), filter.is_empty()), (0.0, 0.0, true));
        assert!(distinct(1, 0..10_000).iter().all(|hash| !filter.contains_hash(*hash)));
        assert_eq!(filter.fingerprints().next(), None);
    }
}

#[test]
fn remainders_are_as_long_as_the_requested_fpr_needs() {
    assert_eq!(remainder_bits_for(1_000_000_000, 30, 0.02), Ok(6));
    assert_eq!(remainder_bits_for(0, 30, 0.02), Ok(1));
    for (keys, q) in [(900, 10), (1 << 20, 20), (500_000_000, 30)] {
        for fpr in [0.3, 0.01, 1e-3, 1e-6] {
            let r = remainder_bits_for(keys, q, fpr).unwrap();
            assert!(
                predicted_fpr(keys, (q + r) as i32) <= fpr,
                "{r} bits are too few for {keys} keys in 2^{q} slots at {fpr}"
            );
            assert!(
                r == 1 || predicted_fpr(keys, (q + r) as i32 - 1) > fpr,
                "{r} bits are too many for {keys} keys in 2^{q} slots at {fpr}"
            );
        }
    }
    for fpr in [0.0, 1.0, -1.0, f64::NAN] {
        let refused = remainder_bits_for(1000, 10, fpr);
        assert!(matches!(refused, Err(SpecError::FprOutOfRange { .. })));
    }
    let refused = remainder_bits_for(1 << 40, 40, 1e-9);
    assert!(matches!(refused, Err(SpecError::FprUnreachable { floor, .. }) if floor > 5e-8));
    let refused = remainder_bits_for(1000, 41, 0.01);
    assert!(matches!(refused, Err(SpecError::Parameter { name: "quotient_bits", .. })));
}

/// The documentation states Knuth's `(1 + 1 / (1 − load)²) / 2` for linear probing: the mean number of slots from a
/// random home up to and including the next empty slot. A few long clusters dominate the mean of a single table, so the
/// tolerance is 5 %, not a number of standard deviations.
#[test]
fn the_distance_to_the_next_empty_slot_is_that_of_linear_probing() {
    for load in [0.5, 0.75, 0.9] {
        let mut filter = TextbookQuotientFilter::new_multiset(18, 8).unwrap();
        let keys = (load * filter.capacity() as f64) as u64;
        filter.insert_batch(&distinct(3, 0..keys)).unwrap();
        let empty: Vec<bool> = filter.slots().map(|slot| slot.is_none()).collect();
        let (mut steps, mut distance) = (0u64, 0u64);
        // Goes twice around the table, from right to left. In the second lap, `distance` is correct for every slot,
        // also for those whose next empty slot is beyond the end.
        for lap in 0..2 {
            for is_empty in empty.iter().rev() {
                distance = if *is_empty { 1 } else { distance + 1 };
                steps += lap * distance;
            }
        }
        let mean = steps as f64 / empty.len() as f64;
        let predicted = (1.0 + 1.0 / (1.0 - load).powi(2)) / 2.0;
        assert!(
            (mean / predicted - 1.0).abs() < 0.05,
            "a mean distance of {mean}, predicted {predicted}"
        );
    }
}
