//! Register-blocked lookups with AVX-512: eight keys per vector, at a cost that does not depend on the number of bits
//! that a key sets. One multishift puts the pattern positions of each key into the bytes of its lane, and one
//! `vpshufbitqmb` tests all these positions in the gathered words.

use super::avx512_core::{self, spread};
use super::avx512_single::field_starts;
use super::{RegisterBody, avx2};
use crate::geometry::Geometry;
use crate::kernel::groups::run_groups;
use crate::kernel::portable::GROUP;
use crate::kernel::x86::{self, AnswerBytes};
use crate::kernel::{BatchKernels, portable};
use core::arch::x86_64::*;
use trommel_base::batch::{WORD_BYTES, Window};
use trommel_base::with_fetch;

/// Kernels whose lookups gather the words of a batch. The lookups of [`avx512_core`] read the words one by one, and
/// compute the patterns of eight keys bit by bit. On a Zen 4 core, whose gathers are slow, a lookup in a table of
/// 150 KB takes 0.68 ns with gathers and 0.64 ns with single reads. In a table of 1.5 MB, it takes 1.4 ns
/// with gathers and 1.2 ns with single reads.
pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, ..avx512_core::KERNELS };

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    if table.len() > x86::WIDE_LOOKUPS_MAX_BYTES {
        return avx2::contains_batch(geometry, table, hashes, found);
    }
    if Window::for_gathers(table.len()).hint.is_none() {
        contains_in_cache(geometry, table, hashes, found);
    } else {
        contains_pipelined(geometry, table, hashes, found);
    }
}

/// Returns eight bits per key. A key's eight bits are all 1 if the key's word has all bits of the key's pattern. Each
/// lane of `control` must be the result of [`field_starts`].
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn test(words: __m512i, hashes: __m512i, control: __m512i) -> u64 {
    _mm512_bitshuffle_epi64_mask(words, _mm512_multishift_epi64_epi8(control, spread(hashes)))
}

/// Lookups without prefetch. The words are read as soon as they are located, so their indices need no ring and stay in
/// registers.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_in_cache(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    assert_eq!(table.len() as u64, geometry.units * WORD_BYTES as u64);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let control = _mm512_set1_epi64(field_starts(geometry.hashes).cast_signed());
    let (words_of_keys, _) = hashes.as_chunks::<64>();
    for (keys, found) in words_of_keys.iter().zip(&mut *found) {
        let (groups, _) = keys.as_chunks::<GROUP>();
        let mut answers = 0;
        for (i, keys) in groups.iter().enumerate() {
            let keys = x86::load_8(keys);
            let places = x86::reduce_8_wide(keys, units);
            // SAFETY: each index is the high half of a product with `geometry.units`, so it is below `units`, and the
            // table has `units` words, as asserted above.
            let words = unsafe { _mm512_i64gather_epi64::<8>(places, table.as_ptr().cast()) };
            let bytes = _mm512_movm_epi8(test(words, keys, control));
            let hits = _mm512_cmpeq_epi64_mask(bytes, _mm512_set1_epi64(-1));
            answers |= u64::from(hits) << (8 * i);
        }
        *found = answers;
    }
    let first = words_of_keys.len() * 64;
    portable::contains_from::<RegisterBody>(geometry, table, hashes, first, found);
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_pipelined(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let control = _mm512_set1_epi64(field_starts(geometry.hashes).cast_signed());
    let mut answers = AnswerBytes::new();
    let window = Window::for_gathers(table.len());
    with_fetch!(window, F => run_groups::<RegisterBody, F, _>(
        geometry,
        table,
        hashes,
        window,
        &mut answers,
        |_, _, keys, places| {
            x86::store_places(places, x86::reduce_8(x86::load_8(keys), units));
        },
        |answers, group, keys, places| {
            answers.advance(group, found);
            // SAFETY: eight indices are read; they are below `geometry.units`, and the table has that number of words,
            // as `run_groups` asserts.
            let words = unsafe {
                let places = _mm256_loadu_si256(places.as_ptr().cast());
                let places = _mm512_cvtepu32_epi64(places);
                _mm512_i64gather_epi64::<8>(places, table.as_ptr().cast())
            };
            *answers.group(group) = test(words, x86::load_8(keys), control).to_le_bytes();
        },
    ));
    answers.finish(hashes.len() / GROUP * GROUP, found);
    portable::contains_rest::<RegisterBody>(geometry, table, hashes, found);
}
