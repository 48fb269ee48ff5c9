//! Vectors of sixteen lanes with NEON: four registers of four lanes each. This file is compiled only for targets whose
//! machines all have NEON.
//!
//! "Registers only" in this file means two things: the instructions access no memory, and the code that uses the type
//! promises that the machine has the instructions.

use super::vector::{Vector, store_each};
use crate::evict::lane_group::{LANES, Lanes};
use core::arch::aarch64::*;

#[derive(Clone, Copy, Debug)]
pub(super) struct Neon([uint32x4_t; LANES / 4]);

impl Neon {
    #[inline(always)]
    fn each(self, f: impl Fn(uint32x4_t) -> uint32x4_t) -> Self {
        let [a, b, c, d] = self.0;
        Self([f(a), f(b), f(c), f(d)])
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(uint32x4_t, uint32x4_t) -> uint32x4_t) -> Self {
        let ([a, b, c, d], [e, g, h, i]) = (self.0, other.0);
        Self([f(a, e), f(b, g), f(c, h), f(d, i)])
    }

    #[inline(always)]
    fn fields(self) -> [uint16x8_t; LANES / 4] {
        let [a, b, c, d] = self.0;
        // SAFETY: registers only.
        let fields = |lanes| unsafe { vreinterpretq_u16_u32(lanes) };
        [fields(a), fields(b), fields(c), fields(d)]
    }
}

/// Defines operations that apply one instruction to all registers, as lanes of 32 bits.
macro_rules! on_lanes {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: registers only.
            self.zip(other, |a, b| unsafe { $instruction(a, b) })
        }
    )*};
}

/// [`on_lanes`] for fields of 16 bits.
macro_rules! on_fields {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: registers only.
            self.zip(other, |a, b| unsafe {
                vreinterpretq_u32_u16($instruction(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)))
            })
        }
    )*};
}

// SAFETY: all methods are inlined into their callers.
unsafe impl Vector for Neon {
    on_lanes! {
        and = vandq_u32;
        and_not = vbicq_u32;
        or = vorrq_u32;
        xor = veorq_u32;
        add = vaddq_u32;
        sub = vsubq_u32;
        min = vminq_u32;
    }

    on_fields! {
        min_16 = vminq_u16;
        max_16 = vmaxq_u16;
        eq_16 = vceqq_u16;
        mul_16 = vmulq_u16;
        mul_high_16 = mul_high;
    }

    #[inline(always)]
    fn splat(value: u32) -> Self {
        // SAFETY: registers only.
        Self([unsafe { vdupq_n_u32(value) }; 4])
    }

    #[inline(always)]
    fn load(lanes: &Lanes) -> Self {
        let from = lanes.as_ptr();
        // SAFETY: reads the 64 bytes of the array.
        unsafe {
            Self([
                vld1q_u32(from),
                vld1q_u32(from.add(4)),
                vld1q_u32(from.add(8)),
                vld1q_u32(from.add(12)),
            ])
        }
    }

    #[inline(always)]
    fn store(self, lanes: &mut Lanes) {
        let to = lanes.as_mut_ptr();
        // SAFETY: writes the 64 bytes of the array.
        unsafe {
            vst1q_u32(to, self.0[0]);
            vst1q_u32(to.add(4), self.0[1]);
            vst1q_u32(to.add(8), self.0[2]);
            vst1q_u32(to.add(12), self.0[3]);
        }
    }

    #[inline(always)]
    fn left<const BITS: u32>(self) -> Self {
        // The count is a constant once the method is inlined.
        // SAFETY: registers only.
        self.each(|lanes| unsafe { vshlq_u32(lanes, vdupq_n_s32(BITS as i32)) })
    }

    #[inline(always)]
    fn right<const BITS: u32>(self) -> Self {
        // A shift to the left by a negative number is a shift to the right.
        // SAFETY: registers only.
        self.each(|lanes| unsafe { vshlq_u32(lanes, vdupq_n_s32(-(BITS as i32))) })
    }

    #[inline(always)]
    fn left_by(self, counts: Self) -> Self {
        // SAFETY: registers only.
        self.zip(counts, |a, b| unsafe { vshlq_u32(a, vreinterpretq_s32_u32(b)) })
    }

    #[inline(always)]
    fn right_by(self, counts: Self) -> Self {
        // SAFETY: registers only.
        self.zip(counts, |a, b| unsafe { vshlq_u32(a, vnegq_s32(vreinterpretq_s32_u32(b))) })
    }

    #[inline(always)]
    fn right_16<const BITS: u32>(self) -> Self {
        // SAFETY: registers only.
        self.each(|lanes| unsafe {
            let count = vdupq_n_s16(-(BITS as i16));
            vreinterpretq_u32_u16(vshlq_u16(vreinterpretq_u16_u32(lanes), count))
        })
    }

    /// Packs the highest bytes of the lanes into one register.
    #[inline(always)]
    fn signs(self) -> u32 {
        const WEIGHTS: [u8; LANES] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: registers only, but for a load of the 16 bytes of the constant.
        unsafe {
            let [a, b, c, d] = self.fields();
            let low = vreinterpretq_u8_u16(vuzp2q_u16(a, b));
            let high = vreinterpretq_u8_u16(vuzp2q_u16(c, d));
            let signs = vcltzq_s8(vreinterpretq_s8_u8(vuzp2q_u8(low, high)));
            let mut bits = vandq_u8(signs, vld1q_u8(WEIGHTS.as_ptr()));
            for _ in 0..3 {
                bits = vpaddq_u8(bits, bits);
            }
            u32::from(vgetq_lane_u16::<0>(vreinterpretq_u16_u8(bits)))
        }
    }

    #[inline(always)]
    fn choose(sign: Self, yes: Self, no: Self) -> Self {
        // SAFETY: registers only.
        let masks = sign.each(|sign| unsafe { vcltzq_s32(vreinterpretq_s32_u32(sign)) });
        // SAFETY: registers only.
        let choose = |i: usize| unsafe { vbslq_u32(masks.0[i], yes.0[i], no.0[i]) };
        Self([choose(0), choose(1), choose(2), choose(3)])
    }

    /// Packs the lanes into 16 bits each, and compares them with their rotations by one to eight lanes. So every lane
    /// is compared with every other.
    #[inline(always)]
    fn any_equal_16(self) -> bool {
        // SAFETY: registers only.
        unsafe {
            let [a, b, c, d] = self.fields();
            let (low, high) = (vuzp1q_u16(a, b), vuzp1q_u16(c, d));
            let mut equal = vceqq_u16(low, high);
            macro_rules! rotations {
                ($($lanes:literal)*) => {$(
                    equal = vorrq_u16(equal, vceqq_u16(low, vextq_u16::<$lanes>(low, high)));
                    equal = vorrq_u16(equal, vceqq_u16(high, vextq_u16::<$lanes>(high, low)));
                )*};
            }
            rotations!(1 2 3 4 5 6 7);
            vmaxvq_u16(equal) != 0
        }
    }

    #[inline(always)]
    unsafe fn gather<const SCALE: i32>(base: *const u8, index: Self) -> Self {
        let (mut indices, mut lanes) = ([0; LANES], [0; LANES]);
        index.store(&mut indices);
        for (lane, index) in lanes.iter_mut().zip(indices) {
            let from = base.wrapping_add(index as usize * SCALE as usize).cast::<u32>();
            // SAFETY: the caller promises that the 32 bits of every lane may be read.
            *lane = unsafe { from.read_unaligned() };
        }
        Self::load(&lanes)
    }

    /// Lanes whose sign is not set read the bits at `base`.
    #[inline(always)]
    unsafe fn gather_some<const SCALE: i32>(base: *const u8, index: Self, sign: Self) -> Self {
        // SAFETY: registers only.
        let wanted = sign.each(|sign| unsafe { vcltzq_s32(vreinterpretq_s32_u32(sign)) });
        // SAFETY: the caller promises that the bits of the lanes whose sign is set may be read, and the bits at `base`.
        unsafe { Self::gather::<SCALE>(base, index.and(wanted)) }
    }

    #[inline(always)]
    unsafe fn scatter<const SCALE: i32>(self, base: *mut u8, index: Self, lanes: u32) {
        let (mut values, mut indices) = ([0; LANES], [0; LANES]);
        self.store(&mut values);
        index.store(&mut indices);
        // SAFETY: the caller promises that the bits of the lanes in `lanes` may be written.
        unsafe { store_each::<SCALE>(base, &indices, &values, lanes) };
    }
}

/// For each lane, the high half of the product.
#[inline]
#[target_feature(enable = "neon")]
fn mul_high(a: uint16x8_t, b: uint16x8_t) -> uint16x8_t {
    let low = vmull_u16(vget_low_u16(a), vget_low_u16(b));
    vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(vmull_high_u16(a, b)))
}
