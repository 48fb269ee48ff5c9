//! Keys, policies and bounds of the tests.
#![allow(dead_code, unreachable_pub, reason = "each test uses only a part")]

pub mod db;

use slatedb::bytes::Bytes;
use slatedb::{PrefixExtractor, PrefixTarget, RowEntry, ValueDeletable};
use std::ops::RangeInclusive;
use trommel_slatedb::TrommelFilterPolicy;
use trommel_slatedb::trommel::{Filter as _, FilterKind, FilterPolicy, FilterSpec};

/// Returns the key of a number: 20 bytes. Keys sort like their numbers.
pub fn key(i: u64) -> [u8; 20] {
    let mut key = *b"key/0000000000000000";
    for (digit, byte) in key[4..].iter_mut().enumerate() {
        *byte = b"0123456789abcdef"[(i >> (60 - 4 * digit)) as usize & 15];
    }
    key
}

pub fn row(key: &[u8]) -> RowEntry {
    RowEntry {
        key: Bytes::copy_from_slice(key),
        value: ValueDeletable::Value(Bytes::from_static(b"v")),
        seq: 0,
        create_ts: None,
        expire_ts: None,
    }
}

/// A policy of every kind that has a block form.
pub fn every_policy() -> Vec<TrommelFilterPolicy> {
    let kinds = FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom);
    let policy = |kind| FilterPolicy::builder(kind).bits_per_key(BITS_PER_KEY).build().unwrap();
    kinds.map(|kind| TrommelFilterPolicy::new(policy(*kind))).collect()
}

/// Bits per key that every kind accepts.
pub const BITS_PER_KEY: f64 = 11.0;

/// The expected false-positive rate of the policy's block for `keys` keys. The rate is taken from a filter of the same
/// kind and size with the same keys.
pub fn expected_fpr(policy: &TrommelFilterPolicy, keys: u64) -> f64 {
    let hashes: Vec<_> = (0..keys).map(|i| policy.blocks().hash(&key(i))).collect();
    let bits = policy.blocks().encoded_len(hashes.len()) as f64 * 8.0;
    let spec = FilterSpec::new(policy.blocks().kind()).keys(hashes.len());
    let spec = spec.bits_per_key(bits / hashes.len() as f64);
    spec.build_from(&hashes).unwrap().expected_fpr()
}

/// The range from six standard deviations below the expected number of successes to six above it.
pub fn binomial_bounds(trials: usize, probability: f64) -> RangeInclusive<usize> {
    let expected = trials as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    (expected - 6.0 * deviation).max(0.0) as usize..=(expected + 6.0 * deviation).ceil() as usize
}

/// Returns the next number of the generator SplitMix64.
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Extracts the first `self.0` bytes of keys that are long enough.
pub struct FixedPrefix(pub usize);

impl PrefixExtractor for FixedPrefix {
    fn name(&self) -> &str {
        ["fixed-0", "fixed-1", "fixed-2", "fixed-3", "fixed-4"].get(self.0).unwrap_or(&"fixed")
    }

    fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
        let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
        (bytes.len() >= self.0).then_some(self.0)
    }
}
