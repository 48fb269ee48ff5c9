//! One step of sixteen eviction chains that stay within a window (see `evict::window`), in SIMD vectors.

use super::fields::Fields;
use super::simd_lanes::{
    Chosen, FIRST, MAX_VECTOR_BUCKETS, SECOND, SimdLanes, class, free, lanes_of, with_flags,
};
use super::vector::Vector;
use crate::bucket::EmptyPair;
use crate::evict::lane_group::{LaneGroup, ones};
use crate::evict::window::{Window, WindowedEviction};
use crate::table::Entry;

/// The constants of a window, each in all lanes of a vector, and the step of sixteen lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedSimdLanes<V> {
    lanes: SimdLanes<V>,
    /// The first bucket of the window.
    first: V,
    /// The last bucket of the window, counted from the first.
    last: V,
}

impl<V: Vector> WindowedSimdLanes<V> {
    /// The lanes whose bucket is outside of the window, as signs: the sign bit of each such lane is set.
    #[inline(always)]
    fn outside(&self, buckets: V) -> V {
        self.last.sub(buckets.min(self.last.add(V::splat(1))))
    }

    /// The lanes whose bucket is full or outside of the window, as signs.
    ///
    /// # Safety
    /// The caller must ensure that `full` has a bit for every bucket of the window.
    #[inline(always)]
    unsafe fn no_room(&self, full: &[u64], buckets: V) -> V {
        let within = buckets.min(self.last);
        // SAFETY: `within` is in the window, and the caller promises a bit for every bucket of it. The machine is
        // little-endian, so a read of 32 bits at index `within / 32` has this bit.
        let words = unsafe { V::gather::<4>(full.as_ptr().cast(), within.right::<5>()) };
        words.left_by(V::splat(31).and_not(within)).or(self.outside(buckets))
    }
}

impl<W: Fields, V: Vector> WindowedEviction<W> for WindowedSimdLanes<V> {
    #[inline(always)]
    fn new(window: &Window<'_>) -> Self {
        let buckets = window.buckets::<W>();
        assert!(buckets > 0 && u64::from(buckets) <= MAX_VECTOR_BUCKETS);
        Self {
            lanes: SimdLanes::of(window.geometry, EmptyPair::Clear, window.table.len()),
            first: V::splat(window.first),
            last: V::splat(buckets - 1),
        }
    }

    #[inline(always)]
    fn step(&self, window: &mut Window<'_>, group: &mut LaneGroup) -> u32 {
        // The gathers from `full` rely on the next assertion. The gathers and scatters of buckets rely on all buckets
        // of the group being in the window: `insert_within` starts idle lanes in it, `Window::next_key` asserts that
        // the bucket of every key is in it, and a step leads only to buckets in it.
        let in_window = window.buckets::<W>();
        assert!(window.full.len() as u64 * 64 >= u64::from(in_window));
        debug_assert!(group.buckets.iter().all(|bucket| *bucket < in_window));
        let (buckets, fingerprints) = (V::load(&group.buckets), V::load(&group.fingerprints));
        let steps = V::load(&group.steps);
        let conflicting = if buckets.any_equal_16() { group.compare_all() } else { 0 };

        // SAFETY: the buckets of the group are in the window.
        let (even, odd) = unsafe { W::read(window.table.as_ptr(), buckets, None) };
        let field = V::splat(FIRST);
        let origin = self.lanes.origin(buckets.add(self.first));
        let (from_even, from_odd) = (self.lanes.offsets(even), self.lanes.offsets(odd));
        let alternate = |offset: V| self.lanes.alternate(origin, offset).sub(self.first);
        let own = alternate(self.lanes.offsets(fingerprints).and(field));
        let to = [
            alternate(from_even.and(field)),
            alternate(from_odd.and(field)),
            alternate(from_even.right::<16>()),
            alternate(from_odd.right::<16>()),
        ];
        // SAFETY: the assertion above checked that there is a bit for every bucket.
        let (are_full, own_full) = unsafe {
            let are_full = [
                self.no_room(window.full, to[0]),
                self.no_room(window.full, to[1]),
                self.no_room(window.full, to[2]),
                self.no_room(window.full, to[3]),
            ];
            (are_full, self.no_room(window.full, own))
        };
        let chosen = Chosen::of((even, odd), to, are_full, fingerprints.xor(steps));
        let Chosen { all_full: slots_full, is_second, is_odd, leaving, to } = chosen;
        // If the fingerprint in hand has room in its other bucket, it moves there itself.
        let leaving = V::choose(own_full, leaving, fingerprints);
        let to = V::choose(own_full, to, own);
        let all_full = slots_full.and(own_full);

        // The new slots of the bucket: the fingerprint in hand takes the slot of the fingerprint that leaves. If the
        // fingerprint in hand itself leaves, the bucket keeps its four fingerprints.
        let taken = V::choose(is_second, V::splat(SECOND), field);
        let taken = V::choose(own_full, taken, V::splat(0));
        let in_hand = fingerprints.or(fingerprints.left::<16>()).and(taken);
        let pair =
            (V::choose(is_odd, odd, even).and_not(taken).or(in_hand), V::choose(is_odd, even, odd));
        let flags = self.lanes.flags((even, odd)).or(class(leaving));
        let slots = with_flags(pair, flags);

        let out_of_window = all_full.and(self.outside(to));
        let to = V::choose(out_of_window, buckets, to);
        let moving = group.active & !conflicting;
        let room = moving & !all_full.signs();
        let mut waiting = group.active & conflicting;
        to.store(&mut group.buckets);
        V::choose(out_of_window, fingerprints, leaving).store(&mut group.fingerprints);
        steps.add(V::splat(1)).store(&mut group.steps);
        if to.any_equal_16() {
            for lane in ones(room) {
                let to =
                    Entry { bucket: group.buckets[lane], fingerprint: group.fingerprints[lane] };
                if window.is_full(to.bucket) {
                    // An earlier lane has filled the bucket.
                    waiting |= 1 << lane;
                } else {
                    window.insert::<W>(to);
                }
            }
        } else if room != 0 {
            // SAFETY: buckets with room are in the window.
            let filled = unsafe {
                let others = W::read(window.table.as_ptr(), to, Some(V::of_signs(room)));
                let others = self.lanes.with(others, leaving);
                W::write(window.table.as_mut_ptr(), to, others, room);
                room & !free(others).signs()
            };
            for lane in ones(filled) {
                window.fill_up(group.buckets[lane]);
            }
        }
        // SAFETY: the buckets of the group were in the window when `buckets` was loaded.
        unsafe {
            let lanes = moving & !waiting & !out_of_window.signs();
            W::write(window.table.as_mut_ptr(), buckets, slots, lanes);
        }
        if waiting != 0 {
            group.retry([lanes_of(buckets), lanes_of(fingerprints), lanes_of(steps)], waiting);
        }
        room & !waiting
    }
}
