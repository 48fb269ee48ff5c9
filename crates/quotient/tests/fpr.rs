//! Compares false-positive rates and sizes with the equations of the literature.

use trommel_base::{Bitmap, Filter, Insert};
use trommel_quotient::{CacheLineQuotient, Layout, LineBlock, Quotient, QuotientFilter, WideBlock};
use trommel_testkit::stats::assert_binomial;
use trommel_testkit::streams::Disjoint;

/// Fills a filter to a load, and looks absent keys up. Returns the filter, the number of false positives and the number
/// of lookups.
fn measure<L: Layout>(
    bits: Option<u32>,
    load: f64,
    multiset: bool,
    seed: u64,
) -> (Quotient<L>, u64, u64) {
    const KEYS: usize = 60_007;
    const PROBES: usize = 600_000;
    let builder = Quotient::<L>::builder().keys(KEYS).load(load).multiset(multiset);
    let builder = bits.map_or(builder, |bits| builder.remainder_bits(bits));
    let mut filter = builder.build().unwrap();
    let (mut hits, mut probes) = (0, 0);
    let mut found = Bitmap::new(0);
    // The filter is filled twice with different keys, so that chance in one filling has only half the weight.
    for seed in [seed, seed + 1000] {
        let keys = Disjoint::new(seed, KEYS, PROBES);
        filter.clear();
        filter.insert_batch(&keys.members).unwrap();
        filter.contains_batch(&keys.absent, &mut found);
        hits += found.count_ones() as u64;
        probes += PROBES as u64;
    }
    (filter, hits, probes)
}

/// With `r` remainder bits, the equation is `1 − e^(−load · 2^−r)`, for sets and multisets.
#[test]
fn the_false_positive_rate_matches_the_equation() {
    for (i, load) in [0.3, 0.5, 0.75, 0.9, 0.95].into_iter().enumerate() {
        for (j, bits) in [1, 2, 4, 7, 8, 12].into_iter().enumerate() {
            let multiset = (i + j) % 2 == 1;
            let seed = (10 * i + j) as u64;
            let (filter, hits, probes) = measure::<WideBlock>(Some(bits), load, multiset, seed);
            let slots = filter.geometry().slots as f64;
            let keys = 60_007.0;
            assert!((keys / slots / load - 1.0).abs() < 1e-4);
            let expected_fpr = -libm::expm1(-keys / slots / libm::exp2(bits.into()));
            assert_binomial(&format!("{bits} bits at {load}"), hits, probes, expected_fpr, 3.0);
            if multiset {
                assert_eq!(filter.len(), 60_007);
            }
        }
    }
}

/// One stored remainder stands for two of the 256 remainders. So two random remainders are stored alike with a
/// probability of `(254 + 2²) / 256²` instead of `1 / 256`, and the false-positive rate is 258/256 times as high.
#[test]
fn a_reserved_remainder_raises_the_false_positive_rate_as_computed() {
    for (i, load) in [0.3, 0.5, 0.75, 0.9, 0.95].into_iter().enumerate() {
        for multiset in [false, true] {
            let seed = 200 + 10 * i as u64 + u64::from(multiset);
            let (filter, hits, probes) = measure::<LineBlock>(None, load, multiset, seed);
            let filled = 60_007.0 / filter.geometry().slots as f64;
            assert!((filled / load - 1.0).abs() < 1e-3);
            let expected_fpr = -libm::expm1(-filled / 256.0) * 258.0 / 256.0;
            assert_binomial(&format!("lines at {load}"), hits, probes, expected_fpr, 3.0);
        }
    }
}

/// At 95 % load, a million keys take `(r + 2.125) / 0.95` bits each, for the least `r` that reaches the false-positive
/// rate: a slot has `r` bits of remainder, one bit of occupieds, one bit of runends, and a 64th of an offset of 8 bits.
/// In blocks of a cache line, which have 50 slots in 512 bits, each key takes `10.24 / 0.95` bits.
#[test]
fn a_million_keys_take_the_bits_of_the_equation() {
    for (fpr, bits) in [(0.2, 3), (0.03, 5), (0.01, 7), (0.004, 8), (0.001, 10), (1e-6, 20)] {
        let filter = QuotientFilter::with_capacity_and_fpr(1_000_000, fpr).unwrap();
        assert_eq!(
            filter.geometry().remainder_bits,
            bits,
            "remainder bits for a false-positive rate of {fpr}"
        );
        assert!(filter.fpr_with(1_000_000) <= fpr);
        let bits_per_key = filter.memory_bytes() as f64 * 8.0 / 1e6;
        let expected = (f64::from(bits) + 2.125) / 0.95;
        assert!(
            (bits_per_key / expected - 1.0).abs() < 0.03,
            "{fpr}: {bits_per_key} bits per key, {expected} expected"
        );
    }
    let line = CacheLineQuotient::with_capacity_and_fpr(1_000_000, 0.004).unwrap();
    let bits_per_key = line.memory_bytes() as f64 * 8.0 / 1e6;
    assert!(
        (bits_per_key / (10.24 / 0.95) - 1.0).abs() < 0.01,
        "{bits_per_key} bits per key in blocks of a cache line"
    );
}

/// A slot takes the bits of its remainder and at most 2.25 bits more.
#[test]
fn a_slot_takes_its_remainder_and_little_more() {
    for bits in 1..=32 {
        let filter =
            QuotientFilter::builder().keys(1_000_000).remainder_bits(bits).build().unwrap();
        let slots = filter.geometry().slots as f64;
        let bits_per_slot = filter.memory_bytes() as f64 * 8.0 / slots;
        assert!(
            bits_per_slot <= f64::from(bits) + 2.25,
            "{bits_per_slot} bits per slot with remainders of {bits} bits"
        );
    }
    let line = CacheLineQuotient::with_capacity_and_fpr(1_000_000, 0.01).unwrap();
    assert!(line.memory_bytes() as f64 * 8.0 / line.geometry().slots as f64 <= 10.25);
}

/// With one more remainder bit, the filter would take more bytes than were given.
#[test]
fn a_size_in_bytes_gives_the_lowest_false_positive_rate_that_fits() {
    for bytes in [1 << 12, 100_000, 1 << 20] {
        for bits_per_key in [5, 8, 10, 13, 21, 30] {
            let keys = bytes * 8 / bits_per_key;
            let filter = QuotientFilter::builder().memory_bytes(bytes).keys(keys).build().unwrap();
            let Ok(wider) = QuotientFilter::builder()
                .keys(keys)
                .remainder_bits(filter.geometry().remainder_bits + 1)
                .build()
            else {
                panic!("no filter of {keys} keys with one more remainder bit, at {bytes} bytes")
            };
            assert!(filter.memory_bytes() <= bytes && wider.memory_bytes() > bytes);
            assert!(filter.geometry().slots as f64 * 0.95 >= keys as f64);
        }
    }
}
