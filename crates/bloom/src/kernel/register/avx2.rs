//! Register-blocked kernels with AVX2: a vector holds the patterns of four keys, whose words are loaded one by one.
//!
//! Rejected: a gather of the four words (on a Cascade Lake core, lookups in tables of up to 4 MiB take 1.3 to 1.9 times
//! as long; in a table in L2, a lookup takes 4.0 ns instead of 2.1).

use super::RegisterBody;
use crate::kernel::groups::{batch_inserts, batch_lookups};
use crate::kernel::{BatchKernels, PATTERN_SHIFT, PATTERN_SPREAD, PATTERN_STEP, x86};
use core::arch::x86_64::*;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// The patterns of four keys.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn patterns(hashes: __m256i, count: u32) -> __m256i {
    let spread = _mm256_set1_epi64x(PATTERN_SPREAD.cast_signed());
    let mut positions =
        _mm256_srli_epi64::<{ PATTERN_SHIFT as i32 }>(_mm256_mul_epu32(hashes, spread));
    let mut patterns = _mm256_setzero_si256();
    for _ in 0..count {
        let position = _mm256_and_si256(positions, _mm256_set1_epi64x(63));
        patterns = _mm256_or_si256(patterns, _mm256_sllv_epi64(_mm256_set1_epi64x(1), position));
        positions = _mm256_srli_epi64::<{ PATTERN_STEP as i32 }>(positions);
    }
    patterns
}

batch_lookups!(
    avx2,
    RegisterBody,
    answers = |geometry, start, keys, places| {
        let (halves, _) = places.as_chunks::<4>();
        let mut answers = 0;
        for (half, places) in halves.iter().enumerate() {
            let patterns = patterns(x86::load_4(keys, half), geometry.hashes);
            // SAFETY: each index is the high half of a product with `geometry.units`, so it is below `units`, and the
            // table has `units` words, as `run_groups` asserts. The read needs no alignment.
            let word =
                |i: usize| unsafe { start.cast::<i64>().add(places[i] as usize).read_unaligned() };
            let words = _mm256_setr_epi64x(word(0), word(1), word(2), word(3));
            let missing = _mm256_andnot_si256(words, patterns);
            let hits = _mm256_cmpeq_epi64(missing, _mm256_setzero_si256());
            answers |= _mm256_movemask_pd(_mm256_castsi256_pd(hits)) << (4 * half);
        }
        answers as u8
    },
);

batch_inserts!(
    avx2,
    RegisterBody,
    patterns = |geometry, keys| {
        let half = |half| patterns(x86::load_4(keys, half), geometry.hashes);
        [half(0), half(1)]
    },
    insert = |start, patterns, places| {
        for (place, pattern) in places.iter().zip(patterns) {
            // SAFETY: `place` is below `geometry.units`, and the table has `units` words, as `run_groups` asserts. The
            // access needs no alignment.
            unsafe { x86::or_word(start, *place, *pattern) };
        }
    },
);
