//! Cache-line blocks with AVX-512: a line is one register, a key's mask one rotate.
//!
//! Share of the time of the AVX2 functions, 12 bits per key: on a Cascade Lake core lookups in batches 0.41 to 0.57 up
//! to 1e5 keys, 0.63 to 0.87 at 1e6, 0.88 to 0.96 at 1e7, inserts in batches 0.57 to 0.72, 0.79 to 0.86, 1, one key a
//! call 0.6 to 0.75 up to 1e5 keys; on a Zen 4 core lookups 0.5 at 1e5, 0.7 at 1e6 and 1e7, inserts 0.75 and 0.8.
//! Fields of products brought down by VBMI's multishift take 1.3 times as long as by a shift on Zen 4.

use super::{CacheLineBody, LINE_BYTES, WORDS_SHIFT, avx2};
use crate::geometry::Geometry;
use crate::kernel::x86::{self, AnswerBytes, PatternRing};
use crate::kernel::{
    BatchKernels, PATTERN_SHIFT, PATTERN_SPREAD, PATTERN_STEP, pattern_positions, portable,
};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Ring, Window, run_stages};
use trommel_base::range::reduce;
use trommel_base::with_fetch;

pub(super) const KERNELS: BatchKernels =
    BatchKernels { contains: contains_batch, insert: insert_batch };

/// Keys of a group.
const GROUP: usize = 8;
/// Up to this size of a table, lookups take a line a register; beyond, the AVX2 loop is faster. ns per key
/// with AVX-512 and AVX2: 1.2 and 2.3 at 1.5 MB, 2.9 and 3.4 at 15 MB, 5.2 and 4.9 at 48 MB, 12.3 and
/// 11.2 at 1 GB.
const LOOKUPS_MAX_BYTES: usize = 32 << 20;

/// For each lane, where its field begins in a product.
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

/// One bit in each lane, from the product that holds a key's positions. Above a field stands more of the product: a
/// rotate takes its count modulo 64.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn mask(product: u64) -> __m512i {
    let fields = _mm512_srlv_epi64(_mm512_set1_epi64(product.cast_signed()), starts());
    _mm512_rolv_epi64(_mm512_set1_epi64(1), fields)
}

/// Lines and products of eight keys. The products are computed here, in one vector, and wait in a
/// ring, from which a load broadcasts each: 0.81 ns per key in L1, against 0.86 with one multiplication and one
/// broadcast from a register a key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn locate(
    hashes: &[u64; GROUP],
    units: __m512i,
    group: usize,
    (ring, products): (&mut Ring, &mut PatternRing),
) {
    let hashes = x86::load_8(hashes);
    let lines = x86::reduce_8(hashes, units);
    x86::store_places(ring.group_mut(group), _mm256_slli_epi32::<WORDS_SHIFT>(lines));
    let spread = _mm512_set1_epi64(PATTERN_SPREAD.cast_signed());
    products.store(group, _mm512_mul_epu32(hashes, spread));
}

/// # Safety
/// The table has the length that the geometry says.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    let line = reduce(hash, geometry.units) as usize;
    // SAFETY: the line is below `geometry.units`, and the caller promises that the table has that number of
    // lines; its 64 bytes are read, which needs no alignment.
    let line = unsafe { _mm512_loadu_si512(table.add(line * LINE_BYTES).cast()) };
    _mm512_testn_epi64_mask(line, mask(pattern_positions(hash))) == 0
}

/// # Safety
/// The table has the length that the geometry says.
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    if table.len() > LOOKUPS_MAX_BYTES {
        return avx2::contains_batch(geometry, table, hashes, found);
    }
    let window = Window::for_table(table.len());
    with_fetch!(window, F => {
        contains_pipelined::<F>(geometry, table, hashes, found, window);
    });
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_pipelined<F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    window: Window,
) {
    assert_eq!(table.len() as u64, geometry.units * LINE_BYTES as u64);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    let mut state = (Ring::default(), PatternRing::new(), AnswerBytes::new());
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut state,
        |(ring, products, _), group| {
            locate(&groups[group], units, group, (ring, products));
        },
        |(ring, _, _), group| ring.fetch::<GROUP, F>(group, table.as_ptr()),
        |(ring, products, answers), group| {
            answers.advance(group, found);
            let keys = products.group(group).iter().zip(ring.group::<GROUP>(group));
            for ((product, place), byte) in keys.zip(answers.group(group)) {
                // SAFETY: the offset is that of a line below `geometry.units`, as a product's high
                // half, and the table has that number of lines, as asserted above; its 64 bytes are read.
                let line =
                    unsafe { _mm512_loadu_si512(x86::word_at(table.as_ptr(), *place).cast()) };
                *byte = _mm512_test_epi64_mask(line, mask(*product));
            }
        },
    );
    let first = groups.len() * GROUP;
    state.2.finish(first, found);
    portable::contains_rest::<CacheLineBody>(geometry, table, rest, first, found);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => insert_pipelined::<F>(geometry, table, hashes, window));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_pipelined<F: Fetch>(
    geometry: Geometry,
    table: &mut [u8],
    hashes: &[u64],
    window: Window,
) {
    assert_eq!(table.len() as u64, geometry.units * LINE_BYTES as u64);
    let start = table.as_mut_ptr();
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut (Ring::default(), PatternRing::new()),
        |(ring, products), group| locate(&groups[group], units, group, (ring, products)),
        |(ring, _), group| ring.fetch::<GROUP, F>(group, start),
        |(ring, products), group| {
            // In the order of the keys, so that two keys of one line see each other's bits.
            for (product, place) in products.group(group).iter().zip(ring.group::<GROUP>(group)) {
                // SAFETY: as in `contains_pipelined`; 64 bytes are read and written.
                unsafe {
                    let line = x86::word_at_mut(start, *place).cast();
                    let union = _mm512_or_si512(_mm512_loadu_si512(line), mask(*product));
                    _mm512_storeu_si512(line, union);
                }
            }
        },
    );
    for hash in rest {
        portable::insert::<CacheLineBody>(geometry, table, *hash);
    }
}
