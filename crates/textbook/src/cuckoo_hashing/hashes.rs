//! Hash functions that can be drawn again.

use crate::random::Random;
use trommel_base::Hasher;
use trommel_base::range::reduce;

/// The most hash functions that a set uses.
pub(super) const MAX_HASHES: usize = 8;

/// Independent hash functions from keys to places.
///
/// Their seeds are random words: of XXH3 with seeds of a few bits, one function of a key is the other
/// of a key nearby, and the graph of consecutive keys is far from random.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    hashers: [Hasher; MAX_HASHES],
    random: Random,
}

impl Hashes {
    /// The first functions of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self { hashers: core::array::from_fn(|_| Hasher::xxh3(random.word())), random }
    }

    /// The next functions of the same seed.
    pub(super) fn drawn_again(&self) -> Self {
        let mut random = self.random.clone();
        Self::new(random.word())
    }

    /// The place of a key by function `which`, below `places`.
    pub(super) fn place(&self, which: usize, key: u64, places: u64) -> u64 {
        reduce(self.hashers[which].hash_u64(key).raw(), places)
    }
}
