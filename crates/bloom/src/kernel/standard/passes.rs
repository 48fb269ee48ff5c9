//! Lookups of a batch in passes: two bits of every key, then two more of those that are left; in a table beyond the
//! nearest caches one at a time, since lines that are not needed cost more there than a pass.
//!
//! Of the bits of an absent key each is set half of the time, so the place where a lookup of it ends cannot be
//! predicted, and each one costs a mispredicted branch and what is loaded behind it. In a pass there is no branch
//! on a bit: a key is always written to the list of those that are left, and overwritten by the next if a bit
//! was clear. So the loads of many keys wait together. Where nearly all keys of a pass are left, they are
//! probably present, and the next pass tests all bits that there are.
//!
//! ns per key of 12 bits, where keys went one by one with two lines of each prefetched, and in passes, with AVX2 on a
//! Cascade Lake core: absent keys 8.4 and 4.1 at 150 KB, 18 and 5.9 at 1.5 MB, 54 and 18 at 15 MB; present ones 14
//! and 10, 34 and 17, 110 and 60. Loops compiled for 3 to 7 bits gained 2 % more.

use super::{MULTIPLIER, WORD_BITS, fetch_bits};
use crate::geometry::Geometry;
use trommel_base::batch::{Fetch, Window};
use trommel_base::range::reduce;
use trommel_simd::bits_of;

/// Keys of a chunk: their lists stay in L1.
const CHUNK: usize = 256;
/// Fewer keys go one by one.
pub(super) const SHORTEST_BATCH: usize = 32;
/// Lines on their way at once, as far as keys are fetched ahead.
const LINES_AHEAD: usize = 64;
/// The fewest keys that are.
const FEWEST_AHEAD: usize = 8;

/// A table that can be asked for a bit.
pub(super) struct Table<B> {
    pub(super) geometry: Geometry,
    /// Where it begins.
    pub(super) start: *const u8,
    /// A number whose lowest bit is that of a position below the table's number of bits.
    pub(super) bit: B,
}

/// The keys of a chunk whose bits so far were all set.
struct Left {
    /// The input of the next bit's position; see [`MULTIPLIER`].
    next: [u64; CHUNK],
    places: [u16; CHUNK],
}

impl<B: Fn(u64) -> u64> Table<B> {
    /// Sets bit `i` of `found` if key `i` is there; `found` is zero.
    #[inline(always)]
    pub(super) fn contains<F: Fetch>(&self, hashes: &[u64], found: &mut [u64], window: Window) {
        let mut left = Left { next: [0; CHUNK], places: [0; CHUNK] };
        let all = self.geometry.hashes;
        for (hashes, found) in hashes.chunks(CHUNK).zip(found.chunks_mut(CHUNK / 64)) {
            for (i, hash) in hashes.iter().enumerate() {
                left.next[i] = *hash;
                left.places[i] = i as u16;
            }
            let (mut before, mut keys, mut tested) = (usize::MAX, hashes.len(), 0);
            while tested < all && keys > 0 {
                let nearly_all = keys > before / 8 * 7;
                before = keys;
                // Numbers that are known when it is compiled: a loop over two bits costs as much as the bits.
                let bits;
                (bits, keys) = if nearly_all {
                    (all - tested, self.pass::<F>(&mut left, keys, all - tested, window))
                } else if window.hint.is_some() || all - tested == 1 {
                    (1, self.pass::<F>(&mut left, keys, 1, window))
                } else {
                    (2, self.pass::<F>(&mut left, keys, 2, window))
                };
                tested += bits;
            }
            let mut answers = [0; CHUNK];
            for place in &left.places[..keys] {
                answers[*place as usize % CHUNK] = 1;
            }
            for (word, answers) in found.iter_mut().zip(answers.chunks(64)) {
                *word = bits_of(answers);
            }
        }
    }

    /// Tests some bits of the first keys of a list, and keeps those whose bits are all set: how many.
    #[inline(always)]
    fn pass<F: Fetch>(&self, left: &mut Left, keys: usize, bits: u32, window: Window) -> usize {
        let table_bits = self.geometry.units * WORD_BITS;
        let ahead = (LINES_AHEAD / bits as usize)
            .clamp(FEWEST_AHEAD, window.distance_keys.max(FEWEST_AHEAD));
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
            let (mut x, mut set) = (left.next[key], 1);
            for _ in 0..bits {
                set &= (self.bit)(reduce(x, table_bits));
                x = x.wrapping_mul(MULTIPLIER);
            }
            left.next[kept % CHUNK] = x;
            left.places[kept % CHUNK] = left.places[key];
            kept += set as usize;
        }
        kept
    }
}
