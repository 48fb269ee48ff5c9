//! Vectors of sixteen lanes of 32 bits, with the operations that inserts need.

use crate::evict::lane_group::Lanes;
use core::fmt::Debug;
use trommel_simd::{Hint, prefetch};

/// Sixteen lanes of 32 bits, or of two *fields* of 16 bits each. The *sign* of a lane is its highest bit. Methods
/// that decide by signs ignore the other bits.
///
/// # Safety
/// Call the methods only in functions that are compiled for the instruction set of the type: they have no target
/// features of their own, and are inlined into their callers.
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
    /// Shifts each lane left by the number in the same lane of `counts`, which is below 32.
    fn left_by(self, counts: Self) -> Self;
    /// Shifts each lane right by the number in the same lane of `counts`, which is below 32.
    fn right_by(self, counts: Self) -> Self;

    fn min_16(self, other: Self) -> Self;
    fn max_16(self, other: Self) -> Self;
    /// All ones in the fields that are equal, zero in the others.
    fn eq_16(self, other: Self) -> Self;
    /// The low half of the product of fields.
    fn mul_16(self, other: Self) -> Self;
    /// The high half of the product of fields.
    fn mul_high_16(self, other: Self) -> Self;
    fn right_16<const BITS: u32>(self) -> Self;

    /// The signs, one bit per lane.
    fn signs(self) -> u32;
    /// The lanes of `yes` where `sign` is set, those of `no` elsewhere.
    fn choose(sign: Self, yes: Self, no: Self) -> Self;
    /// Whether two lanes are equal in their low 16 bits.
    fn any_equal_16(self) -> bool;

    /// Reads 32 bits in each lane, at `base + index · SCALE`.
    ///
    /// # Safety
    /// These bits may be read, in every lane, and indices are below 2^31.
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self;
    /// Reads 32 bits, at `base + index · SCALE`, in each lane whose sign is set in `sign`. The other lanes of the
    /// result have any value.
    ///
    /// # Safety
    /// These bits may be read, in these lanes, and so may the bits at index 0. Indices are below 2^31.
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self;
    /// Writes 32 bits for each lane whose bit of `lanes` is set, at `base + index · SCALE`, in the order of the
    /// lanes.
    ///
    /// # Safety
    /// These bits may be written, in these lanes, and indices are below 2^31.
    unsafe fn scatter<const SCALE: i32>(self, base: *mut u8, index: Self, lanes: u32);

    /// A vector whose signs are these bits: lane `i` has bit `i`.
    #[inline(always)]
    fn of_signs(bits: u32) -> Self {
        const SHIFTS: Lanes = [31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16];
        Self::splat(bits).left_by(Self::load(&SHIFTS))
    }
}

/// Prefetches the buckets at `base + index · bytes`.
#[inline(always)]
pub(super) fn fetch(base: *const u8, index: &Lanes, bytes: usize) {
    for index in index {
        prefetch(base.wrapping_add(*index as usize * bytes), Hint::T0);
    }
}
