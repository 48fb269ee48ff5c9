//! Tests of the Rust API guidelines that the compiler can check: which traits the public types must have.

use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::str::FromStr;
use std::error::Error;
use trommel::container::{OwnedView, SharedBytes};
use trommel::error::*;
use trommel::{
    AnyFilter, Bitmap, BloomFilter, CacheLineBloom, CacheLineQuotient, CountingBloomFilter,
    CuckooFilter, FilterAccumulator, FilterKind, FilterPolicy, FilterSpec, FilterView, Hasher, Isa,
    KeyHash, QuotientFilter, RegisterBloom, SplitBlockBloom,
};
use trommel_testkit::for_each_type;

/// C-SEND-SYNC, C-DEBUG, C-COMMON-TRAITS, for types that hold a table.
fn table<T: Clone + Debug + PartialEq + Eq + Send + Sync + 'static>() {}
/// C-SEND-SYNC, C-DEBUG, C-COMMON-TRAITS, for small values, which can be copied.
fn value<T: Copy + Debug + PartialEq + Eq + Hash + Send + Sync + 'static>() {}
/// C-GOOD-ERR, and C-COMMON-TRAITS, since tests compare errors, and threads send them to each other.
fn error<T: Error + Clone + Debug + Display + PartialEq + Send + Sync + 'static>() {}

#[test]
fn filters_have_the_common_traits() {
    for_each_type!(
        table:
            BloomFilter, CountingBloomFilter, RegisterBloom, SplitBlockBloom, CacheLineBloom,
            QuotientFilter, CacheLineQuotient, CuckooFilter, AnyFilter, BloomFilter<SharedBytes>,
            Bitmap
    );

    fn shared<T: Debug + Send + Sync + 'static>() {}
    for_each_type!(shared: FilterView<'static>, OwnedView, FilterPolicy, FilterAccumulator);
    #[cfg(target_has_atomic = "64")]
    shared::<trommel::bloom::SharedBloom<trommel::bloom::SplitBlock>>();
    #[cfg(feature = "parallel")]
    {
        for_each_type!(shared: trommel::Engine, trommel::engine::ShardedFilter);
    }
}

#[test]
fn small_values_can_be_copied_and_hashed() {
    for_each_type!(value: KeyHash, Hasher, FilterKind, Isa);
    fn text<T: Display + FromStr<Err: Error>>() {}
    for_each_type!(text: FilterKind, Isa);
    fn ordered<T: Ord>() {}
    for_each_type!(ordered: KeyHash, FilterKind);
    fn cheap<T: Copy + Debug>() {}
    cheap::<FilterSpec>();
}

#[test]
fn errors_can_be_compared_and_passed_on() {
    for_each_type!(
        error:
            AccumulateError, BuildError, FoldError, FormatError, Full, Incompatible, IsaError,
            MergeError, OffsetsError, OutOfMemory, PolicyError, SpecError, UnknownKind, Unsupported,
            trommel::cuckoo::GrowError, trommel::quotient::ResizeError, WrongKind
    );
    #[cfg(feature = "parallel")]
    {
        for_each_type!(
            error:
                trommel::engine::EngineError, trommel::engine::StreamError<OffsetsError>
        );
    }
}

#[test]
fn bloom_filters_can_be_extended_by_hashes() {
    fn extends<T: Extend<KeyHash>>() {}
    for_each_type!(extends: BloomFilter, SplitBlockBloom);
    let hashes: Vec<KeyHash> = (0..3).map(KeyHash::from_raw).collect();
    let mut filter = BloomFilter::with_capacity_and_fpr(10, 0.01).unwrap();
    filter.extend(hashes.iter().copied());
    assert!(hashes.iter().all(|hash| trommel::Filter::contains_hash(&filter, *hash)));
}
