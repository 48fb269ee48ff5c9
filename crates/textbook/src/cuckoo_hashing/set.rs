//! The trait that all sets implement, its statistics and its error.

use core::fmt;

/// An exact set of 64-bit keys.
///
/// ```
/// use trommel_textbook::cuckoo_hashing::{CuckooSet, StandardCuckooSet};
///
/// let mut set = StandardCuckooSet::new(1000, 1)?;
/// assert_eq!(set.insert(7), Ok(true));
/// assert_eq!(set.insert(7), Ok(false));
/// assert!(set.contains(7) && !set.contains(8));
/// assert!(set.remove(7) && !set.remove(7));
/// # Ok::<(), trommel_base::SpecError>(())
/// ```
pub trait CuckooSet {
    /// Inserts a key; returns false if it was in the set already.
    ///
    /// # Errors
    /// [`InsertError`] if the key cannot be placed; the set keeps exactly the keys that it had.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError>;

    /// Whether the key is in the set.
    fn contains(&self, key: u64) -> bool;

    /// Removes a key; returns false if it was not in the set.
    fn remove(&mut self, key: u64) -> bool;

    /// The number of keys in the set.
    fn len(&self) -> usize;

    /// Whether the set has no keys.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of places in the tables, without the places of a stash and of overflow chains.
    fn places(&self) -> usize;

    /// Keys per place: from 0 to 1, or more with a stash or overflow chains.
    fn load(&self) -> f64 {
        self.len() as f64 / self.places() as f64
    }

    /// Memory in bytes: the tables, and any hints, stash or overflow chains.
    fn memory_bytes(&self) -> usize;

    /// The cost of all inserts so far.
    fn statistics(&self) -> Statistics;
}

/// The cost of a set's inserts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// How many times a key was moved from one place to another.
    pub displacements: u64,
    /// The number of inserts, including those of a rehash, that found no free place, or reached a limit before they
    /// found one.
    pub cycles: u64,
    /// How many times new tables were made for all keys.
    pub rehashes: u64,
}

/// A key could not be placed. The set keeps exactly the keys that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// No free place could be reached.
    Full {
        /// The number of keys in the set.
        len: usize,
        /// The number of places in the set's tables.
        places: usize,
    },
    /// The system refused memory that the set needed to grow. Also returned if the overflow chains of a
    /// [`DensityCuckooSet`](super::DensityCuckooSet) have 2^32 − 1 keys already.
    OutOfMemory {
        /// The bytes requested.
        bytes: u64,
    },
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { len, places } => {
                write!(f, "no free place could be reached: {len} keys in {places} places")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "the set cannot grow: the system refused {bytes} bytes of memory")
            }
        }
    }
}

impl core::error::Error for InsertError {}
