//! Vectors of sixteen lanes with AVX-512: one register.

use super::avx2::{any_equal, load_each};
use super::vector::Vector;
use crate::evict::lane_group::{LANES, Lanes};
use core::arch::x86_64::*;

/// Sixteen lanes in a register. `GATHERS` tells whether [`Vector::gather`] uses the gather instruction; if not, it
/// loads lane by lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512<const GATHERS: bool>(__m512i);

/// Defines operations that apply one instruction to all lanes.
///
/// "Registers only" in this file means two things: the instructions access no memory, and the code that uses the type
/// promises that the machine has the instructions.
macro_rules! all {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: registers only.
            unsafe { Self($instruction(self.0, other.0)) }
        }
    )*};
}

// SAFETY: all methods are inlined into their callers.
unsafe impl<const GATHERS: bool> Vector for Avx512<GATHERS> {
    all! {
        and = _mm512_and_si512;
        or = _mm512_or_si512;
        xor = _mm512_xor_si512;
        add = _mm512_add_epi32;
        sub = _mm512_sub_epi32;
        min = _mm512_min_epu32;
        left_by = _mm512_sllv_epi32;
        right_by = _mm512_srlv_epi32;
        min_16 = _mm512_min_epu16;
        max_16 = _mm512_max_epu16;
        mul_16 = _mm512_mullo_epi16;
        mul_high_16 = _mm512_mulhi_epu16;
    }

    #[inline(always)]
    fn splat(value: u32) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_set1_epi32(value as i32)) }
    }

    #[inline(always)]
    fn load(lanes: &Lanes) -> Self {
        // SAFETY: reads the 64 bytes of the array; the instruction needs no alignment.
        unsafe { Self(_mm512_loadu_si512(lanes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, lanes: &mut Lanes) {
        // SAFETY: writes the 64 bytes of the array; the instruction needs no alignment.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_andnot_si512(other.0, self.0)) }
    }

    #[inline(always)]
    fn eq_16(self, other: Self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_movm_epi16(_mm512_cmpeq_epi16_mask(self.0, other.0))) }
    }

    #[inline(always)]
    fn left<const BITS: u32>(self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_slli_epi32::<BITS>(self.0)) }
    }

    #[inline(always)]
    fn right<const BITS: u32>(self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_srli_epi32::<BITS>(self.0)) }
    }

    #[inline(always)]
    fn right_16<const BITS: u32>(self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_srli_epi16::<BITS>(self.0)) }
    }

    #[inline(always)]
    fn signs(self) -> u32 {
        // SAFETY: registers only.
        unsafe { u32::from(_mm512_movepi32_mask(self.0)) }
    }

    #[inline(always)]
    fn choose(sign: Self, yes: Self, no: Self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm512_mask_blend_epi32(_mm512_movepi32_mask(sign.0), no.0, yes.0)) }
    }

    /// Compares the lanes with their rotations. On Intel's cores, this is less work than `vpconflictd`.
    #[inline(always)]
    fn any_equal_16(self) -> bool {
        // SAFETY: registers only.
        unsafe { any_equal(_mm512_cvtepi32_epi16(self.0)) }
    }

    #[inline(always)]
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self {
        // SAFETY: the caller promises that the 32 bits of every lane may be read.
        unsafe {
            if GATHERS {
                return Self(_mm512_i32gather_epi32::<SCALE>(index.0, base.cast()));
            }
            let mut lanes = [0; LANES];
            index.store(&mut lanes);
            let [low, high] = load_each::<SCALE>(base, &lanes);
            Self(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
        }
    }

    #[inline(always)]
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self {
        // SAFETY: the caller promises that the bits of the lanes whose sign is set may be read, and the bits at `base`.
        // The other lanes read the bits at `base`, or nothing.
        unsafe {
            if !GATHERS {
                return Self::gather::<SCALE>(
                    base,
                    index.and(Self(_mm512_srai_epi32::<31>(sign.0))),
                );
            }
            let lanes = _mm512_movepi32_mask(sign.0);
            let none = _mm512_setzero_si512();
            Self(_mm512_mask_i32gather_epi32::<SCALE>(none, lanes, index.0, base.cast()))
        }
    }

    #[inline(always)]
    unsafe fn scatter<const SCALE: i32>(self, base: *mut u8, index: Self, lanes: u32) {
        // SAFETY: the caller promises that the bits of the lanes in `lanes` may be written.
        unsafe { _mm512_mask_i32scatter_epi32::<SCALE>(base.cast(), lanes as u16, index.0, self.0) }
    }
}
