//! The eviction kernel in vectors: placing sixteen keys, and a step of sixteen chains.

use super::fields::Fields;
use super::vector::{Vector, fetch};
use crate::bucket::EmptyPair;
use crate::evict::batch::NEAR_BYTES;
use crate::evict::full_buckets::FullBuckets;
use crate::evict::lane_group::{LANES, LaneGroup, Lanes, ones};
use crate::evict::lockstep::{EvictionKernel, Located, Queue};
use crate::evict::parts::Parts;
use crate::evict::scalar_lanes::ScalarLanes;
use crate::geometry::{Geometry, MIX_FACTORS};
use crate::table::{Entry, Table};

/// The most buckets that vectors insert into: three times a bucket is an index of 32 bits with a sign.
pub(in super::super) const MAX_VECTOR_BUCKETS: u64 = 1 << 29;

/// The field of class 0 in a lane, and of class 1.
pub(super) const FIRST: u32 = 0x0000_FFFF;
pub(super) const SECOND: u32 = 0xFFFF_0000;

/// Sixteen lanes in vectors, for one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimdLanes<V> {
    buckets: V,
    half_span: V,
    doublings: V,
    /// A pair's flag is set if its even slot is at least this and at least the odd slot.
    least_set: V,
    /// Whether a bucket is worth a prefetch.
    is_far: bool,
}

/// The slots of sixteen buckets.
type Slots<V> = (V, V);

impl<V: Vector> SimdLanes<V> {
    pub(super) fn of(geometry: &Geometry, empty: EmptyPair, table_bytes: usize) -> Self {
        assert!(geometry.buckets <= MAX_VECTOR_BUCKETS);
        Self {
            buckets: V::splat(geometry.buckets as u32),
            half_span: V::splat(both(geometry.half_span().into())),
            doublings: V::splat(geometry.doublings),
            least_set: V::splat(both(empty.least_set())),
            is_far: table_bytes > NEAR_BYTES,
        }
    }

    /// How far the buckets of two fingerprints a lane are apart, before doublings: twice
    /// [`Geometry::half_offset`] and one.
    #[inline(always)]
    pub(super) fn offsets(&self, fingerprints: V) -> V {
        let once = fingerprints.mul_16(V::splat(both(MIX_FACTORS[0].into())));
        let mixed = once.xor(once.right_16::<7>()).mul_16(V::splat(both(MIX_FACTORS[1].into())));
        // Half the span is at most 2^15, so that no field runs over.
        mixed.mul_high_16(self.half_span).left::<1>().or(V::splat(both(1)))
    }

    /// The part of [`Self::alternate`] that depends on the bucket alone: all ones for an odd one, and the bucket, or for an odd one
    /// `bucket + buckets + 1`.
    #[inline(always)]
    pub(super) fn origin(&self, buckets: V) -> (V, V) {
        let odd = V::splat(0).sub(buckets.right_by(self.doublings).and(V::splat(1)));
        (odd, buckets.add(self.buckets.and(odd)).sub(odd))
    }

    /// [`Geometry::alternate`] at an offset that is the low field of each lane, or the high one.
    #[inline(always)]
    pub(super) fn alternate(&self, (odd, origin): (V, V), offset: V) -> V {
        // The inverted bits of an odd bucket's offset, and the 1 in `origin`, are its negative.
        let there = origin.add(offset.left_by(self.doublings).xor(odd));
        // Around the end: what was not beyond it wraps to a large number.
        there.min(there.sub(self.buckets))
    }

    /// Buckets with a fingerprint more; of those without room, anything.
    #[inline(always)]
    pub(super) fn with(&self, slots: Slots<V>, fingerprints: V) -> Slots<V> {
        let (even, odd) = slots;
        let free_pairs = even.min_16(odd).eq_16(V::splat(0));
        let empty_pairs = even.max_16(odd).eq_16(V::splat(0));
        // The second pair, if the first is full, or the second empty and the first not.
        let other = V::splat(FIRST).and_not(free_pairs);
        let bare = empty_pairs.right::<16>().and_not(empty_pairs);
        let second = other.or(bare).and(V::splat(FIRST));
        let field = V::splat(FIRST).xor(second.or(second.left::<16>()));
        let flags = self.flags(slots);
        let pair = with_flags((even.or(odd), fingerprints.or(fingerprints.left::<16>())), flags);
        let blend = |new: V, old: V| new.and(field).or(old.and_not(field));
        (blend(pair.0, even), blend(pair.1, odd))
    }

    /// Fields whose flag is set, all ones.
    #[inline(always)]
    pub(super) fn flags(&self, (even, odd): Slots<V>) -> V {
        even.eq_16(even.max_16(odd.max_16(self.least_set)))
    }
}

/// The same in both fields of a lane.
const fn both(field: u32) -> u32 {
    field | field << 16
}

/// The field of a fingerprint's class, all ones.
#[inline(always)]
pub(super) fn class<V: Vector>(fingerprints: V) -> V {
    V::splat(FIRST).xor(V::splat(0).sub(fingerprints.and(V::splat(1))))
}

/// The slots of pairs, reordered so that they encode `flags`.
#[inline(always)]
pub(super) fn with_flags<V: Vector>((a, b): Slots<V>, flags: V) -> Slots<V> {
    let (low, high) = (a.min_16(b), a.max_16(b));
    let exchange = low.xor(high).and(flags);
    (low.xor(exchange), high.xor(exchange))
}

/// Lanes with a free slot, as signs.
#[inline(always)]
pub(super) fn free<V: Vector>((even, odd): Slots<V>) -> V {
    in_either_field(even.min_16(odd).eq_16(V::splat(0)))
}

/// Lanes whose slots have a fingerprint, as signs.
#[inline(always)]
fn held<V: Vector>((even, odd): Slots<V>, fingerprints: V) -> V {
    let both = fingerprints.or(fingerprints.left::<16>());
    in_either_field(even.eq_16(both).or(odd.eq_16(both)))
}

/// Lanes with a field of all ones, as signs.
#[inline(always)]
fn in_either_field<V: Vector>(fields: V) -> V {
    fields.or(fields.left::<16>())
}

/// The signs of buckets that are full.
///
/// # Safety
/// The buckets are of the table whose bits these are.
#[inline(always)]
unsafe fn full_signs<V: Vector>(full: &FullBuckets, buckets: V) -> V {
    // SAFETY: the bits are little-endian words, and there is one for every bucket.
    let words = unsafe { V::gather::<4>(full.as_ptr(), buckets.right::<5>()) };
    words.left_by(V::splat(31).and_not(buckets))
}

impl<V: Vector> SimdLanes<V> {
    /// Puts fingerprints into those of unlike buckets that have room and whose sign is set; their bits. Slots of
    /// the others may be anything.
    ///
    /// # Safety
    /// These buckets are in the table.
    #[inline(always)]
    unsafe fn insert<W: Fields>(
        &self,
        parts: &mut Parts<'_>,
        (buckets, fingerprints): (V, V),
        slots: Slots<V>,
        wanted: V,
    ) -> u32 {
        let lanes = free(slots).and(wanted).signs();
        let slots = self.with(slots, fingerprints);
        // SAFETY: the caller's promise for these lanes.
        unsafe { W::write(parts.table.as_mut_ptr(), buckets, slots, lanes) };
        if let Some(scratch) = parts.scratch.as_mut() {
            let filled = lanes & !free(slots).signs();
            if filled != 0 {
                let mut to = [0; LANES];
                buckets.store(&mut to);
                for lane in ones(filled) {
                    scratch.full.insert(to[lane]);
                }
            }
        }
        lanes
    }

    /// Which keys are in the table, a bit each. These are the slots of their primary buckets.
    #[inline(always)]
    fn known<W: Fields>(
        &self,
        parts: &Parts<'_>,
        (buckets, fingerprints): (V, V),
        slots: Slots<V>,
    ) -> u32 {
        let here = held(slots, fingerprints);
        let flagged = in_either_field(self.flags(slots).and(class(fingerprints)));
        let open = flagged.and_not(here);
        if open.signs() == 0 {
            return here.signs();
        }
        let there =
            self.alternate(self.origin(buckets), self.offsets(fingerprints).and(V::splat(FIRST)));
        // SAFETY: alternates of buckets of the table are in the table.
        let others = unsafe { W::read(parts.table.as_ptr(), there, Some(open)) };
        here.or(held(others, fingerprints).and(open)).signs()
    }

    /// The second half of a block: keys for whose primary buckets, unlike and with these slots, there is no room.
    #[inline(always)]
    fn place_there<W: Fields>(
        &self,
        parts: &mut Parts<'_>,
        (buckets, fingerprints): (V, V),
        slots: Slots<V>,
        late: u32,
    ) -> Option<u32> {
        let there =
            self.alternate(self.origin(buckets), self.offsets(fingerprints).and(V::splat(FIRST)));
        if there.any_equal_16() {
            return None;
        }
        let mut wanted = V::of_signs(late);
        if let Some(scratch) = parts.scratch.as_ref() {
            // SAFETY: alternates of buckets of the table are in the table, which the bits fit.
            wanted = wanted.and_not(unsafe { full_signs(&scratch.full, there) });
        }
        // SAFETY: as above.
        let placed = unsafe {
            let others = W::read(parts.table.as_ptr(), there, Some(wanted));
            self.insert::<W>(parts, (there, fingerprints), others, wanted)
        };
        let flags = self.flags(slots).or(class(fingerprints));
        // SAFETY: primary buckets are in the table.
        unsafe { W::write(parts.table.as_mut_ptr(), buckets, with_flags(slots, flags), placed) };
        Some(placed)
    }
}

impl<W: Fields, V: Vector> EvictionKernel<W> for SimdLanes<V> {
    #[inline(always)]
    fn new(parts: &Parts<'_>) -> Self {
        // Every gather and scatter of a bucket rests on these.
        assert_eq!(parts.table.len() as u64, parts.geometry.table_bytes());
        assert_eq!(parts.geometry.fingerprint_bits, W::BITS);
        Self::of(parts.geometry, *parts.empty, parts.table.len())
    }

    #[inline(always)]
    fn place(&self, parts: &mut Parts<'_>, keys: &Located, first: usize, queue: &mut Queue) -> u32 {
        let (buckets, fingerprints) = keys.lanes(first);
        let (buckets, fingerprints) = (V::load(buckets), V::load(fingerprints));
        if buckets.any_equal_16() {
            return ScalarLanes::<W>::place_some(parts, keys, first, LANES, queue);
        }
        // SAFETY: primary buckets are in the table, whose length was checked in `new`.
        let slots = unsafe { W::read(parts.table.as_ptr(), buckets, None) };
        let mut new = u32::MAX >> (32 - LANES);
        if !parts.multiset {
            new &= !self.known::<W>(parts, (buckets, fingerprints), slots);
            if !parts.overflow.is_empty() {
                for lane in ones(new) {
                    let known = parts.overflow.contains(parts.geometry, keys.key(first + lane));
                    new &= !(u32::from(known) << lane);
                }
            }
        }
        let wanted = V::of_signs(new);
        // SAFETY: as above.
        let placed = unsafe { self.insert::<W>(parts, (buckets, fingerprints), slots, wanted) };
        let late = new & !placed;
        if late == 0 {
            return new;
        }
        let placed = self.place_there::<W>(parts, (buckets, fingerprints), slots, late);
        let full_lanes = match placed {
            Some(placed) => late & !placed,
            // Two have one alternate.
            None => ones(late)
                .filter(|lane| !parts.place_there::<W>(keys.key(first + lane)))
                .fold(0, |full_lanes, lane| full_lanes | 1 << lane),
        };
        for lane in ones(full_lanes) {
            let key = keys.key(first + lane);
            new &= !(u32::from(!parts.enqueue(queue, key, first + lane)) << lane);
        }
        new
    }

    #[inline(always)]
    fn step(&self, parts: &mut Parts<'_>, group: &mut LaneGroup, queue: &mut Queue) {
        let Some(scratch) = parts.scratch.as_mut() else { return };
        let full = &mut scratch.full;
        assert!(full.fit(parts.geometry));
        let (buckets, fingerprints) = (V::load(&group.buckets), V::load(&group.fingerprints));
        let steps = V::load(&group.steps);
        let conflicting = if buckets.any_equal_16() { group.conflicting() } else { 0 };

        // SAFETY: chains are in buckets of the table, whose length was checked in `new`.
        let (even, odd) = unsafe { W::read(parts.table.as_ptr(), buckets, None) };
        let (from_even, from_odd) = (self.offsets(even), self.offsets(odd));
        let origin = self.origin(buckets);
        let field = V::splat(FIRST);
        let to = [
            self.alternate(origin, from_even.and(field)),
            self.alternate(origin, from_odd.and(field)),
            self.alternate(origin, from_even.right::<16>()),
            self.alternate(origin, from_odd.right::<16>()),
        ];
        // SAFETY: as above; there is a bit for every bucket.
        let [a, b, c, d] = unsafe {
            [
                full_signs(full, to[0]),
                full_signs(full, to[1]),
                full_signs(full, to[2]),
                full_signs(full, to[3]),
            ]
        };
        // The slot as two bits: the first with room, else one that changes from step to step.
        let first_full = a.and(b);
        let all_full = first_full.and(c.and(d));
        let any = fingerprints.xor(steps);
        let is_second = V::choose(all_full, any.left::<30>(), first_full);
        let is_odd = V::choose(all_full, any.left::<31>(), V::choose(first_full, c, a));
        let leaving = V::choose(is_odd, odd, even);
        let leaving = V::choose(is_second, leaving.right::<16>(), leaving.and(field));
        let to =
            V::choose(is_second, V::choose(is_odd, to[3], to[2]), V::choose(is_odd, to[1], to[0]));

        // The bucket with the fingerprint in hand instead of the one that leaves.
        let taken = V::choose(is_second, V::splat(SECOND), field);
        let in_hand = fingerprints.or(fingerprints.left::<16>()).and(taken);
        let pair =
            (V::choose(is_odd, odd, even).and_not(taken).or(in_hand), V::choose(is_odd, even, odd));
        let flags = self.flags((even, odd)).or(class(leaving));
        let slots = with_flags(pair, flags);

        to.store(&mut group.buckets);
        leaving.store(&mut group.fingerprints);
        steps.add(V::splat(1)).store(&mut group.steps);
        if self.is_far {
            fetch(parts.table.as_ptr(), &group.buckets, W::BUCKET_BYTES);
        }
        let mut waiting = conflicting;
        let active = group.active;
        let mut table = Table::<W, _>::new(parts.geometry, &mut *parts.table, *parts.empty);
        for lane in ones(active & !conflicting & !all_full.signs()) {
            let to = Entry { bucket: group.buckets[lane], fingerprint: group.fingerprints[lane] };
            if full.contains(to.bucket) {
                // An earlier lane has taken it.
                waiting |= 1 << lane;
                continue;
            }
            if table.insert(to) {
                full.insert(to.bucket);
            }
            group.refill(lane, queue.pop());
        }
        // SAFETY: as above.
        unsafe { W::write(parts.table.as_mut_ptr(), buckets, slots, active & !waiting) };
        if waiting != 0 {
            group.retry([buckets, fingerprints, steps].map(lanes_of), waiting);
        }
    }
}

#[inline(always)]
pub(super) fn lanes_of<V: Vector>(vector: V) -> Lanes {
    let mut lanes = [0; LANES];
    vector.store(&mut lanes);
    lanes
}
