//! Register-blocked with AVX-512: eight keys a vector, at a cost that does not depend on the number
//! of bits. One multishift puts the pattern positions of each key into the bytes of its lane, and one
//! `vpshufbitqmb` tests them all in the gathered words.

use super::avx512_core::{self, spread};
use super::{RegisterBody, WORD_BYTES, avx2};
use crate::geometry::Geometry;
use crate::kernel::x86::{self, AnswerBytes};
use crate::kernel::{Kernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions, portable};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Ring, Window, roll};
use trommel_base::range::reduce;
use trommel_base::with_fetch;

/// The functions for keys that set so many bits: a batch reads its words one by one, and tests as many bits as there
/// are. ns a key on a Zen 4 core, by gathers and so: 0.68 and 0.64 at 150 KB, 1.4 and 1.2 at 1.5 MB.
pub(super) fn kernels(hashes: u32) -> Kernels {
    Kernels { contains, ..avx512_core::kernels(hashes) }
}

/// The same with lookups of a batch by gathers.
pub(super) fn gathering(hashes: u32) -> Kernels {
    Kernels { contains_batch, ..kernels(hashes) }
}

/// Keys of a group.
const GROUP: usize = 8;

/// For each byte of a lane, where its six bits begin in the product: those of a pattern's positions,
/// and for the bytes beyond the pattern the first position again.
#[inline]
const fn multishift_lane(count: u32) -> i64 {
    const SHIFT: u64 = u64::from_le_bytes([PATTERN_SHIFT as u8; 8]);
    const STEPS: u64 = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]) * PATTERN_STEP as u64;
    // The steps of the first `count` bytes, 1 to 8 of them.
    let kept = u64::MAX >> (64 - 8 * count);
    (SHIFT + (STEPS & kept)).cast_signed()
}

/// One key in the lowest lane; the number of bits does not matter here either.
///
/// # Safety
/// The table has the length that the geometry says.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
unsafe fn contains(geometry: &Geometry, table: *const u8, hash: u64) -> bool {
    let word = reduce(hash, geometry.units) as usize;
    // SAFETY: the word is below `geometry.units`, and the caller promises that the table has so many;
    // the eight bytes that are read need no alignment.
    let word = unsafe { _mm_loadl_epi64(table.add(word * WORD_BYTES).cast()) };
    let positions = _mm_cvtsi64_si128(pattern_positions(hash).cast_signed());
    let control = _mm_cvtsi64_si128(multishift_lane(geometry.hashes));
    let fields = _mm_multishift_epi64_epi8(control, positions);
    _mm_bitshuffle_epi64_mask(word, fields) as u8 == 0xFF
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    if table.len() > x86::WIDE_LOOKUPS_MAX_BYTES {
        return avx2::contains_batch(geometry, table, hashes, found);
    }
    let window = Window::for_gathers(table.len());
    if window.hint.is_none() {
        contains_in_cache(geometry, table, hashes, found);
    } else {
        with_fetch!(window, F => contains_rolling::<F>(geometry, table, hashes, found, window));
    }
}

/// A byte a key, all ones where all bits of its pattern are set in the word of its place.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn test(words: __m512i, hashes: __m512i, control: __m512i) -> u64 {
    _mm512_bitshuffle_epi64_mask(words, _mm512_multishift_epi64_epi8(control, spread(hashes)))
}

/// Without prefetch nothing needs to wait in a ring: the places stay in registers.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_in_cache(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    assert_eq!(table.len() as u64, geometry.units * WORD_BYTES as u64);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let control = _mm512_set1_epi64(multishift_lane(geometry.hashes));
    let (words_of_keys, _) = hashes.as_chunks::<64>();
    for (keys, found) in words_of_keys.iter().zip(&mut *found) {
        let (groups, _) = keys.as_chunks::<GROUP>();
        let mut answers = 0;
        for (i, keys) in groups.iter().enumerate() {
            let keys = x86::load_8(keys);
            let places = x86::reduce_8_wide(keys, units);
            // SAFETY: the places are below `geometry.units`, as products' high halves, and the table
            // has so many words, as asserted above.
            let words = unsafe { _mm512_i64gather_epi64::<8>(places, table.as_ptr().cast()) };
            let bytes = _mm512_movm_epi8(test(words, keys, control));
            let hits = _mm512_cmpeq_epi64_mask(bytes, _mm512_set1_epi64(-1));
            answers |= u64::from(hits) << (8 * i);
        }
        *found = answers;
    }
    let first = words_of_keys.len() * 64;
    portable::contains_rest::<RegisterBody>(geometry, table, &hashes[first..], first, found);
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_rolling<F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    window: Window,
) {
    assert_eq!(table.len() as u64, geometry.units * WORD_BYTES as u64);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let control = _mm512_set1_epi64(multishift_lane(geometry.hashes));
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    let mut state = (Ring::default(), AnswerBytes::new());
    roll::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut state,
        |(ring, _), group| {
            let places = x86::reduce_8(x86::load_8(&groups[group]), units);
            x86::store_places(ring.group_mut(group), places);
        },
        |(ring, _), group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |(ring, answers), group| {
            answers.advance(group, found);
            // SAFETY: eight places of the ring are read; they are below `geometry.units`, and the
            // table has so many words, as asserted above.
            let words = unsafe {
                let places = _mm256_loadu_si256(ring.group::<GROUP>(group).as_ptr().cast());
                let places = _mm512_cvtepu32_epi64(places);
                _mm512_i64gather_epi64::<8>(places, table.as_ptr().cast())
            };
            let keys = x86::load_8(&groups[group]);
            *answers.group(group) = test(words, keys, control).to_le_bytes();
        },
    );
    let first = groups.len() * GROUP;
    state.1.finish(first, found);
    portable::contains_rest::<RegisterBody>(geometry, table, rest, first, found);
}
