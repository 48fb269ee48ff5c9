//! The common wrapper of the cuckoo-filter crates. All these crates have calls for one key, and buckets of four slots.
//! The number of slots is a power of two.

use crate::measure::keys::Column;
use crate::measure::slots::Slots;
use crate::measure::subject::{Scratch, Subject, answer_each};
use anyhow::Result;
use std::fmt;
use std::hash::Hasher;
use trommel::{Bitmap, Full, KeyHash};

/// Slots per bucket.
pub(super) const BUCKET_SLOTS: usize = 4;

/// The calls of one of these crates.
pub(super) trait Crate: Sized + Send + 'static {
    /// Inserts a key. Returns false if there is no room for it. Whether another key is lost in this case depends on the
    /// crate.
    fn insert(&mut self, hash: u64) -> bool;

    fn contains(&self, hash: u64) -> bool;

    fn remove(&mut self, hash: u64) -> bool;

    /// The number of fingerprints held: one per inserted key.
    fn held(&self) -> usize;

    /// Bytes of the table. `cuckoofilter` includes the size of the filter's other fields, and `autoscale_cuckoo_filter`
    /// includes its list of fingerprints outside the table.
    fn bytes(&self) -> usize;

    /// The probability that two keys have the same fingerprint. In some crates, one fingerprint marks empty slots, and
    /// keys with this fingerprint get another one instead. The other one is then more frequent, which raises this
    /// probability.
    fn collision(&self) -> f64;

    /// Returns a copy with its own memory.
    fn duplicate(&self) -> Self;
}

/// A filter of one of these crates.
pub(super) struct Cuckoo<C> {
    filter: C,
    slots: usize,
}

impl<C> Cuckoo<C> {
    pub(super) fn new(filter: C, slots: usize) -> Self {
        Self { filter, slots }
    }
}

/// Omits the filter, because some of these crates do not implement `Debug`.
impl<C> fmt::Debug for Cuckoo<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuckoo").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// The panic message of the calls that would have to hash keys.
const BY_SLOTS_ONLY: &str =
    "the wrapper of rival cuckoo filters takes only keys that are already hashed";

impl<C: Crate> Subject for Cuckoo<C> {
    fn memory_bytes(&self) -> usize {
        self.filter.bytes()
    }

    fn load_factor(&self) -> Option<f64> {
        Some(self.filter.held() as f64 / self.slots as f64)
    }

    /// The probability that at least one of the used slots in two buckets holds the key's fingerprint. In some crates,
    /// one fingerprint is more frequent than the others. [`Crate::collision`] includes this effect; the equations in
    /// these crates ignore it.
    ///
    /// Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than
    /// Bloom", CoNEXT 2014, section 5.1.
    fn expected_fpr(&self, _keys: usize) -> Option<f64> {
        let used_slots = 2.0 * BUCKET_SLOTS as f64 * self.load_factor()?;
        Some(1.0 - (1.0 - self.filter.collision()).powf(used_slots))
    }

    fn copy(&self) -> Box<dyn Subject> {
        Box::new(Self::new(self.filter.duplicate(), self.slots))
    }

    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()> {
        for (inserted, hash) in hashes.iter().enumerate() {
            if !self.filter.insert(hash.raw()) {
                return Err(Full::new(inserted, self.filter.held(), self.slots).into());
            }
        }
        Ok(())
    }

    fn count_single(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.filter.contains(hash.raw()))).sum()
    }

    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        answer_each(hashes, answers, |hash| self.filter.contains(hash.raw()));
    }

    fn insert_keys(&mut self, _keys: &Column) -> Result<()> {
        unreachable!("{BY_SLOTS_ONLY}")
    }

    fn count_keys(&self, _keys: &Column, _scratch: &mut Scratch) -> usize {
        unreachable!("{BY_SLOTS_ONLY}")
    }

    fn answer_keys(&self, _keys: &Column, _answers: &mut Bitmap) {
        unreachable!("{BY_SLOTS_ONLY}")
    }
}

impl<C: Crate> Slots for Cuckoo<C> {
    fn held(&self) -> usize {
        self.filter.held()
    }

    fn copy_slots(&self) -> Box<dyn Slots> {
        Box::new(Self::new(self.filter.duplicate(), self.slots))
    }

    fn remove_single(&mut self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.filter.remove(hash.raw()))).sum()
    }
}

/// The hasher for crates that hash both keys and fingerprints with one hasher. A key is a `u64` that is already a hash,
/// and is passed through. Any other type is a fingerprint, which is hashed with one multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyOrFingerprint(u64);

impl Hasher for KeyOrFingerprint {
    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    #[inline]
    fn write_usize(&mut self, fingerprint: usize) {
        self.0 = offset_of(fingerprint as u64);
    }

    /// Overwrites the state, since `Hash` writes the length of a slice before its bytes.
    #[inline]
    fn write(&mut self, fingerprint: &[u8]) {
        self.0 = offset_of(fingerprint.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the 32 bits from which the distance between a fingerprint's two buckets is derived. They are the upper half
/// of a product, so that they depend on all bits of the fingerprint.
#[inline]
pub(super) fn offset_of(fingerprint: u64) -> u64 {
    // Adds 1, because fingerprint 0 would otherwise have the offset 0, with which its two buckets would be the same.
    (fingerprint + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}
