//! The eviction kernel in SIMD vectors: it places sixteen keys at a time, or advances sixteen chains by a step.

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

/// The most buckets of a table that the vector kernels insert into. For fingerprints of 12 bits, the index that a
/// gather uses for a bucket is three times the number of the bucket, and must fit into a signed number of 32 bits.
pub(in super::super) const MAX_VECTOR_BUCKETS: u64 = 1 << 29;

/// The field of class 0 in a lane (see `bucket`).
pub(super) const FIRST: u32 = 0x0000_FFFF;
/// The field of class 1 in a lane (see `bucket`).
pub(super) const SECOND: u32 = 0xFFFF_0000;

/// The constants of a table, each in all lanes of a vector, and the operations on sixteen lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimdLanes<V> {
    buckets: V,
    half_span: V,
    doublings: V,
    /// [`EmptyPair::least_set`], in both fields.
    least_set: V,
    /// Whether the table is so large that buckets are prefetched.
    is_far: bool,
}

/// The slots of sixteen buckets: the even slots, and the odd slots.
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

    /// For each of two fingerprints per lane, the offset between its two buckets before any doubling: twice
    /// [`Geometry::half_offset`], plus one.
    #[inline(always)]
    pub(super) fn offsets(&self, fingerprints: V) -> V {
        let once = fingerprints.mul_16(V::splat(both(MIX_FACTORS[0].into())));
        let mixed = once.xor(once.right_16::<7>()).mul_16(V::splat(both(MIX_FACTORS[1].into())));
        // Half the span is at most 2^15, so no field overflows.
        mixed.mul_high_16(self.half_span).left::<1>().or(V::splat(both(1)))
    }

    /// The part of [`Self::alternate`] that depends on the bucket alone, in two vectors: zero and `bucket` for an even
    /// bucket, all ones and `bucket + self.buckets + 1` for an odd one. A bucket counts as odd if its number before any
    /// doubling was odd.
    #[inline(always)]
    pub(super) fn origin(&self, buckets: V) -> (V, V) {
        let odd = V::splat(0).sub(buckets.right_by(self.doublings).and(V::splat(1)));
        (odd, buckets.add(self.buckets.and(odd)).sub(odd))
    }

    /// [`Geometry::alternate`], from the origin of the bucket and the offset.
    #[inline(always)]
    pub(super) fn alternate(&self, (odd, origin): (V, V), offset: V) -> V {
        // For an odd bucket, the inverted bits of the offset and the 1 in `origin` add up to the negative offset.
        let there = origin.add(offset.left_by(self.doublings).xor(odd));
        // Modulo `buckets`: if `there` is below `buckets`, the subtraction wraps to a huge number, and `there` is the
        // minimum.
        there.min(there.sub(self.buckets))
    }

    /// Adds a fingerprint to each bucket. For a bucket without room, the result is arbitrary.
    #[inline(always)]
    pub(super) fn with(&self, slots: Slots<V>, fingerprints: V) -> Slots<V> {
        let (even, odd) = slots;
        let free_pairs = even.min_16(odd).eq_16(V::splat(0));
        let empty_pairs = even.max_16(odd).eq_16(V::splat(0));
        // The second pair gets the fingerprint if the first pair is full, or if the second pair is empty and the first
        // is not empty.
        let first_full = V::splat(FIRST).and_not(free_pairs);
        let only_second_empty = empty_pairs.right::<16>().and_not(empty_pairs);
        let second = first_full.or(only_second_empty).and(V::splat(FIRST));
        let field = V::splat(FIRST).xor(second.or(second.left::<16>()));
        let flags = self.flags(slots);
        let pair = with_flags((even.or(odd), fingerprints.or(fingerprints.left::<16>())), flags);
        let blend = |new: V, old: V| new.and(field).or(old.and_not(field));
        (blend(pair.0, even), blend(pair.1, odd))
    }

    /// All ones in the fields of the pairs whose flag is set.
    #[inline(always)]
    pub(super) fn flags(&self, (even, odd): Slots<V>) -> V {
        even.eq_16(even.max_16(odd.max_16(self.least_set)))
    }
}

/// A lane with the same number in both fields.
const fn both(field: u32) -> u32 {
    field | field << 16
}

/// The slot of a bucket whose fingerprint leaves, as two signs: one for the pair, and one for the slot in the pair.
pub(super) struct Chosen<V> {
    /// The lanes in which no fingerprint has room in its other bucket, as signs.
    pub(super) all_full: V,
    pub(super) is_second: V,
    pub(super) is_odd: V,
    /// The fingerprint that leaves.
    pub(super) leaving: V,
    /// The other bucket of this fingerprint.
    pub(super) to: V,
}

impl<V: Vector> Chosen<V> {
    /// Chooses the first slot whose fingerprint has room in its other bucket, else a slot that `any` decides. `to` has
    /// the other buckets of the fingerprints in the slots 0 to 3, and the signs of `full` tell which of them are full.
    #[inline(always)]
    pub(super) fn of((even, odd): Slots<V>, to: [V; 4], full: [V; 4], any: V) -> Self {
        let [a, b, c, d] = full;
        let first_full = a.and(b);
        let all_full = first_full.and(c.and(d));
        let is_second = V::choose(all_full, any.left::<30>(), first_full);
        let is_odd = V::choose(all_full, any.left::<31>(), V::choose(first_full, c, a));
        let leaving = V::choose(is_odd, odd, even);
        let leaving = V::choose(is_second, leaving.right::<16>(), leaving.and(V::splat(FIRST)));
        let to =
            V::choose(is_second, V::choose(is_odd, to[3], to[2]), V::choose(is_odd, to[1], to[0]));
        Self { all_full, is_second, is_odd, leaving, to }
    }
}

/// All ones in the field of each fingerprint's class.
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

/// The lanes whose bucket has a free slot, as signs: the sign bit of each such lane is set.
#[inline(always)]
pub(super) fn free<V: Vector>((even, odd): Slots<V>) -> V {
    in_either_field(even.min_16(odd).eq_16(V::splat(0)))
}

/// The lanes whose slots hold the fingerprint of the lane, as signs.
#[inline(always)]
fn held<V: Vector>((even, odd): Slots<V>, fingerprints: V) -> V {
    let both = fingerprints.or(fingerprints.left::<16>());
    in_either_field(even.eq_16(both).or(odd.eq_16(both)))
}

/// The lanes with a field of all ones, as signs.
#[inline(always)]
fn in_either_field<V: Vector>(fields: V) -> V {
    fields.or(fields.left::<16>())
}

/// The lanes whose bucket is full, as signs.
///
/// # Safety
/// The caller must ensure that `full` has a bit for each of these buckets.
#[inline(always)]
unsafe fn full_signs<V: Vector>(full: &FullBuckets, buckets: V) -> V {
    // SAFETY: the caller promises a bit for each bucket. The machine is little-endian, so a read of 32 bits at index
    // `bucket / 32` has this bit.
    let words = unsafe { V::gather::<4>(full.as_ptr(), buckets.right::<5>()) };
    words.left_by(V::splat(31).and_not(buckets))
}

impl<V: Vector> SimdLanes<V> {
    /// Puts the fingerprints of the lanes whose sign is set in `wanted` into their buckets, if these have room. If a
    /// fingerprint takes the last free slot of its bucket, marks the bucket as full. Returns the lanes whose
    /// fingerprint was put in, a bit each. The caller must ensure that the buckets of all lanes differ, and that
    /// `slots` are the slots of the buckets in the wanted lanes; in the other lanes, `slots` can have any value.
    ///
    /// # Safety
    /// The caller must ensure that the buckets of the wanted lanes are in the table.
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
        // SAFETY: the caller promises that the buckets of these lanes are in the table.
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

    /// The lanes whose key is in the table, a bit each. `slots` are the slots of the primary buckets.
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

    /// Places the keys of the lanes in `primary_full` into their alternates, if these have room, and sets the flags in
    /// the primary buckets of the keys that were placed. The caller must ensure that the primary buckets of these lanes
    /// are full, that the primary buckets of all lanes differ, and that `slots` are their slots. Returns the lanes
    /// whose keys were placed. If two alternates agree in their low 16 bits, changes nothing and returns `None`.
    #[inline(always)]
    fn place_there<W: Fields>(
        &self,
        parts: &mut Parts<'_>,
        (buckets, fingerprints): (V, V),
        slots: Slots<V>,
        primary_full: u32,
    ) -> Option<u32> {
        let there =
            self.alternate(self.origin(buckets), self.offsets(fingerprints).and(V::splat(FIRST)));
        if there.any_equal_16() {
            return None;
        }
        let mut wanted = V::of_signs(primary_full);
        if let Some(scratch) = parts.scratch.as_ref() {
            // SAFETY: alternates of buckets of the table are in the table. There is a bit for each of the table's
            // buckets, since scratch memory is made for a table and is dropped when the table is replaced.
            wanted = wanted.and_not(unsafe { full_signs(&scratch.full, there) });
        }
        // SAFETY: alternates of buckets of the table are in the table.
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
        // Every gather and scatter of buckets relies on these assertions.
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
        // SAFETY: primary buckets are in the table, whose length was checked in `new`.
        let placed = unsafe { self.insert::<W>(parts, (buckets, fingerprints), slots, wanted) };
        let primary_full = new & !placed;
        if primary_full == 0 {
            return new;
        }
        let placed = self.place_there::<W>(parts, (buckets, fingerprints), slots, primary_full);
        let full_lanes = match placed {
            Some(placed) => primary_full & !placed,
            // Two of the lanes may have the same alternate, so the keys are placed one by one.
            None => ones(primary_full)
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
        let conflicting = if buckets.any_equal_16() { group.compare_all() } else { 0 };

        // SAFETY: the buckets of chains are in the table, whose length was checked in `new`.
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
        // SAFETY: alternates are in the table too, and the assertion above checked that every bucket has a bit.
        let are_full = unsafe {
            [
                full_signs(full, to[0]),
                full_signs(full, to[1]),
                full_signs(full, to[2]),
                full_signs(full, to[3]),
            ]
        };
        let chosen = Chosen::of((even, odd), to, are_full, fingerprints.xor(steps));
        let Chosen { all_full, is_second, is_odd, leaving, to } = chosen;

        // The new bucket: the fingerprint in hand replaces the one that leaves.
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
                // An earlier lane has filled the bucket.
                waiting |= 1 << lane;
                continue;
            }
            if table.insert(to) {
                full.insert(to.bucket);
            }
            group.refill(lane, queue.pop());
        }
        // SAFETY: the buckets of chains are in the table, whose length was checked in `new`.
        unsafe { W::write(parts.table.as_mut_ptr(), buckets, slots, active & !waiting) };
        if waiting != 0 {
            group.retry([lanes_of(buckets), lanes_of(fingerprints), lanes_of(steps)], waiting);
        }
    }
}

#[inline(always)]
pub(super) fn lanes_of<V: Vector>(vector: V) -> Lanes {
    let mut lanes = [0; LANES];
    vector.store(&mut lanes);
    lanes
}
