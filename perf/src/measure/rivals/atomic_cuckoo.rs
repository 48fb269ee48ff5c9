//! `atomic-cuckoo-filter` 0.3.0: fingerprints packed in atomic words, in buckets of four. Fingerprints of 8 and 16 bits
//! are measured; the crate also has fingerprints of 4 and 32 bits. All operations of the crate are safe for concurrent
//! use and pay for this on one thread too. The filter takes a hasher, which hashes keys and fingerprints.
//!
//! An insert plans its evictions, at most 500, before it moves anything, so a failed insert changes nothing. According
//! to the crate's source, `from_bytes` first allocates the capacity that the header states, and only afterwards
//! compares this capacity with the number of bytes that follow. So it must not be given untrusted bytes. Here
//! `from_bytes` reads only bytes that `to_bytes` wrote, to copy a filter: the crate has no other call with which a
//! filter can be copied.

use super::Size;
use super::cuckoo::{Crate, Cuckoo, KeyOrFingerprint};
use super::parallel::Shared;
use crate::measure::slots::Slots;
use crate::model::Filling;
use anyhow::{Context as _, Result, ensure};
use atomic_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};

type Filter = CuckooFilter<KeyOrFingerprint>;

/// Creates an empty filter; the number of slots must be a power of two.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    let filter = CuckooFilterBuilder::<KeyOrFingerprint>::default()
        .capacity(filling.slots)
        .fingerprint_size(filling.bits as usize)
        .build()?;
    ensure!(filter.capacity() == filling.slots, "the crate created {} slots", filter.capacity());
    Ok(Box::new(Cuckoo::new(Table { filter, bits: filling.bits }, filling.slots)))
}

/// A filter and the width of its fingerprints, which the crate does not report.
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

    /// The fingerprint 0 does not occur; all others are equally likely.
    fn collision(&self) -> f64 {
        1.0 / f64::from((1u32 << self.bits) - 1)
    }

    fn duplicate(&self) -> Self {
        let filter = Filter::from_bytes(&self.filter.to_bytes());
        Self { filter: filter.expect("a filter reads what it wrote"), bits: self.bits }
    }
}

/// Creates a filter that threads share. It has slots for the keys at a load of at most 95 %; the crate rounds the
/// number of slots up to a power of two.
pub(super) fn shared(size: &Size) -> Result<impl Shared + use<>> {
    let fpr = size.fpr.context("atomic-cuckoo-filter is sized by a false-positive rate")?;
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
