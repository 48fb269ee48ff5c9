//! The filter: its parameters and operations.

use super::shape::{Shape, rate};
use super::slot::Slot;
use super::table::Table;
use crate::batch::{contains_each, insert_each};
use trommel_base::{Bitmap, Count, Filter, Full, Hasher, Insert, KeyHash, Remove, SpecError};

/// The quotient filter as the paper describes it; see the [module](super) for how it works.
///
/// A fingerprint is the upper `q + r` bits of a key's hash, so fingerprints have the order of their
/// hashes. Lookups, inserts, removals and counts take keys, hashes or fingerprints. With fingerprints, a paper's
/// example can be replayed and tables can be compared slot by slot.
///
/// The filter is a set ([`new`](Self::new)) or a multiset ([`new_multiset`](Self::new_multiset)). A set
/// keeps one copy for all keys that share a fingerprint: removing one of these keys removes the others
/// too. Use a multiset if keys will be removed.
///
/// Shape: `2^q` slots of `r + 3` bits.
///
/// Cost: a lookup scans a cluster from its start to the fingerprint's run. An insert also moves all remainders in
/// the slots from the new remainder's slot up to the next empty slot. On average, there are
/// `(1 + 1 / (1 − load)²) / 2` slots from a fingerprint's home up to and including the next empty slot, as in every
/// table with linear probing: 8.5 at a load of 75 % and 200 at 95 %. If only one slot is empty, that slot is half a
/// table away on average.
///
/// Source: Bender et al., "Don't thrash: how to cache your hash on flash", PVLDB 5 (2012), section 3.
///
/// ```
/// use trommel_base::{Filter, Insert, Remove};
/// use trommel_textbook::TextbookQuotientFilter;
///
/// let mut filter = TextbookQuotientFilter::new_multiset(10, 8)?;
/// filter.insert("anvil").unwrap();
/// assert!(filter.contains("anvil"));
/// assert!(filter.remove("anvil"));
/// assert!(!filter.contains("anvil"));
///
/// filter.insert_fingerprint(0b0000000011_10101010).unwrap();
/// let slot = filter.slots().nth(3).unwrap().unwrap();
/// assert_eq!(slot.remainder, 0b10101010);
/// assert!(slot.is_occupied && !slot.is_continuation && !slot.is_shifted);
/// # Ok::<(), trommel_base::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextbookQuotientFilter {
    pub(super) shape: Shape,
    pub(super) table: Table,
    pub(super) len: usize,
    pub(super) is_multiset: bool,
    pub(super) hasher: Hasher,
}

impl TextbookQuotientFilter {
    /// Creates an empty set of fingerprints with `2^quotient_bits` slots for remainders of
    /// `remainder_bits` bits.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless the quotient has 1 to 40 bits, the remainder 1 to 61, and both
    /// together at most 64; [`SpecError::OutOfMemory`] if the system refuses the table.
    pub fn new(quotient_bits: u32, remainder_bits: u32) -> Result<Self, SpecError> {
        Self::with_shape(Shape::new(quotient_bits, remainder_bits)?, false)
    }

    /// Creates an empty multiset of fingerprints. It keeps every copy, and each copy takes a slot.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn new_multiset(quotient_bits: u32, remainder_bits: u32) -> Result<Self, SpecError> {
        Self::with_shape(Shape::new(quotient_bits, remainder_bits)?, true)
    }

    pub(super) fn with_shape(shape: Shape, is_multiset: bool) -> Result<Self, SpecError> {
        let table = Table::new(shape)?;
        Ok(Self { shape, table, len: 0, is_multiset, hasher: Hasher::default() })
    }

    /// Returns the same filter with another hasher. Call this function before the first insert: lookups with
    /// the new hasher would not find keys that were inserted with the old hasher.
    #[must_use]
    pub fn with_hasher(self, hasher: Hasher) -> Self {
        Self { hasher, ..self }
    }

    /// `q`: the table has `2^q` slots.
    #[must_use]
    pub fn quotient_bits(&self) -> u32 {
        self.shape.quotient_bits
    }

    /// `r`: the number of bits of a fingerprint that a slot stores.
    #[must_use]
    pub fn remainder_bits(&self) -> u32 {
        self.shape.remainder_bits
    }

    /// `p = q + r`: the number of bits of a fingerprint.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.shape.fingerprint_bits()
    }

    /// Whether the filter keeps every copy of a fingerprint.
    #[must_use]
    pub fn is_multiset(&self) -> bool {
        self.is_multiset
    }

    /// The number of slots, which is the most fingerprints that the filter can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        // The table is in memory and takes at least four bits per slot, so a `usize` can count its slots.
        self.shape.slots() as usize
    }

    /// The share of slots that are in use, from 0 to 1.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.len as f64 / self.capacity() as f64
    }

    /// The fingerprint of a hash: its upper [`fingerprint_bits`](Self::fingerprint_bits) bits.
    #[must_use]
    pub fn fingerprint_of(&self, hash: KeyHash) -> u64 {
        self.shape.fingerprint_of(hash)
    }

    /// Iterates over all slots, from slot 0; an empty slot is `None`.
    pub fn slots(&self) -> impl Iterator<Item = Option<Slot>> + '_ {
        let slots = (0..self.shape.slots()).map(|index| self.table.get(index));
        slots.map(|slot| Some(slot).filter(|slot| !slot.is_empty()))
    }
}

impl Filter for TextbookQuotientFilter {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.contains_fingerprint(self.fingerprint_of(hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        contains_each(self, hashes, found);
    }

    fn hasher(&self) -> Hasher {
        self.hasher
    }

    fn len(&self) -> usize {
        self.len
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// For a multiset of `n` keys, returns `1 − e^(−n / 2^p) = 1 − e^(−load · 2^−r)`: the expected rate if it is not
    /// known how many keys share a fingerprint. A fingerprint has `p` bits, and a remainder has `r`. A set knows its
    /// number `d` of distinct fingerprints, so for a set, returns the exact rate `d / 2^p`. The mean of `d / 2^p` over
    /// sets of `n` keys is `1 − (1 − 2^−p)^n`, which the formula for multisets approximates.
    fn expected_fpr(&self) -> f64 {
        if self.is_multiset {
            rate(self.load(), self.remainder_bits())
        } else {
            libm::ldexp(self.len as f64, -(self.fingerprint_bits() as i32))
        }
    }
}

impl Insert for TextbookQuotientFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        self.insert_fingerprint(self.fingerprint_of(hash))
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        insert_each(self, hashes)
    }
}

impl Remove for TextbookQuotientFilter {
    /// Removes one copy of this hash's fingerprint. In a set this is the only copy, even if several keys
    /// share the fingerprint.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.remove_fingerprint(self.fingerprint_of(hash))
    }
}

impl Count for TextbookQuotientFilter {
    /// The number of copies of this hash's fingerprint: at most one in a set.
    fn count_hash(&self, hash: KeyHash) -> u64 {
        self.count_fingerprint(self.fingerprint_of(hash))
    }
}
