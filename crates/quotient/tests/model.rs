//! Compares filters with a sorted multiset of fingerprints, over millions of mixed operations at low and high loads.

use std::collections::BTreeMap;
use trommel_base::{Bitmap, Count, Filter, FromSpec, Insert, KeyHash, Remove, Spec, WhyFull};
use trommel_quotient::{Layout, LineBlock, Quotient, WideBlock};
use trommel_simd::Isa;
use trommel_testkit::Splitmix;
use trommel_testkit::subject::spec_of_remainders as spec;

/// A filter, and a model of it: the fingerprints that it should hold, each with its number of copies.
struct Pair<L: Layout> {
    filter: Quotient<L>,
    model: BTreeMap<u64, u64>,
    len: u64,
    operations: u64,
}

impl<L: Layout> Pair<L> {
    fn new(filter: Quotient<L>) -> Self {
        assert!(filter.is_empty());
        Self { filter, model: BTreeMap::new(), len: 0, operations: 0 }
    }

    fn built(spec: &Spec) -> Self {
        Self::new(Quotient::from_spec(spec).unwrap())
    }

    fn slots(&self) -> f64 {
        self.filter.geometry().slots as f64
    }

    fn fingerprint(&self, hash: KeyHash) -> u64 {
        let fingerprints = self.filter.geometry().fingerprints;
        let f = ((u128::from(hash.raw()) * u128::from(fingerprints)) >> 64) as u64;
        if L::RESERVES_ZERO && f.is_multiple_of(256) { f + 1 } else { f }
    }

    fn held(&self, hash: KeyHash) -> u64 {
        self.model.get(&self.fingerprint(hash)).copied().unwrap_or(0)
    }

    /// Inserts a hash into the model. Returns whether that adds a copy.
    fn insert_into_model(&mut self, hash: KeyHash) -> bool {
        let copies = u64::from(self.filter.geometry().copies);
        let held = self.model.entry(self.fingerprint(hash)).or_default();
        let new = *held < copies;
        *held += u64::from(new);
        self.len += u64::from(new);
        new
    }

    fn insert(&mut self, hash: KeyHash) {
        self.operations += 1;
        match self.filter.insert_hash(hash) {
            Ok(new) => assert_eq!(new, self.insert_into_model(hash)),
            Err(full) => self.assert_full(hash, full.why),
        }
    }

    /// Fails if an insert was refused without reason. A filter of uniform hashes can be full only above 95 % load.
    fn assert_full(&self, hash: KeyHash, why: WhyFull) {
        match why {
            WhyFull::Copies { max } => assert_eq!(self.held(hash), u64::from(max)),
            WhyFull::Slots => {
                assert!(
                    self.filter.load_factor() > 0.95,
                    "an insert was refused at a load of {}",
                    self.filter.load_factor()
                );
            }
            other => panic!("an insert was refused for the wrong reason: {other:?}"),
        }
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) {
        self.operations += hashes.len() as u64;
        let inserted = match self.filter.insert_batch(hashes) {
            Ok(()) => hashes.len(),
            Err(full) => full.inserted,
        };
        for hash in &hashes[..inserted] {
            self.insert_into_model(*hash);
        }
        assert_eq!(self.filter.len() as u64, self.len);
        if let Some(failed) = hashes.get(inserted) {
            let full = self.filter.insert_hash(*failed).unwrap_err();
            self.assert_full(*failed, full.why);
        }
    }

    fn remove(&mut self, hash: KeyHash) {
        self.operations += 1;
        let f = self.fingerprint(hash);
        let held = self.held(hash);
        assert_eq!(self.filter.remove_hash(hash), held > 0);
        self.len -= u64::from(held > 0);
        match held {
            0 => {}
            1 => drop(self.model.remove(&f)),
            _ => drop(self.model.insert(f, held - 1)),
        }
    }

    fn check_key(&mut self, hash: KeyHash) {
        self.operations += 1;
        let held = self.held(hash);
        assert_eq!(self.filter.contains_hash(hash), held > 0);
        assert_eq!(self.filter.count_hash(hash), held);
    }

    fn check_all(&self) {
        assert_eq!(self.filter.len() as u64, self.len);
        let expected = self.model.iter().flat_map(|(f, n)| std::iter::repeat_n(*f, *n as usize));
        assert!(self.filter.fingerprints().eq(expected));
        let bytes = self.filter.to_bytes();
        let again = Quotient::<L>::from_bytes(&bytes).unwrap();
        assert!(again.to_bytes() == bytes);
    }
}

/// The mix of operations.
#[derive(Clone, Copy)]
struct Mix {
    /// The load that the operations first reach and then stay near.
    load: f64,
    /// The percentage of operations that are inserts: `inserts[0]` while the load is below `load`, otherwise
    /// `inserts[1]`.
    inserts: [u64; 2],
    operations: usize,
    seed: u64,
}

impl Mix {
    fn new(load: f64, operations: usize, seed: u64) -> Self {
        Self { load, inserts: [75, 35], operations, seed }
    }
}

/// Inserts new and held keys, removes held and absent keys, and looks up held and absent keys. Compares the whole state
/// now and then. Returns the number of operations.
fn churn<L: Layout>(mut pair: Pair<L>, mix: Mix) -> u64 {
    let mut random = Splitmix::new(mix.seed);
    let mut held: Vec<KeyHash> = Vec::new();
    let pick = |random: &mut Splitmix, held: &[KeyHash]| random.below(held.len() as u64) as usize;
    for i in 0..mix.operations {
        let above = pair.len as f64 >= mix.load * pair.slots();
        if random.below(100) < mix.inserts[usize::from(above)] {
            let hash = match random.below(8) {
                0 if !held.is_empty() => held[pick(&mut random, &held)],
                _ => KeyHash::from_raw(random.word()),
            };
            pair.insert(hash);
            held.push(hash);
        } else if !held.is_empty() && random.below(10) != 0 {
            let at = pick(&mut random, &held);
            let hash = held.swap_remove(at);
            pair.remove(hash);
            pair.check_key(hash);
        } else {
            pair.remove(KeyHash::from_raw(random.word()));
        }
        match held.last() {
            Some(hash) if i % 2 == 0 => pair.check_key(*hash),
            _ => pair.check_key(KeyHash::from_raw(random.word())),
        }
        if i % (mix.operations / 12).max(1) == 0 {
            pair.check_all();
        }
    }
    pair.check_all();
    let mut found = Bitmap::new(0);
    pair.filter.contains_batch(&held, &mut found);
    for (i, hash) in held.iter().enumerate() {
        assert_eq!(found.get(i), pair.held(*hash) > 0);
    }
    pair.operations
}

/// Every instruction set with each value of the option `multiset`.
fn variants() -> impl Iterator<Item = (Isa, bool)> {
    Isa::available().flat_map(|isa| [(isa, false), (isa, true)])
}

const KEYS: [usize; 7] = [1, 20, 100, 333, 1000, 5000, 40_000];
const LOADS: [f64; 3] = [0.5, 0.9, 0.95];

#[test]
fn random_operations_agree_with_a_sorted_multiset_in_wide_blocks() {
    let mut operations = 0;
    for (isa, multiset) in variants() {
        for keys in KEYS {
            for bits in [1, 3, 7, 8, 12, 16, 25, 32] {
                for load in LOADS {
                    let pair = Pair::<WideBlock>::built(&spec(keys, Some(bits), multiset, isa));
                    let seed = u64::from(bits) + keys as u64;
                    operations += churn(pair, Mix::new(load, 4000 + keys / 2, seed));
                }
            }
        }
    }
    assert!(
        operations >= 6_000_000 * Isa::available().count() as u64 / 3,
        "only {operations} operations were compared"
    );
}

#[test]
fn random_operations_agree_with_a_sorted_multiset_in_lines() {
    let mut operations = 0;
    for (isa, multiset) in variants() {
        for keys in KEYS {
            for load in LOADS {
                let pair = Pair::<LineBlock>::built(&spec(keys, None, multiset, isa));
                let mix = Mix::new(load, 15_000 + keys * 3, 99 + keys as u64);
                operations += churn(pair, mix);
            }
        }
    }
    assert!(
        operations >= 4_000_000 * Isa::available().count() as u64 / 3,
        "only {operations} operations were compared"
    );
}

/// Replaces keys one by one at 90 % load. There are 20 times as many replacements as keys in the filter, so anything
/// that removals leave behind would add up.
#[test]
fn removals_leave_nothing_behind_when_keys_are_replaced_many_times_at_90_percent() {
    fn replace<L: Layout>(spec: &Spec, seed: u64) -> u64 {
        let mut random = Splitmix::new(seed);
        let mut pair = Pair::<L>::built(spec);
        let target = (0.9 * pair.slots()) as usize;
        let mut held: Vec<KeyHash> =
            (0..target).map(|_| KeyHash::from_raw(random.word())).collect();
        pair.insert_batch(&held);
        for i in 0..20 * target {
            let at = random.below(held.len() as u64) as usize;
            pair.remove(held[at]);
            held[at] = KeyHash::from_raw(random.word());
            pair.insert(held[at]);
            if i % 7 == 0 {
                let at = random.below(held.len() as u64) as usize;
                pair.check_key(held[at]);
            }
            if i % (4 * target) == 0 {
                pair.check_all();
            }
        }
        pair.check_all();
        while let Some(hash) = held.pop() {
            pair.remove(hash);
        }
        pair.check_all();
        assert!(pair.filter.is_empty() && pair.filter.table().iter().all(|byte| *byte == 0));
        pair.operations
    }
    let mut operations = 0;
    for (isa, multiset) in variants() {
        for keys in [47, 1021, 9973] {
            for bits in [2, 8, 13, 31] {
                operations += replace::<WideBlock>(&spec(keys, Some(bits), multiset, isa), 7);
            }
            operations += replace::<LineBlock>(&spec(keys, None, multiset, isa), 8);
        }
    }
    assert!(
        operations >= 10_000_000 * Isa::available().count() as u64 / 3,
        "only {operations} operations were compared"
    );
}

/// Inserts batches of random lengths into filters with random loads, and removes keys between batches. Some batches do
/// not fit.
#[test]
fn batches_agree_with_a_sorted_multiset() {
    fn batches<L: Layout>(spec: &Spec, seed: u64) {
        let mut random = Splitmix::new(seed);
        let mut pair = Pair::<L>::built(spec);
        let slots = pair.slots() as u64;
        let mut held: Vec<KeyHash> = Vec::new();
        for round in 0..60 {
            let most = slots / (1 + random.below(20)) + 3;
            let batch: Vec<KeyHash> = (0..random.below(most))
                .map(|_| match random.below(10) {
                    0 if !held.is_empty() => held[random.below(held.len() as u64) as usize],
                    _ => KeyHash::from_raw(random.word()),
                })
                .collect();
            pair.insert_batch(&batch);
            held.extend(&batch);
            // Remove keys down to a random load, so that each batch begins at a different load.
            let keep = (random.unit() * slots as f64) as u64;
            while pair.len > keep && !held.is_empty() {
                let at = random.below(held.len() as u64) as usize;
                pair.remove(held.swap_remove(at));
            }
            if round % 6 == 0 {
                pair.check_all();
            }
        }
        pair.check_all();
    }
    for (isa, multiset) in variants() {
        for keys in [3, 60, 500, 3001, 30_000] {
            for bits in [1, 5, 8, 16, 29] {
                batches::<WideBlock>(&spec(keys, Some(bits), multiset, isa), u64::from(bits));
            }
            batches::<LineBlock>(&spec(keys, None, multiset, isa), 4);
        }
    }
}

/// A resized filter does not split a key's hash into quotient and remainder. It splits a number that the hash's
/// fingerprint determines, and there can be more pairs of quotient and remainder than fingerprints. (The exception is a
/// filter with blocks of 64 slots whose only resizes were doublings: it still splits the hash.)
#[test]
fn random_operations_on_resized_filters_agree_with_a_sorted_multiset() {
    fn resized<L: Layout>(spec: &Spec, resize: impl Fn(&mut Quotient<L>)) -> u64 {
        let mut filter = Quotient::<L>::from_spec(spec).unwrap();
        resize(&mut filter);
        let keys = filter.geometry().slots as usize;
        churn(Pair::new(filter), Mix::new(0.95, 6000 + 2 * keys, keys as u64))
    }
    for (isa, multiset) in variants() {
        for keys in [2, 90, 700, 4001] {
            for bits in [9, 14, 26] {
                let spec = spec(keys, Some(bits), multiset, isa);
                for doublings in [1, 3] {
                    resized::<WideBlock>(&spec, |filter| {
                        (0..doublings).for_each(|_| filter.grow().unwrap());
                    });
                }
                for other in [keys / 2 + 3, keys + 1, 2 * keys + 55, 9 * keys + 1] {
                    resized::<WideBlock>(&spec, |filter| filter.resize(other).unwrap());
                }
            }
            let spec = spec(keys, None, multiset, isa);
            for doublings in [1, 2, 5] {
                resized::<LineBlock>(&spec, |filter| {
                    (0..doublings).for_each(|_| filter.grow().unwrap());
                });
            }
            for other in [2 * keys + 5, 3 * keys + 55, 9 * keys + 1] {
                resized::<LineBlock>(&spec, |filter| filter.resize(other).unwrap());
            }
        }
    }
}
