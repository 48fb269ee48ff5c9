//! Batches of lookups with NEON, for remainders of 8 bits. (`kernel/neon.rs` says how they decide whether a block holds
//! a key.)

use super::neon_words;
use super::places::{Places, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::neon::{BLOCK, Compare, Keys, Probed, Two, from, products, read, up_to};
use crate::kernel::words::word;
use core::arch::aarch64::*;
use trommel_base::batch::{Fetch, NoFetch, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;

/// If cache lines are prefetched, each pass over the blocks of keys is this number of blocks behind the pass before it.
const AHEAD: usize = 2;
/// The number of blocks of keys whose positions are kept.
const RING: usize = 2 * AHEAD + 1;
/// The number of bytes of a block's remainders.
const BYTES: usize = SLOTS as usize;
/// The number of keys in a step of the loops that prefetch.
const UNROLLED: usize = 4;

/// The homes and remainders of a block of keys.
#[derive(Clone, Copy)]
struct Located {
    quotient: [u32; BLOCK],
    /// The block of the home.
    block: [u32; BLOCK],
    /// The highest byte is the remainder; the others have no meaning.
    remainder: [u32; BLOCK],
    /// The block whose remainders are prefetched and compared: the block of the home or, if the quotient is not
    /// occupied, the table's first block, which stays in cache. Used only if cache lines are prefetched.
    compared: [u32; BLOCK],
}

impl Located {
    const NOWHERE: Self = Self {
        quotient: [0; BLOCK],
        block: [0; BLOCK],
        remainder: [0; BLOCK],
        compared: [0; BLOCK],
    };
}

#[target_feature(enable = "neon")]
pub(super) fn contains_batch(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    // `locate` computes quotients from products of 32-bit numbers, so the number of slots must fit into 32 bits.
    let is_small = geometry.slots <= u32::MAX.into();
    let places = Places::of(geometry, table);
    let places = places.filter(|places| is_small && places.bits == 8);
    let Some(places) = places.filter(|_| hashes.len() >= BLOCK) else {
        return neon_words::contains_batch(geometry, table, hashes, found);
    };
    let batch = Batch { geometry, places, table };
    let window = Window::for_table(table.len());
    if window.hint.is_none() {
        batch.blocks::<NoFetch, false>(hashes, found);
    } else {
        with_fetch!(window, F => batch.blocks::<F, true>(hashes, found));
    }
}

/// A table, and where its sections begin.
struct Batch<'a> {
    geometry: &'a Geometry,
    places: Places,
    table: &'a [u8],
}

impl Batch<'_> {
    #[inline]
    #[target_feature(enable = "neon")]
    fn blocks<F: Fetch, const FETCHES: bool>(&self, hashes: &[u64], found: &mut [u64]) {
        let (blocks, rest) = hashes.as_chunks::<BLOCK>();
        let ahead = if FETCHES { AHEAD } else { 0 };
        let compare = Compare::new();
        let slots = vdupq_n_u32(self.geometry.slots as u32);
        let mut located = [Located::NOWHERE; RING];
        let mut probed = Probed::NONE;
        for step in 0..blocks.len() + 2 * ahead {
            if let Some(hashes) = blocks.get(step) {
                F::keys_behind(hashes);
                locate(slots, hashes, &mut located[step % RING]);
                self.fetch_words::<F>(&located[step % RING]);
            }
            if FETCHES
                && let Some(block) = step.checked_sub(ahead).filter(|block| *block < blocks.len())
            {
                self.fetch_remainders::<F>(&mut located[block % RING]);
            }
            if let Some(block) = step.checked_sub(2 * ahead) {
                let keys = OfTable::<FETCHES> { batch: self, located: &located[block % RING] };
                let (mut hits, again) = probed.probe(&keys, &compare);
                for i in ones(again) {
                    let hit = keys.look_again(&probed, &compare, i);
                    let hit = hit.unwrap_or_else(|| {
                        neon_words::contains(self.geometry, self.table, blocks[block][i])
                    });
                    hits |= u64::from(hit) << i;
                }
                found[block] = hits;
            }
        }
        neon_words::contains_batch(self.geometry, self.table, rest, &mut found[blocks.len()..]);
    }

    /// Prefetches the words of the keys' blocks.
    #[inline(always)]
    fn fetch_words<F: Fetch>(&self, located: &Located) {
        for blocks in located.block.as_chunks::<UNROLLED>().0 {
            for block in blocks {
                F::line(self.table.as_ptr().wrapping_add(*block as usize * 16));
            }
        }
    }

    /// Fills `located.compared`, and prefetches the remainders of these blocks of the table.
    #[inline(always)]
    fn fetch_remainders<F: Fetch>(&self, located: &mut Located) {
        let (quotients, _) = located.quotient.as_chunks::<UNROLLED>();
        let (blocks, _) = located.block.as_chunks::<UNROLLED>();
        let (compared, _) = located.compared.as_chunks_mut::<UNROLLED>();
        for ((quotients, blocks), compared) in quotients.iter().zip(blocks).zip(compared) {
            for i in 0..UNROLLED {
                // SAFETY: a quotient's block is in the table: see `read_two`.
                let occupieds = unsafe { word(self.table.as_ptr(), blocks[i] as usize * 16) };
                let is_occupied = (occupieds >> (quotients[i] % SLOTS) & 1) as u32;
                compared[i] = blocks[i] & is_occupied.wrapping_neg();
                let at = self.places.remainders + compared[i] as usize * BYTES;
                F::line(self.table.as_ptr().wrapping_add(at));
            }
        }
    }
}

/// Computes the homes and remainders of a block of keys.
#[inline]
#[target_feature(enable = "neon")]
fn locate(slots: uint32x4_t, hashes: &[u64; BLOCK], located: &mut Located) {
    for (four, hashes) in hashes.as_chunks::<4>().0.iter().enumerate() {
        let ([a, b], _) = products(hashes, slots);
        let quotient = vuzp2q_u32(a, b);
        let store = |to: &mut [u32; BLOCK], numbers| {
            // SAFETY: the four numbers are written to a chunk that has room for four.
            unsafe { vst1q_u32(to.as_chunks_mut::<4>().0[four].as_mut_ptr(), numbers) }
        };
        store(&mut located.quotient, quotient);
        store(&mut located.block, vshrq_n_u32::<{ SLOTS.ilog2() as i32 }>(quotient));
        store(&mut located.remainder, vuzp1q_u32(a, b));
    }
}

/// A block of keys, and the table in which they are looked up.
struct OfTable<'a, const FETCHES: bool> {
    batch: &'a Batch<'a>,
    located: &'a Located,
}

impl<const FETCHES: bool> Keys for OfTable<'_, FETCHES> {
    #[inline(always)]
    fn two(&self, pair: usize, compare: &Compare) -> Two {
        // SAFETY: only functions with NEON make an `OfTable`.
        unsafe { self.read_two(pair, compare) }
    }
}

impl<const FETCHES: bool> OfTable<'_, FETCHES> {
    #[inline]
    #[target_feature(enable = "neon")]
    fn read_two(&self, pair: usize, compare: &Compare) -> Two {
        let Batch { places, table, .. } = self.batch;
        let table = table.as_ptr();
        let quotients = &self.located.quotient.as_chunks::<2>().0[pair];
        let blocks = self.located.block.as_chunks::<2>().0[pair];
        let compared = if FETCHES { self.located.compared.as_chunks().0[pair] } else { blocks };
        let remainders = &self.located.remainder.as_chunks::<2>().0[pair];
        // SAFETY: `locate` computes quotients below the number of slots, and `Places::of` checks that the table has
        // their blocks. The other reads are of the two keys' numbers in the arrays.
        let (slots, remainders, words, bytes, offsets) = unsafe {
            let words = |block: u32| vld1q_u8(table.add(block as usize * 16));
            let bytes = |block: u32| read(table.add(places.remainders + block as usize * BYTES));
            let offset = |block: u32| u64::from(*table.add(places.offsets + block as usize));
            (
                vmovl_u32(vld1_u32(quotients.as_ptr())),
                vreinterpret_u8_u32(vld1_u32(remainders.as_ptr())),
                [words(blocks[0]), words(blocks[1])],
                [bytes(compared[0]), bytes(compared[1])],
                vcombine_u64(vcreate_u64(offset(blocks[0])), vcreate_u64(offset(blocks[1]))),
            )
        };
        let slots = vandq_u64(slots, vdupq_n_u64(u64::from(SLOTS) - 1));
        let [a, b] = [vreinterpretq_u64_u8(words[0]), vreinterpretq_u64_u8(words[1])];
        // A vector shift reads the distance of the shift as a signed byte. So offsets are limited to 64; a shift by
        // 64 clears the word.
        let most = vreinterpretq_u8_u64(vdupq_n_u64(SLOTS.into()));
        let offsets = vminq_u8(vreinterpretq_u8_u64(offsets), most);
        let own = from(vreinterpretq_u64_u8(offsets));
        let remainders = [vdupq_lane_u8::<3>(remainders), vdupq_lane_u8::<7>(remainders)];
        Two {
            occupieds: up_to(vzip1q_u64(a, b), slots),
            own: vandq_u64(vzip2q_u64(a, b), own),
            allowed: vandq_u64(own, from(slots)),
            equal: compare.equal_of_two(bytes, remainders),
        }
    }

    /// Whether the table holds a key. `None` if only the algorithms of `table.rs` can find its run.
    #[inline]
    #[target_feature(enable = "neon")]
    fn look_again(&self, probed: &Probed, compare: &Compare, key: usize) -> Option<bool> {
        let Batch { places, table, .. } = self.batch;
        let block = self.located.block[key] as usize;
        let remainder = (self.located.remainder[key] >> 24) as u8;
        if u32::from(table[places.offsets + block]) > SLOTS {
            return None;
        }
        probed.look_again(key, u64::MAX, |next| {
            let at = block + next;
            if at >= places.shape.blocks {
                return None;
            }
            // SAFETY: the condition above checks that the table has the block.
            let (runends, bytes) = unsafe {
                let bytes = table.as_ptr().add(places.remainders + at * BYTES);
                (word(table.as_ptr(), at * 16 + 8), read(bytes))
            };
            Some((runends, compare.equal_of_one(bytes, remainder)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup;
    use super::*;
    use trommel_simd::Isa;
    use trommel_testkit::Splitmix;

    #[test]
    fn homes_and_remainders_are_those_of_single_lookups() {
        assert!(Isa::Neon.is_available());
        let mut random = Splitmix::new(78);
        for slots in [1, 2, 63, 64, 65, 1000, (1 << 31) + 7, u32::MAX.into()] {
            let fingerprints = slots << 8;
            // Only the number of slots and the width of the remainders matter here.
            let geometry =
                Geometry { slots, blocks: 0, remainder_bits: 8, copies: 1, fingerprints };
            let mut hashes = [0; BLOCK].map(|_: u64| random.word());
            [hashes[0], hashes[1]] = [0, u64::MAX];
            let mut located = Located::NOWHERE;
            // SAFETY: the assertion checked that the machine has NEON.
            unsafe { locate(vdupq_n_u32(slots as u32), &hashes, &mut located) };
            for (i, hash) in hashes.into_iter().enumerate() {
                let key = lookup::locate(&geometry, hash);
                let quotient = located.quotient[i];
                assert_eq!(
                    (located.block[i] as usize, quotient % SLOTS, located.remainder[i] >> 24),
                    (key.block, key.slot, key.remainder),
                    "{hash:x} in {slots} slots"
                );
                assert_eq!(quotient / SLOTS, located.block[i]);
            }
        }
    }
}
