//! Keys and their hashes.

use crate::kernel::hash::Word;
use crate::{Hasher, kernel};
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

/// 64 uniform bits that stand for a key. A filter sees nothing else of the key.
///
/// Hash once, probe many filters: two filters with equal hashers take the same `KeyHash`.
/// The type is `#[repr(transparent)]` over `u64`, so a column of hashes computed elsewhere can be used in place.
///
/// ```
/// use trommel::KeyHash;
/// let raw = [1u64, 2, 3];
/// let hashes = KeyHash::slice_from_raw(&raw);
/// assert_eq!(hashes[1], KeyHash::from_raw(2));
/// assert_eq!(hashes[2].raw(), 3);
/// ```
///
/// The equations of false-positive rates hold for hashes that are uniform in all 64 bits. Hashes with fewer random bits
/// are accepted. They give no false negatives, but more false positives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Makes a hash from 64 bits that are uniform already.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, KeyHash};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let hash = KeyHash::from_raw(0x9E37_79B9_7F4A_7C15); // from a column that was hashed elsewhere
    /// filter.add_hash(hash);
    /// assert!(filter.contains_hash(hash));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn from_raw(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    ///
    /// ```
    /// use trommel::KeyHash;
    /// assert_eq!(KeyHash::from_raw(7).raw(), 7);
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Takes a slice of uniform words as hashes, without a copy.
    ///
    /// ```
    /// use trommel::KeyHash;
    /// let column = [7u64, 8];
    /// assert_eq!(KeyHash::slice_from_raw(&column)[1], KeyHash::from_raw(8));
    /// ```
    #[inline]
    #[must_use]
    pub const fn slice_from_raw(bits: &[u64]) -> &[KeyHash] {
        crate::kernel::cast::hashes_of_words(bits)
    }

    /// Hashes a value of any type that implements [`Hash`], with any [`BuildHasher`].
    ///
    /// Mixes the bits of the number that the [`BuildHasher`] returns: filters use all 64 bits of a hash, but a function
    /// made for hash tables can return hashes whose high bits depend on only a part of the value.
    ///
    /// **Not for filters that are stored or sent.** The bytes that `Hash` feeds to the hash function can differ between
    /// versions of Rust and between machines, and each new `RandomState` hashes differently. For stored filters use
    /// [`Key`], whose encoding is part of the format.
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use trommel::KeyHash;
    /// let build = RandomState::new();
    /// let hash = KeyHash::from_hash(&("orders", 7, [1.5f32.to_bits()]), &build);
    /// assert_eq!(hash, KeyHash::from_hash(&("orders", 7, [1.5f32.to_bits()]), &build));
    /// assert_ne!(hash, KeyHash::from_hash(&("orders", 8, [1.5f32.to_bits()]), &build));
    /// ```
    #[inline]
    #[must_use]
    pub fn from_hash<T: Hash + ?Sized, B: BuildHasher>(value: &T, build: &B) -> Self {
        Hasher::xxh3(0).hash_u64(build.hash_one(value))
    }

    /// The words of a slice of hashes, without a copy.
    ///
    /// ```
    /// use trommel::{Hasher, KeyHash};
    /// let mut hashes = Vec::new();
    /// Hasher::default().hash_batch(&["anvil", "forge"], &mut hashes);
    /// assert_eq!(KeyHash::slice_as_raw(&hashes)[1], hashes[1].raw());
    /// ```
    #[inline]
    #[must_use]
    pub const fn slice_as_raw(hashes: &[KeyHash]) -> &[u64] {
        crate::kernel::cast::words_of_hashes(hashes)
    }
}

/// A value that can be hashed into a [`KeyHash`].
///
/// The encoding is part of the frozen format. A string, or a vector, array or slice of bytes, is hashed as
/// its bytes, without a length or terminator, so `"ab"`, `String::from("ab")` and `b"ab"` are the same key.
/// An integer is hashed as its little-endian bytes at its own width, so `1u32` and `1u64` are different
/// keys, but `1i32` and `1u32` are the same key. `usize` and `isize` are left out, since their width depends on
/// the machine. Floats are left out too: decide what −0.0 and NaN mean to you, then hash
/// `to_bits()`.
///
/// ```
/// use trommel::{Hasher, Key};
/// let hasher = Hasher::default();
/// assert_eq!("ab".hash_with(&hasher), b"ab".hash_with(&hasher));
/// assert_ne!(1u32.hash_with(&hasher), 1u64.hash_with(&hasher));
/// ```
pub trait Key {
    /// The hash of this key under `hasher`.
    ///
    /// ```
    /// use trommel::{Hasher, Key};
    /// let hasher = Hasher::default();
    /// assert_eq!("anvil".hash_with(&hasher), hasher.hash("anvil"));
    /// ```
    fn hash_with(&self, hasher: &Hasher) -> KeyHash;

    /// Hashes a column for [`Hasher::hash_batch`]: `hashes[i]` becomes `keys[i].hash_with(hasher)`. If one slice is
    /// longer than the other, the rest of the longer slice is left alone.
    ///
    /// The default is a loop; integers override it with a vectorised form. Your own key types need not override it.
    ///
    /// ```
    /// use trommel::{Hasher, Key, KeyHash};
    /// struct Row { id: u32, name: String }
    /// // Rows with the same `id` are the same key.
    /// impl Key for Row {
    ///     fn hash_with(&self, hasher: &Hasher) -> KeyHash {
    ///         self.id.hash_with(hasher)
    ///     }
    /// }
    ///
    /// let hasher = Hasher::default();
    /// let mut hashes = [KeyHash::default(); 1];
    /// Row::hash_slice_with(&[Row { id: 7, name: "anvil".into() }], &hasher, &mut hashes);
    /// assert_eq!(hashes, [hasher.hash(&7u32)]);
    /// ```
    fn hash_slice_with(keys: &[Self], hasher: &Hasher, hashes: &mut [KeyHash])
    where
        Self: Sized,
    {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = key.hash_with(hasher);
        }
    }
}

impl Key for [u8] {
    #[inline]
    fn hash_with(&self, hasher: &Hasher) -> KeyHash {
        hasher.hash_bytes(self)
    }
}

macro_rules! key_as_bytes {
    ($($type:ty: $bytes:ident),*) => {$(
        impl Key for $type {
            #[inline]
            fn hash_with(&self, hasher: &Hasher) -> KeyHash {
                hasher.hash_bytes(self.$bytes())
            }
        }
    )*};
}
key_as_bytes!(str: as_bytes, String: as_bytes, Vec<u8>: as_slice);

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn hash_with(&self, hasher: &Hasher) -> KeyHash {
        hasher.hash_bytes(self)
    }
}

/// Implements [`Key`] for pointers: a pointer to a key is hashed like the key.
macro_rules! key_behind {
    ($($pointer:ty),*) => {$(
        impl<K: Key + ?Sized> Key for $pointer {
            #[inline]
            fn hash_with(&self, hasher: &Hasher) -> KeyHash {
                (**self).hash_with(hasher)
            }
        }
    )*};
}
key_behind!(&K, Box<K>, Rc<K>);
#[cfg(target_has_atomic = "ptr")]
key_behind!(alloc::sync::Arc<K>);

/// A borrowed and an owned key have the same hash.
impl<K: Key + ToOwned + ?Sized> Key for Cow<'_, K> {
    #[inline]
    fn hash_with(&self, hasher: &Hasher) -> KeyHash {
        (**self).hash_with(hasher)
    }
}

#[cfg(feature = "bytes")]
key_as_bytes!(bytes::Bytes: as_ref, bytes::BytesMut: as_ref);

macro_rules! key_as_little_endian {
    ($($type:ty),*) => {$(
        impl Key for $type {
            #[inline]
            fn hash_with(&self, hasher: &Hasher) -> KeyHash {
                KeyHash::from_raw(Word::hash(*self, hasher))
            }

            fn hash_slice_with(keys: &[Self], hasher: &Hasher, hashes: &mut [KeyHash]) {
                kernel::hash_column::words(hasher, keys, hashes);
            }
        }
    )*};
}
key_as_little_endian!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn equal_bytes_have_equal_hashes_in_every_type() {
        for hasher in [Hasher::xxh3(7), Hasher::xxh64(7), Hasher::siphash13([7; 16])] {
            let expected = hasher.hash_bytes(b"trommel");
            assert_eq!("trommel".hash_with(&hasher), expected);
            assert_eq!("trommel".to_string().hash_with(&hasher), expected);
            assert_eq!(b"trommel".to_vec().hash_with(&hasher), expected);
            assert_eq!(b"trommel".hash_with(&hasher), expected);
            let slice: &&[u8] = &&b"trommel"[..];
            assert_eq!(slice.hash_with(&hasher), expected);
        }
    }

    #[test]
    fn a_key_behind_a_pointer_is_the_same_key() {
        let hasher = Hasher::xxh3(7);
        let expected = hasher.hash_bytes(b"trommel");
        let (boxed, text): (Box<[u8]>, Box<str>) = (b"trommel"[..].into(), "trommel".into());
        assert_eq!([boxed.hash_with(&hasher), text.hash_with(&hasher)], [expected; 2]);
        let (arc, rc): (alloc::sync::Arc<[u8]>, Rc<str>) = (boxed.into(), text.into());
        assert_eq!([arc.hash_with(&hasher), rc.hash_with(&hasher)], [expected; 2]);
        let borrowed: Cow<'_, str> = Cow::Borrowed("trommel");
        let owned: Cow<'_, [u8]> = Cow::Owned(b"trommel".to_vec());
        assert_eq!([borrowed.hash_with(&hasher), owned.hash_with(&hasher)], [expected; 2]);
        assert_eq!(Box::new(7u32).hash_with(&hasher), hasher.hash(&7u32));
        #[cfg(feature = "bytes")]
        {
            assert_eq!(bytes::Bytes::from_static(b"trommel").hash_with(&hasher), expected);
            assert_eq!(bytes::BytesMut::from(&b"trommel"[..]).hash_with(&hasher), expected);
        }
    }

    /// All 64 bits of the hashes vary, even if the hash function returns the bytes of small integers unmixed.
    #[test]
    fn from_hash_spreads_the_output_of_a_weak_function() {
        #[derive(Default)]
        struct Identity(u64);
        impl core::hash::Hasher for Identity {
            fn finish(&self) -> u64 {
                self.0
            }
            fn write(&mut self, bytes: &[u8]) {
                bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
            }
        }
        let build = core::hash::BuildHasherDefault::<Identity>::default();
        let hashes: Vec<u64> = (0..4096u16).map(|i| KeyHash::from_hash(&i, &build).raw()).collect();
        for bit in 0..64 {
            let ones = hashes.iter().filter(|hash| **hash >> bit & 1 == 1).count();
            // The standard deviation of `ones` is √4096 / 2 = 32, and 192 is six times the standard deviation.
            assert!(ones.abs_diff(2048) < 192, "bit {bit} is 1 in {ones} of 4096 hashes");
        }
    }

    #[test]
    fn signed_integers_hash_like_their_bits() {
        let hasher = Hasher::default();
        assert_eq!((-1i8).hash_with(&hasher), 255u8.hash_with(&hasher));
        assert_eq!((-1i64).hash_with(&hasher), u64::MAX.hash_with(&hasher));
        assert_eq!(0x0102u16.hash_with(&hasher), [2u8, 1].hash_with(&hasher));
    }
}
