//! Windowed eviction: eviction chains that stay within a stretch of the table that one thread owns.
//!
//! Bulk builds use windowed eviction for keys that found one of their two buckets full. While a build fills its *units*
//! (stretches of the table, see `build`), the full bucket is the primary one; in later windows, it can be either. Each
//! key starts a chain in that full bucket. If the key's other bucket has room, the key goes there. Otherwise, if one of
//! the four fingerprints in the full bucket has room in its other bucket, that fingerprint moves there, and the key
//! takes the slot. Otherwise the key takes the slot of one of the four, and the chain goes on in the same way with the
//! evicted fingerprint in its other bucket. As in `batch`, sixteen chains make a step together, and all plan the step
//! on the state of the table before it.
//!
//! The stretch is called the *window*, and buckets outside of it count as full. If a step would lead a chain out of
//! the window, the chain stays where it is, and its next step tries another slot. A chain that has not ended after
//! `max_steps` steps is given up. Its fingerprint is left to a later window of the build or, if the window is the whole
//! table, to a single insert.
//!
//! In a unit of a build, the list of keys is nearly in the order of their buckets. Keys are taken from many positions
//! of the list in alternation, so the table fills evenly. If keys were taken from one end of the list to the other,
//! each stretch of the table would push its surplus on to the next stretch, and the last stretch would have no room for
//! this surplus.

use super::lane_group::{LANES, LaneGroup, ones};
use super::scalar_lanes::ScalarLanes;
use crate::bucket;
use crate::geometry::Geometry;
use crate::table::{Entry, Table, bucket_at};
use crate::width::Width;
use alloc::vec::Vec;
use trommel_base::batch::Hint;

/// The number of groups of chains. The steps of the groups are interleaved.
const LANE_GROUPS: usize = 4;
/// The number of positions of the list from which keys are taken in alternation. With 64 positions, keys of one bucket
/// follow each other so soon that chains of a group often wait for each other.
const STREAMS: usize = 512;
/// The list is prefetched this number of keys ahead of each of its [`STREAMS`] positions. Eight keys fill a cache line.
const AHEAD_KEYS: usize = 8;

/// A stretch of the table that chains do not leave. The build has removed no key from this stretch, so an empty pair of
/// slots encodes a clear overflow flag (see `bucket`).
#[derive(Debug)]
pub(crate) struct Window<'a> {
    /// The geometry of the whole table.
    pub(crate) geometry: &'a Geometry,
    /// The first bucket.
    pub(crate) first: u32,
    pub(crate) table: &'a mut [u8],
    /// A bit for each bucket of the window, set if the bucket is full.
    pub(crate) full: &'a mut [u64],
    /// The number of steps after which a chain is given up.
    pub(crate) max_steps: u32,
}

impl Window<'_> {
    /// The number of buckets in the window.
    #[inline(always)]
    pub(crate) fn buckets<W: Width>(&self) -> u32 {
        (self.table.len() / W::BUCKET_BYTES) as u32
    }

    /// The other bucket of a fingerprint that is in `bucket`. `bucket` and the result are counted from `first`. If the
    /// other bucket is outside of the window, the result is [`Window::buckets`] or more.
    #[inline(always)]
    fn alternate(&self, bucket: u32, fingerprint: u32) -> u32 {
        self.geometry.alternate(self.first + bucket, fingerprint).wrapping_sub(self.first)
    }

    #[inline(always)]
    pub(crate) fn is_full(&self, bucket: u32) -> bool {
        self.full[bucket as usize / 64] >> (bucket % 64) & 1 == 1
    }

    /// Marks a bucket as full.
    #[inline(always)]
    pub(crate) fn fill_up(&mut self, bucket: u32) {
        self.full[bucket as usize / 64] |= 1 << (bucket % 64);
    }

    /// Puts a fingerprint into a bucket of the window that has room.
    #[inline(always)]
    pub(crate) fn insert<W: Width>(&mut self, entry: Entry) {
        if self.buckets_of::<W>().insert(entry) {
            self.fill_up(entry.bucket);
        }
    }

    /// The window as a table. The table's buckets are counted from `first`, so the caller must not compute alternate
    /// buckets with the table: these come from [`Window::alternate`].
    #[inline(always)]
    fn buckets_of<W: Width>(&mut self) -> Table<W, &mut [u8]> {
        Table::new(self.geometry, &mut *self.table, bucket::EmptyPair::Clear)
    }

    /// Inserts keys within the window. A chain that is given up leaves its fingerprint in `left`, with one of the
    /// fingerprint's buckets. The caller must ensure that `left` has room for one entry per key.
    ///
    /// # Panics
    /// If a key's bucket is outside of the window. The vector kernels also panic if the window has no bucket, if the
    /// table has too many buckets for vectors, or if `full` does not have a bit for every bucket of the window.
    #[inline(always)]
    pub(crate) fn insert_within<W: Width, K: WindowedEviction<W>>(
        &mut self,
        keys: &[u64],
        left: &mut Vec<u64>,
    ) {
        let kernel = K::new(self);
        let buckets = self.buckets::<W>();
        let mut keys = Comb::new(keys);
        let idle = core::array::from_fn(|lane| (lane as u32).min(buckets - 1));
        let mut groups = [LaneGroup::idle(idle); LANE_GROUPS];
        for group in &mut groups {
            for lane in 0..LANES {
                group.refill(lane, self.next_key(&mut keys, buckets));
            }
        }
        while groups.iter().any(|group| group.active != 0) {
            for group in &mut groups {
                if group.active == 0 {
                    continue;
                }
                let ended = kernel.step(self, group);
                let long = group.active & !ended & group.long_chains(self.max_steps);
                for lane in ones(ended | long) {
                    if long >> lane & 1 == 1 {
                        let bucket = self.first + group.buckets[lane];
                        let fingerprint = group.fingerprints[lane];
                        left.push(Entry { bucket, fingerprint }.to_word());
                    }
                    group.refill(lane, self.next_key(&mut keys, buckets));
                }
                for bucket in &group.buckets {
                    let at = bucket_at::<W>(*bucket);
                    trommel_simd::prefetch(self.table.as_ptr().wrapping_add(at), Hint::T0);
                }
            }
        }
    }

    /// The next key, with its bucket counted from the first bucket of the window.
    #[inline(always)]
    fn next_key(&self, keys: &mut Comb<'_>, buckets: u32) -> Option<Entry> {
        let Entry { bucket, fingerprint } = Entry::from_word(keys.next()?);
        let bucket = bucket.wrapping_sub(self.first);
        // The vector kernels' memory accesses rely on this assertion.
        assert!(bucket < buckets);
        Some(Entry { bucket, fingerprint })
    }
}

/// An iterator over a list: every n-th key from the first on, then every n-th key from the second on, and so on.
#[derive(Clone, Debug)]
struct Comb<'a> {
    keys: &'a [u64],
    stride: usize,
    /// The position of the next key.
    next: usize,
    /// The position of the first key of the current pass over the list.
    start: usize,
}

impl<'a> Comb<'a> {
    fn new(keys: &'a [u64]) -> Self {
        Self { keys, stride: keys.len().div_ceil(STREAMS), next: 0, start: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.next >= self.keys.len() {
            if self.start + 1 >= self.stride {
                return None;
            }
            self.start += 1;
            self.next = self.start;
        }
        let key = self.keys.get(self.next).copied();
        let ahead = self.keys.as_ptr().wrapping_add(self.next + AHEAD_KEYS);
        trommel_simd::prefetch(ahead.cast::<u8>(), Hint::T0);
        self.next += self.stride;
        key
    }
}

/// A step of sixteen chains within a window: scalar, or in vectors.
pub(crate) trait WindowedEviction<W: Width>: Copy {
    /// Creates the kernel for the window.
    fn new(window: &Window<'_>) -> Self;

    /// Advances the chains of a group by a step. A chain waits for the next step if it is in the same bucket as the
    /// chain of an earlier lane, or if an earlier lane has just filled the bucket where the chain would end. Returns
    /// the lanes whose chains have ended, a bit each.
    fn step(&self, window: &mut Window<'_>, group: &mut LaneGroup) -> u32;
}

/// The step of one chain.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The slot that the fingerprint in hand takes. `None` if the fingerprint in hand itself moves to its other bucket.
    slot: Option<usize>,
    /// The bucket to which a fingerprint moves: the evicted fingerprint or, if `slot` is `None`, the fingerprint in
    /// hand.
    to: u32,
    /// Whether that bucket had room before the step.
    is_room: bool,
}

impl<W: Width> WindowedEviction<W> for ScalarLanes<W> {
    #[inline(always)]
    fn new(_: &Window<'_>) -> Self {
        Self::NEW
    }

    #[inline(always)]
    fn step(&self, window: &mut Window<'_>, group: &mut LaneGroup) -> u32 {
        let buckets = window.buckets::<W>();
        let conflicting = group.conflicting();
        let mut steps = [Step { slot: None, to: 0, is_room: false }; LANES];
        for lane in ones(group.active & !conflicting) {
            let (bucket, fingerprint) = (group.buckets[lane], group.fingerprints[lane]);
            let slots = window.buckets_of::<W>().slots(bucket);
            let has_room = |to: u32| to < buckets && !window.is_full(to);
            let own = window.alternate(bucket, fingerprint);
            let to = slots.map(|slot| window.alternate(bucket, slot));
            steps[lane] = if has_room(own) {
                Step { slot: None, to: own, is_room: true }
            } else if let Some(slot) = to.iter().position(|to| has_room(*to)) {
                Step { slot: Some(slot), to: to[slot], is_room: true }
            } else {
                // Any slot will do, as long as it varies from chain to chain, and from step to step of a chain.
                let slot = ((fingerprint ^ group.steps[lane]) % 4) as usize;
                Step { slot: Some(slot), to: to[slot], is_room: false }
            };
        }
        let mut ended = 0;
        for lane in ones(group.active & !conflicting) {
            let Step { slot, to, is_room } = steps[lane];
            let (bucket, fingerprint) = (group.buckets[lane], group.fingerprints[lane]);
            let slots = window.buckets_of::<W>().slots(bucket);
            let leaving = slot.map_or(fingerprint, |slot| slots[slot]);
            if is_room {
                if window.is_full(to) {
                    // An earlier lane has filled the bucket; the chain retries in the next step.
                    continue;
                }
                window.insert::<W>(Entry { bucket: to, fingerprint: leaving });
                ended |= 1 << lane;
            } else {
                group.steps[lane] += 1;
                if to >= buckets {
                    continue;
                }
                group.buckets[lane] = to;
                group.fingerprints[lane] = leaving;
            }
            let slots = match slot {
                Some(slot) => bucket::exchange(slots, slot, fingerprint, bucket::EmptyPair::Clear),
                None => {
                    bucket::set_flag(slots, bucket::class(fingerprint), bucket::EmptyPair::Clear).0
                }
            };
            window.buckets_of::<W>().store(bucket, slots);
        }
        ended
    }
}
