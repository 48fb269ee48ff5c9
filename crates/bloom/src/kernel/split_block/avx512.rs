//! Split-block with AVX-512: two keys a register.
//!
//! Share of the time of the AVX2 loops, 12 bits per key: on a Cascade Lake core lookups 0.63 to 0.70 up to 1e5 keys,
//! 0.84 to 0.93 at 1e6, inserts 0.88 to 0.97 up to 1e5 keys and no difference beyond; on a Zen 4 core lookups 0.8 up
//! to 1e5 keys, 0.7 at 1e6 and 1e7. Bits of products brought down by VBMI's multishift, on another port than a shift,
//! gain 4 % on Zen 4 and are not worth a set of functions.
//!
//! Lost, of a filter in L2: vertical lanes with early exit (0.43–0.96 G/s against 0.95–1.07), gathers
//! of whole blocks (0.57–0.73), addresses computed one by one instead of through the ring (−10–20 %).

use super::{BLOCK_BYTES, SplitBlockBody, WORDS_SHIFT, avx2};
use crate::geometry::Geometry;
use crate::kernel::x86::{self, AnswerBytes};
use crate::kernel::{BatchKernels, portable};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Ring, Window, run_stages};
use trommel_base::with_fetch;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// Keys of a group.
const GROUP: usize = 8;

/// The blocks of eight hashes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn locate(hashes: &[u64; GROUP], units: __m512i, places: &mut [u32; GROUP]) {
    let high = _mm512_srli_epi64::<32>(x86::load_8(hashes));
    let blocks = _mm512_cvtepi64_epi32(_mm512_srli_epi64::<32>(_mm512_mul_epu32(high, units)));
    x86::store_places(places, _mm256_slli_epi32::<WORDS_SHIFT>(blocks));
}

/// One bit a lane for the keys `2 · pair` and `2 · pair + 1` of eight, the first key's in the low half.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn masks(keys: __m512i, pair: usize) -> __m512i {
    let first = _mm256_set1_epi32(4 * pair as i32);
    let second = _mm256_set1_epi32(4 * pair as i32 + 2);
    let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
    let low_halves = _mm512_permutexvar_epi32(both, keys);
    let products = _mm512_mullo_epi32(low_halves, _mm512_broadcast_i64x4(avx2::salts()));
    _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32::<27>(products))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    if table.len() > x86::WIDE_LOOKUPS_MAX_BYTES {
        return avx2::contains_batch(geometry, table, hashes, found);
    }
    let window = Window::for_table(table.len());
    with_fetch!(window, F => contains_pipelined::<F>(geometry, table, hashes, found, window));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_pipelined<F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    window: Window,
) {
    assert_eq!(table.len() as u64, geometry.units * BLOCK_BYTES as u64);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    let mut state = (Ring::default(), AnswerBytes::new());
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut state,
        |(ring, _), group| locate(&groups[group], units, ring.group_mut(group)),
        |(ring, _), group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |(ring, answers), group| {
            answers.advance(group, found);
            let keys = x86::load_8(&groups[group]);
            let (pairs, _) = ring.group::<GROUP>(group).as_chunks::<2>();
            let (bytes, _) = answers.group(group).as_chunks_mut::<2>();
            for (i, (pair, bytes)) in pairs.iter().zip(bytes).enumerate() {
                // SAFETY: the offsets are those of blocks below `geometry.units`, as a product's high
                // half, and the table has that number of blocks, as asserted above; 32 bytes of each are read.
                let both = unsafe {
                    let block = |place| x86::word_at(table.as_ptr(), place).cast::<__m256i>();
                    let first = _mm256_loadu_si256(block(pair[0]));
                    let second = _mm256_loadu_si256(block(pair[1]));
                    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
                };
                *bytes = _mm512_test_epi32_mask(both, masks(keys, i)).to_le_bytes();
            }
        },
    );
    let first = groups.len() * GROUP;
    state.1.finish(first, found);
    portable::contains_rest::<SplitBlockBody>(geometry, table, rest, first, found);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => insert_pipelined::<F>(geometry, table, hashes, window));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_pipelined<F: Fetch>(
    geometry: Geometry,
    table: &mut [u8],
    hashes: &[u64],
    window: Window,
) {
    assert_eq!(table.len() as u64, geometry.units * BLOCK_BYTES as u64);
    let start = table.as_mut_ptr();
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut Ring::default(),
        |ring, group| locate(&groups[group], units, ring.group_mut(group)),
        |ring, group| ring.fetch::<GROUP, F>(group, start),
        |ring, group| {
            let keys = x86::load_8(&groups[group]);
            let (pairs, _) = ring.group::<GROUP>(group).as_chunks::<2>();
            for (i, pair) in pairs.iter().enumerate() {
                let masks = masks(keys, i);
                let halves = [_mm512_castsi512_si256(masks), _mm512_extracti64x4_epi64::<1>(masks)];
                // In the order of the keys, so that two keys of one block see each other's bits.
                for (place, mask) in pair.iter().zip(halves) {
                    // SAFETY: as in `contains_pipelined`; 32 bytes are read and written.
                    unsafe {
                        let block = x86::word_at_mut(start, *place).cast::<__m256i>();
                        _mm256_storeu_si256(
                            block,
                            _mm256_or_si256(_mm256_loadu_si256(block), mask),
                        );
                    }
                }
            }
        },
    );
    for hash in rest {
        portable::insert::<SplitBlockBody>(geometry, table, *hash);
    }
}
