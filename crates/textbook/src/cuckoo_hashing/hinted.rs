//! Buckets whose hint lets a lookup skip the second one.

use super::breadth_first::{checked_limit, shortest_path};
use super::hashes::Hashes;
use super::places::Places;
use super::set::{CuckooSet, InsertError, Statistics};
use alloc::vec::Vec;
use core::ops::Range;
use trommel_base::SpecError;

/// Keys of a bucket: as many as fill a line.
const BUCKET_KEYS: u64 = 8;
/// Places that an insert visits before it gives up, unless said otherwise: two displacements in a large
/// table, since there are 128 places behind those of both buckets, and 1024 behind these.
const MAX_VISITED: usize = 1000;
// The hash functions of the two buckets, and the one that hints are made of.
const FIRST: usize = 0;
const SECOND: usize = 1;
const HINT: usize = 2;

/// The bucketised table of Cuckoo++: beside its keys, a bucket remembers which of the keys that it is
/// the first bucket of have gone to their second.
///
/// It remembers them in a Bloom filter of 64 bits with two bits per key, and counts them, to clear the
/// filter when all of them have come back or are gone. So a lookup of an absent key mostly reads one
/// bucket. Displacement is breadth-first and bounded: an insert ends after a fixed number of places, whatever the
/// load.
///
/// Cost: a lookup reads the first bucket, and the second if the hint says so: for one absent key in a
/// thousand at a load of 75 %, for three at 90 %. A hint takes 16 bytes per bucket.
///
/// Source: Le Scouarnec, "Cuckoo++ hash tables: high-performance hash tables for networking
/// applications", ANCS 2018, section 4. It derives the second bucket from the first and a tag, and finds keys
/// in a bucket by tags; here both are functions of the key, and keys are compared.
#[derive(Clone, Debug)]
pub struct HintedCuckooSet {
    table: Places,
    hints: Vec<Hint>,
    hashes: Hashes,
    max_visited: usize,
    statistics: Statistics,
}

/// What a bucket knows of the keys that it is the first bucket of and that stand in their second.
#[derive(Clone, Copy, Debug, Default)]
struct Hint {
    filter: u64,
    keys_away: u32,
}

impl Hint {
    fn gone(&mut self, bits: u64) {
        self.filter |= bits;
        self.keys_away += 1;
    }

    fn back(&mut self) {
        self.keys_away -= 1;
        if self.keys_away == 0 {
            self.filter = 0;
        }
    }
}

impl HintedCuckooSet {
    /// An empty set of `buckets`, each of eight keys.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless there are 1 to [`MAX_PLACES`](super::MAX_PLACES) places;
    /// [`SpecError::OutOfMemory`] if the system refuses them.
    pub fn new(buckets: u64, seed: u64) -> Result<Self, SpecError> {
        let table = Places::new("places", buckets.saturating_mul(BUCKET_KEYS))?;
        let mut hints = Vec::new();
        let bytes = buckets * size_of::<Hint>() as u64;
        let refused = SpecError::OutOfMemory { bytes };
        let len = usize::try_from(buckets).map_err(|_| refused)?;
        hints.try_reserve_exact(len).map_err(|_| refused)?;
        hints.resize(len, Hint::default());
        let (hashes, statistics) = (Hashes::new(seed), Statistics::default());
        Ok(Self { table, hints, hashes, max_visited: MAX_VISITED, statistics })
    }

    /// The same set with another number of places that an insert visits before it gives up: 1000
    /// otherwise.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless it is 1 to 2^28.
    pub fn with_max_visited(self, max_visited: usize) -> Result<Self, SpecError> {
        Ok(Self { max_visited: checked_limit(max_visited)?, ..self })
    }

    /// Whether the lookup of a key that is not in its first bucket reads the second. It does for every
    /// key that stands there.
    #[must_use]
    pub fn needs_second_bucket(&self, key: u64) -> bool {
        let bits = self.hint_bits(key);
        self.hints[self.bucket(FIRST, key) as usize].filter & bits == bits
    }

    /// Keys that stand in their second bucket.
    #[must_use]
    pub fn keys_away(&self) -> usize {
        self.hints.iter().map(|hint| hint.keys_away as usize).sum()
    }

    fn bucket(&self, which: usize, key: u64) -> u64 {
        self.hashes.place(which, key, self.hints.len() as u64)
    }

    /// Two bits of 64.
    fn hint_bits(&self, key: u64) -> u64 {
        let pair = self.hashes.place(HINT, key, 64 * 64);
        1 << (pair / 64) | 1 << (pair % 64)
    }

    fn places_in(&self, bucket: u64) -> Range<u64> {
        bucket * BUCKET_KEYS..(bucket + 1) * BUCKET_KEYS
    }

    /// The places of both buckets of a key, the first one's first.
    fn places_of(&self, key: u64) -> impl Iterator<Item = u64> + '_ {
        [FIRST, SECOND].into_iter().flat_map(move |which| self.places_in(self.bucket(which, key)))
    }

    fn find(&self, key: u64) -> Option<u64> {
        let is_here = |place: &u64| self.table.get(*place) == Some(key);
        self.places_in(self.bucket(FIRST, key)).find(is_here).or_else(|| {
            let mut second = self.places_in(self.bucket(SECOND, key));
            self.needs_second_bucket(key).then(|| second.find(is_here)).flatten()
        })
    }

    /// Keeps the hint of a key's first bucket when it goes from a place, or none, to another, or none.
    fn keep_hint(&mut self, key: u64, from: Option<u64>, to: Option<u64>) {
        let first = self.bucket(FIRST, key);
        let bits = self.hint_bits(key);
        let is_away = |place: u64| place / BUCKET_KEYS != first;
        let hint = &mut self.hints[first as usize];
        match (from.is_some_and(is_away), to.is_some_and(is_away)) {
            (false, true) => hint.gone(bits),
            (true, false) => hint.back(),
            (true, true) | (false, false) => {}
        }
    }
}

impl CuckooSet for HintedCuckooSet {
    /// # Errors
    /// [`InsertError::Full`] if the search ends, or is given up, without a free place.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        let onward = |key| self.places_of(key);
        let found = shortest_path(&self.table, self.places_of(key), self.max_visited, onward);
        let Some(path) = found else {
            self.statistics.cycles += 1;
            return Err(InsertError::Full { len: self.len(), places: self.places() });
        };
        let mut moves = Vec::with_capacity(path.len());
        let tell = |displaced, from, to| moves.push((displaced, from, to));
        self.statistics.displacements += self.table.displace_along(&path, key, tell);
        for (displaced, from, to) in moves {
            self.keep_hint(displaced, Some(from), Some(to));
        }
        self.keep_hint(key, None, Some(path[0]));
        Ok(true)
    }

    fn contains(&self, key: u64) -> bool {
        self.find(key).is_some()
    }

    fn remove(&mut self, key: u64) -> bool {
        let Some(place) = self.find(key) else { return false };
        self.table.take(place);
        self.keep_hint(key, Some(place), None);
        true
    }

    fn len(&self) -> usize {
        self.table.held() as usize
    }

    fn places(&self) -> usize {
        self.table.len() as usize
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.hints.len() * size_of::<Hint>()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
