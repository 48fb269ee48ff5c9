//! A table of buckets over bytes: lookups, counts, and the changes that need no search.

use crate::bucket::{self, EmptyPair, class, pair_flag};
use crate::geometry::Geometry;
use crate::width::{Slots, Width};
use core::marker::PhantomData;

/// A table of buckets with fingerprints of width `W`, over borrowed or owned bytes.
pub(crate) struct Table<W, T> {
    pub(crate) geometry: Geometry,
    pub(crate) bytes: T,
    pub(crate) empty: EmptyPair,
    width: PhantomData<W>,
}

/// A fingerprint and a bucket that it can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bucket: u32,
    pub(crate) fingerprint: u32,
}

impl Entry {
    #[inline(always)]
    pub(crate) fn of_hash(geometry: &Geometry, hash: u64) -> Self {
        let (bucket, fingerprint) = geometry.split(hash);
        Self { bucket, fingerprint }
    }

    /// [`Self::of_hash`] for one key, not for a loop over keys: see [`Geometry::split_one`].
    #[inline(always)]
    pub(crate) fn of_one_hash(geometry: &Geometry, hash: u64) -> Self {
        let (bucket, fingerprint) = geometry.split_one(hash);
        Self { bucket, fingerprint }
    }

    /// The same fingerprint in its other bucket.
    #[inline(always)]
    pub(crate) fn alternate(self, geometry: &Geometry) -> Self {
        Self { bucket: geometry.alternate(self.bucket, self.fingerprint), ..self }
    }

    /// A word with the bucket in its high half and the fingerprint in its low half.
    #[inline(always)]
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.bucket) << 32 | u64::from(self.fingerprint)
    }

    /// The inverse of [`Self::to_word`].
    #[inline(always)]
    pub(crate) fn from_word(word: u64) -> Self {
        Self { bucket: (word >> 32) as u32, fingerprint: word as u32 }
    }
}

/// The offset of a bucket in the bytes of a table.
#[inline(always)]
pub(crate) fn bucket_at<W: Width>(bucket: u32) -> usize {
    bucket as usize * W::BUCKET_BYTES
}

/// Whether a key can be in its alternate bucket, according to the overflow flags in `word`, which is the key's primary
/// bucket.
#[inline(always)]
pub(crate) fn may_be_elsewhere<W: Width>(word: W::Word, key: Entry, empty: EmptyPair) -> bool {
    pair_flag(W::pair(word, class(key.fingerprint) as u32), empty)
}

impl<W: Width, T: AsRef<[u8]>> Table<W, T> {
    #[inline(always)]
    pub(crate) fn new(geometry: &Geometry, bytes: T, empty: EmptyPair) -> Self {
        let geometry = geometry.with_width::<W>();
        Self { geometry, bytes, empty, width: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn word(&self, bucket: u32) -> W::Word {
        W::load(&self.bytes.as_ref()[bucket_at::<W>(bucket)..])
    }

    #[inline(always)]
    pub(crate) fn slots(&self, bucket: u32) -> Slots {
        W::slots(self.word(bucket))
    }

    #[inline(always)]
    pub(crate) fn has_room(&self, bucket: u32) -> bool {
        W::has_room(self.word(bucket))
    }

    #[inline(always)]
    fn may_be_elsewhere(&self, word: W::Word, key: Entry) -> bool {
        may_be_elsewhere::<W>(word, key, self.empty)
    }

    /// Whether a key is in the table: in its primary bucket or, if the flag of its class is set there, in its alternate
    /// bucket.
    #[inline(always)]
    pub(crate) fn contains(&self, key: Entry) -> bool {
        let word = self.word(key.bucket);
        W::has(word, key.fingerprint)
            || (self.may_be_elsewhere(word, key)
                && W::has(self.word(key.alternate(&self.geometry).bucket), key.fingerprint))
    }

    /// How many copies of a key's fingerprint are in the key's primary bucket and, if the flag of the fingerprint's
    /// class is set there, in the alternate bucket.
    pub(crate) fn count(&self, key: Entry) -> u32 {
        let copies = |word| W::slots(word).iter().filter(|slot| **slot == key.fingerprint).count();
        let word = self.word(key.bucket);
        let elsewhere = self
            .may_be_elsewhere(word, key)
            .then(|| copies(self.word(key.alternate(&self.geometry).bucket)));
        (copies(word) + elsewhere.unwrap_or(0)) as u32
    }
}

impl<W: Width, T: AsRef<[u8]> + AsMut<[u8]>> Table<W, T> {
    #[inline(always)]
    pub(crate) fn store(&mut self, bucket: u32, slots: Slots) {
        self.store_word(bucket, W::word(slots));
    }

    #[inline(always)]
    pub(crate) fn store_word(&mut self, bucket: u32, word: W::Word) {
        W::store(word, &mut self.bytes.as_mut()[bucket_at::<W>(bucket)..]);
    }

    /// Puts a fingerprint into a bucket that has room. Returns whether the bucket is full now.
    #[inline(always)]
    pub(crate) fn insert(&mut self, entry: Entry) -> bool {
        let word = bucket::insert::<W>(self.word(entry.bucket), entry.fingerprint, self.empty);
        self.store_word(entry.bucket, word);
        !W::has_room(word)
    }

    /// Sets the flag of the class of `key` in the bucket of `key`. If the bucket cannot encode its flags, changes
    /// `empty` to [`EmptyPair::Unknown`].
    #[inline(always)]
    pub(crate) fn set_flag(&mut self, key: Entry) {
        let (slots, is_encoded) =
            bucket::set_flag(self.slots(key.bucket), class(key.fingerprint), self.empty);
        self.store(key.bucket, slots);
        self.note_encoded(is_encoded);
    }

    /// Removes a copy of a fingerprint from a bucket that holds it. Changes `empty` if the bucket can no longer encode
    /// its flags.
    pub(crate) fn remove_and_arrange(&mut self, entry: Entry) {
        let (slots, is_encoded) =
            bucket::remove_and_arrange(self.slots(entry.bucket), entry.fingerprint, self.empty);
        self.store(entry.bucket, slots);
        self.note_encoded(is_encoded);
    }

    /// Stores a bucket, with its slots in an order that encodes `flags`. Changes `empty` if no order encodes them.
    pub(crate) fn arrange(&mut self, bucket: u32, slots: Slots, flags: bucket::Flags) {
        let (slots, is_encoded) = bucket::arrange(slots, flags, self.empty);
        self.store(bucket, slots);
        self.note_encoded(is_encoded);
    }

    /// If a bucket could not encode its flags, lookups from now on treat the flag of every empty pair of slots as set.
    #[inline(always)]
    fn note_encoded(&mut self, is_encoded: bool) {
        if !is_encoded {
            self.empty = EmptyPair::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::width::Bits8;

    const GEOMETRY: Geometry = Geometry { buckets: 10, fingerprint_bits: 8, doublings: 0 };

    fn table(empty: EmptyPair) -> Table<Bits8, [u8; 40]> {
        Table::new(&GEOMETRY, [0; 40], empty)
    }

    #[test]
    fn an_entry_comes_back_from_its_word() {
        let entry = Entry { bucket: 0x8000_0001, fingerprint: 0xFFFF_FFFE };
        assert_eq!(entry.to_word(), 0x8000_0001_FFFF_FFFE);
        assert_eq!(Entry::from_word(entry.to_word()), entry);
    }

    #[test]
    fn the_alternate_bucket_counts_once_the_flag_of_the_class_is_set() {
        let mut table = table(EmptyPair::Clear);
        let key = Entry { bucket: 3, fingerprint: 8 };
        let alternate = key.alternate(&GEOMETRY);
        assert_eq!(alternate.fingerprint, 8);
        assert_eq!(alternate.alternate(&GEOMETRY), key);
        assert!(!table.contains(key) && table.count(key) == 0);
        assert!(!table.insert(alternate) && !table.insert(alternate));
        assert!(!table.contains(key) && table.count(key) == 0);
        // An empty bucket cannot encode a flag that is set.
        table.set_flag(key);
        assert_eq!(table.empty, EmptyPair::Unknown);
        assert!(table.contains(key) && table.count(key) == 2);
        assert!(!table.contains(Entry { fingerprint: 9, ..key }));
        assert!(!table.insert(key));
        assert!(table.contains(key) && table.count(key) == 3);
    }

    #[test]
    fn a_bucket_has_room_for_four_fingerprints() {
        let mut table = table(EmptyPair::Clear);
        for (fingerprint, is_full) in [(5, false), (6, false), (5, false), (7, true)] {
            assert!(table.has_room(9));
            assert_eq!(table.insert(Entry { bucket: 9, fingerprint }), is_full);
        }
        assert!(!table.has_room(9) && table.has_room(8));
        assert_eq!(table.count(Entry { bucket: 9, fingerprint: 5 }), 2);
        table.remove_and_arrange(Entry { bucket: 9, fingerprint: 5 });
        assert!(table.has_room(9));
        assert_eq!(table.count(Entry { bucket: 9, fingerprint: 5 }), 1);
    }

    #[test]
    fn empty_pairs_are_not_trusted_once_a_bucket_cannot_encode_its_flags() {
        let mut table = table(EmptyPair::Clear);
        table.arrange(2, [7, 8, 0, 0], [true, true]);
        assert_eq!(bucket::flags(&table.slots(2), table.empty), [true; 2]);
        assert_eq!(table.empty, EmptyPair::Clear);
        table.remove_and_arrange(Entry { bucket: 2, fingerprint: 8 });
        assert_eq!(table.empty, EmptyPair::Unknown);
        assert_eq!(bucket::flags(&table.slots(2), table.empty), [true; 2]);
        assert_eq!(table.count(Entry { bucket: 2, fingerprint: 7 }), 1);
    }
}
