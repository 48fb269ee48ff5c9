//! Lookups in the standard filter with AVX-512. The keys of a chunk of the batch are tested in passes, most of which
//! test one bit of each key.
//!
//! A pass tests one bit of each key, for eight keys at a time. It compresses the hashes of the *survivors*, the keys
//! whose bit is set, into a dense list for the next pass. If half of the table's bits are set, half of the absent keys
//! survive a pass over one bit. If more than three quarters of the keys survive a pass, the next pass tests all
//! remaining bits. Each pass writes one answer bit for each hash of its list. At the end, from the last pass to the
//! second, the answers of a pass replace the set answer bits of the pass before it (with `pdep`).
//!
//! In a table of up to 1.5 times L2, the first pass tests two bits. Rejected for tables in L2: testing eight survivors
//! at a time until none is left, instead of compressing after each bit (4.8 against 2.9 ns per absent key at 1.2 MB on
//! Sapphire Rapids): every eight survivors then cost a mispredicted branch.
//!
//! The words are gathered, or read with one load each. Times in ns per key, at 12 bits per key on a Zen 4 core, by size
//! of the table, with prefetch at 1.5 MB, as before decision 87:
//!
//! | keys | code | 150 KB | 1.5 MB | 15 MB |
//! |---|---|---:|---:|---:|
//! | present | gathers | 14 | 20 | 24 |
//! | present | loads | 5.8 | 12 | 14 |
//! | present | `passes.rs` with AVX2 | 8.5 | 15 | 25 |
//! | absent | gathers | 4.6 | 4.8 | 5.8 |
//! | absent | loads | 2.4 | 4.2 | 4.7 |
//! | absent | `passes.rs` with AVX2 | 3.5 | 6.7 | 11 |

use super::{MULTIPLIER, WORD_BITS, avx2, contains_rest};
use crate::geometry::Geometry;
use crate::kernel::{bytes_of, x86};
use core::arch::x86_64::*;
use core::ops::Range;
use trommel_base::batch::{Fetch, LEAD_KEYS, MAX_DISTANCE_KEYS, WORD_BYTES, Window, run_stages};
use trommel_base::sizing::MAX_HASHES;
use trommel_base::with_fetch;

/// The number of keys in a vector.
const GROUP: usize = 8;
/// The number of keys in a chunk: enough that the survivors of a pass are worth another pass, and few enough that the
/// lists stay in L1.
const CHUNK: usize = 2048;
/// Batches of fewer keys than this are left to AVX2.
pub(super) const SHORTEST_BATCH: usize = 256;
/// The number of answer words of a chunk.
const WORDS: usize = CHUNK / 64;
/// The prefetch distance, in keys, of a pass over more than two bits, which fetches up to 32 cache lines per key.
const DENSE_DISTANCE_KEYS: usize = 32;

/// The state of a chunk between its passes.
#[repr(align(64))]
struct Chunk {
    /// The hashes that survived so far, without gaps. A store writes a whole vector, so there is room for eight lanes
    /// beyond the last hash.
    survivors: [u64; CHUNK + GROUP],
    /// For each pass: one answer bit for each hash of its list, and at the end a word that is always zero.
    answers: [[u64; WORDS + 1]; MAX_HASHES as usize],
    /// The indices of the words to read for the keys that are located but not yet probed; see [`Lines`].
    lines: Lines,
}

/// The indices of the words to read for the groups that are located but not yet probed: a ring of vectors. A group has
/// one vector of eight indices for each bit that the pass tests.
struct Lines([[u32; GROUP]; Lines::SLOTS]);

impl Lines {
    /// Room for the window of a pass over one bit, and for the shorter window of a pass over all bits.
    const SLOTS: usize = 512;

    const FITS: () = {
        assert!((LEAD_KEYS + MAX_DISTANCE_KEYS) / GROUP < Self::SLOTS);
        assert!((LEAD_KEYS + DENSE_DISTANCE_KEYS) / GROUP * MAX_HASHES as usize + 32 < Self::SLOTS);
    };

    #[inline(always)]
    fn slot(&mut self, group: usize, bits: usize, bit: usize) -> &mut [u32; GROUP] {
        &mut self.0[(group * bits + bit) % Self::SLOTS]
    }
}

/// Looks a batch up. Words are gathered if `GATHERS`, else read with one load each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_batch<const GATHERS: bool>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    const { Lines::FITS };
    // From 2^32 bits on, a position cannot be computed from two 32-bit products. A table of that size takes half a
    // gigabyte, so lookups in it wait for memory, however the positions are computed. In a short batch, setting up the
    // lists of a chunk costs as much as looking up about two hundred keys (on Sapphire Rapids, in batches of 64 keys, a
    // lookup took 11 ns with these lists, and 6 ns in `avx2::contains_batch`).
    if geometry.units * WORD_BITS > u64::from(u32::MAX) || hashes.len() < SHORTEST_BATCH {
        return avx2::contains_batch(geometry, table, hashes, found);
    }
    assert_eq!(table.len() as u64, geometry.units * (WORD_BITS / 8));
    let table = Table::<GATHERS> { geometry, words: table, window: super::window(table.len()) };
    let mut chunk = Chunk {
        survivors: [0; CHUNK + GROUP],
        answers: [[0; WORDS + 1]; MAX_HASHES as usize],
        lines: Lines([[0; GROUP]; Lines::SLOTS]),
    };
    for (keys, found) in hashes.chunks(CHUNK).zip(found.chunks_mut(WORDS)) {
        with_fetch!(table.window, F => table.contains_chunk::<F>(keys, found, &mut chunk));
    }
}

/// A table of fewer than 2^32 bits. `contains_batch` asserts that the table has the length that the geometry says.
struct Table<'a, const GATHERS: bool> {
    geometry: Geometry,
    words: &'a [u8],
    window: Window,
}

/// The powers of the multiplier. The position of a key's bit number `i` is computed from the key's hash times
/// `POWERS[i]`.
pub(super) const POWERS: [u64; MAX_HASHES as usize] = {
    let mut powers = [1u64; MAX_HASHES as usize];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1].wrapping_mul(MULTIPLIER);
        i += 1;
    }
    powers
};

/// For each of eight keys, the position of the key's bit number `bit`. Each lane of `bits` is the table's number of
/// bits, which must be below 2^32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn positions(hashes: __m512i, bit: u32, bits: __m512i) -> __m512i {
    let power = _mm512_set1_epi64(POWERS[bit as usize].cast_signed());
    x86::reduce_8_wide(_mm512_mullo_epi64(hashes, power), bits)
}

impl<const GATHERS: bool> Table<'_, GATHERS> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn contains_chunk<F: Fetch>(&self, keys: &[u64], found: &mut [u64], chunk: &mut Chunk) {
        let (groups, rest) = keys.as_chunks::<GROUP>();
        let listed = groups.len() * GROUP;
        let hashes = self.geometry.hashes;
        let mut before = listed;
        let survivors = chunk.survivors.as_mut_ptr();
        let (answers, lines) = (&mut chunk.answers, &mut chunk.lines);
        let (keys, first) = (keys.as_ptr(), &mut answers[0]);
        let (mut bit, mut left) = if self.window.hint.is_none() && hashes >= 2 {
            (2, self.pass::<F, 2>(keys, survivors, listed, 0..2, first, lines))
        } else {
            (1, self.pass::<F, 1>(keys, survivors, listed, 0..1, first, lines))
        };
        let mut passes = 1;
        while bit < hashes && left > 0 {
            let next = if left > before / 4 * 3 { hashes } else { bit + 1 };
            before = left;
            let answers = &mut answers[passes];
            left = self.pass::<F, 0>(survivors, survivors, left, bit..next, answers, lines);
            bit = next;
            passes += 1;
        }
        for pass in (1..passes).rev() {
            let (outer, inner) = answers.split_at_mut(pass);
            spread(&mut outer[pass - 1], &inner[0]);
        }
        let words = listed.div_ceil(64);
        found[..words].copy_from_slice(&answers[0][..words]);
        contains_rest(self.geometry, rest, listed, found, |position| {
            super::bit(self.words, position)
        });
    }

    /// Tests bits of the keys whose `len` hashes are at `list`: for each key, the bits with the numbers in `bits`.
    /// Writes an answer bit for each hash. The *survivors* are the hashes whose tested bits are all set in the table.
    /// The pass writes them to `survivors`, and returns their number. `list` and `survivors` can be the same pointer,
    /// since writing survivors never overtakes reading hashes.
    ///
    /// If `FIRST` is not 0, the pass tests the first `FIRST` bits instead of `bits`. The numbers of these bits are
    /// constants, so that bit 0 needs no multiplication. Without `FIRST`, the compiler left out this multiplication
    /// only with link-time optimisation.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn pass<F: Fetch, const FIRST: u32>(
        &self,
        list: *const u64,
        survivors: *mut u64,
        len: usize,
        bits: Range<u32>,
        answers: &mut [u64; WORDS + 1],
        lines: &mut Lines,
    ) -> usize {
        let bits = if FIRST > 0 { 0..FIRST } else { bits };
        let groups = len.div_ceil(GROUP);
        let table_bits = _mm512_set1_epi64((self.geometry.units * WORD_BITS).cast_signed());
        let count = bits.len();
        let window = if count > 2 {
            Window { distance_keys: DENSE_DISTANCE_KEYS, ..self.window }
        } else {
            self.window
        };
        // SAFETY: each group begins at an index below `len`, and both lists have room for whole groups: the keys of a
        // chunk are whole groups, and the survivors have one group to spare. Both pointers are valid for the whole
        // chunk, and nothing else accesses the survivors while passes run.
        let load = |group: usize| unsafe { _mm512_loadu_si512(list.add(group * GROUP).cast()) };
        let answers = bytes_of(answers);
        let mut written = 0;
        run_stages::<GROUP, _>(
            &[],
            groups,
            window,
            lines,
            |lines, group| {
                if self.window.hint.is_some() {
                    let hashes = load(group);
                    for (i, bit) in bits.clone().enumerate() {
                        let words = _mm512_srli_epi64::<6>(positions(hashes, bit, table_bits));
                        let slot = lines.slot(group, count, i);
                        x86::store_places(slot, _mm512_cvtepi64_epi32(words));
                    }
                }
            },
            |lines, group| {
                for i in 0..count {
                    for word in *lines.slot(group, count, i) {
                        F::line(self.words.as_ptr().wrapping_add(word as usize * WORD_BYTES));
                    }
                }
            },
            |_, group| {
                let hashes = load(group);
                let mut alive = _bzhi_u32(0xFF, (len - group * GROUP).min(GROUP) as u32) as u8;
                for bit in bits.clone() {
                    alive &= self.test(positions(hashes, bit, table_bits));
                }
                answers[group] = alive;
                let dense = _mm512_maskz_compress_epi64(alive, hashes);
                // SAFETY: at most `group * GROUP` survivors were written before, and the list has room for one more
                // group after them.
                unsafe { _mm512_storeu_si512(survivors.add(written).cast(), dense) };
                written += alive.count_ones() as usize;
            },
        );
        // Clears the eight bytes after the answers of the last group, where an earlier chunk can have left answers.
        let end = (groups + 8).min(answers.len());
        answers[groups..end].fill(0);
        written
    }

    /// Tests the table's bits at eight positions; returns one answer bit for each lane. Rejected: gathering words only
    /// for the lanes whose bits were all set so far, which makes each gather of a group wait for the gather before it
    /// (7.8 against 3.1 ns per present key in L1, on Sapphire Rapids).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn test(&self, positions: __m512i) -> __mmask8 {
        let indices = _mm512_srli_epi64::<6>(positions);
        // SAFETY: `positions` returns positions below the number of bits in `geometry`, and `contains_batch` asserted
        // that the table has that length.
        let words = unsafe {
            if GATHERS {
                _mm512_i64gather_epi64::<8>(indices, self.words.as_ptr().cast())
            } else {
                let mut word_indices = [0; GROUP];
                x86::store_places(&mut word_indices, _mm512_cvtepi64_epi32(indices));
                x86::load_words(self.words.as_ptr(), &word_indices)
            }
        };
        _mm512_test_epi64_mask(words, _mm512_rolv_epi64(_mm512_set1_epi64(1), positions))
    }
}

/// Clears the answers of one pass (`outer`) that the next pass (`inner`) did not confirm. The keys of the next pass are
/// the survivors of `outer`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn spread(outer: &mut [u64; WORDS + 1], inner: &[u64; WORDS + 1]) {
    let mut at = 0;
    for word in &mut outer[..WORDS] {
        let (index, shift) = (at / 64, at % 64);
        // Two shifts, since a single one could be by 64, which is not allowed.
        let high = inner[(index + 1).min(WORDS)] << 1 << (63 - shift);
        let bits = inner[index] >> shift | high;
        at += word.count_ones() as usize;
        *word = _pdep_u64(bits, *word);
    }
}
