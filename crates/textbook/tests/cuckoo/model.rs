//! Compares the filter with an exact multiset, at every load up to a full table.
//!
//! The multiset counts the inserted keys by their fingerprint and their pair of buckets. These counts determine
//! every answer of a cuckoo filter, since it cannot tell keys with the same fingerprint and the same pair apart.

use std::collections::BTreeMap;
use trommel_base::{Count, Filter, Full, Insert, KeyHash, Remove, WhyFull};
use trommel_testkit::contract::{answers, answers_singly};
use trommel_testkit::{Splitmix, streams};
use trommel_textbook::TextbookCuckooFilter;
use trommel_textbook::cuckoo::Kicks;

/// The number of copies of each fingerprint in each pair of buckets. The lower bucket is the first of a pair.
type Model = BTreeMap<(u32, [u64; 2]), u64>;

struct Trial {
    filter: TextbookCuckooFilter,
    entries: u32,
    model: Model,
    hashes: Vec<KeyHash>,
    random: Splitmix,
    refused: [u64; 2],
}

impl Trial {
    fn new(bucket_bits: u32, entries: u32, fingerprint_bits: u32, kicks: u32) -> Self {
        let filter = TextbookCuckooFilter::new(bucket_bits, entries, fingerprint_bits).unwrap();
        let random = Splitmix::new((bucket_bits * 1000 + entries * 100 + fingerprint_bits).into());
        Self {
            filter: filter.with_kicks(Kicks::new(kicks, 5).unwrap()),
            entries,
            model: Model::new(),
            hashes: Vec::new(),
            random,
            refused: [0; 2],
        }
    }

    fn kind(&self, hash: KeyHash) -> (u32, [u64; 2]) {
        let mut buckets = self.filter.buckets_of(hash);
        buckets.sort_unstable();
        (self.filter.fingerprint_of(hash), buckets)
    }

    fn count(&self, hash: KeyHash) -> u64 {
        self.model.get(&self.kind(hash)).copied().unwrap_or(0)
    }

    fn insert(&mut self, hash: KeyHash) {
        let (_, buckets) = self.kind(hash);
        let max = if buckets[0] == buckets[1] { self.entries } else { 2 * self.entries };
        let table: Vec<_> = self.filter.entries().collect();
        let full = Full::new(0, self.hashes.len(), self.filter.capacity());
        match self.filter.insert_hash(hash) {
            Ok(changed) => {
                assert!(changed && self.count(hash) < max.into());
                *self.model.entry(self.kind(hash)).or_default() += 1;
                self.hashes.push(hash);
            }
            Err(error) => {
                let is_copies = self.count(hash) == u64::from(max);
                let why = if is_copies { WhyFull::Copies { max } } else { WhyFull::Slots };
                assert_eq!(error, full.because(why));
                assert!(self.filter.entries().eq(table), "a failed insert changed the table");
                self.refused[usize::from(is_copies)] += 1;
            }
        }
    }

    fn remove(&mut self, hash: KeyHash) {
        let kind = self.kind(hash);
        let count = self.count(hash);
        assert_eq!(self.filter.remove_hash(hash), count > 0);
        if count > 0 {
            *self.model.get_mut(&kind).unwrap() -= 1;
            // The model forgets an arbitrary key of the same kind, since the filter cannot tell such keys apart.
            let gone = self.hashes.iter().position(|held| self.kind(*held) == kind).unwrap();
            self.hashes.swap_remove(gone);
        }
    }

    fn check_answers(&self, hash: KeyHash) {
        assert_eq!(self.filter.count_hash(hash), self.count(hash));
        assert_eq!(self.filter.contains_hash(hash), self.count(hash) > 0);
    }

    /// One random operation, in one of eight equally frequent cases:
    ///
    /// - one case removes a random hash, which is usually absent;
    /// - one case inserts a hash that is held already;
    /// - six cases insert a random hash with a probability of `inserts` in eight, and otherwise remove a held hash.
    fn step(&mut self, inserts: u64) {
        let random_hash = KeyHash::from_raw(self.random.word());
        let held = match self.hashes.len() as u64 {
            0 => random_hash,
            len => self.hashes[self.random.below(len) as usize],
        };
        match self.random.below(8) {
            0 => self.remove(random_hash),
            1 => self.insert(held),
            _ if self.random.below(8) < inserts => self.insert(random_hash),
            _ => self.remove(held),
        }
        self.check_answers(random_hash);
        self.check_answers(held);
    }

    /// Checks that the table holds all keys of the model and nothing else.
    fn check(&self) {
        assert_eq!(self.filter.len(), self.hashes.len());
        assert_eq!(self.filter.entries().flatten().count(), self.hashes.len());
        self.hashes.iter().for_each(|hash| self.check_answers(*hash));
    }
}

#[test]
fn filters_of_many_shapes_answer_like_the_model_in_300_000_operations() {
    for (bits, f) in [(1, 2), (2, 1), (3, 4), (5, 8), (7, 32)] {
        for entries in [1, 2, 4] {
            for kicks in [7, 100] {
                let mut trial = Trial::new(bits, entries, f, kicks);
                let phase = 4 * trial.filter.capacity();
                for operation in 0..10_000 {
                    let is_filling = (operation / phase).is_multiple_of(2);
                    trial.step(if is_filling { 7 } else { 1 });
                    if operation % 97 == 0 {
                        trial.check();
                    }
                }
                trial.check();
                let [slots, copies] = trial.refused;
                assert!(
                    slots + copies > 50,
                    "too few refused inserts: 2^{bits} buckets, {entries} entries, {f} bits"
                );
            }
        }
    }
}

#[test]
fn a_failed_insert_loses_nothing() {
    for entries in [1, 2, 4] {
        let mut filter = TextbookCuckooFilter::new(10, entries, 16).unwrap();
        let hashes = streams::distinct(entries.into(), 0..2 * filter.capacity() as u64);
        let mut members = Vec::new();
        let mut failures = 0;
        for hash in &hashes {
            match filter.insert_hash(*hash) {
                Ok(_) => members.push(*hash),
                Err(full) => {
                    assert_eq!(full, Full::new(0, members.len(), filter.capacity()));
                    failures += 1;
                }
            }
        }
        assert!(failures > 100);
        assert_eq!(filter.len(), members.len());
        assert!(members.iter().all(|hash| filter.contains_hash(*hash)));
        // Refused keys left nothing behind: after all members are removed, the filter is empty.
        assert!(members.iter().all(|hash| filter.remove_hash(*hash)));
        assert_eq!((filter.len(), filter.entries().flatten().count()), (0, 0));
    }
}

#[test]
fn two_buckets_hold_at_most_2b_copies_of_a_key() {
    for entries in [1, 2, 4] {
        let mut filter = TextbookCuckooFilter::new(10, entries, 12).unwrap();
        let max = 2 * entries;
        assert_ne!(
            filter.buckets_of(filter.hash("anvil"))[0],
            filter.buckets_of(filter.hash("anvil"))[1]
        );
        for copies in 1..=max {
            assert_eq!(filter.insert("anvil"), Ok(true));
            assert_eq!(filter.count("anvil"), u64::from(copies));
        }
        let full = Full::new(0, max as usize, filter.capacity());
        assert_eq!(filter.insert("anvil"), Err(full.because(WhyFull::Copies { max })));
        assert_eq!(filter.kicks(), 0);
        for copies in (0..max).rev() {
            assert!(filter.remove("anvil"));
            assert_eq!(filter.count("anvil"), u64::from(copies));
        }
        assert!(!filter.contains("anvil") && !filter.remove("anvil"));
    }
}

/// Two keys have the same fingerprint and the same buckets. Only the first is inserted, and removing the second key
/// removes the first.
#[test]
fn removing_a_key_that_was_never_inserted_can_remove_another() {
    let mut filter = TextbookCuckooFilter::new(4, 4, 3).unwrap();
    let hashes = streams::distinct(8, 0..10_000);
    let first = hashes[0];
    let same = |hash: &&KeyHash| {
        filter.fingerprint_of(**hash) == filter.fingerprint_of(first)
            && filter.buckets_of(**hash) == filter.buckets_of(first)
    };
    let twin = **hashes[1..].iter().filter(same).collect::<Vec<_>>().first().unwrap();
    filter.insert_hash(first).unwrap();
    assert!(filter.contains_hash(twin));
    assert!(filter.remove_hash(twin));
    assert!(!filter.contains_hash(first));
}

#[test]
fn batches_answer_like_single_calls_and_report_how_many_were_inserted() {
    let keys = streams::Disjoint::new(17, 3000, 3000);
    let mut filter = TextbookCuckooFilter::new(10, 4, 8).unwrap();
    filter.insert_batch(&keys.members).unwrap();
    for asked in [&keys.members[..], &keys.absent, &[]] {
        assert_eq!(answers(&filter, asked), answers_singly(&filter, asked));
    }
    let full = filter.insert_batch(&keys.absent).unwrap_err();
    assert_eq!(full, Full::new(filter.len() - 3000, filter.len(), 4096));
    assert!(keys.absent[..full.inserted].iter().all(|hash| filter.contains_hash(*hash)));
}
