//! Runs the suites that all filters must pass. The filters under test are `AnyFilter`s, one of each kind.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use trommel::{AnyFilter, Filter, FilterKind, FilterSpec, FilterView, Insert, KeyHash, SpecError};
use trommel_base::Spec;
use trommel_base::sizing::{blocked_fpr, cuckoo_fpr, quotient_fpr, split_fpr, standard_fpr};
use trommel_testkit::subject::{Estimate, Room, Subject};
use trommel_testkit::{contract_suite, endless_suite, estimate_suite, full_suite};

/// Translates a `Spec` into a `FilterSpec`.
fn filter_spec(kind: FilterKind, spec: &Spec) -> FilterSpec {
    let mut translated = FilterSpec::new(kind)
        .keys(spec.keys)
        .hasher(spec.hasher)
        .huge_pages(spec.huge_pages)
        .foldable_by(spec.foldable_by)
        .compact(spec.compact);
    if let Some(fpr) = spec.fpr {
        translated = translated.fpr(fpr);
    }
    if let Some(bytes) = spec.memory_bytes {
        translated = translated.memory_bytes(bytes);
    }
    if let Some(bits) = spec.bits_per_key {
        translated = translated.bits_per_key(bits);
    }
    if let Some(isa) = spec.isa {
        translated = translated.isa(isa);
    }
    translated
}

/// The false-positive rate that the kind's equation gives for a filter of this size with `keys` keys.
fn sizing_fpr(filter: &AnyFilter, keys: usize) -> f64 {
    let load = |units: u64| keys as f64 / units as f64;
    let hashes = || filter.hash_count().expect("a Bloom filter has a hash count");
    match filter {
        AnyFilter::Bloom(bloom) => standard_fpr(64.0 / load(bloom.geometry().units), hashes()),
        AnyFilter::CountingBloom(bloom) => {
            standard_fpr(64.0 / load(bloom.geometry().units), hashes())
        }
        AnyFilter::RegisterBloom(bloom) => blocked_fpr(64, hashes(), load(bloom.geometry().units)),
        AnyFilter::SplitBlockBloom(bloom) => split_fpr(8, 32, load(bloom.geometry().units)),
        AnyFilter::CacheLineBloom(bloom) => split_fpr(8, 64, load(bloom.geometry().units)),
        AnyFilter::Quotient(quotient) => {
            let geometry = quotient.geometry();
            quotient_fpr(load(geometry.slots), geometry.remainder_bits)
        }
        // One of the 256 remainders is twice as frequent as the others, and one never occurs. So two keys with the
        // same quotient have the same remainder with a probability of (254 + 2²) / 256² = 258 / 256².
        AnyFilter::CacheLineQuotient(quotient) => {
            quotient_fpr(load(quotient.geometry().slots) * 258.0 / 256.0, 8)
        }
        AnyFilter::Cuckoo(cuckoo) => {
            let geometry = cuckoo.geometry();
            cuckoo_fpr(load(geometry.slots()), geometry.fingerprint_bits, geometry.doublings)
        }
        other => panic!("the tests know no equation of {}", other.kind()),
    }
}

/// The expected `len` after inserts of these hashes: for Bloom kinds, the number of hashes; for quotient kinds, the
/// number of distinct fingerprints. For a cuckoo filter, no rule gives the number, so the hashes are inserted into a
/// copy of `empty`.
fn len_after(empty: &AnyFilter, hashes: &[KeyHash]) -> usize {
    let distinct = |fingerprints: u64, reserved: bool| {
        let fingerprint = |hash: &KeyHash| {
            let f = ((u128::from(hash.raw()) * u128::from(fingerprints)) >> 64) as u64;
            if reserved && f.is_multiple_of(256) { f + 1 } else { f }
        };
        hashes.iter().map(fingerprint).collect::<BTreeSet<u64>>().len()
    };
    match empty {
        AnyFilter::Quotient(filter) => distinct(filter.geometry().fingerprints, false),
        AnyFilter::CacheLineQuotient(filter) => distinct(filter.geometry().fingerprints, true),
        AnyFilter::Cuckoo(filter) => {
            let mut filter = filter.clone();
            hashes.iter().filter(|hash| filter.insert_hash(**hash).unwrap()).count()
        }
        _ => hashes.len(),
    }
}

/// The bounds of `len` for any order of inserts. An insert into a cuckoo filter stores nothing if a lookup finds the
/// key already. So `len` is at least the number of distinct fingerprints, and at most the number of distinct pairs of
/// bucket and fingerprint.
fn len_range(empty: &AnyFilter, hashes: &[KeyHash]) -> RangeInclusive<usize> {
    let AnyFilter::Cuckoo(cuckoo) = empty else {
        let len = len_after(empty, hashes);
        return len..=len;
    };
    let (buckets, bits) = (cuckoo.geometry().buckets, cuckoo.geometry().fingerprint_bits);
    let pairs = hashes.iter().map(|hash| {
        let product = u128::from(hash.raw()) * u128::from(buckets);
        ((product >> 64) as u64, (product as u64 >> (64 - bits)).max(1))
    });
    let pairs: BTreeSet<(u64, u64)> = pairs.collect();
    let fingerprints: BTreeSet<u64> = pairs.iter().map(|(_, fingerprint)| *fingerprint).collect();
    fingerprints.len()..=pairs.len()
}

/// Makes a subject (a type on which the suites run) for each kind. The subject's golden digest is the same as in the
/// tests of the kind's family, since `AnyFilter` does not change the bytes.
macro_rules! kinds {
    ($($module:ident: $kind:ident, $room:expr, $golden:literal, $probes_per_key:literal,
       step: $step:literal, canonical: $canonical:literal;)*) => {
        /// Every kind has a subject below.
        #[test]
        fn every_kind_has_a_subject() {
            assert_eq!(FilterKind::ALL, [$(FilterKind::$kind),*]);
        }

        $(
            struct $kind;

            impl Subject for $kind {
                type Filter = AnyFilter;
                type View<'a> = FilterView<'a>;
                const GOLDEN: u64 = $golden;
                const PROBES_PER_KEY: f64 = $probes_per_key;
                const ROOM: Room = $room;
                const STEP_BYTES: usize = $step;
                const CANONICAL: bool = $canonical;
                const SIZING_IS_EXACT: bool = $canonical;

                fn build(spec: &Spec) -> Result<AnyFilter, SpecError> {
                    let filter = filter_spec(FilterKind::$kind, spec).build()?;
                    assert_eq!(filter.kind(), FilterKind::$kind);
                    Ok(filter)
                }
                fn len_after(empty: &AnyFilter, hashes: &[KeyHash]) -> usize {
                    len_after(empty, hashes)
                }
                fn len_range(empty: &AnyFilter, hashes: &[KeyHash]) -> RangeInclusive<usize> {
                    len_range(empty, hashes)
                }
                fn sizing_fpr(filter: &AnyFilter, keys: usize) -> f64 {
                    sizing_fpr(filter, keys)
                }
                trommel_testkit::inherent_methods!();
            }

            contract_suite!($module, $kind);
        )*
    };
}

/// Runs the suites that only Bloom filters must pass.
macro_rules! bloom_suites {
    ($($kind:ident: $endless:ident, $estimate:ident;)*) => {$(
        impl Estimate for $kind {
            fn estimate_len(filter: &AnyFilter) -> f64 {
                filter.estimate_len()
            }
        }

        endless_suite!($endless, $kind);
        estimate_suite!($estimate, $kind);
    )*};
}

const SET: Room = Room::Slots { copies: 1 };

kinds! {
    bloom: Bloom, Room::Endless, 0xb003_90df_bdcd_d182, 0.25, step: 256, canonical: true;
    counting_bloom: CountingBloom, Room::Endless, 0x9c20_4976_0469_b840, 2.0, step: 256, canonical: true;
    register_bloom: RegisterBloom, Room::Endless, 0x521e_55bd_fe48_6cb6, 0.25, step: 256, canonical: true;
    split_block_bloom: SplitBlockBloom, Room::Endless, 0x89b0_2642_3452_0edf, 0.25, step: 256, canonical: true;
    cache_line_bloom: CacheLineBloom, Room::Endless, 0x1b6a_41eb_1cc3_ae43, 0.25, step: 256, canonical: true;
    quotient: Quotient, SET, 0xaf46_d0b2_5dfe_a6b9, 2.0, step: 448, canonical: true;
    cache_line_quotient: CacheLineQuotient, SET, 0x4651_0e56_d012_79c3, 2.0, step: 128, canonical: true;
    cuckoo: Cuckoo, SET, 0xa2c3_2cf7_ab3d_7a74, 2.0, step: 33, canonical: false;
}

bloom_suites! {
    Bloom: bloom_endless, bloom_estimate;
    CountingBloom: counting_bloom_endless, counting_bloom_estimate;
    RegisterBloom: register_bloom_endless, register_bloom_estimate;
    SplitBlockBloom: split_block_bloom_endless, split_block_bloom_estimate;
    CacheLineBloom: cache_line_bloom_endless, cache_line_bloom_estimate;
}

full_suite!(quotient_full, Quotient);
full_suite!(cache_line_quotient_full, CacheLineQuotient);
full_suite!(cuckoo_full, Cuckoo);

/// In a filter that stores fingerprints, `estimate_len` equals `len` exactly.
#[test]
fn filters_of_fingerprints_know_how_many_they_hold() {
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient, FilterKind::Cuckoo] {
        let mut filter = FilterSpec::new(kind).keys(1000).fpr(0.01).build().unwrap();
        let keys: Vec<KeyHash> = (0..1000u64).map(|key| filter.hash(&key)).collect();
        let expected = len_range(&filter, &keys);
        (0..2).for_each(|_| filter.insert_batch(&keys).unwrap());
        assert!(expected.contains(&filter.len()));
        assert_eq!(filter.estimate_len(), filter.len() as f64);
        assert_eq!(filter.hash_count(), None);
    }
}

/// Owned filters and views both take their kind from the frozen bytes.
#[test]
fn frozen_bytes_have_the_kind() {
    for kind in FilterKind::ALL {
        let mut filter = FilterSpec::new(*kind).keys(100).fpr(0.01).seed(9).build().unwrap();
        assert_eq!(filter.kind(), *kind);
        filter.insert("anvil").unwrap();
        let bytes = filter.to_bytes();
        let (owned, view) =
            (AnyFilter::from_bytes(&bytes).unwrap(), FilterView::parse(&bytes).unwrap());
        assert_eq!((owned.kind(), view.kind()), (*kind, *kind));
        assert!(owned.contains("anvil") && view.contains("anvil"));
        let copy = view.to_owned_filter().unwrap();
        assert!(copy.kind() == *kind && copy.to_bytes() == bytes);
    }
}
