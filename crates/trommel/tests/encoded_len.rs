//! A spec states the length of its frozen filter before the filter is built, and a filter states the length of its
//! frozen form before it is frozen.

use trommel::{
    AnyFilter, CountingBloomFilter, FilterKind, FilterSpec, FilterView, Insert, KeyHash, SpecError,
};
use trommel_testkit::Splitmix;
use trommel_testkit::sizes::clamped;

/// Specs with a false-positive rate, bits per key, a size in bytes, or options that only some kinds have.
fn specs(kind: FilterKind) -> impl Iterator<Item = FilterSpec> {
    let sizes = (0..19).flat_map(|i| [(1usize << i) - 1, (1 << i) * 5 / 7]);
    sizes.chain([usize::MAX]).flat_map(move |keys| {
        let spec = FilterSpec::new(kind).keys(keys);
        [
            spec,
            spec.fpr(0.2),
            spec.fpr(0.003),
            spec.fpr(1e-9),
            spec.fpr(2.0),
            spec.fpr(0.05).memory_bytes(4096),
            spec.fpr(0.05).bits_per_key(12.0),
            spec.bits_per_key(9.7),
            spec.bits_per_key(40.0),
            spec.bits_per_key(f64::NAN),
            spec.memory_bytes(5000),
            spec.memory_bytes(clamped(1 << 60)),
            spec.compact(true),
            spec.compact(true).bits_per_key(21.0),
            spec.foldable_by(12),
            spec.foldable_by(5).bits_per_key(10.0),
            spec.load(0.7),
            spec.remainder_bits(8),
            spec.fingerprint_bits(16),
            spec.multiset(true),
            spec.memory_bytes(9000).bits_per_key(3.0),
        ]
    })
}

#[test]
fn a_spec_predicts_the_length_of_its_frozen_filter() {
    for kind in FilterKind::ALL {
        let mut met = 0;
        for spec in specs(*kind) {
            match spec.build() {
                Ok(filter) => {
                    met += 1;
                    let bytes = filter.to_bytes();
                    assert_eq!(spec.encoded_len(), Ok(bytes.len() as u64), "{spec:?}");
                    assert_eq!(filter.encoded_len(), bytes.len(), "{spec:?}");
                    assert_eq!(FilterView::parse(&bytes).unwrap().encoded_len(), bytes.len());
                }
                Err(error) => {
                    // Compares texts, since the errors can contain NaN, which does not equal itself.
                    let refused = spec.encoded_len().unwrap_err();
                    assert_eq!(refused.to_string(), error.to_string(), "{spec:?}");
                }
            }
        }
        assert!(met > 200, "{kind}: only {met} specs could be built");
    }
}

/// The length includes the overflow area of a cuckoo filter and the overflow table of compact counters.
#[test]
fn full_filters_return_their_exact_length() {
    let mut random = Splitmix::new(7);
    let mut overflowed = 0;
    for keys in [10usize, 100, 1000, 20_000] {
        for kind in FilterKind::ALL {
            for compact in [false, *kind == FilterKind::CountingBloom] {
                let spec = FilterSpec::new(*kind).keys(keys).fpr(0.05).compact(compact);
                let mut filter = spec.build().unwrap();
                // Filters with slots become full; Bloom filters take all keys.
                let hashes: Vec<KeyHash> =
                    (0..2 * keys).map(|_| KeyHash::from_raw(random.word())).collect();
                let _ = filter.insert_batch(&hashes);
                let bytes = filter.to_bytes();
                assert_eq!(filter.encoded_len(), bytes.len(), "{spec:?}");
                assert_eq!(FilterView::parse(&bytes).unwrap().encoded_len(), bytes.len());
                let more = bytes.len() as u64 - spec.encoded_len().unwrap();
                match &filter {
                    AnyFilter::Cuckoo(_) => assert!(more <= 8 * 64 && more.is_multiple_of(8)),
                    AnyFilter::CountingBloom(_) if compact => assert!(more.is_multiple_of(16)),
                    _ => assert_eq!(more, 0, "{spec:?}"),
                }
                overflowed += u32::from(more > 0);
            }
        }
    }
    assert!(overflowed >= 5, "only {overflowed} of the filters became longer than when empty");
}

/// The builders of single kinds return the length too.
#[test]
fn a_builder_predicts_the_length() -> Result<(), SpecError> {
    // A unit has 320 bits: a word of 64 bits, and a counter of 4 bits for each bit of the word. So the 50,000 bits of
    // 1,000 keys, rounded up, are 157 units of 40 bytes.
    let builder = CountingBloomFilter::builder().keys(1000).bits_per_key(50.0);
    assert_eq!(builder.encoded_len()?, 128 + 40 * 157);
    assert_eq!(builder.build()?.to_bytes().len(), 128 + 40 * 157);
    let nonsense = builder.bits_per_key(-1.0);
    assert_eq!(nonsense.encoded_len().unwrap_err(), nonsense.build().unwrap_err());
    Ok(())
}
