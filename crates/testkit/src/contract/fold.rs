//! Folding a filter to a smaller one.

use super::{answers, assert_all_found, fill};
use crate::stats::assert_binomial;
use crate::streams::Disjoint;
use crate::subject::{Fold, Subject, built, foldable, spec_of_bytes};
use trommel_base::{Filter, FoldError, KeyHash};
use trommel_simd::Isa;

/// The size of the filters in bytes: 600 times 64 bytes. A fold keeps the units of a layout (words, blocks or cache
/// lines) whole, and the size of a unit divides 64 bytes. Each of [`FACTORS`] divides 600, so it divides the
/// number of units too.
const BYTES: usize = 64 * 60 * 10;
const FACTORS: [u32; 7] = [1, 2, 3, 4, 5, 10, 60];

/// A filter of `bytes` bytes with these keys. The number of planned keys is proportional to the bytes, so
/// that filters of different sizes set equally many bits per key, as a filter and its fold do.
fn filled<S: Subject>(bytes: usize, hashes: &[KeyHash]) -> S::Filter {
    let spec = foldable(spec_of_bytes(bytes / 2, bytes, Isa::Portable), (bytes / 640) as u32);
    let mut filter = built::<S>(&spec);
    assert_eq!(filter.memory_bytes(), bytes, "{bytes} bytes are not a whole number of units");
    fill::<S>(&mut filter, hashes);
    filter
}

/// A folded filter is, bit for bit, the filter that the same keys make at the smaller size.
pub fn a_folded_filter_is_the_smaller_filter<S: Fold>() {
    let hashes = Disjoint::new(31, 2000, 0).members;
    let large = filled::<S>(BYTES, &hashes);
    for factor in FACTORS {
        let folded = S::fold(&large, factor).unwrap();
        let fresh = filled::<S>(BYTES / factor as usize, &hashes);
        assert!(
            S::to_bytes(&folded) == S::to_bytes(&fresh),
            "the filter folded by {factor} has other bytes than one built at the smaller size"
        );
        assert_all_found(&folded, &hashes, &format!("folded by {factor}"));
    }
}

/// Folding by 2, then by 5, then by 6 makes the same filter as folding by 60.
pub fn folding_in_steps_is_folding_at_once<S: Fold>() {
    let large = filled::<S>(BYTES, &Disjoint::new(32, 1000, 0).members);
    let mut stepwise = large.clone();
    for factor in [2, 5, 6] {
        stepwise = S::fold(&stepwise, factor).unwrap();
    }
    assert!(S::to_bytes(&stepwise) == S::to_bytes(&S::fold(&large, 60).unwrap()));
}

/// The measured false-positive rate of a folded filter is the one that its `expected_fpr` states.
pub fn a_folded_filter_knows_its_rate<S: Fold>() {
    let keys = Disjoint::new(33, 6000, 400_000);
    let large = filled::<S>(BYTES, &keys.members);
    for factor in [2, 4, 5, 10] {
        let folded = S::fold(&large, factor).unwrap();
        let hits = answers(&folded, &keys.absent).count_ones() as u64;
        let expected = folded.expected_fpr();
        assert_binomial(&format!("folded by {factor}"), hits, 400_000, expected, 3.0);
        assert!(expected >= large.expected_fpr());
    }
}

/// A factor that does not divide the size, or is zero, is refused with an error that has the number of units and the
/// factor.
pub fn what_does_not_divide_is_refused<S: Fold>() {
    let filter = filled::<S>(BYTES, &Disjoint::new(34, 100, 0).members);
    let before = S::to_bytes(&filter);
    for wanted in [0, 7, 11, 1 << 20, u32::MAX] {
        match S::fold(&filter, wanted) {
            Err(FoldError::NotDivisible { units, factor }) => {
                assert_eq!(factor, u64::from(wanted));
                assert!(units.checked_rem(factor) != Some(0));
            }
            other => panic!("folding by {wanted} gave {other:?}"),
        }
        assert!(S::to_bytes(&filter) == before);
    }
}
