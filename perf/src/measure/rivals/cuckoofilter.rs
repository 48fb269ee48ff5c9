//! `cuckoofilter` 0.5.0: 8-bit fingerprints in buckets of four bytes, random-walk eviction with up to 500 kicks. The
//! crate takes a hasher, which hashes keys and fingerprints.
//!
//! An `add` that fails loses another key: the new key is stored, but the fingerprint that was evicted last is dropped.
//! The crate's comment of `add` says so, and a test in `mod.rs` checks it. So a filter is not verified after it has
//! refused a key.

use super::cuckoo::{Crate, Cuckoo, KeyOrFingerprint};
use crate::measure::slots::Slots;
use crate::model::Filling;
use anyhow::{Result, ensure};
use cuckoofilter::CuckooFilter;

type Filter = CuckooFilter<KeyOrFingerprint>;

/// Creates an empty filter; the number of slots must be a power of two.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    ensure!(filling.bits == 8, "the crate's fingerprints have 8 bits, not {}", filling.bits);
    let filter = Filter::with_capacity(filling.slots);
    let table = filter.memory_usage() - size_of::<Filter>();
    ensure!(table == filling.slots, "the crate created {table} slots");
    Ok(Box::new(Cuckoo::new(filter, filling.slots)))
}

impl Crate for Filter {
    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        self.add(&hash).is_ok()
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        Self::contains(self, &hash)
    }

    #[inline]
    fn remove(&mut self, hash: u64) -> bool {
        self.delete(&hash)
    }

    fn held(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    /// The crate replaces the fingerprint 100, which marks empty slots, by 101. So 101 has the probability 2/256, and
    /// each of the other 254 fingerprints has the probability 1/256.
    fn collision(&self) -> f64 {
        258.0 / 65_536.0
    }

    /// The crate's filter is not `Clone`, but can be exported and imported.
    fn duplicate(&self) -> Self {
        Self::from(self.export())
    }
}
