//! The overflow area: the few fingerprints for which the table has no room.
//!
//! In a table beyond 97 % load, a bounded search finds no room for some keys; at 90 %, this happens to one key in many
//! millions. A filter could be rebuilt for such a key, or refuse it. Instead, the key's fingerprint goes to the
//! overflow area, a short list outside the table. The list is nearly always empty, and then costs next to nothing.
//! While it is not empty, a lookup that finds nothing in the table also searches the list.
//!
//! Source: Kirsch, Mitzenmacher and Wieder, SIAM J. Computing 39 (2009), for a stash of constant size.

use crate::geometry::Geometry;
use crate::table::Entry;
use alloc::vec::Vec;
use trommel_base::storage::{OutOfMemory, collected};

/// Fingerprints outside the table, sorted, each packed with the lower of its two buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overflow {
    entries: Vec<u64>,
}

/// The number of bytes of an entry in the frozen filter.
pub(crate) const ENTRY_BYTES: usize = 8;
/// The number of slots of the table per entry of the overflow area. [`CAPACITIES`] bounds the number of entries.
const SLOTS_PER_ENTRY: u64 = 256;
/// The least and the greatest capacity of an overflow area, in entries.
const CAPACITIES: core::ops::RangeInclusive<u64> = 2..=64;

/// The most bytes that the entries take in the frozen filter.
const MOST_BYTES: usize = *CAPACITIES.end() as usize * ENTRY_BYTES;

/// The bytes of the entries in the frozen filter. The entries are few, so their bytes are in an array, not on the heap.
pub(crate) struct FrozenEntries {
    bytes: [u8; MOST_BYTES],
    len: usize,
}

impl AsRef<[u8]> for FrozenEntries {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The number of fingerprints that a table's overflow area has room for.
pub(crate) fn capacity(geometry: &Geometry) -> usize {
    (geometry.slots() / SLOTS_PER_ENTRY).clamp(*CAPACITIES.start(), *CAPACITIES.end()) as usize
}

/// Packs a fingerprint with the lower of its two buckets. So the result does not depend on which of the two buckets
/// `key` has.
fn pack(geometry: &Geometry, key: Entry) -> u64 {
    let lower = key.bucket.min(key.alternate(geometry).bucket);
    u64::from(lower) << 32 | u64::from(key.fingerprint)
}

fn unpack(packed: u64) -> Entry {
    Entry { bucket: (packed >> 32) as u32, fingerprint: packed as u32 }
}

impl Overflow {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of free entries.
    pub(crate) fn room(&self, geometry: &Geometry) -> usize {
        capacity(geometry) - self.len()
    }

    /// Tries to allocate memory for all free entries. Returns how many free entries can be filled without allocating.
    /// An eviction chain has one fingerprint in hand, which goes to the overflow area if no room is found for it. While
    /// no more chains than the returned number are active, storing the chains' fingerprints there cannot fail.
    pub(crate) fn ready_room(&mut self, geometry: &Geometry) -> usize {
        let room = self.room(geometry);
        match self.entries.try_reserve_exact(room) {
            Ok(()) => room,
            Err(_) => room.min(self.entries.capacity() - self.entries.len()),
        }
    }

    /// The fingerprints, each with one of its buckets.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().map(|packed| unpack(*packed))
    }

    pub(crate) fn count(&self, geometry: &Geometry, key: Entry) -> usize {
        let packed = pack(geometry, key);
        self.entries.iter().filter(|entry| **entry == packed).count()
    }

    pub(crate) fn contains(&self, geometry: &Geometry, key: Entry) -> bool {
        !self.is_empty() && self.entries.binary_search(&pack(geometry, key)).is_ok()
    }

    /// Adds a fingerprint. Returns false if there is no room or no memory.
    pub(crate) fn insert(&mut self, geometry: &Geometry, key: Entry) -> bool {
        if self.room(geometry) == 0 || self.entries.try_reserve(1).is_err() {
            return false;
        }
        let packed = pack(geometry, key);
        self.entries.insert(self.entries.partition_point(|entry| *entry < packed), packed);
        true
    }

    /// Removes one copy of a fingerprint. Returns false if there is no copy.
    pub(crate) fn remove(&mut self, geometry: &Geometry, key: Entry) -> bool {
        let found = self.entries.binary_search(&pack(geometry, key));
        found.map(|index| self.entries.remove(index)).is_ok()
    }

    /// Removes and returns a fingerprint that has `bucket` as one of its two buckets, if there is such a fingerprint.
    pub(crate) fn take_for(&mut self, geometry: &Geometry, bucket: u32) -> Option<Entry> {
        let index = self.iter().position(|entry| {
            entry.bucket == bucket || entry.alternate(geometry).bucket == bucket
        })?;
        let Entry { fingerprint, .. } = unpack(self.entries.remove(index));
        Some(Entry { bucket, fingerprint })
    }

    /// Converts the entries to entries of the doubled table, whose overflow area has room for at least as many. Works
    /// in place, so it cannot run out of memory.
    pub(crate) fn double(&mut self, doubled: &Geometry) {
        for packed in &mut self.entries {
            let Entry { bucket, fingerprint } = unpack(*packed);
            let half = u32::from(!doubled.belongs(2 * bucket, fingerprint));
            *packed = pack(doubled, Entry { bucket: 2 * bucket + half, fingerprint });
        }
        self.entries.sort_unstable();
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The bytes of the entries in the frozen filter.
    pub(crate) fn to_bytes(&self) -> FrozenEntries {
        let mut bytes = [0; MOST_BYTES];
        for (to, entry) in bytes.chunks_exact_mut(ENTRY_BYTES).zip(&self.entries) {
            to.copy_from_slice(&entry.to_le_bytes());
        }
        FrozenEntries { bytes, len: self.len() * ENTRY_BYTES }
    }

    /// A copy, unless the system refuses the memory.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self { entries: collected(self.len(), self.entries.iter().copied())? })
    }

    /// Reads the entries of a frozen filter. `None` unless they are sorted and fit into the overflow area, and each
    /// entry has a possible fingerprint and the lower of that fingerprint's buckets. Allocates at most 64 entries.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses the memory.
    pub(crate) fn from_bytes(
        geometry: &Geometry,
        bytes: &[u8],
    ) -> Result<Option<Self>, OutOfMemory> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() || entries.len() > capacity(geometry) {
            return Ok(None);
        }
        let numbers = entries.iter().map(|entry| u64::from_le_bytes(*entry));
        let entries = collected(entries.len(), numbers)?;
        let is_possible = |packed: &u64| {
            let entry = unpack(*packed);
            // The width needs no check of its own: a fingerprint with too many bits belongs to no bucket.
            u64::from(entry.bucket) < geometry.buckets
                && entry.fingerprint != 0
                && geometry.belongs(entry.bucket, entry.fingerprint)
                && pack(geometry, entry) == *packed
        };
        Ok((entries.is_sorted() && entries.iter().all(is_possible)).then_some(Self { entries }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry { buckets: 2000, fingerprint_bits: 16, doublings: 0 };

    /// An overflow area with `count` random fingerprints.
    fn filled(count: usize) -> Overflow {
        let mut overflow = Overflow::default();
        for i in 0..count as u64 {
            let hash = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert!(overflow.insert(&GEOMETRY, Entry::of_hash(&GEOMETRY, hash)));
        }
        overflow
    }

    #[test]
    fn ready_room_is_filled_without_allocating() {
        for count in [0, 1, 7, capacity(&GEOMETRY)] {
            let mut overflow = filled(count);
            let room = overflow.ready_room(&GEOMETRY);
            assert_eq!(room, capacity(&GEOMETRY) - count);
            let memory = overflow.entries.as_ptr();
            let key = Entry { bucket: 3, fingerprint: 5 };
            assert!((0..room).all(|_| overflow.insert(&GEOMETRY, key)));
            assert!(!overflow.insert(&GEOMETRY, key));
            assert_eq!((overflow.entries.as_ptr(), overflow.ready_room(&GEOMETRY)), (memory, 0));
        }
    }

    #[test]
    fn doubling_keeps_every_fingerprint() {
        let doubled = Geometry { buckets: 4000, doublings: 1, ..GEOMETRY };
        let mut overflow = filled(capacity(&GEOMETRY));
        let memory = overflow.entries.as_ptr();
        overflow.double(&doubled);
        assert_eq!((overflow.entries.as_ptr(), overflow.len()), (memory, capacity(&GEOMETRY)));
        for i in 0..overflow.len() as u64 {
            let hash = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert!(overflow.contains(&doubled, Entry::of_hash(&doubled, hash)));
        }
        let read = Overflow::from_bytes(&doubled, overflow.to_bytes().as_ref());
        assert_eq!(read, Ok(Some(overflow)));
    }

    #[test]
    fn only_possible_entries_are_read() {
        let read = |geometry: &Geometry, entries: &[u64]| {
            let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
            Overflow::from_bytes(geometry, &bytes).unwrap().is_some()
        };
        let full = filled(capacity(&GEOMETRY));
        let mut entries = full.entries.clone();
        assert!(read(&GEOMETRY, &entries));
        let last = entries[entries.len() - 1];
        assert!(!read(&GEOMETRY, &[&entries[..], &[last]].concat()), "more entries than fit");
        entries.swap(0, 1);
        assert!(!read(&GEOMETRY, &entries), "not sorted");
        let bytes = full.to_bytes();
        assert_eq!(Overflow::from_bytes(&GEOMETRY, &bytes.as_ref()[1..]), Ok(None));

        let entry = |bucket, fingerprint| Entry { bucket, fingerprint };
        for (wrong, why) in
            [(entry(5, 0), "fingerprint 0"), (entry(5, 1 << 16), "a fingerprint of 17 bits")]
        {
            assert!(!read(&GEOMETRY, &[pack(&GEOMETRY, wrong)]), "{why}");
        }
        let key = pack(&GEOMETRY, entry(5, 77));
        let Entry { bucket, fingerprint } = unpack(key);
        let higher = entry(bucket, fingerprint).alternate(&GEOMETRY).bucket;
        assert!(read(&GEOMETRY, &[key]));
        assert!(!read(&GEOMETRY, &[u64::from(higher) << 32 | 77]), "the higher of two buckets");
        let doubled = Geometry { buckets: 4000, doublings: 1, ..GEOMETRY };
        let fits =
            |first_bit: u32| read(&doubled, &[pack(&doubled, entry(5, first_bit << 15 | 77))]);
        assert!(fits(1) && !fits(0), "bucket 5 must take only fingerprints whose first bit is 1");
    }
}
