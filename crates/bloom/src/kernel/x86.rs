//! Code that the x86 kernels of several layouts share.

use core::arch::x86_64::*;
use trommel_base::batch::{RING_KEYS, WORD_BYTES};

/// In tables of up to this number of bytes, batches of lookups in register blocks and split blocks process several keys
/// per vector with AVX-512. In larger tables, they use the AVX2 loops, which have more instructions than the AVX-512
/// loops, but are faster there. Times in ns per key on Sapphire Rapids:
///
/// | blocks | code | 1.5 MB | 8 MB | 16 MB | 48 MB | 1 GB |
/// |---|---|---:|---:|---:|---:|---:|
/// | split | AVX-512 | 1.14 | 2.23 | | 5.7 | 12.7 |
/// | split | AVX2 | 1.35 | 2.19 | | 5.1 | 11.8 |
/// | register | AVX-512 | | 2.19 | 3.6 | | 12.9 |
/// | register | AVX2 | | 2.18 | 3.0 | | 11.3 |
///
/// Lookups in blocks of a whole cache line have a higher limit, in `cache_line/avx512.rs`.
pub(super) const WIDE_LOOKUPS_MAX_BYTES: usize = 8 << 20;

/// The unit indices of eight hashes. In a table of `n` units, a hash `h` has the unit index `h · n >> 64`, below `n`.
/// Each 64-bit lane of `units` must be `n`, and the caller must ensure that `n` fits into 32 bits. Two products of
/// 32-bit numbers suffice, one for each half of `h`. The result is exact: the product of the high half, plus the upper
/// 32 bits of the product of the low half, cannot overflow 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn reduce_8(hashes: __m512i, units: __m512i) -> __m256i {
    _mm512_cvtepi64_epi32(reduce_8_wide(hashes, units))
}

/// The unit indices of eight hashes, as in [`reduce_8`], one in each 64-bit lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn reduce_8_wide(hashes: __m512i, units: __m512i) -> __m512i {
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hashes), units);
    let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(hashes, units));
    _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low))
}

/// Loads eight hashes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_8(hashes: &[u64; 8]) -> __m512i {
    // SAFETY: reads the 64 bytes of the array; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) }
}

/// Loads four of eight hashes: the first four if `half` is 0, else the last four.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_4(hashes: &[u64; 8], half: usize) -> __m256i {
    let hashes: &[u64; 4] =
        if half == 0 { hashes.first_chunk() } else { hashes.last_chunk() }.unwrap_or(&[0; 4]);
    // SAFETY: reads the 32 bytes of the array; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(hashes.as_ptr().cast()) }
}

/// The words of a table at eight indices, read with one load each.
///
/// # Safety
/// The caller must ensure that the table has a word at each index.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
pub(super) unsafe fn load_words(table: *const u8, indices: &[u32; 8]) -> __m512i {
    // SAFETY: the caller promises a word at each index. The reads need no alignment.
    let word = |i: usize| unsafe { table.cast::<i64>().add(indices[i] as usize).read_unaligned() };
    _mm512_inserti64x4::<1>(
        _mm512_castsi256_si512(_mm256_setr_epi64x(word(0), word(1), word(2), word(3))),
        _mm256_setr_epi64x(word(4), word(5), word(6), word(7)),
    )
}

/// The bitwise or of four words.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn or_lanes(words: __m256i) -> u64 {
    let halves = _mm_or_si128(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
    let quarters = _mm_or_si128(halves, _mm_unpackhi_epi64(halves, halves));
    _mm_cvtsi128_si64(quarters).cast_unsigned()
}

/// Stores eight 32-bit indices.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_places(to: &mut [u32; 8], indices: __m256i) {
    // SAFETY: writes the 32 bytes of the array; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), indices) }
}

/// Answers before they are packed into words: one byte per key, which is 0xFF if all bits of the key are set.
///
/// The kernels store one, two or eight bytes at a time, and one compare turns 64 bytes into an answer word. The compare
/// comes 32 keys after the last store to these bytes, so that the load of the compare does not wait for the stores.
/// Only at the end of a batch, where no more keys follow, [`AnswerBytes::finish`] compares at once.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct AnswerBytes([[u8; 64]; 2]);

impl AnswerBytes {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([[0; 64]; 2])
    }

    /// The bytes of the eight keys of a group.
    #[inline(always)]
    pub(super) fn group(&mut self, group: usize) -> &mut [u8; 8] {
        let (groups, _) = self.0.as_flattened_mut().as_chunks_mut::<8>();
        &mut groups[group % 16]
    }

    /// Must be called before each group is probed. An answer word has eight groups. A call before the fifth group of an
    /// answer word writes the previous answer word, if there is one, to `found`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn advance(&self, group: usize, found: &mut [u64]) {
        if group % 8 == 4 && group > 8 {
            found[group / 8 - 1] = self.word(group / 8 - 1);
        }
    }

    /// Must be called after all groups are probed. Writes the last answer word and the one before it, if there are two.
    /// `keys` is the number of keys of all groups.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn finish(&self, keys: usize, found: &mut [u64]) {
        if keys == 0 {
            return;
        }
        let last = (keys - 1) / 64;
        if last > 0 {
            found[last - 1] = self.word(last - 1);
        }
        found[last] = self.word(last) & (u64::MAX >> (63 - (keys - 1) % 64));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn word(&self, word: usize) -> u64 {
        // SAFETY: reads the 64 bytes of one array, which the type's `repr` aligns to 64.
        let bytes = unsafe { _mm512_load_si512(self.0[word % 2].as_ptr().cast()) };
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(-1))
    }
}

/// A word for each key that is located but not yet probed: the key's pattern or, in cache-line blocks, the product from
/// which the key's mask is made. The words are computed in vectors and used one by one.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct PatternRing([u64; RING_KEYS]);

impl PatternRing {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([0; RING_KEYS])
    }

    /// The words of the eight keys of a group.
    #[inline(always)]
    pub(super) fn group(&self, group: usize) -> &[u64; 8] {
        let (groups, _) = self.0.as_chunks::<8>();
        &groups[group % (RING_KEYS / 8)]
    }

    /// The words of a group, for writing.
    #[inline(always)]
    pub(super) fn group_mut(&mut self, group: usize) -> &mut [u64; 8] {
        let (groups, _) = self.0.as_chunks_mut::<8>();
        &mut groups[group % (RING_KEYS / 8)]
    }
}

/// The address of a table's word at an index.
#[inline(always)]
pub(super) const fn word_at(table: *const u8, index: u32) -> *const u8 {
    table.wrapping_add(index as usize * WORD_BYTES)
}

/// The address of a table's word at an index.
#[inline(always)]
pub(super) const fn word_at_mut(table: *mut u8, index: u32) -> *mut u8 {
    table.wrapping_add(index as usize * WORD_BYTES)
}

/// Sets the bits of `pattern` in the word at an index.
///
/// # Safety
/// The caller must ensure that the table at `start` has more than `index` words and is not borrowed elsewhere.
#[inline(always)]
pub(super) unsafe fn or_word(start: *mut u8, index: u32, pattern: u64) {
    // SAFETY: the caller promises that the table has this word and is not borrowed elsewhere. The accesses need no
    // alignment.
    unsafe {
        let word = word_at_mut(start, index).cast::<u64>();
        word.write_unaligned(word.read_unaligned() | pattern);
    }
}

/// The answers of eight keys. For each key, `missing` has a vector with those of the key's bits that its block
/// lacks. A key's answer bit is 1 if the key's vector is zero.
///
/// A tree of compares and packs takes 19 instructions for eight keys; `vptest`, `setc`, a shift and an OR for each key
/// would take 32.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn none_missing(missing: [__m256i; 8]) -> u8 {
    let zero = _mm256_setzero_si256();
    let [a, b, c, d, e, f, g, h] = core::array::from_fn(|i| _mm256_cmpeq_epi32(missing[i], zero));
    // Pack instructions work within 128-bit halves. So `first` has four bytes of each of the keys `a` to `d` in its
    // lower half, and four more in its upper half; `second` has the bytes of the keys `e` to `h` in the same order.
    let first = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    let second = _mm256_packs_epi16(_mm256_packs_epi32(e, f), _mm256_packs_epi32(g, h));
    let low = _mm256_permute2x128_si256::<0x20>(first, second);
    let high = _mm256_permute2x128_si256::<0x31>(first, second);
    let all = _mm256_cmpeq_epi32(_mm256_and_si256(low, high), _mm256_set1_epi32(-1));
    _mm256_movemask_ps(_mm256_castsi256_ps(all)) as u8
}

/// The operand of an instruction with vectors of 32 bytes. The operand is aligned to 32 bytes, since `vmovdqa` faults
/// on an operand that is not aligned.
#[repr(align(32))]
pub(super) struct Operand<T>(pub(super) T);

/// An assembly block for vectors of 32 bytes. It ends with `vzeroupper`, which clears the upper halves of `ymm0` to
/// `ymm15`, so all sixteen registers must be named as outputs. Each block must name `xmm0` to `xmm3`, whether it uses
/// them or not; the macro names the others.
macro_rules! asm_on_vectors {
    ($($line:literal,)+ options($($option:ident),*), $($operands:tt)+) => {
        core::arch::asm!(
            $($line,)+
            "vzeroupper",
            $($operands)+
            lateout("xmm4") _, lateout("xmm5") _, lateout("xmm6") _, lateout("xmm7") _, lateout("xmm8") _,
            lateout("xmm9") _, lateout("xmm10") _, lateout("xmm11") _, lateout("xmm12") _, lateout("xmm13") _,
            lateout("xmm14") _, lateout("xmm15") _,
            options(nostack, $($option),*),
        )
    };
}
pub(super) use asm_on_vectors;
