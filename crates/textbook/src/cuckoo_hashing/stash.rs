//! Two tables, and a stash of a few places beside them.

use super::hashes::Hashes;
use super::set::{CuckooSet, InsertError, Statistics};
use super::two_tables::TwoTables;
use super::walk::walk;
use alloc::vec::Vec;
use trommel_base::SpecError;

/// The most places that a stash may have. A lookup of an absent key reads all keys in the stash.
pub const MAX_STASH: usize = 64;

/// The cuckoo hash table with a stash: a key that cannot be placed in the tables goes to the stash, which
/// has a constant number `s` of places.
///
/// Even below its load limit, a table sometimes cannot place a key. A stash makes such failures rarer: it lowers the
/// probability that any of `n` inserts fails from `O(1/n)` to `O(1/n^(s + 1))`. The load limit stays one half.
///
/// Cost: a lookup reads two places, and the stash if the key is in neither place.
///
/// Source: Kirsch, Mitzenmacher and Wieder, "More robust hashing: cuckoo hashing with a stash", SIAM J. Comput. 39
/// (2010), sections 2 and 3. After a removal from the tables, this implementation moves one stashed key into the
/// tables, if any stashed key can be placed there. If a new key cannot be placed in the tables, the new key itself goes
/// to the stash, not the key that is left over after displacements.
#[derive(Clone, Debug)]
pub struct StashCuckooSet {
    tables: TwoTables,
    stash: Vec<u64>,
    stash_places: usize,
    statistics: Statistics,
}

impl StashCuckooSet {
    /// Creates an empty set of two tables with `places` places each, and a stash of `stash_places` places.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless each table has 1 to [`MAX_PLACES`](super::MAX_PLACES) places and the
    /// stash at most [`MAX_STASH`]; [`SpecError::OutOfMemory`] if the system refuses the tables.
    pub fn new(places: u64, stash_places: usize, seed: u64) -> Result<Self, SpecError> {
        if stash_places > MAX_STASH {
            let (value, max) = (stash_places as u64, MAX_STASH as u64);
            return Err(SpecError::Parameter { name: "stash_places", value, min: 0, max });
        }
        let tables = TwoTables::new([places, places], Hashes::new(seed))?;
        let stash = Vec::with_capacity(stash_places);
        Ok(Self { tables, stash, stash_places, statistics: Statistics::default() })
    }

    /// The number of keys in the stash.
    #[must_use]
    pub fn stashed(&self) -> usize {
        self.stash.len()
    }

    /// Puts a key into the tables; returns false if it cannot be placed there.
    fn place(&mut self, key: u64) -> bool {
        let tables = &self.tables;
        let max_displacements = tables.places() as u64;
        let next = |spot| tables.get(spot).map(|key| tables.other(spot, key));
        let mut starts = tables.spots(key).into_iter();
        let Some(path) = starts.find_map(|start| walk(start, max_displacements, next)) else {
            return false;
        };
        self.statistics.displacements += self.tables.displace_along(&path, key);
        true
    }
}

impl CuckooSet for StashCuckooSet {
    /// # Errors
    /// [`InsertError::Full`] if the key cannot be placed and the stash is full.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        if self.place(key) {
            return Ok(true);
        }
        self.statistics.cycles += 1;
        if self.stash.len() == self.stash_places {
            return Err(InsertError::Full { len: self.len(), places: self.places() });
        }
        self.stash.push(key);
        Ok(true)
    }

    fn contains(&self, key: u64) -> bool {
        self.tables.find(key).is_some() || self.stash.contains(&key)
    }

    fn remove(&mut self, key: u64) -> bool {
        if let Some(spot) = self.tables.find(key) {
            self.tables.take(spot);
            // The removal makes room for one more key in the removed key's component of the cuckoo graph (see
            // `mod.rs`). If the removal splits the component, at least one of the two parts has room. A stashed key
            // can be placed if one of its two places is in a part with room.
            let stashed = self.stash.clone();
            let is_placed = stashed.iter().position(|stashed| self.place(*stashed));
            is_placed.map(|index| self.stash.swap_remove(index));
            return true;
        }
        let stashed = self.stash.iter().position(|stashed| *stashed == key);
        stashed.map(|index| self.stash.swap_remove(index)).is_some()
    }

    fn len(&self) -> usize {
        let [first, second] = self.tables.held();
        (first + second) as usize + self.stash.len()
    }

    fn places(&self) -> usize {
        self.tables.places()
    }

    fn memory_bytes(&self) -> usize {
        self.tables.memory_bytes() + self.stash.capacity() * size_of::<u64>()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
