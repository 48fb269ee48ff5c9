//! The methods of the trait `Frozen` agree with each other for every kind, and filters are equal exactly if their bytes
//! are equal.

use trommel::container::Frozen;
use trommel::{
    AnyFilter, BloomFilter, CacheLineBloom, CacheLineQuotient, CountingBloomFilter, CuckooFilter,
    Filter, FilterKind, FilterSpec, Insert, KeyHash, QuotientFilter, RegisterBloom,
    SplitBlockBloom,
};

/// Checks the methods of `Frozen`, called as generic code calls them.
fn check<F: Frozen + Insert + PartialEq + Clone + std::fmt::Debug>(mut filter: F) {
    let hashes: Vec<KeyHash> = (0..80u64).map(|key| filter.hash(&key)).collect();
    let empty = filter.clone();
    filter.insert_batch(&hashes).unwrap();
    assert_ne!(filter, empty);

    let bytes = filter.to_bytes();
    assert_eq!(bytes.len(), filter.encoded_len());
    let mut written = Vec::new();
    filter.write_to(&mut written).unwrap();
    assert_eq!(written, bytes);

    let view = F::parse(&bytes).unwrap();
    assert!(hashes.iter().all(|hash| view.contains_hash(*hash)));
    let read = F::from_bytes(&bytes).unwrap();
    assert_eq!(read, filter);
    assert_eq!(read.to_bytes(), bytes);
    assert!(F::parse(&bytes[1..]).is_err() && F::from_bytes(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn generic_code_freezes_every_kind() {
    check(BloomFilter::with_capacity_and_fpr(100, 0.01).unwrap());
    check(CountingBloomFilter::with_capacity_and_fpr(100, 0.01).unwrap());
    check(RegisterBloom::with_capacity_and_fpr(100, 0.01).unwrap());
    check(SplitBlockBloom::with_capacity_and_fpr(100, 0.01).unwrap());
    check(CacheLineBloom::with_capacity_and_fpr(100, 0.01).unwrap());
    check(QuotientFilter::with_capacity_and_fpr(100, 0.01).unwrap());
    check(CacheLineQuotient::with_capacity_and_fpr(100, 0.01).unwrap());
    check(CuckooFilter::with_capacity_and_fpr(100, 0.03).unwrap());
    for kind in FilterKind::ALL {
        check(FilterSpec::new(*kind).keys(100).fpr(0.03).build().unwrap());
    }
}

/// Equality depends only on the frozen bytes.
#[test]
fn filters_are_equal_exactly_if_their_bytes_are() {
    let hashes: Vec<KeyHash> = (0..60u64).map(|key| KeyHash::from_raw(key << 58)).collect();
    let mut filters: Vec<AnyFilter> = Vec::new();
    for kind in FilterKind::ALL {
        for seed in [0, 1] {
            for keys in [100, 1_000] {
                for inserted in [0, 1, 60] {
                    let mut filter = FilterSpec::new(*kind).keys(keys).seed(seed).build().unwrap();
                    filter.insert_batch(&hashes[..inserted]).unwrap();
                    filters.push(filter);
                }
            }
        }
    }
    for left in &filters {
        for right in &filters {
            assert_eq!(left == right, left.to_bytes() == right.to_bytes(), "{left:?} {right:?}");
        }
    }
}
