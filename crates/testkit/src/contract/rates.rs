//! Measured false positives, compared with the filter's `expected_fpr` and with the sizing equation.

use super::{answers, fill};
use crate::stats::{assert_binomial, assert_binomial_at_most};
use crate::streams::distinct;
use crate::subject::{Room, Subject, built, spec};
use trommel_base::{Filter, KeyHash, SpecError};
use trommel_simd::Isa;

/// A count further from its expectation than this many standard deviations is a failure.
pub(super) const SIGMAS: f64 = 3.0;

/// False positives counted over many filters, each with keys of its own.
pub(super) struct Measured {
    pub(super) hits: u64,
    pub(super) probes: u64,
    /// The mean of the filters' `expected_fpr`.
    pub(super) expected: f64,
    /// The false-positive rate by the sizing equation.
    pub(super) sizing: f64,
}

/// Fails if the measured hits contradict the false-positive rate that the filter states. A filter that counts copies
/// cannot tell copies of a key from keys that share a fingerprint, so the rate that it states is an upper bound.
fn assert_expected<S: Subject>(what: &str, measured: &Measured) {
    let Measured { hits, probes, expected, .. } = *measured;
    match S::ROOM {
        Room::Slots { copies: 2.. } => {
            assert_binomial_at_most(what, hits, probes, expected.min(1.0), SIGMAS);
        }
        _ => assert_binomial(what, hits, probes, expected, SIGMAS),
    }
}

/// Counts the false positives of `filters` filters that differ only in their keys.
///
/// `probes_each` should be small compared with `keys`. Then the random differences between the fills of the
/// filters add little to the variance of the total number of hits: hits are nearly independent, and their number is
/// nearly binomial. Few probes in each of many filters test an equation; many probes in one filter would test only that
/// filter.
pub(super) fn measure<S: Subject>(
    empty: &S::Filter,
    keys: usize,
    probes_each: usize,
    filters: usize,
) -> Measured {
    let mut measured = Measured { hits: 0, probes: 0, expected: 0.0, sizing: 0.0 };
    measured.sizing = S::sizing_fpr(empty, keys);
    let mut next = 0u64;
    let mut draw = |count: usize| -> Vec<KeyHash> {
        // All filters together use one long sequence of distinct hashes, so no absent key of a filter is a member of
        // that filter.
        next += count as u64;
        distinct(0x0F9B, next - count as u64..next)
    };
    for _ in 0..filters {
        let mut filter = empty.clone();
        fill::<S>(&mut filter, &draw(keys));
        measured.expected += filter.expected_fpr() / filters as f64;
        measured.hits += answers(&filter, &draw(probes_each)).count_ones() as u64;
        measured.probes += probes_each as u64;
    }
    measured
}

/// In filters of at least a thousand keys, the number of false positives is within three standard deviations of the
/// predictions by `expected_fpr` and by the sizing equation. If one of these predictions is only an upper bound for a
/// filter, the number of false positives can be further below that bound. The sizing equation gives at most the rate
/// asked for. The rates asked for are from 20 % to 0.1 %, and the numbers of keys are not powers of two.
pub fn false_positives_are_as_many_as_expected<S: Subject>(isa: Isa) {
    let cases = [
        (1000, 0.2, 400_000),
        (1537, 0.03, 400_000),
        (4099, 0.001, 1_000_000),
        // This case expects 20,000 hits, and three standard deviations are 2 % of that number. So the case detects an
        // equation that is 3 % wrong.
        (10_007, 0.01, 2_000_000),
        (65_537, 0.004, 1_000_000),
        (100_003, 0.01, 400_000),
    ];
    for (keys, fpr, probes) in cases {
        let empty = built::<S>(&spec(keys, fpr, isa));
        let probes_each = (keys as f64 * S::PROBES_PER_KEY) as usize;
        let measured = measure::<S>(&empty, keys, probes_each, probes / probes_each);
        let Measured { hits, probes, sizing, .. } = measured;
        let what = |equation| format!("{keys} keys at {fpr} on {isa} against {equation}");
        assert_expected::<S>(&what("expected_fpr"), &measured);
        let what_sizing = what("the sizing equation");
        if S::SIZING_IS_EXACT {
            assert_binomial(&what_sizing, hits, probes, sizing, SIGMAS);
        } else {
            assert_binomial_at_most(&what_sizing, hits, probes, sizing, SIGMAS);
        }
        assert!(sizing <= fpr * 1.000_001, "sized for {fpr}, the equation gives {sizing}");
    }
}

/// With few keys, a filter has at most the false-positive rate that it is sized for, although the sizing equations
/// assume many keys. `expected_fpr` is still exact, or an upper bound in a filter that counts copies.
pub fn tiny_filters_keep_their_promise<S: Subject>(isa: Isa) {
    for (keys, fpr) in [(1, 0.1), (3, 0.02), (10, 0.01), (37, 0.05), (100, 0.01), (333, 0.01)] {
        let empty = built::<S>(&spec(keys, fpr, isa));
        let measured = measure::<S>(&empty, keys, 100, 2000);
        let Measured { hits, probes, .. } = measured;
        let what = |bound| format!("{keys} keys on {isa} against {bound}");
        assert_expected::<S>(&what("expected_fpr"), &measured);
        assert_binomial_at_most(&what("the rate asked for"), hits, probes, fpr, SIGMAS);
    }
}

/// If a very low rate is asked of a small filter, the filter keeps the rate, or its builder refuses the rate.
///
/// If the bits of a key depend on each other (with double hashing, their positions are an arithmetic progression), all
/// bits of two keys in a table of `m` bits coincide with a probability of about `1/m²`. A formula for independent bits
/// leaves out this probability, and its error shows in small filters at low rates.
pub fn low_rates_are_kept_by_small_filters<S: Subject>(isa: Isa) {
    for (keys, fpr) in [(10, 1e-4), (30, 1e-4), (100, 1e-5), (300, 1e-5)] {
        let empty = match S::build(&spec(keys, fpr, isa)) {
            Ok(empty) => empty,
            Err(SpecError::FprUnreachable { floor, .. }) if floor > fpr => continue,
            Err(error) => panic!("{keys} keys at {fpr:e}: {error}"),
        };
        let measured = measure::<S>(&empty, keys, 10_000, 400);
        let Measured { hits, probes, .. } = measured;
        let what = |bound| format!("{keys} keys at {fpr:e} on {isa} against {bound}");
        assert_binomial_at_most(&what("the rate asked for"), hits, probes, fpr, SIGMAS);
        assert_expected::<S>(&what("expected_fpr"), &measured);
    }
}
