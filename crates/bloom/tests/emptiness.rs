//! `len` and `is_empty` of filters whose number of keys no longer matches their bits.

use trommel_base::container::{self, Header};
use trommel_base::{Filter, Insert, Remove};
use trommel_bloom::{BloomFilter, CountingBloomFilter, SplitBlockBloom};

/// Makes a filter and inserts the key "a" so often that its counters stick at 15 (removals no longer lower them), and
/// the key "b" once.
fn with_stuck_counters() -> CountingBloomFilter {
    let mut filter = CountingBloomFilter::with_capacity_and_fpr(1000, 0.01).unwrap();
    for _ in 0..20 {
        filter.insert("a").unwrap();
    }
    filter.insert("b").unwrap();
    filter
}

/// A key whose counters stick can be removed more often than it was inserted. These removals lower `len`, but remove no
/// other key.
#[test]
fn a_filter_that_holds_a_key_is_not_empty_even_if_its_len_is_zero() {
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

/// Removing every key as often as it was inserted is correct use, but leaves bits set if counters stick.
#[test]
fn a_filter_with_stuck_counters_does_not_become_empty() {
    let mut filter = with_stuck_counters();
    assert!((0..20).all(|_| filter.remove("a")) && filter.remove("b"));
    assert!(filter.contains("a") && filter.len() == 0 && !filter.is_empty());
}

/// Compact counters never stick, so a key can be removed exactly as often as it was inserted.
#[test]
fn a_filter_with_exact_counters_becomes_empty() {
    let builder = CountingBloomFilter::builder().keys(1000).compact(true);
    let mut filter = builder.build().unwrap();
    for _ in 0..20 {
        filter.insert("a").unwrap();
    }
    assert_eq!((0..25).filter(|_| filter.remove("a")).count(), 20);
    assert!(filter.is_empty() && filter.len() == 0);
}

/// A filter can have bits set and a `len` of 0. A Parquet bitset has no number of keys, so `from_parquet_bitset`
/// estimates `len` from the set bits, and the estimate for very few bits rounds to 0. The header of a frozen filter can
/// also state a `len` of 0.
#[test]
fn a_filter_with_a_bit_set_is_not_empty_even_if_its_len_is_zero() {
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
