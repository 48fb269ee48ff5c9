//! `atomic-cuckoo-filter` 0.3.0: fingerprints of 8 or 16 bits packed in atomic words, in buckets of four,
//! for many threads at a time; one thread uses it here, but for the rows of several. It takes a hasher, which gets keys and
//! fingerprints.
//!
//! An insert plans its evictions, at most 500, before it moves anything: one that fails changes nothing.
//! By reading, not by trying: `from_bytes` allocates what the header's capacity says before it compares that
//! with the bytes that follow, so it must not be given bytes of others. Here it gets its own, as it has no
//! other way to be copied.

use super::Size;
use super::cuckoo::{Crate, Cuckoo, KeyOrFingerprint};
use super::parallel::Shared;
use crate::plan::Filling;
use crate::slots::Slots;
use anyhow::{Context as _, Result, ensure};
use atomic_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};

type Filter = CuckooFilter<KeyOrFingerprint>;

/// An empty filter of a power of two of slots.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    let filter = CuckooFilterBuilder::<KeyOrFingerprint>::default()
        .capacity(filling.slots)
        .fingerprint_size(filling.bits as usize)
        .build()?;
    ensure!(filter.capacity() == filling.slots, "it made {} slots", filter.capacity());
    Ok(Box::new(Cuckoo::new(Table { filter, bits: filling.bits }, filling.slots)))
}

/// A filter, which does not tell the width of its fingerprints.
struct Table {
    filter: Filter,
    bits: u32,
}

impl Crate for Table {
    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        self.filter.insert(&hash).is_ok()
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.filter.contains(&hash)
    }

    #[inline]
    fn remove(&mut self, hash: u64) -> bool {
        self.filter.remove(&hash)
    }

    fn held(&self) -> usize {
        self.filter.len()
    }

    fn bytes(&self) -> usize {
        self.filter.capacity() * self.bits as usize / 8
    }

    /// All values but 0, alike often.
    fn collision(&self) -> f64 {
        1.0 / f64::from((1u32 << self.bits) - 1)
    }

    fn duplicate(&self) -> Self {
        let filter = Filter::from_bytes(&self.filter.to_bytes());
        Self { filter: filter.expect("a filter reads what it wrote"), bits: self.bits }
    }
}

/// A filter that threads share, of as many slots as 95 % of which take the keys, rounded up by it to a power
/// of two.
pub(super) fn shared(size: &Size) -> Result<impl Shared + use<>> {
    let fpr = size.fpr.context("atomic-cuckoo-filter is sized by a rate")?;
    let bits = -fpr.log2().round() as i32 as u32;
    let filter = CuckooFilterBuilder::<KeyOrFingerprint>::default()
        .capacity((size.keys * 20).div_ceil(19))
        .fingerprint_size(bits as usize)
        .build()?;
    Ok(Table { filter, bits })
}

impl Shared for Table {
    fn bytes(&self) -> usize {
        Crate::bytes(self)
    }

    fn load_factor(&self) -> Option<f64> {
        Some(self.filter.len() as f64 / self.filter.capacity() as f64)
    }

    #[inline]
    fn insert(&self, hash: u64) -> bool {
        self.filter.insert(&hash).is_ok()
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.filter.contains(&hash)
    }

    fn clear(&mut self) {
        self.filter.clear();
    }
}
