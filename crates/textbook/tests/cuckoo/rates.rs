//! False-positive rates, and the equations of sizing.

use trommel_base::{Filter, Insert, SpecError};
use trommel_testkit::stats::assert_binomial;
use trommel_testkit::streams::Disjoint;
use trommel_textbook::TextbookCuckooFilter;
use trommel_textbook::cuckoo::{fingerprint_bits_for, full_rate};

#[test]
fn strangers_are_found_as_often_as_expected() {
    for (bits, b, f, load) in
        [(12, 1, 10, 0.4), (14, 2, 8, 0.8), (14, 4, 8, 0.5), (14, 4, 8, 0.94), (14, 4, 12, 0.9)]
    {
        let capacity = (1usize << bits) * b as usize;
        let members = (load * capacity as f64) as usize;
        let hashes = Disjoint::new(u64::from(f), members, 1_000_000);
        let mut filter = TextbookCuckooFilter::new(bits, b, f).unwrap();
        filter.insert_batch(&hashes.members).unwrap();
        assert!(hashes.members.iter().all(|hash| filter.contains_hash(*hash)));
        let count =
            |hashes: &[_]| hashes.iter().filter(|hash| filter.contains_hash(**hash)).count();
        let false_positives = count(&hashes.absent) as u64;
        let what = format!("{b} entries of {f} bits at {load}");
        assert_binomial(&what, false_positives, 1_000_000, filter.expected_fpr(), 3.0);
        assert!(filter.expected_fpr() < full_rate(b, f) / (1.0 - 0.5f64.powi(f as i32)));
    }
}

#[test]
fn an_empty_filter_finds_nothing() {
    let filter = TextbookCuckooFilter::new(8, 4, 3).unwrap();
    assert_eq!((filter.expected_fpr(), filter.load(), filter.is_empty()), (0.0, 0.0, true));
    let absent = Disjoint::new(1, 0, 10_000).absent;
    assert!(absent.iter().all(|hash| !filter.contains_hash(*hash)));
}

/// `1 − (1 − 2^−f)^2b`, near `2b / 2^f`.
#[test]
fn the_rate_of_a_full_table_is_the_equation() {
    for (b, f) in [(1, 4), (2, 8), (4, 8), (4, 12), (4, 16)] {
        let exact = 1.0 - (1.0 - 0.5f64.powi(f as i32)).powi(2 * b as i32);
        assert!((full_rate(b, f) / exact - 1.0).abs() < 1e-9);
        let near = 2.0 * f64::from(b) * 0.5f64.powi(f as i32);
        assert!(full_rate(b, f) < near && full_rate(b, f) > near * (1.0 - near));
    }
}

#[test]
fn fingerprints_are_as_long_as_the_rate_needs() {
    for (b, fpr, bits) in [(2, 0.02, 8), (4, 0.03, 9), (4, 0.001, 13), (1, 0.5, 2), (8, 1e-8, 31)] {
        assert_eq!(fingerprint_bits_for(b, fpr), Ok(bits));
        assert!(full_rate(b, bits) <= fpr);
    }
    for fpr in [0.0, 1.0, -1.0, f64::NAN] {
        let refused = fingerprint_bits_for(4, fpr);
        assert!(matches!(refused, Err(SpecError::FprOutOfRange { .. })));
    }
    let floor = fingerprint_bits_for(4, 1e-9);
    assert!(matches!(floor, Err(SpecError::FprUnreachable { floor, .. }) if floor > 1e-9));
    let parameter = fingerprint_bits_for(0, 0.01);
    assert!(matches!(parameter, Err(SpecError::Parameter { name: "bucket_entries", .. })));
}

/// A billion keys at 2 % in pairs: 2^29 buckets of fingerprints of eight bits, 1.07 GB. They are 93 %
/// full then, which is more than the 84 % that pairs are said to take: the notes' figures are those of a
/// table that would need twice the buckets.
#[test]
fn a_billion_keys_in_pairs_take_the_bytes_of_the_notes() {
    let f = fingerprint_bits_for(2, 0.02).unwrap();
    let entries = 2u64 << 29;
    assert_eq!(entries * u64::from(f) / 8, 1_073_741_824);
    assert!(1e9 / entries as f64 > 0.84 && 1e9 / (2 * entries) as f64 <= 0.84);
}
