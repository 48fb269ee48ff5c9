//! Cache-line blocks with AVX2: a cache line is two vectors, and two variable shifts make each half of a key's mask.

use super::{CacheLineBody, LINE_BYTES};
use crate::geometry::Geometry;
use crate::kernel::groups::{batch_inserts, batch_lookups};
use crate::kernel::{BatchKernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions, x86};
use core::arch::x86_64::*;
use trommel_base::range::reduce;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// The bit positions of a key, one in the low six bits of each lane, for the low and the high half of a line. The
/// higher bits of a lane have no meaning.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn fields(hash: u64) -> [__m256i; 2] {
    let positions = _mm256_set1_epi64x(pattern_positions(hash).cast_signed());
    let half = |first_lane: u32| {
        let start = |lane: u32| i64::from(PATTERN_SHIFT + PATTERN_STEP * (first_lane + lane));
        let starts = _mm256_setr_epi64x(start(0), start(1), start(2), start(3));
        _mm256_srlv_epi64(positions, starts)
    };
    [half(0), half(4)]
}

/// The key's bit in each lane, for the low and the high half of a line.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn masks(hash: u64) -> [__m256i; 2] {
    let fields = fields(hash);
    core::array::from_fn(|half| {
        let position = _mm256_and_si256(fields[half], _mm256_set1_epi64x(63));
        _mm256_sllv_epi64(_mm256_set1_epi64x(1), position)
    })
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn load(line: &[u8; LINE_BYTES]) -> [__m256i; 2] {
    // SAFETY: reads the 64 bytes of the array; the instruction needs no alignment.
    unsafe {
        let line = line.as_ptr().cast::<__m256i>();
        [_mm256_loadu_si256(line), _mm256_loadu_si256(line.add(1))]
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn store(line: &mut [u8; LINE_BYTES], [low, high]: [__m256i; 2]) {
    // SAFETY: writes the 64 bytes of the array; the instruction needs no alignment.
    unsafe {
        let line = line.as_mut_ptr().cast::<__m256i>();
        _mm256_storeu_si256(line, low);
        _mm256_storeu_si256(line.add(1), high);
    }
}

/// The bits of the masks that are clear in the line, as the OR of two vectors: one for the low half of the line, and
/// one for the high half. The result is zero if the line has all bits of the masks.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn missing(line: [__m256i; 2], masks: [__m256i; 2]) -> __m256i {
    let missing = |i: usize| _mm256_andnot_si256(line[i], masks[i]);
    _mm256_or_si256(missing(0), missing(1))
}

/// Whether all bits of the masks are set in the line.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn covers(line: [__m256i; 2], masks: [__m256i; 2]) -> bool {
    let missing = missing(line, masks);
    _mm256_testz_si256(missing, missing) == 1
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn union(line: [__m256i; 2], masks: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_or_si256(line[0], masks[0]), _mm256_or_si256(line[1], masks[1])]
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    let line = reduce(hash, geometry.units) as usize;
    // SAFETY: the index of the line is below `geometry.units`, and the caller promises that the table has `units` lines
    // and is not borrowed elsewhere.
    let line = unsafe { &mut *table.add(line * LINE_BYTES).cast() };
    let (before, masks) = (load(line), masks(hash));
    store(line, union(before, masks));
    !covers(before, masks)
}

batch_lookups!(
    avx2,
    CacheLineBody,
    answers = |_, start, keys, places| x86::none_missing(core::array::from_fn(|i| {
        // SAFETY: the line's number is the high half of a product with `geometry.units`, so it is below `units`, and
        // the table has `units` lines, as `run_groups` asserts. The 64 bytes of one line are read.
        let line = unsafe { &*x86::word_at(start, places[i]).cast() };
        missing(load(line), masks(keys[i]))
    })),
);

batch_inserts!(
    avx2,
    CacheLineBody,
    insert = |start, keys, places| {
        // Inserts one key at a time, so that a key's store is visible to the next key of the same line.
        for (hash, place) in keys.iter().zip(places) {
            // SAFETY: as in `contains_batch`; no other reference into the table is alive.
            let line = unsafe { &mut *x86::word_at_mut(start, *place).cast() };
            store(line, union(load(line), masks(*hash)));
        }
    },
);
