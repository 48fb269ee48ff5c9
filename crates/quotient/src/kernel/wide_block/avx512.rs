//! Batches of lookups with AVX-512. A register has one number for each of eight keys.
//!
//! All reads are ordinary loads. Rejected: gathers. With them, a lookup in tables of 0.5 to 1.3 MiB took 1.5 times as
//! long on a Cascade Lake core, mostly because of the gathers of remainders (8.3 ns instead of 6.0 if only remainders
//! are gathered).

use super::bmi2;
use super::places::Places;
use crate::geometry::Geometry;
use crate::kernel::vectors::{BLOCK, Column, GROUP, count_ones, pairs_of_words, words};
use crate::kernel::words::word;
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;

/// The positions and remainders of a block of keys.
#[derive(Clone, Copy)]
struct Located {
    /// The byte of the table at which the two metadata words of the key's block begin.
    words: Column,
    slot: Column,
    /// The remainder, repeated in every field of a word.
    pattern: Column,
}

/// The runs with which a block of keys is compared.
#[derive(Clone, Copy)]
struct Runs {
    /// The byte in which the run begins, counted from the beginning of the section of remainders.
    byte: Column,
    /// The bit of that byte at which the run begins.
    bit: Column,
    /// The number of bits of the run's remainders; 0 if there is no run.
    bits: Column,
    /// The key's remainder, repeated in every field of a word.
    pattern: Column,
}

/// The results that a pass over a block of keys leaves for the next passes over it. In the comments on the fields,
/// blocks are those of the table.
struct Block<const VPOPCNT: bool> {
    offset: Column,
    /// The word of runends in which the run ends. If this is the word of the key's block, the runends of earlier
    /// blocks' runs are cleared in it.
    ends: Column,
    /// A one, shifted left by the number of runends in `ends` that come before the run's end.
    number: Column,
    /// The bit of the run's end in `ends`.
    end: Column,
    /// If the run ends in the next block or later, the runends of the key's block from the offset on; else 0.
    before: Column,
    /// The first slot at which the run can begin: the home or the offset, whichever is larger.
    least: Column,
    /// A bit for each key: whether its quotient is occupied.
    occupied: [u8; GROUP],
    /// A bit for each key: whether its run ends in the next block or later.
    over: [u8; GROUP],
    /// A bit for each key: whether runs of earlier blocks take its whole block and more.
    covered: [u8; GROUP],
}

/// If cache lines are prefetched, each pass over the blocks of keys is this number of blocks behind the pass before it.
const MAX_AHEAD: usize = 2;

#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]
pub(super) fn contains_batch<const VPOPCNT: bool>(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let places = Places::of(geometry, table)
        .filter(|_| geometry.blocks * 64 <= u64::from(u32::MAX) && hashes.len() >= BLOCK);
    let Some(places) = places else {
        return bmi2::contains_batch(geometry, table, hashes, found);
    };
    let window = Window::for_gathers(table.len());
    let ahead = if window.hint.is_none() { 0 } else { MAX_AHEAD };
    with_fetch!(window, F => blocks::<F, VPOPCNT>(geometry, &places, ahead, table, hashes, found));
}

#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]
fn blocks<F: Fetch, const VPOPCNT: bool>(
    geometry: &Geometry,
    places: &Places,
    ahead: usize,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let (blocks, rest) = hashes.as_chunks::<BLOCK>();
    let mut located = [Located::NOWHERE; MAX_AHEAD + 1];
    let mut runs = [Runs::NONE; MAX_AHEAD + 1];
    let mut block = Block::<VPOPCNT> {
        offset: Column::ZERO,
        ends: Column::ZERO,
        number: Column::ZERO,
        end: Column::ZERO,
        before: Column::ZERO,
        least: Column::ZERO,
        occupied: [0; GROUP],
        over: [0; GROUP],
        covered: [0; GROUP],
    };
    for step in 0..blocks.len() + 2 * ahead {
        if let Some(hashes) = blocks.get(step) {
            F::keys_behind(hashes);
            locate::<F>(geometry, places, table, hashes, &mut located[step % (MAX_AHEAD + 1)]);
        }
        if let Some(found_of) = step.checked_sub(ahead).filter(|block| *block < blocks.len()) {
            let keys = &located[found_of % (MAX_AHEAD + 1)];
            block.read(places, table, keys);
            block.end.deposit(&block.number, &block.ends);
            let far = block.runs(places, keys, &mut runs[found_of % (MAX_AHEAD + 1)]);
            for byte in &runs[found_of % (MAX_AHEAD + 1)].byte.0 {
                F::line(table.as_ptr().wrapping_add(places.remainders + *byte as usize));
            }
            for i in ones(far) {
                let hit = bmi2::contains(geometry, table, blocks[found_of][i]);
                found[found_of] |= u64::from(hit) << i;
            }
        }
        if let Some(block) = step.checked_sub(2 * ahead) {
            found[block] |= runs[block % (MAX_AHEAD + 1)].compare(places, table);
        }
    }
    bmi2::contains_batch(geometry, table, rest, &mut found[blocks.len()..]);
}

/// Computes the blocks, slots and remainders of hashes, eight at a time. Each half of a hash is multiplied by the
/// table's number of slots. The product of the low half is shifted right by 32 bits, and added to the product of the
/// high half. The sum has the quotient in its high half, and the remainder in the highest bits of its low half.
#[inline]
#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]
fn locate<F: Fetch>(
    geometry: &Geometry,
    places: &Places,
    table: &[u8],
    hashes: &[u64; BLOCK],
    located: &mut Located,
) {
    let slots = _mm512_set1_epi64(geometry.slots as i64);
    let low_half = _mm512_set1_epi64(0xFFFF_FFFF);
    let sixty_three = _mm512_set1_epi64(63);
    let surplus = _mm512_set1_epi64((32 - places.bits).into());
    let lowest = _mm512_set1_epi64(places.fields.lowest as i64);
    let (groups, _) = hashes.as_chunks::<GROUP>();
    for (group, hashes) in groups.iter().enumerate() {
        // SAFETY: the array has the eight hashes that are read.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let low = _mm512_mul_epu32(hash, slots);
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hash), slots);
        let product = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low));
        let quotient = _mm512_srli_epi64::<32>(product);
        let block = _mm512_srli_epi64::<6>(quotient);
        located.words.set(group, _mm512_slli_epi64::<4>(block));
        located.slot.set(group, _mm512_and_si512(quotient, sixty_three));
        let remainder = _mm512_srlv_epi64(_mm512_and_si512(product, low_half), surplus);
        located.pattern.set(group, _mm512_mullo_epi64(remainder, lowest));
    }
    for words in &located.words.0 {
        F::line(table.as_ptr().wrapping_add(*words as usize));
    }
}

impl Located {
    const NOWHERE: Self = Self { words: Column::ZERO, slot: Column::ZERO, pattern: Column::ZERO };
}

impl Runs {
    const NONE: Self =
        Self { byte: Column::ZERO, bit: Column::ZERO, bits: Column::ZERO, pattern: Column::ZERO };
}

impl<const VPOPCNT: bool> Block<VPOPCNT> {
    /// Reads the metadata of a block of keys, and fills all fields but `end`.
    #[inline]
    #[target_feature(
        enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )]
    fn read(&mut self, places: &Places, table: &[u8], keys: &Located) {
        let one = _mm512_set1_epi64(1);
        let all = _mm512_set1_epi64(-1);
        let sixty_four = _mm512_set1_epi64(64);
        let bytes = table.as_ptr();
        for (offset, words) in self.offset.0.iter_mut().zip(&keys.words.0) {
            // SAFETY: a key's quotient is below the number of slots. `Places::of` checks the length of the table, so
            // the table has an offset for the block of each quotient.
            *offset = u64::from(unsafe { *bytes.add(places.offsets + *words as usize / 16) });
        }
        let mut ends_later = 0;
        for group in 0..BLOCK / GROUP {
            let slot = keys.slot.get(group);
            // SAFETY: a key's quotient is below the number of slots, and the table has two words for each quotient's
            // block.
            let (occupieds, runends) = unsafe { pairs_of_words(bytes, keys.words.group(group)) };
            let offset = self.offset.get(group);
            let home = _mm512_sllv_epi64(one, slot);
            let number =
                count_ones::<VPOPCNT>(_mm512_and_si512(occupieds, _mm512_sub_epi64(home, one)));
            let own = _mm512_and_si512(runends, _mm512_sllv_epi64(all, offset));
            let skipped = _mm512_sub_epi64(number, count_ones::<VPOPCNT>(own));
            let over = _mm512_cmpge_epi64_mask(skipped, _mm512_setzero_si512());
            let number = _mm512_mask_mov_epi64(number, over, skipped);
            self.ends.set(group, own);
            self.number.set(group, _mm512_sllv_epi64(one, number));
            self.before.set(group, _mm512_maskz_mov_epi64(over, own));
            self.least.set(group, _mm512_max_epu64(slot, offset));
            self.over[group] = over;
            ends_later |= u64::from(over) << (group * GROUP);
            self.covered[group] = _mm512_cmpgt_epu64_mask(offset, sixty_four);
            self.occupied[group] = _mm512_test_epi64_mask(occupieds, home);
        }
        // At 95 % load, one key in seven has a run that ends in the next block.
        for i in ones(ends_later) {
            // SAFETY: `Places::of` checks that there is a block after every key's block, so the next block's runends
            // are in the table.
            self.ends.0[i] = unsafe { word(bytes, keys.words.0[i] as usize + 24) };
        }
    }

    /// Computes the runs of a block of keys. Returns a bit for each key: whether it must be looked up by itself, since
    /// its run ends neither in the key's block nor in the next, or since runs of earlier blocks take the key's whole
    /// block and more.
    #[inline]
    #[target_feature(
        enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )]
    fn runs(&self, places: &Places, keys: &Located, runs: &mut Runs) -> u64 {
        let one = _mm512_set1_epi64(1);
        let sixty_four = _mm512_set1_epi64(64);
        let zero = _mm512_setzero_si512();
        let seven = _mm512_set1_epi64(7);
        let bits = _mm512_set1_epi64(places.bits.into());
        let mut far = 0;
        for group in 0..BLOCK / GROUP {
            let end = self.end.get(group);
            let below = _mm512_sub_epi64(end, one);
            let earlier = _mm512_and_si512(self.ends.get(group), below);
            let base = _mm512_maskz_mov_epi64(self.over[group], sixty_four);
            let begins_before = _mm512_testn_epi64_mask(earlier, earlier);
            let earlier = _mm512_mask_mov_epi64(earlier, begins_before, self.before.get(group));
            let begun = _mm512_mask_mov_epi64(base, begins_before, zero);
            let first = _mm512_sub_epi64(sixty_four, _mm512_lzcnt_epi64(earlier));
            let first = _mm512_add_epi64(first, begun);
            let first = _mm512_max_epu64(first, self.least.get(group));
            let last = _mm512_add_epi64(base, count_ones::<VPOPCNT>(below));
            let occupied = self.occupied[group];
            let here = _mm512_mask_test_epi64_mask(occupied & !self.covered[group], end, end);
            far |= u64::from(occupied & !here) << (group * GROUP);
            let here = _mm512_mask_cmple_epi64_mask(here, first, last);
            let slots = _mm512_sub_epi64(_mm512_add_epi64(last, one), first);
            // `words` is 16 times the block's number. The number of the block's first slot is 64 times the block's
            // number, so four times `words`.
            let block = _mm512_slli_epi64::<2>(keys.words.get(group));
            let slot = _mm512_add_epi64(block, first);
            let at = _mm512_maskz_mul_epu32(here, slot, bits);
            runs.byte.set(group, _mm512_srli_epi64::<3>(at));
            runs.bit.set(group, _mm512_and_si512(at, seven));
            runs.bits.set(group, _mm512_maskz_mul_epu32(here, slots, bits));
            runs.pattern.set(group, keys.pattern.get(group));
        }
        far
    }
}

impl Runs {
    /// A bit for each key: whether its run has the key's remainder.
    #[inline]
    #[target_feature(
        enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )]
    fn compare(&self, places: &Places, table: &[u8]) -> u64 {
        let one = _mm512_set1_epi64(1);
        let seven = _mm512_set1_epi64(7);
        let step = _mm512_set1_epi64(places.fields.step.into());
        let lowest = _mm512_set1_epi64(places.fields.lowest as i64);
        let highest = _mm512_set1_epi64(places.fields.highest as i64);
        let remainders = table.as_ptr().wrapping_add(places.remainders);
        let mut hits = 0;
        for group in 0..BLOCK / GROUP {
            let mut bit = self.bit.get(group);
            let mut bits = self.bits.get(group);
            let pattern = self.pattern.get(group);
            // SAFETY: a run's bits lie in the section of remainders. After that section comes the section of offsets,
            // of 64 bytes or more. So the eight bytes from any bit of a run on are in the table.
            let mut window = unsafe { words(remainders, self.byte.group(group)) };
            loop {
                window = _mm512_srlv_epi64(window, _mm512_and_si512(bit, seven));
                let differing = _mm512_xor_si512(window, pattern);
                // The operation is `first & !second & third`.
                let equal = _mm512_ternarylogic_epi64::<0b0010_0000>(
                    _mm512_sub_epi64(differing, lowest),
                    differing,
                    highest,
                );
                let run = _mm512_sub_epi64(_mm512_sllv_epi64(one, bits), one);
                let hit = _mm512_test_epi64_mask(equal, run);
                hits |= u64::from(hit) << (group * GROUP);
                let more = _mm512_cmpgt_epi64_mask(bits, step);
                if more == 0 {
                    break;
                }
                bits = _mm512_maskz_sub_epi64(more, bits, step);
                bit = _mm512_maskz_add_epi64(more, bit, step);
                let byte = _mm512_add_epi64(self.byte.get(group), _mm512_srli_epi64::<3>(bit));
                let mut bytes = [0; GROUP];
                // SAFETY: `bytes` has room for eight numbers. The eight bytes from any bit of a run on are in the
                // table, as said at the read of the first window.
                window = unsafe {
                    _mm512_storeu_si512(bytes.as_mut_ptr().cast(), byte);
                    words(remainders, &bytes)
                };
            }
        }
        hits
    }
}
