//! Builds a cuckoo filter from a spec, runs operations on it, and compares the answers with counts of keys and
//! fingerprints that this module keeps. For a multiset, these counts are exact; for a set, they are bounds.
//!
//! Short inputs must reach the hard cases. So a hash is often one of only a few hundred hashes. In this way, copies of
//! keys are inserted and removed, buckets become full, and fingerprints go to the overflow area.

use super::input::{Input, isa};
use std::collections::BTreeMap;
use trommel::cuckoo::Geometry;
use trommel::error::WhyFull;
use trommel::{
    Bitmap, Count, CuckooFilter, Filter, Full, Insert, KeyHash, Merge, MergeError, Remove,
};
use trommel_base::{FromSpec, Spec};

/// A table with more slots than this is not grown on request, so that an input takes little time.
const MOST_SLOTS: u64 = 2500;
/// The most operations per input.
const MOST_OPERATIONS: usize = 150;
/// An input ends when the filter holds more keys than this.
const MOST_KEYS: usize = 3000;
/// The load at which a filter grows, if it grows by itself.
const GROW_AT: f64 = 0.8;

/// Runs an input. Returns the number of its operations.
pub fn run(data: &[u8]) -> u64 {
    let mut input = Input(data);
    let flags = input.byte();
    let mut spec = Spec::default();
    spec.multiset = flags & 1 != 0;
    spec.grow_at = (flags & 2 != 0).then_some(GROW_AT);
    spec.fingerprint_bits = Some([8, 12, 16, 32][usize::from(flags >> 2) % 4]);
    spec.isa = Some(isa(flags >> 4));
    spec.keys = usize::from(input.short()) % 500;
    let filter = CuckooFilter::from_spec(&spec).expect("small filters can be built");
    let mut run = Run { filter, keys: BTreeMap::new(), fingerprints: BTreeMap::new(), base: 0 };
    run.operations(&mut input)
}

/// The two buckets of a key, and its fingerprint. The buckets are numbered as in the filter before any doubling, so
/// doubling does not change the numbers.
type Pair = (u64, u64, u64);

fn pair(geometry: &Geometry, hash: KeyHash) -> Pair {
    let buckets = geometry.buckets >> geometry.doublings;
    let product = u128::from(hash.raw()) * u128::from(buckets);
    let i = (product >> 64) as u64;
    let fingerprint = (product as u64 >> (64 - geometry.fingerprint_bits)).max(1);
    let once = (((fingerprint ^ fingerprint >> 16) & 0xFFFF) * 0x9E37) & 0xFFFF;
    let mixed = ((once ^ once >> 7) * 0xC2B3) & 0xFFFF;
    let offset = 2 * ((mixed * (buckets.min(1 << 16) / 2)) >> 16) + 1;
    let j = if i.is_multiple_of(2) { i + offset } else { i + buckets - offset } % buckets;
    (i.min(j), i.max(j), fingerprint)
}

struct Run {
    filter: CuckooFilter,
    /// The hashes of the keys that must be found, each with its number of copies. In a set, this number is 1.
    keys: BTreeMap<u64, u64>,
    /// An upper bound on the number of stored fingerprints of each [`Pair`]; exact for a multiset.
    fingerprints: BTreeMap<Pair, u64>,
    /// A number from which hashes are often derived, by adding a shifted byte.
    base: u64,
}

impl Run {
    fn pair(&self, hash: KeyHash) -> Pair {
        pair(&self.filter.geometry(), hash)
    }

    /// Chooses a hash: one of 256 hashes, the sum of `base` and a shifted byte, the hash of a key in the filter, or any
    /// hash.
    fn hash(&self, input: &mut Input<'_>) -> KeyHash {
        let kind = input.byte();
        KeyHash::from_raw(match kind % 4 {
            0 => input.word(),
            1 => match self.keys.range(u64::from(input.short()) << 48..).next() {
                Some((hash, _)) => *hash,
                None => u64::MAX - u64::from(kind),
            },
            2 => self.base.wrapping_add(u64::from(input.byte()) << (kind >> 2)),
            _ => u64::from(input.byte()).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        })
    }

    /// Chooses some hashes: a few independent ones, or many that are derived from one hash.
    fn hashes(&self, input: &mut Input<'_>) -> Vec<KeyHash> {
        let count = u64::from(input.byte());
        if count % 2 == 0 {
            return (0..count / 2 % 20).map(|_| self.hash(input)).collect();
        }
        let (first, step) = (self.hash(input).raw(), 0x9E37_79B9_7F4A_7C15 >> (input.byte() % 64));
        let copies = 1 + u64::from(input.byte()) % 8;
        (0..2 * count)
            .map(|i| KeyHash::from_raw(first.wrapping_add((i / copies).wrapping_mul(step))))
            .collect()
    }

    fn operations(&mut self, input: &mut Input<'_>) -> u64 {
        let mut done = 0;
        for _ in 0..MOST_OPERATIONS {
            if input.is_empty() || self.filter.len() > MOST_KEYS {
                break;
            }
            done += 1;
            match input.byte() % 16 {
                0..=2 => {
                    let hash = self.hash(input);
                    self.insert(hash);
                }
                3 | 4 => self.remove_some(input, 1),
                5 => self.ask(input),
                6..=8 => self.insert_batch(input),
                9 => self.base = input.word(),
                10 => self.grow(),
                11 => self.merge(input),
                12 => self.thaw(),
                13 => {
                    let count = 1 + usize::from(input.byte());
                    self.remove_some(input, count);
                }
                14 => self.filter.release_scratch(),
                _ => {
                    self.filter.clear();
                    self.keys.clear();
                    self.fingerprints.clear();
                }
            }
        }
        self.check();
        if self.filter.is_multiset() {
            let keys: Vec<(u64, u64)> = self.keys.iter().map(|(key, n)| (*key, *n)).collect();
            for (key, copies) in keys {
                (0..copies).for_each(|_| self.remove(KeyHash::from_raw(key)));
            }
            assert!(self.filter.is_empty() && self.filter.table().iter().all(|byte| *byte == 0));
            assert_eq!(self.filter.overflowing(), 0);
        }
        done
    }

    /// Counts an inserted key. `new` is false only if it is certain that the insert stored no fingerprint.
    fn note(&mut self, hash: KeyHash, new: bool) {
        let multiset = self.filter.is_multiset();
        let copies = self.keys.entry(hash.raw()).or_default();
        *copies = if multiset { *copies + 1 } else { 1 };
        let pair = self.pair(hash);
        *self.fingerprints.entry(pair).or_default() += u64::from(new);
    }

    fn insert(&mut self, hash: KeyHash) {
        let (before, slots_before) = (self.filter.to_bytes(), self.filter.geometry().slots());
        let (found, len) = (self.filter.contains_hash(hash), self.filter.len());
        match self.filter.insert_hash(hash) {
            Ok(new) => {
                assert_eq!(new, self.filter.is_multiset() || !found);
                assert_eq!(self.filter.len(), len + usize::from(new));
                self.note(hash, new);
                assert!(self.filter.contains_hash(hash));
            }
            Err(full) => {
                assert_eq!((full.inserted, full.len), (0, len));
                self.assert_full(hash, full);
                assert!(!found || self.filter.is_multiset());
                // Perhaps the filter was doubled for this key, and still had no room.
                let slots = self.filter.geometry().slots();
                assert!(slots > slots_before || self.filter.to_bytes() == before);
            }
        }
    }

    /// Checks that the reason given for a refused insert is true.
    fn assert_full(&self, hash: KeyHash, full: Full) {
        let geometry = self.filter.geometry();
        match full.why {
            WhyFull::Copies { max } => {
                assert!(max >= 8 && self.filter.count_hash(hash) == u64::from(max));
            }
            WhyFull::Slots => {
                let capacity = (geometry.slots() / 256).clamp(2, 64);
                assert_eq!(self.filter.overflowing() as u64, capacity);
            }
            WhyFull::Fingerprint => assert_eq!(geometry.doublings + 4, geometry.fingerprint_bits),
            other => panic!("an insert was refused for an unexpected reason: {other:?}"),
        }
    }

    /// Inserts a batch. Afterwards all keys of the batch must be found, or, if the batch fails, all keys before the
    /// refused key.
    fn insert_batch(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let len = self.filter.len();
        let outcome = self.filter.insert_batch(&hashes);
        let inserted = outcome.map_or_else(|full| full.inserted, |()| hashes.len());
        if let Err(full) = outcome {
            assert_eq!(full.len, self.filter.len());
        }
        for hash in &hashes[..inserted] {
            // If a set already has the fingerprint of another key in the same buckets, it stores nothing, but `note`
            // still counts a fingerprint. So the counts of fingerprints are upper bounds.
            let new = self.filter.is_multiset() || !self.keys.contains_key(&hash.raw());
            self.note(*hash, new);
        }
        let added = self.filter.len() - len;
        assert!(if self.filter.is_multiset() { added == inserted } else { added <= inserted });
        self.check();
    }

    /// Removes keys that are in the filter. From a set, removes only keys that share their [`Pair`] with no other key.
    fn remove_some(&mut self, input: &mut Input<'_>, count: usize) {
        for _ in 0..count {
            let from = u64::from(input.short()) << 48;
            let Some((key, _)) = self.keys.range(from..).next() else { break };
            let hash = KeyHash::from_raw(*key);
            if self.filter.is_multiset() || self.is_alone(hash) {
                self.remove(hash);
            }
        }
    }

    /// Whether no other key shares the [`Pair`] of this key, and only one fingerprint is counted for this pair.
    fn is_alone(&self, hash: KeyHash) -> bool {
        let pair = self.pair(hash);
        let others = self.keys.keys().filter(|key| self.pair(KeyHash::from_raw(**key)) == pair);
        others.count() == 1 && self.fingerprints.get(&pair) == Some(&1)
    }

    fn remove(&mut self, hash: KeyHash) {
        let (pair, len) = (self.pair(hash), self.filter.len());
        assert!(self.filter.remove_hash(hash), "a key that is held is not found");
        assert_eq!(self.filter.len(), len - 1);
        for left in [
            self.keys.get_mut(&hash.raw()).expect("a held key was not counted"),
            self.fingerprints.get_mut(&pair).expect("its fingerprint was not counted"),
        ] {
            *left -= 1;
        }
        self.keys.retain(|_, copies| *copies > 0);
        assert!(self.filter.is_multiset() || !self.filter.contains_hash(hash));
    }

    /// Compares batched lookups, single lookups and counts with each other and with the counted keys.
    fn ask(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let mut found = Bitmap::new(0);
        self.filter.contains_batch(&hashes, &mut found);
        for (i, hash) in hashes.iter().enumerate() {
            let count = self.filter.count_hash(*hash);
            assert_eq!(found.get(i), count > 0);
            assert_eq!(self.filter.contains_hash(*hash), count > 0);
            assert!(count >= self.keys.get(&hash.raw()).copied().unwrap_or(0));
            assert!(count <= self.fingerprints.get(&self.pair(*hash)).copied().unwrap_or(0));
        }
    }

    fn grow(&mut self) {
        let before = self.filter.to_bytes();
        if self.filter.geometry().slots() > MOST_SLOTS || self.filter.grow().is_err() {
            assert!(self.filter.to_bytes() == before);
        }
        self.check();
    }

    /// Merges another filter, which starts as an empty copy of this one and gets some keys. A merge that fails must
    /// change nothing.
    fn merge(&mut self, input: &mut Input<'_>) {
        let mut other = self.filter.clone();
        other.clear();
        let mut theirs: Vec<KeyHash> = Vec::new();
        let slots = other.geometry().slots();
        for hash in self.hashes(input) {
            if other.insert_hash(hash) == Ok(true) {
                theirs.push(hash);
            }
        }
        if other.geometry().slots() != slots {
            // `other` has grown by itself, so the two filters differ in size.
            assert!(self.filter.merge(&other).is_err());
            return;
        }
        let (before, bytes) = (self.filter.to_bytes(), other.to_bytes());
        match self.filter.merge(&other) {
            Ok(()) => theirs.iter().for_each(|hash| {
                let new = self.filter.is_multiset() || !self.keys.contains_key(&hash.raw());
                self.note(*hash, new);
            }),
            Err(error) => {
                assert!(
                    matches!(error, MergeError::Full(_)),
                    "a merge was refused, but not for lack of room: {error}"
                );
                assert!(self.filter.to_bytes() == before);
            }
        }
        assert!(other.to_bytes() == bytes);
        self.check();
    }

    /// Freezes the filter and reads it back.
    fn thaw(&mut self) {
        let bytes = self.filter.to_bytes();
        self.filter = CuckooFilter::from_bytes(&bytes).expect("our own bytes are refused");
        assert!(self.filter.to_bytes() == bytes);
        self.check();
    }

    /// Checks that every key is found, in the filter and in a view of its bytes, and that no count is too low.
    fn check(&self) {
        let held: u64 = self.fingerprints.values().sum();
        let len = self.filter.len() as u64;
        assert!(if self.filter.is_multiset() { len == held } else { len <= held });
        let bytes = self.filter.to_bytes();
        let view = CuckooFilter::parse(&bytes).expect("our own bytes are refused");
        let keys: Vec<KeyHash> = self.keys.keys().map(|key| KeyHash::from_raw(*key)).collect();
        let (mut found, mut viewed) = (Bitmap::new(0), Bitmap::new(0));
        self.filter.contains_batch(&keys, &mut found);
        view.contains_batch(&keys, &mut viewed);
        assert!(found.count_ones() == keys.len() && viewed == found, "a key is not found");
        for (key, copies) in &self.keys {
            assert!(self.filter.count_hash(KeyHash::from_raw(*key)) >= *copies);
        }
    }
}
