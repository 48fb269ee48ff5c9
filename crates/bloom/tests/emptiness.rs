//! What `len` and `is_empty` say of filters whose counts are no longer those of their bits.

use trommel_base::container::{self, Header};
use trommel_base::{Filter, Insert, Remove};
use trommel_bloom::{BloomFilter, CountingBloomFilter, SplitBlockBloom};

/// One key often enough that its counters stick, and another once.
fn with_stuck_counters() -> CountingBloomFilter {
    let mut filter = CountingBloomFilter::with_capacity_and_fpr(1000, 0.01).unwrap();
    for _ in 0..20 {
        filter.insert("a").unwrap();
    }
    filter.insert("b").unwrap();
    filter
}

/// More removals than inserts of a key are not noticed where its counters stick. They lower `len`, and take no other
/// key away.
#[test]
fn a_filter_that_holds_a_key_is_not_empty() {
    let mut filter = with_stuck_counters();
    for _ in 0..25 {
        assert!(filter.remove("a"));
    }
    assert_eq!(filter.len(), 0);
    assert!(filter.contains("b") && !filter.is_empty() && !filter.bits().is_empty());
    let bytes = filter.to_bytes();
    let view = CountingBloomFilter::parse(&bytes).unwrap();
    let owned = CountingBloomFilter::from_bytes(&bytes).unwrap();
    assert_eq!((view.len(), owned.len()), (0, 0));
    assert!(view.contains("b") && !view.is_empty());
    assert!(owned.contains("b") && !owned.is_empty());
    filter.clear();
    assert!(filter.is_empty() && !filter.contains("b"));
}

/// As many removals as inserts are no misuse, and leave bits set where counters stick.
#[test]
fn stuck_counters_leave_a_filter_that_is_not_empty() {
    let mut filter = with_stuck_counters();
    assert!((0..20).all(|_| filter.remove("a")) && filter.remove("b"));
    assert!(filter.contains("a") && filter.len() == 0 && !filter.is_empty());
}

/// Exact counters end where the inserts do.
#[test]
fn exact_counters_leave_an_empty_filter() {
    let builder = CountingBloomFilter::builder().keys(1000).compact(true);
    let mut filter = builder.build().unwrap();
    for _ in 0..20 {
        filter.insert("a").unwrap();
    }
    assert_eq!((0..25).filter(|_| filter.remove("a")).count(), 20);
    assert!(filter.is_empty() && filter.len() == 0);
}

/// A header may count no keys beside a table that holds some: a Parquet bitset with so few bits that the estimate is
/// zero, or a frozen filter that says so.
#[test]
fn bits_that_no_count_speaks_of_are_not_empty() {
    let mut bitset = [0; 32];
    assert!(SplitBlockBloom::from_parquet_bitset(&bitset).unwrap().is_empty());
    bitset[31] = 1;
    let filter = SplitBlockBloom::from_parquet_bitset(&bitset).unwrap();
    assert!(filter.len() == 0 && !filter.is_empty());

    let mut filter = BloomFilter::with_capacity_and_fpr(1000, 0.01).unwrap();
    filter.insert("key").unwrap();
    let bytes = filter.to_bytes();
    let parsed = container::parse(&bytes).unwrap();
    let uncounted = Header { len: 0, ..parsed.header() }.to_bytes(&[parsed.payload()]);
    let view = BloomFilter::parse(&uncounted).unwrap();
    assert!(view.len() == 0 && view.contains("key") && !view.is_empty());
    let owned = BloomFilter::from_bytes(&uncounted).unwrap();
    assert!(!owned.is_empty());
    #[cfg(target_has_atomic = "64")]
    assert!(!owned.into_shared().is_empty());
}
