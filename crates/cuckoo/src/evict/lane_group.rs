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

    /// The active lanes whose bucket is also the bucket of an earlier active lane.
    #[inline(always)]
    pub(crate) fn conflicting(&self) -> u32 {
        if !self.may_conflict() {
            return 0;
        }
        let mut conflicting = 0;
        for lane in 1..LANES {
            let earlier = (0..lane)
                .any(|i| self.active >> i & 1 == 1 && self.buckets[i] == self.buckets[lane]);
            conflicting |= u32::from(earlier) << lane;
        }
        conflicting & self.active
    }

    /// Whether the buckets of any two lanes, active or not, agree in their low 16 bits. Compares all lanes with their
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
