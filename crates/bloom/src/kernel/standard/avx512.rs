//! The standard filter with AVX-512: gathers of eight keys, in two stages over chunks of a batch.
//!
//! The first stage tests two bits of every key; a quarter of the misses survives it. The hashes of
//! the survivors are compressed into a dense list, and the second stage tests their remaining bits,
//! eight survivors at a time. Its answers, a dense stream of bits, are spread back over the answer
//! words of the first stage with `pdep`.

use super::{WORD_BITS, avx2, contains_rest, step};
use crate::geometry::Geometry;
use crate::kernel::Kernels;
use crate::kernel::x86;
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Window};
use trommel_base::with_fetch;

pub(super) const KERNELS: Kernels = Kernels {
    contains: avx2::contains,
    contains_batch,
    insert: avx2::insert,
    insert_batch: avx2::insert_batch,
};

/// Keys of a chunk: the survivors' list and its answers stay in L1.
const CHUNK: usize = 2048;
/// Bits that the first stage tests.
const FIRST_BITS: u32 = 2;

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    // Beyond 2^32 bits a position does not come from two 32-bit products, and a filter of half a
    // gigabyte waits for memory, whatever computes the addresses.
    if geometry.units * WORD_BITS > u64::from(u32::MAX) || geometry.hashes <= FIRST_BITS {
        return avx2::contains_batch(geometry, table, hashes, found);
    }
    assert_eq!(table.len() as u64, geometry.units * (WORD_BITS / 8));
    let window = Window::for_table(table.len());
    let mut survivors = Survivors::new();
    for (keys, found) in hashes.chunks(CHUNK).zip(found.chunks_mut(CHUNK / 64)) {
        with_fetch!(window, F => contains_chunk::<F>(geometry, table, keys, found, &mut survivors));
    }
}

/// The keys that passed the first stage, dense.
#[repr(align(64))]
struct Survivors {
    /// Room for a chunk and for the lanes that a store of eight writes beyond it.
    hashes: [u64; CHUNK + 8],
    /// A bit a survivor.
    found: [u64; CHUNK / 64 + 1],
    len: usize,
}

impl Survivors {
    fn new() -> Self {
        Self { hashes: [0; CHUNK + 8], found: [0; CHUNK / 64 + 1], len: 0 }
    }
}

/// Which of the lanes of `x`, among those in `lanes`, have their bit set.
///
/// # Safety
/// The table has `bits` bits, at most 2^32.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
unsafe fn test_8(table: &[u8], x: __m512i, bits: __m512i, lanes: __mmask8) -> __mmask8 {
    let positions = _mm512_cvtepu32_epi64(x86::reduce_8(x, bits));
    let zero = _mm512_setzero_si512();
    // SAFETY: a position is below the number of bits, as a product's high half, so its word is one of
    // the table's, as the caller promises.
    let words = unsafe {
        let indices = _mm512_srli_epi64::<6>(positions);
        _mm512_mask_i64gather_epi64::<8>(zero, lanes, indices, table.as_ptr().cast())
    };
    _mm512_test_epi64_mask(words, _mm512_rolv_epi64(_mm512_set1_epi64(1), positions))
}

/// The odd steps of eight hashes; see [`step`].
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn steps(hashes: __m512i) -> __m512i {
    const { assert!(step(1 << 32) == 1) };
    _mm512_or_si512(_mm512_rol_epi64::<32>(hashes), _mm512_set1_epi64(1))
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_chunk<F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    keys: &[u64],
    found: &mut [u64],
    survivors: &mut Survivors,
) {
    let (groups, rest) = keys.as_chunks::<8>();
    let bits = _mm512_set1_epi64((geometry.units * WORD_BITS).cast_signed());
    survivors.len = 0;
    let found_bytes = x86::bytes_of(found);
    for (keys, found) in groups.iter().zip(&mut *found_bytes) {
        let keys = x86::load_8(keys);
        // SAFETY: `contains_batch` asserted the table's length and its limit of 2^32 bits.
        let passed = unsafe {
            let first = test_8(table, keys, bits, 0xFF);
            first & test_8(table, _mm512_add_epi64(keys, steps(keys)), bits, first)
        };
        *found = passed;
        let dense = _mm512_maskz_compress_epi64(passed, keys);
        // SAFETY: at most `CHUNK − 8` survivors stand before the last group's, and the list has room
        // for eight more than a chunk.
        unsafe {
            _mm512_storeu_si512(survivors.hashes.as_mut_ptr().add(survivors.len).cast(), dense);
        }
        survivors.len += passed.count_ones() as usize;
    }
    test_survivors(geometry, table, bits, survivors);
    spread_back(survivors, &mut found[..(groups.len()).div_ceil(8)]);
    contains_rest(geometry, table, rest, groups.len() * 8, found);
}

/// The second stage: the remaining bits of the survivors, until a group has none left.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn test_survivors(geometry: Geometry, table: &[u8], bits: __m512i, survivors: &mut Survivors) {
    let groups = survivors.len.div_ceil(8);
    let (hashes, _) = survivors.hashes.as_chunks::<8>();
    let found = x86::bytes_of(&mut survivors.found);
    for (hashes, found) in hashes[..groups].iter().zip(found) {
        let hashes = x86::load_8(hashes);
        let steps = steps(hashes);
        let mut x = _mm512_add_epi64(hashes, steps);
        let mut alive = 0xFF;
        for _ in FIRST_BITS..geometry.hashes {
            x = _mm512_add_epi64(x, steps);
            // SAFETY: as in `contains_chunk`.
            alive &= unsafe { test_8(table, x, bits, alive) };
            if alive == 0 {
                break;
            }
        }
        *found = alive;
    }
}

/// Keeps of the first stage's answers those that the second stage confirmed.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn spread_back(survivors: &Survivors, found: &mut [u64]) {
    let mut at = 0;
    for word in found {
        let (index, shift) = (at / 64, at % 64);
        let low = survivors.found[index] >> shift;
        // Two shifts, since one by 64 is none.
        let high = survivors.found.get(index + 1).map_or(0, |next| next << 1 << (63 - shift));
        at += word.count_ones() as usize;
        *word = _pdep_u64(low | high, *word);
    }
}
