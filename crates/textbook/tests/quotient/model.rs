//! Compares the filter with an exact multiset, at every load up to a full table.

use crate::definition::assert_holds;
use std::collections::BTreeMap;
use trommel_base::{Count, Filter, Full, Insert, Remove};
use trommel_testkit::contract::{answers, answers_singly};
use trommel_testkit::{Splitmix, streams};
use trommel_textbook::TextbookQuotientFilter;

/// An exact multiset of fingerprints.
#[derive(Default)]
struct Model {
    counts: BTreeMap<u64, u64>,
    len: usize,
}

impl Model {
    fn count(&self, fingerprint: u64) -> u64 {
        self.counts.get(&fingerprint).copied().unwrap_or(0)
    }

    fn insert(&mut self, fingerprint: u64) {
        *self.counts.entry(fingerprint).or_default() += 1;
        self.len += 1;
    }

    fn remove(&mut self, fingerprint: u64) -> bool {
        let Some(count) = self.counts.get_mut(&fingerprint) else { return false };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&fingerprint);
        }
        self.len -= 1;
        true
    }

    /// The least fingerprint in the model that is not below `fingerprint`. If there is none, the least fingerprint in
    /// the model.
    fn near(&self, fingerprint: u64) -> Option<u64> {
        let mut around = self.counts.range(fingerprint..).chain(&self.counts);
        around.next().map(|(held, _)| *held)
    }

    fn sorted(&self) -> Vec<u64> {
        let copies = |(held, count): (&u64, &u64)| vec![*held; *count as usize];
        self.counts.iter().flat_map(copies).collect()
    }
}

/// A filter, its model, and the random source of the operations.
struct Trial {
    filter: TextbookQuotientFilter,
    model: Model,
    random: Splitmix,
    refused: u64,
}

impl Trial {
    fn new(quotient_bits: u32, remainder_bits: u32, multiset: bool, seed: u64) -> Self {
        let filter = if multiset {
            TextbookQuotientFilter::new_multiset(quotient_bits, remainder_bits)
        } else {
            TextbookQuotientFilter::new(quotient_bits, remainder_bits)
        };
        Self {
            filter: filter.unwrap(),
            model: Model::default(),
            random: Splitmix::new(seed),
            refused: 0,
        }
    }

    /// A random fingerprint. In half of all cases, it has one of at most 16 remainders, so that equal fingerprints
    /// occur. In half of these cases, it also has the last quotient or one of the first two, so that runs wrap around
    /// the end.
    fn fingerprint(&mut self) -> u64 {
        let (q, r) = (self.filter.quotient_bits(), self.filter.remainder_bits());
        let word = self.random.word();
        let (quotient, remainder) = (word >> (64 - q), word & ((1 << r) - 1));
        match self.random.below(4) {
            0 | 1 => quotient << r | remainder,
            2 => quotient << r | remainder >> r.saturating_sub(2),
            _ => {
                let near_the_end = (quotient % 3).wrapping_sub(1) % (1 << q);
                near_the_end << r | remainder >> r.saturating_sub(4)
            }
        }
    }

    fn insert(&mut self, fingerprint: u64) {
        let (len, capacity) = (self.model.len, self.filter.capacity());
        let is_known = self.model.count(fingerprint) > 0 && !self.filter.is_multiset();
        let expected = match (is_known, len == capacity) {
            (true, _) => Ok(false),
            (false, true) => Err(Full::new(0, len, capacity)),
            (false, false) => Ok(true),
        };
        assert_eq!(self.filter.insert_fingerprint(fingerprint), expected);
        match expected {
            Ok(true) => self.model.insert(fingerprint),
            Ok(false) => {}
            Err(_) => self.refused += 1,
        }
    }

    fn remove(&mut self, fingerprint: u64) {
        let expected = self.model.remove(fingerprint);
        assert_eq!(self.filter.remove_fingerprint(fingerprint), expected);
    }

    fn check_answers(&self, fingerprint: u64) {
        let count = self.model.count(fingerprint);
        assert_eq!(self.filter.count_fingerprint(fingerprint), count);
        assert_eq!(self.filter.contains_fingerprint(fingerprint), count > 0);
        assert_eq!(self.filter.len(), self.model.len);
    }

    /// One random operation, and then a lookup. In 13 of 16 cases, the operation is either, with probability
    /// `inserts / 8`, the insert of a random fingerprint, or the removal of a held one.
    fn step(&mut self, inserts: u64) {
        let random_fingerprint = self.fingerprint();
        let held = self.model.near(random_fingerprint).unwrap_or(random_fingerprint);
        match self.random.below(16) {
            0 => self.remove(random_fingerprint),
            1 => self.check_answers(held),
            2 => self.insert(held),
            _ if self.random.below(8) < inserts => self.insert(random_fingerprint),
            _ => self.remove(held),
        }
        self.check_answers(random_fingerprint);
    }

    fn check_table(&self) {
        assert_holds(&self.filter, &self.model.sorted());
    }
}

/// Fills and drains the filter in alternation, so that it passes through all loads from empty to full, stays full for a
/// while, and becomes empty again. Checks the whole table after every `check_every` operations.
fn fill_and_drain(trial: &mut Trial, operations: usize, check_every: usize) {
    let phase = 6 * trial.filter.capacity();
    for operation in 0..operations {
        let is_filling = (operation / phase).is_multiple_of(2);
        trial.step(if is_filling { 7 } else { 1 });
        if operation % check_every == 0 {
            trial.check_table();
        }
    }
    trial.check_table();
}

#[test]
fn tiny_tables_match_the_definition_after_each_of_800_000_operations() {
    for (seed, (q, r)) in
        [(1, 1), (1, 61), (2, 1), (2, 5), (3, 2), (3, 61), (4, 3), (5, 6)].into_iter().enumerate()
    {
        for multiset in [false, true] {
            let mut trial = Trial::new(q, r, multiset, seed as u64);
            fill_and_drain(&mut trial, 50_000, 1);
            assert!(trial.refused > 100, "too few refused inserts: 2^{q} slots, {r} bits");
        }
    }
}

#[test]
fn medium_tables_answer_like_the_model_in_600_000_operations() {
    for (seed, (q, r, operations)) in
        [(6, 8, 100_000), (8, 4, 100_000), (10, 54, 100_000)].into_iter().enumerate()
    {
        for multiset in [false, true] {
            let mut trial = Trial::new(q, r, multiset, 100 + seed as u64);
            fill_and_drain(&mut trial, operations, 997);
            assert!(trial.refused > 100, "too few refused inserts: 2^{q} slots, {r} bits");
        }
    }
}

/// Fills a table of four slots with fingerprints of three bits in every possible way, and empties it in
/// every order.
#[test]
fn a_table_of_four_slots_is_right_in_every_history() {
    for history in 0..8u64.pow(4) {
        let inserted = [0, 3, 6, 9].map(|shift| history >> shift & 7);
        let mut trial = Trial::new(2, 1, true, 0);
        for fingerprint in inserted {
            trial.insert(fingerprint);
            trial.check_table();
            (0..8).for_each(|fingerprint| trial.check_answers(fingerprint));
        }
        empty_in_every_order(&trial.filter, &trial.model.sorted());
    }
}

fn empty_in_every_order(filter: &TextbookQuotientFilter, sorted: &[u64]) {
    for (i, fingerprint) in sorted.iter().enumerate() {
        let (mut filter, mut left) = (filter.clone(), sorted.to_vec());
        assert!(filter.remove_fingerprint(*fingerprint));
        left.remove(i);
        assert_holds(&filter, &left);
        empty_in_every_order(&filter, &left);
    }
}

#[test]
fn the_table_does_not_depend_on_the_order_of_inserts() {
    let mut hashes = streams::distinct(5, 0..1000);
    let filter_of = |hashes: &[_]| {
        let mut filter = TextbookQuotientFilter::new_multiset(10, 6).unwrap();
        filter.insert_batch(hashes).unwrap();
        filter.slots().collect::<Vec<_>>()
    };
    let table = filter_of(&hashes);
    hashes.reverse();
    assert_eq!(filter_of(&hashes), table);
    hashes.sort_unstable();
    assert_eq!(filter_of(&hashes), table);
}

#[test]
fn a_full_table_answers_lookups_refuses_inserts_and_can_be_emptied() {
    // `long` makes one run that fills the table and wraps around its end; `short` makes one run per slot.
    let long: Vec<u64> = (0..64).map(|remainder| 40 << 8 | remainder).collect();
    let short: Vec<u64> = (0..64).map(|quotient| quotient << 8 | quotient).collect();
    for mut fingerprints in [long, short] {
        let mut filter = TextbookQuotientFilter::new(6, 8).unwrap();
        for fingerprint in &fingerprints {
            assert_eq!(filter.insert_fingerprint(*fingerprint), Ok(true));
        }
        assert_eq!(filter.load(), 1.0);
        assert_eq!(filter.insert_fingerprint(fingerprints[9]), Ok(false));
        assert_eq!(filter.insert_fingerprint(0x3FFF), Err(Full::new(0, 64, 64)));
        assert_holds(&filter, &fingerprints);
        for fingerprint in 0..1 << 14 {
            let is_held = fingerprints.contains(&fingerprint);
            assert_eq!(filter.contains_fingerprint(fingerprint), is_held);
        }
        while let Some(fingerprint) = fingerprints.pop() {
            assert!(filter.remove_fingerprint(fingerprint));
            assert!(!filter.remove_fingerprint(fingerprint));
            assert_holds(&filter, &fingerprints);
        }
    }
}

#[test]
fn a_multiset_keeps_every_copy_and_a_set_keeps_one() {
    let mut set = TextbookQuotientFilter::new(4, 8).unwrap();
    let mut multiset = TextbookQuotientFilter::new_multiset(4, 8).unwrap();
    for copies in 1..=16 {
        assert_eq!(set.insert("anvil"), Ok(copies == 1));
        assert_eq!(multiset.insert("anvil"), Ok(true));
        assert_eq!((set.count("anvil"), multiset.count("anvil")), (1, copies));
    }
    assert_eq!(multiset.insert("anvil"), Err(Full::new(0, 16, 16)));
    assert!(set.remove("anvil") && set.is_empty() && !set.remove("anvil"));
    for copies in (0..16).rev() {
        assert!(multiset.remove("anvil"));
        assert_eq!((multiset.count("anvil"), multiset.len()), (copies, copies as usize));
    }
    assert!(!multiset.contains("anvil") && !multiset.remove("anvil"));
}

#[test]
fn fingerprints_are_listed_in_hash_order_and_batches_answer_like_single_calls() {
    let keys = streams::Disjoint::new(17, 900, 3000);
    let mut filter = TextbookQuotientFilter::new_multiset(10, 20).unwrap();
    filter.insert_batch(&keys.members).unwrap();
    let mut sorted = keys.members.clone();
    sorted.sort_unstable();
    assert!(filter.fingerprints().eq(sorted.iter().map(|hash| hash.raw() >> 34)));

    for asked in [&keys.members[..], &keys.absent, &[]] {
        assert_eq!(answers(&filter, asked), answers_singly(&filter, asked));
    }
    assert!(keys.members.iter().all(|hash| filter.contains_hash(*hash)));

    // 900 of 1024 slots are taken, so 124 more keys fit, and the error reports that number.
    let full = filter.insert_batch(&keys.absent).unwrap_err();
    assert_eq!(full, Full::new(124, 1024, 1024));
    assert!(keys.absent[..124].iter().all(|hash| filter.remove_hash(*hash)));
    assert!(filter.fingerprints().eq(sorted.iter().map(|hash| hash.raw() >> 34)));
}
