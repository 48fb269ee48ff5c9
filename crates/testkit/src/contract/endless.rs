//! Filters that take any number of keys, and whose false-positive rate rises with them.

use super::rates::{Measured, SIGMAS, measure};
use super::{assert_all_found, fill};
use crate::stats::assert_binomial;
use crate::streams::Stream;
use crate::subject::{Subject, built, spec};
use trommel_base::{Filter, Insert};
use trommel_simd::Isa;

/// A filter that was planned for 50 keys takes 5000 inserts, and then finds every key. Some streams repeat keys, and
/// the inserts of repeated keys are among the 5000.
pub fn no_key_is_lost_in_an_overfull_filter<S: Subject>(isa: Isa) {
    for stream in Stream::ALL {
        let hashes = stream.hashes(17, 5000);
        let (first, rest) = hashes.split_at(2500);
        let mut filter = built::<S>(&spec(50, 0.01, isa));
        fill::<S>(&mut filter, first);
        for hash in rest {
            filter.insert_hash(*hash).unwrap();
        }
        assert_all_found(&filter, &hashes, &format!("{stream}, {isa}"));
    }
}

/// `len` is the number of inserts, both single ones and those in batches. Inserts of repeated keys count too.
pub fn every_insert_is_counted<S: Subject>(isa: Isa) {
    for stream in Stream::ALL {
        let hashes = stream.hashes(18, 300);
        let mut filter = built::<S>(&spec(10, 0.01, isa));
        for (i, hash) in hashes.iter().enumerate() {
            assert_eq!(filter.len(), i);
            filter.insert_hash(*hash).unwrap();
        }
        fill::<S>(&mut filter, &hashes);
        assert_eq!(filter.len(), 600, "{stream}: len after 600 inserts");
    }
}

/// A filter with three times the planned number of keys has more than five times as many false positives as a filter
/// with the planned number. The number of false positives in the overfull filter is the number that `expected_fpr`
/// predicts.
pub fn an_overfull_filter_still_knows_its_rate<S: Subject>(isa: Isa) {
    let empty = built::<S>(&spec(2000, 0.01, isa));
    let planned = measure::<S>(&empty, 2000, 2000, 100);
    let overfull = measure::<S>(&empty, 6000, 2000, 100);
    let Measured { hits, probes, expected, sizing } = overfull;
    assert_binomial("overfull against expected_fpr", hits, probes, expected, SIGMAS);
    assert!(sizing > 0.05 && hits > 5 * planned.hits);
}
