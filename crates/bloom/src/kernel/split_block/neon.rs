//! Split-block kernels with NEON: a block is two vectors, as is the mask of a key.

use super::{BLOCK_BYTES, SALTS, SplitBlockBody};
use crate::kernel::BatchKernels;
use crate::kernel::neon::{self, batch_inserts, batch_lookups};
use core::arch::aarch64::*;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// The mask of a hash, for the low and the high half of a block.
#[inline]
#[target_feature(enable = "neon")]
fn mask(hash: u64) -> [uint32x4_t; 2] {
    let (salts, _) = SALTS.as_chunks::<4>();
    core::array::from_fn(|half| {
        // SAFETY: reads the 16 bytes of the array.
        let salts = unsafe { vld1q_u32(salts[half].as_ptr()) };
        let positions = vshrq_n_u32::<27>(vmulq_n_u32(salts, hash as u32));
        vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(positions))
    })
}

/// # Safety
/// The caller must ensure that a block begins at the address.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(block: *const u8) -> [uint32x4_t; 2] {
    // SAFETY: the caller promises the 32 bytes of a block. The loads need no alignment.
    unsafe { [vld1q_u32(block.cast()), vld1q_u32(block.add(BLOCK_BYTES / 2).cast())] }
}

batch_lookups!(
    SplitBlockBody,
    constants = |_| (),
    answers = |(), block, keys| neon::none_missing(core::array::from_fn(|i| {
        // SAFETY: `block` returns the address of a block.
        let held = unsafe { load(block(keys[i])) };
        let mask = mask(keys[i]);
        vorrq_u32(vbicq_u32(mask[0], held[0]), vbicq_u32(mask[1], held[1]))
    })),
);

batch_inserts!(
    SplitBlockBody,
    insert = |_, block, keys| {
        // Inserts one key at a time, so that a key's store is visible to the next key of the same block.
        for hash in keys {
            let (block, mask) = (block(*hash), mask(*hash));
            // SAFETY: `block` is the address of a block, and the table is not borrowed elsewhere. The 32 bytes of the
            // block are read and written.
            unsafe {
                let before = load(block);
                vst1q_u32(block.cast(), vorrq_u32(before[0], mask[0]));
                vst1q_u32(block.add(BLOCK_BYTES / 2).cast(), vorrq_u32(before[1], mask[1]));
            }
        }
    },
);
