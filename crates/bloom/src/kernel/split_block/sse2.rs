//! Split blocks with SSE2. A key's bit in a lane comes from a floating-point number.

use super::{BLOCK_BYTES, SALTS};
use crate::kernel::portable::{GROUP, Group, range_at};
use crate::kernel::sse2::{self, EXPONENT_OF_ONE, EXPONENT_SHIFT};
use core::arch::x86_64::*;

/// The bits of a product that number a key's bit in a lane: the five highest of the low half.
const NUMBER: i32 = 31 << 27;
/// Moves the number of a bit to the exponent.
const TO_EXPONENT: i32 = 27 - EXPONENT_SHIFT;

/// The bits of key `i` of a group, in the two halves of a block.
#[inline(always)]
pub(super) fn mask(hashes: &[u64; GROUP], i: usize) -> [__m128i; 2] {
    // SAFETY: the target guarantees SSE2.
    let key = unsafe { _mm_set1_epi32(hashes[i] as i32) };
    [half_mask::<0>(key), half_mask::<4>(key)]
}

/// The bits of a key in the four lanes from `FIRST` on. `key` has the low half of the key's hash in each lane.
#[inline(always)]
fn half_mask<const FIRST: usize>(key: __m128i) -> __m128i {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| SALTS[FIRST + i].cast_signed());
    // SAFETY: the target guarantees SSE2.
    unsafe {
        let even = _mm_mul_epu32(key, _mm_setr_epi32(a, 0, c, 0));
        let odd = _mm_mul_epu32(key, _mm_setr_epi32(b, 0, d, 0));
        // A shuffle, since the compiler replaces a shift of a product by two further multiplications.
        let odd = _mm_shuffle_epi32::<0b10_10_00_00>(odd);
        let even = _mm_and_si128(even, _mm_setr_epi32(NUMBER, 0, NUMBER, 0));
        let odd = _mm_and_si128(odd, _mm_setr_epi32(0, NUMBER, 0, NUMBER));
        let exponents = _mm_srli_epi32::<TO_EXPONENT>(_mm_or_si128(even, odd));
        let one = _mm_set1_epi32(EXPONENT_OF_ONE << EXPONENT_SHIFT);
        sse2::bits_of_powers(_mm_add_epi32(exponents, one))
    }
}

/// [`Body::test_group`](crate::kernel::portable::Body::test_group) for blocks of two vectors. It takes 6 % fewer
/// instructions than `sse2::test_group`, which is generic over the number of vectors.
#[inline(always)]
pub(super) fn test_group(table: &[u8], group: Group<'_>) -> u8 {
    sse2::none_missing(|i| {
        let block = table[range_at(group.places[i], BLOCK_BYTES)].as_ptr().cast::<__m128i>();
        let [low, high] = mask(group.hashes, i);
        // SAFETY: reads the 32 bytes of the block, which the range above has checked.
        unsafe {
            let low = _mm_andnot_si128(_mm_loadu_si128(block), low);
            let high = _mm_andnot_si128(_mm_loadu_si128(block.add(1)), high);
            _mm_or_si128(low, high)
        }
    })
}
