//! Implements [`Words`] and [`Moves`] with NEON.

use super::moves::{LINE_BYTES, Moves};
use super::neon::{Compare, read};
use crate::words::{Plain, Words};
use core::arch::aarch64::*;

/// The number of bytes of a vector.
const VECTOR: usize = 16;
/// The index of each byte of a line.
static INDICES: [u8; LINE_BYTES] = {
    let mut indices = [0; LINE_BYTES];
    let mut i = 0;
    while i < LINE_BYTES {
        indices[i] = i as u8;
        i += 1;
    }
    indices
};

/// [`Words`] and [`Moves`] with NEON, for functions that are compiled for it.
#[derive(Clone, Copy)]
pub(super) struct Neon {
    compare: Compare,
}

impl Neon {
    /// # Safety
    /// The caller must ensure that the machine has NEON.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the caller ensures that the machine has NEON.
        Self { compare: unsafe { Compare::new() } }
    }
}

impl Words for Neon {
    const SELECTS: bool = false;

    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        Plain.rank(word, index)
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        self.one(word, skip).trailing_zeros()
    }

    #[inline(always)]
    fn below(self, word: u64, index: u32) -> u64 {
        Plain.below(word, index)
    }

    #[inline(always)]
    fn one(self, word: u64, skip: u32) -> u64 {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON.
        unsafe { one(word, skip) }
    }

    #[inline(always)]
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64 {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON.
        unsafe { balanced(begun, ended, open) }
    }

    #[inline(always)]
    fn spread(self, packed: u64, bits: u32) -> u64 {
        Plain.spread(packed, bits)
    }

    #[inline(always)]
    fn above(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        Plain.above(bytes, others)
    }

    #[inline(always)]
    fn equal(self, bytes: &[u8; 64], others: &[u8; 64]) -> u64 {
        Plain.equal(bytes, others)
    }

    #[inline(always)]
    fn equal_to(self, bytes: &[u8; 64], other: u8) -> u64 {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON. 64 bytes are read.
        unsafe { self.compare.equal_of_one(read(bytes.as_ptr()), other) }
    }

    #[inline(always)]
    fn at_most(self, bytes: &[u8; 64], other: u8) -> u64 {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON. 64 bytes are read.
        unsafe {
            let bytes = read(bytes.as_ptr());
            self.compare.packed(bytes.map(|bytes| vcleq_u8(bytes, vdupq_n_u8(other))))
        }
    }

    #[inline(always)]
    fn rank_of(self, other: u8, bytes: &[u8; 32], count: u32) -> (u32, bool) {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON.
        unsafe { rank_of(other, bytes, count) }
    }
}

/// See [`Words::rank_of`].
#[inline]
#[target_feature(enable = "neon")]
fn rank_of(other: u8, bytes: &[u8; 32], count: u32) -> (u32, bool) {
    // SAFETY: reads the 32 bytes of `bytes`, and as many of the 64 indices.
    let read = |bytes: *const u8| unsafe { [vld1q_u8(bytes), vld1q_u8(bytes.add(VECTOR))] };
    let ([a, b], [i, j]) = (read(bytes.as_ptr()), read(INDICES.as_ptr()));
    let (other, count) = (vdupq_n_u8(other), vdupq_n_u8(count as u8));
    let (i, j) = (vcltq_u8(i, count), vcltq_u8(j, count));
    let (below, equal) = (vandq_u8(vcltq_u8(a, other), i), vandq_u8(vceqq_u8(a, other), i));
    // Each byte that is all ones adds -1.
    let below = vaddq_u8(below, vandq_u8(vcltq_u8(b, other), j));
    let equal = vorrq_u8(equal, vandq_u8(vceqq_u8(b, other), j));
    (u32::from(vaddvq_u8(below).wrapping_neg()), vmaxvq_u8(equal) != 0)
}

/// The number 1 in every byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Entry `byte` of row `n`: the `n`-th set bit of the byte (the first is `n = 0`); 0 if the byte has at most `n` set
/// bits.
static ONE_OF_BYTE: [[u8; 256]; 8] = {
    let mut ones = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut n, mut rest) = (0, byte as u8);
        while rest != 0 {
            ones[n][byte] = rest & rest.wrapping_neg();
            rest &= rest - 1;
            n += 1;
        }
        byte += 1;
    }
    ones
};

/// See [`Words::one`]. The steps are those of [`trommel_simd::select`], but one instruction counts the ones of all
/// bytes.
#[inline]
#[target_feature(enable = "neon")]
fn one(word: u64, skip: u32) -> u64 {
    let bytes = vget_lane_u64::<0>(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(word))));
    let ones = bytes.wrapping_mul(EACH);
    let before = (u64::from(skip) * EACH | 0x80 * EACH).wrapping_sub(ones) & (0x80 * EACH);
    let shift = (before >> 7).wrapping_mul(EACH) >> 53 & 0x38;
    let rest = u64::from(skip).wrapping_sub(ones << 8 >> shift & 0xFF);
    let byte = word >> shift & 0xFF;
    let one = u64::from(ONE_OF_BYTE[rest as usize % 8][byte as usize]) << shift;
    if u64::from(skip) < ones >> 56 { one } else { 0 }
}

/// [`balanced`](crate::balance::balanced) with NEON.
///
/// The eight slots of a byte are four pairs. A slot has a bit in `begun` and one in `ended`, so the four bits of a pair
/// are an index into a table of sixteen sums. Two vectors have the sums: the first vector has those of the first pair
/// of each byte in its lower half and those of the second pair in its upper half, and the second vector has those of
/// the third and the fourth pair. The sum of each pair has 2 added, so no sum is negative, and no byte of a word
/// borrows from the next.
#[inline]
#[target_feature(enable = "neon")]
fn balanced(begun: u64, ended: u64, open: u32) -> u64 {
    // The sums (2, plus 1 for a run begun, minus 1 for a run ended) over the first slot of a pair, and over both slots.
    const OF_FIRST: [u8; VECTOR] = [2, 3, 2, 3, 1, 2, 1, 2, 2, 3, 2, 3, 1, 2, 1, 2];
    const OF_BOTH: [u8; VECTOR] = [2, 3, 3, 4, 1, 2, 2, 3, 1, 2, 2, 3, 0, 1, 1, 2];
    // For each pair of both vectors: 2 for each pair up to and including this one.
    const ADDED: [[u8; VECTOR]; 2] = [
        [2, 10, 18, 26, 34, 42, 50, 58, 4, 12, 20, 28, 36, 44, 52, 60],
        [6, 14, 22, 30, 38, 46, 54, 62, 8, 16, 24, 32, 40, 48, 56, 64],
    ];
    // For each pair of both vectors: the bit of its first slot.
    const FIRST: [[u8; VECTOR]; 2] = [
        [1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4],
        [16, 16, 16, 16, 16, 16, 16, 16, 64, 64, 64, 64, 64, 64, 64, 64],
    ];
    // SAFETY: reads the sixteen bytes of an array.
    let constant = |bytes: &[u8; VECTOR]| unsafe { vld1q_u8(bytes.as_ptr()) };
    let (begun, ended) = (vdupq_n_u64(begun), vdupq_n_u64(ended));
    // Shifts the lower half to the left by `slots` and the upper half by `slots - 2`.
    let shifted = |words: uint64x2_t, slots: i64| {
        let slots = vcombine_s64(vcreate_s64(slots as u64), vcreate_s64((slots - 2) as u64));
        vreinterpretq_u8_u64(vshlq_u64(words, slots))
    };
    let pairs = |slot: i64| {
        let pairs = vbslq_u8(vdupq_n_u8(0b11), shifted(begun, -slot), shifted(ended, 2 - slot));
        vandq_u8(pairs, vdupq_n_u8(0b1111))
    };
    let pairs = [pairs(0), pairs(4)];
    let of_first = pairs.map(|pairs| vqtbl1q_u8(constant(&OF_FIRST), pairs));
    let of_both = pairs.map(|pairs| vqtbl1q_u8(constant(&OF_BOTH), pairs));
    // At most 64 runs end in a block, so all numbers of open runs above 64 have the same effect. With at most 100 open
    // runs, no sum exceeds 255.
    let open = u64::from(open.min(100));
    let of_bytes = vpaddd_u64(vreinterpretq_u64_u8(vaddq_u8(of_both[0], of_both[1])));
    let before_byte = open * EACH + of_bytes.wrapping_mul(EACH << 8);
    let before_byte = vreinterpretq_u8_u64(vdupq_n_u64(before_byte));
    let none = vdupq_n_u8(0);
    let of_two_pairs = vaddq_u8(of_both[0], vextq_u8::<8>(of_both[0], of_both[0]));
    let before = [
        vaddq_u8(before_byte, vextq_u8::<8>(none, of_both[0])),
        vaddq_u8(vaddq_u8(before_byte, of_two_pairs), vextq_u8::<8>(none, of_both[1])),
    ];
    let mut balanced = none;
    for i in 0..2 {
        let (added, first) = (constant(&ADDED[i]), constant(&FIRST[i]));
        let after_first = vceqq_u8(vaddq_u8(before[i], of_first[i]), added);
        let after_both = vceqq_u8(vaddq_u8(before[i], of_both[i]), added);
        balanced = vbslq_u8(first, after_first, balanced);
        balanced = vbslq_u8(vaddq_u8(first, first), after_both, balanced);
    }
    vpaddd_u64(vreinterpretq_u64_u8(balanced))
}

impl Moves for Neon {
    #[inline(always)]
    unsafe fn insert_byte(self, bytes: *mut u8, at: usize, free: usize, byte: u8) {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON. The caller of `insert_byte` guarantees
        // the bytes.
        unsafe { insert_byte(bytes, at, free, byte) }
    }

    #[inline(always)]
    fn move_up(self, line: &mut [u8; LINE_BYTES], slots: u64, incoming: u8) {
        // SAFETY: the caller of `Neon::new` ensured that the machine has NEON.
        unsafe { move_up(line, slots, incoming) }
    }
}

/// See [`Moves::insert_byte`].
///
/// # Safety
/// The caller must guarantee the bytes that `Moves::insert_byte` names.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn insert_byte(bytes: *mut u8, at: usize, free: usize, byte: u8) {
    // SAFETY: all reads and writes are within the bytes that the caller guarantees, and `INDICES` has more than 16
    // bytes.
    unsafe {
        let there = vld1q_u8(bytes.add(at));
        let before = vld1q_u8(bytes.add(at).sub(1));
        // Copies from the end backwards, so that no byte is read after it was overwritten.
        let mut end = free;
        while end - at >= VECTOR {
            vst1q_u8(bytes.add(end - VECTOR + 1), vld1q_u8(bytes.add(end - VECTOR)));
            end -= VECTOR;
        }
        let moves = vcleq_u8(vld1q_u8(INDICES.as_ptr()), vdupq_n_u8((free - at).min(VECTOR) as u8));
        let up = vbslq_u8(moves, before, there);
        vst1q_u8(bytes.add(at), vsetq_lane_u8::<0>(byte, up));
    }
}

/// See [`Moves::move_up`].
#[inline]
#[target_feature(enable = "neon")]
fn move_up(line: &mut [u8; LINE_BYTES], slots: u64, incoming: u8) {
    // If `slots` is 0, `first` is 64, and no index from there on is in the line.
    let first = slots.trailing_zeros();
    let last = 63 - (slots | 1).leading_zeros();
    let (from, count) = (vdupq_n_u8(first as u8), vdupq_n_u8(last.saturating_sub(first) as u8));
    let stored = if slots == 0 { line[0] } else { incoming };
    // SAFETY: `INDICES` has 64 bytes, and so has the line. The reads at 15, 31 and 47 end within the line.
    unsafe {
        let (indices, old) = (read(INDICES.as_ptr()), read(line.as_ptr()));
        let up = [
            vextq_u8::<15>(old[0], old[0]),
            vld1q_u8(line.as_ptr().add(15)),
            vld1q_u8(line.as_ptr().add(31)),
            vld1q_u8(line.as_ptr().add(47)),
        ];
        for i in 0..LINE_BYTES / VECTOR {
            let moves = vcleq_u8(vsubq_u8(indices[i], from), count);
            vst1q_u8(line.as_mut_ptr().add(i * VECTOR), vbslq_u8(moves, up[i], old[i]));
        }
    }
    line[first as usize % LINE_BYTES] = stored;
}
