//! The standard method with a first table that is larger than the second.

use super::set::{CuckooSet, InsertError, Statistics};
use super::standard::StandardCuckooSet;
use trommel_base::SpecError;

/// The asymmetric cuckoo hash table: `m (1 + c)` places in the first table and `m (1 − c)` in the second, where `m` is
/// the mean of both sizes and `c` the asymmetry.
///
/// Compared with tables of equal size, more keys stand in the first table, where a lookup begins, and fewer inserts
/// have to displace a key. But the load limit is lower: all keys can almost always be placed while the load is below
/// `√(1 − c²) / 2`, instead of 1/2 with tables of equal size.
///
/// Source: Kutzelnigg, "An improved version of cuckoo hashing: average case analysis of construction cost and search
/// operations", Math. Comput. Sci. 3 (2010). In everything else, this set works like [`StandardCuckooSet`].
#[derive(Clone, Debug)]
pub struct AsymmetricCuckooSet(StandardCuckooSet);

impl AsymmetricCuckooSet {
    /// Creates an empty set of `2 · mean_places` places. With `k = ⌊mean_places · asymmetry⌋`, the first table
    /// has `mean_places + k` places and the second `mean_places − k`.
    ///
    /// # Errors
    /// [`SpecError::LoadOutOfRange`] unless `asymmetry` lies strictly between 0 and 1;
    /// [`SpecError::Parameter`] unless each table gets 1 to [`MAX_PLACES`](super::MAX_PLACES) places;
    /// [`SpecError::OutOfMemory`] if the system refuses the tables.
    pub fn new(mean_places: u64, asymmetry: f64, seed: u64) -> Result<Self, SpecError> {
        if !(asymmetry > 0.0 && asymmetry < 1.0) {
            return Err(SpecError::LoadOutOfRange { load: asymmetry });
        }
        let more = (mean_places as f64 * asymmetry) as u64;
        let first = mean_places.saturating_add(more);
        StandardCuckooSet::with_sizes([first, mean_places.saturating_sub(more)], seed).map(Self)
    }

    /// The number of places in each table.
    #[must_use]
    pub fn sizes(&self) -> [u64; 2] {
        self.0.sizes()
    }

    /// The number of keys in each table.
    #[must_use]
    pub fn held(&self) -> [u64; 2] {
        self.0.held()
    }
}

impl CuckooSet for AsymmetricCuckooSet {
    /// # Errors
    /// The errors of [`StandardCuckooSet`]'s insert. A rehash doubles both tables.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        self.0.insert(key)
    }

    fn contains(&self, key: u64) -> bool {
        self.0.contains(key)
    }

    fn remove(&mut self, key: u64) -> bool {
        self.0.remove(key)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn places(&self) -> usize {
        self.0.places()
    }

    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    fn statistics(&self) -> Statistics {
        self.0.statistics()
    }
}
