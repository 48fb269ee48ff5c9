//! The inserts that cannot fail (`add` and others) give the same filters as the inserts of the traits `Insert` and
//! `InsertShared`, and equal filters have equal frozen bytes.

use trommel_base::{Filter, Insert, InsertShared};
use trommel_bloom::{
    BloomFilter, CacheLineBloom, CountingBloomFilter, RegisterBloom, SplitBlockBloom,
};
use trommel_testkit::streams::distinct;

macro_rules! for_each_kind {
    ($($test:ident: $filter:ident;)*) => {$(
        #[test]
        fn $test() {
            // More hashes than `Extend` inserts in one batch, and not a multiple of that number.
            let hashes = distinct(1, 0..2_500);
            let empty = $filter::with_capacity_and_fpr(2_500, 0.01).unwrap();
            let mut inserted = empty.clone();
            let changed: Vec<bool> =
                hashes.iter().map(|hash| inserted.insert_hash(*hash).unwrap()).collect();

            let mut added = empty.clone();
            for (hash, changed) in hashes.iter().zip(changed) {
                assert_eq!(added.add_hash(*hash), changed);
            }
            let mut batched = empty.clone();
            batched.add_batch(&hashes);
            let mut extended = empty.clone();
            extended.extend(&hashes[..7]);
            extended.extend(hashes[7..].iter().copied());
            for filter in [added, batched, extended] {
                assert_eq!(filter, inserted);
                assert_eq!(filter.to_bytes(), inserted.to_bytes());
            }
            let bytes = inserted.to_bytes();
            assert_eq!($filter::parse(&bytes).unwrap(), inserted);

            let mut by_key = empty.clone();
            by_key.add("anvil");
            let mut by_trait = empty.clone();
            by_trait.insert("anvil").unwrap();
            assert_eq!(by_key, by_trait);
            assert_ne!(by_key, empty);
        }
    )*};
}
for_each_kind! {
    standard: BloomFilter;
    counting: CountingBloomFilter;
    register: RegisterBloom;
    split_block: SplitBlockBloom;
    cache_line: CacheLineBloom;
}

/// The frozen bytes include the number of inserts, the hasher and the shape, so filters that differ in one of these are
/// not equal.
#[test]
fn filters_with_different_frozen_bytes_are_not_equal() {
    let filter = |keys: usize, seed: u64| {
        SplitBlockBloom::builder().keys(keys).fpr(0.01).seed(seed).build().unwrap()
    };
    assert_eq!(filter(1_000, 1), filter(1_000, 1));
    assert_ne!(filter(1_000, 1), filter(1_000, 2));
    assert_ne!(filter(1_000, 1), filter(2_000, 1));
    let (mut once, mut twice) = (filter(1_000, 1), filter(1_000, 1));
    once.add("anvil");
    twice.add("anvil");
    twice.add("anvil");
    assert_ne!(once, twice);
}

#[test]
fn adding_to_a_shared_filter_is_the_same_as_inserting() {
    let hashes = distinct(1, 0..2_500);
    let empty = RegisterBloom::with_capacity_and_fpr(2_500, 0.01).unwrap();
    let inserted = empty.clone().into_shared();
    InsertShared::insert_batch(&inserted, &hashes).unwrap();
    let mut added = empty.into_shared();
    added.add_batch(&hashes[..1_000]);
    hashes[1_000..1_500]
        .iter()
        .for_each(|hash| assert!(added.add_hash(*hash) || added.contains_hash(*hash)));
    added.extend(hashes[1_500..].to_vec());
    assert_eq!(added.into_filter(), inserted.into_filter());
}
