//! The filter: its parameters and operations.

use super::buckets::Buckets;
use super::kick::Kicks;
use super::shape::{Shape, rate};
use crate::batch::{contains_each, insert_each};
use trommel_base::{
    Bitmap, Count, Filter, Full, Hasher, Insert, KeyHash, Remove, SpecError, WhyFull,
};

/// The cuckoo filter as the paper describes it; see the [module](super) for how it works.
///
/// The filter keeps every copy of a fingerprint. There can be `2b` copies, since two buckets of `b` entries have `2b`
/// entries. For about one key in `m` (`m` is the number of buckets), the primary and the alternate bucket are the same,
/// and there can be only `b` copies.
///
/// Shape: the number of buckets is a power of two; a bucket has `b` entries of `f` bits.
///
/// Cost: a lookup reads one or two buckets; an insert reads two, and one more for each kick.
///
/// Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than Bloom", CoNEXT 2014. As in
/// the paper, fingerprints are 1 to `2^f − 1`, since 0 marks a free entry. In this implementation, all of these values
/// are almost equally likely.
///
/// Limits: a table for `n` keys needs fingerprints of about `log2(n) / (2b)` bits or more. With fewer bits, too many
/// keys share both of their buckets (section 4 of the paper). With enough bits, a table reaches the loads of the paper:
/// 50 %, 84 % and 95 % for `b` = 1, 2 and 4.
///
/// ```
/// use trommel_base::{Filter, Insert, Remove};
/// use trommel_textbook::TextbookCuckooFilter;
///
/// // 2^10 buckets of 4 entries of 8 bits.
/// let mut filter = TextbookCuckooFilter::new(10, 4, 8)?;
/// filter.insert("anvil").unwrap();
/// assert!(filter.contains("anvil"));
/// assert!(filter.remove("anvil"));
/// assert!(!filter.contains("anvil"));
/// # Ok::<(), trommel_base::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextbookCuckooFilter {
    shape: Shape,
    buckets: Buckets,
    kicks: Kicks,
    len: usize,
    hasher: Hasher,
}

impl TextbookCuckooFilter {
    /// Creates an empty filter of `2^bucket_bits` buckets. Each has `bucket_entries` entries for
    /// fingerprints of `fingerprint_bits` bits.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless `bucket_bits` is 1 to 32, `bucket_entries` 1 to 8 and
    /// `fingerprint_bits` 1 to 32; [`SpecError::OutOfMemory`] if the system refuses the table.
    pub fn new(
        bucket_bits: u32,
        bucket_entries: u32,
        fingerprint_bits: u32,
    ) -> Result<Self, SpecError> {
        let shape = Shape::new(bucket_bits, bucket_entries, fingerprint_bits)?;
        let buckets = Buckets::new(shape.buckets(), bucket_entries, fingerprint_bits)?;
        let kicks = Kicks::default();
        Ok(Self { shape, buckets, kicks, len: 0, hasher: Hasher::default() })
    }

    /// Returns the same filter with another kick limit and seed for the inserts to come.
    #[must_use]
    pub fn with_kicks(self, kicks: Kicks) -> Self {
        Self { kicks, ..self }
    }

    /// Returns the same filter with another hasher. Call this function before the first insert: lookups with
    /// the new hasher would not find keys that were inserted with the old hasher.
    #[must_use]
    pub fn with_hasher(self, hasher: Hasher) -> Self {
        Self { hasher, ..self }
    }

    /// The number of entries. Inserts usually begin to fail before all entries are taken.
    #[must_use]
    pub fn capacity(&self) -> usize {
        // On a 32-bit machine, a table of short entries can have more entries than a `usize` can count.
        let entries = self.shape.buckets() * u64::from(self.shape.bucket_entries);
        usize::try_from(entries).unwrap_or(usize::MAX)
    }

    /// The share of entries that are taken, from 0 to 1.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.len as f64 / self.capacity() as f64
    }

    /// The number of kicks by all inserts since the filter was made, or since [`with_kicks`](Self::with_kicks) was last
    /// called. Includes kicks that were undone.
    #[must_use]
    pub fn kicks(&self) -> u64 {
        self.kicks.total()
    }

    /// The fingerprint of a hash: from 1 to `2^f − 1`.
    #[must_use]
    pub fn fingerprint_of(&self, hash: KeyHash) -> u32 {
        self.shape.fingerprint_of(hash)
    }

    /// The primary and the alternate bucket of a hash.
    #[must_use]
    pub fn buckets_of(&self, hash: KeyHash) -> [u64; 2] {
        let primary = self.shape.primary_of(hash);
        [primary, self.shape.alternate(primary, self.fingerprint_of(hash))]
    }

    /// Iterates over all entries, from bucket 0; a free entry is `None`.
    pub fn entries(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.buckets.entries()
    }

    /// The number of entries in the two buckets, and so the most copies of a fingerprint.
    fn max_copies(&self, [first, second]: [u64; 2]) -> u32 {
        if first == second { self.shape.bucket_entries } else { 2 * self.shape.bucket_entries }
    }
}

impl Filter for TextbookCuckooFilter {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.buckets.contains(self.fingerprint_of(hash), self.buckets_of(hash))
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
        self.buckets.memory_bytes()
    }

    /// `1 − (1 − load / (2^f − 1))^2b`: each of the `2b` entries is taken with probability `load`, and a
    /// taken entry matches with probability `1 / (2^f − 1)`. For a full table the paper has
    /// `1 − (1 − 2^−f)^2b`, which also counts the value 0 of free entries as a fingerprint.
    fn expected_fpr(&self) -> f64 {
        rate(self.shape.bucket_entries, self.load() / self.shape.fingerprints() as f64)
    }
}

impl Insert for TextbookCuckooFilter {
    /// Inserts one more copy of this hash's fingerprint.
    ///
    /// # Errors
    /// [`Full`] if both buckets hold nothing but this fingerprint, or if the kick limit was reached before a free entry
    /// was found. In the second case, the kicks are undone.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        let (fingerprint, buckets) = (self.fingerprint_of(hash), self.buckets_of(hash));
        let full = Full::new(0, self.len, self.capacity());
        let max = self.max_copies(buckets);
        if self.buckets.count(fingerprint, buckets) == max {
            return Err(full.because(WhyFull::Copies { max }));
        }
        let shape = self.shape;
        let alternate = |bucket, fingerprint| shape.alternate(bucket, fingerprint);
        if !self.buckets.insert(fingerprint, buckets[0], &mut self.kicks, alternate) {
            return Err(full);
        }
        self.len += 1;
        Ok(true)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        insert_each(self, hashes)
    }
}

impl Remove for TextbookCuckooFilter {
    /// Removes one copy of this hash's fingerprint. The copy can come from another key with the same
    /// fingerprint and buckets: the filter cannot tell such keys apart.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let is_removed = self.buckets.remove(self.fingerprint_of(hash), self.buckets_of(hash));
        self.len -= usize::from(is_removed);
        is_removed
    }
}

impl Count for TextbookCuckooFilter {
    /// The number of copies of this hash's fingerprint in its buckets.
    fn count_hash(&self, hash: KeyHash) -> u64 {
        self.buckets.count(self.fingerprint_of(hash), self.buckets_of(hash)).into()
    }
}
