//! Register blocks with SSE2. A key's bits come from floating-point numbers.

use crate::geometry::Geometry;
use crate::kernel::PATTERN_STEP;
use crate::kernel::mask::Mask;
use crate::kernel::portable::{GROUP, Group, range_at};
use crate::kernel::sse2::{self, EXPONENT_SHIFT, LEAST_EXPONENT, highest_bit, start_in_half};
use core::arch::x86_64::*;
use trommel_base::batch::WORD_BYTES;

const PAIRS: usize = GROUP / 2;

/// The patterns of a group's keys, two in each vector.
#[inline(always)]
fn patterns(count: u32, hashes: &[u64; GROUP]) -> [__m128i; PAIRS] {
    // SAFETY: the target guarantees SSE2.
    let mut patterns = [unsafe { _mm_setzero_si128() }; PAIRS];
    let products: [_; PAIRS] = core::array::from_fn(|pair| sse2::products(hashes, pair));
    add_bits::<0>(&mut patterns, &products, count);
    if count > 4 {
        add_bits::<1>(&mut patterns, &products, count);
    }
    patterns
}

/// Adds the bits whose pattern positions are in this half of the products.
#[inline(always)]
fn add_bits<const HALF: usize>(
    patterns: &mut [__m128i; PAIRS],
    products: &[__m128i; PAIRS],
    count: u32,
) {
    let first = 4 * HALF as u32;
    let flips = (first..first + 4).fold(0, |flips, i| flips | highest_bit(i));
    let halves: [_; PAIRS] =
        core::array::from_fn(|pair| sse2::halves::<HALF>(products[pair], flips));
    for i in first..first + 4 {
        // One comparison for all keys of the group, instead of a loop of `count` rounds for each key.
        if i < count {
            for (pattern, halves) in patterns.iter_mut().zip(halves) {
                // SAFETY: the target guarantees SSE2.
                *pattern = unsafe { _mm_or_si128(*pattern, bits(halves, i)) };
            }
        }
    }
}

/// For each of two keys, the bit of pattern position `i`. `halves` has the halves of the products with this position.
#[inline(always)]
fn bits(halves: __m128i, i: u32) -> __m128i {
    const POSITION: i32 = (1 << PATTERN_STEP) - 1;
    let to_exponent = EXPONENT_SHIFT - start_in_half(i);
    // SAFETY: the target guarantees SSE2.
    unsafe {
        let distance = _mm_cvtsi32_si128(to_exponent.abs());
        let shifted = if to_exponent < 0 {
            _mm_srl_epi32(halves, distance)
        } else {
            _mm_sll_epi32(halves, distance)
        };
        let positions = _mm_and_si128(shifted, _mm_set1_epi32(POSITION << EXPONENT_SHIFT));
        let least = _mm_set1_epi32(LEAST_EXPONENT << EXPONENT_SHIFT);
        sse2::bits_of_powers(_mm_add_epi32(positions, least))
    }
}

#[inline(always)]
pub(super) fn test_group(geometry: Geometry, table: &[u8], group: Group<'_>) -> u8 {
    let patterns = patterns(geometry.hashes, group.hashes);
    let missing = |pair: usize| {
        let word = |i: usize| {
            let word = table[range_at(group.places[i], WORD_BYTES)].as_ptr().cast::<__m128i>();
            // SAFETY: reads the 8 bytes of the word, which the range above has checked.
            unsafe { _mm_loadl_epi64(word) }
        };
        // SAFETY: the target guarantees SSE2.
        unsafe {
            let words = _mm_unpacklo_epi64(word(2 * pair), word(2 * pair + 1));
            _mm_andnot_si128(words, patterns[pair])
        }
    };
    // SAFETY: as above. The pack saturates, so that a lane that is not zero stays so.
    let four = |first| unsafe { _mm_packs_epi32(missing(first), missing(first + 1)) };
    sse2::zero_lanes(four(0), four(2))
}

#[inline(always)]
pub(super) fn unite_group(geometry: Geometry, table: &mut [u8], group: Group<'_>) {
    let mut patterns_of_keys = [0; GROUP];
    let (pairs, _) = patterns_of_keys.as_chunks_mut::<2>();
    for (pair, patterns) in pairs.iter_mut().zip(patterns(geometry.hashes, group.hashes)) {
        // SAFETY: writes the 16 bytes of the array; the instruction needs no alignment.
        unsafe { _mm_storeu_si128(pair.as_mut_ptr().cast(), patterns) };
    }
    for (pattern, place) in patterns_of_keys.into_iter().zip(group.places) {
        let word = &mut table[range_at(*place, WORD_BYTES)];
        Mask::unite([pattern], word);
    }
}
