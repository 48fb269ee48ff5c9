//! Hard cases of runs and clusters: over many blocks, with offsets too large to be stored, at the end of the table, and
//! at 95 % load in tables of many sizes. (`src/table.rs` defines runs and clusters, and `src/layout/mod.rs` offsets.)

use trommel_base::{Bitmap, Count, Filter, FromSpec, Full, Insert, KeyHash, Remove, Spec, WhyFull};
use trommel_quotient::{Layout, LineBlock, MAX_COPIES, Quotient, WideBlock};
use trommel_simd::Isa;
use trommel_testkit::Splitmix;
use trommel_testkit::streams::distinct;
use trommel_testkit::subject::spec_of_remainders as spec;

fn built<L: Layout>(spec: &Spec) -> Quotient<L> {
    Quotient::from_spec(spec).unwrap()
}

/// The least hash with this quotient and this remainder.
fn hash_at<L: Layout>(filter: &Quotient<L>, quotient: u64, remainder: u64) -> KeyHash {
    let geometry = filter.geometry();
    let fingerprint = quotient << geometry.remainder_bits | remainder;
    let fingerprints = u128::from(geometry.slots) << geometry.remainder_bits;
    KeyHash::from_raw((u128::from(fingerprint) << 64).div_ceil(fingerprints) as u64)
}

fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Splitmix::new(seed);
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// The number of slots of a table, including the slots after the last quotient's slot.
fn all_slots<L: Layout>(filter: &Quotient<L>) -> u64 {
    filter.geometry().blocks * u64::from(L::SLOTS)
}

/// The keys of a cluster.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// The number of consecutive quotients with many keys each.
    quotients: u64,
    /// The number of distinct remainders of each quotient.
    remainders: u64,
    /// The number of copies of each remainder.
    copies: u64,
    /// The number of further quotients, after the quotients with many keys. Each further quotient has one key, whose
    /// remainder is pushed far from the slot of its quotient.
    pushed: u64,
}

impl Cluster {
    fn hashes<L: Layout>(&self, filter: &Quotient<L>, first: u64) -> Vec<KeyHash> {
        let mut hashes = Vec::new();
        for quotient in first..first + self.quotients {
            for remainder in 1..=self.remainders {
                let hash = hash_at(filter, quotient, remainder);
                hashes.extend(std::iter::repeat_n(hash, self.copies as usize));
            }
        }
        let pushed = first + self.quotients..first + self.quotients + self.pushed;
        hashes.extend(pushed.map(|quotient| hash_at(filter, quotient, 2)));
        hashes
    }
}

/// Fails unless the filter holds exactly the fingerprints of these hashes, one copy for each hash.
fn assert_holds<L: Layout>(filter: &Quotient<L>, hashes: &[KeyHash], what: &str) {
    assert_eq!(filter.len(), hashes.len(), "{what}: wrong number of fingerprints");
    let fingerprints = u128::from(filter.geometry().fingerprints);
    let mut expected: Vec<u64> =
        hashes.iter().map(|hash| ((u128::from(hash.raw()) * fingerprints) >> 64) as u64).collect();
    expected.sort_unstable();
    assert!(filter.fingerprints().eq(expected), "{what}: wrong fingerprints");
    let bytes = filter.to_bytes();
    assert!(
        Quotient::<L>::from_bytes(&bytes).unwrap().to_bytes() == bytes,
        "{what}: a filter parsed from bytes serializes to different bytes"
    );
}

/// Inserts a cluster in random order, one by one and in batches, and removes it in another order, on every instruction
/// set. At every step, the filter must have the bytes that portable single inserts make, must hold the keys inserted so
/// far, and must not report absent keys whose quotients are before or in the cluster. `most_offset` is the largest
/// offset that the layout stores; the cluster must have more keys than this number.
fn assert_inserts_and_removes<L: Layout>(
    keys: usize,
    bits: Option<u32>,
    cluster: Cluster,
    most_offset: u64,
) {
    let multiset = cluster.copies > 1;
    let reference = built::<L>(&spec(keys, bits, multiset, Isa::Portable));
    let first = reference.geometry().slots / 3;
    let mut hashes = cluster.hashes(&reference, first);
    assert!(
        hashes.len() as u64 > most_offset,
        "the cluster is too small for offsets beyond {most_offset}"
    );
    let absent: Vec<KeyHash> = (first.saturating_sub(100)
        ..first + cluster.quotients + cluster.pushed)
        .map(|quotient| {
            hash_at(&reference, quotient, (1 << reference.geometry().remainder_bits) - 1)
        })
        .collect();
    shuffle(&mut hashes, 1);
    let steps = hashes.len().div_ceil(9);
    let mut states = Vec::new();
    let mut portable = reference.clone();
    for part in hashes.chunks(steps) {
        part.iter().for_each(|hash| assert_eq!(portable.insert_hash(*hash), Ok(true)));
        states.push(portable.to_bytes());
    }
    for isa in Isa::available() {
        let empty = built::<L>(&spec(keys, bits, multiset, isa));
        let (mut singly, mut batches) = (empty.clone(), empty.clone());
        let mut found = Bitmap::new(0);
        for (i, part) in hashes.chunks(steps).enumerate() {
            part.iter().for_each(|hash| assert_eq!(singly.insert_hash(*hash), Ok(true)));
            batches.insert_batch(part).unwrap();
            let what = format!("{cluster:?}: part {i} on {isa}");
            assert!(singly.to_bytes() == states[i], "{what}: single inserts make other bytes");
            assert!(batches.to_bytes() == states[i], "{what}: batches make other bytes");
            let held = &hashes[..singly.len()];
            singly.contains_batch(held, &mut found);
            assert_eq!(
                found.count_ones(),
                held.len(),
                "{what}: held keys that a batch lookup finds"
            );
            assert!(
                held.iter().all(|hash| singly.contains_hash(*hash)),
                "{what}: a single lookup does not find a held key"
            );
            singly.contains_batch(&absent, &mut found);
            assert_eq!(found.count_ones(), 0, "{what}: absent keys that a batch lookup finds");
            assert!(
                absent.iter().all(|hash| !singly.contains_hash(*hash)),
                "{what}: a single lookup finds an absent key"
            );
        }
        assert_holds(&singly, &hashes, "after all inserts");
        let mut whole = empty.clone();
        whole.insert_batch(&hashes).unwrap();
        assert!(
            whole.to_bytes() == states[states.len() - 1],
            "{cluster:?}: one batch on {isa} makes other bytes"
        );
        for hash in hashes.iter().step_by(97) {
            let copies = hashes.iter().filter(|other| *other == hash).count() as u64;
            assert_eq!(singly.count_hash(*hash), copies, "{cluster:?}");
        }
        // Remove the keys in another order.
        let mut left = hashes.clone();
        shuffle(&mut left, 2);
        while !left.is_empty() {
            for hash in left.split_off(left.len().saturating_sub(steps)) {
                assert!(!absent.is_empty() && !singly.remove_hash(absent[0]));
                assert!(singly.remove_hash(hash));
            }
            assert_holds(&singly, &left, "after some removals");
            singly.contains_batch(&left, &mut found);
            assert_eq!(found.count_ones(), left.len());
            let mut fresh = empty.clone();
            fresh.insert_batch(&left).unwrap();
            assert!(
                singly.to_bytes() == fresh.to_bytes(),
                "{cluster:?}: removals leave other bytes than inserts of the {} remaining keys",
                left.len()
            );
        }
        assert!(singly.to_bytes() == empty.to_bytes());
    }
}

/// The run of a single quotient spans many blocks.
#[test]
fn a_run_can_span_many_blocks() {
    for bits in [11, 16, 27] {
        let cluster = Cluster { quotients: 1, remainders: 1900, copies: 1, pushed: 700 };
        assert_inserts_and_removes::<WideBlock>(6000, Some(bits), cluster, 255);
    }
    let cluster = Cluster { quotients: 1, remainders: 250, copies: 1, pushed: 700 };
    assert_inserts_and_removes::<LineBlock>(6000, None, cluster, 63);
}

/// Neighbouring quotients have many keys each, so the offsets of many blocks are too large to be stored, and are
/// computed from blocks far before them.
#[test]
fn offsets_can_be_larger_than_the_largest_stored_one() {
    for (bits, remainders) in [(3, 6), (6, 50), (8, 40), (13, 45)] {
        let cluster = Cluster { quotients: 70, remainders, copies: 1, pushed: 900 };
        assert_inserts_and_removes::<WideBlock>(6000, Some(bits), cluster, 255);
    }
    for (quotients, remainders) in [(5, 200), (70, 20), (120, 3)] {
        let cluster = Cluster { quotients, remainders, copies: 1, pushed: 900 };
        assert_inserts_and_removes::<LineBlock>(6000, None, cluster, 63);
    }
}

/// Runs consist of copies of few remainders, and together span many blocks.
#[test]
fn copies_can_span_many_blocks() {
    let copies = u64::from(MAX_COPIES);
    for (quotients, remainders, copies) in [(1, 1, copies), (3, 2, copies), (40, 3, 9), (9, 1, 100)]
    {
        let cluster = Cluster { quotients, remainders, copies, pushed: 600 };
        for bits in [3, 8, 21] {
            assert_inserts_and_removes::<WideBlock>(6000, Some(bits), cluster, 255);
        }
        assert_inserts_and_removes::<LineBlock>(6000, None, cluster, 63);
    }
}

/// Offsets grow beyond the largest one that is stored (63 or 255), key by key, and shrink again.
#[test]
fn offsets_grow_beyond_the_largest_stored_one_and_shrink_again() {
    fn cross<L: Layout>(bits: Option<u32>, isa: Isa) {
        let mut filter = built::<L>(&spec(4000, bits, false, isa));
        // The first key takes the last slot of a block, so the next block's offset is the number of keys less one.
        let first = u64::from(L::SLOTS) * 10 - 1;
        let most = u64::from(L::MAX_OFFSET) + 8;
        let hash = |filter: &Quotient<L>, i: u64| hash_at(filter, first + i / 200, 1 + i % 200);
        let mut fresh = filter.clone();
        for i in 0..most {
            let hash = hash(&filter, i);
            assert_eq!(fresh.insert_hash(hash), Ok(true));
        }
        for _ in 0..3 {
            for i in 0..most {
                let hash = hash(&filter, i);
                assert_eq!(filter.insert_hash(hash), Ok(true));
                assert!((0..=i).all(|i| filter.contains_hash(self::hash_at(
                    &filter,
                    first + i / 200,
                    1 + i % 200
                ))));
                assert!(
                    Quotient::<L>::from_bytes(&filter.to_bytes()).is_ok(),
                    "the filter's own bytes are refused, at key {i} on {isa}"
                );
            }
            assert!(filter.to_bytes() == fresh.to_bytes());
            for i in (0..most).rev() {
                let hash = hash(&filter, i);
                assert!(filter.remove_hash(hash) && !filter.contains_hash(hash));
                assert!(
                    Quotient::<L>::from_bytes(&filter.to_bytes()).is_ok(),
                    "the filter's own bytes are refused, at key {i} on {isa}"
                );
            }
            assert!(filter.is_empty());
        }
    }
    for isa in Isa::available() {
        cross::<WideBlock>(Some(9), isa);
        cross::<WideBlock>(Some(32), isa);
        cross::<LineBlock>(None, isa);
    }
}

/// Keys of the last quotients take every slot up to the end of the table. Then the filter is full for keys of these
/// quotients, but not for keys of the first half of the quotients. The filter loses no key, and all keys can be removed
/// again.
#[test]
fn a_cluster_can_reach_the_end_of_the_table() {
    fn fill_the_end<L: Layout>(keys: usize, bits: Option<u32>, isa: Isa) {
        let empty = built::<L>(&spec(keys, bits, false, isa));
        let slots = empty.geometry().slots;
        let room = (all_slots(&empty) - (slots - 1)) as usize;
        let remainders = (1u64 << empty.geometry().remainder_bits).min(2 * room as u64 + 9) - 1;
        // There are `room` slots from the last quotient's slot on. The keys belong to the last `quotients` quotients:
        // the fewest quotients that together have at least `room + 20` keys.
        let quotients = (room as u64 + 20).div_ceil(remainders).min(slots);
        let mut hashes: Vec<KeyHash> = (slots - quotients..slots)
            .flat_map(|quotient| (1..=remainders).map(move |remainder| (quotient, remainder)))
            .map(|(quotient, remainder)| hash_at(&empty, quotient, remainder))
            .collect();
        shuffle(&mut hashes, keys as u64);
        let expected = room + quotients as usize - 1;
        assert!(hashes.len() > expected, "{keys} keys: too few hashes to fill the end");

        let mut singly = empty.clone();
        let outcomes: Vec<bool> =
            hashes.iter().map(|hash| singly.insert_hash(*hash).is_ok()).collect();
        let held: Vec<KeyHash> = hashes
            .iter()
            .zip(&outcomes)
            .filter(|(_, took)| **took)
            .map(|(hash, _)| *hash)
            .collect();
        // The keys take all slots from the last quotient's slot on. Keys of earlier quotients can also take the
        // `quotients - 1` slots below it. How many of these slots they take depends on the order of the inserts.
        assert!(
            (room..=expected).contains(&held.len()),
            "{} keys fitted, not {room} to {expected}",
            held.len()
        );
        assert_holds(&singly, &held, "single inserts at the end");
        assert!(
            held.iter().all(|hash| singly.contains_hash(*hash) && singly.count_hash(*hash) == 1)
        );
        let before = singly.to_bytes();
        let failed = hashes.iter().zip(&outcomes).filter(|(_, took)| !**took);
        for (hash, _) in failed.take(20) {
            let full = singly.insert_hash(*hash).unwrap_err();
            assert_eq!(full, Full::new(0, held.len(), all_slots(&empty) as usize));
            assert!(singly.to_bytes() == before);
        }

        let mut batch = empty.clone();
        let full = batch.insert_batch(&hashes).unwrap_err();
        assert_eq!(full.why, WhyFull::Slots);
        assert_eq!(full.inserted, outcomes.iter().take_while(|took| **took).count());
        assert_holds(&batch, &hashes[..full.inserted], "a batch at the end");

        // Keys of the first half of the quotients still fit.
        if slots > 4 * quotients {
            let elsewhere: Vec<KeyHash> =
                (0..slots / 2).map(|quotient| hash_at(&empty, quotient, 1)).collect();
            singly.insert_batch(&elsewhere).unwrap();
            assert!(elsewhere.iter().chain(&held).all(|hash| singly.contains_hash(*hash)));
            elsewhere.iter().for_each(|hash| assert!(singly.remove_hash(*hash)));
            assert!(singly.to_bytes() == before);
        }
        held.iter().rev().for_each(|hash| assert!(singly.remove_hash(*hash)));
        assert!(singly.to_bytes() == empty.to_bytes());
    }
    for isa in Isa::available() {
        for keys in [1, 2, 30, 61, 64, 1000, 5000, 20_001] {
            for bits in [10, 16, 29] {
                fill_the_end::<WideBlock>(keys, Some(bits), isa);
            }
            fill_the_end::<LineBlock>(keys, None, isa);
        }
    }
}

/// The largest hashes have the last quotient and the largest remainder. Computing a fingerprint from them must not
/// carry into the next quotient, which does not exist.
#[test]
fn the_largest_hashes_have_the_largest_fingerprint() {
    fn extremes<L: Layout>(keys: usize, bits: Option<u32>, isa: Isa) {
        let mut filter = built::<L>(&spec(keys, bits, false, isa));
        let hashes: Vec<KeyHash> =
            [u64::MAX, u64::MAX - 1, 0, 1, 1 << 63, (1 << 63) - 1].map(KeyHash::from_raw).to_vec();
        hashes.iter().for_each(|hash| assert!(filter.insert_hash(*hash).is_ok()));
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
        let last = filter.fingerprints().last().unwrap();
        assert_eq!(last, filter.geometry().fingerprints - 1);
        for hash in &hashes {
            filter.remove_hash(*hash);
        }
        assert!(filter.is_empty());
    }
    for isa in Isa::available() {
        for keys in [0, 1, 63, 64, 65, 999, 1 << 16] {
            (1..=32).for_each(|bits| extremes::<WideBlock>(keys, Some(bits), isa));
            extremes::<LineBlock>(keys, None, isa);
        }
    }
}

/// Fails if a filter of this size cannot be filled to 95 % with distinct keys.
fn assert_fills_to_95_percent<L: Layout>(
    keys: usize,
    bits: Option<u32>,
    seeds: core::ops::Range<u64>,
) {
    let empty = built::<L>(&spec(keys, bits, true, Isa::best()));
    let slots = empty.geometry().slots;
    let most = (slots * 19 / 20) as usize;
    assert!(most >= keys);
    for seed in seeds {
        let mut filter = empty.clone();
        let hashes = distinct(seed << 32 | keys as u64, 0..most as u64);
        match filter.insert_batch(&hashes) {
            Ok(()) => {}
            // With uniform hashes, no fingerprint reaches the maximum of `MAX_COPIES` copies, so any error is a lack of
            // slots.
            Err(full) => panic!("{slots} slots, seed {seed}: not filled to 95 %: {full}"),
        }
    }
}

#[test]
fn tables_of_many_sizes_can_be_filled_to_95_percent() {
    for keys in 1..=64 {
        assert_fills_to_95_percent::<WideBlock>(keys, Some(9), 0..400);
        assert_fills_to_95_percent::<LineBlock>(keys, None, 0..100);
    }
    for keys in 65..=2500 {
        assert_fills_to_95_percent::<WideBlock>(keys, Some(8), 0..3);
    }
    for keys in (65..=2500).step_by(11) {
        assert_fills_to_95_percent::<LineBlock>(keys, None, 0..12);
    }
    let mut random = Splitmix::new(5);
    for seed in 0..12 {
        let keys = 3000 + random.below(300_000) as usize;
        let bits = 4 + random.below(20) as u32;
        assert_fills_to_95_percent::<WideBlock>(keys, Some(bits), seed..seed + 2);
        assert_fills_to_95_percent::<LineBlock>(keys, None, seed..seed + 2);
    }
}
