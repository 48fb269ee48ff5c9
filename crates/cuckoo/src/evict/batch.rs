//! Inserts batches. Random-walk eviction in lockstep makes room for the keys whose two buckets are full.
//!
//! A batch is inserted in blocks of sixteen keys. In each block, first all keys whose primary bucket has room go there.
//! Then each other key goes to its alternate bucket, if that has room. The keys that are left have two full buckets,
//! and are queued. Each of them starts an *eviction chain*. A chain has a fingerprint in hand that belongs in a full
//! bucket. If one of the four fingerprints of the bucket can move to a bucket with room, that fingerprint moves, the
//! fingerprint in hand takes its slot, and the chain ends. Otherwise the fingerprint in hand takes the slot of one of
//! the four, and the chain goes on with the evicted fingerprint and its other bucket.
//!
//! A step of a chain reads one bucket, and looks up four others in a bitmap
//! ([`FullBuckets`](super::full_buckets::FullBuckets)). A search for room ([`Search`](super::search::Search)) would
//! read a tree of buckets for each key. Chains move more fingerprints than searches would, but in buckets that are in
//! cache by then. Since a chain always has a fingerprint in hand, a chain is started only while the overflow area has
//! room for the fingerprints of all chains. So no key can be lost.
//!
//! Sixteen chains, one in each *lane*, make a step together, so that SIMD instructions can compute the step. All chains
//! plan the step on the state of the table before the step. If two chains are in the same bucket, or chose the last
//! free slot of the same bucket, the later chain waits for the next step. So the result does not depend on how a step
//! is computed: `scalar_lanes` computes one lane after another, and `kernel::insert` computes most of the step with
//! SIMD instructions. A lane whose chain has ended takes a key of the queue at once. In a multiset, the chains that are
//! left when the queue is empty wait until the next keys are placed and queued, so few lanes are idle. In a set, all
//! chains end before the next keys are placed.
//!
//! Source: Fan et al., CoNEXT 2014, section 3.2, for the random walk.

use super::lane_group::{LANES, LaneGroup, ones};
use super::lockstep::{EvictionKernel, LOCATED_KEYS, Located, Queue};
use super::parts::{Parts, Placed};
use super::scalar_lanes::ScalarLanes;
use crate::geometry::Geometry;
use crate::table::{Entry, bucket_at};
use crate::width::Width;
use trommel_base::batch::Hint;

/// The most keys that the caller passes at a time. The number is large, since lanes are idle at the end of every call.
pub(crate) const CHUNK_KEYS: usize = 1 << 14;
/// The number of groups of chains. The steps of the groups are interleaved. So scalar stores have left the store buffer
/// before they are reloaded as a vector, and buckets that are not in cache can arrive during the steps of other groups.
const LANE_GROUPS: usize = 4;
/// In tables of more bytes than this, the primary buckets of the next [`LOCATED_KEYS`] keys are prefetched. The vector
/// kernels also prefetch the buckets of the next step. A block or a step has more instructions than a core looks ahead,
/// so without prefetches the core waits for every bucket that is not in L1.
pub(crate) const NEAR_BYTES: usize = 128 << 10;
/// The number of rounds between two checks for chains that are too long. A round is a step of every group.
const ROUNDS_PER_CHECK: u32 = 16;
/// A chain that has made this number of steps is ended at the next check. Its fingerprint is then placed by a search,
/// or goes to the overflow area.
const MAX_STEPS: u32 = 112;

/// There is no room for a key. The filter has the keys whose bits [`Parts::insert_batch`] has set in `new`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Parts<'_> {
    /// Inserts keys, and sets bit `i` of `new` if key `i` was inserted. A multiset inserts every key. A set inserts the
    /// keys that it did not find.
    #[inline(always)]
    pub(crate) fn insert_batch<W: Width, K: EvictionKernel<W>>(
        &mut self,
        hashes: &[u64],
        new: &mut [u64],
    ) -> Result<(), NoRoom> {
        let kernel = K::new(self);
        let mut located = [Located::NOWHERE; 2];
        let mut queue = Queue::EMPTY;
        let mut chains = Chains::new(self.geometry);
        let mut rest = hashes.chunks(LOCATED_KEYS);
        self.locate::<W>(rest.next().unwrap_or(&[]), &mut located[0]);
        let words = hashes.len().div_ceil(64);
        for (i, new) in new[..words].chunks_mut(LOCATED_KEYS / 64).enumerate() {
            let keys = LOCATED_KEYS.min(hashes.len() - i * LOCATED_KEYS);
            let [here, next] = &mut located;
            let (here, next) = if i % 2 == 0 { (here, next) } else { (next, here) };
            self.locate::<W>(rest.next().unwrap_or(&[]), next);
            queue.clear();
            for first in (0..keys).step_by(LANES) {
                let placed = if keys - first < LANES {
                    ScalarLanes::<W>::place_some(self, here, first, keys - first, &mut queue)
                } else {
                    kernel.place(self, here, first, &mut queue)
                };
                new[first / 64] |= u64::from(placed) << (first % 64);
            }
            if !queue.is_unused() {
                // A set looks each key up before placing it. So before the next keys are placed, all chains of a set
                // must have ended: a lookup would find neither a key in the queue nor a fingerprint in hand.
                let to_the_end = !self.multiset;
                if self.evict::<W, K>(&kernel, &mut chains, &mut queue, to_the_end).is_err() {
                    for index in queue.waiting_indices() {
                        new[usize::from(*index) / 64] &= !(1 << (index % 64));
                    }
                    return Err(NoRoom);
                }
            }
        }
        queue.clear();
        self.evict::<W, K>(&kernel, &mut chains, &mut queue, true)
    }

    /// Computes the primary buckets and fingerprints of at most [`LOCATED_KEYS`] keys. In tables of more than
    /// [`NEAR_BYTES`], prefetches these buckets.
    #[inline(always)]
    fn locate<W: Width>(&self, hashes: &[u64], located: &mut Located) {
        let geometry = *self.geometry;
        for (i, hash) in hashes.iter().enumerate().take(LOCATED_KEYS) {
            (located.buckets[i], located.fingerprints[i]) = geometry.split(*hash);
        }
        if self.table.len() > NEAR_BYTES {
            for bucket in &located.buckets[..hashes.len()] {
                let at = bucket_at::<W>(*bucket);
                trommel_simd::prefetch(self.table.as_ptr().wrapping_add(at), Hint::T0);
            }
        }
    }

    /// Starts and advances chains until no key is queued and, if `to_the_end`, no chain is active. Fails if there is no
    /// room for a key; then that key and the keys after it are still queued, and no chain is active.
    #[inline(always)]
    fn evict<W: Width, K: EvictionKernel<W>>(
        &mut self,
        kernel: &K,
        chains: &mut Chains,
        queue: &mut Queue,
        to_the_end: bool,
    ) -> Result<(), NoRoom> {
        if !queue.waiting().is_empty() && self.ensure_scratch::<W>() {
            chains.begin(queue, self.overflow.ready_room(self.geometry));
        }
        let mut rounds = 0;
        while chains.are_active() && (to_the_end || !queue.waiting().is_empty()) {
            for group in &mut chains.groups {
                if group.active != 0 {
                    kernel.step(self, group, queue);
                }
            }
            rounds += 1;
            if rounds % ROUNDS_PER_CHECK == 0 {
                self.end_long_chains::<W>(chains);
                chains.begin(queue, self.overflow.ready_room(self.geometry));
            }
        }
        // No chain could be started for the keys that are still queued: the overflow area has too little room, or there
        // is no memory for the bitmap that chains read. Each of these keys is now placed by a search or in the overflow
        // area. The first key that has no room ends the batch.
        while let Some(key) = queue.waiting().first() {
            if self.make_room::<W>(*key) == Placed::NoRoom {
                return Err(NoRoom);
            }
            queue.skip();
        }
        Ok(())
    }

    /// Ends chains of at least [`MAX_STEPS`] steps: their fingerprints find room by a search, or in the overflow area.
    #[inline(never)]
    fn end_long_chains<W: Width>(&mut self, chains: &mut Chains) {
        for group in &mut chains.groups {
            for lane in ones(group.active & group.long_chains(MAX_STEPS)) {
                let (bucket, fingerprint) = (group.buckets[lane], group.fingerprints[lane]);
                let placed = self.make_room::<W>(Entry { bucket, fingerprint });
                assert_eq!(
                    placed,
                    Placed::Inserted,
                    "the overflow area must have room for the fingerprint of a chain"
                );
                group.active &= !(1 << lane);
            }
        }
    }
}

/// All chains of a batch.
#[derive(Clone, Debug)]
struct Chains {
    groups: [LaneGroup; LANE_GROUPS],
}

impl Chains {
    #[inline(always)]
    fn new(geometry: &Geometry) -> Self {
        // The lanes get distinct buckets, if the table has enough, so that idle lanes do not conflict with each other.
        let buckets = core::array::from_fn(|lane| (lane as u64 % geometry.buckets) as u32);
        Self { groups: [LaneGroup::idle(buckets); LANE_GROUPS] }
    }

    #[inline(always)]
    fn are_active(&self) -> bool {
        self.groups.iter().any(|group| group.active != 0)
    }

    /// Starts chains in idle lanes, as long as the overflow area has room for the fingerprints of all chains.
    #[inline(always)]
    fn begin(&mut self, queue: &mut Queue, room: usize) {
        let active: usize =
            self.groups.iter().map(|group| group.active.count_ones() as usize).sum();
        let mut more = room.saturating_sub(active).min(queue.waiting().len());
        for group in &mut self.groups {
            while more > 0 && (!group.active).trailing_zeros() < LANES as u32 {
                let lane = (!group.active).trailing_zeros() as usize;
                let Some(key) = queue.pop() else { return };
                group.begin(lane, key);
                more -= 1;
            }
        }
    }
}
