//! The overflow area: the few fingerprints for which there is no path.
//!
//! In a table at 97 % load, some keys have no path to room within the bound of a search. In a table at 90 %,
//! about one in many millions. Either could be answered by rebuilding everything, or by an error, or
//! by a little memory beside the table. It is empty as good as always, and then costs nothing; as long as
//! it is not, a lookup that finds nothing in the table looks here too.
//!
//! Source: Kirsch, Mitzenmacher and Wieder, SIAM J. Computing 39 (2009), for a stash of constant size.

use crate::geometry::Geometry;
use crate::table::Entry;
use alloc::vec::Vec;

/// Fingerprints outside the table, in order, each with the lower of its two buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overflow {
    entries: Vec<u64>,
}

/// Bytes of an entry in the frozen filter.
pub(crate) const ENTRY_BYTES: usize = 8;
/// Slots of the table per slot of the overflow area, within bounds.
const SLOTS_PER_ENTRY: u64 = 256;
const CAPACITIES: core::ops::RangeInclusive<u64> = 2..=64;

/// How many fingerprints the overflow area of a table takes.
pub(crate) fn capacity(geometry: &Geometry) -> usize {
    (geometry.slots() / SLOTS_PER_ENTRY).clamp(*CAPACITIES.start(), *CAPACITIES.end()) as usize
}

/// Both buckets of a fingerprint make the same number.
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

    /// Free places.
    pub(crate) fn room(&self, geometry: &Geometry) -> usize {
        capacity(geometry) - self.len()
    }

    /// Free places that there is memory for. Whoever has a fingerprint in hand cannot do with less.
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

    /// Adds a fingerprint; false if there is no room.
    pub(crate) fn insert(&mut self, geometry: &Geometry, key: Entry) -> bool {
        if self.room(geometry) == 0 || self.entries.try_reserve(1).is_err() {
            return false;
        }
        let packed = pack(geometry, key);
        self.entries.insert(self.entries.partition_point(|entry| *entry < packed), packed);
        true
    }

    /// Takes a copy of a fingerprint out; false if there is none.
    pub(crate) fn remove(&mut self, geometry: &Geometry, key: Entry) -> bool {
        let found = self.entries.binary_search(&pack(geometry, key));
        found.map(|place| self.entries.remove(place)).is_ok()
    }

    /// Takes out a fingerprint that this is one of the two buckets of.
    pub(crate) fn take_for(&mut self, geometry: &Geometry, bucket: u32) -> Option<Entry> {
        let place = self.iter().position(|entry| {
            entry.bucket == bucket || entry.alternate(geometry).bucket == bucket
        })?;
        let Entry { fingerprint, .. } = unpack(self.entries.remove(place));
        Some(Entry { bucket, fingerprint })
    }

    /// Takes the fingerprints along to the table of twice the size, whose overflow area is no smaller. In place:
    /// memory cannot be refused.
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

    /// The entries as they are frozen.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.entries.iter().flat_map(|entry| entry.to_le_bytes()).collect()
    }

    /// The entries of a frozen filter, if they are what a writer writes: in order, and each with the lower
    /// bucket of a fingerprint that can be there. At most 64 of them, so the memory is no matter.
    pub(crate) fn from_bytes(geometry: &Geometry, bytes: &[u8]) -> Option<Self> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() || entries.len() > capacity(geometry) {
            return None;
        }
        let entries: Vec<u64> = entries.iter().map(|entry| u64::from_le_bytes(*entry)).collect();
        let most = u32::MAX >> (32 - geometry.fingerprint_bits);
        let is_possible = |packed: &u64| {
            let entry = unpack(*packed);
            u64::from(entry.bucket) < geometry.buckets
                && (1..=most).contains(&entry.fingerprint)
                && geometry.belongs(entry.bucket, entry.fingerprint)
                && pack(geometry, entry) == *packed
        };
        (entries.is_sorted() && entries.iter().all(is_possible)).then_some(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry { buckets: 2000, fingerprint_bits: 16, doublings: 0 };

    /// An overflow area of random fingerprints, full to `count`.
    fn filled(count: usize) -> Overflow {
        let mut overflow = Overflow::default();
        for i in 0..count as u64 {
            let hash = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert!(overflow.insert(&GEOMETRY, Entry::of_hash(&GEOMETRY, hash)));
        }
        overflow
    }

    #[test]
    fn room_that_is_ready_takes_no_more_memory() {
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
    fn doubling_takes_every_fingerprint_along() {
        let doubled = Geometry { buckets: 4000, doublings: 1, ..GEOMETRY };
        let mut overflow = filled(capacity(&GEOMETRY));
        let memory = overflow.entries.as_ptr();
        overflow.double(&doubled);
        assert_eq!((overflow.entries.as_ptr(), overflow.len()), (memory, capacity(&GEOMETRY)));
        for i in 0..overflow.len() as u64 {
            let hash = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert!(overflow.contains(&doubled, Entry::of_hash(&doubled, hash)));
        }
        assert_eq!(Overflow::from_bytes(&doubled, &overflow.to_bytes()), Some(overflow));
    }
}
