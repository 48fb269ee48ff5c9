//! Cuckoo hashing with `d` places per key.

use super::breadth_first::{DEFAULT_MAX_VISITED, checked_limit, shortest_path};
use super::hashes::{Hashes, MAX_HASHES};
use super::one_table::{OneTableSet, Variant};
use super::places::Places;
use alloc::vec::Vec;
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
pub type DAryCuckooSet = OneTableSet<DPlaces>;

/// The rule that a key stands at one of `d` places.
#[derive(Clone, Debug)]
pub struct DPlaces {
    hashes: Hashes,
    places: u64,
    choices: usize,
    max_visited: usize,
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
        let table = Places::new("places", places)?;
        let (hashes, choices) = (Hashes::new(seed), choices as usize);
        Ok(Self::empty(
            table,
            DPlaces { hashes, places, choices, max_visited: DEFAULT_MAX_VISITED },
        ))
    }

    /// Returns the same set with another limit: after an insert has visited this number of places, or a few more, it
    /// gives up. The default is 2^16.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `max_visited` is 1 to 2^28.
    pub fn with_max_visited(mut self, max_visited: usize) -> Result<Self, SpecError> {
        self.variant.max_visited = checked_limit(max_visited)?;
        Ok(self)
    }
}

impl Variant for DPlaces {
    fn places_of(&self, key: u64) -> impl Iterator<Item = u64> {
        (0..self.choices).map(move |which| self.hashes.place(which, key, self.places))
    }

    fn path(&self, table: &Places, key: u64) -> Option<Vec<u64>> {
        shortest_path(table, key, self.max_visited, |key| self.places_of(key))
    }
}
