//! Code that the SSE2 functions of several layouts share. These functions are the portable code of x86-64. Every target
//! for x86-64 has SSE2, unless it has no floating-point instructions; then this module is not compiled.
//!
//! SSE2 cannot shift each lane by its own number of bits. But a bit whose number is `n` is the power `2^n`. As a
//! floating-point number, this power has the exponent `n`, and one instruction converts four such numbers to integers.
//! (Decision 86 has the figures.)

use super::portable::{Body, GROUP, Group, range_at};
use super::{PATTERN_SHIFT, PATTERN_SPREAD, PATTERN_STEP};
use crate::geometry::Geometry;
use core::arch::x86_64::*;

/// The lowest bit of the exponent in a number of type `f32`.
pub(super) const EXPONENT_SHIFT: i32 = 23;
/// The exponent that a number of type `f32` stores if the number is 1.
pub(super) const EXPONENT_OF_ONE: i32 = 127;
/// The exponent that a number of type `f32` stores if the number is `2^-32`.
pub(super) const LEAST_EXPONENT: i32 = EXPONENT_OF_ONE - 32;

/// The methods of `Body` for groups of keys. `mask` returns the bits of key `i` of a group, in the vectors of its
/// block. A layout has functions of its own instead if its blocks are not whole vectors, or if its own were measured to
/// be faster.
macro_rules! group_methods {
    (mask = $mask:path) => {
        $crate::kernel::sse2::group_methods!(
            test_group =
                |_geometry, table, group| $crate::kernel::sse2::test_group(table, group, $mask),
            unite_group =
                |_geometry, table, group| $crate::kernel::sse2::unite_group(table, group, $mask),
        );
    };
    (
        test_group = |$geometry:ident, $table:ident, $group:ident| $answers:expr,
        unite_group = |$same_geometry:ident, $changed:ident, $new:ident| $unite:expr $(,)?
    ) => {
        #[inline(always)]
        fn locate(
            geometry: $crate::geometry::Geometry,
            hashes: &[u64; $crate::kernel::portable::GROUP],
        ) -> [u32; $crate::kernel::portable::GROUP] {
            $crate::kernel::sse2::locate::<Self>(geometry, hashes)
        }

        #[inline(always)]
        fn test_group(
            $geometry: $crate::geometry::Geometry,
            $table: &[u8],
            $group: $crate::kernel::portable::Group<'_>,
        ) -> u8 {
            $answers
        }

        #[inline(always)]
        fn unite_group(
            $same_geometry: $crate::geometry::Geometry,
            $changed: &mut [u8],
            $new: $crate::kernel::portable::Group<'_>,
        ) {
            $unite
        }
    };
}
pub(super) use group_methods;

/// Converts floating-point powers of two, whose bits are given, to integers. A power below 1 becomes 0. `2^31` is too
/// large for an `i32`; for it, the instruction returns 0x8000_0000, which has bit 31 alone. Rust requires that
/// floating-point exceptions are masked, so neither of these two cases traps.
#[inline(always)]
pub(super) fn bits_of_powers(powers: __m128i) -> __m128i {
    // SAFETY: the target guarantees SSE2.
    unsafe { _mm_cvttps_epi32(_mm_castsi128_ps(powers)) }
}

/// Two hashes of a group. `pair` is the number of the pair, below 4.
#[inline(always)]
fn load_pair(hashes: &[u64; GROUP], pair: usize) -> __m128i {
    let pair: &[u64; 2] = &hashes.as_chunks().0[pair];
    // SAFETY: reads the 16 bytes of the array; the instruction needs no alignment.
    unsafe { _mm_loadu_si128(pair.as_ptr().cast()) }
}

/// Returns where the blocks of a group's keys begin, counted in words of 64 bits. The index of a block is the high half
/// of a product, as in `trommel_base::range::reduce`. The number of blocks fits into 32 bits (`Layout::MAX_UNITS`), so
/// two products of 32-bit numbers suffice, one for each half of the hash. One suffices if only the high half is used.
#[inline(always)]
pub(super) fn locate<B: Body + ?Sized>(geometry: Geometry, hashes: &[u64; GROUP]) -> [u32; GROUP] {
    let mut places = [0; GROUP];
    // The blocks of two hashes, in the high half of each lane of 64 bits.
    // SAFETY: the target guarantees SSE2.
    let pair = |pair| unsafe {
        let (hashes, units) =
            (load_pair(hashes, pair), _mm_set1_epi64x(geometry.units.cast_signed()));
        let high = _mm_mul_epu32(_mm_srli_epi64::<32>(hashes), units);
        if B::BLOCK_OF_HIGH_HALF {
            return high;
        }
        _mm_add_epi64(high, _mm_srli_epi64::<32>(_mm_mul_epu32(hashes, units)))
    };
    let (fours, _) = places.as_chunks_mut::<4>();
    for (i, four) in fours.iter_mut().enumerate() {
        // SAFETY: the target guarantees SSE2. The store writes the 16 bytes of the array.
        unsafe {
            let (first, second) =
                (_mm_castsi128_ps(pair(2 * i)), _mm_castsi128_ps(pair(2 * i + 1)));
            let blocks = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(first, second));
            let shift = _mm_cvtsi32_si128(B::WORDS_SHIFT.cast_signed());
            _mm_storeu_si128(four.as_mut_ptr().cast(), _mm_sll_epi32(blocks, shift));
        }
    }
    places
}

/// [`Body::test_group`] for a layout whose blocks are whole vectors. `mask` returns the bits of key `i` of a group.
#[inline(always)]
pub(super) fn test_group<const VECTORS: usize>(
    table: &[u8],
    group: Group<'_>,
    mask: impl Fn(&[u64; GROUP], usize) -> [__m128i; VECTORS],
) -> u8 {
    none_missing(|i| {
        let block = table[range_at(group.places[i], 16 * VECTORS)].as_ptr().cast::<__m128i>();
        let mask = mask(group.hashes, i);
        // SAFETY: the target guarantees SSE2.
        let mut all = unsafe { _mm_setzero_si128() };
        for (i, bits) in mask.into_iter().enumerate() {
            // SAFETY: the target guarantees SSE2. Reads a vector of the block, which the range above has checked.
            let missing = unsafe { _mm_andnot_si128(_mm_loadu_si128(block.add(i)), bits) };
            // SAFETY: the target guarantees SSE2.
            all = unsafe { _mm_or_si128(all, missing) };
        }
        all
    })
}

/// [`Body::unite_group`] for a layout whose blocks are whole vectors. `mask` returns the bits of key `i` of a group.
#[inline(always)]
pub(super) fn unite_group<const VECTORS: usize>(
    table: &mut [u8],
    group: Group<'_>,
    mask: impl Fn(&[u64; GROUP], usize) -> [__m128i; VECTORS],
) {
    // One key at a time, so that a key's store is visible to the next key of the same block.
    for (i, place) in group.places.iter().enumerate() {
        let (parts, _) = table[range_at(*place, 16 * VECTORS)].as_chunks_mut::<16>();
        for (part, bits) in parts.iter_mut().zip(mask(group.hashes, i)) {
            let part = part.as_mut_ptr().cast();
            // SAFETY: the target guarantees SSE2. The load reads the 16 bytes of the array, and the store writes them.
            unsafe { _mm_storeu_si128(part, _mm_or_si128(_mm_loadu_si128(part), bits)) };
        }
    }
}

/// The answers for eight keys: bit `i` is set if `missing(i)` is zero.
#[inline(always)]
pub(super) fn none_missing(missing: impl Fn(usize) -> __m128i) -> u8 {
    zero_lanes(pack_four(&missing, 0), pack_four(&missing, 4))
}

/// Packs four vectors into one lane each. A lane is zero only if its vector is, since the instructions saturate.
#[inline(always)]
fn pack_four(vector: &impl Fn(usize) -> __m128i, first: usize) -> __m128i {
    // SAFETY: the target guarantees SSE2.
    unsafe {
        let low = _mm_packs_epi32(vector(first), vector(first + 1));
        let high = _mm_packs_epi32(vector(first + 2), vector(first + 3));
        _mm_packs_epi16(low, high)
    }
}

/// For each of the eight lanes of two vectors, whether it is zero.
#[inline(always)]
pub(super) fn zero_lanes(low: __m128i, high: __m128i) -> u8 {
    // SAFETY: the target guarantees SSE2.
    unsafe {
        let zero = _mm_setzero_si128();
        let are_zero = _mm_packs_epi32(_mm_cmpeq_epi32(low, zero), _mm_cmpeq_epi32(high, zero));
        _mm_movemask_epi8(_mm_packs_epi16(are_zero, zero)) as u8
    }
}

/// The products of a pair of keys that [`super::pattern_positions`] returns, one in each lane of 64 bits.
#[inline(always)]
pub(super) fn products(hashes: &[u64; GROUP], pair: usize) -> __m128i {
    // SAFETY: the target guarantees SSE2.
    unsafe {
        let spread = _mm_set1_epi64x(PATTERN_SPREAD.cast_signed());
        _mm_mul_epu32(load_pair(hashes, pair), spread)
    }
}

/// The first bit of pattern position `i` in the half of a product that has this position: the low half has positions 0
/// to 3, the high half 4 to 7.
pub(super) const fn start_in_half(i: u32) -> i32 {
    ((PATTERN_SHIFT + PATTERN_STEP * i) % 32) as i32
}

/// The highest bit of pattern position `i`, in the half of a product that has this position.
pub(super) const fn highest_bit(i: u32) -> i32 {
    1 << (start_in_half(i) + PATTERN_STEP as i32 - 1)
}

/// Two copies of half of each product: of the low half (`HALF` is 0) or of the high half (1). In the first copies, the
/// bits of `flips` are flipped. They must be the [`highest_bit`] of each position that is used.
///
/// A position `n` stands for the number `2^n` in a lane of 64 bits. The high half of this number is `2^(n - 32)`, and
/// its low half is `2^((n ^ 32) - 32)`; of these two powers, the one below 1 becomes 0. `n ^ 32` is the position with
/// its highest bit flipped. So the exponent of each half is [`LEAST_EXPONENT`] plus a position.
#[inline(always)]
pub(super) fn halves<const HALF: usize>(products: __m128i, flips: i32) -> __m128i {
    // SAFETY: the target guarantees SSE2.
    unsafe {
        let halves = if HALF == 0 {
            _mm_shuffle_epi32::<0b10_10_00_00>(products)
        } else {
            _mm_shuffle_epi32::<0b11_11_01_01>(products)
        };
        _mm_xor_si128(halves, _mm_setr_epi32(flips, 0, flips, 0))
    }
}
