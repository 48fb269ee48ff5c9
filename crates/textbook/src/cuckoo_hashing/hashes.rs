//! Seeded hash functions, which a rehash replaces by new ones.

use crate::random::Random;
use trommel_base::Hasher;
use trommel_base::range::reduce;

/// The most hash functions that a set uses.
pub(super) const MAX_HASHES: usize = 8;

/// Independent hash functions from keys to places.
///
/// The functions' seeds are random 64-bit words. Small seeds would not make independent functions: the XXH3 hash of a
/// key under one small seed is often the hash of a nearby key under another small seed, and then the [cuckoo
/// graph](super) of consecutive keys is far from random.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    hashers: [Hasher; MAX_HASHES],
    random: Random,
}

impl Hashes {
    /// Draws the first functions from a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self { hashers: core::array::from_fn(|_| Hasher::xxh3(random.word())), random }
    }

    /// Draws the next functions from the same seed.
    pub(super) fn drawn_again(&self) -> Self {
        let mut random = self.random.clone();
        Self::new(random.word())
    }

    /// The place of a key by hash function number `which`. The result is below `places`.
    pub(super) fn place(&self, which: usize, key: u64, places: u64) -> u64 {
        reduce(self.hashers[which].hash_u64(key).raw(), places)
    }
}
