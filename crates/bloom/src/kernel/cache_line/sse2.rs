//! Cache-line blocks with SSE2. A key's bit in a lane comes from floating-point numbers.

use crate::kernel::PATTERN_STEP;
use crate::kernel::portable::GROUP;
use crate::kernel::sse2::{self, EXPONENT_SHIFT, LEAST_EXPONENT, highest_bit, start_in_half};
use core::arch::x86_64::*;

/// The bits of key `i` of a group, in the four quarters of a line.
#[inline(always)]
pub(super) fn mask(hashes: &[u64; GROUP], i: usize) -> [__m128i; 4] {
    const POSITION: i64 = (1 << PATTERN_STEP) - 1;
    const LOW: i64 = POSITION << start_in_half(0) | POSITION << start_in_half(2);
    const HIGH: i64 = POSITION << start_in_half(4) | POSITION << start_in_half(6);
    // SAFETY: the target guarantees SSE2.
    let positions = unsafe {
        let products = sse2::products(hashes, i / 2);
        // The second lane has the positions with odd numbers where the first has those with even numbers.
        let shifted = _mm_srli_epi64::<{ PATTERN_STEP as i32 }>(products);
        let key = if i.is_multiple_of(2) {
            _mm_unpacklo_epi64(products, shifted)
        } else {
            _mm_unpackhi_epi64(products, shifted)
        };
        _mm_and_si128(key, _mm_set1_epi64x(HIGH << 32 | LOW))
    };
    let [first, second] = quarters::<0>(positions);
    let [third, fourth] = quarters::<1>(positions);
    [first, second, third, fourth]
}

/// The bits of a key in the low half of a line (`HALF` is 0) or in its high half (1). `positions` has the key's pattern
/// positions with even numbers in its first lane, those with odd numbers in the second lane, and zeros elsewhere.
#[inline(always)]
fn quarters<const HALF: usize>(positions: __m128i) -> [__m128i; 2] {
    const EXPONENT: i32 = 0xFF;
    let [first, second] = [4 * HALF as u32, 4 * HALF as u32 + 2];
    let [first_start, second_start] = [start_in_half(first), start_in_half(second)];
    let halves = sse2::halves::<HALF>(positions, highest_bit(first) | highest_bit(second));
    // SAFETY: the target guarantees SSE2.
    unsafe {
        // A position is at most 63, so a sum is at most 158 and fits the eight bits of an exponent. The two positions
        // are twelve bits apart, so both sums fit beside each other.
        let least = LEAST_EXPONENT << first_start | LEAST_EXPONENT << second_start;
        let both = _mm_add_epi32(halves, _mm_set1_epi32(least));
        let only_second = _mm_and_si128(both, _mm_set1_epi32(EXPONENT << second_start));
        let to_exponent = |start: i32| _mm_cvtsi32_si128(EXPONENT_SHIFT - start);
        [
            // The shift pushes the second exponent out of the lane.
            sse2::bits_of_powers(_mm_sll_epi32(both, to_exponent(first_start))),
            sse2::bits_of_powers(_mm_sll_epi32(only_second, to_exponent(second_start))),
        ]
    }
}
