//! Compares filters with an exact oracle, in millions of mixed operations, at loads up to 95 %.
//!
//! The oracle knows the place of every key (primary bucket and fingerprint) and its pair (both buckets and the
//! fingerprint). A lookup must find its key if a key with the same place is held, and must not find it if no key with
//! the same pair is held. In the remaining case, keys of the same pair are held, but the primary bucket of each is the
//! alternate bucket of the looked-up key. Either answer is right then.

mod words;

use std::collections::HashMap;
use trommel_base::{Bitmap, Count, Filter, Full, Insert, KeyHash, Merge, Remove};
use trommel_cuckoo::CuckooFilter;
use trommel_testkit::Splitmix;
use words::{Pair, Place};

/// A filter, and what it should hold.
#[derive(Clone)]
struct Model {
    filter: CuckooFilter,
    /// The keys that must be found, each repeated for every copy.
    held: Vec<KeyHash>,
    /// For each place, the number of keys in `held` that have it.
    at_place: HashMap<Place, u64>,
    /// For each pair, the number of keys in `held` that have it.
    of_pair: HashMap<Pair, u64>,
    /// For each pair, the number of its fingerprints in the filter.
    copies: HashMap<Pair, u64>,
    len: u64,
    operations: u64,
}

fn get<K: std::hash::Hash + Eq>(map: &HashMap<K, u64>, key: &K) -> u64 {
    map.get(key).copied().unwrap_or(0)
}

fn subtract<K: std::hash::Hash + Eq>(map: &mut HashMap<K, u64>, key: &K) {
    let count = map.get_mut(key).expect("a key must be counted before it is subtracted");
    *count -= 1;
    if *count == 0 {
        map.remove(key);
    }
}

impl Model {
    fn new(filter: CuckooFilter) -> Self {
        assert!(filter.is_empty());
        Self {
            filter,
            held: Vec::new(),
            at_place: HashMap::new(),
            of_pair: HashMap::new(),
            copies: HashMap::new(),
            len: 0,
            operations: 0,
        }
    }

    fn slots(&self) -> u64 {
        self.filter.geometry().slots()
    }

    fn place(&self, hash: KeyHash) -> Place {
        Place::of(&self.filter.geometry(), hash)
    }

    /// Tells the oracle of an insert that the filter has done.
    fn record(&mut self, hash: KeyHash, new: bool) {
        let place = self.place(hash);
        if self.filter.is_multiset() {
            assert!(new);
        } else {
            assert!(!new || get(&self.at_place, &place) == 0, "a held key was inserted again");
            assert!(
                new || get(&self.copies, &place.pair()) > 0,
                "a key without a fingerprint of its pair was not inserted"
            );
        }
        self.held.push(hash);
        *self.at_place.entry(place).or_default() += 1;
        *self.of_pair.entry(place.pair()).or_default() += 1;
        if new {
            *self.copies.entry(place.pair()).or_default() += 1;
            self.len += 1;
        }
    }

    fn insert(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.operations += 1;
        let new = self.filter.insert_hash(hash)?;
        self.record(hash, new);
        assert_eq!(self.filter.len() as u64, self.len);
        Ok(())
    }

    /// Inserts a batch of these keys, without the keys for which the outcome would depend on the order of inserts.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut batch: Vec<(KeyHash, bool)> = Vec::new();
        let mut coming: HashMap<Pair, Place> = HashMap::new();
        for hash in hashes {
            let place = self.place(*hash);
            if self.filter.is_multiset() || get(&self.at_place, &place) > 0 {
                batch.push((*hash, self.filter.is_multiset()));
            } else if get(&self.copies, &place.pair()) == 0 {
                match coming.insert(place.pair(), place) {
                    None => batch.push((*hash, true)),
                    Some(other) if other == place => batch.push((*hash, false)),
                    Some(other) => drop(coming.insert(place.pair(), other)),
                }
            }
        }
        let hashes: Vec<KeyHash> = batch.iter().map(|(hash, _)| *hash).collect();
        self.operations += batch.len() as u64;
        let outcome = self.filter.insert_batch(&hashes);
        let inserted = outcome.map_or_else(|full| full.inserted, |()| batch.len());
        for (hash, new) in &batch[..inserted] {
            self.record(*hash, *new);
        }
        assert_eq!(self.filter.len() as u64, self.len);
        outcome
    }

    /// Whether a key can be removed without also removing another key. In a set, this requires that every key of its
    /// pair has a fingerprint of its own.
    fn is_apart(&self, hash: KeyHash) -> bool {
        let place = self.place(hash);
        let (keys, copies) = (get(&self.of_pair, &place.pair()), get(&self.copies, &place.pair()));
        self.filter.is_multiset()
            || (keys == copies && keys <= 2 && get(&self.at_place, &place) == 1)
    }

    /// Removes the key at an index of `held`. If a set cannot remove the key without also removing another key, the
    /// filter is unchanged. The oracle then forgets the key if it has more keys of the key's pair than the filter has
    /// fingerprints of that pair; otherwise it keeps the key.
    fn remove(&mut self, at: usize) {
        let hash = self.held[at];
        let place = self.place(hash);
        if self.is_apart(hash) {
            self.operations += 1;
            assert!(self.filter.remove_hash(hash), "{hash:?} must be removed");
            subtract(&mut self.copies, &place.pair());
            self.len -= 1;
            assert_eq!(self.filter.len() as u64, self.len);
        } else if get(&self.of_pair, &place.pair()) == get(&self.copies, &place.pair()) {
            return;
        }
        self.held.swap_remove(at);
        subtract(&mut self.at_place, &place);
        subtract(&mut self.of_pair, &place.pair());
        self.ask(hash);
    }

    fn ask(&mut self, hash: KeyHash) {
        self.operations += 2;
        let place = self.place(hash);
        let (least, most) = (get(&self.at_place, &place), get(&self.copies, &place.pair()));
        let (found, count) = (self.filter.contains_hash(hash), self.filter.count_hash(hash));
        assert_eq!(found, count > 0);
        assert!(count <= most, "{count} copies counted, {most} fingerprints are held");
        if self.filter.is_multiset() {
            assert!(count >= least, "{count} copies counted, {least} are held");
        } else {
            assert!(found || least == 0, "a held key must be found");
        }
    }

    /// Checks the whole state: every key by single and batch lookups, the table slot by slot, and the bytes.
    fn check(&mut self) {
        self.operations += 2 * self.held.len() as u64;
        assert_eq!(self.filter.len() as u64, self.len);
        let mut found = Bitmap::new(0);
        self.filter.contains_batch(&self.held, &mut found);
        assert_eq!(found.count_ones(), self.held.len(), "a batch must find all keys");
        assert!(
            self.held.iter().all(|hash| self.filter.contains_hash(*hash)),
            "single lookups must find all keys"
        );

        let geometry = self.filter.geometry();
        let mut in_table: HashMap<Pair, u64> = HashMap::new();
        for (bucket, slots) in (0..).zip(words::buckets(&self.filter)) {
            for fingerprint in slots.into_iter().filter(|slot| *slot != 0) {
                let other = words::other_bucket(&geometry, bucket, fingerprint);
                let pair = (bucket.min(other), bucket.max(other), fingerprint);
                *in_table.entry(pair).or_default() += 1;
            }
        }
        assert!(in_table.iter().all(|(pair, copies)| *copies <= get(&self.copies, pair)));
        let held = in_table.values().sum::<u64>() + self.filter.overflowing() as u64;
        assert_eq!(held, self.len);

        let bytes = self.filter.to_bytes();
        let view = CuckooFilter::parse(&bytes).expect("own bytes must be accepted");
        view.contains_batch(&self.held, &mut found);
        assert_eq!(found.count_ones(), self.held.len(), "a view must find all keys");
        assert!(view.to_bytes() == bytes);
    }

    /// Replaces the filter by one that is read from its bytes.
    fn thaw(&mut self) {
        let bytes = self.filter.to_bytes();
        let multiset = self.filter.is_multiset();
        self.filter = CuckooFilter::from_bytes(&bytes).expect("own bytes must be accepted");
        assert!(self.filter.to_bytes() == bytes && self.filter.is_multiset() == multiset);
    }

    /// Doubles the filter. Keys that shared a pair before share a pair afterwards.
    fn grow(&mut self) {
        let old_pairs: Vec<Pair> = self.held.iter().map(|hash| self.place(*hash).pair()).collect();
        let slots = self.slots();
        self.filter.grow().expect("the filter must have bits to grow by");
        assert_eq!((self.slots(), self.filter.len() as u64), (2 * slots, self.len));
        let mut copies = HashMap::new();
        (self.at_place, self.of_pair) = (HashMap::new(), HashMap::new());
        for (hash, old) in self.held.iter().zip(old_pairs) {
            let place = Place::of(&self.filter.geometry(), *hash);
            *self.at_place.entry(place).or_default() += 1;
            *self.of_pair.entry(place.pair()).or_default() += 1;
            let before = copies.insert(place.pair(), get(&self.copies, &old));
            assert!(before.is_none_or(|before| before == get(&self.copies, &old)));
        }
        self.copies = copies;
    }
}

const WIDTHS: [u32; 4] = [8, 12, 16, 32];

/// Keeps a filter at about the given load: inserts fresh and held keys, removes held keys, and looks up fresh and held
/// keys. Some inserts are batches, the filter is read back from bytes a few times, and a small filter is doubled.
/// Returns the number of operations.
fn churn(mut model: Model, load: f64, operations: usize, seed: u64) -> u64 {
    let mut random = Splitmix::new(seed);
    let mut batch = Vec::new();
    for i in 0..operations {
        // A grown filter consists of several tables, which chance fills unevenly.
        let load = if model.filter.geometry().doublings == 0 { load } else { 0.75 * load };
        let room = ((load * model.slots() as f64) as u64).saturating_sub(model.len);
        let any =
            |random: &mut Splitmix, model: &Model| random.below(model.held.len() as u64) as usize;
        if random.below(100) < if room > 0 { 65 } else { 0 } {
            let hash = match random.below(16) {
                // Without the limit of four copies, there would soon be more copies of a key than fit.
                0 if !model.held.is_empty() => {
                    let hash = model.held[any(&mut random, &model)];
                    if model.filter.count_hash(hash) < 4 { hash } else { continue }
                }
                _ => KeyHash::from_raw(random.word()),
            };
            model.insert(hash).expect("keys must fit up to the load");
        } else if !model.held.is_empty() {
            let at = any(&mut random, &model);
            model.remove(at);
        }
        if i % 3 == 0 && !model.held.is_empty() {
            let at = any(&mut random, &model);
            model.ask(model.held[at]);
        } else {
            model.ask(KeyHash::from_raw(random.word()));
        }
        if i % 1000 == 999 && room > 0 {
            batch.clear();
            let count = random.below(room.min(1200)) as usize + 1;
            batch.extend((0..count).map(|_| KeyHash::from_raw(random.word())));
            model.insert_batch(&batch).expect("keys must fit up to the load");
        }
        if i % (operations / 4).max(1) == 0 {
            model.check();
            model.thaw();
        }
        let geometry = model.filter.geometry();
        if i == operations / 2 && geometry.buckets < 2000 && geometry.doublings < 2 {
            model.grow();
            model.check();
        }
    }
    model.check();
    let mut full_model = model.clone();
    while let Some(at) = model.held.len().checked_sub(1) {
        let before = model.held.len();
        model.remove(at);
        if model.held.len() == before {
            break;
        }
    }
    if model.held.is_empty() {
        assert!(model.filter.is_empty() && model.filter.table().iter().all(|byte| *byte == 0));
        assert!(model.filter.expected_fpr() == 0.0);
    }
    full_model.check();
    model.operations + full_model.operations
}

/// Tables of every width, with 2 to 5002 buckets.
#[test]
fn random_operations_agree_with_an_exact_oracle() {
    let mut operations = 0;
    for bits in WIDTHS {
        for multiset in [false, true] {
            for (buckets, loads) in [
                (2, [0.3, 0.5]),
                (6, [0.3, 0.5]),
                (26, [0.5, 0.8]),
                (130, [0.5, 0.9]),
                (1026, [0.7, 0.95]),
                (5002, [0.9, 0.95]),
            ] {
                for load in loads {
                    let filter = words::filter_of_buckets(buckets, bits, multiset);
                    let seed = buckets + u64::from(bits);
                    let steps = 12_000 + 6 * buckets as usize;
                    operations += churn(Model::new(filter), load, steps, seed);
                }
            }
        }
    }
    assert!(operations > 5_000_000, "only {operations} operations");
}

/// At 95 % load, removes a key and inserts another, twelve times for each key that the filter holds. If removals left
/// anything behind, these leftovers would add up.
#[test]
fn all_keys_can_be_replaced_many_times_at_95_percent() {
    let mut operations = 0;
    for (bits, buckets, multiset) in [
        (8, 1026, true),
        (8, 3334, false),
        (12, 1030, false),
        (12, 5002, true),
        (16, 2002, true),
        (16, 1100, false),
        (32, 1290, true),
        (32, 1502, false),
    ] {
        let mut random = Splitmix::new(buckets);
        let mut model = Model::new(words::filter_of_buckets(buckets, bits, multiset));
        let target = model.slots() * 95 / 100;
        while model.len < target {
            let count = (target - model.len) as usize;
            let batch: Vec<KeyHash> =
                (0..count).map(|_| KeyHash::from_raw(random.word())).collect();
            model.insert_batch(&batch).expect("keys must fit up to 95 %");
        }
        for i in 0..12 * target {
            let at = random.below(model.held.len() as u64) as usize;
            model.remove(at);
            while model.len < target {
                let hash = KeyHash::from_raw(random.word());
                model.insert(hash).expect("keys must fit up to 95 %");
            }
            let at = random.below(model.held.len() as u64) as usize;
            model.ask(model.held[at]);
            if i % (3 * target) == 0 {
                model.check();
                model.thaw();
            }
        }
        model.check();
        operations += model.operations;
    }
    assert!(operations > 2_000_000, "only {operations} operations");
}

/// Merges two filters that have keys in common, after removals from both.
#[test]
fn a_merge_holds_the_keys_of_both() {
    let mut operations = 0;
    for bits in WIDTHS {
        for (buckets, share) in [(26u64, 0.3), (130, 0.4), (1026, 0.46), (8002, 0.47)] {
            for multiset in [false, true] {
                let mut random = Splitmix::new(buckets + u64::from(bits));
                let empty = words::filter_of_buckets(buckets, bits, multiset);
                let keys = (share * empty.geometry().slots() as f64) as usize;
                let mut models = [Model::new(empty.clone()), Model::new(empty)];
                let common: Vec<KeyHash> =
                    (0..keys / 8).map(|_| KeyHash::from_raw(random.word())).collect();
                for model in &mut models {
                    let own = (0..keys).map(|_| KeyHash::from_raw(random.word()));
                    let batch: Vec<KeyHash> = common.iter().copied().chain(own).collect();
                    model.insert_batch(&batch).unwrap();
                    while model.held.len() > keys * 9 / 10 {
                        let (at, before) =
                            (random.below(model.held.len() as u64) as usize, model.held.len());
                        model.remove(at);
                        assert!(model.held.len() < before || !multiset);
                    }
                    model.check();
                }
                let [mut left, right] = models;
                left.filter.merge(&right.filter).unwrap();
                let held = [&left.held[..], &right.held[..]].concat();
                for hash in &right.held {
                    left.held.push(*hash);
                    *left.at_place.entry(right.place(*hash)).or_default() += 1;
                    *left.of_pair.entry(right.place(*hash).pair()).or_default() += 1;
                }
                if multiset {
                    right
                        .copies
                        .iter()
                        .for_each(|(pair, n)| *left.copies.entry(*pair).or_default() += n);
                    left.len += right.len;
                } else {
                    let range = words::len_range(&left.filter, &held);
                    assert!(
                        range.contains(&left.filter.len()),
                        "the number of fingerprints is not in {range:?}"
                    );
                    // A set has at most two fingerprints of a pair, one for each primary bucket.
                    left.copies = left.of_pair.keys().map(|pair| (*pair, 2)).collect();
                    left.len = left.filter.len() as u64;
                }
                left.check();
                for hash in &held {
                    left.ask(*hash);
                }
                operations += left.operations;
            }
        }
    }
    assert!(operations > 500_000, "only {operations} operations");
}

/// 900,000 keys in batches, at 95 % load, for every width.
#[test]
fn large_filters_lose_no_key() {
    for (bits, multiset) in [(8, true), (12, false), (16, true), (32, false)] {
        let keys = 900_000;
        let mut filter = words::filter(keys, bits, multiset);
        let hashes = trommel_testkit::streams::distinct(bits.into(), 0..keys as u64);
        for part in hashes.chunks(100_003) {
            filter.insert_batch(part).unwrap();
        }
        let mut found = Bitmap::new(0);
        filter.contains_batch(&hashes, &mut found);
        assert_eq!(found.count_ones(), keys);
        assert!(!multiset || filter.len() == keys);
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
        if multiset {
            for hash in &hashes {
                assert!(filter.remove_hash(*hash));
            }
            assert!(filter.is_empty() && filter.table().iter().all(|byte| *byte == 0));
        }
    }
}
