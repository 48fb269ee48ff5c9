//! Batches of lookups with NEON. (`kernel/neon.rs` says how these lookups decide whether a line holds a key.)

use super::lines::{
    Byte, LINE_BYTES, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS, SLOTS, lines,
};
use super::neon_words;
use crate::geometry::Geometry;
use crate::kernel::neon::{
    BLOCK, Compare, Keys, Probed, Two, from, products, read, sums_of_products, up_to,
};
use core::arch::aarch64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;

/// If lines are prefetched, a block of keys is located this number of blocks before it is probed.
const AHEAD: usize = 2;
/// The number of blocks of keys whose positions are kept.
const RING: usize = AHEAD + 1;
/// The number of keys in a step of the loop that prefetches.
const UNROLLED: usize = 4;

/// The lines, homes and remainders of a block of keys.
#[derive(Clone, Copy)]
struct Located {
    line: [u32; BLOCK],
    slot: [u64; BLOCK],
    /// The byte that stores the remainder, extended to 32 bits.
    remainder: [u32; BLOCK],
}

impl Located {
    const NOWHERE: Self = Self { line: [0; BLOCK], slot: [0; BLOCK], remainder: [0; BLOCK] };
}

#[target_feature(enable = "neon")]
pub(super) fn contains_batch(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
    // `locate` computes lines from products of 32-bit numbers; a table beyond 256 GiB has too many lines for that.
    if lines(geometry) > u64::from(u32::MAX) || hashes.len() < BLOCK {
        return neon_words::contains_batch(geometry, table, hashes, found);
    }
    let window = Window::for_passes(table.len());
    let ahead = if window.hint.is_none() { 0 } else { AHEAD };
    with_fetch!(window, F => blocks::<F>(geometry, table, hashes, found, ahead));
}

#[inline]
#[target_feature(enable = "neon")]
fn blocks<F: Fetch>(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    ahead: usize,
) {
    let (blocks, rest) = hashes.as_chunks::<BLOCK>();
    let compare = Compare::new();
    let mut located = [Located::NOWHERE; RING];
    let mut probed = Probed::NONE;
    for step in 0..blocks.len() + ahead {
        if let Some(hashes) = blocks.get(step) {
            F::keys_behind(hashes);
            let located = &mut located[step % RING];
            locate(geometry, hashes, located);
            for lines in located.line.as_chunks::<UNROLLED>().0 {
                for line in lines {
                    F::line(table.as_ptr().wrapping_add(*line as usize * LINE_BYTES));
                }
            }
        }
        if let Some(block) = step.checked_sub(ahead) {
            let keys = OfTable { table, located: &located[block % RING] };
            let (mut hits, again) = probed.probe(&keys, &compare);
            for i in ones(again) {
                let hit = keys.look_again(&probed, &compare, i);
                let hit =
                    hit.unwrap_or_else(|| neon_words::contains(geometry, table, blocks[block][i]));
                hits |= u64::from(hit) << i;
            }
            found[block] = hits;
        }
    }
    let done = blocks.len() * BLOCK;
    neon_words::contains_batch(geometry, table, rest, &mut found[done / BLOCK..]);
}

#[inline]
#[target_feature(enable = "neon")]
fn locate(geometry: &Geometry, hashes: &[u64; BLOCK], located: &mut Located) {
    let byte = Byte::of(geometry);
    let lines = vdupq_n_u32(lines(geometry) as u32);
    let slots = vdupq_n_u32(SLOTS);
    let (keep, mark) = (vdupq_n_u32(byte.keep.into()), vdupq_n_u32(byte.mark.into()));
    for (four, hashes) in hashes.as_chunks::<4>().0.iter().enumerate() {
        let ([a, b], lowest) = products(hashes, lines);
        let line = vuzp2q_u32(a, b);
        let ([a, b], _) = sums_of_products(lowest, vuzp1q_u32(a, b), slots);
        let top = vandq_u32(vshrq_n_u32::<24>(vuzp1q_u32(a, b)), keep);
        let remainder = vmaxq_u32(vorrq_u32(top, mark), vdupq_n_u32(1));
        let slot_a = vshrq_n_u64::<32>(vreinterpretq_u64_u32(a));
        let slot_b = vshrq_n_u64::<32>(vreinterpretq_u64_u32(b));
        // SAFETY: writes the numbers of four keys in each of the three arrays.
        unsafe {
            vst1q_u32(located.line.as_chunks_mut::<4>().0[four].as_mut_ptr(), line);
            vst1q_u32(located.remainder.as_chunks_mut::<4>().0[four].as_mut_ptr(), remainder);
            let slots = located.slot.as_chunks_mut::<4>().0[four].as_mut_ptr();
            vst1q_u64(slots, slot_a);
            vst1q_u64(slots.add(2), slot_b);
        }
    }
}

/// A block of keys, and the table that has their lines.
struct OfTable<'a> {
    table: &'a [u8],
    located: &'a Located,
}

impl Keys for OfTable<'_> {
    #[inline(always)]
    fn two(&self, pair: usize, compare: &Compare) -> Two {
        // SAFETY: only functions with NEON make an `OfTable`.
        unsafe { self.read_two(pair, compare) }
    }
}

impl OfTable<'_> {
    #[inline]
    #[target_feature(enable = "neon")]
    fn read_two(&self, pair: usize, compare: &Compare) -> Two {
        let [a, b] = self.located.line.as_chunks().0[pair];
        let remainders = &self.located.remainder.as_chunks::<2>().0[pair];
        let table = self.table.as_ptr();
        // SAFETY: `locate` computes lines below `lines`, and `contains_batch` checks that the table has at least that
        // many. The other reads are of the numbers of two keys in each of two arrays.
        let (lines, slots, remainders) = unsafe {
            (
                [
                    read(table.add(a as usize * LINE_BYTES)),
                    read(table.add(b as usize * LINE_BYTES)),
                ],
                vld1q_u64(self.located.slot.as_chunks::<2>().0[pair].as_ptr()),
                vreinterpret_u8_u32(vld1_u32(remainders.as_ptr())),
            )
        };
        let remainders = [vdupq_lane_u8::<0>(remainders), vdupq_lane_u8::<4>(remainders)];
        let [[.., a], [.., b]] = lines;
        let occupieds: [u8; 16] = [2, 3, 4, 5, 6, 7, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25];
        // SAFETY: reads the sixteen bytes of the array.
        let occupieds = vqtbl2q_u8(uint8x16x2_t(a, b), unsafe { vld1q_u8(occupieds.as_ptr()) });
        let runends = vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b));
        let own = from(vshrq_n_u64::<{ OFFSET_SHIFT as i32 }>(runends));
        let runends = vshrq_n_u64::<{ RUNENDS_SHIFT as i32 }>(runends);
        let runends = vandq_u64(runends, vdupq_n_u64(SLOT_BITS));
        Two {
            occupieds: up_to(vreinterpretq_u64_u8(occupieds), slots),
            own: vandq_u64(runends, own),
            allowed: vandq_u64(own, from(slots)),
            equal: compare.equal_of_two(lines, remainders),
        }
    }

    /// Whether the table holds a key. `None` if only the algorithms of `table.rs` can find its run.
    #[inline]
    #[target_feature(enable = "neon")]
    fn look_again(&self, probed: &Probed, compare: &Compare, key: usize) -> Option<bool> {
        let line = self.located.line[key] as usize * LINE_BYTES;
        let remainder = self.located.remainder[key] as u8;
        let runends = |line: usize| {
            let bytes = self.table.get(line..line + LINE_BYTES)?;
            Some(u64::from_le_bytes(*bytes[RUNENDS_AT..].first_chunk()?))
        };
        if runends(line)? >> OFFSET_SHIFT > SLOTS.into() {
            return None;
        }
        probed.look_again(key, SLOT_BITS, |block| {
            let at = line + block * LINE_BYTES;
            let runends = runends(at)? >> RUNENDS_SHIFT & SLOT_BITS;
            // SAFETY: `runends` is `None` unless the line lies within the table.
            let bytes = unsafe { read(self.table.as_ptr().add(at)) };
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
    fn lines_homes_and_remainders_are_those_of_single_lookups() {
        assert!(Isa::Neon.is_available());
        let mut random = Splitmix::new(77);
        for lines in [1, 2, 3, 1000, 1 << 20, (1 << 31) + 7, u32::MAX.into()] {
            for remainder_bits in 1..=8 {
                let slots = lines * u64::from(SLOTS);
                let fingerprints = slots << remainder_bits;
                // Only the number of slots and the width of the remainders matter here.
                let geometry =
                    Geometry { slots, blocks: 0, remainder_bits, copies: 1, fingerprints };
                let mut hashes = [0; BLOCK].map(|_: u64| random.word());
                [hashes[0], hashes[1]] = [0, u64::MAX];
                let mut located = Located::NOWHERE;
                // SAFETY: the assertion checked that the machine has NEON.
                unsafe { locate(&geometry, &hashes, &mut located) };
                for (i, hash) in hashes.into_iter().enumerate() {
                    let key = lookup::locate(&geometry, hash);
                    let line = located.line[i] as usize * LINE_BYTES;
                    let remainder = located.remainder[i];
                    assert_eq!(
                        (line, located.slot[i], remainder),
                        (key.line, key.slot.into(), key.remainder.into()),
                        "{hash:x} in {lines} lines, {remainder_bits} bits"
                    );
                }
            }
        }
    }
}
