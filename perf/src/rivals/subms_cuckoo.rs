//! `subms-cuckoo-filter` 0.10.0: 8-bit fingerprints in buckets of four bytes, random walks of 500 kicks.
//! It hashes keys itself, with FNV-1a byte by byte, and takes no hasher: that is inside the timing.
//!
//! A fingerprint that a walk leaves over is kept aside, so nothing is lost; a key that finds no room after
//! that is refused. Its variant with 12 and 16 bits is left out: it takes `&str` alone, keeps 12 bits in
//! 16, and can be neither copied nor written and read again, so there is no filter to insert a band into
//! again and again.

use super::cuckoo::{Crate, Cuckoo};
use crate::plan::Filling;
use crate::slots::Slots;
use anyhow::{Result, ensure};
use subms_cuckoo_filter::CuckooFilter;

/// An empty filter of a power of two of slots.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    ensure!(filling.bits == 8, "its fingerprints have 8 bits, not {}", filling.bits);
    // It adds 5 % to the keys and rounds up to a power of two.
    let filter = CuckooFilter::with_capacity(filling.slots / 10 * 9);
    ensure!(filter.capacity() == filling.slots, "it made {} slots", filter.capacity());
    Ok(Box::new(Cuckoo::new(filter, filling.slots)))
}

impl Crate for CuckooFilter {
    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        self.insert_bytes(&hash.to_le_bytes())
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.contains_bytes(&hash.to_le_bytes())
    }

    #[inline]
    fn remove(&mut self, hash: u64) -> bool {
        self.delete_bytes(&hash.to_le_bytes())
    }

    fn held(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        self.size_in_bytes()
    }

    /// 0 becomes 1.
    fn collision(&self) -> f64 {
        258.0 / 65_536.0
    }

    /// It has no copy, but writes what it reads.
    fn duplicate(&self) -> Self {
        let mut bytes = Vec::with_capacity(self.size_in_bytes() + 32);
        self.write_to(&mut bytes).expect("a vector takes all bytes");
        Self::parse(&bytes).expect("a filter reads what it wrote")
    }
}
