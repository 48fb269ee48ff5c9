//! Cuckoo hashing into buckets of several keys.

use super::breadth_first::{DEFAULT_MAX_VISITED, checked_limit, shortest_path};
use super::hashes::Hashes;
use super::one_table::{OneTableSet, Variant};
use super::places::Places;
use alloc::vec::Vec;
use core::ops::Range;
use trommel_base::SpecError;

/// The most keys that a bucket may hold.
pub const MAX_BUCKET_KEYS: u64 = 64;

/// The bucketised cuckoo hash table: one table of buckets of `b` keys, and two hash functions that each
/// give a bucket.
///
/// Up to 89.7 %, 95.9 % and 98.0 % of the places can be taken with `b` = 2, 3 and 4. A lookup reads at most two
/// buckets, and so at most two of the cache lines that hold keys, if each bucket lies within one. A lookup in a [d-ary
/// table](super::DAryCuckooSet) reads up to `d` such cache lines, one for each place.
///
/// Cost: a lookup compares up to `2b` keys. An insert searches breadth-first, starting from all places of
/// both buckets.
///
/// Source: Dietzfelbinger and Weidling, "Balanced allocation and dictionaries with tightly packed constant size bins",
/// TCS 380 (2007). The load limits are from two papers at SODA 2007, by Fernholz and Ramachandran and by Cain,
/// Sanders and Wormald.
pub type BucketCuckooSet = OneTableSet<TwoBuckets>;

/// The rule that a key stands in one of two buckets.
#[derive(Clone, Debug)]
pub struct TwoBuckets {
    hashes: Hashes,
    buckets: u64,
    bucket_keys: u64,
    max_visited: usize,
}

impl BucketCuckooSet {
    /// Creates an empty set of `buckets` buckets with `bucket_keys` places each.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `bucket_keys` is 1 to [`MAX_BUCKET_KEYS`] and the total number of
    /// places 1 to [`MAX_PLACES`](super::MAX_PLACES); [`SpecError::OutOfMemory`] if the system refuses
    /// the table.
    pub fn new(buckets: u64, bucket_keys: u64, seed: u64) -> Result<Self, SpecError> {
        if !(1..=MAX_BUCKET_KEYS).contains(&bucket_keys) {
            let (value, max) = (bucket_keys, MAX_BUCKET_KEYS);
            return Err(SpecError::Parameter { name: "bucket_keys", value, min: 1, max });
        }
        let table = Places::new("places", buckets.saturating_mul(bucket_keys))?;
        let (hashes, max_visited) = (Hashes::new(seed), DEFAULT_MAX_VISITED);
        Ok(Self::empty(table, TwoBuckets { hashes, buckets, bucket_keys, max_visited }))
    }

    /// Returns the same set with another limit on the places that an insert visits before it gives up. The
    /// default is 2^16.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `max_visited` is 1 to 2^28.
    pub fn with_max_visited(mut self, max_visited: usize) -> Result<Self, SpecError> {
        self.variant.max_visited = checked_limit(max_visited)?;
        Ok(self)
    }
}

impl TwoBuckets {
    fn buckets_of(&self, key: u64) -> [u64; 2] {
        [0, 1].map(|which| self.hashes.place(which, key, self.buckets))
    }

    fn places_in(&self, bucket: u64) -> Range<u64> {
        bucket * self.bucket_keys..(bucket + 1) * self.bucket_keys
    }
}

impl Variant for TwoBuckets {
    /// The places of both buckets of a key.
    fn places_of(&self, key: u64) -> impl Iterator<Item = u64> {
        self.buckets_of(key).into_iter().flat_map(|bucket| self.places_in(bucket))
    }

    fn path(&self, table: &Places, key: u64) -> Option<Vec<u64>> {
        shortest_path(table, key, self.max_visited, |key| self.places_of(key))
    }
}
