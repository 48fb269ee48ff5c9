//! Tests how full a filter gets, and that a failed insert changes nothing.

mod words;

use trommel_base::{Filter, Full, Insert, KeyHash, Remove, WhyFull};
use trommel_cuckoo::{CuckooFilter, GUARANTEED_LOAD};
use trommel_testkit::Splitmix;
use trommel_testkit::streams::distinct;

const WIDTHS: [u32; 4] = [8, 12, 16, 32];

fn assert_all_found(filter: &CuckooFilter, hashes: &[KeyHash]) {
    let mut found = trommel_base::Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    assert_eq!(found.count_ones(), hashes.len(), "{filter:?} must find all keys in a batch");
    assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)), "{filter:?} must find all keys");
}

/// Inserts keys one by one until a key does not fit. Returns the number of keys before that key, and the error.
fn fill_singly(filter: &mut CuckooFilter, hashes: &[KeyHash]) -> (usize, Full) {
    for (i, hash) in hashes.iter().enumerate() {
        let before = filter.len();
        if let Err(full) = filter.insert_hash(*hash) {
            assert_eq!((full.inserted, full.len, filter.len()), (0, before, before));
            return (i, full);
        }
    }
    panic!("all {} keys fit into {filter:?}", hashes.len());
}

/// Inserts in batches of `length` keys until a key does not fit. Returns the number of keys before that key, and the
/// error.
fn fill_in_batches(filter: &mut CuckooFilter, hashes: &[KeyHash], length: usize) -> (usize, Full) {
    for (i, batch) in hashes.chunks(length).enumerate() {
        if let Err(full) = filter.insert_batch(batch) {
            assert!(full.inserted < batch.len() && full.len == filter.len());
            return (i * length + full.inserted, full);
        }
    }
    panic!("all {} keys fit into {filter:?}", hashes.len());
}

/// Fills a thousand filters until an insert fails. No key is lost, the insert that fails changes nothing, and removals
/// make room.
#[test]
fn filling_until_an_insert_fails_loses_no_key() {
    let mut random = Splitmix::new(0xF111);
    for seed in 0..1000 {
        let bits = WIDTHS[seed as usize % 4];
        let multiset = seed / 4 % 2 == 0;
        let slots = match seed % 50 {
            0 => 100_000,
            1..=5 => 4 * 1026 + random.below(20_000),
            6..=20 => 64 + random.below(4000),
            _ => 8 + random.below(500),
        };
        let buckets = (slots / 4).next_multiple_of(2);
        let mut filter = words::filter_of_buckets(buckets, bits, multiset);
        let hashes = distinct(seed, 0..2 * slots + 300);
        let by_batch = seed / 8 % 2 == 0;
        let (inserted, full) = if by_batch {
            fill_in_batches(&mut filter, &hashes, 1 + random.below(2000) as usize)
        } else {
            fill_singly(&mut filter, &hashes)
        };
        assert_eq!(full.why, WhyFull::Slots);
        let inside = &hashes[..inserted];
        assert_all_found(&filter, inside);
        assert!(words::len_range(&filter, inside).contains(&filter.len()));
        if !by_batch {
            let before = filter.to_bytes();
            for _ in 0..2 {
                assert_eq!(filter.insert_hash(hashes[inserted]), Err(full));
                assert!(filter.to_bytes() == before, "a failed insert must change nothing");
            }
        }
        let load = filter.load_factor();
        assert!(buckets <= 1024 || load > GUARANTEED_LOAD, "full at {load}: {filter:?}");
        let bytes = filter.to_bytes();
        assert!(CuckooFilter::from_bytes(&bytes).unwrap().to_bytes() == bytes);
        if multiset {
            // The half of the keys that was inserted first is removed first, since its fingerprints were moved most
            // often.
            let (gone, kept) = inside.split_at(inserted / 2);
            for (i, hash) in gone.iter().enumerate() {
                assert!(filter.remove_hash(*hash));
                assert_eq!(filter.len(), inserted - 1 - i);
            }
            assert_all_found(&filter, kept);
            let (again, _) = gone.split_at(gone.len() / 2);
            filter.insert_batch(again).expect("half of the table must be free");
            assert_all_found(&filter, kept);
            assert_all_found(&filter, again);
            for hash in kept.iter().chain(again) {
                assert!(filter.remove_hash(*hash));
            }
            assert!(filter.is_empty() && filter.overflowing() == 0);
            assert!(filter.table().iter().all(|byte| *byte == 0));
        }
    }
}

/// A filter that was filled and then emptied key by key keeps its scratch memory, which records the buckets that were
/// full. A bulk build must not use this record, which does not describe the buckets that the build fills.
#[test]
fn a_build_does_not_use_scratch_of_the_emptied_filter() {
    let keys = 250_000;
    let one = distinct(0xE, 0..1)[0];
    for bits in WIDTHS {
        for multiset in [true, false] {
            let mut filter = words::filter(keys, bits, multiset);
            let hashes = distinct(0xE0 + u64::from(bits), 0..keys as u64);
            if multiset {
                assert!(filter.insert_batch(&[one; 200]).is_err());
                while filter.remove_hash(one) {}
            } else {
                filter.insert_batch(&hashes).unwrap();
                for hash in &hashes {
                    filter.remove_hash(*hash);
                }
            }
            assert!(filter.is_empty() && filter.scratch_bytes() > 0);
            filter.insert_batch(&hashes).unwrap();
            assert_all_found(&filter, &hashes);
            assert!(words::len_range(&filter, &hashes).contains(&filter.len()));
        }
    }
}

/// Tables of more than 1024 buckets take keys up to a load of 95 %. The test fills 200 filters of all widths and many
/// sizes, by single inserts or by batches.
#[test]
fn large_tables_take_95_percent() {
    let mut random = Splitmix::new(0x95);
    for seed in 0..200u64 {
        let bits = WIDTHS[seed as usize % 4];
        let buckets = match seed {
            0..2 => 1_000_000,
            2..8 => 250_002,
            8..40 => 25_000 + 2 * random.below(10_000),
            40..60 => 16_384 << (seed % 3),
            60..120 => 1026,
            _ => 1026 + 2 * random.below(2000),
        };
        let mut filter = words::filter_of_buckets(buckets, bits, true);
        let keys = libm::floor(GUARANTEED_LOAD * filter.geometry().slots() as f64) as u64;
        let hashes = distinct(0x9500 + seed, 0..keys);
        if seed % 3 == 0 && buckets < 100_000 {
            for hash in &hashes {
                filter.insert_hash(*hash).expect("there must be room for 95 %");
            }
        } else {
            let length = 1 + random.below(100_000) as usize;
            for batch in hashes.chunks(length.max(1000)) {
                filter.insert_batch(batch).expect("there must be room for 95 %");
            }
        }
        assert_all_found(&filter, &hashes);
        assert_eq!(filter.len() as u64, keys);
    }
}

/// Tables of up to 1026 buckets take the keys that they are planned for. The test fills a filter of each size hundreds
/// to thousands of times.
#[test]
fn small_tables_take_as_many_keys_as_planned() {
    for (keys, filters) in [
        (1, 4000),
        (4, 4000),
        (8, 4000),
        (12, 8000),
        (16, 8000),
        (17, 4000),
        (32, 8000),
        (50, 8000),
        (100, 4000),
        (204, 8000),
        (205, 2000),
        (500, 2000),
        (1000, 1000),
        (3000, 400),
        (3686, 400),
        (3687, 200),
    ] {
        for bits in WIDTHS {
            for multiset in [false, true] {
                let mut filter = words::filter(keys, bits, multiset);
                for seed in 0..filters / 8 {
                    let hashes = distinct(seed ^ u64::from(bits) << 32, 0..keys as u64);
                    filter.clear();
                    let outcome = if seed % 2 == 0 {
                        filter.insert_batch(&hashes)
                    } else {
                        hashes.iter().try_for_each(|hash| filter.insert_hash(*hash).map(drop))
                    };
                    assert_eq!(outcome, Ok(()), "{keys} keys, {bits} bits, seed {seed}");
                }
            }
        }
    }
}

/// A filter that is built to grow at a given load takes keys up to exactly that load, and doubles for the next key: in
/// single inserts, in batches of any length, and in one batch of all keys. (The table is too small for a bulk build.)
#[test]
fn a_filter_grows_for_the_first_key_that_would_exceed_its_load() {
    for bits in WIDTHS {
        for percent in [50, 75, 90] {
            let builder = CuckooFilter::builder().keys(5_000).fingerprint_bits(bits).multiset(true);
            let new = || builder.grow_at(percent as f64 / 100.0).build().unwrap();
            let first_slots = new().geometry().slots();
            let most = |doublings: u32| ((first_slots << doublings) * percent / 100) as usize;
            // The fewest doublings after which the keys do not exceed the load.
            let doublings_for = |len: usize| (0..).find(|doublings| len <= most(*doublings));
            let hashes = distinct(u64::from(bits) << 8 | percent, 0..most(2) as u64 + 100);
            let assert_grown = |filter: &CuckooFilter, len: usize| {
                assert_eq!(filter.len(), len);
                let expected = doublings_for(len);
                assert_eq!(Some(filter.geometry().doublings), expected, "{len} keys: {filter:?}");
            };

            let mut singly = new();
            for (i, hash) in hashes.iter().enumerate() {
                singly.insert_hash(*hash).unwrap();
                assert_grown(&singly, i + 1);
            }
            assert_all_found(&singly, &hashes);

            for length in [1, 16, 77, 1000, most(0) - 1, most(0), most(0) + 1, hashes.len()] {
                let (mut filter, mut len) = (new(), 0);
                for batch in hashes.chunks(length) {
                    filter.insert_batch(batch).unwrap();
                    len += batch.len();
                    assert_grown(&filter, len);
                }
                assert_all_found(&filter, &hashes);
            }
        }
    }
}

/// The first table is so small that it is on the heap, so the choice about huge pages does not affect it. But the
/// filter keeps the choice for its larger tables.
#[cfg(target_os = "linux")]
#[test]
fn doubled_and_merged_filters_keep_the_choice_about_huge_pages() {
    use trommel_base::Backing;
    for huge_pages in [false, true] {
        let builder = CuckooFilter::builder().keys(500_000).fingerprint_bits(32);
        let mut filter = builder.huge_pages(huge_pages).build().unwrap();
        assert_eq!(filter.backing(), Backing::Heap);
        filter.insert_batch(&distinct(1, 0..1_000)).unwrap();
        filter.grow().unwrap();
        filter.grow().unwrap();
        let is_as_chosen = |filter: &CuckooFilter| match filter.backing() {
            Backing::Heap => false,
            Backing::Pages => true,
            // Huge pages were advised. (The system can refuse that advice, but no filter gives it unasked.)
            _ => huge_pages,
        };
        assert!(is_as_chosen(&filter), "{:?}", filter.backing());
        let other = filter.clone();
        filter.union(&other).unwrap();
        assert!(is_as_chosen(&filter) && is_as_chosen(&other), "{:?}", filter.backing());
    }
}
