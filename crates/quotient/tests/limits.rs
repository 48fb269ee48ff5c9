//! Filters at the limits of load, growth and size.

use trommel_base::container::Header;
use trommel_base::{Filter, FilterKind, Insert, KeyHash, Remove, SpecError, WhyFull};
use trommel_quotient::{CacheLineQuotient, QuotientFilter, ResizeError};
use trommel_simd::Isa;
use trommel_testkit::Splitmix;
use trommel_testkit::sizes::clamped;

fn hashes(seed: u64, keys: usize) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    (0..keys).map(|_| KeyHash::from_raw(random.word())).collect()
}

#[test]
fn too_many_keys_for_a_filter_sized_by_bytes_are_a_typed_error() {
    let refused = QuotientFilter::builder()
        .memory_bytes(clamped(1 << 46))
        .keys(clamped(1 << 43))
        .build()
        .unwrap_err();
    assert!(matches!(refused, SpecError::TooLarge { .. }), "wrong error: {refused}");
}

#[test]
fn shrinking_never_enlarges() {
    for keys in [1000, 30_000] {
        for (load, bits) in [(0.95, 7), (0.98, 8), (0.3, 9)] {
            let builder = QuotientFilter::builder().keys(keys).load(load).remainder_bits(bits);
            let mut filter = builder.build().unwrap();
            filter.insert_batch(&hashes(1, keys)).unwrap();
            let (bytes, held) = (filter.memory_bytes(), filter.len());
            let fingerprints: Vec<u64> = filter.fingerprints().collect();
            filter.shrink_to_fit().unwrap();
            assert!(
                filter.memory_bytes() <= bytes,
                "shrinking enlarged a table of {keys} keys at a load of {load}"
            );
            assert!(filter.len() == held && filter.fingerprints().eq(fingerprints));
        }
    }
}

#[test]
fn a_key_that_a_set_holds_does_not_make_it_grow() {
    let builder = QuotientFilter::builder().keys(1000).remainder_bits(8).grow_at(0.5);
    let mut filter = builder.build().unwrap();
    let slots = filter.geometry().slots;
    let hashes = hashes(2, 2000);
    let mut held = 0;
    while filter.len() < (0.5 * slots as f64) as usize {
        filter.insert_hash(hashes[held]).unwrap();
        held += 1;
    }
    assert_eq!(filter.insert_hash(hashes[0]), Ok(false));
    filter.insert_batch(&hashes[..held]).unwrap();
    assert_eq!(filter.geometry().slots, slots);
    filter.insert_batch(&hashes[..held + 10]).unwrap();
    assert_eq!(filter.geometry().slots, 2 * slots);
}

#[test]
#[cfg_attr(
    target_pointer_width = "32",
    ignore = "the tables are longer than addresses of 32 bits allow"
)]
fn an_error_for_too_many_remainder_bits_names_a_smaller_maximum() {
    for keys in [1_100_000_000, 1_500_000_000, 2_000_000_000] {
        let builder = QuotientFilter::builder().keys(keys).huge_pages(false);
        let error = builder.remainder_bits(32).build().unwrap_err();
        let SpecError::Parameter { name: "remainder_bits", value: 32, min: 1, max } = error else {
            panic!("the spec was refused with the wrong error: {error}")
        };
        assert!(max < 32, "the maximum is not below 32: {error}");
    }
}

#[test]
fn a_filter_that_cannot_grow_still_recognizes_a_key_that_it_holds() {
    let builder = QuotientFilter::builder().keys(500).load(0.475).remainder_bits(1).grow_at(0.5);
    let mut filter = builder.build().unwrap();
    assert_eq!(filter.geometry().slots, 1053);
    let hashes = hashes(3, 2000);
    let full = hashes.iter().find_map(|hash| filter.insert_hash(*hash).err()).unwrap();
    assert_eq!(full.why, WhyFull::Fingerprint);
    assert_eq!(filter.insert_hash(hashes[0]), Ok(false));
}

/// An insert would need several doublings, of which the last is impossible.
#[test]
fn growth_that_fails_half_way_leaves_the_filter_unchanged() {
    let builder = QuotientFilter::builder().keys(1000).remainder_bits(4).grow_at(0.2);
    let mut filter = builder.build().unwrap();
    let hashes = hashes(4, 6000);
    // Each doubling takes one bit from the remainders. With one bit left, the filter cannot double again, so the first
    // batch fails. Shrinking gives the filter fewer slots, from which it can double again. After the second shrink, an
    // insert would need several doublings to get below the load at which the filter grows, but the last of these
    // doublings would leave no remainder bit.
    filter.insert_batch(&hashes).unwrap_err();
    filter.shrink_to_fit().unwrap();
    let held = filter.insert_batch(&hashes).unwrap_err().inserted;
    filter.shrink_to_fit().unwrap();
    let geometry = filter.geometry();
    assert!(4 * geometry.slots < geometry.fingerprints && filter.load_factor() > 0.8);
    let before = filter.to_bytes();
    assert_eq!(filter.insert_hash(hashes[held]).unwrap_err().why, WhyFull::Fingerprint);
    assert_eq!(filter.insert_batch(&hashes[held..]).unwrap_err().inserted, 0);
    assert!(filter.to_bytes() == before);
}

/// Neither a builder nor a resize makes a filter with the forged numbers of slots and fingerprints. With such numbers,
/// kernels would disagree about the cache line of a key.
#[test]
fn a_forged_size_of_a_cache_line_filter_is_refused() {
    for (keys, slots, fingerprints) in [(140, 150, 150 << 7), (90, 100, 256 * 49 + 1)] {
        let filter = CacheLineQuotient::builder().keys(keys).build().unwrap();
        assert_eq!(filter.geometry().slots, slots);
        let header = Header {
            kind: FilterKind::CacheLineQuotient,
            hasher: filter.hasher(),
            len: 0,
            parameters: [slots, 7, fingerprints, 1],
        };
        let forged = header.to_bytes(&[filter.table()]);
        assert!(CacheLineQuotient::from_bytes(&forged).is_err());
    }
}

#[test]
fn fingerprints_too_short_for_the_slots_are_a_typed_error() {
    let refused = QuotientFilter::builder().keys(1000).fingerprint_bits(4).build().unwrap_err();
    assert!(
        matches!(refused, SpecError::Parameter { name: "fingerprint_bits", .. }),
        "wrong error: {refused}"
    );
}

#[test]
fn a_filter_of_long_fingerprints_keeps_them_while_it_grows() {
    let builder = QuotientFilter::builder().keys(1 << 10).load(0.5).fingerprint_bits(42);
    let mut filter = builder.build().unwrap();
    filter.insert_batch(&hashes(5, 1000)).unwrap();
    let before: Vec<u64> = filter.fingerprints().collect();
    for _ in 0..5 {
        filter.grow().unwrap();
        assert!(filter.fingerprints().eq(before.iter().copied()));
    }
}

/// A batch has about twice as many keys as fit. The batch inserts as many of them as single inserts do. (Near load 1,
/// hardly any slot is free, and nearly every insert moves remainders in many blocks.)
#[test]
fn a_batch_that_does_not_fit_ends_where_single_inserts_do() {
    for keys in [2000, 50_000] {
        let hashes = hashes(6, 2 * keys);
        let mut batched = QuotientFilter::builder().keys(keys).remainder_bits(8).build().unwrap();
        let mut single = batched.clone();
        let full = batched.insert_batch(&hashes).unwrap_err();
        let inserted = hashes.iter().take_while(|hash| single.insert_hash(**hash).is_ok()).count();
        assert_eq!((full.inserted, full.len), (inserted, single.len()));
        assert!(batched.table() == single.table() && full.why == WhyFull::Slots);
        for hash in &hashes[..inserted] {
            assert!(batched.contains_hash(*hash));
        }
        for hash in &hashes[..inserted] {
            batched.remove_hash(*hash);
        }
        assert!(batched.is_empty() && batched.table().iter().all(|byte| *byte == 0));
    }
}

/// The run of the last quotient takes all slots up to the end of the table. Then no further remainder fits, neither
/// after the run nor into it. (The table ends with one offset byte per block, padded to a multiple of 64 bytes. With 64
/// blocks there is no padding, so a write to the offset of a further block would be outside the table.)
#[test]
fn a_run_that_ends_with_the_table_refuses_further_remainders() {
    for (keys, blocks) in [(1, 1), (100, 3), (3787, 64)] {
        for isa in Isa::available() {
            let builder = QuotientFilter::builder().keys(keys).load(0.9999).remainder_bits(16);
            let mut filter = builder.isa(isa).build().unwrap();
            let slots = filter.geometry().slots;
            assert_eq!(filter.geometry().blocks, blocks, "blocks of a table of {slots} slots");
            let hash_of = |remainder: u64| {
                let fingerprint = u128::from((slots - 1) << 16 | remainder);
                KeyHash::from_raw((fingerprint << 64).div_ceil((slots << 16).into()) as u64)
            };
            let room = blocks * 64 - (slots - 1);
            for remainder in 0..room {
                assert_eq!(
                    filter.insert_hash(hash_of(2 * remainder)),
                    Ok(true),
                    "{isa}: the insert of a remainder for which there is room"
                );
            }
            let before = filter.to_bytes();
            for remainder in [2 * room, 2 * room - 1, 1] {
                let full = filter.insert_hash(hash_of(remainder)).unwrap_err();
                assert!(
                    full.why == WhyFull::Slots && filter.to_bytes() == before,
                    "{isa}: refused for the wrong reason, or the filter changed: {full}"
                );
            }
            assert!(filter.remove_hash(hash_of(0)) && filter.insert_hash(hash_of(1)).is_ok());
        }
    }
}

#[test]
fn a_filter_that_cannot_grow_is_full_for_the_reason_of_the_refused_resize() {
    let (slots, fingerprints) = (1 << 43, 1 << 50);
    for (error, why) in [
        (ResizeError::OutOfMemory { bytes: 7 }, WhyFull::Memory { bytes: 7 }),
        (ResizeError::TooLarge { slots, max_slots: 1 << 42 }, WhyFull::Slots),
        (ResizeError::TooSmall { slots: 3, len: 4 }, WhyFull::Slots),
        (ResizeError::Fingerprint { slots, fingerprints }, WhyFull::Fingerprint),
    ] {
        assert_eq!(WhyFull::from(error), why);
    }
}
