//! Split-block with AVX2: the mask of a key is one multiply, one shift and one variable shift.

use super::{BLOCK_BYTES, SALTS, SplitBlockBody};
use crate::geometry::Geometry;
use crate::kernel::{Kernels, portable, x86};
use core::arch::x86_64::*;
use trommel_base::batch::{Fetch, Ring, Window, roll};
use trommel_base::range::reduce_high;
use trommel_base::with_fetch;

pub(super) const KERNELS: Kernels = Kernels { contains, contains_batch, insert, insert_batch };

/// Keys of a group.
const GROUP: usize = 8;

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn salts() -> __m256i {
    let salt = |i: usize| SALTS[i].cast_signed();
    _mm256_setr_epi32(salt(0), salt(1), salt(2), salt(3), salt(4), salt(5), salt(6), salt(7))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn mask(hash: u64) -> __m256i {
    let products = _mm256_mullo_epi32(_mm256_set1_epi32(hash as i32), salts());
    _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(products))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn load(block: &[u8; BLOCK_BYTES]) -> __m256i {
    // SAFETY: reads the 32 bytes of the array; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn store(block: &mut [u8; BLOCK_BYTES], value: __m256i) {
    // SAFETY: writes the 32 bytes of the array; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), value) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains(geometry: Geometry, table: &[u8], hash: u64) -> bool {
    let (blocks, _) = table.as_chunks::<BLOCK_BYTES>();
    let block = &blocks[reduce_high(hash, geometry.units as u32) as usize];
    _mm256_testc_si256(load(block), mask(hash)) == 1
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert(geometry: Geometry, table: &mut [u8], hash: u64) -> bool {
    let (blocks, _) = table.as_chunks_mut::<BLOCK_BYTES>();
    let block = &mut blocks[reduce_high(hash, geometry.units as u32) as usize];
    let (before, mask) = (load(block), mask(hash));
    store(block, _mm256_or_si256(before, mask));
    _mm256_testc_si256(before, mask) == 0
}

/// The blocks of eight hashes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn locate(hashes: &[u64; GROUP], units: __m256i, places: &mut [u32; GROUP]) {
    let half = |half| {
        let high = _mm256_srli_epi64::<32>(x86::load_4(hashes, half));
        _mm256_srli_epi64::<32>(_mm256_mul_epu32(high, units))
    };
    x86::store_places(places, x86::narrow_8(half(0), half(1)));
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => contains_rolling::<F>(geometry, table, hashes, found, window));
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn contains_rolling<F: Fetch>(
    geometry: Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    window: Window,
) {
    let (blocks, _) = table.as_chunks::<BLOCK_BYTES>();
    assert_eq!(blocks.len() as u64, geometry.units);
    let units = _mm256_set1_epi64x(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    let found_bytes = x86::bytes_of(found);
    roll::<GROUP, _>(
        groups.len(),
        window,
        &mut Ring::default(),
        |ring, first| locate(&groups[first / GROUP], units, ring.group_mut(first)),
        |ring, first| ring.fetch::<GROUP, F>(first, table.as_ptr(), BLOCK_BYTES),
        |ring, first| {
            let mut answers = 0;
            let keys = groups[first / GROUP].iter().zip(ring.group::<GROUP>(first));
            for (i, (hash, place)) in keys.enumerate() {
                // SAFETY: `place` is below `geometry.units`, as a product's high half, and that is
                // the number of blocks, as asserted above.
                let block = unsafe { blocks.get_unchecked(*place as usize) };
                answers |= _mm256_testc_si256(load(block), mask(*hash)) << i;
            }
            found_bytes[first / GROUP] = answers as u8;
        },
    );
    let first = groups.len() * GROUP;
    portable::contains_rest::<SplitBlockBody>(geometry, table, rest, first, found);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let window = Window::for_table(table.len());
    with_fetch!(window, F => insert_rolling::<F>(geometry, table, hashes, window));
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_rolling<F: Fetch>(geometry: Geometry, table: &mut [u8], hashes: &[u64], window: Window) {
    let start = table.as_ptr();
    let (blocks, _) = table.as_chunks_mut::<BLOCK_BYTES>();
    assert_eq!(blocks.len() as u64, geometry.units);
    let units = _mm256_set1_epi64x(geometry.units.cast_signed());
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    roll::<GROUP, _>(
        groups.len(),
        window,
        &mut Ring::default(),
        |ring, first| locate(&groups[first / GROUP], units, ring.group_mut(first)),
        |ring, first| ring.fetch::<GROUP, F>(first, start, BLOCK_BYTES),
        |ring, first| {
            // In the order of the keys, so that two keys of one block see each other's bits.
            for (hash, place) in groups[first / GROUP].iter().zip(ring.group::<GROUP>(first)) {
                // SAFETY: as in `contains_rolling`.
                let block = unsafe { blocks.get_unchecked_mut(*place as usize) };
                store(block, _mm256_or_si256(load(block), mask(*hash)));
            }
        },
    );
    for hash in rest {
        insert(geometry, table, *hash);
    }
}
