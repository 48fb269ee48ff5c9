//! Which shapes are allowed, and how much memory they take.

use std::panic::catch_unwind;
use trommel_base::{Filter, Insert, KeyHash, SpecError};
use trommel_testkit::{Splitmix, streams};
use trommel_textbook::TextbookCuckooFilter;
use trommel_textbook::cuckoo::{Buckets, Kicks, MAX_KICKS};

fn parameter(name: &'static str, value: u32, max: u32) -> SpecError {
    SpecError::Parameter { name, value: value.into(), min: 1, max: max.into() }
}

#[test]
fn the_error_for_an_impossible_shape_names_the_parameter() {
    for bad in [0, 33, 64, u32::MAX] {
        let refused = TextbookCuckooFilter::new(bad, 4, 8).unwrap_err();
        assert_eq!(refused, parameter("bucket_bits", bad, 32));
        let refused = TextbookCuckooFilter::new(9, 4, bad).unwrap_err();
        assert_eq!(refused, parameter("fingerprint_bits", bad, 32));
        let refused = Buckets::new(9, 4, bad).unwrap_err();
        assert_eq!(refused, parameter("fingerprint_bits", bad, 32));
    }
    for bad in [0, 9, u32::MAX] {
        let refused = TextbookCuckooFilter::new(9, bad, 8).unwrap_err();
        assert_eq!(refused, parameter("bucket_entries", bad, 8));
        assert_eq!(Buckets::new(9, bad, 8).unwrap_err(), parameter("bucket_entries", bad, 8));
    }
    for bad in [0, (1 << 32) + 1, u64::MAX] {
        let refused = Buckets::new(bad, 4, 8).unwrap_err();
        let expected = SpecError::Parameter { name: "buckets", value: bad, min: 1, max: 1 << 32 };
        assert_eq!(refused, expected);
    }
    for bad in [0, MAX_KICKS + 1, u32::MAX] {
        assert_eq!(Kicks::new(bad, 0).unwrap_err(), parameter("max_kicks", bad, MAX_KICKS));
    }
}

/// The tables take 137 GB and 17 GB. If the system grants the tables, it allocates their pages only when the pages are
/// used.
#[test]
fn tables_beyond_memory_are_refused_or_allocated_lazily() {
    for (b, f) in [(8, 32), (4, 8)] {
        match TextbookCuckooFilter::new(32, b, f) {
            Ok(filter) => assert!(!filter.contains_hash(KeyHash::from_raw(77))),
            Err(error) => {
                let bytes = (1u64 << 32) * u64::from(b * f) / 8 + 8;
                assert_eq!(error, SpecError::OutOfMemory { bytes });
            }
        }
    }
}

#[test]
fn an_entry_takes_as_many_bits_as_its_fingerprint() {
    for (bits, b, f) in [(10, 1, 1), (10, 4, 6), (12, 2, 13), (8, 4, 32), (3, 8, 31)] {
        let filter = TextbookCuckooFilter::new(bits, b, f).unwrap();
        let expected = (filter.capacity() * f as usize).div_ceil(8);
        assert_eq!(filter.memory_bytes() - 8, expected, "2^{bits} buckets of {b} times {f} bits");
    }
}

/// Over all widths, entries begin at each of the eight bits of a byte. Writing an entry changes no other entry.
#[test]
fn fingerprints_of_every_width_are_stored_whole() {
    for f in 1..=32 {
        for b in 1..=8 {
            let mut random = Splitmix::new((32 * b + f).into());
            let mut buckets = Buckets::new(5, b, f).unwrap();
            let mut kicks = Kicks::default();
            let mut expected = vec![None; 5 * b as usize];
            // Each round fills one more entry of every bucket, in an arbitrary order of the buckets.
            for round in 0..b as usize {
                for bucket in [3, 0, 4, 2, 1] {
                    let fingerprint = (random.word() >> (64 - f)).max(1) as u32;
                    assert!(buckets.insert(fingerprint, bucket, &mut kicks, |same, _| same));
                    expected[bucket as usize * b as usize + round] = Some(fingerprint);
                }
            }
            assert!(
                buckets.entries().eq(expected),
                "{b} entries of {f} bits: the entries read are not those written"
            );
        }
    }
}

#[test]
fn fingerprints_are_never_zero_and_equally_frequent() {
    let filter = TextbookCuckooFilter::new(6, 4, 3).unwrap();
    let mut counts = [0u64; 8];
    for hash in streams::distinct(1, 0..70_000) {
        counts[filter.fingerprint_of(hash) as usize] += 1;
    }
    assert_eq!(counts[0], 0);
    let statistic = trommel_testkit::stats::chi_square(&counts[1..], &[10_000.0; 7]);
    assert!(
        statistic < trommel_testkit::stats::chi_square_critical(6, 3.0),
        "fingerprints are not equally frequent: chi-square is {statistic}"
    );
    let widest = TextbookCuckooFilter::new(6, 4, 32).unwrap();
    let fingerprint = |raw| widest.fingerprint_of(KeyHash::from_raw(raw));
    assert_eq!((fingerprint(0), fingerprint(u64::MAX)), (1, u32::MAX));
}

#[test]
fn either_bucket_gives_the_other() {
    let mut filter = TextbookCuckooFilter::new(7, 2, 9).unwrap();
    for hash in streams::distinct(2, 0..1000) {
        let [primary, alternate] = filter.buckets_of(hash);
        assert!(primary < 128 && alternate < 128);
        // The twin has the same fingerprint as `hash`, and its primary bucket is the alternate bucket of `hash`.
        let twin = KeyHash::from_raw(alternate << 57 | hash.raw() << 7 >> 7);
        assert_eq!(filter.fingerprint_of(twin), filter.fingerprint_of(hash));
        assert_eq!(filter.buckets_of(twin), [alternate, primary]);
        if filter.insert_hash(hash).is_ok() {
            assert!(filter.contains_hash(twin));
        }
    }
}

#[test]
fn an_impossible_fingerprint_or_bucket_panics() {
    let buckets = Buckets::new(10, 2, 4).unwrap();
    let insert = |fingerprint, bucket| {
        catch_unwind(|| {
            buckets.clone().insert(fingerprint, bucket, &mut Kicks::default(), |b, _| b)
        })
    };
    assert!(insert(15, 9).is_ok_and(|done| done));
    for (fingerprint, bucket) in [(0, 0), (16, 0), (u32::MAX, 0), (1, 10), (1, u64::MAX)] {
        assert!(insert(fingerprint, bucket).is_err());
    }
}
