//! Deterministic streams of key hashes: a seed gives the same stream on every machine.
//!
//! The generator is written here, not taken from a crate: a stream must be the same in ten years, because golden
//! digests (committed digests of frozen filters) and statistical tests with fixed seeds depend on it.

use core::fmt;
use core::ops::Range;
use trommel_base::{Hasher, KeyHash};

/// The increment of splitmix64: odd, so that multiplying by it is a bijection.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of splitmix64: maps the 64-bit words one-to-one to words that look random.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
/// with Stafford's variant 13 of the constants.
#[must_use]
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The generator splitmix64, which returns every 64-bit word once in a period of 2^64.
#[derive(Clone, Debug)]
pub struct Splitmix(u64);

impl Splitmix {
    /// The generator of a seed. The seed passes through [`mix`], so the generators of neighbouring seeds begin at
    /// unrelated points of the period, and their words practically never overlap in a test.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x7472_6F6D_6D65_6C00))
    }

    /// The next word.
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix(self.0)
    }

    /// A number below `bound`; the relative bias is below `bound / 2^64`.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.word() as u128 * bound as u128) >> 64) as u64
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.word() as u8).collect()
    }
}

/// Distinct hashes, one for each number in `range`: `seed` chooses a bijection from numbers to hashes. So with the same
/// seed, disjoint ranges give disjoint sets of hashes.
#[must_use]
pub fn distinct(seed: u64, range: Range<u64>) -> Vec<KeyHash> {
    let offset = mix(!seed);
    range
        .map(|i| KeyHash::from_raw(mix(i.wrapping_mul(GOLDEN_GAMMA).wrapping_add(offset))))
        .collect()
}

/// Hashes to insert, and other hashes to look up.
#[derive(Clone, Debug)]
pub struct Disjoint {
    /// The hashes to insert.
    pub members: Vec<KeyHash>,
    /// Hashes that are not inserted: if a filter reports one of them as present, that is always a false positive.
    pub absent: Vec<KeyHash>,
}

impl Disjoint {
    /// `members` distinct hashes to insert, and `absent` other distinct hashes to look up.
    #[must_use]
    pub fn new(seed: u64, members: usize, absent: usize) -> Self {
        let (middle, end) = (members as u64, (members + absent) as u64);
        Self { members: distinct(seed, 0..middle), absent: distinct(seed, middle..end) }
    }
}

/// The pattern of a stream of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stream {
    /// Uniform words.
    Random,
    /// The hashes of 0, 1, 2, ...
    Sequential,
    /// The hashes of every 4096th integer, like the addresses of pages.
    Strided,
    /// The hashes of keys with frequencies roughly proportional to 1/rank: a few keys repeat often.
    Zipf,
    /// One hash again and again.
    AllEqual,
    /// Only the low eight bits vary, as with a hash of one byte.
    LowByte,
    /// Only the high eight bits vary.
    HighByte,
    /// 0 and `u64::MAX` in alternation.
    Extremes,
    /// The integers 0, 1, 2, ... themselves, unhashed.
    SmallIntegers,
}

impl Stream {
    /// All patterns.
    pub const ALL: &'static [Stream] = &[
        Stream::Random,
        Stream::Sequential,
        Stream::Strided,
        Stream::Zipf,
        Stream::AllEqual,
        Stream::LowByte,
        Stream::HighByte,
        Stream::Extremes,
        Stream::SmallIntegers,
    ];

    /// `count` hashes of this stream, repeats included.
    #[must_use]
    pub fn hashes(self, seed: u64, count: usize) -> Vec<KeyHash> {
        let mut random = Splitmix::new(seed);
        let hasher = Hasher::xxh3(seed);
        let fixed = mix(seed);
        (0..count as u64)
            .map(|i| match self {
                Self::Random => KeyHash::from_raw(random.word()),
                Self::Sequential => hasher.hash_u64(i),
                Self::Strided => hasher.hash_u64(i * 4096),
                Self::Zipf => hasher.hash_u64(zipf_rank(&mut random, count)),
                Self::AllEqual => KeyHash::from_raw(fixed),
                Self::LowByte => KeyHash::from_raw((fixed & !0xFF) | (random.word() & 0xFF)),
                Self::HighByte => KeyHash::from_raw((fixed >> 8) | (random.word() << 56)),
                Self::Extremes => KeyHash::from_raw(if i % 2 == 0 { 0 } else { u64::MAX }),
                Self::SmallIntegers => KeyHash::from_raw(i),
            })
            .collect()
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A random rank from 1 to about `ranks`, with a density proportional to 1/rank. The distribution function of this
/// density is `ln(rank) / ln(ranks)`. Its inverse turns a uniform number `u` into the rank `ranks^u`.
fn zipf_rank(random: &mut Splitmix, ranks: usize) -> u64 {
    libm::pow(ranks as f64, random.unit()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{chi_square, chi_square_critical};
    use std::collections::{HashMap, HashSet};

    /// Published outputs of splitmix64 with state 0 (Vigna's reference implementation).
    #[test]
    fn splitmix_is_the_published_one() {
        let mut reference = Splitmix(0);
        let expected = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!([reference.word(), reference.word(), reference.word()], expected);
    }

    #[test]
    fn members_and_absent_hashes_are_distinct_and_disjoint() {
        for seed in [0, 1, u64::MAX] {
            let keys = Disjoint::new(seed, 10_000, 20_000);
            let all: HashSet<_> = keys.members.iter().chain(&keys.absent).collect();
            assert_eq!(all.len(), 30_000);
        }
        assert_ne!(distinct(1, 0..4), distinct(2, 0..4));
    }

    #[test]
    fn random_hashes_are_uniform_in_their_high_and_low_bytes() {
        for hashes in [Stream::Random.hashes(3, 1 << 18), distinct(3, 0..1 << 18)] {
            for shift in [0, 24, 56] {
                let mut counts = [0u64; 256];
                hashes.iter().for_each(|hash| counts[(hash.raw() >> shift) as usize & 0xFF] += 1);
                let expected = [1024.0; 256];
                let statistic = chi_square(&counts, &expected);
                assert!(
                    statistic < chi_square_critical(255, 4.0),
                    "chi-square is {statistic} at bit {shift}"
                );
            }
        }
    }

    #[test]
    fn zipf_repeats_a_few_keys_often_and_the_others_seldom() {
        let mut counts: HashMap<KeyHash, u64> = HashMap::new();
        let hashes = Stream::Zipf.hashes(9, 100_000);
        hashes.iter().for_each(|hash| *counts.entry(*hash).or_default() += 1);
        let top = *counts.values().max().unwrap();
        // Rank 1 has the share ln 2 / ln 1e5 = 6.0 %.
        assert!((5_700..6_400).contains(&top), "the most frequent key comes {top} times");
        assert!(counts.values().filter(|count| **count == 1).count() > 5_000);
    }

    #[test]
    fn a_stream_is_repeatable_and_differs_for_another_seed_if_it_uses_the_seed() {
        for stream in Stream::ALL {
            let hashes = stream.hashes(5, 1000);
            assert_eq!(hashes.len(), 1000);
            assert_eq!(hashes, stream.hashes(5, 1000));
            let seedless = matches!(stream, Stream::Extremes | Stream::SmallIntegers);
            assert_eq!(
                hashes == stream.hashes(6, 1000),
                seedless,
                "{stream}: whether two seeds give the same hashes"
            );
        }
    }

    #[test]
    fn hostile_streams_have_the_little_entropy_they_promise() {
        let values = |stream: Stream| stream.hashes(5, 10_000).into_iter().collect::<HashSet<_>>();
        assert_eq!(values(Stream::AllEqual).len(), 1);
        assert_eq!(values(Stream::Extremes).len(), 2);
        for (stream, varying) in [(Stream::LowByte, 0xFF), (Stream::HighByte, 0xFF << 56)] {
            let values = values(stream);
            assert_eq!(values.len(), 256);
            let fixed: HashSet<_> = values.iter().map(|hash| hash.raw() & !varying).collect();
            assert_eq!(fixed.len(), 1);
        }
    }
}
