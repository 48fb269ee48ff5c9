//! Compares every set with a `HashSet` of the standard library.

use crate::variants;
use std::collections::HashSet;
use trommel_testkit::Splitmix;
use trommel_textbook::cuckoo_hashing::{CuckooSet, InsertError};

struct Trial<'a> {
    what: &'a str,
    set: Box<dyn CuckooSet>,
    model: HashSet<u64>,
    random: Splitmix,
    refused: u64,
}

impl Trial<'_> {
    /// Draws a key from a fixed selection of at most `keys` keys, which includes 0 and `u64::MAX`. The selection is
    /// small, so each key is drawn repeatedly.
    fn key(&mut self, keys: u64) -> u64 {
        match self.random.below(keys) {
            0 => 0,
            1 => u64::MAX,
            key => key << (key % 48),
        }
    }

    fn insert(&mut self, key: u64) {
        let (len, places) = (self.set.len(), self.set.places());
        match self.set.insert(key) {
            Ok(is_new) => assert_eq!(is_new, self.model.insert(key), "{}", self.what),
            Err(error) => {
                assert_eq!(error, InsertError::Full { len, places }, "{}", self.what);
                assert!(!self.model.contains(&key), "{}: {key} is held but refused", self.what);
                self.refused += 1;
                if self.refused.is_power_of_two() {
                    self.check();
                }
            }
        }
    }

    /// Draws a key with `self.key(keys)`. Inserts it with probability `inserts / 8`, and otherwise removes it. Then
    /// looks up this key and another one.
    fn step(&mut self, keys: u64, inserts: u64) {
        let key = self.key(keys);
        if self.random.below(8) < inserts {
            self.insert(key);
        } else {
            assert_eq!(self.set.remove(key), self.model.remove(&key), "{}", self.what);
        }
        assert_eq!(self.set.contains(key), self.model.contains(&key), "{}", self.what);
        let key = self.key(keys);
        assert_eq!(self.set.contains(key), self.model.contains(&key), "{}", self.what);
        assert_eq!(self.set.len(), self.model.len(), "{}", self.what);
        assert_eq!(self.set.is_empty(), self.model.is_empty(), "{}", self.what);
    }

    /// Checks that the set holds every key of the model.
    fn check(&self) {
        assert_eq!(self.set.len(), self.model.len(), "{}", self.what);
        for key in &self.model {
            assert!(self.set.contains(*key), "{}: {key} is missing", self.what);
        }
    }
}

/// The trial fills and drains the set in alternation. It draws from more keys than the set has places, so every variant
/// has to refuse some keys, except those that accept any number of keys.
#[test]
fn every_variant_answers_like_a_standard_library_set() {
    for (places, operations) in [(8, 20_000), (64, 30_000), (512, 40_000)] {
        for (what, takes_all, set) in variants::all(places, places) {
            let (model, random) = (HashSet::new(), Splitmix::new(places + 9));
            let mut trial = Trial { what, set, model, random, refused: 0 };
            let phase = 4 * places;
            for operation in 0..operations {
                let is_filling = (operation / phase) % 2 == 0;
                trial.step(2 * places, if is_filling { 7 } else { 1 });
                if operation % 997 == 0 {
                    trial.check();
                }
            }
            trial.check();
            assert_eq!(trial.refused == 0, takes_all, "{what}: {} refused", trial.refused);
        }
    }
}

/// A refused insert leaves nothing behind: after all members are removed, the set is empty.
#[test]
fn a_refused_insert_changes_nothing() {
    for (what, takes_all, mut set) in variants::all(512, 3) {
        let mut members = Vec::new();
        for key in 0..1024u64 {
            let memory = set.memory_bytes();
            match set.insert(key) {
                Ok(_) => members.push(key),
                Err(_) => {
                    assert!(
                        !takes_all && !set.contains(key),
                        "{what}: refused {key}, but takes all keys or finds {key}"
                    );
                    assert_eq!((set.len(), set.memory_bytes()), (members.len(), memory), "{what}");
                }
            }
        }
        assert_eq!(set.len() == 1024, takes_all, "{what}");
        assert_eq!(members.len(), set.len(), "{what}");
        assert!(members.iter().all(|key| set.contains(*key)), "{what}: a key is missing");
        assert!(members.iter().all(|key| set.remove(*key)), "{what}: a key was not removed");
        assert!(
            set.is_empty() && (0..1024).all(|key| !set.contains(key)),
            "{what}: a key is left after all members were removed"
        );
    }
}

#[test]
fn equal_seeds_give_equal_statistics_and_other_seeds_differ() {
    let costs = |seed| {
        let mut costs = Vec::new();
        for (_, _, mut set) in variants::all(2048, seed) {
            (0..900).for_each(|key| assert!(set.insert(key).is_ok()));
            costs.push(set.statistics());
        }
        costs
    };
    assert_eq!(costs(1), costs(1));
    assert_ne!(costs(1), costs(2));
}
