//! Sixteen lanes of 32 bits, and what inserts do with them.

use crate::evict::lane_group::Lanes;
use core::fmt::Debug;
use trommel_simd::{Hint, prefetch};

/// Sixteen lanes of 32 bits, or of two *fields* of 16 bits each. Where a method takes its decision from a
/// *sign*, that is the highest bit of a lane, and the other bits do not matter.
///
/// # Safety
/// The methods are for functions that are compiled for the instruction set of the type: they have no
/// features of their own, and are inlined into what calls them.
pub(super) unsafe trait Vector: Copy + Debug {
    fn splat(value: u32) -> Self;
    fn load(lanes: &Lanes) -> Self;
    fn store(self, lanes: &mut Lanes);

    fn and(self, other: Self) -> Self;
    /// `self & !other`
    fn and_not(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn left<const BITS: u32>(self) -> Self;
    fn right<const BITS: u32>(self) -> Self;
    /// Each lane by as many bits as its lane of `counts` says, below 32.
    fn left_by(self, counts: Self) -> Self;
    fn right_by(self, counts: Self) -> Self;

    fn min_16(self, other: Self) -> Self;
    fn max_16(self, other: Self) -> Self;
    /// All ones in fields that are equal.
    fn eq_16(self, other: Self) -> Self;
    /// The low half of the product of fields.
    fn mul_16(self, other: Self) -> Self;
    /// The high half of the product of fields.
    fn mul_high_16(self, other: Self) -> Self;
    fn right_16<const BITS: u32>(self) -> Self;

    /// The signs, a bit a lane.
    fn signs(self) -> u32;
    /// The lanes of `yes` where `sign` is set, those of `no` elsewhere.
    fn choose(sign: Self, yes: Self, no: Self) -> Self;
    /// Whether two lanes are equal in their low 16 bits.
    fn any_equal_16(self) -> bool;

    /// Reads 32 bits in each lane, at `base + index · SCALE`.
    ///
    /// # Safety
    /// They may be read, in every lane; an index is below 2^31.
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self;
    /// Reads in the same way in the lanes where `sign` is set; others have any value.
    ///
    /// # Safety
    /// As in `gather`, for these lanes and for index 0.
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self;
    /// Writes 32 bits for each lane whose bit of `lanes` is set, at `base + index · SCALE`; in the order of
    /// the lanes.
    ///
    /// # Safety
    /// They may be written, in these lanes; an index is below 2^31.
    unsafe fn scatter<const SCALE: i32>(self, base: *mut u8, index: Self, lanes: u32);

    /// A vector whose signs are these bits.
    #[inline(always)]
    fn of_signs(bits: u32) -> Self {
        const PLACES: Lanes = [31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16];
        Self::splat(bits).left_by(Self::load(&PLACES))
    }
}

/// Prefetches the buckets at `base + index · bytes`.
#[inline(always)]
pub(super) fn fetch(base: *const u8, index: &Lanes, bytes: usize) {
    for index in index {
        prefetch(base.wrapping_add(*index as usize * bytes), Hint::T0);
    }
}
