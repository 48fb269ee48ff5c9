//! Filters that can become full: a key that does not fit leaves no trace.

use super::{LENGTHS, LONG_LENGTHS, after, answers, answers_singly, assert_all_found};
use crate::Splitmix;
use crate::streams::{Disjoint, Stream, distinct};
use crate::subject::{Room, Subject, built, spec};
use trommel_base::{Filter, Full, Insert, KeyHash, WhyFull};
use trommel_simd::Isa;

/// The numbers of keys for which the filters are planned: filters of one block, of some blocks, and of many blocks.
const PLANNED: [usize; 5] = [1, 20, 333, 2000, 20_000];
/// The false-positive rate of the filters that are filled. Up to a load of 95 %, every kind of filter can keep this
/// rate. At this rate there are more possible fingerprints than slots, so even a set, which holds each fingerprint
/// once, becomes full.
const FPR: f64 = 0.004;

/// A number of keys above the number of slots of a filter for `planned` keys.
fn too_many(planned: usize) -> usize {
    planned * 3 / 2 + 400
}

/// Inserts keys one by one until a key does not fit. Returns the error, with the number of keys that were inserted;
/// `None` if all keys fit.
fn insert_until_full<S: Subject>(filter: &mut S::Filter, hashes: &[KeyHash]) -> Option<Full> {
    hashes.iter().enumerate().find_map(|(i, hash)| {
        let full = filter.insert_hash(*hash).err()?;
        assert_eq!(full.inserted, 0, "inserted keys in the error of a single insert");
        Some(after(i, full))
    })
}

/// Fails unless the error has the filter's `len` and a capacity of at least `len`, and unless the error's message
/// contains its `inserted`, `len` and `capacity`.
fn assert_numbers<S: Subject>(full: Full, filter: &S::Filter) {
    assert_eq!(full.len, filter.len(), "len in the error and in the filter: {full}");
    assert!(full.capacity >= full.len, "more keys than capacity: {full}");
    let message = full.to_string();
    for number in [full.inserted, full.len, full.capacity] {
        assert!(message.contains(&number.to_string()), "{number} is not in: {message}");
    }
}

/// A key that finds no slot leaves the bytes as they were, however often it is tried, and every key
/// that was inserted before is still found. At least the planned number of keys fits.
pub fn a_failed_insert_changes_nothing<S: Subject>(isa: Isa) {
    for planned in PLANNED {
        let mut filter = built::<S>(&spec(planned, FPR, isa));
        let hashes = distinct(71, 0..too_many(planned) as u64);
        let full = insert_until_full::<S>(&mut filter, &hashes).expect("too many keys fitted");
        assert_eq!(full.why, WhyFull::Slots);
        assert!(full.inserted >= planned, "fewer than {planned} keys fitted: {full}");
        assert_numbers::<S>(full, &filter);
        let before = S::to_bytes(&filter);
        let (inside, outside) = hashes.split_at(full.inserted);
        for _ in 0..3 {
            let again = filter.insert_hash(outside[0]).unwrap_err();
            assert_eq!(again, after(0, full));
            assert!(
                S::to_bytes(&filter) == before,
                "a failed insert changed the filter, {planned} keys planned"
            );
        }
        assert_all_found(&filter, inside, "full");
        // Other keys can still fit. A key that does not fit leaves no trace.
        for hash in &outside[..outside.len().min(60)] {
            let before = S::to_bytes(&filter);
            match filter.insert_hash(*hash) {
                Ok(_) => assert!(filter.contains_hash(*hash)),
                Err(full) => {
                    assert_numbers::<S>(full, &filter);
                    assert!(S::to_bytes(&filter) == before);
                }
            }
        }
        assert_all_found(&filter, inside, "after more inserts");
    }
}

/// Fails unless a filter finds these keys, both before and after it is frozen and read back, and unless its `len` is
/// possible for exactly these keys.
fn assert_takes_first<S: Subject>(empty: &S::Filter, filter: &S::Filter, hashes: &[KeyHash]) {
    assert_all_found(filter, hashes, "the first of a batch");
    let range = S::len_range(empty, hashes);
    assert!(range.contains(&filter.len()), "len is {}, expected in {range:?}", filter.len());
    let bytes = S::to_bytes(filter);
    let read = S::from_bytes(&bytes).expect("our own bytes are refused");
    assert_all_found(&read, hashes, "the first of a batch, read back");
}

/// If a batch does not fit, its first keys are inserted, as many as the error says. No key after the one that failed
/// is inserted, even if it would have fitted.
pub fn a_failed_batch_takes_the_keys_that_it_says<S: Subject>(isa: Isa) {
    for planned in PLANNED {
        let empty = built::<S>(&spec(planned, FPR, isa));
        let hashes = distinct(72, 0..too_many(planned) as u64);
        let mut filter = empty.clone();
        let full = filter.insert_batch(&hashes).unwrap_err();
        assert_eq!(full.why, WhyFull::Slots);
        assert!(
            full.inserted >= planned && full.inserted < hashes.len(),
            "{planned} keys planned: {full}"
        );
        assert_numbers::<S>(full, &filter);
        let (inside, outside) = hashes.split_at(full.inserted);
        if !S::CANONICAL {
            assert_takes_first::<S>(&empty, &filter, inside);
            continue;
        }
        let mut expected = empty.clone();
        expected.insert_batch(inside).unwrap();
        assert!(
            S::to_bytes(&filter) == S::to_bytes(&expected),
            "a failed batch makes other bytes than its first keys alone, {planned} keys planned"
        );
        // The key that failed is the first of this batch, so no key of this batch is inserted.
        let again = filter.insert_batch(outside).unwrap_err();
        assert_eq!(again, after(0, full));
        assert!(S::to_bytes(&filter) == S::to_bytes(&expected));
        assert_eq!(filter.insert_batch(&[]), Ok(()));
    }
}

/// A batch stops at the same key as single inserts, with the same error and the same bytes, however full the filter was
/// before and however long the batch is. Some keys of the batch are in the filter already, and some are in the batch
/// twice. If filters are not [canonical](Subject::CANONICAL), the batch is compared with a batch in portable code.
pub fn a_batch_fails_where_single_inserts_do<S: Subject>(isa: Isa) {
    let mut random = Splitmix::new(73);
    for planned in PLANNED {
        let mut failures = 0;
        for filled_percent in [0, 10, 50, 90, 96, 99] {
            for batch_percent in [3, 20, 60, 140] {
                let share = |percent: usize| planned * percent / 100 + few_keys(percent);
                let before = distinct(74, 0..share(filled_percent) as u64);
                let mut filter = built::<S>(&spec(planned, FPR, isa));
                if filter.insert_batch(&before).is_err() {
                    continue;
                }
                let fresh = distinct(75, 0..(share(batch_percent) + 3 * batch_percent) as u64);
                let batch: Vec<KeyHash> = fresh
                    .iter()
                    .map(|hash| match random.below(10) {
                        0 if !before.is_empty() => {
                            before[random.below(before.len() as u64) as usize]
                        }
                        1 => fresh[random.below(fresh.len() as u64) as usize],
                        _ => *hash,
                    })
                    .collect();
                let mut singly = built::<S>(&spec(planned, FPR, Isa::Portable));
                singly.insert_batch(&before).unwrap();
                let expected = if S::CANONICAL {
                    insert_until_full::<S>(&mut singly, &batch)
                } else {
                    singly.insert_batch(&batch).err()
                };
                failures += usize::from(expected.is_some());
                assert_eq!(
                    filter.insert_batch(&batch).err(),
                    expected,
                    "the error of a batch, {planned} keys planned"
                );
                assert!(
                    S::to_bytes(&filter) == S::to_bytes(&singly),
                    "other bytes than expected: {planned} keys planned, {} held, a batch of {}",
                    before.len(),
                    batch.len()
                );
                let inserted = expected.map_or(batch.len(), |full| full.inserted);
                let held = [&before, &batch[..inserted]].concat();
                let empty = built::<S>(&spec(planned, FPR, isa));
                assert_takes_first::<S>(&empty, &filter, &held);
            }
        }
        assert!(
            failures >= 4,
            "{failures} of the batches for {planned} keys failed: too few to tell"
        );
    }
}

/// A number of keys from 0 to 10 that depends only on the percentage.
fn few_keys(percent: usize) -> usize {
    percent * 7 % 11
}

/// A set holds a key once, and another insert of the key changes nothing. A multiset counts copies up to a limit, and
/// refuses the next copy with an error that has the limit. If the refused copy is in a batch, the keys before it are
/// inserted.
pub fn a_key_has_a_bounded_number_of_copies<S: Subject>(isa: Isa) {
    let Room::Slots { copies } = S::ROOM else { panic!("the filter is never full") };
    let keys = distinct(76, 0..400);
    let (key, others) = (keys[0], &keys[1..]);
    let mut filter = built::<S>(&spec(1000, 0.001, isa));
    for _ in 0..copies {
        assert_eq!(filter.insert_hash(key), Ok(true));
    }
    assert_eq!(filter.len(), copies as usize);
    // A filter that is not canonical can by chance have room for more copies.
    while !S::CANONICAL && filter.insert_hash(key) == Ok(true) {
        assert!(filter.len() <= 2 * copies as usize);
    }
    let copies = filter.len() as u32;
    let before = S::to_bytes(&filter);
    for _ in 0..3 {
        match filter.insert_hash(key) {
            Ok(changed) => assert!(!changed && copies == 1),
            Err(full) => {
                assert_eq!((full.why, full.inserted), (WhyFull::Copies { max: copies }, 0));
                assert!(copies > 1 && full.to_string().contains(&copies.to_string()));
                assert_numbers::<S>(full, &filter);
            }
        }
        assert!(S::to_bytes(&filter) == before);
    }
    // Now the copies are in a batch with other keys, which is inserted into an empty filter and into a filter that
    // holds some keys.
    for held in [0, 100] {
        let (first, last) = others.split_at(others.len() / 2);
        let mut batch = first.to_vec();
        batch.extend(std::iter::repeat_n(key, copies as usize + 2));
        batch.extend(last);
        let mut filter = built::<S>(&spec(1000, 0.001, isa));
        filter.insert_batch(&distinct(77, 0..held)).unwrap();
        let mut singly = filter.clone();
        let expected = insert_until_full::<S>(&mut singly, &batch);
        assert_eq!(filter.insert_batch(&batch).err(), expected);
        assert_eq!(expected.is_some(), copies > 1);
        if let Some(full) = expected {
            assert_eq!(full.inserted, first.len() + copies as usize);
            assert_eq!(full.why, WhyFull::Copies { max: copies });
        }
        assert!(!S::CANONICAL || S::to_bytes(&filter) == S::to_bytes(&singly));
        assert_eq!(filter.len(), singly.len());
    }
}

/// A filter is filled until no more of the keys fit. Then batches of many lengths, single lookups and portable code
/// agree, and find every inserted key. (A full quotient filter has hardly a free slot, so its remainders are far from
/// the slots where lookups for them begin.)
pub fn every_way_to_ask_a_full_filter_gives_the_same_answer<S: Subject>(isa: Isa) {
    for (planned, fpr) in [(1, 0.3), (300, 0.3), (3000, 0.01), (3000, 0.2)] {
        let keys = Disjoint::new(78, too_many(planned), 6000);
        let fill = |isa| {
            let mut filter = built::<S>(&spec(planned, fpr, isa));
            // `taken` has every key that fits, even if it comes after keys that do not fit.
            let taken: Vec<KeyHash> = keys
                .members
                .iter()
                .copied()
                .filter(|hash| filter.insert_hash(*hash).is_ok())
                .collect();
            (filter, taken)
        };
        let ((filter, taken), (portable, portable_taken)) = (fill(isa), fill(Isa::Portable));
        assert!(taken == portable_taken && taken.len() >= planned);
        assert!(S::to_bytes(&filter) == S::to_bytes(&portable));
        assert_all_found(&filter, &taken, "full");
        let mut probes = keys.absent;
        Stream::ALL.iter().for_each(|stream| probes.extend(stream.hashes(4, 50)));
        probes.extend(&taken);
        let expected = answers_singly(&portable, &probes);
        assert_eq!(answers_singly(&filter, &probes), expected, "single lookups on {isa}");
        assert_eq!(answers(&filter, &probes), expected, "one batch on {isa}");
        for length in LENGTHS.into_iter().chain(LONG_LENGTHS) {
            let from = probes.len() - length;
            let found = answers(&filter, &probes[from..]);
            assert!(
                (0..length).all(|i| found.get(i) == expected.get(from + i)),
                "a batch of {length} on {isa} differs from portable lookups"
            );
        }
    }
}
