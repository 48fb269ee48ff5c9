//! Cache-line blocks with AVX-512: a cache line is one vector, and one shift and one rotate make a key's mask.
//!
//! Time of a batch relative to the AVX2 functions, by number of keys in the filter, at 12 bits per key:
//!
//! | core | batch of | 1e5 keys | 1e6 keys | 1e7 keys |
//! |---|---|---|---|---|
//! | Cascade Lake | lookups | 0.41 to 0.57 | 0.63 to 0.87 | 0.88 to 0.96 |
//! | Cascade Lake | inserts | 0.57 to 0.72 | 0.79 to 0.86 | 1 |
//! | Zen 4 | lookups | 0.5 | 0.7 | 0.7 |
//! | Zen 4 | inserts | 0.75 | 0.8 | |
//!
//! On Cascade Lake, calls with a single key take 0.6 to 0.75 of the time of the AVX2 functions, in filters of up to 1e5
//! keys. Rejected: VBMI's multishift in place of the shift that brings the key's positions to their lanes (on Zen 4,
//! the multishift takes 1.3 times as long).

use super::{CacheLineBody, LINE_BYTES};
use crate::geometry::Geometry;
use crate::kernel::groups::{batch_inserts, batch_lookups};
use crate::kernel::portable::GROUP;
use crate::kernel::{
    BatchKernels, PATTERN_SHIFT, PATTERN_SPREAD, PATTERN_STEP, pattern_positions, x86,
};
use core::arch::x86_64::*;
use trommel_base::range::reduce;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// In tables of more than this number of bytes, batches of lookups use the AVX2 loop, which is faster in such tables.
/// Times in ns per key on Sapphire Rapids:
///
/// | | 1.5 MB | 15 MB | 48 MB | 1 GB |
/// |---|---:|---:|---:|---:|
/// | AVX-512 | 1.2 | 2.9 | 5.2 | 12.3 |
/// | AVX2 | 2.3 | 3.4 | 4.9 | 11.2 |
const LOOKUPS_MAX_BYTES: usize = 32 << 20;

/// For each lane, the index of the bit at which the lane's position begins in the product of [`pattern_positions`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn starts() -> __m512i {
    let start = |lane: u32| i64::from(PATTERN_SHIFT + PATTERN_STEP * lane);
    _mm512_setr_epi64(
        start(0),
        start(1),
        start(2),
        start(3),
        start(4),
        start(5),
        start(6),
        start(7),
    )
}

/// One bit in each lane, from a product of [`pattern_positions`], which holds a key's positions. A rotate takes its
/// count modulo 64, so the bits of the product above a position need no masking.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn mask(product: u64) -> __m512i {
    let fields = _mm512_srlv_epi64(_mm512_set1_epi64(product.cast_signed()), starts());
    _mm512_rolv_epi64(_mm512_set1_epi64(1), fields)
}

/// The products that hold the positions of eight keys. One multiplication serves eight keys, and each product is
/// broadcast from memory when its key is probed: a lookup takes 0.81 ns in L1 on Sapphire Rapids. Rejected: one
/// multiplication and one broadcast from a register per key (a lookup takes 0.86 ns).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn products(hashes: &[u64; GROUP]) -> __m512i {
    _mm512_mul_epu32(x86::load_8(hashes), _mm512_set1_epi64(PATTERN_SPREAD.cast_signed()))
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    let line = reduce(hash, geometry.units) as usize;
    // SAFETY: the line's number is below `geometry.units`, and the caller promises that the table has `units` lines.
    // The read of the line's 64 bytes needs no alignment.
    let line = unsafe { _mm512_loadu_si512(table.add(line * LINE_BYTES).cast()) };
    _mm512_testn_epi64_mask(line, mask(pattern_positions(hash))) == 0
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    let line = reduce(hash, geometry.units) as usize;
    let mask = mask(pattern_positions(hash));
    // SAFETY: as in `contains`; the 64 bytes are read and written.
    unsafe {
        let line = table.add(line * LINE_BYTES).cast::<__m512i>();
        let before = _mm512_loadu_si512(line);
        _mm512_storeu_si512(line, _mm512_or_si512(before, mask));
        _mm512_testn_epi64_mask(before, mask) != 0
    }
}

batch_lookups!(
    avx512_core,
    CacheLineBody,
    up_to = LOOKUPS_MAX_BYTES,
    patterns = |_, keys| products(keys),
    answer_bytes = |start, products, places, bytes| {
        for ((product, place), byte) in products.iter().zip(places).zip(bytes) {
            // SAFETY: the line's number is the high half of a product with `geometry.units`, so it is below `units`,
            // and the table has `units` lines, as `run_groups` asserts. The 64 bytes of one line are read.
            let line = unsafe { _mm512_loadu_si512(x86::word_at(start, *place).cast()) };
            *byte = _mm512_test_epi64_mask(line, mask(*product));
        }
    },
);

batch_inserts!(
    avx512_core,
    CacheLineBody,
    patterns = |_, keys| products(keys),
    insert = |start, products, places| {
        // Inserts one key at a time, so that a key's store is visible to the next key of the same line.
        for (product, place) in products.iter().zip(places) {
            // SAFETY: as in `contains_batch`; 64 bytes are read and written.
            unsafe {
                let line = x86::word_at_mut(start, *place).cast();
                let union = _mm512_or_si512(_mm512_loadu_si512(line), mask(*product));
                _mm512_storeu_si512(line, union);
            }
        }
    },
);
