//! Packed entries, and the operations on the two buckets of a fingerprint.

use super::shape::{MAX_BUCKET_ENTRIES, MAX_FINGERPRINT_BITS, check};
use trommel_base::{SpecError, Storage};

/// The number of bytes that are read or written to access one entry. An entry has up to 32 bits and can start at any
/// bit of a byte, so it can span five bytes.
const WINDOW_BYTES: usize = size_of::<u64>();

/// The value of a free entry. No fingerprint is 0.
const FREE: u32 = 0;

/// The position of an entry: its bucket, and its index in the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bucket.
    pub bucket: u64,
    /// The index in the bucket, below the number of entries per bucket.
    pub index: u32,
}

/// Buckets of fingerprints. This type computes no hashes: the caller gives the buckets of each fingerprint. So an
/// example from a paper can be replayed with any number of buckets.
///
/// Shape: with `b` entries per bucket and `f` bits per fingerprint, entry `j` of bucket `i` takes the `f` bits from bit
/// `(i·b + j)·f` of the little-endian bytes. Eight more bytes follow, so that even the last entry can be read as part
/// of a 64-bit word.
#[derive(Clone, Debug)]
pub struct Buckets {
    bytes: Storage,
    buckets: u64,
    bucket_entries: u32,
    fingerprint_bits: u32,
}

impl Buckets {
    /// Creates buckets whose entries are all free.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless there are 1 to 2^32 buckets, each with 1 to 8 entries of 1 to 32 bits;
    /// [`SpecError::OutOfMemory`] if the system refuses the table.
    pub fn new(
        buckets: u64,
        bucket_entries: u32,
        fingerprint_bits: u32,
    ) -> Result<Self, SpecError> {
        const MAX_BUCKETS: u64 = 1 << super::MAX_BUCKET_BITS;
        if !(1..=MAX_BUCKETS).contains(&buckets) {
            let (min, max) = (1, MAX_BUCKETS);
            return Err(SpecError::Parameter { name: "buckets", value: buckets, min, max });
        }
        check("bucket_entries", bucket_entries, MAX_BUCKET_ENTRIES)?;
        check("fingerprint_bits", fingerprint_bits, MAX_FINGERPRINT_BITS)?;
        let bits = buckets * u64::from(bucket_entries) * u64::from(fingerprint_bits);
        let bytes = bits.div_ceil(8) + WINDOW_BYTES as u64;
        let refused = SpecError::OutOfMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| refused)?;
        let bytes = Storage::zeroed(len, false).map_err(|_| refused)?;
        Ok(Self { bytes, buckets, bucket_entries, fingerprint_bits })
    }

    /// The bytes of the table.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of entries per bucket.
    #[must_use]
    pub fn bucket_entries(&self) -> u32 {
        self.bucket_entries
    }

    /// Iterates over all entries, from bucket 0; a free entry is `None`.
    pub fn entries(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        let all = (0..self.buckets).flat_map(|bucket| self.entries_of(bucket));
        all.map(|entry| Some(self.get(entry)).filter(|held| *held != FREE))
    }

    /// Whether the fingerprint is in one of the buckets.
    ///
    /// # Panics
    /// If the lookup reads a bucket that does not exist. For a fingerprint that is 0 or too long, it reads no bucket,
    /// so it never panics.
    #[must_use]
    pub fn contains(&self, fingerprint: u32, buckets: [u64; 2]) -> bool {
        self.copies(fingerprint, buckets).next().is_some()
    }

    /// The number of copies of the fingerprint in its two buckets, which can be the same bucket.
    ///
    /// # Panics
    /// If the count reads a bucket that does not exist. For a fingerprint that is 0 or too long, it reads no bucket,
    /// so it never panics.
    #[must_use]
    pub fn count(&self, fingerprint: u32, buckets: [u64; 2]) -> u32 {
        self.copies(fingerprint, buckets).count() as u32
    }

    /// Removes one copy of the fingerprint from its buckets; returns false if there is none.
    ///
    /// # Panics
    /// If the removal reads a bucket that does not exist. For a fingerprint that is 0 or too long, it reads no bucket,
    /// so it never panics.
    pub fn remove(&mut self, fingerprint: u32, buckets: [u64; 2]) -> bool {
        let held = self.copies(fingerprint, buckets).next();
        let Some(entry) = held else { return false };
        self.set(entry, FREE);
        true
    }

    /// The first free entry of a bucket.
    pub(super) fn free_entry(&self, bucket: u64) -> Option<Entry> {
        self.entries_of(bucket).find(|entry| self.get(*entry) == FREE)
    }

    /// Writes a fingerprint to an entry and returns the entry's previous value.
    pub(super) fn swap(&mut self, entry: Entry, fingerprint: u32) -> u32 {
        let before = self.get(entry);
        self.set(entry, fingerprint);
        before
    }

    /// Whether the value cannot be a fingerprint in these buckets, because it is 0 or too long.
    pub(super) fn is_impossible(&self, fingerprint: u32) -> bool {
        fingerprint == FREE || u64::from(fingerprint) > self.mask()
    }

    /// The entries, in two buckets, that hold the fingerprint. Each entry is listed once, even if both buckets are the
    /// same. An impossible fingerprint is in no entry: in particular, 0 does not match free entries.
    fn copies(
        &self,
        fingerprint: u32,
        [first, second]: [u64; 2],
    ) -> impl Iterator<Item = Entry> + '_ {
        let others = (first != second).then(|| self.entries_of(second));
        let all = self.entries_of(first).chain(others.into_iter().flatten());
        let is_possible = !self.is_impossible(fingerprint);
        all.filter(move |entry| is_possible && self.get(*entry) == fingerprint)
    }

    fn entries_of(&self, bucket: u64) -> impl Iterator<Item = Entry> + use<> {
        (0..self.bucket_entries).map(move |index| Entry { bucket, index })
    }

    fn get(&self, entry: Entry) -> u32 {
        let (byte, bit) = self.position_of(entry);
        (self.window(byte) >> bit & self.mask()) as u32
    }

    fn set(&mut self, entry: Entry, fingerprint: u32) {
        let (byte, bit) = self.position_of(entry);
        let others = self.window(byte) & !(self.mask() << bit);
        let window = others | u64::from(fingerprint) << bit;
        self.bytes[byte..byte + WINDOW_BYTES].copy_from_slice(&window.to_le_bytes());
    }

    /// The byte in which an entry begins, and the bit of that byte at which the entry begins.
    fn position_of(&self, entry: Entry) -> (usize, u32) {
        assert!(entry.bucket < self.buckets, "bucket {} of {}", entry.bucket, self.buckets);
        let entries_before = entry.bucket * u64::from(self.bucket_entries) + u64::from(entry.index);
        let bit = entries_before * u64::from(self.fingerprint_bits);
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    fn window(&self, byte: usize) -> u64 {
        let mut window = [0; WINDOW_BYTES];
        window.copy_from_slice(&self.bytes[byte..byte + WINDOW_BYTES]);
        u64::from_le_bytes(window)
    }

    fn mask(&self) -> u64 {
        (1 << self.fingerprint_bits) - 1
    }
}
