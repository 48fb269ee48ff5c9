//! Code that lookups in passes share, of both layouts: sixty-four keys in a column, eight, or with AVX2 four, in a register.

use super::words::word;
use core::arch::asm;
use core::arch::x86_64::*;

/// Keys of a block: the answers of one word.
pub(crate) const BLOCK: usize = 64;
/// Keys of a group: a register of AVX-512.
pub(crate) const GROUP: usize = 8;

/// A number a key of a block.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Column(pub(crate) [u64; BLOCK]);

impl Column {
    pub(crate) const ZERO: Self = Self([0; BLOCK]);

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn get(&self, group: usize) -> __m512i {
        // SAFETY: eight numbers of the column.
        unsafe { _mm512_load_si512(self.group::<GROUP>(group).as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn set(&mut self, group: usize, numbers: __m512i) {
        let (groups, _) = self.0.as_chunks_mut::<GROUP>();
        // SAFETY: eight numbers of the column.
        unsafe { _mm512_store_si512(groups[group].as_mut_ptr().cast(), numbers) }
    }

    /// A register of AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn four(&self, group: usize) -> __m256i {
        // SAFETY: four numbers of the column.
        unsafe { _mm256_load_si256(self.group::<4>(group).as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn set_four(&mut self, group: usize, numbers: __m256i) {
        let (groups, _) = self.0.as_chunks_mut::<4>();
        // SAFETY: four numbers of the column.
        unsafe { _mm256_store_si256(groups[group].as_mut_ptr().cast(), numbers) }
    }

    #[inline(always)]
    pub(crate) fn group<const KEYS: usize>(&self, group: usize) -> &[u64; KEYS] {
        &self.0.as_chunks().0[group]
    }
}

/// How many ones each of eight words has: by one instruction, which only code that runs with VPOPCNTDQ may say, or
/// else by looking nibbles up in a register of sixteen sums, and adding the sums of a word's bytes.
///
/// In assembly, so that functions compiled for less than [`Avx512`](trommel_simd::Isa::Avx512) can hold both. On a
/// Zen 4 core the one instruction made lookups in blocks of 64 slots take 0.88 of the time in L2 and 0.93 of it with a
/// million keys, and those in lines 0.96.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn count_ones<const VPOPCNT: bool>(words: __m512i) -> __m512i {
    if VPOPCNT {
        let sums;
        // SAFETY: `kernels` of both layouts choose this for sets that have VPOPCNTDQ; registers in and out, no more.
        unsafe {
            asm!("vpopcntq {sums}, {words}", sums = lateout(zmm_reg) sums, words = in(zmm_reg) words,
                options(pure, nomem, nostack, preserves_flags));
        }
        return sums;
    }
    let ones =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let nibble = _mm512_set1_epi8(0xF);
    let low = _mm512_shuffle_epi8(ones, _mm512_and_si512(words, nibble));
    let high = _mm512_and_si512(_mm512_srli_epi64::<4>(words), nibble);
    let high = _mm512_shuffle_epi8(ones, high);
    _mm512_sad_epu8(_mm512_add_epi8(low, high), _mm512_setzero_si512())
}

/// Eight words, at the offsets `bytes` from `start`.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn words(start: *const u8, bytes: &[u64; GROUP]) -> __m512i {
    // SAFETY: the caller's duty.
    let [a, b, c, d, e, f, g, h] = bytes.map(|byte| unsafe { word(start, byte as usize) as i64 });
    _mm512_setr_epi64(a, b, c, d, e, f, g, h)
}

/// Eight words at the offsets `bytes` from `start`, and the word after each.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) unsafe fn pairs_of_words(start: *const u8, bytes: &[u64; GROUP]) -> (__m512i, __m512i) {
    // Every second pair, beginning with one.
    let four = |from: usize| {
        // SAFETY: the caller's duty.
        let pair =
            |i: usize| unsafe { _mm_loadu_si128(start.add(bytes[from + 2 * i] as usize).cast()) };
        let four = _mm512_castsi128_si512(pair(0));
        let four = _mm512_mask_broadcast_i64x2(four, 0b1100, pair(1));
        let four = _mm512_mask_broadcast_i64x2(four, 0b11_0000, pair(2));
        _mm512_mask_broadcast_i64x2(four, 0b1100_0000, pair(3))
    };
    let (even, odd) = (four(0), four(1));
    (_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd))
}
