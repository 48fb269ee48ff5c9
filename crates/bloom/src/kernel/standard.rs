//! Kernels of the standard layout: a key sets `k` bits anywhere in the table.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_insert;
pub(crate) mod bytes;
mod inserts;
mod passes;
#[cfg(target_has_atomic = "64")]
mod shared_bits;

use super::BatchKernels;
use super::single_key::single_key;
use crate::geometry::Geometry;
use inserts::BatchInserts;
use passes::SHORTEST_BATCH;
use trommel_base::batch::{Fetch, FetchT0, NoFetch, Window};
use trommel_base::range::reduce;
use trommel_base::with_fetch;
use trommel_simd::Isa;

/// The number of keys in a group.
const GROUP: usize = 8;
/// The number of bits in a unit, which is a word.
const WORD_BITS: u64 = 64;

/// The multiplier of the sequence `x_i` from which a key's bit positions are computed. For a hash `h` and a table of
/// `bits` bits, `x_0 = h`, `x_(i+1) = x_i · MULTIPLIER`, and position `i` is `x_i · bits >> 64`.
///
/// Rejected: double hashing (`x_i = h + i · step`). Double hashing has only two degrees of freedom, `h` and `step`. So
/// in a small table, all positions of one key can coincide with all positions of another key. The measured
/// false-positive rate was 9.4 times the predicted one with 100 keys at 24 bits per key and 17 hashes, and 1.12 times
/// with 1000 keys at 19 bits per key. With the multiplier, the measured rate of both tables is 1.00 times the predicted
/// one.
///
/// Source: Steele and Vigna, "Computationally easy, spectrally good multipliers for congruential
/// pseudorandom number generators" (2022), table for 64 bits.
const MULTIPLIER: u64 = 0xF135_7AEA_2E62_A9C5;

/// The bit positions of a hash.
#[inline(always)]
pub(crate) fn positions(geometry: Geometry, hash: u64) -> impl Iterator<Item = u64> {
    positions_below(geometry.units * WORD_BITS, geometry.hashes, hash)
}

/// The bit positions of a hash in a table of `bits` bits.
#[inline(always)]
fn positions_below(bits: u64, count: u32, hash: u64) -> impl Iterator<Item = u64> {
    let mut x = hash;
    (0..count).map(move |_| {
        let position = reduce(x, bits);
        x = x.wrapping_mul(MULTIPLIER);
        position
    })
}

/// A number whose lowest bit is the table's bit at a position. Bit `p` of a little-endian word is bit `p % 8` of byte
/// `p / 8`.
#[inline(always)]
fn bit(table: &[u8], position: u64) -> u64 {
    u64::from(table[(position / 8) as usize] >> (position % 8))
}

/// Sets a bit; true if it was clear.
#[inline(always)]
fn set_bit(table: &mut [u8], position: u64) -> bool {
    let byte = &mut table[(position / 8) as usize];
    let before = *byte;
    *byte |= 1 << (position % 8);
    before != *byte
}

/// Sets the bit at a position of the table. `word` must be the word of the table that has this bit.
#[inline(always)]
fn set_in_word(word: &mut [u8; 8], position: u64) {
    *word = (u64::from_le_bytes(*word) | 1 << (position % WORD_BITS)).to_le_bytes();
}

/// Clears a bit.
#[inline(always)]
pub(crate) fn clear_bit(table: &mut [u8], position: u64) {
    table[(position / 8) as usize] &= !(1 << (position % 8));
}

/// The number of bits that a lookup of one key tests before it branches. If the lookup branched after every bit, each
/// absent key would cost a mispredicted branch, since in a full filter each bit that the lookup tests is set about half
/// of the time. Three bits of an absent key are rarely all set, and the lookup waits for their three cache lines at the
/// same time.
const BITS_A_BRANCH: u32 = 3;
/// In tables of more bits than this (1 MiB, the size of many L2 caches), the first branch comes after two bits: a third
/// cache line for every key costs more than the branch. Times in ns per absent key on a Zen 4 core:
///
/// | branches after bits | table of 12.5 MB | table of 125 KB |
/// |---|---:|---:|
/// | 1, 2, 3, … | 43 | 12 |
/// | 2, 4, 6, … | 39 | 6.0 |
/// | 3, 6, 9, … (used up to this size) | 39 | 4.0 |
/// | 4, 8, 12, … | 42 | 3.6 |
/// | 2, 5, 8, … (used above this size) | 36 | 5.4 |
/// | only the last | 62 | 4.5 |
const BITS_IN_CACHE: u64 = 8 << 20;

/// Looks one key up. `bit` returns a number whose lowest bit is the table's bit at a position.
#[inline(always)]
fn contains_bits(geometry: Geometry, hash: u64, bit: impl Fn(u64) -> u64) -> bool {
    let bits = geometry.units * WORD_BITS;
    let next = |x: u64| x.wrapping_mul(MULTIPLIER);
    let mut x = hash;
    let mut left = geometry.hashes;
    // `&` of numbers instead of `&&` of conditions, so that the compiler makes no branches.
    if bits > BITS_IN_CACHE && left > 2 {
        let second = next(x);
        if bit(reduce(x, bits)) & bit(reduce(second, bits)) & 1 == 0 {
            return false;
        }
        x = next(second);
        left -= 2;
    }
    while left >= BITS_A_BRANCH {
        let second = next(x);
        let third = next(second);
        let all = bit(reduce(x, bits)) & bit(reduce(second, bits)) & bit(reduce(third, bits));
        if all & 1 == 0 {
            return false;
        }
        x = next(third);
        left -= BITS_A_BRANCH;
    }
    let mut all = 1;
    for _ in 0..left {
        all &= bit(reduce(x, bits));
        x = next(x);
    }
    all & 1 == 1
}

#[inline(always)]
fn contains_body(geometry: Geometry, table: &[u8], hash: u64) -> bool {
    contains_bits(geometry, hash, |position| bit(table, position))
}

#[inline(always)]
fn insert_body(geometry: Geometry, table: &mut [u8], hash: u64) -> bool {
    // No short circuit: every bit is set.
    positions(geometry, hash).fold(false, |changed, position| changed | set_bit(table, position))
}

#[inline(always)]
fn fetch_bits<F: Fetch>(table: *const u8, geometry: Geometry, hash: u64, count: usize) {
    for position in positions(geometry, hash).take(count) {
        F::line(table.wrapping_add((position / 8) as usize));
    }
}

/// Prefetches the cache lines of the first [`BITS_A_BRANCH`] bits: most lookups of absent keys read no further cache
/// lines.
#[inline(always)]
pub(crate) fn prefetch(geometry: Geometry, table: *const u8, hash: u64) {
    fetch_bits::<FetchT0>(table, geometry, hash, BITS_A_BRANCH as usize);
}

/// The window for a table of `bytes`. In a table of up to 1.5 times L2 there is no prefetch, since even without it, the
/// cache lines of all bits of a few keys are in flight together (`docs/decisions/0087-standard-filters-near-l2.md`).
fn window(bytes: usize) -> Window {
    Window::for_gathers(bytes / 3 * 2)
}

/// Looks many keys up. `bit` returns a number whose lowest bit is the table's bit at a position.
#[inline(always)]
fn contains_batch_bits(
    geometry: Geometry,
    start: *const u8,
    hashes: &[u64],
    found: &mut [u64],
    bit: impl Fn(u64) -> u64,
) {
    let bytes = geometry.units as usize * (WORD_BITS / 8) as usize;
    if hashes.len() < SHORTEST_BATCH {
        return contains_rest(geometry, hashes, 0, found, bit);
    }
    let window = window(bytes);
    let table = passes::Table { geometry, start, bit };
    if window.hint.is_none() {
        return table.contains::<NoFetch, true>(hashes, found, window);
    }
    with_fetch!(window, F => table.contains::<F, false>(hashes, found, window));
}

/// Looks up the keys `rest` of a batch, one at a time. The first of them has index `first` in the batch.
#[inline(always)]
fn contains_rest(
    geometry: Geometry,
    rest: &[u64],
    first: usize,
    found: &mut [u64],
    bit: impl Fn(u64) -> u64,
) {
    for (i, hash) in (first..).zip(rest) {
        found[i / 64] |= u64::from(contains_bits(geometry, *hash, &bit)) << (i % 64);
    }
}

#[inline(always)]
fn contains_batch_body(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
    let (words, _) = table.as_chunks();
    contains_batch_bits(geometry, table.as_ptr(), hashes, found, |position| {
        u64::from_le_bytes(words[(position / WORD_BITS) as usize]) >> (position % WORD_BITS)
    });
}

#[inline(always)]
fn insert_batch_body(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    let (start, bytes) = (table.as_ptr(), table.len());
    let (words, _) = table.as_chunks_mut();
    let set = |position: u64| {
        set_in_word(&mut words[(position / WORD_BITS) as usize], position);
    };
    BatchInserts { geometry, start, bytes, set }.insert(hashes);
}

#[derive(Clone, Copy, Debug)]
pub struct StandardBody;

single_key! { StandardBody:
    Avx2 => avx2,
    _ => portable_contains, portable_insert
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says.
unsafe fn portable_contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    let bytes = geometry.units as usize * (WORD_BITS / 8) as usize;
    // SAFETY: the caller promises that the table has this length.
    let table = unsafe { core::slice::from_raw_parts(table, bytes) };
    contains_body(geometry, table, hash)
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
unsafe fn portable_insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    let bytes = geometry.units as usize * (WORD_BITS / 8) as usize;
    // SAFETY: the caller promises that the table has this length and is not borrowed elsewhere.
    let table = unsafe { core::slice::from_raw_parts_mut(table, bytes) };
    insert_body(geometry, table, hash)
}

// Never inlined, so that the kernels are compiled with this crate, and not again with each crate that uses it.
#[inline(never)]
pub(crate) fn batch_kernels(isa: Isa) -> BatchKernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Gather => BatchKernels {
            contains: avx512::contains_batch::<true>,
            insert: avx512_insert::insert_batch,
        },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Core | Isa::Avx512 => BatchKernels {
            contains: avx512::contains_batch::<false>,
            insert: avx512_insert::insert_batch,
        },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::KERNELS,
        _ => BatchKernels {
            contains: |geometry, table, hashes, found| {
                contains_batch_body(geometry, table, hashes, found);
            },
            insert: |geometry, table, hashes| insert_batch_body(geometry, table, hashes),
        },
    }
}

#[cfg(target_has_atomic = "64")]
super::shared::shared_kernels!(shared_bits::SharedBits);
