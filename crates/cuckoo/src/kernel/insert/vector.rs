//! SIMD vectors of sixteen lanes of 32 bits, with the operations that inserts need.

use crate::evict::lane_group::Lanes;
use core::fmt::Debug;
use trommel_simd::{Hint, prefetch};

/// Sixteen lanes of 32 bits. Some methods treat each lane as two *fields* of 16 bits. The *sign* of a lane is its
/// highest bit. Methods that decide by signs ignore the other bits.
///
/// Although most methods are safe functions, the caller may call the methods only in functions that are compiled for
/// the instruction set of the type.
///
/// # Safety
/// The implementor must ensure that every method is inlined into its caller, since methods have no target features of
/// their own.
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
    /// Shifts each lane left by the number in the same lane of `counts`. The caller must ensure that all of these
    /// numbers are below 32.
    fn left_by(self, counts: Self) -> Self;
    /// Shifts each lane right by the number in the same lane of `counts`. The caller must ensure that all of these
    /// numbers are below 32.
    fn right_by(self, counts: Self) -> Self;

    fn min_16(self, other: Self) -> Self;
    fn max_16(self, other: Self) -> Self;
    /// All ones in the fields that are equal, zero in the others.
    fn eq_16(self, other: Self) -> Self;
    /// For each field, the low half of the product of `self` and `other`.
    fn mul_16(self, other: Self) -> Self;
    /// For each field, the high half of the product of `self` and `other`.
    fn mul_high_16(self, other: Self) -> Self;
    fn right_16<const BITS: u32>(self) -> Self;

    /// The signs, one bit per lane.
    fn signs(self) -> u32;
    /// The lanes of `yes` where the sign in `sign` is set, and the lanes of `no` elsewhere.
    fn choose(sign: Self, yes: Self, no: Self) -> Self;
    /// Whether any two lanes are equal in their low 16 bits.
    fn any_equal_16(self) -> bool;

    /// Reads 32 bits in each lane, at `base + index · SCALE`.
    ///
    /// # Safety
    /// The caller must ensure that the 32 bits at each lane's address are valid to read, and that every index is below
    /// 2^31.
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self;
    /// Reads 32 bits, at `base + index · SCALE`, in each lane whose sign is set in `sign`. The other lanes of the
    /// result have any value.
    ///
    /// # Safety
    /// The caller must ensure that the 32 bits at the address of each selected lane are valid to read, and that the
    /// index of each selected lane is below 2^31. The 32 bits at `base`, the address of index 0, must be valid to read
    /// too: an implementation may read them for the lanes that are not selected.
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self;
    /// Writes 32 bits for each lane whose bit of `lanes` is set, at `base + index · SCALE`, in the order of the
    /// lanes.
    ///
    /// # Safety
    /// The caller must ensure that the 32 bits at the address of each such lane are valid to write, and that the index
    /// of each such lane is below 2^31.
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
