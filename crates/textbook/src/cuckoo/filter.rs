//! The filter: its parameters, and what it can do.

use super::buckets::Buckets;
use super::kick::Kicks;
use super::shape::{Shape, rate};
use trommel_base::{
    Bitmap, Count, Filter, Full, Hasher, Insert, KeyHash, Remove, SpecError, WhyFull,
};

/// The cuckoo filter as it is taught; see the [module](super) for how it works.
///
/// It keeps every copy of a fingerprint, at most `2b` of them, which is what two buckets hold (`b` if
/// both are the same bucket, as for one key in as many as there are buckets).
///
/// Shape: a power of two of buckets of `b` entries of `f` bits.
///
/// Cost: a lookup reads two buckets; an insert two and one more for each kick.
///
/// Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than Bloom",
/// CoNEXT 2014. Fingerprints are 1 to `2^f − 1` there too, since 0 is a free entry; they are drawn
/// evenly here.
///
/// Valid to: fingerprints need more bits the more buckets there are, about `log2(n) / (2b)`, or else
/// too many keys share both buckets (section 4). The loads that can be reached then are those of the paper:
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
    /// An empty filter of `2^bucket_bits` buckets of `bucket_entries` fingerprints of
    /// `fingerprint_bits`.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless a bucket's number has 1 to 32 bits, a bucket 1 to 8 entries and a
    /// fingerprint 1 to 32 bits; [`SpecError::OutOfMemory`] if the system refuses the table.
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

    /// The same filter with another way to kick from now on.
    #[must_use]
    pub fn with_kicks(self, kicks: Kicks) -> Self {
        Self { kicks, ..self }
    }

    /// The same filter with another hasher, for keys that go in from now on: keys that are in already
    /// would not be found by it.
    #[must_use]
    pub fn with_hasher(self, hasher: Hasher) -> Self {
        Self { hasher, ..self }
    }

    /// The number of entries. A filter is full before all of them are taken.
    #[must_use]
    pub fn capacity(&self) -> usize {
        // On a machine of 32 bits, a table of entries of a few bits can have more than it can count.
        let entries = self.shape.buckets() * u64::from(self.shape.bucket_entries);
        usize::try_from(entries).unwrap_or(usize::MAX)
    }

    /// The share of entries that are taken, from 0 to 1.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.len as f64 / self.capacity() as f64
    }

    /// Kicks of all inserts so far, those that were undone included.
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

    /// The table entry by entry, from bucket 0; `None` where an entry is free.
    pub fn entries(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.buckets.entries()
    }

    /// Entries of the two buckets, which is the most copies of a fingerprint.
    fn reach(&self, [first, second]: [u64; 2]) -> u32 {
        if first == second { self.shape.bucket_entries } else { 2 * self.shape.bucket_entries }
    }
}

impl Filter for TextbookCuckooFilter {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.buckets.contains(self.fingerprint_of(hash), self.buckets_of(hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        found.reset(hashes.len());
        for (i, hash) in hashes.iter().enumerate() {
            if self.contains_hash(*hash) {
                found.set(i);
            }
        }
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

    /// `1 − (1 − load / (2^f − 1))^2b`: each of `2b` entries is taken with the probability `load`, and
    /// matches with that of one fingerprint. In a full table, the paper's `1 − (1 − 2^−f)^2b` but for the
    /// fingerprint that stands for a free entry.
    fn expected_fpr(&self) -> f64 {
        rate(self.shape.bucket_entries, self.load() / self.shape.fingerprints() as f64)
    }
}

impl Insert for TextbookCuckooFilter {
    /// Puts one more copy of the fingerprint of this hash in.
    ///
    /// # Errors
    /// [`Full`] if both buckets hold nothing but this fingerprint, or if no entry was found within the
    /// limit of kicks: all of them are undone.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        let (fingerprint, buckets) = (self.fingerprint_of(hash), self.buckets_of(hash));
        let full = Full::new(0, self.len, self.capacity());
        let max = self.reach(buckets);
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
        for (inserted, hash) in hashes.iter().enumerate() {
            self.insert_hash(*hash)
                .map_err(|full| Full::new(inserted, full.len, full.capacity).because(full.why))?;
        }
        Ok(())
    }
}

impl Remove for TextbookCuckooFilter {
    /// Removes one copy of the fingerprint of this hash, whichever key with the same fingerprint and
    /// buckets it came from: all of them look alike.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let is_removed = self.buckets.remove(self.fingerprint_of(hash), self.buckets_of(hash));
        self.len -= usize::from(is_removed);
        is_removed
    }
}

impl Count for TextbookCuckooFilter {
    /// Copies of the fingerprint of this hash in its buckets.
    fn count_hash(&self, hash: KeyHash) -> u64 {
        self.buckets.count(self.fingerprint_of(hash), self.buckets_of(hash)).into()
    }
}
