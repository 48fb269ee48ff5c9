//! Hash functions that are part of the frozen format.
//!
//! XXH3-64 with a seed is the default; XXH64 with seed 0 is what Parquet prescribes. Both come from
//! the `xxhash-rust` crate. Eight-byte keys have a form of their own here ([`Hasher::hash_u64`]) that
//! the compiler can vectorise, and that is tested to give exactly the crate's answer.

use crate::kernel;
use crate::{Key, KeyHash};
use alloc::vec::Vec;

/// Which hash function; the number is what the container stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum HashId {
    /// XXH3, 64 bits, seeded.
    Xxh3 = 1,
    /// XXH64, seeded. With seed 0, the hash of Parquet's Bloom filters.
    Xxh64 = 2,
}

impl HashId {
    /// The function of a stored number.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Xxh3),
            2 => Some(Self::Xxh64),
            _ => None,
        }
    }
}

/// A hash function and its seed: how keys become [`KeyHash`]es.
///
/// Both travel in the bytes of a filter, so a filter read back hashes as the one that was written, on
/// any machine and in any version. The seed is a parameter and not a secret: it gives independent
/// filters, not protection from an adversary who can see it.
///
/// ```
/// use trommel_base::Hasher;
/// let hasher = Hasher::xxh3(42);
/// assert_eq!(hasher.hash(&7u64), hasher.hash_u64(7));
/// assert_ne!(hasher.hash("key"), Hasher::xxh3(43).hash("key"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hasher {
    id: HashId,
    seed: u64,
}

impl Default for Hasher {
    /// XXH3 with seed 0.
    fn default() -> Self {
        Self::xxh3(0)
    }
}

impl Hasher {
    /// What Parquet's Bloom filters use: XXH64 with seed 0.
    pub const PARQUET: Hasher = Hasher::xxh64(0);

    /// A hasher from its parts.
    #[must_use]
    pub const fn new(id: HashId, seed: u64) -> Self {
        Self { id, seed }
    }

    /// XXH3-64 with a seed.
    #[must_use]
    pub const fn xxh3(seed: u64) -> Self {
        Self::new(HashId::Xxh3, seed)
    }

    /// XXH64 with a seed.
    #[must_use]
    pub const fn xxh64(seed: u64) -> Self {
        Self::new(HashId::Xxh64, seed)
    }

    /// Which function.
    #[must_use]
    pub const fn id(&self) -> HashId {
        self.id
    }

    /// Its seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The same function with another seed.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { id: self.id, seed }
    }

    /// The hash of a key.
    #[inline]
    #[must_use]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> KeyHash {
        key.hash_with(self)
    }

    /// The hash of a string of bytes.
    #[inline]
    #[must_use]
    pub fn hash_bytes(&self, bytes: &[u8]) -> KeyHash {
        KeyHash::from_raw(match self.id {
            HashId::Xxh3 => xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.seed),
            HashId::Xxh64 => xxhash_rust::xxh64::xxh64(bytes, self.seed),
        })
    }

    /// The hash of the eight little-endian bytes of `key`: the same as `hash(&key)`, in about ten
    /// instructions and without a branch.
    #[inline]
    #[must_use]
    pub fn hash_u64(&self, key: u64) -> KeyHash {
        KeyHash::from_raw(match self.id {
            HashId::Xxh3 => kernel::hash::xxh3_u64(key, self.seed),
            HashId::Xxh64 => kernel::hash::xxh64_u64(key, self.seed),
        })
    }

    /// The hashes of a column of integers, exactly as [`Hasher::hash_u64`] gives them, eight at a
    /// time where the machine can. `hashes` takes the length of `keys`; its allocation is reused.
    ///
    /// ```
    /// use trommel_base::Hasher;
    /// let hasher = Hasher::default();
    /// let mut hashes = Vec::new();
    /// hasher.hash_batch(&[1, 2, 3], &mut hashes);
    /// assert_eq!(hashes[2], hasher.hash(&3u64));
    /// ```
    pub fn hash_batch(&self, keys: &[u64], hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        hashes.resize(keys.len(), KeyHash::default());
        kernel::hash::batch(self.id, self.seed, keys, hashes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: [u64; 5] = [0, 1, 42, 0x8000_0000_0000_0000, u64::MAX];

    fn keys() -> Vec<u64> {
        let mixed = (0..1000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(21));
        [0, 1, 255, 256, 1 << 32, u64::MAX].into_iter().chain(mixed).collect()
    }

    #[test]
    fn integers_hash_as_the_reference_hashes_their_bytes() {
        for seed in SEEDS {
            for hasher in [Hasher::xxh3(seed), Hasher::xxh64(seed)] {
                for key in keys() {
                    assert_eq!(hasher.hash_u64(key), hasher.hash_bytes(&key.to_le_bytes()));
                }
            }
        }
    }

    #[test]
    fn a_batch_gives_the_scalar_answer_at_every_length_and_isa() {
        let keys = keys();
        for hasher in [Hasher::xxh3(0), Hasher::xxh3(99), Hasher::PARQUET] {
            for length in [0, 1, 7, 8, 9, 63, 64, 65, 1000] {
                let expected: Vec<_> = keys[..length].iter().map(|k| hasher.hash_u64(*k)).collect();
                let mut hashes = Vec::new();
                hasher.hash_batch(&keys[..length], &mut hashes);
                assert_eq!(hashes, expected);
                for isa in trommel_simd::Isa::available() {
                    hashes.fill(KeyHash::default());
                    kernel::hash::batch_on(
                        isa,
                        hasher.id,
                        hasher.seed,
                        &keys[..length],
                        &mut hashes,
                    );
                    assert_eq!(hashes, expected, "{isa}");
                }
            }
        }
    }

    /// Published test values: XXH3-64 and XXH64 of the empty input with seed 0 (xxHash repository,
    /// sanity tests), so that a change of the crate underneath cannot go unseen.
    #[test]
    fn known_values() {
        assert_eq!(Hasher::xxh3(0).hash_bytes(b"").raw(), 0x2D06_8005_38D3_94C2);
        assert_eq!(Hasher::xxh64(0).hash_bytes(b"").raw(), 0xEF46_DB37_51D8_E999);
    }
}
