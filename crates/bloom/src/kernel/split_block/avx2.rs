//! Split-block kernels with AVX2: the mask of a key is one multiply, one shift and one variable shift.

use super::{SALTS, SplitBlockBody, WORDS_SHIFT};
use crate::geometry::Geometry;
use crate::kernel::groups::run_groups;
use crate::kernel::portable::GROUP;
use crate::kernel::{BatchKernels, bytes_of, portable, x86};
use core::arch::x86_64::*;
use trommel_base::batch::Window;
use trommel_base::with_fetch;

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

/// Writes, for each of eight hashes, the index of its block's first 64-bit word.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn locate(hashes: &[u64; GROUP], units: __m256i, places: &mut [u32; GROUP]) {
    let half = |half| {
        let high = _mm256_srli_epi64::<32>(x86::load_4(hashes, half));
        _mm256_srli_epi64::<32>(_mm256_mul_epu32(high, units))
    };
    let blocks = x86::narrow_8(half(0), half(1));
    x86::store_places(places, _mm256_slli_epi32::<WORDS_SHIFT>(blocks));
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let units = _mm256_set1_epi64x(geometry.units.cast_signed());
    let found_bytes = bytes_of(found);
    let window = Window::for_table(table.len());
    with_fetch!(window, F => run_groups::<SplitBlockBody, F, _>(
        geometry,
        table,
        hashes,
        window,
        &mut (),
        |(), _, keys, places| locate(keys, units, places),
        |(), group, keys, places| {
            found_bytes[group] = x86::none_missing(core::array::from_fn(|i| {
                // SAFETY: the block's index is the high half of a product with `geometry.units`, so it is below
                // `units`, and the table has `units` blocks, as `run_groups` asserts. The 32 bytes of one block are
                // read.
                let block = unsafe {
                    let block = x86::word_at(table.as_ptr(), places[i]).cast::<__m256i>();
                    _mm256_loadu_si256(block)
                };
                _mm256_andnot_si256(block, mask(low_half(&keys[i])))
            }));
        },
    ));
    portable::contains_rest::<SplitBlockBody>(geometry, table, hashes, found);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let whole = &raw const *table;
    let start = table.as_mut_ptr();
    let units = _mm256_set1_epi64x(geometry.units.cast_signed());
    let window = Window::for_table(whole.len());
    with_fetch!(window, F => run_groups::<SplitBlockBody, F, _>(
        geometry,
        whole,
        hashes,
        window,
        &mut (),
        |(), _, keys, places| locate(keys, units, places),
        |(), _, keys, places| {
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
    ));
    portable::insert_rest::<SplitBlockBody>(geometry, table, hashes);
}
