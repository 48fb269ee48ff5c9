//! Buckets with a hint that lets most lookups of absent keys skip the second bucket.

use super::breadth_first::{checked_limit, shortest_path};
use super::hashes::Hashes;
use super::one_table::{OneTableSet, Variant};
use super::places::Places;
use alloc::vec::Vec;
use core::ops::Range;
use trommel_base::SpecError;

/// Keys per bucket: eight 64-bit keys fill a cache line.
const BUCKET_KEYS: u64 = 8;
/// The default number of places that an insert visits before it gives up. The key's two buckets have 16 places. In a
/// large table, an insert can reach 128 more places if it displaces one key, and another 1024 if it displaces two keys.
/// An insert visits only about 850 of these 1024 before it gives up, so it hardly ever displaces more than two keys.
const MAX_VISITED: usize = 1000;
// The indices of the hash functions that give the first bucket, the second bucket and the hint bits.
const FIRST: usize = 0;
const SECOND: usize = 1;
const HINT: usize = 2;

/// The bucketised table of Cuckoo++: beside its keys, each bucket has a hint. The hint records the keys whose first
/// bucket is this bucket, but which stand in their second bucket.
///
/// The hint is a Bloom filter of 64 bits, of which each key sets one or two, and a count of its keys. For few absent
/// keys, the Bloom filter of their first bucket answers *possibly present*. A lookup of any other absent key reads only
/// the first bucket. When all keys of a hint have moved back to their first bucket or have been removed, the Bloom
/// filter is cleared. Displacement is breadth-first and bounded: at any load, an insert gives up after it has visited a
/// fixed number of places or a few more.
///
/// Cost: a lookup reads the first bucket. If the key is not there but the hint contains it, the lookup reads the
/// second bucket too. At a load of 75 %, lookups of one absent key in a thousand read the second bucket; at 90 %, three
/// in a thousand. A hint takes 16 bytes per bucket.
///
/// Source: Le Scouarnec, "Cuckoo++ hash tables: high-performance hash tables for networking applications", ANCS 2018,
/// section 4. The paper derives the second bucket from the first and a tag (a short hash of the key), and compares tags
/// to find a key in a bucket. Here both buckets are functions of the key, and whole keys are compared.
pub type HintedCuckooSet = OneTableSet<HintedBuckets>;

/// The rule that a key stands in one of two buckets, with the hints of all buckets.
#[derive(Clone, Debug)]
pub struct HintedBuckets {
    hints: Vec<Hint>,
    hashes: Hashes,
    max_visited: usize,
}

/// A bucket's record of the keys whose first bucket is this bucket, but which stand in their second bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Hint {
    filter: u64,
    keys_away: u32,
}

impl Hint {
    /// Records that a key has left for its second bucket.
    fn add(&mut self, bits: u64) {
        self.filter |= bits;
        self.keys_away += 1;
    }

    /// Records that a key has come back from its second bucket or was removed from there.
    fn remove(&mut self) {
        self.keys_away -= 1;
        if self.keys_away == 0 {
            self.filter = 0;
        }
    }
}

impl HintedCuckooSet {
    /// Creates an empty set of `buckets` buckets with eight places each.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless the total number of places is 1 to [`MAX_PLACES`](super::MAX_PLACES);
    /// [`SpecError::OutOfMemory`] if the system refuses the table or the hints.
    pub fn new(buckets: u64, seed: u64) -> Result<Self, SpecError> {
        let table = Places::new("places", buckets.saturating_mul(BUCKET_KEYS))?;
        let mut hints = Vec::new();
        let bytes = buckets * size_of::<Hint>() as u64;
        let refused = SpecError::OutOfMemory { bytes };
        let len = usize::try_from(buckets).map_err(|_| refused)?;
        hints.try_reserve_exact(len).map_err(|_| refused)?;
        hints.resize(len, Hint::default());
        let hashes = Hashes::new(seed);
        Ok(Self::empty(table, HintedBuckets { hints, hashes, max_visited: MAX_VISITED }))
    }

    /// Returns the same set with another limit on the places that an insert visits before it gives up. The
    /// default is 1000.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `max_visited` is 1 to 2^28.
    pub fn with_max_visited(mut self, max_visited: usize) -> Result<Self, SpecError> {
        self.variant.max_visited = checked_limit(max_visited)?;
        Ok(self)
    }

    /// Whether a lookup that does not find the key in its first bucket reads the second. The result is true for
    /// every key that stands in its second bucket, unless both its buckets are the same.
    #[must_use]
    pub fn needs_second_bucket(&self, key: u64) -> bool {
        self.variant.needs_second_bucket(key)
    }

    /// The number of keys that do not stand in their first bucket.
    #[must_use]
    pub fn keys_away(&self) -> usize {
        self.variant.hints.iter().map(|hint| hint.keys_away as usize).sum()
    }
}

impl HintedBuckets {
    fn needs_second_bucket(&self, key: u64) -> bool {
        let bits = self.hint_bits(key);
        self.hints[self.bucket(FIRST, key) as usize].filter & bits == bits
    }

    fn bucket(&self, which: usize, key: u64) -> u64 {
        self.hashes.place(which, key, self.hints.len() as u64)
    }

    /// The key's bits in the Bloom filter of a hint: one or two bits of 64.
    fn hint_bits(&self, key: u64) -> u64 {
        let pair = self.hashes.place(HINT, key, 64 * 64);
        1 << (pair / 64) | 1 << (pair % 64)
    }

    fn places_in(&self, bucket: u64) -> Range<u64> {
        bucket * BUCKET_KEYS..(bucket + 1) * BUCKET_KEYS
    }
}

impl Variant for HintedBuckets {
    /// The places of both buckets of a key, starting with the first bucket.
    fn places_of(&self, key: u64) -> impl Iterator<Item = u64> {
        [FIRST, SECOND].into_iter().flat_map(move |which| self.places_in(self.bucket(which, key)))
    }

    fn path(&self, table: &Places, key: u64) -> Option<Vec<u64>> {
        shortest_path(table, key, self.max_visited, |key| self.places_of(key))
    }

    fn find(&self, table: &Places, key: u64) -> Option<u64> {
        let is_here = |place: &u64| table.get(*place) == Some(key);
        self.places_in(self.bucket(FIRST, key)).find(is_here).or_else(|| {
            let mut second = self.places_in(self.bucket(SECOND, key));
            self.needs_second_bucket(key).then(|| second.find(is_here)).flatten()
        })
    }

    /// Updates the hint of a key's first bucket.
    fn moved(&mut self, key: u64, from: Option<u64>, to: Option<u64>) {
        let first = self.bucket(FIRST, key);
        let bits = self.hint_bits(key);
        let is_away = |place: u64| place / BUCKET_KEYS != first;
        let hint = &mut self.hints[first as usize];
        match (from.is_some_and(is_away), to.is_some_and(is_away)) {
            (false, true) => hint.add(bits),
            (true, false) => hint.remove(),
            (true, true) | (false, false) => {}
        }
    }

    fn memory_bytes(&self) -> usize {
        self.hints.len() * size_of::<Hint>()
    }
}
