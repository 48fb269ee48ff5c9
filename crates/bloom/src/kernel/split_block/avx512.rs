//! Split-block kernels with AVX-512: two keys per vector.
//!
//! Time relative to the AVX2 loops, at 12 bits per key. On a Cascade Lake core, lookups take 0.63 to 0.70 in filters of
//! up to 1e5 keys and 0.84 to 0.93 at 1e6; inserts take 0.88 to 0.97 up to 1e5 keys and 1 beyond. On a Zen 4 core,
//! lookups take 0.8 up to 1e5 keys, and 0.7 at 1e6. Batches of lookups in tables of more than
//! [`x86::WIDE_LOOKUPS_MAX_BYTES`] bytes use the AVX2 loop.
//!
//! Rejected: VBMI's multishift in place of the shift of the products (4 % faster on Zen 4, which is not worth another
//! set of functions). Also rejected, with figures for a filter in L2 of Sapphire Rapids: one key per vector lane with
//! early exit (0.43 to 0.96 G lookups/s instead of 0.95 to 1.07), gathers of whole blocks (0.57 to 0.73 G lookups/s),
//! and computing addresses one by one (10 to 20 % slower than computing them in vectors and keeping them in a ring).

use super::{SplitBlockBody, avx2};
use crate::kernel::groups::{batch_inserts, batch_lookups};
use crate::kernel::{BatchKernels, x86};
use core::arch::x86_64::*;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// The masks of the keys `2 · pair` and `2 · pair + 1` of a group of eight: one bit in each lane, the first key's lanes
/// in the low half.
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

batch_lookups!(
    avx512_core,
    SplitBlockBody,
    up_to = x86::WIDE_LOOKUPS_MAX_BYTES,
    answer_bytes = |start, keys, places, bytes| {
        let keys = x86::load_8(keys);
        let (pairs, _) = places.as_chunks::<2>();
        let (bytes, _) = bytes.as_chunks_mut::<2>();
        for (i, (pair, bytes)) in pairs.iter().zip(bytes).enumerate() {
            // SAFETY: the indices of the blocks are high halves of products with `geometry.units`, so they are below
            // `units`, and the table has `units` blocks, as `run_groups` asserts. The 32 bytes of each block are read.
            let both = unsafe {
                let block = |place| x86::word_at(start, place).cast::<__m256i>();
                let first = _mm256_loadu_si256(block(pair[0]));
                let second = _mm256_loadu_si256(block(pair[1]));
                _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
            };
            *bytes = _mm512_test_epi32_mask(both, masks(keys, i)).to_le_bytes();
        }
    },
);

batch_inserts!(
    avx512_core,
    SplitBlockBody,
    insert = |start, keys, places| {
        let keys = x86::load_8(keys);
        let (pairs, _) = places.as_chunks::<2>();
        for (i, pair) in pairs.iter().enumerate() {
            let masks = masks(keys, i);
            let halves = [_mm512_castsi512_si256(masks), _mm512_extracti64x4_epi64::<1>(masks)];
            // Inserts one key at a time, so that a key's store is visible to the next key of the same block.
            for (place, mask) in pair.iter().zip(halves) {
                // SAFETY: as in `contains_batch`; 32 bytes are read and written.
                unsafe {
                    let block = x86::word_at_mut(start, *place).cast::<__m256i>();
                    _mm256_storeu_si256(block, _mm256_or_si256(_mm256_loadu_si256(block), mask));
                }
            }
        }
    },
);
