//! Cache-line blocks with NEON: lookups test the bits of two keys, eight bits of each key, in one vector of bytes;
//! inserts make a key's mask in four vectors.

use super::{CacheLineBody, LANES};
use crate::kernel::neon::{self, EVERY_OTHER, Fields, batch_inserts, batch_lookups};
use crate::kernel::{BatchKernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use core::arch::aarch64::*;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

batch_lookups!(
    CacheLineBody,
    constants = |_| {
        // For the eight lanes of a line, the index of the lane's first byte in the line; twice, for two keys.
        let lanes = neon::bytes(core::array::from_fn(|i| (i % LANES * 8) as u8));
        (Fields::new([0, 1, 2, 3, 4, 5, 6, 7]), lanes)
    },
    answers = |(fields, lanes), line, keys| {
        let products = neon::pattern_positions_8(keys);
        neon::all_set(core::array::from_fn(|pair| {
            let positions = fields.positions(products[pair]);
            let indices = vorrq_u8(neon::byte_indices(positions), lanes);
            // SAFETY: `line` returns the address of a line. Its 64 bytes are read.
            let held = |i: usize| unsafe { vld1q_u8_x4(line(keys[2 * pair + i])) };
            let [first, second] = core::array::from_fn(|i| vqtbl4q_u8(held(i), indices));
            let bytes = vcombine_u8(vget_low_u8(first), vget_high_u8(second));
            vtstq_u8(bytes, neon::bits_in_byte(positions))
        }))
    },
);

/// The mask of a hash: two lanes in each vector.
#[inline]
#[target_feature(enable = "neon")]
fn mask(hash: u64) -> [uint64x2_t; 4] {
    let pair = |even: u64, odd: u64| vcombine_u64(vcreate_u64(even), vcreate_u64(odd));
    // A shift takes its count from the lowest byte of a lane, but a position has only six bits, and the byte's other
    // two bits must be zero. In the product, the bits above a position belong to the next position, if there is one. So
    // the even lane keeps only the even positions, and the odd lane keeps only the odd positions.
    let kept = pair(EVERY_OTHER << PATTERN_SHIFT, EVERY_OTHER << (PATTERN_SHIFT + PATTERN_STEP));
    let positions = vandq_u64(vdupq_n_u64(pattern_positions(hash)), kept);
    core::array::from_fn(|i| {
        let lane = 2 * i as u32;
        // A negative number shifts to the right.
        let start = |lane| (-i64::from(PATTERN_SHIFT + PATTERN_STEP * lane)).cast_unsigned();
        let starts = vreinterpretq_s64_u64(pair(start(lane), start(lane + 1)));
        let position = vreinterpretq_s64_u64(vshlq_u64(positions, starts));
        vshlq_u64(vdupq_n_u64(1), position)
    })
}

batch_inserts!(
    CacheLineBody,
    insert = |_, line, keys| {
        // Inserts one key at a time, so that a key's store is visible to the next key of the same line.
        for hash in keys {
            let mask = mask(*hash);
            // SAFETY: `line` returns the address of a line, and the table is not borrowed elsewhere. The 64 bytes of
            // the line are read and written.
            unsafe {
                let line = line(*hash).cast::<u64>();
                for (i, mask) in mask.into_iter().enumerate() {
                    let pair = line.add(2 * i);
                    vst1q_u64(pair, vorrq_u64(vld1q_u64(pair), mask));
                }
            }
        }
    },
);
