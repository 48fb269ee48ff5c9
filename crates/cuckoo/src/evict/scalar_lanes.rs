//! The eviction kernel that computes lane by lane, the reference for the vector kernels. It is used for fingerprints of
//! 32 bits, on instruction sets without AVX2 or NEON, and in tables of more than 2^29 buckets. It also places the keys
//! that vector kernels leave to it: blocks of fewer than sixteen keys, and blocks in which two primary buckets agree in
//! their low 16 bits, and so may be the same bucket.

use super::lane_group::{LANES, LaneGroup, ones};
use super::lockstep::{EvictionKernel, Located, Queue};
use super::parts::Parts;
use crate::bucket;
use crate::table::{Entry, Table};
use crate::width::Width;
use core::marker::PhantomData;

/// The kernel that handles one lane after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarLanes<W>(PhantomData<W>);

/// The step of one chain.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The slot that the fingerprint in hand takes.
    slot: usize,
    /// The bucket to which the fingerprint of that slot moves.
    to: u32,
    /// Whether that bucket had room before the step.
    is_room: bool,
}

impl<W: Width> EvictionKernel<W> for ScalarLanes<W> {
    #[inline(always)]
    fn new(_: &Parts<'_>) -> Self {
        Self::NEW
    }

    #[inline(always)]
    fn place(&self, parts: &mut Parts<'_>, keys: &Located, first: usize, queue: &mut Queue) -> u32 {
        Self::place_some(parts, keys, first, LANES, queue)
    }

    #[inline(always)]
    fn step(&self, parts: &mut Parts<'_>, group: &mut LaneGroup, queue: &mut Queue) {
        let Some(scratch) = parts.scratch.as_mut() else { return };
        let full = &mut scratch.full;
        let mut table = Table::<W, _>::new(parts.geometry, &mut *parts.table, *parts.empty);
        let conflicting = group.conflicting();
        let mut steps = [Step { slot: 0, to: 0, is_room: false }; LANES];
        for lane in ones(group.active) {
            let (bucket, fingerprint) = (group.buckets[lane], group.fingerprints[lane]);
            let to = table.slots(bucket).map(|slot| table.geometry.alternate(bucket, slot));
            let room = to.iter().position(|to| !full.contains(*to));
            // Any slot will do, but chains must vary the slot. The first slot of a pair has the smaller fingerprint if
            // the pair's flag is clear, and the larger fingerprint if the flag is set. So if chains always took the
            // same slot, the values of fingerprints would decide which of them are evicted.
            let slot = room.unwrap_or(((fingerprint ^ group.steps[lane]) % 4) as usize);
            steps[lane] = Step { slot, to: to[slot], is_room: room.is_some() };
        }
        for lane in ones(group.active & !conflicting) {
            let Step { slot, to, is_room } = steps[lane];
            let (bucket, fingerprint) = (group.buckets[lane], group.fingerprints[lane]);
            let slots = table.slots(bucket);
            let leaving = Entry { bucket: to, fingerprint: slots[slot] };
            if is_room {
                // If an earlier lane has filled the bucket, the chain retries in the next step.
                if full.contains(to) {
                    continue;
                }
                if table.insert(leaving) {
                    full.insert(to);
                }
                group.refill(lane, queue.pop());
            } else {
                group.buckets[lane] = leaving.bucket;
                group.fingerprints[lane] = leaving.fingerprint;
                group.steps[lane] += 1;
            }
            table.store(bucket, bucket::exchange(slots, slot, fingerprint, table.empty));
        }
    }
}

impl<W: Width> ScalarLanes<W> {
    pub(crate) const NEW: Self = Self(PhantomData);

    /// Like [`EvictionKernel::place`], but for `len` keys, which are at most sixteen.
    #[inline(always)]
    pub(crate) fn place_some(
        parts: &mut Parts<'_>,
        keys: &Located,
        first: usize,
        len: usize,
        queue: &mut Queue,
    ) -> u32 {
        let mut new = u32::MAX >> (32 - len);
        if !parts.multiset {
            for lane in 0..len {
                new &= !(u32::from(parts.has::<W>(keys.key(first + lane))) << lane);
            }
            new &= !keys.repeated(first, len);
        }
        let mut primary_full = 0;
        for lane in ones(new) {
            let is_placed = parts.place_here::<W>(keys.key(first + lane));
            primary_full |= u32::from(!is_placed) << lane;
        }
        for lane in ones(primary_full) {
            let key = keys.key(first + lane);
            if !parts.place_there::<W>(key) {
                new &= !(u32::from(!parts.enqueue(queue, key, first + lane)) << lane);
            }
        }
        new
    }
}
