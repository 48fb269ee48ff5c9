//! Lookups with BMI2. The metadata of one key at a time is in scalar registers.

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

/// The home and the remainder of a key.
#[derive(Clone, Copy)]
pub(super) struct Located {
    pub(super) block: usize,
    pub(super) slot: u32,
    pub(super) remainder: u32,
}

/// The remainders of a run, and the key's remainder, with which they are to be compared.
#[derive(Clone, Copy)]
struct Run {
    /// The bit of the table at which the run's remainders begin.
    at: usize,
    /// The number of bits of the run's remainders; 0 if the quotient is not occupied.
    bits: u32,
    /// The key's remainder.
    remainder: u32,
}

#[inline(always)]
pub(super) fn locate(geometry: &Geometry, hash: u64) -> Located {
    let (quotient, remainder) = geometry.split::<WideBlock>(hash);
    let (block, slot) = (quotient / u64::from(SLOTS), quotient % u64::from(SLOTS));
    Located { block: block as usize, slot: slot as u32, remainder }
}

impl Places {
    /// The run of a key, and whether it is too far: whether the quotient is occupied, but its run cannot be found from
    /// the key's block and the next. A run that is too far is empty.
    ///
    /// # Safety
    /// The caller must ensure that the table has the key's block and one after it.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn run(&self, table: *const u8, key: Located) -> (Run, bool) {
        // SAFETY: these are words and the offset of the key's block, and a word of the next, which the caller
        // guarantees to be in the table.
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
        // All ones if the run ends in the key's block, else 0.
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
    /// The caller must ensure that the run lies within the table's remainders.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn holds(&self, table: *const u8, mut run: Run) -> bool {
        let pattern = u64::from(run.remainder).wrapping_mul(self.fields.lowest);
        let mut holds = 0;
        loop {
            // SAFETY: the bit is in the section of remainders, and the section of offsets, of 64 bytes or more, comes
            // after it.
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
    // SAFETY: this function is compiled for AVX2 and BMI2, so it runs only on machines that have them.
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
    // Only the metadata tells where the run begins, but it begins near this slot. With this prefetch, a lookup took 0.7
    // to 0.85 times as long.
    let slot = key.block * 64 + key.slot as usize;
    let near = places.remainders + slot * places.bits as usize / 8;
    prefetch(table.as_ptr().wrapping_add(near), Hint::T0);
    // SAFETY: `Places::of` checks that there is a block after a key's.
    let (run, far) = unsafe { places.run(table.as_ptr(), key) };
    if far {
        return contains_any(geometry, table, hash);
    }
    // SAFETY: the run ends in the key's block or the next, which are in the table.
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
    // A lookup reads the cache lines of its block's words and offset, and then the one with the run's remainders, which
    // is known only from these. With prefetches, lookups took 0.83 to 0.97 times as long in tables of more than half
    // the size of L2, and 0.66 to 0.84 times in tables of one to two times the size of L2.
    let window = Window::for_table(table.len());
    let is_short = hashes.len() < SHORTEST_BATCH
        || hashes.len() < SHORTEST_BATCH_IN_L2 && Window::for_gathers(table.len()).hint.is_none();
    if is_short {
        return with_fetch!(window, F => one_by_one::<F>(geometry, table, hashes, found));
    }
    let ahead = if window.hint.is_none() { 0 } else { MAX_AHEAD };
    with_fetch!(window, F => blocks::<F>(geometry, &places, ahead, table, hashes, found));
}

/// Batches of fewer keys are looked up one by one, since a block takes the same time however many of its 64 keys there
/// are. In batches of 4 keys on a Zen 4 core, a key took 164 ns as part of a block and 21 ns by itself if the table was
/// in L2, and 247 ns and 111 ns in a table of 50 MB.
const SHORTEST_BATCH: usize = 16;
/// [`SHORTEST_BATCH`] for tables in L2, where nothing is prefetched. If the keys of a batch of 32 were looked up one by
/// one, the batch took 0.64 times as long in such tables, but 1.3 times as long in a table of 50 MB.
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

/// If cache lines are prefetched, the number of blocks between a pass over a block and the next pass over it.
const MAX_AHEAD: usize = 2;

/// Looks up blocks of 64 keys in three passes: the first finds the keys' homes, the second their runs, and the third
/// compares the remainders of these runs with the keys'. Each pass prefetches the cache lines that the next one reads.
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
            // SAFETY: `Places::of` checks that there is a block after a key's.
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
            // SAFETY: the runs end in the keys' blocks or the next ones, which are in the table.
            let hits = unsafe { compare(places, table.as_ptr(), &runs[block % (MAX_AHEAD + 1)]) };
            found[block] |= hits & (u64::MAX >> (BLOCK - keys_of(block).len()));
        }
    }
}

/// Finds and prefetches the runs of a block of keys. Returns a bit for each key: whether its run is too far.
///
/// # Safety
/// The caller must ensure that the table has a block after each key's.
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
        // SAFETY: the caller guarantees that the table has a block after the key's.
        let (found, far) = unsafe { places.run(table, *key) };
        F::line(table.wrapping_add(found.at / 8));
        *run = found;
        all_far |= u64::from(far) << i;
    }
    all_far
}

/// Compares runs with their keys' remainders. Returns a bit for each run: whether it has its key's remainder.
///
/// # Safety
/// The caller must ensure that the runs lie within the table's remainders.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn compare(places: &Places, table: *const u8, runs: &[Run; BLOCK]) -> u64 {
    let mut hits = 0;
    for (i, run) in runs.iter().enumerate() {
        // SAFETY: the caller guarantees that the runs lie within the table's remainders.
        hits |= u64::from(unsafe { places.holds(table, *run) }) << i;
    }
    hits
}
