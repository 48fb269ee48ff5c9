//! Kernels over a table that several threads use at once: words of 64 bits, read and changed atomically.
//!
//! # Why relaxed is enough
//!
//! While a table is shared, bits are set and never cleared, and an answer depends only on bits.
//!
//! - *No bit is lost.* `fetch_or` reads and writes its word in one step, with any memory ordering. So if two inserts
//!   change one word, the insert that is later in the word's modification order keeps the bits of the earlier insert.
//! - *A lookup that comes after an insert finds the inserted key.* The join, lock, channel or flag that orders the
//!   insert and the lookup makes the insert happen before the lookup. A load, even a relaxed one, never reads a value
//!   of its word that is older than a write that happened before the load (coherence). The value that the insert wrote,
//!   and every later value, has the key's bits.
//! - *An insert can skip a bit that is set already.* A lookup that comes after the insert also comes after the insert's
//!   read of that bit, so the lookup reads the same value of the word or a later value (coherence again).
//! - *A lookup at the same time as an insert* can see some bits of a key and not others. The lookup then reports the
//!   key as absent, which is allowed because the lookup was not ordered after the insert. Unlike a pointer, a bit
//!   does not lead a lookup to other memory, and a lookup writes nothing that other threads read. So a lookup that sees
//!   a bit need not see what the inserting thread wrote before it.
//!
//! # Cost
//!
//! An atomic OR takes some twenty cycles and delays the loads after it. An ordinary load costs next to nothing and
//! leaves the cache line in the caches of other cores. So a word is read first, and changed only if it lacks a bit. If
//! the table is in cache, the atomic ORs are most of the cost of an insert. At 12 bits per key and 1.5 MB on a Cascade
//! Lake core, an insert takes 10 ns if a key's bits are in one word, 35 in four words, 50 in eight words, and 65 if its
//! eight bits can be anywhere in the table.
//!
//! Rejected: prefetching for writing, or with other hints and distances (no difference with one thread at 1.5 and 15
//! MB; with two threads, up to a quarter faster in cache-line blocks at 15 MB, and no difference elsewhere).

mod isa;

use super::SHORTEST_BATCH;
use super::mask::Mask;
use super::portable::{Body, GROUP, Group, locate};
use crate::geometry::Geometry;
use core::marker::PhantomData;
pub(super) use isa::{kernels, shared_kernels};
use trommel_base::KeyHash;
use trommel_base::batch::{BatchPipeline, Fetch, Ring, WORD_BYTES, Window, run_pipeline};
use trommel_base::sync::{AtomicU64, Ordering::Relaxed};
use trommel_base::with_fetch;

/// The functions of one layout for one instruction set over a shared table.
///
/// Code that calls these function pointers must ensure that the machine has the instruction set.
#[derive(Clone, Copy, Debug)]
pub struct SharedKernels {
    contains: unsafe fn(Geometry, &[AtomicU64], u64) -> bool,
    contains_batch: unsafe fn(Geometry, &[AtomicU64], &[u64], &mut [u64]),
    insert: unsafe fn(Geometry, &[AtomicU64], u64) -> bool,
    insert_batch: unsafe fn(Geometry, &[AtomicU64], &[u64]),
}

impl SharedKernels {
    #[inline(always)]
    pub(crate) fn contains(&self, geometry: Geometry, table: &[AtomicU64], hash: KeyHash) -> bool {
        // SAFETY: a shared filter has the instruction set of the filter that it was made from, which is available on
        // this machine.
        unsafe { (self.contains)(geometry, table, hash.raw()) }
    }

    /// Writes the answer for hash `i` to bit `i` of `found`. `found` must be zero, and have a bit for every hash.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        geometry: Geometry,
        table: &[AtomicU64],
        hashes: &[KeyHash],
        found: &mut [u64],
    ) {
        if hashes.len() < SHORTEST_BATCH {
            for (i, hash) in hashes.iter().enumerate() {
                found[0] |= u64::from(self.contains(geometry, table, *hash)) << i;
            }
            return;
        }
        // SAFETY: as in `contains`.
        unsafe { (self.contains_batch)(geometry, table, KeyHash::slice_as_raw(hashes), found) }
    }

    /// True if this insert set a bit. If several inserts set the same bit at once, only one counts as having set it.
    #[inline(always)]
    pub(crate) fn insert(&self, geometry: Geometry, table: &[AtomicU64], hash: KeyHash) -> bool {
        // SAFETY: as in `contains`.
        unsafe { (self.insert)(geometry, table, hash.raw()) }
    }

    #[inline]
    pub(crate) fn insert_batch(&self, geometry: Geometry, table: &[AtomicU64], hashes: &[KeyHash]) {
        // SAFETY: as in `contains`.
        unsafe { (self.insert_batch)(geometry, table, KeyHash::slice_as_raw(hashes)) }
    }
}

/// A layout's functions over atomic words, to be compiled for an instruction set.
pub(super) trait SharedBody {
    fn contains(geometry: Geometry, table: &[AtomicU64], hash: u64) -> bool;
    fn contains_batch(geometry: Geometry, table: &[AtomicU64], hashes: &[u64], found: &mut [u64]);
    fn insert(geometry: Geometry, table: &[AtomicU64], hash: u64) -> bool;
    fn insert_batch(geometry: Geometry, table: &[AtomicU64], hashes: &[u64]);
}

/// The value of a word of the table, whose bytes are little-endian.
#[inline(always)]
pub(super) fn load(word: &AtomicU64) -> u64 {
    u64::from_le(word.load(Relaxed))
}

/// Sets those of `bits` that a word lacks; true if this call set any.
#[inline(always)]
pub(super) fn set(word: &AtomicU64, bits: u64) -> bool {
    bits & !load(word) != 0 && bits & !u64::from_le(word.fetch_or(bits.to_le(), Relaxed)) != 0
}

/// Sets the bits that are set in another table of the same length. Takes one atomic OR for each word that lacks some of
/// these bits, however many keys set them in the other table.
pub(crate) fn unite(table: &[AtomicU64], other: &[u8]) {
    let (words, _) = other.as_chunks::<WORD_BYTES>();
    for (word, bits) in table.iter().zip(words) {
        set(word, u64::from_le_bytes(*bits));
    }
}

/// The address of a table, from which prefetch addresses are computed.
#[inline(always)]
pub(super) const fn address(table: &[AtomicU64]) -> *const u8 {
    table.as_ptr().cast()
}

/// The [`SharedBody`] of a blocked layout whose arithmetic is the [`Body`] `B`.
pub(super) struct Blocks<B>(PhantomData<B>);

#[inline(always)]
fn test_block(block: &[AtomicU64], mask: impl Mask) -> bool {
    let words = mask.words();
    let bits = words.as_ref();
    block.iter().zip(bits).fold(0, |missing, (word, bits)| missing | (bits & !load(word))) == 0
}

#[inline(always)]
fn set_block(block: &[AtomicU64], mask: impl Mask) -> bool {
    let words = mask.words();
    // No short circuit: every word gets its bits.
    block.iter().zip(words.as_ref()).fold(false, |changed, (word, bits)| changed | set(word, *bits))
}

impl<B: Body> Blocks<B> {
    const BLOCK_WORDS: usize = B::BLOCK_BYTES / WORD_BYTES;

    #[inline(always)]
    fn block(table: &[AtomicU64], first_word: usize) -> &[AtomicU64] {
        &table[first_word..first_word + Self::BLOCK_WORDS]
    }

    /// Takes the complete groups of a batch through the pipeline, and returns the other hashes.
    #[inline(always)]
    fn run<'a>(
        geometry: Geometry,
        table: &[AtomicU64],
        hashes: &'a [u64],
        operation: impl Operation,
    ) -> &'a [u64] {
        let window = Window::for_table(table.len() * WORD_BYTES);
        let (groups, rest) = hashes.as_chunks::<GROUP>();
        with_fetch!(window, F => {
            let (ring, layout) = (Ring::default(), PhantomData::<(B, F)>);
            let mut batch = Batch { geometry, table, groups, ring, operation, layout };
            run_pipeline::<GROUP>(hashes, groups.len(), window, &mut batch);
        });
        rest
    }
}

/// A batch in a blocked layout. `O` is what it does with the blocks of its keys.
struct Batch<'a, B, F, O> {
    geometry: Geometry,
    table: &'a [AtomicU64],
    groups: &'a [[u64; GROUP]],
    ring: Ring,
    operation: O,
    layout: PhantomData<(B, F)>,
}

impl<B: Body, F: Fetch, O: Operation> BatchPipeline for Batch<'_, B, F, O> {
    #[inline(always)]
    fn locate(&mut self, group: usize) {
        *self.ring.group_mut(group) = locate::<B>(self.geometry, &self.groups[group]);
    }

    #[inline(always)]
    fn fetch(&mut self, group: usize) {
        self.ring.fetch::<GROUP, F>(group, address(self.table));
    }

    #[inline(always)]
    fn probe(&mut self, group: usize) {
        let keys = Group { hashes: &self.groups[group], places: self.ring.group(group) };
        self.operation.run::<B>(self.geometry, self.table, group, keys);
    }
}

/// What a batch does with the keys of a group.
trait Operation {
    /// Looks up or inserts the keys of group number `group`.
    fn run<B: Body>(
        &mut self,
        geometry: Geometry,
        table: &[AtomicU64],
        group: usize,
        keys: Group<'_>,
    );
}

/// Lookups. The answer for key `i` of the batch is bit `i` of these words.
struct Lookups<'a>(&'a mut [u64]);

impl Operation for Lookups<'_> {
    #[inline(always)]
    fn run<B: Body>(
        &mut self,
        geometry: Geometry,
        table: &[AtomicU64],
        group: usize,
        keys: Group<'_>,
    ) {
        let mut answers = 0;
        for (i, (hash, first_word)) in keys.keys().enumerate() {
            let block = Blocks::<B>::block(table, *first_word as usize);
            answers |= u64::from(test_block(block, B::mask(geometry, *hash))) << i;
        }
        self.0[group / 8] |= answers << (8 * (group % 8));
    }
}

/// Inserts.
struct Inserts;

impl Operation for Inserts {
    #[inline(always)]
    fn run<B: Body>(&mut self, geometry: Geometry, table: &[AtomicU64], _: usize, keys: Group<'_>) {
        for (hash, first_word) in keys.keys() {
            let block = Blocks::<B>::block(table, *first_word as usize);
            set_block(block, B::mask(geometry, *hash));
        }
    }
}

impl<B: Body> SharedBody for Blocks<B> {
    #[inline(always)]
    fn contains(geometry: Geometry, table: &[AtomicU64], hash: u64) -> bool {
        let first_word = B::block(geometry, hash) as usize * Self::BLOCK_WORDS;
        test_block(Self::block(table, first_word), B::mask(geometry, hash))
    }

    #[inline(always)]
    fn contains_batch(geometry: Geometry, table: &[AtomicU64], hashes: &[u64], found: &mut [u64]) {
        let rest = Self::run(geometry, table, hashes, Lookups(found));
        for (i, hash) in (hashes.len() - rest.len()..).zip(rest) {
            found[i / 64] |= u64::from(Self::contains(geometry, table, *hash)) << (i % 64);
        }
    }

    #[inline(always)]
    fn insert(geometry: Geometry, table: &[AtomicU64], hash: u64) -> bool {
        let first_word = B::block(geometry, hash) as usize * Self::BLOCK_WORDS;
        set_block(Self::block(table, first_word), B::mask(geometry, hash))
    }

    #[inline(always)]
    fn insert_batch(geometry: Geometry, table: &[AtomicU64], hashes: &[u64]) {
        for hash in Self::run(geometry, table, hashes, Inserts) {
            Self::insert(geometry, table, *hash);
        }
    }
}
