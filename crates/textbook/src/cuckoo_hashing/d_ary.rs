//! Cuckoo hashing with `d` places per key.

use super::breadth_first::{DEFAULT_MAX_VISITED, checked_limit, shortest_path};
use super::hashes::{Hashes, MAX_HASHES};
use super::places::Places;
use super::set::{CuckooSet, InsertError, Statistics};
use trommel_base::SpecError;

/// The most places that a key may have.
pub const MAX_CHOICES: u32 = MAX_HASHES as u32;

/// The d-ary cuckoo hash table: one table, `d` hash functions into it.
///
/// With two places per key, one half of the places can be taken. With `d` = 3, 4 and 5, up to 91.8 %, 97.7 % and 99.2 %
/// of the places can be taken.
///
/// Cost: a lookup reads up to `d` places. An insert searches breadth-first. The mean number of places that it visits
/// does not depend on the size of the table, but grows fast near the load limit.
///
/// Source: Fotakis, Pagh, Sanders and Spirakis, "Space efficient hash tables with worst case constant access time",
/// Theory Comput. Syst. 38 (2005). The load limits are those of Dietzfelbinger et al., "Tight thresholds for cuckoo
/// hashing via XORSAT", ICALP 2010.
#[derive(Clone, Debug)]
pub struct DAryCuckooSet {
    table: Places,
    hashes: Hashes,
    choices: usize,
    max_visited: usize,
    statistics: Statistics,
}

impl DAryCuckooSet {
    /// Creates an empty set of `places` places, with `choices` of them for each key.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `choices` is 2 to [`MAX_CHOICES`] and `places` 1 to
    /// [`MAX_PLACES`](super::MAX_PLACES); [`SpecError::OutOfMemory`] if the system refuses the table.
    pub fn new(places: u64, choices: u32, seed: u64) -> Result<Self, SpecError> {
        if !(2..=MAX_CHOICES).contains(&choices) {
            let (value, max) = (choices.into(), MAX_CHOICES.into());
            return Err(SpecError::Parameter { name: "choices", value, min: 2, max });
        }
        Ok(Self {
            table: Places::new("places", places)?,
            hashes: Hashes::new(seed),
            choices: choices as usize,
            max_visited: DEFAULT_MAX_VISITED,
            statistics: Statistics::default(),
        })
    }

    /// Returns the same set with another limit: after an insert has visited this number of places, or a few more, it
    /// gives up. The default is 2^16.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `max_visited` is 1 to 2^28.
    pub fn with_max_visited(self, max_visited: usize) -> Result<Self, SpecError> {
        Ok(Self { max_visited: checked_limit(max_visited)?, ..self })
    }

    fn places_of(&self, key: u64) -> impl Iterator<Item = u64> + '_ {
        (0..self.choices).map(move |which| self.hashes.place(which, key, self.table.len()))
    }

    fn find(&self, key: u64) -> Option<u64> {
        self.places_of(key).find(|place| self.table.get(*place) == Some(key))
    }
}

impl CuckooSet for DAryCuckooSet {
    /// # Errors
    /// [`InsertError::Full`] if the search finds no free place, or reaches its limit before it finds one.
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
