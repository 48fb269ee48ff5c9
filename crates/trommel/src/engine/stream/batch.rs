//! Batches of keys.

use super::Lines;
use alloc::string::String;
use alloc::vec::Vec;
use trommel_base::{Hasher, KeyHash};

/// A batch of keys of a stream. A good size is between 10,000 and a million keys. Each batch costs a few microseconds
/// in addition to the time for its keys, so small batches are slow. A stream holds a few batches in memory, so large
/// batches take much memory.
pub trait KeyBatch: Send {
    /// Replaces the contents of `hashes` by the hashes of all keys, in their order. The vector's memory is reused.
    ///
    /// ```
    /// use trommel::Hasher;
    /// use trommel::engine::KeyBatch;
    /// let (hasher, mut hashes) = (Hasher::default(), Vec::new());
    /// vec!["anvil", "forge"].hash_all(&hasher, &mut hashes);
    /// assert_eq!(hashes, [hasher.hash("anvil"), hasher.hash("forge")]);
    /// ```
    fn hash_all(&self, hasher: &Hasher, hashes: &mut Vec<KeyHash>);
}

/// A batch of hashes that the caller has made with the filter's hasher.
impl KeyBatch for Vec<KeyHash> {
    fn hash_all(&self, _: &Hasher, hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        hashes.extend_from_slice(self);
    }
}

macro_rules! batch_of {
    ($($key:ty),*) => {$(
        impl KeyBatch for Vec<$key> {
            fn hash_all(&self, hasher: &Hasher, hashes: &mut Vec<KeyHash>) {
                hasher.hash_batch(self, hashes);
            }
        }
    )*};
}
batch_of!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);
batch_of!(String, Vec<u8>, &str, &[u8]);

impl KeyBatch for Lines {
    fn hash_all(&self, hasher: &Hasher, hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        hashes.extend(self.iter().map(|key| hasher.hash_bytes(key)));
    }
}
