//! Rank and select, as the function that they are inlined into can compute them.

/// Rank and select on a 64-bit word. A value of such a type is the proof that the machine has what it
/// takes.
pub(crate) trait Words: Copy {
    /// Ones of `word` below bit `index`; all of them from 64 on.
    fn rank(self, word: u64, index: u32) -> u32;
    /// The place of the one that comes after `skip` others. There is one.
    fn select(self, word: u64, skip: u32) -> u32;
}

/// Whatever the target has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl Words for Plain {
    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        trommel_simd::rank(word, index)
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        trommel_simd::select(word, skip)
    }
}

/// POPCNT, BMI1 and BMI2: inside functions that are compiled for them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bmi2(());

#[cfg(target_arch = "x86_64")]
impl Bmi2 {
    /// # Safety
    /// The machine has POPCNT, BMI1 and BMI2.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for Bmi2 {
    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        // SAFETY: whoever made this value knew that the machine has BMI2.
        let below = unsafe { core::arch::x86_64::_bzhi_u64(word, index) };
        below.count_ones()
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        // SAFETY: as in `rank`.
        let one = unsafe { core::arch::x86_64::_pdep_u64(1 << skip, word) };
        one.trailing_zeros()
    }
}

/// How many ones each of eight words has.
///
/// Nibbles are looked up in a register of sixteen sums, and the sums of a word's bytes added.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn count_ones(words: core::arch::x86_64::__m512i) -> core::arch::x86_64::__m512i {
    use core::arch::x86_64::*;
    let ones =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let nibble = _mm512_set1_epi8(0xF);
    let low = _mm512_shuffle_epi8(ones, _mm512_and_si512(words, nibble));
    let high = _mm512_and_si512(_mm512_srli_epi64::<4>(words), nibble);
    let high = _mm512_shuffle_epi8(ones, high);
    _mm512_sad_epu8(_mm512_add_epi8(low, high), _mm512_setzero_si512())
}
