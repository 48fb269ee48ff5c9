//! The data of the eviction kernels (the primary buckets and fingerprints of keys, and the queue of the keys whose two
//! buckets are full), and the two operations of a kernel.

use super::lane_group::LaneGroup;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
use super::lane_group::{LANES, Lanes};
use super::parts::Parts;
use crate::table::Entry;
use crate::width::Width;

/// The number of keys that are *located* at a time, which means that their primary buckets and fingerprints are
/// computed. In large tables, these buckets are prefetched together.
pub(crate) const LOCATED_KEYS: usize = 256;

/// The primary buckets and fingerprints of keys.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Located {
    pub(crate) buckets: [u32; LOCATED_KEYS],
    pub(crate) fingerprints: [u32; LOCATED_KEYS],
}

impl Located {
    pub(crate) const NOWHERE: Self =
        Self { buckets: [0; LOCATED_KEYS], fingerprints: [0; LOCATED_KEYS] };

    /// Buckets and fingerprints of the sixteen keys from `first` on.
    #[cfg(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    ))]
    #[inline(always)]
    pub(crate) fn lanes(&self, first: usize) -> (&Lanes, &Lanes) {
        let (buckets, _) = self.buckets.as_chunks();
        let (fingerprints, _) = self.fingerprints.as_chunks();
        (&buckets[first / LANES], &fingerprints[first / LANES])
    }

    #[inline(always)]
    pub(crate) fn key(&self, index: usize) -> Entry {
        Entry { bucket: self.buckets[index], fingerprint: self.fingerprints[index] }
    }

    /// A bit for each of the `len` keys from `first` on, set if the key equals an earlier one of these keys.
    #[inline(always)]
    pub(crate) fn repeated(&self, first: usize, len: usize) -> u32 {
        (0..len)
            .filter(|lane| (0..*lane).any(|i| self.key(first + i) == self.key(first + lane)))
            .fold(0, |repeated, lane| repeated | 1 << lane)
    }
}

/// The located keys whose two buckets are full, in the order of the batch. An entry has the primary bucket of its key,
/// where the key's chain starts.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    keys: [Entry; LOCATED_KEYS],
    /// The index of each of `keys` among the located keys.
    indices: [u16; LOCATED_KEYS],
    next: usize,
    end: usize,
}

impl Queue {
    pub(crate) const EMPTY: Self = Self {
        keys: [Entry { bucket: 0, fingerprint: 0 }; LOCATED_KEYS],
        indices: [0; LOCATED_KEYS],
        next: 0,
        end: 0,
    };

    #[inline(always)]
    fn push(&mut self, key: Entry, index: usize) {
        self.keys[self.end % LOCATED_KEYS] = key;
        self.indices[self.end % LOCATED_KEYS] = index as u16;
        self.end += 1;
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let key = self.waiting().first().copied();
        self.next += usize::from(key.is_some());
        key
    }

    #[inline(always)]
    pub(crate) fn waiting(&self) -> &[Entry] {
        &self.keys[self.next..self.end]
    }

    /// Removes the first key of [`Self::waiting`], which must not be empty.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// Whether no key was queued since the last [`Self::clear`].
    #[inline(always)]
    pub(crate) fn is_unused(&self) -> bool {
        self.end == 0
    }

    /// The indices of the keys that wait.
    pub(crate) fn waiting_indices(&self) -> &[u16] {
        &self.indices[self.next..self.end]
    }

    /// Whether an equal key waits already. A lookup in the table does not find a key that waits, so a set compares each
    /// key with the waiting keys before it queues the key. To place keys, no comparison is needed: both buckets of a
    /// waiting key stay full, so a second copy of the key finds no room.
    #[inline(always)]
    fn contains(&self, key: Entry) -> bool {
        self.waiting().iter().fold(false, |found, other| found | (*other == key))
    }

    pub(crate) fn clear(&mut self) {
        (self.next, self.end) = (0, 0);
    }
}

/// The two operations of a batch on sixteen lanes, with SIMD instructions or lane by lane.
pub(crate) trait EvictionKernel<W: Width>: Copy {
    /// Creates the kernel. The caller must ensure that `parts.empty` does not change while the kernel is in use.
    fn new(parts: &Parts<'_>) -> Self;

    /// Takes the sixteen keys from `first` on: places each key that has room in one of its buckets, and queues the
    /// others. A set skips keys that it holds already or that are queued already. Returns a bit per key, set if the key
    /// was placed or queued.
    fn place(&self, parts: &mut Parts<'_>, keys: &Located, first: usize, queue: &mut Queue) -> u32;

    /// Advances the chains of a group by a step. A chain that conflicts with an earlier chain waits for the next step.
    /// If a chain ends, its lane takes a key of `queue`, if there is one. Does nothing if there is no scratch memory.
    fn step(&self, parts: &mut Parts<'_>, group: &mut LaneGroup, queue: &mut Queue);
}

impl Parts<'_> {
    /// Queues a key whose buckets are full. Returns false if the filter is a set and the key is queued already.
    #[inline(always)]
    pub(crate) fn enqueue(&self, queue: &mut Queue, key: Entry, index: usize) -> bool {
        let new = self.multiset || !queue.contains(key);
        if new {
            queue.push(key, index);
        }
        new
    }
}
