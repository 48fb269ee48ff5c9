//! A bulk build makes the same filter with any number of threads, and loses no key.

mod words;

use trommel_base::{Bitmap, Bulk, CallerThread, Filter, Insert, InsertBulk, KeyHash, WhyFull};
use trommel_cuckoo::CuckooFilter;
use trommel_simd::Isa;
use trommel_testkit::streams::distinct;
use trommel_testkit::threads::ScopedThreads;
use trommel_testkit::{Splitmix, Stream};

const WIDTHS: [u32; 4] = [8, 12, 16, 32];
/// Numbers of buckets: the fewest that are built in bulk; one and a half units (a build fills the table in units of
/// 2^19 buckets); and a little more than three units.
const BUCKETS: [u64; 3] = [1 << 12, 786_434, 1_600_006];

fn keys_at(buckets: u64, load: f64) -> u64 {
    (load * (buckets * 4) as f64) as u64
}

fn assert_all_found(filter: &CuckooFilter, hashes: &[KeyHash]) {
    let mut found = Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    assert_eq!(found.count_ones(), hashes.len(), "{filter:?} must find all keys");
}

/// Asserts that all keys are found, that the filter's number of fingerprints is possible for these keys, and that its
/// bytes are accepted.
fn assert_sound(filter: &CuckooFilter, hashes: &[KeyHash]) {
    assert_all_found(filter, hashes);
    assert!(words::len_range(filter, hashes).contains(&filter.len()), "{filter:?}");
    // `from_bytes` counts the fingerprints, and refuses bytes with another number in the header.
    let bytes = filter.to_bytes();
    assert!(CuckooFilter::from_bytes(&bytes).unwrap().to_bytes() == bytes);
}

#[test]
fn any_number_of_workers_makes_the_same_bytes() {
    for bits in WIDTHS {
        for multiset in [true, false] {
            for buckets in BUCKETS {
                let mut filter = words::filter_of_buckets(buckets, bits, multiset);
                let seed = buckets + u64::from(bits);
                let mut hashes = distinct(seed, 0..keys_at(buckets, 0.945));
                // Repeat some keys, both close to their first occurrence and far from it.
                hashes.extend_from_within(..500);
                hashes.splice(700..700, distinct(seed, 690..700));
                filter.insert_batch(&hashes).unwrap();
                assert_sound(&filter, &hashes);
                let expected = filter.to_bytes();
                for threads in [1, 2, 3, 7] {
                    filter.clear();
                    let bulk = Bulk { workers: &ScopedThreads(threads), scratch_bytes: usize::MAX };
                    filter.insert_bulk(&hashes, bulk).unwrap();
                    assert!(
                        filter.to_bytes() == expected,
                        "{bits} bits, {buckets} buckets, {threads} threads"
                    );
                }
            }
        }
    }
}

#[test]
fn every_instruction_set_builds_the_same_bytes() {
    for bits in WIDTHS {
        for (buckets, multiset) in [(4_098, false), (100_002, true), (1_100_000, false)] {
            let hashes = distinct(buckets, 0..keys_at(buckets, 0.95));
            let build = |isa| {
                let mut filter = CuckooFilter::builder()
                    .keys(2 * buckets as usize)
                    .load(0.5)
                    .fingerprint_bits(bits)
                    .multiset(multiset)
                    .isa(isa)
                    .build()
                    .unwrap();
                filter.insert_batch(&hashes).unwrap();
                filter.to_bytes()
            };
            let expected = build(Isa::Portable);
            for isa in Isa::available() {
                assert!(build(isa) == expected, "{isa}, {bits} bits, {buckets} buckets");
            }
        }
    }
}

/// Inserts batches of sorted, repeated and skewed keys. Each batch is long enough for a build. A set holds a repeated
/// key once.
#[test]
fn skewed_batches_are_inserted() {
    let buckets = 200_000;
    let keys = keys_at(buckets, 0.9) as usize;
    let mut sorted = distinct(1, 0..keys as u64);
    sorted.sort_unstable();
    let twice: Vec<KeyHash> =
        distinct(2, 0..keys as u64 / 2).into_iter().flat_map(|hash| [hash, hash]).collect();
    let few = distinct(3, 0..1000).into_iter().cycle().take(keys).collect();
    let zipf = Stream::Zipf.hashes(4, keys);
    let all_equal = vec![distinct(5, 0..1)[0]; keys];
    for bits in WIDTHS {
        let mut filter = words::filter_of_buckets(buckets, bits, false);
        for hashes in [&sorted, &twice, &few, &zipf, &all_equal] {
            filter.clear();
            filter.insert_batch(hashes).unwrap();
            assert_sound(&filter, hashes);
            let expected = filter.to_bytes();
            filter.clear();
            let bulk = Bulk { workers: &ScopedThreads(3), scratch_bytes: usize::MAX };
            filter.insert_bulk(hashes, bulk).unwrap();
            assert!(filter.to_bytes() == expected);
        }
        let mut filter = words::filter_of_buckets(buckets, bits, true);
        // Placing pairs of copies in buckets of four slots is as hard as placing single keys in buckets of two slots,
        // and a table with buckets of two slots takes keys up to 89.7 % load. So the batch of pairs fills the filter
        // only to 80 %, which is 8/9 of the 90 % that the sorted batch fills.
        for hashes in [&sorted[..], &twice[..keys * 8 / 9]] {
            filter.clear();
            filter.insert_batch(hashes).unwrap();
            assert_sound(&filter, hashes);
        }
    }
}

/// A batch has more copies of a key than a multiset has room for. The keys before the first that does not fit are
/// inserted, and no others.
#[test]
fn copies_that_do_not_fit_are_refused() {
    let mut filter = words::filter_of_buckets(100_000, 8, true);
    let mut hashes = distinct(7, 0..300_000);
    let copy = hashes[0];
    hashes.extend([copy; 200]);
    let bulk = Bulk { workers: &ScopedThreads(2), scratch_bytes: usize::MAX };
    let full = filter.insert_bulk(&hashes, bulk).unwrap_err();
    assert!(matches!(full.why, WhyFull::Copies { .. }));
    assert!((300_000..hashes.len()).contains(&full.inserted));
    assert_eq!(filter.len(), full.inserted);
    assert_sound(&filter, &hashes[..full.inserted]);
}

#[test]
fn a_batch_with_too_many_keys_inserts_its_first_ones() {
    for (bits, beyond) in [(8, 1.01), (16, 0.999)] {
        let mut filter = words::filter_of_buckets(70_000, bits, true);
        let hashes = distinct(8, 0..keys_at(70_000, beyond));
        let full = filter.insert_batch(&hashes).unwrap_err();
        assert_eq!(full.why, WhyFull::Slots);
        assert_eq!((full.len, full.inserted), (filter.len(), filter.len()));
        assert!(filter.load_factor() > 0.95);
        assert_sound(&filter, &hashes[..full.inserted]);
    }
}

/// A batch is inserted even if there is too little memory for a build, and even if its keys are too few for a build.
#[test]
fn batches_that_cannot_be_built_are_inserted() {
    for multiset in [true, false] {
        let mut filter = words::filter_of_buckets(300_000, 12, multiset);
        let hashes = distinct(9, 0..keys_at(300_000, 0.95));
        for scratch_bytes in [0, 1, 1 << 20, 4 << 20, 12 << 20] {
            filter.clear();
            let bulk = Bulk { workers: &ScopedThreads(2), scratch_bytes };
            filter.insert_bulk(&hashes, bulk).unwrap();
            assert_sound(&filter, &hashes);
        }
        for keys in [0, 1, 7, 63, 64, 65, 1000, 599_999, 600_000] {
            filter.clear();
            let bulk = Bulk { workers: &CallerThread, scratch_bytes: usize::MAX };
            filter.insert_bulk(&hashes[..keys], bulk).unwrap();
            assert_sound(&filter, &hashes[..keys]);
        }
    }
}

/// A build with memory for only some of the workers makes the same bytes as a build with memory for all workers.
#[test]
fn memory_for_fewer_workers_makes_the_same_bytes() {
    let mut filter = words::filter_of_buckets(BUCKETS[2], 8, true);
    let hashes = distinct(10, 0..keys_at(BUCKETS[2], 0.95));
    filter.insert_batch(&hashes).unwrap();
    let expected = filter.to_bytes();
    for bytes_per_key in [8, 10, 30] {
        filter.clear();
        let scratch_bytes = bytes_per_key * hashes.len();
        let bulk = Bulk { workers: &ScopedThreads(7), scratch_bytes };
        filter.insert_bulk(&hashes, bulk).unwrap();
        assert!(filter.to_bytes() == expected, "{bytes_per_key} bytes of scratch memory per key");
    }
}

#[test]
fn tables_of_many_sizes_are_built_to_95_percent() {
    let mut random = Splitmix::new(0xB1D);
    for seed in 0..40 {
        let bits = WIDTHS[seed as usize % 4];
        let above = match seed {
            ..4 => 900_000,
            4..20 => 150_000,
            _ => 20_000,
        };
        let buckets = (1 << 12) + 2 * random.below(above);
        let mut filter = words::filter_of_buckets(buckets, bits, seed % 8 < 4);
        let hashes = distinct(0xB1D + seed, 0..keys_at(buckets, 0.95));
        let bulk = Bulk { workers: &ScopedThreads(2), scratch_bytes: usize::MAX };
        filter.insert_bulk(&hashes, bulk).unwrap();
        assert_all_found(&filter, &hashes);
        // Later inserts rely on the build's bitmap of full buckets.
        let more = distinct(0xB1D + seed, hashes.len() as u64..hashes.len() as u64 + 500);
        filter.insert_batch(&more).unwrap();
        assert_all_found(&filter, &hashes);
        assert_all_found(&filter, &more);
    }
}

/// After a build into an empty filter that was doubled, all keys are found, and absent keys are found at the expected
/// rate.
#[test]
fn a_doubled_filter_can_be_built() {
    for (bits, doublings) in [(8, 2), (12, 3), (16, 5), (32, 1)] {
        let buckets = 1_200_000 >> doublings << doublings;
        let mut filter = words::filter_of_buckets(buckets >> doublings, bits, false);
        for _ in 0..doublings {
            filter.grow().unwrap();
        }
        assert_eq!(filter.geometry().buckets, buckets);
        let hashes = distinct(u64::from(bits), 0..keys_at(buckets, 0.9));
        let bulk = Bulk { workers: &ScopedThreads(3), scratch_bytes: usize::MAX };
        filter.insert_bulk(&hashes, bulk).unwrap();
        assert_sound(&filter, &hashes);
        let absent = distinct(u64::from(bits), 10_000_000..10_200_000);
        let mut found = Bitmap::new(0);
        filter.contains_batch(&absent, &mut found);
        let rate = found.count_ones() as f64 / absent.len() as f64;
        let expected = filter.expected_fpr();
        let deviation = (expected * (1.0 - expected) / absent.len() as f64).sqrt();
        assert!(
            (rate - expected).abs() < 5.0 * deviation + 0.01 * expected,
            "a false-positive rate of {rate}, {expected} expected"
        );
    }
}
