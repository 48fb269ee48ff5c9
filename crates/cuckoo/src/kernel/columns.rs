//! Batches of lookups, computed in *columns* (arrays of sixty-four values): loops do each step of a lookup for
//! sixty-four keys before the next step.
//!
//! Lookups that branch on whether the fingerprint is in the primary bucket, or on whether the overflow flag of the
//! fingerprint's class is set (see `bucket`), mispredict these branches. In columns, both conditions are computed for
//! every key, and the compiler vectorises the loops for the instruction set. Buckets are read one by one, by ordinary
//! loads. Time in ns per key with loads / with gathers:
//!
//! | core | slots | 8 bits | 16 bits |
//! |---|---|---|---|
//! | Cascade Lake | 2^20 | 5.7 / 6.1 | 7.8 / 14.5 |
//! | Zen 4 | 2^20 | 2.2 / 3.0 | 3.8 / 6.1 |
//! | Zen 4 | 2^24 | 4.9 / 12.5 | 6.1 / 22 |
//!
//! On x86-64 and aarch64, portable lookups of fingerprints of 8 and 16 bits run `lookup/portable.rs` instead.
//!
//! In a table of up to twice the size of L2, both buckets of every key are read. In a larger table, every cache line
//! that is read takes time. So primary buckets are prefetched two chunks of 64 keys ahead, and alternates are
//! prefetched and read only for keys that are not in their primary bucket and can be in the alternate.
//!
//! Rejected, for tables in cache: a first pass that lists the keys whose alternates are needed, without a branch (by
//! `vpcompressd`, or AVX2 permutations from a table of constants), and a second pass that reads only these alternates,
//! in chunks of their own. This took 0.84 to 1.03 times as long with AVX-512, 0.87 to 1.14 times with AVX2, and 1.00 to
//! 1.10 times in portable code: not worth the second pass.

use super::Buckets;
use crate::geometry::Geometry;
use crate::table::{Entry, Table, bucket_at};
use crate::width::Width;
use trommel_base::batch::{Fetch, FetchT0, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;
use trommel_simd::bits_of;

/// The number of keys in a chunk. Their answers fill one word.
pub(super) const KEYS: usize = 64;
pub(super) type Column<T> = [T; KEYS];

/// The primary buckets and fingerprints of the keys of a chunk. The type of fingerprints is `F`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<F = u32> {
    pub(super) buckets: Column<u32>,
    pub(super) fingerprints: Column<F>,
}

impl<F: From<u8> + Copy> Chunk<F> {
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { buckets: [0; KEYS], fingerprints: [0.into(); KEYS] }
    }
}

impl Chunk {
    /// Computes the primary buckets and fingerprints of hashes.
    #[inline(always)]
    fn locate(&mut self, geometry: &Geometry, hashes: &[u64; KEYS]) {
        let fixed_points: Column<u64> = core::array::from_fn(|i| geometry.fixed_point(hashes[i]));
        self.buckets = core::array::from_fn(|i| (fixed_points[i] >> 32) as u32);
        self.fingerprints = core::array::from_fn(|i| geometry.fingerprint(fixed_points[i]));
    }

    /// For each key, 1 if the bucket that `words` has for the key holds the key's fingerprint, otherwise 0.
    #[inline(always)]
    fn found_in<W: Width>(&self, words: &Column<W::Word>) -> Column<u8> {
        core::array::from_fn(|i| W::has(words[i], self.fingerprints[i]).into())
    }

    /// For each key, 1 if the flag of the key's class is set in the bucket that `words` has for the key, otherwise 0.
    #[inline(always)]
    fn flagged_in<W: Width>(&self, words: &Column<W::Word>, least_set: u32) -> Column<u8> {
        core::array::from_fn(|i| {
            let [even, odd] = W::pair(words[i], self.fingerprints[i] & 1);
            (even >= odd.max(least_set)).into()
        })
    }

    /// The alternate buckets of the keys.
    #[inline(always)]
    fn alternates(&self, geometry: &Geometry) -> Column<u32> {
        // A separate loop, which the compiler vectorises in lanes of 16 bits.
        let offsets: Column<u16> =
            core::array::from_fn(|i| geometry.half_offset(self.fingerprints[i]));
        core::array::from_fn(|i| geometry.apart(self.buckets[i], offsets[i]))
    }
}

/// Reads buckets by one load each. Never inlined: in code for AVX-512, the compiler would turn the loads into a gather.
///
/// # Safety
/// The caller must ensure that all of `buckets` are buckets of the table, and that the table has the geometry's length.
#[inline(never)]
unsafe fn read<W: Width>(table: &[u8], buckets: &Column<u32>, words: &mut Column<W::Word>) {
    for (word, bucket) in words.iter_mut().zip(buckets) {
        let at = table.as_ptr().wrapping_add(bucket_at::<W>(*bucket));
        // SAFETY: the caller promises that the bucket is in the table. If the word is longer than the bucket, padding
        // follows the last bucket.
        *word = W::first(unsafe { at.cast::<W::Word>().read_unaligned() });
    }
}

/// How buckets are prefetched. Tables of up to twice the size of L2 are not prefetched, since the loads of a column
/// have many cache lines in flight anyway: with prefetches, lookups in tables of one to two times the size of L2 took 5
/// to 16 % longer.
#[inline(always)]
pub(super) fn window(table_bytes: usize) -> Window {
    Window::for_gathers(table_bytes / 2)
}

#[inline(always)]
pub(super) fn contains_batch<W: Width>(buckets: Buckets<'_>, hashes: &[u64], found: &mut [u64]) {
    let table = checked::<W>(buckets);
    let window = window(table.bytes.len());
    let (chunks, _) = hashes.as_chunks::<KEYS>();
    if window.hint.is_none() {
        in_cache(&table, chunks, found);
    } else {
        // SAFETY: the table comes from `checked`. `Loops` computes buckets of the table: a primary bucket is the number
        // of buckets times `hash / 2^64`, rounded down, hence below that number, and an alternate is computed modulo
        // that number.
        with_fetch!(window, F => unsafe {
            pipelined::<W, F, _>(&table, chunks, found, Loops { table: &table });
        });
    }
    contains_rest(&table, hashes, found);
}
/// Makes a table, and checks what the reads of its buckets rely on.
///
/// # Panics
/// If the table does not have the geometry's length, or `W` is not the geometry's width.
#[inline(always)]
pub(super) fn checked<W: Width>(buckets: Buckets<'_>) -> Table<W, &[u8]> {
    let Buckets { geometry, table, empty } = buckets;
    assert_eq!(table.len() as u64, geometry.table_bytes());
    assert_eq!(W::BITS, geometry.fingerprint_bits);
    Table::new(geometry, table, empty)
}

#[inline(always)]
fn in_cache<W: Width>(table: &Table<W, &[u8]>, chunks: &[[u64; KEYS]], found: &mut [u64]) {
    let mut keys = Chunk::none();
    let mut words = [W::word([0; 4]); KEYS];
    for (hashes, found) in chunks.iter().zip(found) {
        FetchT0::keys_behind(hashes);
        keys.locate(&table.geometry, hashes);
        // SAFETY: primary buckets are in the table. Its length is right, since the table comes from `checked`.
        unsafe { read::<W>(table.bytes, &keys.buckets, &mut words) };
        let here = keys.found_in::<W>(&words);
        let flagged = keys.flagged_in::<W>(&words, table.empty.least_set());
        // SAFETY: alternates are in the table too.
        unsafe { read::<W>(table.bytes, &keys.alternates(&table.geometry), &mut words) };
        let there = keys.found_in::<W>(&words);
        let held: Column<u8> = core::array::from_fn(|i| here[i] | flagged[i] & there[i]);
        *found = bits_of(&held);
    }
}

/// What [`pipelined`] does with a chunk of keys.
pub(super) trait Steps<W: Width>: Copy {
    type Fingerprint: From<u8> + Into<u32> + Copy;

    /// Computes the primary buckets and fingerprints of hashes.
    fn locate(&self, keys: &mut Chunk<Self::Fingerprint>, hashes: &[u64; KEYS]);
    /// Takes keys and the words of their primary buckets. Returns two words with a bit for each key: whether the
    /// primary bucket holds the key's fingerprint, and whether the flag of the key's class is set in it.
    fn compare(&self, keys: &Chunk<Self::Fingerprint>, words: &Column<W::Word>) -> [u64; 2];
    /// Computes the alternate buckets of keys.
    fn alternates(&self, keys: &Chunk<Self::Fingerprint>) -> Column<u32>;
}

/// The steps as loops over columns.
#[derive(Clone, Copy)]
struct Loops<'t, W> {
    table: &'t Table<W, &'t [u8]>,
}

impl<W: Width> Steps<W> for Loops<'_, W> {
    type Fingerprint = u32;

    #[inline(always)]
    fn locate(&self, keys: &mut Chunk, hashes: &[u64; KEYS]) {
        keys.locate(&self.table.geometry, hashes);
    }

    #[inline(always)]
    fn compare(&self, keys: &Chunk, words: &Column<W::Word>) -> [u64; 2] {
        let here = bits_of(&keys.found_in::<W>(words));
        [here, bits_of(&keys.flagged_in::<W>(words, self.table.empty.least_set()))]
    }

    #[inline(always)]
    fn alternates(&self, keys: &Chunk) -> Column<u32> {
        keys.alternates(&self.table.geometry)
    }
}

/// How many chunks ahead primary buckets are prefetched.
const AHEAD: usize = 2;
/// The number of chunks whose keys are kept: from the chunk whose primary buckets are computed in a step, to the chunk
/// whose alternates are read in this step.
const KEPT: usize = 4;

/// Looks up whole chunks in a table that is so large that buckets are prefetched.
///
/// # Safety
/// The caller must ensure that the table comes from [`checked`], and that `steps` compute buckets of the table.
#[inline(always)]
pub(super) unsafe fn pipelined<W: Width, F: Fetch, S: Steps<W>>(
    table: &Table<W, &[u8]>,
    chunks: &[[u64; KEYS]],
    found: &mut [u64],
    steps: S,
) {
    let fetch = |bucket: u32| {
        F::line(table.bytes.as_ptr().wrapping_add(bucket_at::<W>(bucket)));
    };
    let mut kept = [Chunk::none(); KEPT];
    let mut words = [W::word([0; 4]); KEYS];
    // The alternates of the chunk whose primary buckets were read last, and a bit for each of its keys, set if the
    // key's alternate is still to be read.
    let mut alternates: Column<u32> = [0; KEYS];
    let mut open = 0;
    for step in 0..chunks.len() + AHEAD + 1 {
        if let Some(hashes) = chunks.get(step) {
            let keys = &mut kept[step % KEPT];
            F::keys_behind(hashes);
            steps.locate(keys, hashes);
            keys.buckets.iter().for_each(|bucket| fetch(*bucket));
        }
        // Read the alternates that the previous step prefetched.
        if let Some(chunk) = step.checked_sub(AHEAD + 1) {
            let keys = &kept[chunk % KEPT];
            let there = ones(open).fold(0, |there, i| {
                let has = W::has(table.word(alternates[i]), keys.fingerprints[i].into());
                there | u64::from(has) << i
            });
            found[chunk] |= there;
            open = 0;
        }
        if let Some(chunk) = step.checked_sub(AHEAD).filter(|chunk| *chunk < chunks.len()) {
            let keys = &kept[chunk % KEPT];
            // SAFETY: the caller guarantees the length of the table, and that primary buckets are in the table.
            unsafe { read::<W>(table.bytes, &keys.buckets, &mut words) };
            let [here, flagged] = steps.compare(keys, &words);
            alternates = steps.alternates(keys);
            open = flagged & !here;
            found[chunk] = here;
            ones(open).for_each(|i| fetch(alternates[i]));
        }
    }
}

/// Looks up the last keys of a batch, which do not fill a chunk.
#[inline(always)]
pub(super) fn contains_rest<W: Width>(table: &Table<W, &[u8]>, hashes: &[u64], found: &mut [u64]) {
    let (chunks, rest) = hashes.as_chunks::<KEYS>();
    let first = chunks.len() * KEYS;
    for (i, hash) in rest.iter().enumerate() {
        let there = table.contains(Entry::of_hash(&table.geometry, *hash));
        found[first / 64] |= u64::from(there) << i;
    }
}
