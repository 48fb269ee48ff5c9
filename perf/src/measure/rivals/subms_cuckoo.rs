//! `subms-cuckoo-filter` 0.10.0: 8-bit fingerprints in buckets of four bytes, random-walk eviction with up to 500
//! kicks. The crate takes no hasher and no hashes, but hashes keys byte by byte with FNV-1a, so hashing is part of its
//! times.
//!
//! The filter keeps aside the first fingerprint for which evictions find no slot, so that no key is lost. While this
//! fingerprint is kept aside, a key whose two buckets are full is refused. The crate's variant with fingerprints of 12
//! and 16 bits is left out. That variant takes only `&str` keys, stores 12 bits in 16, and can be neither copied nor
//! serialized, so a measurement cannot insert the same keys repeatedly, each time into a copy of the same filter.

use super::cuckoo::{Crate, Cuckoo};
use crate::measure::slots::Slots;
use crate::model::Filling;
use anyhow::{Result, ensure};
use subms_cuckoo_filter::CuckooFilter;

/// Creates an empty filter; the number of slots must be a power of two.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    ensure!(filling.bits == 8, "the crate's fingerprints have 8 bits, not {}", filling.bits);
    // The crate adds 5 % to the number of keys and rounds up to a power of two. So if it is asked for room for 90 % of
    // `filling.slots` keys, it creates `filling.slots` slots.
    let filter = CuckooFilter::with_capacity(filling.slots / 10 * 9);
    ensure!(filter.capacity() == filling.slots, "the crate created {} slots", filter.capacity());
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

    /// The crate replaces the fingerprint 0 by 1, because 0 marks empty slots. So the fingerprint 1 has the probability
    /// 2/256, and each of the other 254 fingerprints has the probability 1/256.
    fn collision(&self) -> f64 {
        258.0 / 65_536.0
    }

    /// The crate's filter is not `Clone`, but can be written and parsed.
    fn duplicate(&self) -> Self {
        let mut bytes = Vec::with_capacity(self.size_in_bytes() + 32);
        self.write_to(&mut bytes).expect("a vector takes all bytes");
        Self::parse(&bytes).expect("a filter reads what it wrote")
    }
}
