//! The answers of a filter: inserted keys are found, and all ways of asking give the same answer.

use super::{
    LENGTHS, LONG_LENGTHS, after, answers, answers_singly, assert_all_found, fill, fill_up, put,
    room_for, that_fit,
};
use crate::streams::{Disjoint, Stream};
use crate::subject::{Room, Subject, built, spec, spec_of_bytes};
use trommel_base::{Bitmap, Filter, Full, Insert, KeyHash};
use trommel_simd::{Isa, l2_bytes};

/// Every key inserted is found, whichever stream it comes from and however it was inserted.
pub fn no_key_is_lost<S: Subject>(isa: Isa) {
    for stream in Stream::ALL {
        for (count, planned) in [(1, 1), (7, 7), (64, 100), (1000, 1000), (5000, 5000)] {
            let hashes = that_fit::<S>(stream.hashes(17, count));
            let (first, rest) = hashes.split_at(hashes.len() / 2);
            let mut filter = built::<S>(&spec(room_for::<S>(planned), 0.01, isa));
            fill::<S>(&mut filter, first);
            for hash in rest {
                put::<S>(&mut filter, *hash);
            }
            assert_all_found(&filter, &hashes, &format!("{stream}, {isa}"));
        }
    }
}

/// For every stream and many lengths, a batch on this instruction set makes the same bytes as a batch in portable code.
/// If the filter becomes full before all keys are inserted, both batches stop at the same key, with the same error.
/// So do single inserts: they make the same bytes as in portable code, and end in the same way.
///
/// If the bytes depend only on the keys held (`S::CANONICAL`), batches and single inserts make the same bytes too, and
/// stop at the same key. Otherwise, batches and single inserts can make different bytes and stop at different keys, but
/// every filter finds the keys that were reported as inserted.
pub fn every_way_to_insert_makes_the_same_filter<S: Subject>(isa: Isa) {
    for stream in Stream::ALL {
        for length in LENGTHS.into_iter().chain([2049, 5000]) {
            let hashes = stream.hashes(length as u64, length);
            let batch = |isa| {
                let mut filter = built::<S>(&spec(700, 0.01, isa));
                let outcome = filter.insert_batch(&hashes);
                assert!(outcome.is_ok() || S::ROOM != Room::Endless);
                (S::to_bytes(&filter), outcome)
            };
            let singly = |isa| {
                let mut filter = built::<S>(&spec(700, 0.01, isa));
                let outcome = hashes.iter().enumerate().try_for_each(|(inserted, hash)| {
                    filter.insert_hash(*hash).map(drop).map_err(|full| after(inserted, full))
                });
                (S::to_bytes(&filter), outcome)
            };
            let expected = singly(Isa::Portable);
            assert!(
                singly(isa) == expected,
                "{stream}: {length} single inserts on {isa} end differently than in portable code"
            );
            let portable = batch(Isa::Portable);
            assert!(
                batch(isa) == portable,
                "{stream}: a batch of {length} on {isa} ends differently than in portable code"
            );
            if S::CANONICAL {
                assert!(
                    portable == expected,
                    "{stream}: a portable batch of {length} ends differently than single inserts"
                );
            } else {
                for (bytes, outcome) in [portable, expected] {
                    assert_holds_first::<S>(&bytes, &hashes, outcome);
                }
            }
        }
    }
}

/// Checks that the filter in these bytes finds all inserted keys, which are those before the first failure, and that
/// its `len` is one that a filter with exactly these keys can have.
fn assert_holds_first<S: Subject>(bytes: &[u8], hashes: &[KeyHash], outcome: Result<(), Full>) {
    let filter = S::from_bytes(bytes).expect("our own bytes are refused");
    let inserted = outcome.map_or_else(|full| full.inserted, |()| hashes.len());
    let (first, _) = hashes.split_at(inserted);
    assert_all_found(&filter, first, "inserted");
    let empty = built::<S>(&spec(700, 0.01, Isa::Portable));
    let range = S::len_range(&empty, first);
    assert!(range.contains(&filter.len()), "len is {}, expected in {range:?}", filter.len());
}

/// Single lookups on this instruction set give the same answers as single lookups in portable code, for present and
/// absent keys. So do batches of many lengths that start at several positions in the list of probes.
pub fn every_way_to_ask_gives_the_same_answer<S: Subject>(isa: Isa) {
    for (planned, fpr) in [(0, 0.01), (1, 0.3), (500, 0.4), (500, 0.01), (3000, 0.001)] {
        let keys = Disjoint::new(planned as u64, 500, 4500);
        let [(filter, held), (portable, portable_held)] = [isa, Isa::Portable].map(|isa| {
            let mut filter = built::<S>(&spec(planned, fpr, isa));
            let held = fill_up::<S>(&mut filter, &keys.members);
            (filter, held)
        });
        assert!(held == portable_held && held >= planned.min(500));
        assert_eq!(S::isa(&filter), isa);
        let mut probes = interleave(&keys.members, &keys.absent);
        Stream::ALL.iter().for_each(|stream| probes.extend(stream.hashes(3, 100)));
        let expected = answers_singly(&portable, &probes);
        assert_all_found(&portable, &keys.members[..held], "portable");
        assert_eq!(answers_singly(&filter, &probes), expected, "single lookups on {isa}");
        assert_eq!(answers(&portable, &probes), expected, "a portable batch");
        for length in LENGTHS.into_iter().chain(LONG_LENGTHS) {
            for offset in [0, 1, 3, 500] {
                let part = &probes[offset..offset + length];
                let found = answers(&filter, part);
                assert!(
                    (0..length).all(|i| found.get(i) == expected.get(offset + i)),
                    "a batch of {length} from {offset} on {isa} differs from portable lookups"
                );
                assert!(found.iter_ones().all(|i| i < length), "a bit beyond the batch is set");
            }
        }
    }
}

fn interleave(a: &[KeyHash], b: &[KeyHash]) -> Vec<KeyHash> {
    let mut both: Vec<_> = a.iter().zip(b).flat_map(|(a, b)| [*a, *b]).collect();
    both.extend_from_slice(&b[a.len().min(b.len())..]);
    both
}

/// In tables of 3 and 66 MiB, and in one that is a little larger than L2, single lookups, and batches shorter and
/// longer than the prefetch distances, give the same answers as portable code. Whether and how a batch of lookups
/// prefetches depends on the size of the table. Depending on the kernel, the prefetching changes at half, one, one and
/// a half or two times the size of L2. A table of 66 MiB is larger than all these sizes, since `l2_bytes` returns at
/// most 16 MiB.
pub fn large_tables_behave_like_small_ones<S: Subject>(isa: Isa) {
    for bytes in [3 << 20, l2_bytes() / 4 * 5, (66 << 20) + 192] {
        let keys = Disjoint::new(bytes as u64, 3000, 3000);
        let probes = interleave(&keys.members, &keys.absent);
        let planned = if S::ROOM == Room::Endless { bytes } else { bytes / 8 };
        let make = |isa| built::<S>(&spec_of_bytes(planned, bytes, isa));
        let mut filter = make(isa);
        fill::<S>(&mut filter, &keys.members);
        assert_all_found(&filter, &keys.members, &format!("{bytes} bytes on {isa}"));
        let mut portable = make(Isa::Portable);
        for hash in &keys.members {
            portable.insert_hash(*hash).unwrap();
        }
        let expected = answers_singly(&portable, &probes);
        assert_eq!(answers_singly(&filter, &probes), expected, "single lookups on {isa}");
        for length in [0, 1, 63, 64, 65, 129, 320, 383, 384, 385, 6000] {
            let found = answers(&filter, &probes[..length]);
            assert!(
                (0..length).all(|i| found.get(i) == expected.get(i)),
                "a batch of {length} in {bytes} bytes on {isa} differs from portable lookups"
            );
        }
        // In a table of megabytes with 3000 keys, fewer than ten of the 3000 absent keys are false positives.
        assert!(expected.count_ones() < 3000 + 10);
    }
}

/// `insert_hash` returns true exactly if the table changed. If it returns an error, the table did not change.
pub fn an_insert_says_whether_it_changed_the_filter<S: Subject>(isa: Isa) {
    let mut filter = built::<S>(&spec(20, 0.2, isa));
    let table =
        |filter: &S::Filter| S::to_bytes(filter)[trommel_base::container::HEADER_BYTES..].to_vec();
    for hash in Stream::Zipf.hashes(21, 400) {
        let (before, len, known) = (table(&filter), filter.len(), filter.contains_hash(hash));
        let outcome = filter.insert_hash(hash);
        let changed = outcome == Ok(true);
        assert_eq!(
            changed,
            table(&filter) != before,
            "{isa}: an insert of {hash:?} after {len} keys does not say whether it changed the table"
        );
        match outcome {
            Ok(_) => {
                assert!(changed || known, "{hash:?} was not there and changed nothing");
                assert!(filter.contains_hash(hash) && filter.len() >= len);
            }
            Err(full) => assert!(
                S::ROOM != Room::Endless && filter.len() == len,
                "a filter of endless room refused a key, or a failed insert changed len: {full}"
            ),
        }
    }
}

/// A bitmap that holds the answers of an earlier batch takes the length of the new batch, keeps its memory, and holds
/// only the new answers.
pub fn a_reused_bitmap_forgets_the_past<S: Subject>(isa: Isa) {
    let keys = Disjoint::new(1, 1000, 1000);
    let mut filter = built::<S>(&spec(1000, 0.01, isa));
    let mut found = Bitmap::new(2000);
    (0..2000).for_each(|i| found.set(i));
    let memory = found.as_words().as_ptr();
    for length in LENGTHS.into_iter().rev() {
        filter.contains_batch(&keys.absent[..length], &mut found);
        assert_eq!(
            (found.len(), found.count_ones()),
            (length, 0),
            "the bitmap has another length, or an empty filter reports a key"
        );
        (0..length).for_each(|i| found.set(i));
    }
    fill::<S>(&mut filter, &keys.members);
    for length in LENGTHS {
        filter.contains_batch(&keys.members[..length], &mut found);
        assert_eq!(found.count_ones(), length);
        filter.contains_batch(&keys.absent[..length], &mut found);
        assert_eq!(found, answers_singly(&filter, &keys.absent[..length]));
        assert_eq!(found.as_words().as_ptr(), memory, "the allocation was not reused");
    }
}
