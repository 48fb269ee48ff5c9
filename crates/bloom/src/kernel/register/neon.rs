//! Register-blocked kernels with NEON: lookups test all bits of two keys in one vector of bytes; inserts make the
//! patterns of two keys in one vector.

use super::RegisterBody;
use crate::kernel::neon::{self, EVERY_OTHER, Fields, batch_inserts, batch_lookups};
use crate::kernel::portable::GROUP;
use crate::kernel::{BatchKernels, PATTERN_SHIFT, PATTERN_STEP};
use core::arch::aarch64::*;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// Tests the bits of two keys. `words` has the word of each key, and `positions` has eight positions of each key, as
/// [`Fields::positions`] returns them. Byte `i` of the result answers for the position in byte `i` of `positions`: it
/// is 0xFF if the word's bit at this position is set, else 0.
#[inline]
#[target_feature(enable = "neon")]
fn bits_set(words: uint64x2_t, positions: uint8x16_t) -> uint8x16_t {
    let of_second_key = neon::bytes(core::array::from_fn(|i| (i / 8 * 8) as u8));
    let indices = vorrq_u8(neon::byte_indices(positions), of_second_key);
    vtstq_u8(vqtbl1q_u8(vreinterpretq_u8_u64(words), indices), neon::bits_in_byte(positions))
}

batch_lookups!(
    RegisterBody,
    // If a key sets fewer than eight bits, its first position is tested more than once.
    constants = |geometry| Fields::new(core::array::from_fn(|i| {
        if i < geometry.hashes as usize { i } else { 0 }
    })),
    answers = |fields, word, keys| {
        let products = neon::pattern_positions_8(keys);
        neon::all_set(core::array::from_fn(|pair| {
            // SAFETY: `word` returns the address of a word. The read needs no alignment.
            let held = |i: usize| unsafe { vld1_u64(word(keys[2 * pair + i]).cast()) };
            let words = vcombine_u64(held(0), held(1));
            bits_set(words, fields.positions(products[pair]))
        }))
    },
);

/// The patterns of eight keys, two in each vector.
#[inline]
#[target_feature(enable = "neon")]
fn patterns(hashes: &[u64; GROUP], count: u32) -> [uint64x2_t; 4] {
    let one = vdupq_n_u64(1);
    // A shift takes its count from the lowest byte of a lane, but a position has only six bits. The upper two bits of
    // the byte must be zero. In the product, they mostly belong to the next position. So one vector gets the even
    // positions and another the odd ones, each with zeros in place of the rest.
    let products = neon::pattern_positions_8(hashes);
    let every_other = vdupq_n_u64(EVERY_OTHER);
    let even = |product| vandq_u64(vshrq_n_u64::<{ PATTERN_SHIFT as i32 }>(product), every_other);
    let odd = |product| {
        vandq_u64(vshrq_n_u64::<{ (PATTERN_SHIFT + PATTERN_STEP) as i32 }>(product), every_other)
    };
    let mut evens = core::array::from_fn(|i| even(products[i]));
    let mut odds = core::array::from_fn(|i| odd(products[i]));
    let mut patterns = [vdupq_n_u64(0); 4];
    let add = |patterns: &mut [uint64x2_t; 4], positions: &mut [uint64x2_t; 4]| {
        for (pattern, positions) in patterns.iter_mut().zip(positions) {
            *pattern = vorrq_u64(*pattern, vshlq_u64(one, vreinterpretq_s64_u64(*positions)));
            *positions = vshrq_n_u64::<{ 2 * PATTERN_STEP as i32 }>(*positions);
        }
    };
    for _ in 0..count / 2 {
        add(&mut patterns, &mut evens);
        add(&mut patterns, &mut odds);
    }
    if count % 2 == 1 {
        add(&mut patterns, &mut evens);
    }
    patterns
}

batch_inserts!(
    RegisterBody,
    insert = |geometry, word, keys| {
        let patterns = patterns(keys, geometry.hashes);
        let pattern = |i: usize| match i % 2 {
            0 => vgetq_lane_u64::<0>(patterns[i / 2]),
            _ => vgetq_lane_u64::<1>(patterns[i / 2]),
        };
        // Inserts one key at a time, so that a key's store is visible to the next key of the same word.
        for (i, hash) in keys.iter().enumerate() {
            // SAFETY: `word` returns the address of a word, and the table is not borrowed elsewhere. The eight bytes of
            // the word are read and written.
            unsafe {
                let word = word(*hash).cast::<u64>();
                word.write_unaligned(word.read_unaligned() | pattern(i));
            }
        }
    },
);
