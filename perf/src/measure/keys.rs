//! Generated keys and probes. A bitmap marks the probes that are keys.

use crate::model::Workload;
use trommel::{Bitmap, KeyHash};
use xxhash_rust::xxh3::Xxh3;

/// A sequence of distinct, uniform 64-bit values with random access, so that a filter of 700 million keys needs no
/// array of keys. A value serves as a key and, for calls that take hashes, directly as a hash.
///
/// The values are the outputs of SplitMix64: its finaliser is applied to the seed plus the index
/// times an odd constant. This is a bijection, so values at different indices differ, and values at
/// indices beyond the keys are absent for certain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyStream {
    seed: u64,
}

/// The index at which absent keys begin: higher than any number of keys that is measured.
const ABSENT_FROM: u64 = 1 << 40;

impl KeyStream {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the value at an index.
    #[inline]
    pub(crate) fn at(self, index: u64) -> u64 {
        let mut z = self.seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns the `count` values from index `start` on.
    pub(crate) fn keys(self, start: usize, count: usize) -> Vec<u64> {
        (start..start + count).map(|index| self.at(index as u64)).collect()
    }

    /// Returns the `count` values from index `start` on as hashes.
    pub(crate) fn hashes(self, start: usize, count: usize) -> Vec<KeyHash> {
        as_hashes(&self.keys(start, count))
    }

    /// Returns `count` values that are not among the keys.
    pub(crate) fn absent(self, count: usize) -> Vec<u64> {
        self.absent_from(0, count)
    }

    /// Returns the `count` absent values from index `start` on; the first absent value has the index 0. The absent
    /// probes of [`Workload::Zipf`] have indices up to the number of keys. So if `start` is above the number of keys,
    /// no returned value is among these probes.
    pub(crate) fn absent_from(self, start: usize, count: usize) -> Vec<u64> {
        (start..start + count).map(|index| self.at(ABSENT_FROM + index as u64)).collect()
    }

    /// Draws `count` probes by Zipf's law with exponent 1: the value of rank `r` is drawn with a probability
    /// proportional to `1 / r`. There are twice as many values as keys. The values of even rank are keys, and the
    /// values of odd rank are absent.
    ///
    /// A number with a density proportional to `1 / x` is drawn by inversion, and rounded down to rank `r`. This gives
    /// `r` with a probability proportional to `ln(1 + 1/r)`. The rank is then kept with a second probability, such that
    /// the product of both probabilities is proportional to `1 / r`; otherwise another rank is drawn.
    fn zipf(self, keys: usize, count: usize) -> Probes {
        let draws = KeyStream::new(!self.seed);
        let ranks = 2.0 * keys.max(1) as f64;
        let mut members = Bitmap::new(count);
        let mut values = Vec::with_capacity(count);
        let mut drawn = 0;
        while values.len() < count {
            let uniform = |drawn: u64| (draws.at(drawn) >> 11) as f64 / (1u64 << 53) as f64;
            let rank = ((uniform(drawn) * (ranks + 1.0).ln()).exp().floor()).clamp(1.0, ranks);
            let keep_probability = std::f64::consts::LN_2 / (rank * (1.0 / rank).ln_1p());
            let is_kept = uniform(drawn + 1) < keep_probability;
            drawn += 2;
            if !is_kept {
                continue;
            }
            let half = rank as u64 / 2;
            if rank % 2.0 == 0.0 && half <= keys as u64 && keys > 0 {
                members.set(values.len());
                values.push(self.at(half - 1));
            } else {
                values.push(self.at(ABSENT_FROM + half));
            }
        }
        Probes { column: Column::Integers(values), members }
    }

    /// Draws `count` probes. With probability `hit_rate`, a probe is a key, drawn at random from the first `keys` keys;
    /// otherwise the probe is absent.
    pub(crate) fn blend(self, hit_rate: f64, keys: usize, count: usize) -> Probes {
        let choice = KeyStream::new(!self.seed);
        let threshold = (hit_rate * 2f64.powi(32)).round() as u64;
        let mut members = Bitmap::new(count);
        let mut values = Vec::with_capacity(count);
        for probe in 0..count {
            let random = choice.at(probe as u64);
            // The low 32 bits decide whether the probe is a key, and the high 32 bits choose the key.
            if random & u64::from(u32::MAX) < threshold {
                members.set(probe);
                values.push(self.at(((random >> 32) * keys as u64) >> 32));
            } else {
                values.push(self.at(ABSENT_FROM + probe as u64));
            }
        }
        Probes { column: Column::Integers(values), members }
    }

    /// Draws `count` random probes for a workload. Probes that are keys are drawn from the first
    /// `keys` keys.
    pub(crate) fn probes(self, workload: Workload, keys: usize, count: usize) -> Probes {
        if workload == Workload::Zipf {
            return self.zipf(keys, count);
        }
        let choice = KeyStream::new(!self.seed);
        let mut members = Bitmap::new(count);
        let mut values = Vec::with_capacity(count);
        for probe in 0..count {
            let random = choice.at(probe as u64);
            let is_member = match workload {
                Workload::Hit => true,
                Workload::Miss => false,
                Workload::Mixed | Workload::Zipf => random & 1 == 1,
            };
            if is_member {
                members.set(probe);
                let index = (u128::from(random) * keys as u128) >> 64;
                values.push(self.at(index as u64));
            } else {
                values.push(self.at(ABSENT_FROM + probe as u64));
            }
        }
        Probes { column: Column::Integers(values), members }
    }
}

/// Returns the values as hashes, without hashing them.
pub(crate) fn as_hashes(values: &[u64]) -> Vec<KeyHash> {
    KeyHash::slice_from_raw(values).to_vec()
}

/// Keys before they are hashed.
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

/// Returns the XXH3-128 hash of all keys of two columns, in their order, as 32 hexadecimal digits. The lengths of
/// columns and strings are hashed too, so that the digest changes if the same bytes are split into keys in another way.
pub(crate) fn digest(columns: [&Column; 2]) -> String {
    let mut hash = Xxh3::new();
    for column in columns {
        hash.update(&(column.len() as u64).to_le_bytes());
        match column {
            Column::Integers(keys) => keys.iter().for_each(|key| hash.update(&key.to_le_bytes())),
            Column::Strings(keys) => {
                for key in keys {
                    hash.update(&(key.len() as u64).to_le_bytes());
                    hash.update(key);
                }
            }
        }
    }
    format!("{:032x}", hash.digest128())
}

/// Probes, and a bitmap that marks the probes that are keys.
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
    fn keys_are_distinct_and_absent_values_are_no_keys() {
        let stream = KeyStream::new(7);
        let keys: HashSet<u64> = stream.keys(0, 10_000).into_iter().collect();
        assert_eq!(keys.len(), 10_000);
        assert!(stream.absent(10_000).iter().all(|value| !keys.contains(value)));
        assert_eq!(stream.keys(100, 5), stream.keys(0, 105)[100..]);
    }

    #[test]
    fn different_keys_have_different_digests() {
        let strings =
            |keys: &[&str]| Column::Strings(keys.iter().map(|key| key.as_bytes().into()).collect());
        let columns = [
            [strings(&["ab", "c"]), strings(&["d"])],
            [strings(&["a", "bc"]), strings(&["d"])],
            [strings(&["ab"]), strings(&["c", "d"])],
            [strings(&["d"]), strings(&["ab", "c"])],
            [Column::Integers(vec![1, 2]), Column::Integers(vec![3])],
            [Column::Integers(vec![2, 1]), Column::Integers(vec![3])],
        ];
        let digest_of = |[keys, probes]: &[Column; 2]| digest([keys, probes]);
        let digests: HashSet<String> = columns.iter().map(digest_of).collect();
        assert_eq!(digests.len(), columns.len());
        assert!(digests.iter().all(|digest| digest.len() == 32));
        assert_eq!(digest_of(&columns[0]), digest_of(&columns[0].clone()));
    }

    #[test]
    fn skewed_probes_follow_zipfs_law() {
        const COUNT: usize = 200_000;
        let probes = KeyStream::new(3).probes(Workload::Zipf, 500, COUNT);
        let Column::Integers(values) = &probes.column else {
            panic!("generated keys are integers")
        };
        let mut counts = std::collections::HashMap::new();
        for value in values {
            *counts.entry(*value).or_insert(0usize) += 1;
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // With 500 keys there are 1000 ranks. Rank r has probability 1 / (r · H), where H is the sum of 1 / r over all
        // ranks.
        let harmonic: f64 = (1..=1000).map(|r| 1.0 / f64::from(r)).sum();
        for r in [1, 2, 3, 5, 10] {
            let expected = COUNT as f64 / (r as f64 * harmonic);
            let deviation = (counts[r - 1] as f64 - expected) / expected.sqrt();
            assert!(
                deviation.abs() < 5.0,
                "rank {r}: {} draws, expected {expected}",
                counts[r - 1]
            );
        }
    }

    #[test]
    fn absent_values_beyond_the_number_of_keys_are_no_skewed_probes() {
        let stream = KeyStream::new(3);
        let beyond: HashSet<u64> = stream.absent_from(501, 5000).into_iter().collect();
        let below: HashSet<u64> = stream.absent_from(0, 501).into_iter().collect();
        let probes = stream.probes(Workload::Zipf, 500, 200_000);
        let Column::Integers(values) = &probes.column else {
            panic!("generated keys are integers")
        };
        assert!(!values.iter().any(|value| beyond.contains(value)));
        assert!(values.iter().any(|value| below.contains(value)), "some probes are absent");
    }

    #[test]
    fn a_blend_has_the_requested_share_of_keys() {
        let stream = KeyStream::new(7);
        let keys: HashSet<u64> = stream.keys(0, 1000).into_iter().collect();
        for share in [0.0, 0.1, 0.9, 1.0] {
            let probes = stream.blend(share, 1000, 5000);
            let Column::Integers(values) = &probes.column else {
                panic!("generated keys are integers")
            };
            for (i, value) in values.iter().enumerate() {
                assert_eq!(probes.members.get(i), keys.contains(value), "share {share}, probe {i}");
            }
            assert!((probes.members.count_ones() as f64 / 5000.0 - share).abs() < 0.03, "{share}");
        }
    }

    #[test]
    fn probes_mark_which_of_them_are_keys() {
        let stream = KeyStream::new(7);
        let keys: HashSet<u64> = stream.keys(0, 1000).into_iter().collect();
        for workload in Workload::ALL.into_iter().chain([Workload::Zipf]) {
            let probes = stream.probes(workload, 1000, 5000);
            let Column::Integers(values) = &probes.column else {
                panic!("generated keys are integers")
            };
            for (i, value) in values.iter().enumerate() {
                assert_eq!(probes.members.get(i), keys.contains(value), "{workload}, probe {i}");
            }
            let share = probes.members.count_ones() as f64 / 5000.0;
            let expected = match workload {
                Workload::Hit => 1.0,
                Workload::Miss => 0.0,
                Workload::Mixed => 0.5,
                // Keys have even ranks, which are drawn less often than odd ranks: the share of keys is
                // 1/2 - ln 2 / (2 H), where H is the sum of 1 / r over the 2000 ranks.
                Workload::Zipf => 0.458,
            };
            assert!((share - expected).abs() < 0.05, "{workload}: {share} of the probes are keys");
        }
    }
}
