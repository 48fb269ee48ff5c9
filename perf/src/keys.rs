//! Generated keys, and the truth about which probes are keys.

use crate::plan::Workload;
use trommel::{Bitmap, KeyHash};

/// An endless column of distinct, uniform 64-bit values that can be read anywhere, so that a filter of
/// 700 million keys needs no array of them. Each value serves as a key or, where keys come hashed, as
/// a hash.
///
/// The finaliser of SplitMix64 over a counter: a bijection, so values at different places differ, and
/// what lies beyond the keys is known to be absent without a lookup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyStream {
    seed: u64,
}

/// Where absent keys begin: beyond any number of keys that is measured.
const ABSENT_FROM: u64 = 1 << 40;

impl KeyStream {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn at(self, place: u64) -> u64 {
        let mut z = self.seed.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The keys from `start`, `count` of them.
    pub(crate) fn keys(self, start: usize, count: usize) -> Vec<u64> {
        (start..start + count).map(|place| self.at(place as u64)).collect()
    }

    /// The same as hashes.
    pub(crate) fn hashes(self, start: usize, count: usize) -> Vec<KeyHash> {
        as_hashes(&self.keys(start, count))
    }

    /// `count` values that are none of the keys.
    pub(crate) fn absent(self, count: usize) -> Vec<u64> {
        (0..count as u64).map(|place| self.at(ABSENT_FROM + place)).collect()
    }

    /// `count` probes against the first `keys` keys, drawn at random in no order of insertion.
    pub(crate) fn probes(self, workload: Workload, keys: usize, count: usize) -> Probes {
        let choice = KeyStream::new(!self.seed);
        let mut members = Bitmap::new(count);
        let mut values = Vec::with_capacity(count);
        for probe in 0..count {
            let random = choice.at(probe as u64);
            let is_member = match workload {
                Workload::Hit => true,
                Workload::Miss => false,
                Workload::Mixed => random & 1 == 1,
            };
            if is_member {
                members.set(probe);
                let place = (u128::from(random) * keys as u128) >> 64;
                values.push(self.at(place as u64));
            } else {
                values.push(self.at(ABSENT_FROM + probe as u64));
            }
        }
        Probes { column: Column::Integers(values), members }
    }
}

/// Values taken as hashes without hashing them.
pub(crate) fn as_hashes(values: &[u64]) -> Vec<KeyHash> {
    KeyHash::slice_from_raw(values).to_vec()
}

/// Keys as they come from outside.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// Integers, such as the keys of a table.
    Integers(Vec<u64>),
    /// Byte strings, such as the lines of a file.
    Strings(Vec<Box<[u8]>>),
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(keys) => keys.len(),
            Self::Strings(keys) => keys.len(),
        }
    }
}

/// Probes and which of them are keys.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    pub(crate) column: Column,
    pub(crate) members: Bitmap,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_distinct_and_absent_ones_are_absent() {
        let stream = KeyStream::new(7);
        let keys: HashSet<u64> = stream.keys(0, 10_000).into_iter().collect();
        assert_eq!(keys.len(), 10_000);
        assert!(stream.absent(10_000).iter().all(|value| !keys.contains(value)));
        assert_eq!(stream.keys(100, 5), stream.keys(0, 105)[100..]);
    }

    #[test]
    fn probes_know_which_of_them_are_keys() {
        let stream = KeyStream::new(7);
        let keys: HashSet<u64> = stream.keys(0, 1000).into_iter().collect();
        for workload in Workload::ALL {
            let probes = stream.probes(workload, 1000, 5000);
            let Column::Integers(values) = &probes.column else {
                panic!("generated keys are integers")
            };
            for (i, value) in values.iter().enumerate() {
                assert_eq!(probes.members.get(i), keys.contains(value), "{workload} {i}");
            }
            let share = probes.members.count_ones() as f64 / 5000.0;
            let expected = match workload {
                Workload::Hit => 1.0,
                Workload::Miss => 0.0,
                Workload::Mixed => 0.5,
            };
            assert!((share - expected).abs() < 0.05, "{workload}: {share}");
        }
    }
}
