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

/// C-SEND-SYNC, C-DEBUG, C-COMMON-TRAITS, for types that hold a table.
fn table<T: Clone + Debug + PartialEq + Eq + Send + Sync + 'static>() {}
/// C-SEND-SYNC, C-DEBUG, C-COMMON-TRAITS, for small values, which can be copied.
fn value<T: Copy + Debug + PartialEq + Eq + Hash + Send + Sync + 'static>() {}
/// C-GOOD-ERR, and C-COMMON-TRAITS, since tests compare errors, and threads send them to each other.
fn error<T: Error + Clone + Debug + Display + PartialEq + Send + Sync + 'static>() {}

#[test]
fn filters_have_the_common_traits() {
    table::<BloomFilter>();
    table::<CountingBloomFilter>();
    table::<RegisterBloom>();
    table::<SplitBlockBloom>();
    table::<CacheLineBloom>();
    table::<QuotientFilter>();
    table::<CacheLineQuotient>();
    table::<CuckooFilter>();
    table::<AnyFilter>();
    table::<BloomFilter<SharedBytes>>();
    table::<Bitmap>();

    fn shared<T: Debug + Send + Sync + 'static>() {}
    shared::<FilterView<'static>>();
    shared::<OwnedView>();
    shared::<FilterPolicy>();
    shared::<FilterAccumulator>();
    #[cfg(target_has_atomic = "64")]
    shared::<trommel::bloom::SharedBloom<trommel::bloom::SplitBlock>>();
    #[cfg(feature = "parallel")]
    {
        shared::<trommel::Engine>();
        shared::<trommel::engine::ShardedFilter>();
    }
}

#[test]
fn small_values_can_be_copied_and_hashed() {
    value::<KeyHash>();
    value::<Hasher>();
    value::<FilterKind>();
    value::<Isa>();
    fn text<T: Display + FromStr<Err: Error>>() {}
    text::<FilterKind>();
    text::<Isa>();
    fn ordered<T: Ord>() {}
    ordered::<KeyHash>();
    ordered::<FilterKind>();
    fn cheap<T: Copy + Debug>() {}
    cheap::<FilterSpec>();
}

#[test]
fn errors_can_be_compared_and_passed_on() {
    error::<AccumulateError>();
    error::<BuildError>();
    error::<FoldError>();
    error::<FormatError>();
    error::<Full>();
    error::<Incompatible>();
    error::<IsaError>();
    error::<MergeError>();
    error::<OffsetsError>();
    error::<OutOfMemory>();
    error::<PolicyError>();
    error::<SpecError>();
    error::<UnknownKind>();
    error::<Unsupported>();
    error::<trommel::cuckoo::GrowError>();
    error::<trommel::quotient::ResizeError>();
    error::<WrongKind>();
    #[cfg(feature = "parallel")]
    {
        error::<trommel::engine::EngineError>();
        error::<trommel::engine::StreamError<OffsetsError>>();
    }
}

#[test]
fn bloom_filters_can_be_extended_by_hashes() {
    fn extends<T: Extend<KeyHash>>() {}
    extends::<BloomFilter>();
    extends::<SplitBlockBloom>();
    let hashes: Vec<KeyHash> = (0..3).map(KeyHash::from_raw).collect();
    let mut filter = BloomFilter::with_capacity_and_fpr(10, 0.01).unwrap();
    filter.extend(hashes.iter().copied());
    assert!(hashes.iter().all(|hash| trommel::Filter::contains_hash(&filter, *hash)));
}
