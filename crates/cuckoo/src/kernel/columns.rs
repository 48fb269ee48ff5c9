//! Lookups of a batch in columns: each step for sixty-four keys before the next, over arrays.
//!
//! A lookup key by key mispredicts: whether the fingerprint is in the primary bucket, and whether the flag
//! of its class is set, nobody can foresee. Here both are computed for every key, and the loops over the
//! arrays are vectorised for whatever they are compiled for. Buckets are read one by one, by ordinary
//! loads: on a Cascade Lake core a key in 2^20 slots takes 5.7 ns so and 6.1 by gathers with 8 bits, 7.8
//! and 14.5 with 16; on a Zen 4 core 2.2 and 3.0, 3.8 and 6.1, in 2^24 slots 4.9 and 12.5, 6.1 and 22.
//!
//! Where the table is in cache, both buckets of every key are read. Elsewhere every line costs: primary buckets
//! are prefetched a few chunks ahead, and alternates only of the keys that need them.
//!
//! To read alternates in cache only of the keys that need them, listed without a branch (`vpcompressd`, or AVX2
//! permutations from a table) and looked up as chunks, took 0.84 to 1.03 of the time with AVX-512, 0.87 to 1.14 with
//! AVX2, and 1.00 to 1.10 of it in portable code: not worth a second pass.

use super::Buckets;
use crate::geometry::Geometry;
use crate::table::{Entry, Table};
use crate::width::Width;
use trommel_base::batch::{Fetch, FetchT0, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;
use trommel_simd::bits_of;

/// Keys of a chunk: a word of answers.
const KEYS: usize = 64;
type Column<T> = [T; KEYS];

/// The keys of a chunk on their way.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    places: Column<u32>,
    fingerprints: Column<u32>,
}

impl Chunk {
    const NONE: Self = Self { places: [0; KEYS], fingerprints: [0; KEYS] };

    /// Primary buckets and fingerprints.
    #[inline(always)]
    fn locate(&mut self, geometry: &Geometry, hashes: &[u64; KEYS]) {
        let fixed_points: Column<u64> = core::array::from_fn(|i| geometry.fixed_point(hashes[i]));
        self.places = fixed_points.map(|fixed_point| (fixed_point >> 32) as u32);
        self.fingerprints = fixed_points.map(|fixed_point| geometry.fingerprint(fixed_point));
    }

    /// Which keys are in these buckets, a byte each.
    #[inline(always)]
    fn found_in<W: Width>(&self, words: &Column<W::Word>) -> Column<u8> {
        core::array::from_fn(|i| W::has(words[i], self.fingerprints[i]).into())
    }

    /// In which of these buckets the flag of the key's class is set.
    #[inline(always)]
    fn flagged_in<W: Width>(&self, words: &Column<W::Word>, least_set: u32) -> Column<u8> {
        core::array::from_fn(|i| {
            let [even, odd] = W::pair(words[i], self.fingerprints[i] & 1);
            (even >= odd.max(least_set)).into()
        })
    }

    /// The other buckets.
    #[inline(always)]
    fn alternates(&self, geometry: &Geometry) -> Column<u32> {
        // A loop of its own, in lanes of 16 bits.
        let offsets: Column<u16> =
            core::array::from_fn(|i| geometry.half_offset(self.fingerprints[i]));
        core::array::from_fn(|i| geometry.apart(self.places[i], offsets[i]))
    }
}

/// Reads buckets. Never inlined: compiled for AVX-512 it would become a gather.
///
/// # Safety
/// The places are buckets of the table, and the table has the geometry's length.
#[inline(never)]
unsafe fn read<W: Width>(table: &[u8], places: &Column<u32>, words: &mut Column<W::Word>) {
    for (word, place) in words.iter_mut().zip(places) {
        let at = table.as_ptr().wrapping_add(Table::<W, &[u8]>::at(*place));
        // SAFETY: the caller's; and where a word goes on beyond its bucket, the last is followed by
        // padding.
        *word = W::first(unsafe { at.cast::<W::Word>().read_unaligned() });
    }
}

#[inline(always)]
pub(super) fn contains_batch<W: Width>(buckets: Buckets<'_>, hashes: &[u64], found: &mut [u64]) {
    let Buckets { geometry, table, empty } = buckets;
    // What `read` rests on, beside that primary buckets, high halves of products, and alternates are below
    // the number of buckets.
    assert_eq!(table.len() as u64, geometry.table_bytes());
    assert_eq!(W::BITS, geometry.fingerprint_bits);
    let table = Table::<W, _>::new(geometry, table, empty);
    // By half of its bytes, since many lines are in flight in a column anyway: prefetched between one L2 and two,
    // lookups took 5 to 16 % longer.
    let window = Window::for_gathers(table.bytes.len() / 2);
    let (chunks, rest) = hashes.as_chunks::<KEYS>();
    if window.hint.is_none() {
        in_cache(&table, chunks, found);
    } else {
        with_fetch!(window, F => pipelined::<W, F>(&table, chunks, found));
    }
    let first = hashes.len() - rest.len();
    for (i, hash) in rest.iter().enumerate() {
        let there = table.contains(Entry::of_hash(geometry, *hash));
        found[first / 64] |= u64::from(there) << i;
    }
}

#[inline(always)]
fn in_cache<W: Width>(table: &Table<'_, W, &[u8]>, chunks: &[[u64; KEYS]], found: &mut [u64]) {
    let mut keys = Chunk::NONE;
    let mut words = [W::word([0; 4]); KEYS];
    for (hashes, found) in chunks.iter().zip(found) {
        FetchT0::keys_behind(hashes);
        keys.locate(table.geometry, hashes);
        // SAFETY: these are primary buckets; the table's length was checked by `contains_batch`.
        unsafe { read::<W>(table.bytes, &keys.places, &mut words) };
        let here = keys.found_in::<W>(&words);
        let flagged = keys.flagged_in::<W>(&words, table.empty.least_set());
        // SAFETY: as above, of alternates.
        unsafe { read::<W>(table.bytes, &keys.alternates(table.geometry), &mut words) };
        let there = keys.found_in::<W>(&words);
        let held: Column<u8> = core::array::from_fn(|i| here[i] | flagged[i] & there[i]);
        *found = bits_of(&held);
    }
}

/// Chunks between prefetching primary buckets and reading them.
const AHEAD: usize = 2;
/// Chunks whose keys are kept: one more than are on their way.
const KEPT: usize = 4;

#[inline(always)]
fn pipelined<W: Width, F: Fetch>(
    table: &Table<'_, W, &[u8]>,
    chunks: &[[u64; KEYS]],
    found: &mut [u64],
) {
    let fetch = |place: u32| {
        F::line(table.bytes.as_ptr().wrapping_add(Table::<W, &[u8]>::at(place)));
    };
    let mut kept = [Chunk::NONE; KEPT];
    let mut words = [W::word([0; 4]); KEYS];
    let mut elsewhere: Column<u32> = [0; KEYS];
    let mut open = 0;
    for step in 0..chunks.len() + AHEAD + 1 {
        if let Some(hashes) = chunks.get(step) {
            let keys = &mut kept[step % KEPT];
            F::keys_behind(hashes);
            keys.locate(table.geometry, hashes);
            keys.places.iter().for_each(|place| fetch(*place));
        }
        // The alternates of the chunk before, prefetched in the last step.
        if let Some(chunk) = step.checked_sub(AHEAD + 1) {
            let keys = &kept[chunk % KEPT];
            let there = ones(open).fold(0, |there, i| {
                let has = W::has(table.word(elsewhere[i]), keys.fingerprints[i]);
                there | u64::from(has) << i
            });
            found[chunk] |= there;
            open = 0;
        }
        if let Some(chunk) = step.checked_sub(AHEAD).filter(|chunk| *chunk < chunks.len()) {
            let keys = &kept[chunk % KEPT];
            // SAFETY: as in `in_cache`.
            unsafe { read::<W>(table.bytes, &keys.places, &mut words) };
            let here = bits_of(&keys.found_in::<W>(&words));
            let flagged = bits_of(&keys.flagged_in::<W>(&words, table.empty.least_set()));
            elsewhere = keys.alternates(table.geometry);
            open = flagged & !here;
            found[chunk] = here;
            ones(open).for_each(|i| fetch(elsewhere[i]));
        }
    }
}
