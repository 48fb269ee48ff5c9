//! A table that some threads change while other threads read it.

use super::{Backing, Storage};
use crate::sync::AtomicU64;
use core::fmt;

/// The memory of a [`Storage`] as atomic words of 64 bits: threads change the words through `&self`.
///
/// A word is eight bytes of this memory, and every number in this memory is little-endian. So on a big-endian machine,
/// the number that an atomic load returns must be converted by [`u64::from_le`].
///
/// ```
/// use core::sync::atomic::Ordering::Relaxed;
/// use trommel_base::Storage;
/// use trommel_base::storage::AtomicStorage;
/// let shared = AtomicStorage::new(Storage::zeroed(16, true).unwrap());
/// std::thread::scope(|threads| {
///     threads.spawn(|| shared.words()[1].fetch_or(1u64.to_le(), Relaxed));
///     threads.spawn(|| shared.words()[1].fetch_or(0x80u64.to_le(), Relaxed));
/// });
/// assert_eq!(shared.into_storage()[8], 0x81);
/// ```
pub struct AtomicStorage {
    storage: Storage,
    /// The atomics of the model checker loom are not plain words, so they cannot be in the table. `into_storage` writes
    /// their values back to the table.
    #[cfg(loom)]
    modelled: alloc::vec::Vec<AtomicU64>,
}

#[cfg(not(loom))]
impl AtomicStorage {
    /// Takes over the memory, which from then on can be accessed only through [`AtomicStorage::words`].
    #[must_use]
    pub fn new(storage: Storage) -> Self {
        Self { storage }
    }

    /// The words. Bytes at the end that do not fill a word are left out.
    #[inline(always)]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        const { assert!(align_of::<AtomicU64>() <= super::LINE_BYTES) };
        let words = self.storage.len / size_of::<AtomicU64>();
        // SAFETY: `start` is aligned to cache lines and valid for `len` initialised bytes as long as `self` lives, and
        // every bit pattern is a `u64`. `storage` is private, and no method that takes `&self` makes a reference to
        // its bytes, so all shared access is by atomic operations of this one size.
        unsafe { core::slice::from_raw_parts(self.storage.start.as_ptr().cast(), words) }
    }

    /// Returns the memory, with everything that other threads wrote to it. A caller can own `self` only after the other
    /// threads gave up their references, for example after it joined these threads. A join makes the writes of the
    /// joined thread visible.
    #[must_use]
    pub fn into_storage(self) -> Storage {
        self.storage
    }
}

#[cfg(loom)]
#[allow(missing_docs)]
impl AtomicStorage {
    #[must_use]
    pub fn new(storage: Storage) -> Self {
        let (words, _) = storage.as_chunks::<8>();
        let modelled = words.iter().map(|word| AtomicU64::new(u64::from_ne_bytes(*word))).collect();
        Self { storage, modelled }
    }

    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        &self.modelled
    }

    #[must_use]
    pub fn into_storage(mut self) -> Storage {
        let (words, _) = self.storage.as_chunks_mut::<8>();
        for (word, modelled) in words.iter_mut().zip(self.modelled) {
            *word = modelled.into_inner().to_ne_bytes();
        }
        self.storage
    }
}

impl AtomicStorage {
    /// The length of the memory in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.storage.len
    }

    /// Whether there is no memory.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the memory was allocated.
    #[must_use]
    pub fn backing(&self) -> Backing {
        self.storage.backing()
    }
}

impl fmt::Debug for AtomicStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicStorage")
            .field("bytes", &self.len())
            .field("backing", &self.backing())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::Ordering::Relaxed;

    #[test]
    fn words_are_the_bytes_in_order_and_the_memory_comes_back() {
        // Miri cannot map tables: it has no `munmap` of a part of a map.
        let large = if cfg!(miri) { 4096 } else { crate::storage::MAPPED_THRESHOLD_BYTES };
        for bytes in [0, 7, 8, 64, 65, large] {
            let mut storage = Storage::zeroed(bytes, true).unwrap();
            storage.iter_mut().zip(0u32..).for_each(|(byte, i)| *byte = i as u8);
            let (start, backing) = (storage.as_ptr(), storage.backing());
            let shared = AtomicStorage::new(storage);
            assert_eq!((shared.len(), shared.words().len()), (bytes, bytes / 8));
            assert_eq!((shared.is_empty(), shared.backing()), (bytes == 0, backing));
            for (i, word) in shared.words().iter().enumerate() {
                let expected = core::array::from_fn(|j| (8 * i + j) as u8);
                assert_eq!(word.swap(0, Relaxed).to_ne_bytes(), expected);
            }
            let storage = shared.into_storage();
            assert_eq!(storage.as_ptr(), start);
            assert!(storage[..bytes / 8 * 8].iter().all(|byte| *byte == 0));
        }
    }
}
