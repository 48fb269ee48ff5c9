//! Split-block kernels with NEON: a block is two vectors, as is the mask of a key.

use super::{BLOCK_BYTES, SALTS, SplitBlockBody};
use crate::geometry::Geometry;
use crate::kernel::{BatchKernels, bytes_of, neon, portable};
use core::arch::aarch64::*;
use trommel_base::batch::Window;
use trommel_base::range::reduce;
use trommel_base::with_fetch;

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

/// The byte of the table at which a hash's block begins.
#[inline(always)]
fn block(geometry: Geometry, hash: u64) -> usize {
    // `reduce` computes the number that `SplitBlockBody::block` returns, with one multiplication and no shift.
    reduce(hash & !0xFFFF_FFFF, geometry.units) as usize * BLOCK_BYTES
}

#[target_feature(enable = "neon")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let found_bytes = bytes_of(found);
    let window = Window::for_table(table.len());
    let block = |hash| block(geometry, hash);
    with_fetch!(window, F => neon::run_groups::<SplitBlockBody, F>(
        geometry,
        table,
        hashes,
        window,
        block,
        |group, keys| {
            found_bytes[group] = neon::none_missing(core::array::from_fn(|i| {
                // SAFETY: the block's index is the high half of a product with `geometry.units`, so it is below
                // `units`, and the table has `units` blocks, as `run_groups` asserts.
                let held = unsafe { load(table.as_ptr().add(block(keys[i]))) };
                let mask = mask(keys[i]);
                vorrq_u32(vbicq_u32(mask[0], held[0]), vbicq_u32(mask[1], held[1]))
            }));
        },
    ));
    portable::contains_rest::<SplitBlockBody>(geometry, table, hashes, found);
}

#[target_feature(enable = "neon")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let whole = &raw const *table;
    let start = table.as_mut_ptr();
    let window = Window::for_table(whole.len());
    let block = |hash| block(geometry, hash);
    with_fetch!(window, F => neon::run_groups::<SplitBlockBody, F>(
        geometry,
        whole,
        hashes,
        window,
        block,
        |_, keys| {
            // Inserts one key at a time, so that a key's store is visible to the next key of the same block.
            for hash in keys {
                let mask = mask(*hash);
                // SAFETY: as in `contains_batch`, and `table` is not borrowed elsewhere. The 32 bytes of the block are
                // read and written.
                unsafe {
                    let block = start.add(block(*hash));
                    let before = load(block);
                    vst1q_u32(block.cast(), vorrq_u32(before[0], mask[0]));
                    vst1q_u32(block.add(BLOCK_BYTES / 2).cast(), vorrq_u32(before[1], mask[1]));
                }
            }
        },
    ));
    portable::insert_rest::<SplitBlockBody>(geometry, table, hashes);
}
