//! Split-block kernels with AVX2: the mask of a key is one multiply, one shift and one variable shift.

use super::{SALTS, SplitBlockBody};
use crate::kernel::groups::{batch_inserts, batch_lookups};
use crate::kernel::{BatchKernels, x86};
use core::arch::x86_64::*;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn salts() -> __m256i {
    let salt = |i: usize| SALTS[i].cast_signed();
    _mm256_setr_epi32(salt(0), salt(1), salt(2), salt(3), salt(4), salt(5), salt(6), salt(7))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn mask(low_half: i32) -> __m256i {
    let products = _mm256_mullo_epi32(_mm256_set1_epi32(low_half), salts());
    _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(products))
}

/// Loads the low half of a hash. A load of only these 32 bits lets the compiler broadcast them with one instruction. If
/// the whole hash were loaded and truncated, this would take a load, a move and a permute.
#[inline]
fn low_half(hash: &u64) -> i32 {
    // SAFETY: reads the first four of the hash's eight bytes; x86 is little-endian.
    unsafe { core::ptr::from_ref(hash).cast::<i32>().read() }
}

batch_lookups!(
    avx2,
    SplitBlockBody,
    answers = |_, start, keys, places| x86::none_missing(core::array::from_fn(|i| {
        // SAFETY: the block's index is the high half of a product with `geometry.units`, so it is below `units`, and
        // the table has `units` blocks, as `run_groups` asserts. The 32 bytes of one block are read.
        let block = unsafe { _mm256_loadu_si256(x86::word_at(start, places[i]).cast()) };
        _mm256_andnot_si256(block, mask(low_half(&keys[i])))
    })),
);

batch_inserts!(
    avx2,
    SplitBlockBody,
    insert = |start, keys, places| {
        // Inserts one key at a time, so that a key's store is visible to the next key of the same block.
        for (hash, place) in keys.iter().zip(places) {
            // SAFETY: as in `contains_batch`; 32 bytes are read and written.
            unsafe {
                let block = x86::word_at_mut(start, *place).cast::<__m256i>();
                let union = _mm256_or_si256(_mm256_loadu_si256(block), mask(low_half(hash)));
                _mm256_storeu_si256(block, union);
            }
        }
    },
);
