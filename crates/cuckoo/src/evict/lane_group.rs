//! A group of up to sixteen eviction chains that advance in lockstep.

use crate::table::Entry;

/// The number of chains in a group, of lanes in a vector, and of keys in a block.
pub(crate) const LANES: usize = 16;
/// A number for each lane.
pub(crate) type Lanes = [u32; LANES];

/// Up to sixteen eviction chains, each of which has one fingerprint in hand.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct LaneGroup {
    /// The full bucket that the fingerprint in hand belongs to; in an idle lane, any bucket of the table. In windowed
    /// eviction, buckets are counted from the first bucket of the window.
    pub(crate) buckets: Lanes,
    pub(crate) fingerprints: Lanes,
    pub(crate) steps: Lanes,
    /// Bit `i` is set if lane `i` has a chain.
    pub(crate) active: u32,
}

impl LaneGroup {
    /// A group without chains.
    #[inline(always)]
    pub(crate) fn idle(buckets: Lanes) -> Self {
        Self { buckets, fingerprints: [1; LANES], steps: [0; LANES], active: 0 }
    }

    /// Starts a chain in an idle lane.
    #[inline(always)]
    pub(crate) fn begin(&mut self, lane: usize, key: Entry) {
        self.buckets[lane] = key.bucket;
        self.fingerprints[lane] = key.fingerprint;
        self.steps[lane] = 0;
        self.active |= 1 << lane;
    }

    /// Uses the lane of a chain that has ended: starts a chain with the key `next` or, if this is `None`, makes the
    /// lane idle.
    #[inline(always)]
    pub(crate) fn refill(&mut self, lane: usize, next: Option<Entry>) {
        match next {
            Some(key) => self.begin(lane, key),
            None => self.active &= !(1 << lane),
        }
    }

    /// Restores the values that the lanes in `waiting` had before the step: bucket, fingerprint and number of steps. So
    /// the next step retries these lanes.
    #[cfg(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    ))]
    #[cold]
    pub(crate) fn retry(&mut self, [buckets, fingerprints, steps]: [Lanes; 3], waiting: u32) {
        for lane in ones(waiting) {
            self.buckets[lane] = buckets[lane];
            self.fingerprints[lane] = fingerprints[lane];
            self.steps[lane] = steps[lane];
        }
    }

    /// The active lanes whose bucket is also the bucket of an earlier active lane. Conflicts are rare, so this first
    /// tests whether there may be any.
    #[inline(always)]
    pub(crate) fn conflicting(&self) -> u32 {
        if self.may_conflict() { self.compare_all() } else { 0 }
    }

    /// Like [`conflicting`](Self::conflicting), but compares every two lanes at once.
    #[inline(always)]
    pub(crate) fn compare_all(&self) -> u32 {
        let mut conflicting = 0;
        for lane in 1..LANES {
            let earlier = (0..lane)
                .any(|i| self.active >> i & 1 == 1 && self.buckets[i] == self.buckets[lane]);
            conflicting |= u32::from(earlier) << lane;
        }
        conflicting & self.active
    }

    /// Whether the buckets of some two lanes, active or not, agree in their low 16 bits. Compares all lanes with their
    /// rotations, which the compiler vectorises.
    #[inline(always)]
    fn may_conflict(&self) -> bool {
        let mut twice = [0; 2 * LANES];
        for (lane, bucket) in self.buckets.iter().enumerate() {
            (twice[lane], twice[lane + LANES]) = (*bucket as u16, *bucket as u16);
        }
        let mut equal = [0; LANES];
        for distance in 1..=LANES / 2 {
            for lane in 0..LANES {
                equal[lane] |= u16::from(twice[lane] == twice[lane + distance]);
            }
        }
        equal.iter().fold(0, |any, equal| any | equal) != 0
    }

    /// The lanes, active or not, whose chains have made at least `max_steps` steps.
    #[inline(always)]
    pub(crate) fn long_chains(&self, max_steps: u32) -> u32 {
        let mut long = 0;
        for (lane, steps) in self.steps.iter().enumerate() {
            long |= u32::from(*steps >= max_steps) << lane;
        }
        long
    }
}

/// The indices of the set bits, ascending.
#[inline(always)]
pub(crate) fn ones(word: u32) -> impl Iterator<Item = usize> {
    trommel_base::bitmap::ones(u64::from(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of [`LaneGroup::conflicting`].
    fn expected(group: &LaneGroup) -> u32 {
        let is_active = |lane: usize| group.active >> lane & 1 == 1;
        let has_earlier = |lane: usize| {
            (0..lane).any(|i| is_active(i) && group.buckets[i] == group.buckets[lane])
        };
        (0..LANES)
            .filter(|lane| is_active(*lane) && has_earlier(*lane))
            .fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// Two buckets of the group are equal, in all bits or only in the low 16, and other lanes may be idle.
    #[test]
    fn every_two_lanes_are_compared() {
        let distinct: Lanes = core::array::from_fn(|lane| 0x0007_FFF8 + lane as u32);
        for (first, second) in (0..LANES).flat_map(|second| (0..second).map(move |i| (i, second))) {
            for (changed, is_conflict) in [(0, true), (1 << 16, false), (1 << 31, false)] {
                let mut group = LaneGroup::idle(distinct);
                group.buckets[second] = distinct[first] ^ changed;
                for idle in [0, 1 << first, 1 << second, 1 << first | 1 << second] {
                    group.active = 0xFFFF & !idle;
                    let conflicting = if is_conflict && idle == 0 { 1 << second } else { 0 };
                    assert_eq!(group.conflicting(), conflicting, "{first} {second} {idle:#x}");
                    assert_eq!(group.compare_all(), conflicting, "{first} {second} {idle:#x}");
                }
            }
        }
    }

    #[test]
    fn all_but_the_first_of_equal_buckets_conflict() {
        for buckets in [1, 2, 3, 7] {
            let mut group = LaneGroup::idle(core::array::from_fn(|lane| lane as u32 % buckets));
            for active in [0xFFFF, 0xFFFE, 0x5A5A, 0x8001, 0] {
                group.active = active;
                assert_eq!(group.conflicting(), expected(&group), "{buckets} {active:#x}");
            }
        }
    }
}
