//! A set that keeps all its keys in one table. Its variants differ in the places of a key, and in how they search for a
//! path of displacements.

use super::places::Places;
use super::set::{CuckooSet, InsertError, Statistics};
use alloc::vec::Vec;

/// A rule for the places of keys in one table, with the search for a path.
pub trait Variant {
    /// The places at which a key may stand.
    fn places_of(&self, key: u64) -> impl Iterator<Item = u64>;

    /// The path of displacements that makes room for a key: from one of the key's places to a free place. `None` if the
    /// search finds no free place, or reaches its limit before it finds one.
    fn path(&self, table: &Places, key: u64) -> Option<Vec<u64>>;

    /// The place at which a key stands, if it is in the table.
    fn find(&self, table: &Places, key: u64) -> Option<u64> {
        self.places_of(key).find(|place| table.get(*place) == Some(key))
    }

    /// Called after a key has moved between two places. `from` is `None` if the key is new; `to` is `None` if the key
    /// was removed.
    fn moved(&mut self, _key: u64, _from: Option<u64>, _to: Option<u64>) {}

    /// The memory in bytes that the variant needs beside the table.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// A [`CuckooSet`] with one table. `V` is the variant: the rule for the places of a key, and how a new key finds one.
#[derive(Clone, Debug)]
pub struct OneTableSet<V> {
    table: Places,
    pub(super) variant: V,
    statistics: Statistics,
}

impl<V: Variant> OneTableSet<V> {
    /// Creates a set from a table without keys.
    pub(super) fn empty(table: Places, variant: V) -> Self {
        Self { table, variant, statistics: Statistics::default() }
    }
}

impl<V: Variant> CuckooSet for OneTableSet<V> {
    /// # Errors
    /// [`InsertError::Full`] if the search finds no free place, or reaches its limit before it finds one.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        let Some(path) = self.variant.path(&self.table, key) else {
            self.statistics.cycles += 1;
            return Err(InsertError::Full { len: self.len(), places: self.places() });
        };
        let moved = |key, from, to| self.variant.moved(key, Some(from), Some(to));
        self.statistics.displacements += self.table.displace_along(&path, key, moved);
        self.variant.moved(key, None, Some(path[0]));
        Ok(true)
    }

    fn contains(&self, key: u64) -> bool {
        self.variant.find(&self.table, key).is_some()
    }

    fn remove(&mut self, key: u64) -> bool {
        let Some(place) = self.variant.find(&self.table, key) else { return false };
        self.table.take(place);
        self.variant.moved(key, Some(place), None);
        true
    }

    fn len(&self) -> usize {
        self.table.held() as usize
    }

    fn places(&self) -> usize {
        self.table.len() as usize
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.variant.memory_bytes()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
