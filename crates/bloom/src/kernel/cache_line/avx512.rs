//! Cache-line blocks with AVX-512: a line is one register, a key's mask one multishift and one rotate.

use super::{CacheLineBody, LINE_BYTES};
use crate::geometry::Geometry;
use crate::kernel::x86::{self, AnswerBytes};
use crate::kernel::{Kernels, PATTERN_SHIFT, PATTERN_STEP, pattern_positions, portable};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Ring, Window, roll};
use trommel_base::range::reduce;
use trommel_base::with_fetch;

pub(super) const KERNELS: Kernels = Kernels { contains, contains_batch, insert, insert_batch };

/// Keys of a group.
const GROUP: usize = 8;

/// One bit in each lane: the lane's field rotated down, and a one rotated up by it, modulo 64.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn mask(hash: u64) -> __m512i {
    let shift = |lane: u32| i64::from(PATTERN_SHIFT + PATTERN_STEP * lane);
    let shifts = _mm512_setr_epi64(
        shift(0),
        shift(1),
        shift(2),
        shift(3),
        shift(4),
        shift(5),
        shift(6),
        shift(7),
    );
    let positions = _mm512_set1_epi64(pattern_positions(hash).cast_signed());
    _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_rorv_epi64(positions, shifts))
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn load(line: &[u8; LINE_BYTES]) -> __m512i {
    // SAFETY: reads the 64 bytes of the array; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn store(line: &mut [u8; LINE_BYTES], value: __m512i) {
    // SAFETY: writes the 64 bytes of the array; the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), value) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains(geometry: Geometry, table: &[u8], hash: u64) -> bool {
    let (lines, _) = table.as_chunks::<LINE_BYTES>();
    let line = load(&lines[reduce(hash, geometry.units) as usize]);
    _mm512_test_epi64_mask(line, mask(hash)) == 0xFF
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn insert(geometry: Geometry, table: &mut [u8], hash: u64) -> bool {
    let (lines, _) = table.as_chunks_mut::<LINE_BYTES>();
    let line = &mut lines[reduce(hash, geometry.units) as usize];
    let (before, mask) = (load(line), mask(hash));
    store(line, _mm512_or_si512(before, mask));
    _mm512_test_epi64_mask(before, mask) != 0xFF
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => contains_rolling::<F>(geometry, table, hashes, found, window));
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn contains_rolling<F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    window: Window,
) {
    let (lines, _) = table.as_chunks::<LINE_BYTES>();
    assert_eq!(lines.len() as u64, geometry.units);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    let mut state = (Ring::default(), AnswerBytes::new());
    roll::<GROUP, _>(
        groups.len(),
        window,
        &mut state,
        |(ring, _), first| {
            let places = x86::reduce_8(x86::load_8(&groups[first / GROUP]), units);
            x86::store_places(ring.group_mut(first), places);
        },
        |(ring, _), first| ring.fetch::<GROUP, F>(first, table.as_ptr(), LINE_BYTES),
        |(ring, answers), first| {
            answers.advance(first, found);
            let keys = groups[first / GROUP].iter().zip(ring.group::<GROUP>(first));
            for ((hash, place), byte) in keys.zip(answers.group(first)) {
                // SAFETY: `place` is below `geometry.units`, as a product's high half, and that is
                // the number of lines, as asserted above.
                let line = unsafe { lines.get_unchecked(*place as usize) };
                *byte = _mm512_test_epi64_mask(load(line), mask(*hash));
            }
        },
    );
    let first = groups.len() * GROUP;
    state.1.finish(first, found);
    portable::contains_rest::<CacheLineBody>(geometry, table, rest, first, found);
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => insert_rolling::<F>(geometry, table, hashes, window));
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx2,bmi1,bmi2,popcnt,lzcnt"
)]
fn insert_rolling<F: Fetch>(geometry: Geometry, table: &mut [u8], hashes: &[u64], window: Window) {
    let start = table.as_ptr();
    let (lines, _) = table.as_chunks_mut::<LINE_BYTES>();
    assert_eq!(lines.len() as u64, geometry.units);
    let units = _mm512_set1_epi64(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    roll::<GROUP, _>(
        groups.len(),
        window,
        &mut Ring::default(),
        |ring, first| {
            let places = x86::reduce_8(x86::load_8(&groups[first / GROUP]), units);
            x86::store_places(ring.group_mut(first), places);
        },
        |ring, first| ring.fetch::<GROUP, F>(first, start, LINE_BYTES),
        |ring, first| {
            // In the order of the keys, so that two keys of one line see each other's bits.
            for (hash, place) in groups[first / GROUP].iter().zip(ring.group::<GROUP>(first)) {
                // SAFETY: as in `contains_rolling`.
                let line = unsafe { lines.get_unchecked_mut(*place as usize) };
                store(line, _mm512_or_si512(load(line), mask(*hash)));
            }
        },
    );
    for hash in rest {
        insert(geometry, table, *hash);
    }
}
