//! Batches of lookups with AVX-512. A register has the metadata of eight keys, and a whole line (a block of the table)
//! is compared at once.
//!
//! A batch is looked up in blocks of 64 keys. The answers for a block fill one word. Each block takes several passes. A
//! pass stores some results word by word, and the next pass loads them as vectors. Loading a vector soon after stores
//! to parts of it would wait for these stores; after a whole pass, they have left the store buffer. Keys whose run goes
//! on in the next line are appended to a list. The next lines are prefetched, and these keys are looked up in blocks of
//! their own.
//!
//! Rejected: appending these keys one by one instead of by compressing vectors (lookups of present keys were 2 to 8 %
//! slower, those of absent keys no faster); reading metadata by two gathers of eight words instead of loads of sixteen
//! bytes (lookups took 10 to 25 % longer on a Cascade Lake core).

use super::bmi2;
use super::lines::{
    Byte, LINE_BYTES, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_SHIFT, SLOT_BITS, SLOTS, START_BITS,
    lines,
};
use super::located::LocatedBlock;
use crate::geometry::Geometry;
use crate::kernel::vectors::{BLOCK, Column, GROUP, count_ones, pairs_of_words};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;

/// The list of keys to be looked up in the line after their own line. It has room for three blocks of keys.
struct Continued {
    len: usize,
    /// The number of keys whose lines were prefetched.
    fetched: usize,
    /// The byte of the table at which the next line begins.
    line: [u64; 3 * BLOCK],
    /// The number of [starts](super::lines::starts) of that line below the start at which the run's slots begin.
    start: [u64; 3 * BLOCK],
    /// The remainder's byte four times.
    remainder: [u64; 3 * BLOCK],
    /// The index of the key in the batch.
    key: [u64; 3 * BLOCK],
}

/// The results that a pass over a block leaves for the next passes.
struct Block<const VPOPCNT: bool> {
    /// The line's own starts (see the documentation of `line_block.rs`), or all starts of a line in which a run goes
    /// on.
    starts: Column,
    /// `0b11`, shifted left by `number`.
    pair: Column,
    /// The number of bits of `starts` below the bit at which the run begins.
    number: Column,
    /// The slots whose remainder equals the key's.
    equal: Column,
    /// The bit of the run's start, and that of the next start.
    ends: Column,
    /// A bit for each key: whether its quotient is occupied.
    occupied: [u8; GROUP],
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn contains_batch<const VPOPCNT: bool>(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    assert!(table.len() as u64 >= geometry.blocks * LINE_BYTES as u64);
    // `locate` computes lines from products of 32-bit numbers; a table beyond 256 GiB has too many lines for that.
    if lines(geometry) > u64::from(u32::MAX) || hashes.len() < BLOCK {
        return bmi2::contains_batch(geometry, table, hashes, found);
    }
    let window = Window::for_gathers(table.len());
    with_fetch!(window, F => blocks::<F, VPOPCNT>(geometry, table, hashes, found));
}

/// Until the last block of a batch is probed, a block of keys from the list is looked up only when the list has at
/// least this number of further keys. These were added in the last step or two. They stay in the list, since their
/// lines are still being fetched.
const RIPE: usize = 16;

/// A block of keys is located, and its lines are prefetched, this number of blocks before it is probed. So the lines of
/// 128 keys are being fetched at a time.
const AHEAD: usize = 2;

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn blocks<F: Fetch, const VPOPCNT: bool>(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let (blocks, rest) = hashes.as_chunks::<BLOCK>();
    let mut located = [LocatedBlock::NOWHERE; AHEAD + 1];
    let mut block = Block::<VPOPCNT> {
        starts: Column::ZERO,
        pair: Column::ZERO,
        number: Column::ZERO,
        equal: Column::ZERO,
        ends: Column::ZERO,
        occupied: [0; GROUP],
    };
    let mut continued = Continued {
        len: 0,
        fetched: 0,
        line: [0; 3 * BLOCK],
        start: [0; 3 * BLOCK],
        remainder: [0; 3 * BLOCK],
        key: [0; 3 * BLOCK],
    };
    for step in 0..blocks.len() + AHEAD {
        if let Some(hashes) = blocks.get(step) {
            F::keys_behind(hashes);
            locate::<F>(geometry, table, hashes, &mut located[step % (AHEAD + 1)]);
        }
        let Some(probed) = step.checked_sub(AHEAD) else { continue };
        let keys = &located[probed % (AHEAD + 1)];
        block.read(table, keys);
        block.ends.deposit(&block.pair, &block.starts);
        let (hits, covered) = block.judge(keys, probed * BLOCK, &mut continued);
        found[probed] = hits;
        for i in ones(covered) {
            finish_one_by_one(geometry, table, hashes, probed * BLOCK + i, found);
        }
        continued.fetch::<F>(table);
        if continued.len >= BLOCK + RIPE {
            continued.probe(geometry, table, hashes, &mut block, found);
        }
    }
    while continued.len > 0 {
        continued.probe(geometry, table, hashes, &mut block, found);
    }
    let done = blocks.len() * BLOCK;
    bmi2::contains_batch(geometry, table, rest, &mut found[done / 64..]);
}

/// Looks up a key that the vector passes could not decide.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn finish_one_by_one(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    key: usize,
    found: &mut [u64],
) {
    let hit = bmi2::contains(geometry, table, hashes[key]);
    found[key / 64] |= u64::from(hit) << (key % 64);
}

/// Computes lines, slots and remainders of hashes, eight at a time.
///
/// The line is the high word of the product `hash · lines`. The low word of this product, times 50, is a second
/// product: its high word is the slot, and the highest bits of its low word are the remainder. Each of these products
/// is computed from two products of 32-bit numbers.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn locate<F: Fetch>(
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64; BLOCK],
    located: &mut LocatedBlock,
) {
    let byte = Byte::of(geometry);
    let lines = _mm512_set1_epi64(lines(geometry) as i64);
    let slots = _mm512_set1_epi64(SLOTS.into());
    let keep = _mm512_set1_epi64(byte.keep.into());
    let mark = _mm512_set1_epi64(byte.mark.into());
    let one = _mm512_set1_epi64(1);
    let four_times = _mm512_set1_epi64(0x0101_0101);
    let (groups, _) = hashes.as_chunks::<GROUP>();
    for (group, hashes) in groups.iter().enumerate() {
        // SAFETY: the array has the eight hashes that are read.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let low = _mm512_mul_epu32(hash, lines);
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hash), lines);
        let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low));
        let line = _mm512_srli_epi64::<32>(high);
        let below = _mm512_srli_epi64::<32>(_mm512_mul_epu32(low, slots));
        let slot_and_below = _mm512_add_epi64(_mm512_mul_epu32(high, slots), below);
        let slot = _mm512_srli_epi64::<32>(slot_and_below);
        let top = _mm512_and_si512(_mm512_srli_epi64::<24>(slot_and_below), keep);
        let remainder = _mm512_max_epu64(_mm512_or_si512(top, mark), one);
        let remainder = _mm512_mul_epu32(remainder, four_times);
        let line = _mm512_slli_epi64::<6>(line);
        located.line.set(group, line);
        located.slot.set(group, slot);
        located.remainder.set(group, remainder);
    }
    located.fetch::<F>(table);
}

impl<const VPOPCNT: bool> Block<VPOPCNT> {
    /// Reads the lines of a block of keys, and fills all columns but `ends`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn read(&mut self, table: &[u8], keys: &LocatedBlock) {
        let one = _mm512_set1_epi64(1);
        for group in 0..BLOCK / GROUP {
            let (lines, remainders) = (keys.line.group(group), keys.remainder.group(group));
            // SAFETY: `locate` computes lines below `lines(geometry)`, and `contains_batch` checks that the table has
            // at least that many.
            let (occupieds, runends) = unsafe { metadata(table, lines) };
            let home = _mm512_sllv_epi64(one, keys.slot.get(group));
            let below = _mm512_and_si512(occupieds, _mm512_sub_epi64(home, one));
            let offset = _mm512_srli_epi64::<OFFSET_SHIFT>(runends);
            let own = _mm512_sllv_epi64(_mm512_set1_epi64(-1), offset);
            let starts = _mm512_and_si512(starts(runends), own);
            self.put(group, starts, count_ones::<VPOPCNT>(below));
            self.occupied[group] = _mm512_test_epi64_mask(occupieds, home);
            self.compare(table, group, lines, remainders);
        }
    }

    /// Reads the lines in which the runs of the first keys of the list go on. The quotients of these keys are known to
    /// be occupied.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn read_continued(&mut self, table: &[u8], keys: &Continued) {
        let (lines, _) = keys.line.as_chunks();
        let (starts_of_runs, _) = keys.start.as_chunks::<GROUP>();
        let (remainders, _) = keys.remainder.as_chunks();
        for group in 0..BLOCK / GROUP {
            // SAFETY: each line comes right after the line of a quotient. It is in the table, since the overhang adds
            // at least one line after the lines of all quotients. Entries that never held a key have line 0.
            // `starts_of_runs` has eight numbers for each group.
            let ((_, runends), number) = unsafe {
                let number = _mm512_loadu_si512(starts_of_runs[group].as_ptr().cast());
                (metadata(table, &lines[group]), number)
            };
            self.put(group, starts(runends), number);
            self.compare(table, group, &lines[group], &remainders[group]);
        }
        self.occupied = [0xFF; GROUP];
    }

    /// Stores the columns from which [`Column::deposit`] finds the runs of eight keys. A run begins at the bit of
    /// `starts` that has `number` others below it.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn put(&mut self, group: usize, starts: __m512i, number: __m512i) {
        self.starts.set(group, starts);
        self.pair.set(group, _mm512_sllv_epi64(_mm512_set1_epi64(0b11), number));
        self.number.set(group, number);
    }

    /// Compares the lines of eight keys with the keys' remainders.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn compare(
        &mut self,
        table: &[u8],
        group: usize,
        lines: &[u64; GROUP],
        remainders: &[u64; GROUP],
    ) {
        for i in 0..GROUP {
            // SAFETY: `lines` are whole lines of the table, as in `read` and `read_continued`, which call this.
            let bytes = unsafe { _mm512_loadu_si512(table.as_ptr().add(lines[i] as usize).cast()) };
            let remainder = _mm512_set1_epi32(remainders[i] as i32);
            self.equal.0[group * GROUP + i] = _mm512_cmpeq_epi8_mask(bytes, remainder);
        }
    }

    /// Appends to the list the keys that are not in their line, but whose run goes on in the next line. `first` is the
    /// index in the batch of the block's first key. Returns two words with a bit for each key: whether the key is in
    /// its line, and whether it must be looked up by itself, since runs of earlier lines take its whole line and more.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn judge(&self, keys: &LocatedBlock, first: usize, continued: &mut Continued) -> (u64, u64) {
        let (mut hits, mut covered) = (0, 0);
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        for group in 0..BLOCK / GROUP {
            let at = group * GROUP;
            let (hit, more) = self.verdict(group);
            hits |= u64::from(hit) << at;
            let starts = self.starts.get(group);
            let none = _mm512_mask_testn_epi64_mask(more, starts, starts);
            covered |= u64::from(none) << at;
            let more = more & !none;
            let next = _mm512_sub_epi64(self.number.get(group), count_ones::<VPOPCNT>(starts));
            let next = _mm512_add_epi64(next, _mm512_set1_epi64(1));
            let line_bytes = _mm512_set1_epi64(LINE_BYTES as i64);
            let line = _mm512_add_epi64(keys.line.get(group), line_bytes);
            let key = _mm512_add_epi64(lanes, _mm512_set1_epi64((first + at) as i64));
            let to = continued.len;
            // SAFETY: before each block, the list has fewer than `BLOCK + RIPE` keys, and a block adds at most `BLOCK`.
            // The list has room for `3 * BLOCK` keys, so a whole vector fits after its last key.
            unsafe {
                append(&mut continued.line, to, more, line);
                append(&mut continued.start, to, more, next);
                append(&mut continued.remainder, to, more, keys.remainder.get(group));
                append(&mut continued.key, to, more, key);
            }
            continued.len += more.count_ones() as usize;
        }
        (hits, covered)
    }

    /// Two bytes with a bit for each key of a group. The first tells whether the key is in its line; the second,
    /// whether the key is not in its line but its run goes on in the next line.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn verdict(&self, group: usize) -> (u8, u8) {
        let (ends, equal) = (self.ends.get(group), self.equal.get(group));
        let but_first = _mm512_and_si512(ends, _mm512_sub_epi64(ends, _mm512_set1_epi64(1)));
        // The bits from the run's start to below the next start, or to the end of the line if no start comes next.
        let run = _mm512_sub_epi64(but_first, _mm512_andnot_si512(but_first, ends));
        let run = _mm512_and_si512(run, _mm512_set1_epi64(SLOT_BITS as i64));
        let hit = _mm512_mask_test_epi64_mask(self.occupied[group], run, equal);
        let more = _mm512_mask_testn_epi64_mask(self.occupied[group], but_first, but_first) & !hit;
        (hit, more)
    }
}

impl Continued {
    /// Prefetches the lines of keys that were appended since the last call.
    #[inline(always)]
    fn fetch<F: Fetch>(&mut self, table: &[u8]) {
        for line in &self.line[self.fetched..self.len] {
            F::line(table.as_ptr().wrapping_add(*line as usize));
        }
        self.fetched = self.len;
    }

    /// Looks up the first block of the list, and removes it from the list.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    fn probe<const VPOPCNT: bool>(
        &mut self,
        geometry: &Geometry,
        table: &[u8],
        hashes: &[u64],
        block: &mut Block<VPOPCNT>,
        found: &mut [u64],
    ) {
        let taken = self.len.min(BLOCK);
        // Entries beyond the list's end are keys that were in it before, or zeros. Their lines are in the table too,
        // and their answers are not used.
        block.read_continued(table, self);
        block.ends.deposit(&block.pair, &block.starts);
        let (mut hits, mut unknown) = (0, 0);
        for group in 0..BLOCK / GROUP {
            let (hit, more) = block.verdict(group);
            hits |= u64::from(hit) << (group * GROUP);
            unknown |= u64::from(more) << (group * GROUP);
        }
        let listed = u64::MAX >> (BLOCK - taken);
        for i in ones(hits & listed) {
            let key = self.key[i] as usize;
            found[key / 64] |= 1 << (key % 64);
        }
        for i in ones(unknown & listed) {
            finish_one_by_one(geometry, table, hashes, self.key[i] as usize, found);
        }
        for column in [&mut self.line, &mut self.start, &mut self.remainder, &mut self.key] {
            column.copy_within(taken..self.len, 0);
        }
        self.len -= taken;
        self.fetched = self.len;
    }
}

/// A bit for each slot where a run can begin: see [`super::lines::starts`].
#[inline]
#[target_feature(enable = "avx512f")]
fn starts(runends: __m512i) -> __m512i {
    let runends = _mm512_srli_epi64::<{ RUNENDS_SHIFT - 1 }>(runends);
    let starts = _mm512_and_si512(runends, _mm512_set1_epi64(START_BITS as i64));
    _mm512_or_si512(starts, _mm512_set1_epi64(1))
}

/// Two words of each of eight lines: the word with the occupieds, which has other bits above them, and the word with
/// the runends.
///
/// # Safety
/// The caller must ensure that a whole line of the table begins at each of the byte offsets `lines`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn metadata(table: &[u8], lines: &[u64; GROUP]) -> (__m512i, __m512i) {
    const AT: usize = LINE_BYTES - 16;
    // SAFETY: the caller guarantees whole lines, and these are the last sixteen bytes of each.
    let (before_runends, runends) =
        unsafe { pairs_of_words(table.as_ptr().wrapping_add(AT), lines) };
    const OCCUPIEDS_SHIFT: u32 = 8 * (OCCUPIEDS_AT - AT) as u32;
    let occupieds = _mm512_or_si512(
        _mm512_srli_epi64::<OCCUPIEDS_SHIFT>(before_runends),
        _mm512_slli_epi64::<{ 64 - OCCUPIEDS_SHIFT }>(runends),
    );
    (occupieds, runends)
}

/// Writes the lanes of `values` whose bit is set in `lanes` to a column, without gaps, from index `to` on. Zeros
/// follow them, so that eight elements are written in all.
///
/// # Safety
/// The caller must ensure that the column has at least eight elements from index `to` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn append(column: &mut [u64], to: usize, lanes: u8, values: __m512i) {
    let packed = _mm512_maskz_compress_epi64(lanes, values);
    // SAFETY: the caller guarantees room for eight elements.
    unsafe { _mm512_storeu_si512(column.as_mut_ptr().add(to).cast(), packed) };
}
