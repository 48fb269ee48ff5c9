//! Inserts into the standard filter with AVX-512.
//!
//! For sixteen keys at a time, vectors compute the index of the 32-bit half-word that each bit lies in, and the bit's
//! mask. Indices and masks wait in a ring until at least 64 more keys are located. Then the bits are set one by one:
//! an `or` instruction puts each mask into its half-word in memory.
//!
//! Short batches, and batches for tables of 2^32 bits or more and for tables between L2 and 1.5 times L2, run the AVX2
//! loop.

use super::avx512::{POWERS, SHORTEST_BATCH};
use super::{WORD_BITS, avx2, insert_body};
use crate::geometry::Geometry;
use crate::kernel::x86;
use core::arch::x86_64::*;
use core::array::from_fn;
use trommel_base::batch::{Fetch, LEAD_KEYS, Window, run_stages};
use trommel_base::sizing::MAX_HASHES;
use trommel_base::with_fetch;

/// The number of keys in a group. The keys of a group fill a vector of 32-bit lanes.
const GROUP: usize = 16;
/// The prefetch distance in keys. Each key has up to 32 cache lines, so even a short distance keeps many in flight.
const DISTANCE_KEYS: usize = 32;
/// The number of bits in a half-word.
const HALF_BITS: u32 = 32;

/// The bits of the groups that are located but not yet inserted. A group has one slot for each of the `k` bits that a
/// key sets. A slot has the half-word indices and the masks of this bit for the group's sixteen keys.
struct Ring {
    half_words: [[u32; GROUP]; Ring::SLOTS],
    masks: [[u32; GROUP]; Ring::SLOTS],
    /// The number of slots in use, minus one. The number of slots in use is the lowest power of two that suffices, so
    /// that filters with few hash functions use a small part of L1.
    last: usize,
}

impl Ring {
    const SLOTS: usize = 256;
    /// The largest number of groups that are located but not yet inserted.
    const GROUPS: usize = (LEAD_KEYS + DISTANCE_KEYS) / GROUP + 1;

    const FITS: () = assert!(Self::GROUPS * MAX_HASHES as usize <= Self::SLOTS);

    fn new(bits: usize) -> Self {
        const { Self::FITS };
        Self {
            half_words: [[0; GROUP]; Self::SLOTS],
            masks: [[0; GROUP]; Self::SLOTS],
            last: (Self::GROUPS * bits).next_power_of_two() - 1,
        }
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> usize {
        index & self.last & (Self::SLOTS - 1)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
    if geometry.units * WORD_BITS > u64::from(u32::MAX) || hashes.len() < SHORTEST_BATCH {
        return avx2::insert_batch(geometry, table, hashes);
    }
    let window = Window::for_gathers(table.len());
    let is_near_l2 = window.hint.is_some() && super::window(table.len()).hint.is_none();
    if is_near_l2 {
        // Times in ns per key on a Zen 4 core, in a table of 1.5 MB: 8.5 to 8.8 with the AVX2 loop, 9.6 to 12.1 with
        // the loop below, and 15.5 to 16.2 with the loop below without prefetch.
        return avx2::insert_batch(geometry, table, hashes);
    }
    let window = Window { distance_keys: DISTANCE_KEYS, ..window };
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
    assert_eq!(table.len() as u64, geometry.units * (WORD_BITS / 8));
    let table_bits = _mm512_set1_epi64((geometry.units * WORD_BITS).cast_signed());
    let start = table.as_mut_ptr().cast::<u32>();
    let count = geometry.hashes as usize;
    let (groups, rest) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut Ring::new(count),
        |ring, group| {
            let (halves, _) = groups[group].as_chunks::<8>();
            let hashes = from_fn(|half| x86::load_8(&halves[half]));
            for bit in 0..count {
                let positions = positions(hashes, bit, table_bits);
                let slot = ring.slot(group * count + bit);
                let half_words = _mm512_srli_epi32::<{ HALF_BITS.ilog2() }>(positions);
                store(&mut ring.half_words[slot], half_words);
                store(&mut ring.masks[slot], _mm512_rolv_epi32(_mm512_set1_epi32(1), positions));
            }
        },
        |ring, group| {
            for bit in 0..count {
                for half_word in ring.half_words[ring.slot(group * count + bit)] {
                    F::line(start.wrapping_add(half_word as usize).cast());
                }
            }
        },
        |ring, group| {
            for bit in 0..count {
                let slot = ring.slot(group * count + bit);
                for (half_word, mask) in ring.half_words[slot].iter().zip(&ring.masks[slot]) {
                    // SAFETY: `positions` returns positions below `table_bits`, which is the table's number of bits, as
                    // asserted above. The accesses need no alignment.
                    unsafe {
                        let at = start.add(*half_word as usize);
                        at.write_unaligned(at.read_unaligned() | mask);
                    }
                }
            }
        },
    );
    for hash in rest {
        insert_body(geometry, table, *hash);
    }
}

/// For each of sixteen keys, the position of the key's bit number `bit`. Each 64-bit lane of `bits` is the table's
/// number of bits, which must be below 2^32. The sum in each 64-bit lane has a position in its high half, so the odd
/// 32-bit lanes are selected.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn positions(hashes: [__m512i; 2], bit: usize, bits: __m512i) -> __m512i {
    let power = _mm512_set1_epi64(POWERS[bit].cast_signed());
    let [first, second] = core::array::from_fn(|half| {
        let x = _mm512_mullo_epi64(hashes[half], power);
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(x), bits);
        _mm512_add_epi64(high, _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, bits)))
    });
    let odd_lanes = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    _mm512_permutex2var_epi32(first, odd_lanes, second)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [u32; GROUP], lanes: __m512i) {
    // SAFETY: writes the 64 bytes of the array; the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), lanes) }
}
