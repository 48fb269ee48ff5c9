//! `cuckoofilter` 0.5.0: 8-bit fingerprints in buckets of four bytes, random walks of 500 kicks. It takes
//! a hasher, which gets keys and fingerprints.
//!
//! An add that fails drops another key: the new one is in, and the fingerprint that the walk held last is
//! gone (said in the comment of `add`, and seen by the test in this folder). So a filter that refused a
//! key is asked nothing afterwards.

use super::cuckoo::{Crate, Cuckoo, KeyOrFingerprint};
use crate::plan::Filling;
use crate::slots::Slots;
use anyhow::{Result, ensure};
use cuckoofilter::CuckooFilter;

type Filter = CuckooFilter<KeyOrFingerprint>;

/// An empty filter of a power of two of slots.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    ensure!(filling.bits == 8, "its fingerprints have 8 bits, not {}", filling.bits);
    let filter = Filter::with_capacity(filling.slots);
    let table = filter.memory_usage() - size_of::<Filter>();
    ensure!(table == filling.slots, "it made {table} slots");
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

    /// 100 becomes 101.
    fn collision(&self) -> f64 {
        258.0 / 65_536.0
    }

    /// It has no copy, but a form for export.
    fn duplicate(&self) -> Self {
        Self::from(self.export())
    }
}
