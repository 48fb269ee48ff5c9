//! Cuckoo hashing with both hash functions into one table.

use super::hashes::Hashes;
use super::one_table::{OneTableSet, Variant};
use super::places::Places;
use super::walk::walk;
use alloc::vec::Vec;
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
pub type SimplifiedCuckooSet = OneTableSet<TwoPlaces>;

/// The rule that a key stands at one of two places.
#[derive(Clone, Debug)]
pub struct TwoPlaces {
    hashes: Hashes,
    places: u64,
}

impl SimplifiedCuckooSet {
    /// Creates an empty set of `places` places.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `places` is 1 to [`MAX_PLACES`](super::MAX_PLACES);
    /// [`SpecError::OutOfMemory`] if the system refuses the table.
    pub fn new(places: u64, seed: u64) -> Result<Self, SpecError> {
        let table = Places::new("places", places)?;
        Ok(Self::empty(table, TwoPlaces { hashes: Hashes::new(seed), places }))
    }
}

impl TwoPlaces {
    fn both(&self, key: u64) -> [u64; 2] {
        [0, 1].map(|which| self.hashes.place(which, key, self.places))
    }

    fn other(&self, place: u64, key: u64) -> u64 {
        let [first, second] = self.both(key);
        first + second - place
    }
}

impl Variant for TwoPlaces {
    fn places_of(&self, key: u64) -> impl Iterator<Item = u64> {
        self.both(key).into_iter()
    }

    fn path(&self, table: &Places, key: u64) -> Option<Vec<u64>> {
        let next = |place| table.get(place).map(|key| self.other(place, key));
        self.places_of(key).find_map(|start| walk(start, table.len(), next))
    }
}
