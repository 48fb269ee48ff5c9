//! Cuckoo hashing with both hash functions into one table.

use super::hashes::Hashes;
use super::places::Places;
use super::set::{CuckooSet, InsertError, Statistics};
use super::walk::walk;
use trommel_base::SpecError;

/// The simplified cuckoo hash table: one table, two hash functions into it.
///
/// If the hash functions give a key the places `h1` and `h2`, and the key stands at `p`, its other place is
/// `h1 + h2 − p`, whichever of the two functions gave `p`. Loads up to one half can be reached, as with two tables.
///
/// Cost: a lookup reads two places. A path of displacements starts at each of a new key's two places. The insert is
/// refused if both paths end in a cycle. On a path of `k` distinct places, a cycle is noticed after at most `3k` steps.
/// No key has been moved by then.
///
/// Source: Drmota and Kutzelnigg, "A precise analysis of cuckoo hashing", ACM Trans. Algorithms 8
/// (2012). The insert of the paper displaces keys until it reaches a limit; this implementation knows the whole path
/// before it moves a key.
#[derive(Clone, Debug)]
pub struct SimplifiedCuckooSet {
    table: Places,
    hashes: Hashes,
    statistics: Statistics,
}

impl SimplifiedCuckooSet {
    /// Creates an empty set of `places` places.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `places` is 1 to [`MAX_PLACES`](super::MAX_PLACES);
    /// [`SpecError::OutOfMemory`] if the system refuses the table.
    pub fn new(places: u64, seed: u64) -> Result<Self, SpecError> {
        let table = Places::new("places", places)?;
        Ok(Self { table, hashes: Hashes::new(seed), statistics: Statistics::default() })
    }

    fn places_of(&self, key: u64) -> [u64; 2] {
        [0, 1].map(|which| self.hashes.place(which, key, self.table.len()))
    }

    fn other(&self, place: u64, key: u64) -> u64 {
        let [first, second] = self.places_of(key);
        first + second - place
    }

    fn find(&self, key: u64) -> Option<u64> {
        self.places_of(key).into_iter().find(|place| self.table.get(*place) == Some(key))
    }
}

impl CuckooSet for SimplifiedCuckooSet {
    /// # Errors
    /// [`InsertError::Full`] if no displacements can make room for the key.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        let next = |place| self.table.get(place).map(|key| self.other(place, key));
        let mut paths = self.places_of(key).into_iter();
        let Some(path) = paths.find_map(|start| walk(start, self.table.len(), next)) else {
            self.statistics.cycles += 1;
            return Err(InsertError::Full { len: self.len(), places: self.places() });
        };
        self.statistics.displacements += self.table.displace_along(&path, key, |_, _, _| ());
        Ok(true)
    }

    fn contains(&self, key: u64) -> bool {
        self.find(key).is_some()
    }

    fn remove(&mut self, key: u64) -> bool {
        self.find(key).is_some_and(|place| self.table.take(place).is_some())
    }

    fn len(&self) -> usize {
        self.table.held() as usize
    }

    fn places(&self) -> usize {
        self.table.len() as usize
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
