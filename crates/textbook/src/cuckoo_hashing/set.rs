//! What all sets can do, and what they count.

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
    /// Puts a key in; false if it was there.
    ///
    /// # Errors
    /// [`InsertError`] if it finds no place; the set holds what it held.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError>;

    /// Whether the key is in the set.
    fn contains(&self, key: u64) -> bool;

    /// Takes a key out; false if it was not there.
    fn remove(&mut self, key: u64) -> bool;

    /// Keys in the set.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places of the tables, without a stash or overflow chains.
    fn places(&self) -> usize;

    /// Keys a place: from 0 to 1, and more with overflow chains.
    fn load(&self) -> f64 {
        self.len() as f64 / self.places() as f64
    }

    /// Bytes of the tables and of what stands beside them.
    fn memory_bytes(&self) -> usize;

    /// What all inserts so far have cost.
    fn statistics(&self) -> Statistics;
}

/// What inserts have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Keys that were moved from one place to another.
    pub displacements: u64,
    /// Inserts that found no end: those that cycle, and those given up because of a limit.
    pub cycles: u64,
    /// How often all keys were put into new tables.
    pub rehashes: u64,
}

/// A key found no place. The set holds what it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// No place within reach.
    Full {
        /// Keys in the set.
        len: usize,
        /// Places of its tables.
        places: usize,
    },
    /// The system refused memory to grow.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { len, places } => {
                write!(f, "no place within reach: {len} keys in {places} places")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "to grow the set, the system refused {bytes} bytes of memory")
            }
        }
    }
}

impl core::error::Error for InsertError {}
