//! Batches of lookups with AVX2. A register has the metadata of four keys, and a line (a block of the table) is
//! compared in two halves.
//!
//! The passes are those of [`avx512`](super::avx512) in registers of half the size, with two differences. Occupied
//! quotients are counted key by key, in the loop that finds a key's run by `pdep`. And keys whose run goes on in the
//! next line are marked as bits of a word, and are looked up one by one while the lines of later blocks of keys are
//! being fetched. On a Zen 4 core, these lookups are faster than lookups key by key with scalar registers: they take
//! 0.34 to 0.43 times as long in tables that fit into L2, 0.38 to 0.46 times in tables of 1.3 MB, and 0.5 to 0.6 times
//! in tables of 20 MB.

use super::bmi2;
use super::lines::{
    Byte, LINE_BYTES, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_SHIFT, SLOT_BITS, SLOTS, START_BITS,
    lines,
};
use super::located::LocatedBlock;
use super::lookup::{Continued, follow};
use crate::geometry::Geometry;
use crate::kernel::vectors::{BLOCK, Column};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;

/// The number of keys in a group. A register has room for one 64-bit number per key of a group.
const GROUP: usize = 4;
/// In the step that probes a block of keys, the block that comes this number of blocks later is located, and its lines
/// are prefetched. So the lines of 128 keys are being fetched at a time.
const AHEAD: usize = 2;

/// The results that a pass over a block of keys leaves for the next passes.
struct Block {
    /// The line's own starts (see the documentation of `line_block.rs`).
    starts: Column,
    /// The occupied quotients below the key's.
    below: Column,
    /// The slots whose remainder equals the key's.
    equal: Column,
    /// The bit of the run's start, and that of the next start.
    ends: Column,
    /// A bit for each key: whether its quotient is occupied.
    occupied: u64,
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_batch(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
    // `locate` computes lines from products of 32-bit numbers; a table beyond 256 GiB has too many lines for that.
    if lines(geometry) > u64::from(u32::MAX) || hashes.len() < BLOCK {
        return bmi2::contains_batch(geometry, table, hashes, found);
    }
    let window = Window::for_passes(table.len());
    with_fetch!(window, F => blocks::<F>(geometry, table, hashes, found));
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn blocks<F: Fetch>(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let (blocks, rest) = hashes.as_chunks::<BLOCK>();
    // The ring `located` has the `AHEAD + 1` blocks from the block that is located to the block that is probed. It also
    // has the block before the probed block, since the keys of that block whose runs go on in the next line are looked
    // up in the same step.
    let mut located = [LocatedBlock::NOWHERE; AHEAD + 2];
    let mut block = Block {
        starts: Column::ZERO,
        below: Column::ZERO,
        equal: Column::ZERO,
        ends: Column::ZERO,
        occupied: 0,
    };
    let mut waiting = 0;
    for step in 0..=blocks.len() + AHEAD {
        if let Some(hashes) = blocks.get(step) {
            F::keys_behind(hashes);
            locate::<F>(geometry, table, hashes, &mut located[step % (AHEAD + 2)]);
        }
        let Some(probed) = step.checked_sub(AHEAD) else { continue };
        if let Some(before) = probed.checked_sub(1) {
            let keys = &located[before % (AHEAD + 2)];
            for i in ones(waiting) {
                let hit = block.follow(geometry, table, keys, i, blocks[before][i]);
                found[before] |= u64::from(hit) << i;
            }
        }
        if probed == blocks.len() {
            break;
        }
        let keys = &located[probed % (AHEAD + 2)];
        block.read(table, keys);
        block.deposit();
        (found[probed], waiting) = block.judge();
        for i in ones(waiting) {
            F::line(table.as_ptr().wrapping_add(keys.line.0[i] as usize + LINE_BYTES));
        }
    }
    let done = blocks.len() * BLOCK;
    bmi2::contains_batch(geometry, table, rest, &mut found[done / 64..]);
}

/// Computes lines, slots and remainders of hashes, four at a time, with the products that [`avx512`](super::avx512)
/// describes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn locate<F: Fetch>(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64; BLOCK],
    located: &mut LocatedBlock,
) {
    let byte = Byte::of(geometry);
    let lines = _mm256_set1_epi64x(lines(geometry) as i64);
    let slots = _mm256_set1_epi64x(SLOTS.into());
    let keep = _mm256_set1_epi64x(byte.keep.into());
    let mark = _mm256_set1_epi64x(byte.mark.into());
    let one = _mm256_set1_epi64x(1);
    let four_times = _mm256_set1_epi64x(0x0101_0101);
    let (groups, _) = hashes.as_chunks::<GROUP>();
    for (group, hashes) in groups.iter().enumerate() {
        // SAFETY: the array has the four hashes that are read.
        let hash = unsafe { _mm256_loadu_si256(hashes.as_ptr().cast()) };
        let low = _mm256_mul_epu32(hash, lines);
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(hash), lines);
        let high = _mm256_add_epi64(high, _mm256_srli_epi64::<32>(low));
        let line = _mm256_srli_epi64::<32>(high);
        let below = _mm256_srli_epi64::<32>(_mm256_mul_epu32(low, slots));
        let slot_and_below = _mm256_add_epi64(_mm256_mul_epu32(high, slots), below);
        let slot = _mm256_srli_epi64::<32>(slot_and_below);
        let top = _mm256_and_si256(_mm256_srli_epi64::<24>(slot_and_below), keep);
        let remainder = _mm256_max_epi32(_mm256_or_si256(top, mark), one);
        let remainder = _mm256_mul_epu32(remainder, four_times);
        located.line.set_four(group, _mm256_slli_epi64::<6>(line));
        located.slot.set_four(group, slot);
        located.remainder.set_four(group, remainder);
    }
    located.fetch::<F>(table);
}

impl Block {
    /// Reads the lines of a block of keys, and fills `starts`, `below`, `equal` and `occupied`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn read(&mut self, table: &[u8], keys: &LocatedBlock) {
        let one = _mm256_set1_epi64x(1);
        self.occupied = 0;
        for group in 0..BLOCK / GROUP {
            let lines = keys.line.group::<GROUP>(group);
            // SAFETY: `locate` computes lines with numbers below `lines(geometry)`, and `contains_batch` checks that
            // the table has at least that many lines.
            let (occupieds, runends) = unsafe { metadata(table, lines) };
            let home = _mm256_sllv_epi64(one, keys.slot.four(group));
            let below = _mm256_and_si256(occupieds, _mm256_sub_epi64(home, one));
            let offset = _mm256_srli_epi64::<{ OFFSET_SHIFT as i32 }>(runends);
            let own = _mm256_sllv_epi64(_mm256_set1_epi64x(-1), offset);
            self.starts.set_four(group, _mm256_and_si256(starts(runends), own));
            self.below.set_four(group, below);
            let free = zeros(_mm256_and_si256(occupieds, home));
            self.occupied |= (free ^ 0xF) << (group * GROUP);
            let remainders = keys.remainder.group::<GROUP>(group);
            for (i, (line, remainder)) in lines.iter().zip(remainders).enumerate() {
                // SAFETY: `locate` computes lines with numbers below `lines(geometry)`, and `contains_batch` checks
                // that the table has at least that many lines.
                let equal = unsafe { equal_to_four(table.as_ptr(), *line as usize, *remainder) };
                self.equal.0[group * GROUP + i] = equal;
            }
        }
    }

    /// Fills `ends`.
    #[inline]
    #[target_feature(enable = "bmi2,popcnt")]
    fn deposit(&mut self) {
        for i in 0..BLOCK {
            let number = self.below.0[i].count_ones();
            self.ends.0[i] = _pdep_u64(0b11 << number, self.starts.0[i]);
        }
    }

    /// Two words with a bit for each key. The first tells whether the key is in its line; the second, whether the key
    /// is not in its line but its run goes on in the next line.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn judge(&self) -> (u64, u64) {
        let (mut misses, mut ended) = (0, 0);
        for group in 0..BLOCK / GROUP {
            let (ends, equal) = (self.ends.four(group), self.equal.four(group));
            let but_first = _mm256_and_si256(ends, _mm256_sub_epi64(ends, _mm256_set1_epi64x(1)));
            // The bits from the run's start to below the next start, or to the end of the line if no start comes next.
            let run = _mm256_sub_epi64(but_first, _mm256_andnot_si256(but_first, ends));
            let run = _mm256_and_si256(run, _mm256_set1_epi64x(SLOT_BITS as i64));
            misses |= zeros(_mm256_and_si256(run, equal)) << (group * GROUP);
            ended |= zeros(but_first) << (group * GROUP);
        }
        let hits = self.occupied & !misses;
        (hits, self.occupied & ended & !hits)
    }

    /// Whether the table holds key `i`, whose run goes on in the next line.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn follow(
        &self,
        geometry: &Geometry,
        table: &[u8],
        keys: &LocatedBlock,
        i: usize,
        hash: u64,
    ) -> bool {
        let starts = self.starts.0[i];
        if starts == 0 {
            return bmi2::contains(geometry, table, hash);
        }
        let start = self.below.0[i].count_ones() + 1 - starts.count_ones();
        let line = keys.line.0[i] as usize + LINE_BYTES;
        let from = Continued { line, start, remainder: keys.remainder.0[i] as u8 };
        // SAFETY: this function is compiled for AVX2, BMI1, BMI2 and POPCNT, so it runs only on machines that have
        // them.
        let words = unsafe { super::Avx2::new() };
        follow(words, geometry, table, hash, from)
    }
}

/// A bit for each byte of a line: whether it equals a remainder. The low half of `remainder` has the remainder's byte
/// four times.
///
/// # Safety
/// The caller must ensure that the line lies within the table.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn equal_to_four(table: *const u8, line: usize, remainder: u64) -> u64 {
    let remainder = _mm256_set1_epi32(remainder as i32);
    let half = |at: usize| {
        // SAFETY: the caller guarantees that the line lies within the table, and this is half of it.
        let bytes = unsafe { _mm256_loadu_si256(table.add(line + at).cast()) };
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, remainder)) as u32)
    };
    half(0) | half(LINE_BYTES / 2) << 32
}

/// A bit for each of four numbers: whether it is zero.
#[inline]
#[target_feature(enable = "avx2")]
fn zeros(numbers: __m256i) -> u64 {
    let zero = _mm256_cmpeq_epi64(numbers, _mm256_setzero_si256());
    _mm256_movemask_pd(_mm256_castsi256_pd(zero)) as u64
}

/// A bit for each slot where a run can begin: see [`super::lines::starts`].
#[inline]
#[target_feature(enable = "avx2")]
fn starts(runends: __m256i) -> __m256i {
    let runends = _mm256_srli_epi64::<{ RUNENDS_SHIFT as i32 - 1 }>(runends);
    let starts = _mm256_and_si256(runends, _mm256_set1_epi64x(START_BITS as i64));
    _mm256_or_si256(starts, _mm256_set1_epi64x(1))
}

/// Two words of each of four lines: the word with the occupieds, which has other bits above them, and the word with the
/// runends.
///
/// # Safety
/// The caller must ensure that a whole line of the table begins at each of the byte offsets `lines`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn metadata(table: &[u8], lines: &[u64; GROUP]) -> (__m256i, __m256i) {
    const AT: usize = LINE_BYTES - 16;
    // SAFETY: the caller guarantees whole lines, and these are the last sixteen bytes of each.
    let pair =
        |i: usize| unsafe { _mm_loadu_si128(table.as_ptr().add(AT + lines[i] as usize).cast()) };
    let (even, odd) = (_mm256_set_m128i(pair(2), pair(0)), _mm256_set_m128i(pair(3), pair(1)));
    let before_runends = _mm256_unpacklo_epi64(even, odd);
    let runends = _mm256_unpackhi_epi64(even, odd);
    const OCCUPIEDS_SHIFT: i32 = 8 * (OCCUPIEDS_AT - AT) as i32;
    let occupieds = _mm256_or_si256(
        _mm256_srli_epi64::<OCCUPIEDS_SHIFT>(before_runends),
        _mm256_slli_epi64::<{ 64 - OCCUPIEDS_SHIFT }>(runends),
    );
    (occupieds, runends)
}
