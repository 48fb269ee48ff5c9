//! Lookups of a batch in passes. A key is *left* if all of its bits that were tested so far are set. In a table of up
//! to 1.5 times L2, most passes test two bits of every key that is left. In a larger table, most passes test one bit,
//! since fetching a cache line that turns out not to be needed costs more than another pass.
//!
//! Each bit of an absent key is set half of the time, so the processor cannot predict at which bit a lookup ends. If
//! keys are looked up one by one, each lookup costs a mispredicted branch, which also delays the loads after it. A pass
//! has no branch on a bit: it always writes the key to the list of keys that are left. If one of the tested bits was
//! clear, the next key overwrites this entry of the list. So the loads of many keys are in flight together. If nearly
//! all keys are left after a pass, they are probably present, and the next pass tests all remaining bits. A batch is
//! split into chunks. If nearly all keys of a chunk were present, the next chunk has no passes: all bits of one key are
//! tested, then all bits of the next key (`docs/decisions/0083-words-and-present-keys.md`).
//!
//! Times in ns per key by size of the table, at 12 bits per key with AVX2 on a Cascade Lake core. The rows "in passes"
//! are for batches in which all chunks have passes. Tables of 1.5 MB and more were prefetched, which those of up to 1.5
//! times L2 no longer are; lookups one by one prefetch two cache lines per key:
//!
//! | keys | lookups | 150 KB | 1.5 MB | 15 MB |
//! |---|---|---:|---:|---:|
//! | absent | one by one | 8.4 | 18 | 54 |
//! | absent | in passes | 4.1 | 5.9 | 18 |
//! | present | one by one | 14 | 34 | 110 |
//! | present | in passes | 10 | 17 | 60 |
//!
//! Rejected for passes: a loop compiled for each number of bits from 3 to 7, which was only 2 % faster than one loop
//! for any number of bits.

use super::{MULTIPLIER, WORD_BITS, fetch_bits};
use crate::geometry::Geometry;
use trommel_base::batch::{Fetch, Window};
use trommel_base::range::reduce;
use trommel_simd::bits_of;

/// The number of keys in a chunk of a batch. The lists of a chunk stay in L1.
const CHUNK: usize = 256;
/// Batches of fewer keys than this are looked up one by one.
pub(super) const SHORTEST_BATCH: usize = 32;
/// The number of cache lines to keep in flight, from which the prefetch distance in keys follows.
const LINES_AHEAD: usize = 64;
/// The shortest prefetch distance, in keys.
const FEWEST_AHEAD: usize = 8;

/// A table, and a function that reads a bit of it.
pub(super) struct Table<B> {
    pub(super) geometry: Geometry,
    /// The address of the table.
    pub(super) start: *const u8,
    /// Returns a number whose lowest bit is the table's bit at a position. The position must be below the number of
    /// bits of the table.
    pub(super) bit: B,
}

/// The keys of a chunk that are left: all of their bits that were tested so far are set.
struct Left {
    /// For each key, the number `x_i` from which the position of its next bit is computed; see [`MULTIPLIER`].
    next: [u64; CHUNK],
    /// Each key's index in the chunk.
    indices: [u16; CHUNK],
}

/// The prefetch distance, in keys, if `bits` bits of each key are tested.
#[inline(always)]
fn prefetch_distance(bits: u32, window: Window) -> usize {
    (LINES_AHEAD / bits as usize).clamp(FEWEST_AHEAD, window.distance_keys.max(FEWEST_AHEAD))
}

impl<B: Fn(u64) -> u64> Table<B> {
    /// Writes the answer for key `i` to bit `i` of `found`, which must have one word per 64 keys, rounded up.
    /// `IN_CACHE` must be true if the window has no prefetch hint, else false.
    #[inline(always)]
    pub(super) fn contains<F: Fetch, const IN_CACHE: bool>(
        &self,
        hashes: &[u64],
        found: &mut [u64],
        window: Window,
    ) {
        let mut left = Left { next: [0; CHUNK], indices: [0; CHUNK] };
        let mut mostly_present = false;
        for (hashes, found) in hashes.chunks(CHUNK).zip(found.chunks_mut(CHUNK / 64)) {
            let present = if mostly_present {
                // Loops over a constant number of bits are unrolled. In filters of 8 to 12 bits per key, each key sets
                // 6 to 8 bits.
                match self.geometry.hashes {
                    6 if IN_CACHE => self.test_all_bits::<F>(hashes, found, 6, window),
                    7 if IN_CACHE => self.test_all_bits::<F>(hashes, found, 7, window),
                    8 if IN_CACHE => self.test_all_bits::<F>(hashes, found, 8, window),
                    bits => self.test_all_bits::<F>(hashes, found, bits, window),
                }
            } else {
                self.test_in_passes::<F>(&mut left, hashes, found, window)
            };
            mostly_present = present > hashes.len() / 8 * 7;
        }
    }

    /// Tests all bits of each key of a chunk, and returns how many of the keys are present. `bits` is the number of
    /// bits that a key sets.
    #[inline(always)]
    fn test_all_bits<F: Fetch>(
        &self,
        hashes: &[u64],
        found: &mut [u64],
        bits: u32,
        window: Window,
    ) -> usize {
        let ahead = prefetch_distance(bits, window);
        let fetch = |key: Option<&u64>| {
            if let Some(x) = key.filter(|_| window.hint.is_some()) {
                fetch_bits::<F>(self.start, self.geometry, *x, bits as usize);
            }
        };
        (0..ahead).for_each(|key| fetch(hashes.get(key)));
        let mut present = 0;
        for (i, (keys, word)) in hashes.chunks(64).zip(found).enumerate() {
            let mut answers = 0;
            for (j, hash) in keys.iter().enumerate() {
                fetch(hashes.get(i * 64 + j + ahead));
                answers |= self.test(*hash, bits).1 << j;
            }
            *word = answers;
            present += answers.count_ones() as usize;
        }
        present
    }

    /// Tests `bits` bits of a key. `x` is the number from which the position of the first bit is computed. Returns two
    /// numbers: the `x` of the bit after the tested ones, then 1 if all tested bits are set, else 0.
    #[inline(always)]
    fn test(&self, mut x: u64, bits: u32) -> (u64, u64) {
        let table_bits = self.geometry.units * WORD_BITS;
        let mut set = 1;
        for _ in 0..bits {
            set &= (self.bit)(reduce(x, table_bits));
            x = x.wrapping_mul(MULTIPLIER);
        }
        (x, set)
    }

    /// Tests the bits of a chunk's keys in passes, and returns how many of the keys are present.
    #[inline(always)]
    fn test_in_passes<F: Fetch>(
        &self,
        left: &mut Left,
        hashes: &[u64],
        found: &mut [u64],
        window: Window,
    ) -> usize {
        for (i, hash) in hashes.iter().enumerate() {
            left.next[i] = *hash;
            left.indices[i] = i as u16;
        }
        let all = self.geometry.hashes;
        let (mut before, mut keys, mut tested) = (usize::MAX, hashes.len(), 0);
        while tested < all && keys > 0 {
            let nearly_all = keys > before / 8 * 7;
            before = keys;
            // The numbers 1 and 2 are given as constants, so that the compiler unrolls the loop over the bits: the
            // instructions of the loop itself would cost as much as testing two bits.
            let bits;
            (bits, keys) = if nearly_all {
                (all - tested, self.pass::<F>(left, keys, all - tested, window))
            } else if window.hint.is_some() || all - tested == 1 {
                (1, self.pass::<F>(left, keys, 1, window))
            } else {
                (2, self.pass::<F>(left, keys, 2, window))
            };
            tested += bits;
        }
        let mut answers = [0; CHUNK];
        for index in &left.indices[..keys] {
            answers[*index as usize % CHUNK] = 1;
        }
        for (word, answers) in found.iter_mut().zip(answers.chunks(64)) {
            *word = bits_of(answers);
        }
        keys
    }

    /// Tests the next `bits` bits of the first `keys` keys in `left`, keeps the keys whose tested bits are all set, and
    /// returns the number of keys kept.
    #[inline(always)]
    fn pass<F: Fetch>(&self, left: &mut Left, keys: usize, bits: u32, window: Window) -> usize {
        let ahead = prefetch_distance(bits, window);
        let fetch = |x: u64| {
            if window.hint.is_some() {
                fetch_bits::<F>(self.start, self.geometry, x, bits as usize);
            }
        };
        left.next[..keys.min(ahead)].iter().for_each(|x| fetch(*x));
        let mut kept = 0;
        for key in 0..keys.min(CHUNK) {
            if let Some(x) = left.next[..keys].get(key + ahead) {
                fetch(*x);
            }
            let (x, set) = self.test(left.next[key], bits);
            left.next[kept % CHUNK] = x;
            left.indices[kept % CHUNK] = left.indices[key];
            kept += set as usize;
        }
        kept
    }
}
