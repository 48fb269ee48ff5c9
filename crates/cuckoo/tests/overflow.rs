//! Tests of copies of a key, of hot keys (with many copies, among other keys), and of the overflow area, which takes
//! the fingerprints that find no room in the table.

mod words;

use trommel_base::{Bitmap, Count, Filter, Insert, KeyHash, Merge, MergeError, Remove, WhyFull};
use trommel_cuckoo::CuckooFilter;
use trommel_testkit::Splitmix;
use trommel_testkit::streams::distinct;
use words::Place;

const WIDTHS: [u32; 4] = [8, 12, 16, 32];

/// The number of fingerprints that a filter's overflow area has room for.
fn capacity(filter: &CuckooFilter) -> usize {
    (filter.geometry().slots() / 256).clamp(2, 64) as usize
}

fn assert_found(filter: &CuckooFilter, hashes: &[KeyHash]) {
    let mut found = Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    for (i, hash) in hashes.iter().enumerate() {
        assert!(found.get(i) && filter.contains_hash(*hash), "{hash:?} is missed by {filter:?}");
    }
}

/// A filter with as many copies of one key as it has room for, and the number of these copies.
fn full_of(hash: KeyHash, buckets: u64, bits: u32) -> (CuckooFilter, u64) {
    let mut filter = words::filter_of_buckets(buckets, bits, true);
    let most = 8 + capacity(&filter) as u64;
    for copies in 1..=most {
        assert_eq!(filter.insert_hash(hash), Ok(true));
        assert_eq!((filter.count_hash(hash), filter.len() as u64), (copies, copies));
        assert_eq!(filter.overflowing() as u64, copies.saturating_sub(8));
    }
    (filter, most)
}

/// Eight copies go into the two buckets, the next ones into the overflow area, and then an insert fails.
#[test]
fn copies_go_to_two_buckets_and_then_to_the_overflow_area() {
    for bits in WIDTHS {
        for buckets in [2, 6, 500, 1026, 9000, 20_002] {
            let hash = KeyHash::from_raw(0x9E37_79B9_7F4A_7C15 ^ buckets);
            let (mut filter, most) = full_of(hash, buckets, bits);
            let before = filter.to_bytes();
            let full = filter.insert_hash(hash).unwrap_err();
            assert_eq!(full.why, WhyFull::Copies { max: most as u32 });
            assert_eq!((full.inserted, full.len), (0, most as usize));
            assert!(filter.to_bytes() == before);
            let full = filter.insert_batch(&[hash, hash]).unwrap_err();
            assert_eq!((full.inserted, full.why), (0, WhyFull::Copies { max: most as u32 }));
            assert_eq!(filter.count_hash(hash), most);

            let bytes = filter.to_bytes();
            let view = CuckooFilter::parse(&bytes).unwrap();
            let thawed = CuckooFilter::from_bytes(&bytes).unwrap();
            assert_eq!(view.count_hash(hash), most);
            assert_eq!(
                (thawed.count_hash(hash), thawed.overflowing()),
                (most, filter.overflowing())
            );
            assert!(thawed.to_bytes() == bytes);

            for left in (0..most).rev() {
                assert!(filter.remove_hash(hash));
                assert_eq!((filter.count_hash(hash), filter.len() as u64), (left, left));
                assert_eq!(filter.contains_hash(hash), left > 0);
                // When the table has room for a fingerprint, the fingerprint leaves the overflow area.
                assert_eq!(filter.overflowing() as u64, left.saturating_sub(8));
            }
            assert!(!filter.remove_hash(hash) && filter.is_empty());
        }
    }
}

/// A batch has more copies of a key than there is room for. As many copies are inserted as the error says.
#[test]
fn a_batch_of_copies_stops_when_there_is_no_room() {
    for bits in WIDTHS {
        for buckets in [2, 130, 1026, 30_002] {
            let hash = KeyHash::from_raw(0xD6E8_FEB8_6659_FD93 ^ buckets);
            let mut filter = words::filter_of_buckets(buckets, bits, true);
            let most = 8 + capacity(&filter);
            let full = filter.insert_batch(&vec![hash; 300]).unwrap_err();
            assert_eq!((full.inserted, full.len), (most, most));
            assert_eq!(full.why, WhyFull::Copies { max: most as u32 });
            assert_eq!((filter.count_hash(hash), filter.len()), (most as u64, most));
            let mut set = words::filter_of_buckets(buckets, bits, false);
            set.insert_batch(&vec![hash; 300]).unwrap();
            assert_eq!((set.len(), set.count_hash(hash), set.overflowing()), (1, 1, 0));
        }
    }
}

/// Inserts hot keys among other keys into a highly loaded table. The other keys are found before and after the removal
/// of the hot keys, and a merge with a clone fails and changes nothing.
#[test]
fn hot_keys_lose_no_other_key() {
    let mut random = Splitmix::new(3);
    for bits in WIDTHS {
        for buckets in [200, 1026, 8000] {
            let mut filter = words::filter_of_buckets(buckets, bits, true);
            let load = if buckets > 1024 { 0.94 } else { 0.85 };
            let others =
                distinct(buckets ^ u64::from(bits), 0..(load * 4.0 * buckets as f64) as u64);
            let hot: Vec<KeyHash> = (0..4).map(|_| KeyHash::from_raw(random.word())).collect();
            let mut copies = [0u64; 4];
            for (i, part) in others.chunks(others.len() / 10).enumerate() {
                filter.insert_batch(part).expect("distinct keys must fit");
                let at = i % hot.len();
                for _ in 0..3 {
                    match filter.insert_hash(hot[at]) {
                        Ok(new) => copies[at] += u64::from(new),
                        Err(full) => assert!(matches!(full.why, WhyFull::Copies { .. })),
                    }
                }
            }
            assert!(copies.iter().sum::<u64>() > 24);
            assert_found(&filter, &others);
            for (hash, copies) in hot.iter().zip(copies) {
                assert!(filter.count_hash(*hash) >= copies);
            }
            let twin = filter.clone();
            let before = filter.to_bytes();
            let error = filter.merge(&twin).unwrap_err();
            assert!(matches!(error, MergeError::Full(full) if full.len == twin.len()), "{error}");
            assert!(filter.to_bytes() == before);

            for (hash, copies) in hot.iter().zip(copies) {
                (0..copies).for_each(|_| assert!(filter.remove_hash(*hash)));
            }
            assert_found(&filter, &others);
            assert_eq!(filter.len(), others.len());
            others.iter().for_each(|hash| assert!(filter.remove_hash(*hash)));
            assert!(filter.is_empty() && filter.overflowing() == 0);
        }
    }
}

/// Filters are filled until the overflow area is full. Keys of the overflow area are looked up, frozen, read back,
/// doubled and merged like keys of the table, and removals empty the area.
#[test]
fn keys_of_the_overflow_area_are_kept_like_all_others() {
    let mut overflowed = 0;
    for bits in WIDTHS {
        for (buckets, multiset) in [(10, true), (40, false), (300, true), (1500, true)] {
            for seed in 0..12 {
                let mut filter = words::filter_of_buckets(buckets, bits, multiset);
                let hashes = distinct(seed ^ u64::from(bits) << 20, 0..5 * buckets);
                let taken =
                    hashes.iter().take_while(|hash| filter.insert_hash(**hash).is_ok()).count();
                let inside = &hashes[..taken];
                assert_eq!(
                    filter.overflowing(),
                    capacity(&filter),
                    "the overflow area must be full"
                );
                overflowed += filter.overflowing();
                assert_found(&filter, inside);
                assert!(inside.iter().all(|hash| filter.count_hash(*hash) > 0));

                let bytes = filter.to_bytes();
                assert_eq!(bytes.len(), 128 + filter.memory_bytes() + 8 * filter.overflowing());
                let thawed = CuckooFilter::from_bytes(&bytes).unwrap();
                assert_found(&thawed, inside);
                assert!(thawed.to_bytes() == bytes);

                let mut doubled = thawed.clone();
                doubled.grow().unwrap();
                assert_found(&doubled, inside);
                assert_eq!(doubled.len(), filter.len());
                let mut empty = filter.clone();
                empty.clear();
                assert!(empty.is_empty() && empty.overflowing() == 0);
                assert!(inside.iter().all(|hash| !empty.contains_hash(*hash)));
                let mut union = empty;
                if union.merge(&thawed).is_ok() {
                    assert_found(&union, inside);
                    assert!(words::len_range(&union, inside).contains(&union.len()));
                }
                for filter in [&mut filter, &mut doubled] {
                    if multiset {
                        let mut fewest = filter.overflowing();
                        for (i, hash) in inside.iter().enumerate() {
                            assert!(filter.remove_hash(*hash));
                            assert!(
                                filter.overflowing() <= fewest,
                                "a removal added a fingerprint to the overflow area"
                            );
                            fewest = filter.overflowing();
                            if i % (1 + taken / 7) == 0 {
                                assert_found(filter, &inside[i + 1..]);
                            }
                        }
                        assert!(filter.is_empty() && filter.overflowing() == 0);
                    }
                }
            }
        }
    }
    assert!(overflowed > 1000);
}

/// Two buckets are full, and a further key of these buckets does not fit. Keys of other buckets still go in.
#[test]
fn two_full_buckets_do_not_stop_keys_of_other_buckets() {
    for bits in [12, 16, 32] {
        let mut filter = words::filter_of_buckets(1026, bits, true);
        let geometry = filter.geometry();
        let first = Place::of(&geometry, KeyHash::from_raw(77 << 50));
        let step = (u64::MAX / geometry.buckets) >> bits;
        // Copies of two hashes that have the same primary bucket.
        let of_pair: Vec<KeyHash> =
            (0..40).map(|i| KeyHash::from_raw((77 << 50) + (i % 2) * step / 4)).collect();
        assert!(of_pair.iter().all(|hash| Place::of(&geometry, *hash).primary == first.primary));
        let taken = of_pair.iter().filter(|hash| filter.insert_hash(**hash).is_ok()).count();
        assert!((8..40).contains(&taken));
        let others = distinct(9, 0..3000);
        filter.insert_batch(&others).unwrap();
        assert_found(&filter, &others);
        assert_found(&filter, &of_pair[..8]);
    }
}

/// Scratch memory is no part of the filter: whether it was freed or not, later inserts make the same bytes.
#[test]
fn freeing_scratch_does_not_change_later_inserts() {
    for bits in WIDTHS {
        let mut filter = words::filter_of_buckets(1500, bits, true);
        let mut other = filter.clone();
        assert_eq!(filter.scratch_bytes(), 0);
        let hashes = distinct(5, 0..5700);
        for part in hashes.chunks(190) {
            let (batch, single) = part.split_at(100);
            for filter in [&mut filter, &mut other] {
                filter.insert_batch(batch).unwrap();
                single.iter().for_each(|hash| assert!(filter.insert_hash(*hash).unwrap()));
            }
            filter.release_scratch();
            assert_eq!(filter.scratch_bytes(), 0);
        }
        assert!(other.scratch_bytes() > 1500 / 8);
        assert!(filter.to_bytes() == other.to_bytes());
        assert_found(&filter, &hashes);
    }
}

/// The error says how many copies of the key the filter holds, since the number of copies that fit depends on the other
/// keys.
///
/// The first key gets 8 copies in its two buckets, and 64 that fill the overflow area. The second key gets only the 8
/// in its buckets. The removal of a copy of the first key frees an entry of the overflow area, so the third key gets 9.
#[test]
fn a_refused_copy_says_how_many_are_held() {
    let mut filter = words::filter_of_buckets(16_000, 16, true);
    let refuse_after = |filter: &mut CuckooFilter, hash: KeyHash, copies: usize| {
        let full = filter.insert_batch(&vec![hash; 100]).unwrap_err();
        assert_eq!((full.inserted, filter.count_hash(hash)), (copies, copies as u64));
        let text = full.to_string();
        let expected = format!("; it holds {copies} copies of this key, and has no room for more");
        assert!(text.ends_with(&expected), "{text}");
    };
    let [first, second, third] = [1, 2, 3].map(|i| KeyHash::from_raw(i << 61));
    refuse_after(&mut filter, first, 72);
    refuse_after(&mut filter, second, 8);
    assert!(filter.remove_hash(first));
    refuse_after(&mut filter, third, 9);
}
