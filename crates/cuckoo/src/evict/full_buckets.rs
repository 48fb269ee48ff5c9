//! A bit per bucket: set if the bucket is full.
//!
//! An insert into a highly loaded table looks at some thirty buckets to find one that has room. The bits of all
//! buckets take 1/32 (8-bit fingerprints) to 1/128 (32-bit fingerprints) of the table's memory, so they can be in cache
//! when the table is not. The bits are computed by a bulk build, or by the first insert whose key has two full buckets.
//! The bits are no part of the frozen filter, and can be freed at any time.

use crate::geometry::Geometry;
use crate::table::Table;
use crate::width::Width;
use alloc::vec::Vec;

/// A bit for each bucket, set if the bucket is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct FullBuckets {
    words: Vec<u64>,
}

impl FullBuckets {
    /// The bits of a table. `None` if there is no memory for them.
    pub(crate) fn of<W: Width>(table: &Table<W, &mut [u8]>) -> Option<Self> {
        let mut words = Vec::new();
        let buckets = table.geometry.buckets;
        words.try_reserve_exact(buckets.div_ceil(64) as usize).ok()?;
        for first in (0..buckets).step_by(64) {
            let word = (first..buckets.min(first + 64)).fold(0, |word, bucket| {
                word | u64::from(!table.has_room(bucket as u32)) << (bucket % 64)
            });
            words.push(word);
        }
        Some(Self { words })
    }

    /// Makes the bits of a table from words, each of which has the bits of 64 buckets.
    pub(crate) fn of_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// Whether there are as many bits as a table of this geometry needs.
    pub(crate) fn fit(&self, geometry: &Geometry) -> bool {
        self.words.len() as u64 == geometry.buckets.div_ceil(64)
    }

    #[inline(always)]
    pub(crate) fn contains(&self, bucket: u32) -> bool {
        self.words[bucket as usize / 64] >> (bucket % 64) & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, bucket: u32) {
        self.words[bucket as usize / 64] |= 1 << (bucket % 64);
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, bucket: u32) {
        self.words[bucket as usize / 64] &= !(1 << (bucket % 64));
    }

    /// The bits as bytes. On a little-endian machine, the bit of bucket `i` is bit `i % 8` of byte `i / 8`.
    #[cfg(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    ))]
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::EmptyPair;
    use crate::width::Bits8;
    use std::vec;

    #[test]
    fn a_bit_tells_whether_a_bucket_is_full() {
        let geometry = Geometry { buckets: 130, fingerprint_bits: 8, doublings: 0 };
        let mut bytes = [1; 4 * 130];
        let with_room = [0, 1, 62, 64, 100, 129];
        for bucket in with_room {
            bytes[4 * bucket] = 0;
        }
        let table = Table::<Bits8, _>::new(&geometry, &mut bytes[..], EmptyPair::Clear);
        let mut full = FullBuckets::of(&table).unwrap();
        let bits = |full: &FullBuckets| (0..130).map(|i| full.contains(i)).collect::<Vec<_>>();
        let mut expected: Vec<bool> = (0..130).map(|bucket| !with_room.contains(&bucket)).collect();
        assert_eq!(bits(&full), expected);
        for (bucket, is_full) in [(1, true), (1, true), (63, false), (63, false), (129, true)] {
            if is_full {
                full.insert(bucket);
            } else {
                full.remove(bucket);
            }
            expected[bucket as usize] = is_full;
            assert_eq!(bits(&full), expected);
        }
    }

    #[test]
    fn a_word_is_for_64_buckets() {
        for (buckets, words) in [(2, 1), (64, 1), (66, 2), (128, 2), (130, 3)] {
            let geometry = Geometry { buckets, fingerprint_bits: 8, doublings: 0 };
            for other in 0..5 {
                let full = FullBuckets::of_words(vec![0; other]);
                assert_eq!(full.fit(&geometry), other == words);
                assert_eq!(full.bytes(), 8 * other);
            }
        }
    }
}
