//! `autoscale_cuckoo_filter` 0.5.27: fingerprints of any width packed in buckets of four, random walks of
//! 512 kicks. It takes hashes; its hasher gets fingerprints alone. Its batched lookup is a loop over the
//! single one.
//!
//! It never refuses a key: what a walk leaves over goes to a list, and then a second, larger table is
//! added, with which the filter has other slots, bytes and rates. So it counts as full from there on.
//! Keys whose fingerprint is 0, one of 256 at 8 bits, are kept in the same list, sorted, of 16 bytes each:
//! every insert of one moves half of the others. At 2^27 slots that would be half a million inserts that
//! move 4 MB each, so the crate is measured up to 2^24 slots at 8 bits.

use super::cuckoo::{Crate, Cuckoo, offset_of};
use crate::plan::Filling;
use crate::slots::Slots;
use anyhow::{Result, ensure};
use autoscale_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};
use std::hash::Hasher;

type Filter = CuckooFilter<u64, Fingerprint>;

/// An empty filter of a power of two of slots.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    // Half of the rate is its first table's, which compares eight slots: 2^-bits = rate / 16.
    let rate = 2f64.powi(4 - filling.bits as i32);
    let filter: Filter = CuckooFilterBuilder::<Fingerprint>::default()
        .initial_capacity(filling.slots)
        .false_positive_probability(rate)
        .finish();
    let bits = filling.slots as u64 * u64::from(filling.bits);
    ensure!(
        filter.capacity() == filling.slots && filter.bits() == bits,
        "it made {} slots in {} bits",
        filter.capacity(),
        filter.bits()
    );
    Ok(Box::new(Cuckoo::new(
        Table { filter, collision: 2f64.powi(-(filling.bits as i32)) },
        filling.slots,
    )))
}

/// A filter, which does not tell the width of its fingerprints.
struct Table {
    filter: Filter,
    collision: f64,
}

impl Crate for Table {
    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        self.filter.add_hash(hash);
        self.filter.subfilter_count() == 1
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.filter.contains_hash(hash)
    }

    #[inline]
    fn remove(&mut self, hash: u64) -> bool {
        self.filter.remove_hash(hash)
    }

    fn held(&self) -> usize {
        self.filter.len()
    }

    fn bytes(&self) -> usize {
        self.filter.bytes()
    }

    fn collision(&self) -> f64 {
        self.collision
    }

    fn duplicate(&self) -> Self {
        Self { filter: self.filter.clone(), collision: self.collision }
    }
}

/// Its hasher here: one multiplication a fingerprint.
#[derive(Clone, Copy, Debug, Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    #[inline]
    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = offset_of(fingerprint);
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("fingerprints come as u64, and keys come hashed")
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
