//! False-positive rates and sizing equations.

use trommel_base::{Filter, Insert, SpecError};
use trommel_testkit::stats::assert_binomial;
use trommel_testkit::streams::Disjoint;
use trommel_textbook::TextbookCuckooFilter;
use trommel_textbook::cuckoo::{fingerprint_bits_for, full_rate};

#[test]
fn absent_keys_are_reported_as_present_at_the_expected_fpr() {
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
        let what = format!("{b} entries of {f} bits at load {load}");
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

/// For buckets of `b` entries of `f` bits, `full_rate` is `1 − (1 − 2^−f)^2b`, which is slightly below `2b / 2^f`.
#[test]
fn the_fpr_of_a_full_table_follows_the_equation() {
    for (b, f) in [(1, 4), (2, 8), (4, 8), (4, 12), (4, 16)] {
        let exact = 1.0 - (1.0 - 0.5f64.powi(f as i32)).powi(2 * b as i32);
        assert!((full_rate(b, f) / exact - 1.0).abs() < 1e-9);
        let approximate = 2.0 * f64::from(b) * 0.5f64.powi(f as i32);
        assert!(full_rate(b, f) < approximate);
        assert!(full_rate(b, f) > approximate * (1.0 - approximate));
    }
}

#[test]
fn fingerprints_are_long_enough_for_the_requested_fpr() {
    for (b, fpr, bits) in [(2, 0.02, 8), (4, 0.03, 9), (4, 0.001, 13), (1, 0.5, 2), (8, 1e-8, 31)] {
        assert_eq!(fingerprint_bits_for(b, fpr), Ok(bits));
        assert!(full_rate(b, bits) <= fpr);
    }
    for fpr in [0.0, 1.0, -1.0, f64::NAN] {
        let refused = fingerprint_bits_for(4, fpr);
        assert!(matches!(refused, Err(SpecError::FprOutOfRange { .. })));
    }
    let refused = fingerprint_bits_for(4, 1e-9);
    assert!(matches!(refused, Err(SpecError::FprUnreachable { floor, .. }) if floor > 1e-9));
    let refused = fingerprint_bits_for(0, 0.01);
    assert!(matches!(refused, Err(SpecError::Parameter { name: "bucket_entries", .. })));
}

/// Some lecture notes put a billion keys, at a false-positive rate of 2 %, into 2^29 buckets of two 8-bit fingerprints,
/// which take 1.07 GB. Such a table would be 93 % full, but buckets of two entries fill only to 84 % (Fan et al.). So
/// the table of the notes is too small: a real table needs 2^30 buckets.
#[test]
fn a_table_for_a_billion_keys_from_lecture_notes_is_too_small() {
    let f = fingerprint_bits_for(2, 0.02).unwrap();
    let entries = 2u64 << 29;
    assert_eq!(entries * u64::from(f) / 8, 1_073_741_824);
    assert!(1e9 / entries as f64 > 0.84 && 1e9 / (2 * entries) as f64 <= 0.84);
}
