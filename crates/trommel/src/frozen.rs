//! The trait [`Frozen`], through which generic code freezes filters of any type and reads them back.

use crate::any::AnyFilter;
use crate::kinds::types::*;
use crate::view::FilterView;
use alloc::vec::Vec;
use trommel_base::{Filter, FormatError};

/// A filter that can be written as frozen bytes, in the format of docs/FORMAT.md, and read from them.
///
/// The filter type of every kind, and [`AnyFilter`], have these methods themselves; this trait is for code that is
/// generic over filters.
///
/// ```
/// use trommel::{Filter, FormatError, Insert, RegisterBloom};
/// use trommel::container::Frozen;
///
/// /// Freezes a filter of any type, and reads it back.
/// fn through_bytes<F: Frozen>(filter: &F) -> Result<F, FormatError> {
///     let bytes = filter.to_bytes();
///     assert_eq!(bytes.len(), filter.encoded_len());
///     assert_eq!(F::parse(&bytes)?.len(), filter.len()); // a view, without a copy
///     F::from_bytes(&bytes)
/// }
///
/// let mut filter = RegisterBloom::with_capacity_and_fpr(100, 0.01)?;
/// filter.add("anvil");
/// assert!(through_bytes(&filter)?.contains("anvil"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Frozen: Filter + Sized {
    /// The type that views the filter's frozen bytes.
    type View<'a>: Filter;

    /// The number of frozen bytes. Allocates nothing.
    ///
    /// ```
    /// use trommel::container::Frozen;
    /// fn frozen_bytes(filters: &[impl Frozen]) -> usize {
    ///     filters.iter().map(Frozen::encoded_len).sum()
    /// }
    /// let filter = trommel::SplitBlockBloom::builder().keys(1_000).memory_bytes(1_024).build()?;
    /// assert_eq!(frozen_bytes(&[filter.clone(), filter]), 2 * (128 + 1_024));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn encoded_len(&self) -> usize;

    /// Returns the frozen bytes.
    ///
    /// Ends the program if the system refuses the memory; `write_to` does not need this memory.
    ///
    /// ```
    /// use trommel::{BloomFilter, container::Frozen};
    /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// assert_eq!(Frozen::to_bytes(&filter)[..8], *b"TROMMEL\0");
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn to_bytes(&self) -> Vec<u8>;

    /// Writes the frozen bytes, without a copy of the table.
    ///
    /// ```
    /// use trommel::{BloomFilter, container::Frozen};
    /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let mut file = Vec::new();
    /// Frozen::write_to(&filter, &mut file)?;
    /// assert_eq!(file, filter.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The writer's error; for a counting filter with compact counters, also `ErrorKind::OutOfMemory`, if there is no
    /// memory for the bytes of its overflow table.
    #[cfg(feature = "std")]
    fn write_to<W: std::io::Write>(&self, to: W) -> std::io::Result<()>;

    /// Checks frozen bytes and views them, without a copy of the table. The bytes may have any alignment.
    ///
    /// ```
    /// use trommel::{AnyFilter, BloomFilter, Filter, container::Frozen};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// let bytes = filter.to_bytes();
    /// assert!(<AnyFilter as Frozen>::parse(&bytes)?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter of this type, or if its keys were hashed with a
    /// secret key; for a cuckoo filter, also if the system refuses the memory for a copy of its overflow area.
    fn parse(bytes: &[u8]) -> Result<Self::View<'_>, FormatError>;

    /// Makes an owned filter from frozen bytes. Everything is checked before memory for the table is allocated.
    ///
    /// ```
    /// use trommel::{BloomFilter, CuckooFilter, container::Frozen};
    /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// assert_eq!(<BloomFilter as Frozen>::from_bytes(&filter.to_bytes()), Ok(filter.clone()));
    /// assert!(<CuckooFilter as Frozen>::from_bytes(&filter.to_bytes()).is_err());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter of this type, if its keys were hashed with a
    /// secret key, or if memory is refused.
    fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError>;
}

/// Implements [`Frozen`] with calls of the filter's own methods.
macro_rules! frozen {
    ($filter:ty, $view:ty, $parse:path) => {
        impl Frozen for $filter {
            type View<'a> = $view;

            fn encoded_len(&self) -> usize {
                self.encoded_len()
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }

            #[cfg(feature = "std")]
            fn write_to<W: std::io::Write>(&self, to: W) -> std::io::Result<()> {
                self.write_to(to)
            }

            fn parse(bytes: &[u8]) -> Result<Self::View<'_>, FormatError> {
                $parse(bytes)
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
                Self::from_bytes(bytes)
            }
        }
    };
}

macro_rules! frozen_kinds {
    ([] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        $(frozen!($type, $type<&'a [u8]>, $type::<&[u8]>::parse);)*
    };
}
kinds!(frozen_kinds []);
frozen!(AnyFilter, FilterView<'a>, FilterView::parse);

/// Serializes an [`AnyFilter`] as its frozen bytes, a byte string. In a format without byte strings, such as JSON, the
/// bytes become a sequence of numbers.
#[cfg(feature = "serde")]
mod with_serde {
    use super::AnyFilter;
    use core::fmt;
    use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::{Serialize, Serializer};
    use trommel_base::storage::room_for;

    /// Writes the frozen bytes.
    impl Serialize for AnyFilter {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.to_bytes())
        }
    }

    /// Reads frozen bytes, with the checks of [`AnyFilter::from_bytes`].
    impl<'de> Deserialize<'de> for AnyFilter {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_bytes(FrozenBytes)
        }
    }

    struct FrozenBytes;

    /// Upper bound on the bytes that are reserved before a sequence is read, since its size hint can be wrong.
    const MOST_RESERVED_BYTES: usize = 1 << 16;

    impl<'de> Visitor<'de> for FrozenBytes {
        type Value = AnyFilter;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the bytes of a frozen filter")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<AnyFilter, E> {
            AnyFilter::from_bytes(bytes).map_err(E::custom)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<AnyFilter, A::Error> {
            let hint = numbers.size_hint().unwrap_or(0);
            let mut bytes = room_for(hint.min(MOST_RESERVED_BYTES)).map_err(A::Error::custom)?;
            while let Some(byte) = numbers.next_element()? {
                bytes.try_reserve(1).map_err(A::Error::custom)?;
                bytes.push(byte);
            }
            self.visit_bytes(&bytes)
        }
    }
}
