//! The standard filter against published results.

use trommel_base::{Bitmap, Filter, Insert, KeyHash};
use trommel_bloom::BloomFilter;
use trommel_simd::Isa;
use trommel_testkit::stats::{assert_binomial, chi_square, chi_square_critical};
use trommel_testkit::streams::distinct;

/// A filter of exactly `bits` bits, with the number of hashes that is best for `keys` keys.
fn filter_of_bits(bits: usize, keys: usize) -> BloomFilter {
    let filter = BloomFilter::builder().memory_bytes(bits / 8).keys(keys).build().unwrap();
    assert_eq!(filter.memory_bytes() * 8, bits);
    filter
}

fn false_positives(filter: &BloomFilter, absent: &[KeyHash]) -> u64 {
    let mut found = Bitmap::new(0);
    filter.contains_batch(absent, &mut found);
    found.count_ones() as u64
}

/// Measures false-positive rates that textbooks print. With `m/n` bits per key and `k` hashes, the rate must be
/// `(1 − e^(−kn/m))^k`, within three standard deviations of a binomial count.
///
/// The fraction of set bits in a filter deviates from its mean by chance, which changes the rate of all probes of this
/// filter. So there are many filters, each probed with fewer keys than it holds: their deviations average out.
#[test]
fn the_textbook_table_is_reproduced() {
    const KEYS: usize = 64_000;
    const PROBES: usize = 16_000;
    let table =
        [(6, 4, 0.0561, 25), (8, 6, 0.0215, 50), (12, 8, 0.00314, 100), (16, 11, 0.000458, 250)];
    for (bits_per_key, hashes, printed, filters) in table {
        let empty = filter_of_bits(bits_per_key * KEYS, KEYS);
        assert_eq!(empty.hash_count(), hashes, "the best k for {bits_per_key} bits per key");
        let k = f64::from(hashes);
        let exact = (1.0 - (-k / bits_per_key as f64).exp()).powf(k);
        assert!(
            (exact / printed - 1.0).abs() < 0.005,
            "the rate {exact} is not the printed {printed}"
        );

        let mut hits = 0;
        for round in 0..filters {
            let keys = distinct(round, 0..(KEYS + PROBES) as u64);
            let mut filter = empty.clone();
            filter.insert_batch(&keys[..KEYS]).unwrap();
            hits += false_positives(&filter, &keys[KEYS..]);
        }
        let probes = filters * PROBES as u64;
        assert_binomial(&format!("{bits_per_key} bits per key"), hits, probes, exact, 3.0);
    }
}

/// If `n` keys set `k` bits each in a table of `m` bits, the fraction of clear bits concentrates around
/// `p0 = (1 − 1/m)^(kn)`. The test checks that each filter's fraction differs from `p0` by less than four times its
/// standard deviation, and that the mean over all filters differs from `p0` by less than four times the standard
/// deviation of the mean. Both standard deviations are computed for independent bits, which gives upper bounds, since
/// the bits are negatively correlated.
#[test]
fn clear_bits_concentrate_around_their_expectation() {
    const KEYS: usize = 20_000;
    const FILTERS: u64 = 40;
    for bits in [6 * KEYS, 10 * KEYS, 16 * KEYS] {
        let empty = filter_of_bits(bits / 64 * 64, KEYS);
        let m = (empty.memory_bytes() * 8) as f64;
        let draws = f64::from(empty.hash_count()) * KEYS as f64;
        let p0 = (1.0 - 1.0 / m).powf(draws);
        let deviation = (p0 * (1.0 - p0) / m).sqrt();
        let mut sum = 0.0;
        for seed in 0..FILTERS {
            let mut filter = empty.clone();
            filter.insert_batch(&distinct(seed + 100, 0..KEYS as u64)).unwrap();
            let clear = 1.0 - filter.count_ones() as f64 / m;
            assert!(
                (clear - p0).abs() < 4.0 * deviation,
                "share of clear bits: {clear}, {p0} expected"
            );
            sum += clear;
        }
        let mean = sum / FILTERS as f64;
        let bound = 4.0 * deviation / (FILTERS as f64).sqrt();
        assert!(
            (mean - p0).abs() < bound,
            "the mean share of clear bits is {mean}, expected {p0} within {bound}"
        );
    }
}

/// The same number of bits is set in all parts of the table, apart from chance deviations.
#[test]
fn bits_are_spread_evenly_over_the_table() {
    const PARTS: usize = 64;
    let mut counts = [0; PARTS];
    for seed in 0..20 {
        let mut filter = filter_of_bits(PARTS * 4096, 20_000);
        filter.insert_batch(&distinct(seed, 0..5000)).unwrap();
        for (count, part) in counts.iter_mut().zip(filter.table().chunks(512)) {
            *count += part.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
        }
    }
    let mean = counts.iter().sum::<u64>() as f64 / PARTS as f64;
    let statistic = chi_square(&counts, &[mean; PARTS]);
    let critical = chi_square_critical(PARTS as u64 - 1, 3.0);
    assert!(
        statistic < critical,
        "chi-square of the set bits per part is {statistic}, above {critical}: {counts:?}"
    );
}

/// If `N` of `m` bits are set and a key sets `k` bits, the estimate of distinct keys is 0 for `N < k`, 1 for `N = k`,
/// `m/k` for `N = m`, and `−(m/k) ln(1 − N/m)` for `N` between `k` and `m`.
#[test]
fn the_estimate_of_distinct_keys_follows_the_paper_at_its_edges_and_between() {
    let empty = filter_of_bits(128, 16);
    let (m, k) = (128.0, f64::from(empty.hash_count()));
    assert_eq!(empty.estimate_len(), 0.0);

    let (mut fewer, mut as_many) = (0, 0);
    for hash in distinct(3, 0..1000) {
        let mut filter = empty.clone();
        filter.insert_hash(hash).unwrap();
        let ones = filter.count_ones() as f64;
        if ones < k {
            assert_eq!(filter.estimate_len(), 0.0);
            fewer += 1;
        } else {
            assert_eq!(filter.estimate_len(), 1.0);
            as_many += 1;
        }
    }
    assert!(fewer > 10 && as_many > 10, "{fewer} keys set fewer than k bits, {as_many} set k");

    let mut filter = empty;
    for hash in distinct(4, 0..2000) {
        filter.insert_hash(hash).unwrap();
        let ones = filter.count_ones() as f64;
        if ones > k && ones < m {
            let expected = -(m / k) * (1.0 - ones / m).ln();
            assert!((filter.estimate_len() / expected - 1.0).abs() < 1e-12);
        }
    }
    assert_eq!(filter.count_ones(), 128);
    assert_eq!(filter.estimate_len(), m / k);
    assert_eq!(filter.expected_fpr(), 1.0);
}

/// A false-positive rate of 1 % takes about 9.6 bits per key, and a billion keys at 2 % take 8.14e9 bits. The billion
/// keys are not inserted.
#[test]
fn published_sizes_are_reproduced() {
    let filter = BloomFilter::with_capacity_and_fpr(1_000_000, 0.01).unwrap();
    let bits_per_key = filter.memory_bytes() as f64 * 8.0 / 1e6;
    assert!((bits_per_key - 9.59).abs() < 0.02, "{bits_per_key} bits per key");
    // On systems that allocate lazily, memory that is never written costs nothing. Elsewhere the allocation can fail
    // with an error, and then the size is not checked.
    if let Ok(filter) = BloomFilter::builder().keys(1_000_000_000).fpr(0.02).build() {
        let bits = filter.memory_bytes() as f64 * 8.0;
        assert!((bits / 8.14e9 - 1.0).abs() < 0.01, "{bits} bits");
    }
}

/// A batch of lookups in the standard filter, unless it is short, is split into chunks. A chunk is looked up key by
/// key, or in passes: a pass tests some of the table's bits for each key that can still be present. The answers of
/// batches must equal the answers of single lookups: for lengths at the edges of chunks, for several orders of present
/// and absent keys, in tables that fit into a cache and in larger ones, and for several numbers of hashes.
#[test]
fn batches_at_the_edges_of_chunks_answer_like_single_lookups() {
    const SIZES: [(u64, f64); 8] = [
        (300, 0.4),
        (300, 0.2),
        (3000, 0.02),
        (3000, 0.01),
        (3000, 0.004),
        (3000, 1e-4),
        (3000, 1e-9),
        (2_500_000, 0.01),
    ];
    // How a chunk is looked up depends on how many keys of the previous chunk were present.
    type Order = (&'static str, fn(usize) -> bool);
    let orders: [Order; 5] = [
        ("all are present", |_| true),
        ("every second is present", |i| i % 2 == 0),
        ("one in ten is present", |i| i % 10 == 0),
        ("one in a thousand is present", |i| i % 1000 == 0),
        ("runs of present and of absent keys", |i| i % 1024 < 600),
    ];
    for (isa, (keys, fpr)) in Isa::available().flat_map(|isa| SIZES.map(|size| (isa, size))) {
        let members = distinct(5, 0..keys);
        let builder = BloomFilter::builder().keys(keys as usize).fpr(fpr).isa(isa);
        let mut filter = builder.build().unwrap();
        filter.insert_batch(&members).unwrap();
        for (order, is_present) in orders {
            let probes: Vec<KeyHash> = distinct(6, 0..5003)
                .into_iter()
                .enumerate()
                .map(|(i, absent)| if is_present(i) { members[i % members.len()] } else { absent })
                .collect();
            for len in [1, 31, 32, 65, 255, 256, 257, 263, 2047, 2048, 2049, 2055, 4096, 5003] {
                let mut found = Bitmap::new(0);
                filter.contains_batch(&probes[..len], &mut found);
                for (i, probe) in probes[..len].iter().enumerate() {
                    assert_eq!(
                        found.get(i),
                        filter.contains_hash(*probe),
                        "{isa}, {keys} keys at {fpr}, {order}: the answer of a batch of {len} to probe {i}"
                    );
                }
            }
        }
    }
}

/// A batch of inserts sets exactly the bits that single inserts set, in tables that fit into a cache and in larger
/// ones. Some lengths are 256 or close to it, since only batches of at least 256 keys run AVX-512 code, which
/// computes the positions of several keys at a time.
#[test]
fn batches_of_any_length_insert_like_single_inserts() {
    const SIZES: [(usize, f64); 4] = [(2000, 0.4), (2000, 0.01), (2000, 1e-9), (2_500_000, 0.01)];
    for (isa, (keys, fpr)) in Isa::available().flat_map(|isa| SIZES.map(|size| (isa, size))) {
        for len in [0, 1, 7, 8, 9, 255, 256, 257, 263, 5003] {
            let hashes = distinct(7, 0..len);
            let mut batched = BloomFilter::builder().keys(keys).fpr(fpr).isa(isa).build().unwrap();
            let mut single = batched.clone();
            batched.insert_batch(&hashes).unwrap();
            hashes.iter().for_each(|hash| assert!(single.insert_hash(*hash).is_ok()));
            assert!(
                batched.table() == single.table(),
                "{isa}, {keys} keys at {fpr}: a batch of {len} and single inserts give different tables"
            );
        }
    }
}
