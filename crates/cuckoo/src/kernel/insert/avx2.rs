//! Vectors of sixteen lanes with AVX2: two registers of eight lanes each.

use super::vector::{Vector, store_each};
use crate::evict::lane_group::{LANES, Lanes};
use core::arch::x86_64::*;

#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(__m256i, __m256i);

/// Defines operations that apply one instruction to both halves.
///
/// "Registers only" in this file means two things: the instructions access no memory, and the code that uses the type
/// promises that the machine has the instructions.
macro_rules! both {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: registers only.
            unsafe { Self($instruction(self.0, other.0), $instruction(self.1, other.1)) }
        }
    )*};
}

/// Defines shifts of both halves. The count is a constant once the method is inlined.
macro_rules! shifts {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name<const BITS: u32>(self) -> Self {
            // SAFETY: registers only.
            unsafe {
                let count = _mm_cvtsi32_si128(BITS as i32);
                Self($instruction(self.0, count), $instruction(self.1, count))
            }
        }
    )*};
}

// SAFETY: all methods are inlined into their callers.
unsafe impl Vector for Avx2 {
    both! {
        and = _mm256_and_si256;
        or = _mm256_or_si256;
        xor = _mm256_xor_si256;
        add = _mm256_add_epi32;
        sub = _mm256_sub_epi32;
        min = _mm256_min_epu32;
        left_by = _mm256_sllv_epi32;
        right_by = _mm256_srlv_epi32;
        min_16 = _mm256_min_epu16;
        max_16 = _mm256_max_epu16;
        eq_16 = _mm256_cmpeq_epi16;
        mul_16 = _mm256_mullo_epi16;
        mul_high_16 = _mm256_mulhi_epu16;
    }

    #[inline(always)]
    fn splat(value: u32) -> Self {
        // SAFETY: registers only.
        let half = unsafe { _mm256_set1_epi32(value as i32) };
        Self(half, half)
    }

    #[inline(always)]
    fn load(lanes: &Lanes) -> Self {
        let from = lanes.as_ptr().cast::<__m256i>();
        // SAFETY: reads the 64 bytes of the array; the instruction needs no alignment.
        unsafe { Self(_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))) }
    }

    #[inline(always)]
    fn store(self, lanes: &mut Lanes) {
        let to = lanes.as_mut_ptr().cast::<__m256i>();
        // SAFETY: writes the 64 bytes of the array; the instruction needs no alignment.
        unsafe {
            _mm256_storeu_si256(to, self.0);
            _mm256_storeu_si256(to.add(1), self.1);
        }
    }

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm256_andnot_si256(other.0, self.0), _mm256_andnot_si256(other.1, self.1)) }
    }

    shifts! {
        left = _mm256_sll_epi32;
        right = _mm256_srl_epi32;
        right_16 = _mm256_srl_epi16;
    }

    #[inline(always)]
    fn signs(self) -> u32 {
        // SAFETY: registers only.
        let [low, high] = unsafe {
            [
                _mm256_movemask_ps(_mm256_castsi256_ps(self.0)),
                _mm256_movemask_ps(_mm256_castsi256_ps(self.1)),
            ]
        };
        (low | high << 8) as u32
    }

    #[inline(always)]
    fn choose(sign: Self, yes: Self, no: Self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(choose(sign.0, yes.0, no.0), choose(sign.1, yes.1, no.1)) }
    }

    /// Packs the lanes into 16 bits each, and compares them with their rotations by one to eight lanes. So every lane
    /// is compared with every other.
    #[inline(always)]
    fn any_equal_16(self) -> bool {
        // SAFETY: registers only.
        unsafe {
            let low = _mm256_set1_epi32(0xFFFF);
            any_equal(_mm256_packus_epi32(
                _mm256_and_si256(self.0, low),
                _mm256_and_si256(self.1, low),
            ))
        }
    }

    /// Loads lanes one by one. Rejected: `vpgatherdd`, which is slow microcode on processors with the mitigation of
    /// Gather Data Sampling, and slow on other cores with AVX2 too (50 cycles for eight lanes in L1; loads take 27).
    #[inline(always)]
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self {
        // SAFETY: the caller promises that the 32 bits of every lane may be read.
        unsafe {
            let mut lanes = [0; LANES];
            index.store(&mut lanes);
            let [low, high] = load_each::<SCALE>(base, &lanes);
            Self(low, high)
        }
    }

    /// Lanes whose sign is not set read the bits at `base`.
    #[inline(always)]
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self {
        // SAFETY: the caller promises that the bits of the lanes whose sign is set may be read, and the bits at `base`.
        unsafe {
            let wanted = Self(_mm256_srai_epi32::<31>(sign.0), _mm256_srai_epi32::<31>(sign.1));
            Self::gather::<SCALE>(base, index.and(wanted))
        }
    }

    #[inline(always)]
    unsafe fn scatter<const SCALE: i32>(self, base: *mut u8, index: Self, lanes: u32) {
        let (mut values, mut indices) = ([0; LANES], [0; LANES]);
        self.store(&mut values);
        index.store(&mut indices);
        let (values, indices) = core::hint::black_box((&values, &indices));
        // SAFETY: the caller promises that the bits of the lanes in `lanes` may be written.
        unsafe { store_each::<SCALE>(base, indices, values, lanes) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn choose(sign: __m256i, yes: __m256i, no: __m256i) -> __m256i {
    _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(no),
        _mm256_castsi256_ps(yes),
        _mm256_castsi256_ps(sign),
    ))
}

/// Reads 32 bits for each index, at `base + index · SCALE`.
///
/// # Safety
/// The caller must ensure that these 32 bits are valid to read for each index.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load_each<const SCALE: i32>(base: *const u8, index: &Lanes) -> [__m256i; 2] {
    // The indices are read from memory. Otherwise, the compiler extracts them from registers by shuffles, which compete
    // for an execution port with the instructions that combine the loaded lanes.
    let index = core::hint::black_box(index);
    let at = |lane: usize| base.wrapping_add(index[lane] as usize * SCALE as usize).cast::<i32>();
    // SAFETY: the caller promises that the 32 bits of every index may be read.
    let four = |lane: usize| unsafe {
        _mm_setr_epi32(
            at(lane).read_unaligned(),
            at(lane + 1).read_unaligned(),
            at(lane + 2).read_unaligned(),
            at(lane + 3).read_unaligned(),
        )
    };
    [_mm256_set_m128i(four(4), four(0)), _mm256_set_m128i(four(12), four(8))]
}

/// Whether any two of the sixteen 16-bit lanes are equal.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn any_equal(lanes: __m256i) -> bool {
    let swapped = _mm256_permute4x64_epi64::<0b01_00_11_10>(lanes);
    macro_rules! rotations {
        ($($bytes:literal)*) => {{
            let mut equal = _mm256_cmpeq_epi16(lanes, swapped);
            $(
                let rotated = _mm256_alignr_epi8::<$bytes>(swapped, lanes);
                equal = _mm256_or_si256(equal, _mm256_cmpeq_epi16(lanes, rotated));
            )*
            equal
        }};
    }
    let equal = rotations!(2 4 6 8 10 12 14);
    _mm256_testz_si256(equal, equal) == 0
}
