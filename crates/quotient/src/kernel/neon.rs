//! Batches of lookups with NEON, for both layouts.
//!
//! `kernel/equal_slots.rs` describes how the comparison of all slots of a block decides about a key. The decision takes
//! two counts of ones. A vector has the words of two keys. The ones are counted in each byte of these words, and the
//! counts of adjacent bytes are added, until a vector has one count for each of sixteen keys. From these counts,
//! [`Counts::judge`] tells whether the first equal slot of each key is in the key's run. The few keys about which that
//! slot does not decide are left to [`Probed::look_again`].

use super::equal_slots::Probe;
use core::arch::aarch64::*;
use core::hint::black_box;

/// The number of keys that are looked up together. Their answers fill one word.
pub(super) const BLOCK: usize = 64;
/// The number of keys whose results fill a vector of bytes.
const GROUP: usize = 16;

/// The metadata of the blocks of two keys, in lanes of 64 bits, and which remainders in these blocks equal the keys'.
#[derive(Clone, Copy)]
pub(super) struct Two {
    /// The occupieds, shifted so that the bit of the key's home is the highest.
    pub(super) occupieds: uint64x2_t,
    /// The runends from the offset on.
    pub(super) own: uint64x2_t,
    /// The slots that are below neither the offset nor the key's home.
    pub(super) allowed: uint64x2_t,
    /// The slots whose remainder equals the key's. If a block has fewer than 64 slots, the other bits have no meaning.
    pub(super) equal: uint64x2_t,
}

/// [`BLOCK`] keys of a batch, and the table.
pub(super) trait Keys {
    /// The metadata and comparisons of the keys `2 * pair` and `2 * pair + 1`.
    fn two(&self, pair: usize, compare: &Compare) -> Two;
}

/// Results that the vector code keeps for a second look at keys.
pub(super) struct Probed {
    /// The slots that are equal and allowed.
    equal: [u64; BLOCK],
    /// The runends from the offset on.
    own: [u64; BLOCK],
    /// The number of own runends, minus the number of occupied quotients up to and including the key's.
    ended: [i8; BLOCK],
}

/// Three numbers for each key of a group. A number takes eight bytes in a group of two keys, and one byte in a group of
/// sixteen.
#[derive(Clone, Copy)]
struct Counts {
    /// The sum of the key's bytes is the number of own runends below the first equal slot, minus the number of occupied
    /// quotients up to and including the key's.
    before: int8x16_t,
    /// The sum of the key's bytes is [`Probed::ended`].
    ended: int8x16_t,
    /// The highest bit of the key's bytes is set if its quotient is occupied.
    occupied: uint8x16_t,
}

impl Probed {
    pub(super) const NONE: Self = Self { equal: [0; BLOCK], own: [0; BLOCK], ended: [0; BLOCK] };

    /// Returns two words with a bit for each key: whether the key's block holds the key, and whether the key needs
    /// another look.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn probe(&mut self, keys: &impl Keys, compare: &Compare) -> (u64, u64) {
        let mut hits = [vdupq_n_u8(0); BLOCK / GROUP];
        let mut others = hits;
        for i in 0..BLOCK / GROUP {
            let mut counts = [Counts::none(); 4];
            for four in 4 * i..4 * (i + 1) {
                let a = self.count(keys.two(2 * four, compare), 2 * four);
                let b = self.count(keys.two(2 * four + 1, compare), 2 * four + 1);
                counts[four % 4] = Counts::join_two(a, b);
            }
            let [a, b, c, d] = counts;
            let counts = Counts::join_eight(Counts::join_four(a, b), Counts::join_four(c, d));
            (hits[i], others[i]) = counts.judge();
            // SAFETY: writes the sixteen bytes of a chunk.
            unsafe {
                vst1q_s8(self.ended.as_chunks_mut::<GROUP>().0[i].as_mut_ptr(), counts.ended);
            }
        }
        (compare.packed(hits), compare.packed(others))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn count(&mut self, two: Two, pair: usize) -> Counts {
        let equal = vandq_u64(two.equal, two.allowed);
        // All bits below the lowest set bit of `equal`; all bits if none is set.
        let before = vbicq_u64(vaddq_u64(equal, vdupq_n_u64(u64::MAX)), equal);
        // SAFETY: writes two chunks of sixteen bytes each.
        unsafe {
            vst1q_u64(self.equal.as_chunks_mut::<2>().0[pair].as_mut_ptr(), equal);
            vst1q_u64(self.own.as_chunks_mut::<2>().0[pair].as_mut_ptr(), two.own);
        }
        let number = ones(two.occupieds);
        Counts {
            before: vsubq_s8(ones(vandq_u64(two.own, before)), number),
            ended: vsubq_s8(ones(two.own), number),
            occupied: vreinterpretq_u8_u64(two.occupieds),
        }
    }

    /// Whether the table holds a key that needs another look. `slots` is a mask of the slots of a block. `next` returns
    /// the runends of the block that comes the given number of blocks after the key's, and the slots whose remainder
    /// equals the key's; `None` if there is no such block. Returns `None` if `next` does.
    #[inline(always)]
    pub(super) fn look_again(
        &self,
        key: usize,
        slots: u64,
        mut next: impl FnMut(usize) -> Option<(u64, u64)>,
    ) -> Option<bool> {
        let (own, ended) = (self.own[key], i32::from(self.ended[key]));
        let number = own.count_ones() as i32 - ended - 1;
        let probe = Probe { equal: self.equal[key] & slots, own, number: number as u32 };
        probe.look_again(|block| next(block).map(|(runends, equal)| (runends, equal & slots)))
    }
}

/// The number of ones of each byte.
#[inline]
#[target_feature(enable = "neon")]
fn ones(words: uint64x2_t) -> int8x16_t {
    vreinterpretq_s8_u8(vcntq_u8(vreinterpretq_u8_u64(words)))
}

impl Counts {
    #[inline]
    #[target_feature(enable = "neon")]
    fn none() -> Self {
        Self { before: vdupq_n_s8(0), ended: vdupq_n_s8(0), occupied: vdupq_n_u8(0) }
    }

    /// Joins groups of two keys to one of four.
    #[inline]
    #[target_feature(enable = "neon")]
    fn join_two(a: Self, b: Self) -> Self {
        let high = vuzp2q_u32(vreinterpretq_u32_u8(a.occupied), vreinterpretq_u32_u8(b.occupied));
        Self { occupied: vreinterpretq_u8_u32(high), ..Self::add(a, b) }
    }

    /// Joins groups of four keys to one of eight.
    #[inline]
    #[target_feature(enable = "neon")]
    fn join_four(a: Self, b: Self) -> Self {
        let high = vuzp2q_u16(vreinterpretq_u16_u8(a.occupied), vreinterpretq_u16_u8(b.occupied));
        Self { occupied: vreinterpretq_u8_u16(high), ..Self::add(a, b) }
    }

    /// Joins groups of eight keys to one of sixteen.
    #[inline]
    #[target_feature(enable = "neon")]
    fn join_eight(a: Self, b: Self) -> Self {
        Self { occupied: vuzp2q_u8(a.occupied, b.occupied), ..Self::add(a, b) }
    }

    /// Adds pairs of bytes.
    #[inline]
    #[target_feature(enable = "neon")]
    fn add(a: Self, b: Self) -> Self {
        Self {
            before: vpaddq_s8(a.before, b.before),
            ended: vpaddq_s8(a.ended, b.ended),
            occupied: a.occupied,
        }
    }

    /// Returns two vectors, with all ones or zero for each of sixteen keys: whether the key's block holds it, and
    /// whether it needs another look.
    ///
    /// If no slot is equal, `before` equals `ended`, which is negative only if the run does not end in the block. So a
    /// key without an equal slot is never a hit.
    #[inline]
    #[target_feature(enable = "neon")]
    fn judge(self) -> (uint8x16_t, uint8x16_t) {
        let occupied = vcltzq_s8(vreinterpretq_s8_u8(self.occupied));
        let in_run = vceqq_s8(self.before, vdupq_n_s8(-1));
        let goes_on = vcltzq_s8(self.ended);
        let in_earlier_run = vcltq_s8(self.before, vdupq_n_s8(-1));
        let again = vorrq_u8(goes_on, in_earlier_run);
        (vandq_u8(vbicq_u8(in_run, goes_on), occupied), vandq_u8(again, occupied))
    }
}

/// Comparisons of bytes that return a bit for each byte.
#[derive(Clone, Copy)]
pub(super) struct Compare {
    /// In each half, byte `i` is `1 << i`.
    bits: uint8x16_t,
}

impl Compare {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        // If the compiler knows that two numbers have no common bit, it compiles their addition to three instructions
        // instead of one. So `black_box` hides these bits from the compiler.
        Self { bits: vreinterpretq_u8_u64(vdupq_n_u64(black_box(0x8040_2010_0804_0201))) }
    }

    /// A bit for each of 64 bytes. The caller must ensure that each byte is all ones or zero.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn packed(self, bytes: [uint8x16_t; 4]) -> u64 {
        let sixteen = self.folded(bytes);
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sixteen, sixteen)))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn folded(self, [a, b, c, d]: [uint8x16_t; 4]) -> uint8x16_t {
        let low = vpaddq_u8(vandq_u8(a, self.bits), vandq_u8(b, self.bits));
        let high = vpaddq_u8(vandq_u8(c, self.bits), vandq_u8(d, self.bits));
        vpaddq_u8(low, high)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn equal(self, [a, b, c, d]: [uint8x16_t; 4], byte: uint8x16_t) -> uint8x16_t {
        self.folded([vceqq_u8(a, byte), vceqq_u8(b, byte), vceqq_u8(c, byte), vceqq_u8(d, byte)])
    }

    /// For each of two keys, a bit for each of 64 bytes: whether it equals the byte that fills the key's vector in
    /// `others`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn equal_of_two(
        self,
        bytes: [[uint8x16_t; 4]; 2],
        others: [uint8x16_t; 2],
    ) -> uint64x2_t {
        let (a, b) = (self.equal(bytes[0], others[0]), self.equal(bytes[1], others[1]));
        vreinterpretq_u64_u8(vpaddq_u8(a, b))
    }

    /// A bit for each of 64 bytes: whether it equals `other`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn equal_of_one(self, bytes: [uint8x16_t; 4], other: u8) -> u64 {
        let sixteen = self.equal(bytes, vdupq_n_u8(other));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sixteen, sixteen)))
    }
}

/// Reads 64 bytes.
///
/// # Safety
/// The caller must ensure that the 64 bytes can be read.
#[inline]
#[target_feature(enable = "neon")]
pub(super) unsafe fn read(bytes: *const u8) -> [uint8x16_t; 4] {
    // SAFETY: the caller guarantees that the 64 bytes can be read.
    unsafe {
        [vld1q_u8(bytes), vld1q_u8(bytes.add(16)), vld1q_u8(bytes.add(32)), vld1q_u8(bytes.add(48))]
    }
}

/// All bits from bit `slots` on; no bit if `slots` is 64. The caller must ensure that `slots` is at most 64.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn from(slots: uint64x2_t) -> uint64x2_t {
    vshlq_u64(vdupq_n_u64(u64::MAX), vreinterpretq_s64_u64(slots))
}

/// Shifts a word to the left, so that bit `slots` becomes the highest bit. The caller must ensure that `slots` is at
/// most 63.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn up_to(words: uint64x2_t, slots: uint64x2_t) -> uint64x2_t {
    let shift = veorq_u64(slots, vdupq_n_u64(63));
    vshlq_u64(words, vreinterpretq_s64_u64(shift))
}

/// `floor(hash · factor / 2^32)` for four hashes, and the lowest 32 bits of `hash · factor`.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn products(hashes: &[u64; 4], factor: uint32x4_t) -> ([uint32x4_t; 2], uint32x4_t) {
    // SAFETY: reads the 32 bytes of the array.
    let uint32x4x2_t(low, high) = unsafe { vld2q_u32(hashes.as_ptr().cast()) };
    sums_of_products(low, high, factor)
}

/// As [`products`], for four numbers whose low and high halves are given.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn sums_of_products(
    low: uint32x4_t,
    high: uint32x4_t,
    factor: uint32x4_t,
) -> ([uint32x4_t; 2], uint32x4_t) {
    let half = vget_low_u32(factor);
    let (a, b) = (vmull_u32(vget_low_u32(low), half), vmull_high_u32(low, factor));
    let (c, d) = (vmull_u32(vget_low_u32(high), half), vmull_high_u32(high, factor));
    let sums = [vsraq_n_u64::<32>(c, a), vsraq_n_u64::<32>(d, b)];
    let lowest = vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
    ([vreinterpretq_u32_u64(sums[0]), vreinterpretq_u32_u64(sums[1])], lowest)
}
