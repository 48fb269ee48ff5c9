//! `autoscale_cuckoo_filter` 0.5.27: fingerprints of any width packed in buckets of four, random-walk eviction with up
//! to 512 kicks. It has calls that take hashes; its hasher hashes only fingerprints. Its batched lookup is a loop over
//! single lookups.
//!
//! The filter never refuses a key. If a fingerprint finds no slot, the filter puts it in a sorted list and at once adds
//! a second, larger table. The second table changes the filter's number of slots, its bytes and its false-positive
//! rate, so the harness treats the filter as full from then on.
//!
//! Keys whose fingerprint is 0 (one key in 256 with 8 bits) are kept in the same list, with 16 bytes per entry.
//! On average, each insert of such a key moves half of the list. In a filter of 2^27 slots, half a million such keys
//! would make the list grow to 8 MB, and the last of their inserts would move 4 MB each. So with 8 bits the crate is
//! measured only up to 2^24 slots.

use super::cuckoo::{Crate, Cuckoo, offset_of};
use crate::measure::slots::Slots;
use crate::model::Filling;
use anyhow::{Result, ensure};
use autoscale_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};
use std::hash::Hasher;

type Filter = CuckooFilter<u64, Fingerprint>;

/// Creates an empty filter; the number of slots must be a power of two.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    // The crate allots half of the false-positive rate to its first table, and a lookup compares eight slots, so
    // 2^-bits is fpr / 2 / 8.
    let fpr = 2f64.powi(4 - filling.bits as i32);
    let filter: Filter = CuckooFilterBuilder::<Fingerprint>::default()
        .initial_capacity(filling.slots)
        .false_positive_probability(fpr)
        .finish();
    let bits = filling.slots as u64 * u64::from(filling.bits);
    ensure!(
        filter.capacity() == filling.slots && filter.bits() == bits,
        "the crate created {} slots in {} bits",
        filter.capacity(),
        filter.bits()
    );
    Ok(Box::new(Cuckoo::new(
        Table { filter, collision: 2f64.powi(-(filling.bits as i32)) },
        filling.slots,
    )))
}

/// A filter, and the probability that two keys have the same fingerprint. The probability is stored because the crate
/// does not report the width of fingerprints.
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

/// The hasher of fingerprints: one multiplication.
#[derive(Clone, Copy, Debug, Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    #[inline]
    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = offset_of(fingerprint);
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("fingerprints are u64, and keys are passed as hashes")
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
