//! Lookups with BMI2, key by key in scalar registers.

use super::places::{Places, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::scalar;
use crate::kernel::words::word;
use crate::layout::WideBlock;
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Hint, Window};
use trommel_base::with_fetch;
use trommel_simd::prefetch;

const BLOCK: usize = 64;

/// Where a key belongs.
#[derive(Clone, Copy)]
pub(super) struct Located {
    pub(super) block: usize,
    pub(super) slot: u32,
    pub(super) remainder: u32,
}

/// The remainders that a key is to be compared with.
#[derive(Clone, Copy)]
struct Run {
    /// Bit of the table where they begin.
    at: usize,
    /// How many bits there are: none if the quotient is not occupied.
    bits: u32,
    remainder: u32,
}

#[inline(always)]
pub(super) fn locate(geometry: &Geometry, hash: u64) -> Located {
    let (quotient, remainder) = geometry.split::<WideBlock>(hash);
    let (block, slot) = (quotient / u64::from(SLOTS), quotient % u64::from(SLOTS));
    Located { block: block as usize, slot: slot as u32, remainder }
}

impl Places {
    /// The run of a key; `None` if its quotient is occupied, but it ends in neither the key's block nor
    /// the next.
    ///
    /// # Safety
    /// The table has the key's block and one after it.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn run(&self, table: *const u8, key: Located) -> (Run, bool) {
        // SAFETY: words and offset of the key's block, and a word of the next.
        let (occupieds, runends, next, offset) = unsafe {
            let words = key.block * 16;
            (
                word(table, words),
                word(table, words + 8),
                word(table, words + 24),
                u32::from(*table.add(self.offsets + key.block)),
            )
        };
        let below_home = _bzhi_u64(u64::MAX, key.slot);
        let number = i64::from((occupieds & below_home).count_ones());
        let own = runends ^ _bzhi_u64(runends, offset);
        let ends = i64::from(own.count_ones());
        // All ones if the run ends in the key's block.
        let here = ((number - ends) >> 63) as u64;
        let word = next ^ (next ^ own) & here;
        let number = (number - ends) + (ends & here as i64);
        let end = _pdep_u64(1 << number, word);
        let below = end.wrapping_sub(1);
        let earlier = own & (below | !here) | below_home | _bzhi_u64(u64::MAX, offset);
        let first = 64 - _lzcnt_u64(earlier) as i64;
        let earlier_next = _lzcnt_u64(next & below & !here) as i64;
        let begins_next = (earlier_next - 64) >> 63;
        let first = first + ((128 - earlier_next - first) & begins_next);
        let slots = below.count_ones() as i64 + 1 + (64 & !here as i64) - first;
        let occupied = occupieds >> key.slot & 1;
        let far = occupied & (u64::from(end == 0) | u64::from(offset > SLOTS));
        let valid = (occupied ^ far).wrapping_neg() & !(slots >> 63) as u64;
        let bits = (slots as u64 & valid) as u32 * self.bits;
        let at = ((key.block * 64 + first as usize) * self.bits as usize) & valid as usize;
        let run = Run { at: self.remainders * 8 + at, bits, remainder: key.remainder };
        (run, far != 0)
    }

    /// Whether a run has its key's remainder.
    ///
    /// # Safety
    /// The run lies within the table's remainders.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn holds(&self, table: *const u8, mut run: Run) -> bool {
        let pattern = u64::from(run.remainder).wrapping_mul(self.fields.lowest);
        let mut holds = 0;
        loop {
            // SAFETY: a run's first bit is in the remainders, which the offsets, 64 bytes and more,
            // come after.
            let window = unsafe { word(table, run.at / 8) };
            let window = window >> (run.at % 8);
            let equal = self.fields.equal(window, pattern);
            holds |= _bzhi_u64(equal, run.bits.min(64));
            if run.bits <= self.fields.step {
                return holds != 0;
            }
            run.bits -= self.fields.step;
            run.at += self.fields.step as usize;
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_any(geometry: &Geometry, table: &[u8], hash: u64) -> bool {
    // SAFETY: this function is compiled for AVX2 and BMI2.
    let words = unsafe { super::Avx2::new() };
    scalar::contains::<WideBlock, _>(words, geometry, table, hash)
}

/// One lookup.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains(geometry: &Geometry, table: &[u8], hash: u64) -> bool {
    let Some(places) = Places::of(geometry, table) else {
        return contains_any(geometry, table, hash);
    };
    let key = locate(geometry, hash);
    // Where the run is, is known from the metadata, but it begins about here: a lookup took 0.7 to 0.85 of the
    // time since.
    let slot = key.block * 64 + key.slot as usize;
    let near = places.remainders + slot * places.bits as usize / 8;
    prefetch(table.as_ptr().wrapping_add(near), Hint::T0);
    // SAFETY: there is a block after a key's, as `places` says.
    let (run, far) = unsafe { places.run(table.as_ptr(), key) };
    if far {
        return contains_any(geometry, table, hash);
    }
    // SAFETY: the run ends in the key's block or the next.
    unsafe { places.holds(table.as_ptr(), run) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_batch(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let Some(places) = Places::of(geometry, table) else {
        for (i, hash) in hashes.iter().enumerate() {
            found[i / 64] |= u64::from(contains_any(geometry, table, *hash)) << (i % 64);
        }
        return;
    };
    // Three lines per key, each known from the one before: prefetched, lookups took 0.83 to 0.97 of their time in the
    // farther half of L2, and 0.66 to 0.84 between one L2 and two.
    let window = Window::for_table(table.len());
    let is_short = hashes.len() < SHORTEST_BATCH
        || hashes.len() < SHORTEST_BATCH_IN_L2 && Window::for_gathers(table.len()).hint.is_none();
    if is_short {
        return with_fetch!(window, F => one_by_one::<F>(geometry, table, hashes, found));
    }
    let ahead = if window.hint.is_none() { 0 } else { MAX_AHEAD };
    with_fetch!(window, F => blocks::<F>(geometry, &places, ahead, table, hashes, found));
}

/// Fewer keys are looked up one by one: a block costs the same however many of its 64 keys there are. ns per key by a
/// block and so, on a Zen 4 core: batches of 4 keys 164 and 21 in L2, 247 and 111 in 50 MB.
const SHORTEST_BATCH: usize = 16;
/// The same in L2, where there is nothing to prefetch: batches of 32 keys took 0.64 of the time one by one, and in
/// 50 MB 1.3 of it.
const SHORTEST_BATCH_IN_L2: usize = 40;

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn one_by_one<F: Fetch>(geometry: &Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    for hash in hashes {
        F::line(table.as_ptr().wrapping_add(locate(geometry, *hash).block * 16));
    }
    for (i, hash) in hashes.iter().enumerate() {
        found[i / 64] |= u64::from(contains(geometry, table, *hash)) << (i % 64);
    }
}

/// Blocks between two passes over a block, where the lines of one are prefetched by the other.
const MAX_AHEAD: usize = 2;

/// Blocks of 64 keys, in three passes: where keys belong, where their runs are, and whether they are
/// in them. Each prefetches what the next reads.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn blocks<F: Fetch>(
    geometry: &Geometry,
    places: &Places,
    ahead: usize,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let nowhere = Located { block: 0, slot: 0, remainder: 0 };
    let mut located = [[nowhere; BLOCK]; MAX_AHEAD + 1];
    let empty = Run { at: 0, bits: 0, remainder: 0 };
    let mut runs = [[empty; BLOCK]; MAX_AHEAD + 1];
    let blocks = hashes.len().div_ceil(BLOCK);
    let keys_of = |block: usize| &hashes[block * BLOCK..hashes.len().min((block + 1) * BLOCK)];
    for step in 0..blocks + 2 * ahead {
        if step < blocks {
            F::keys_behind(keys_of(step));
            for (key, hash) in located[step % (MAX_AHEAD + 1)].iter_mut().zip(keys_of(step)) {
                *key = locate(geometry, *hash);
                F::line(table.as_ptr().wrapping_add(key.block * 16));
            }
        }
        if let Some(block) = step.checked_sub(ahead).filter(|block| *block < blocks) {
            let (keys, runs) =
                (&located[block % (MAX_AHEAD + 1)], &mut runs[block % (MAX_AHEAD + 1)]);
            // SAFETY: there is a block after a key's, as `places` says.
            let mut far = unsafe { find_runs::<F>(places, table.as_ptr(), keys, runs) };
            far &= u64::MAX >> (BLOCK - keys_of(block).len());
            while far != 0 {
                let i = far.trailing_zeros() as usize;
                let hit = contains_any(geometry, table, keys_of(block)[i]);
                found[block] |= u64::from(hit) << i;
                far &= far - 1;
            }
        }
        if let Some(block) = step.checked_sub(2 * ahead) {
            // SAFETY: the runs end in the keys' block or the next.
            let hits = unsafe { compare(places, table.as_ptr(), &runs[block % (MAX_AHEAD + 1)]) };
            found[block] |= hits & (u64::MAX >> (BLOCK - keys_of(block).len()));
        }
    }
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn find_runs<F: Fetch>(
    places: &Places,
    table: *const u8,
    keys: &[Located; BLOCK],
    runs: &mut [Run; BLOCK],
) -> u64 {
    let mut all_far = 0;
    for (i, (key, run)) in keys.iter().zip(runs).enumerate() {
        // SAFETY: the caller's duty.
        let (found, far) = unsafe { places.run(table, *key) };
        F::line(table.wrapping_add(found.at / 8));
        *run = found;
        all_far |= u64::from(far) << i;
    }
    all_far
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn compare(places: &Places, table: *const u8, runs: &[Run; BLOCK]) -> u64 {
    let mut hits = 0;
    for (i, run) in runs.iter().enumerate() {
        // SAFETY: the caller's duty.
        hits |= u64::from(unsafe { places.holds(table, *run) }) << i;
    }
    hits
}
