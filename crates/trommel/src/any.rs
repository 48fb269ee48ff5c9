//! A filter of any kind.

use crate::kinds::types::*;
use trommel_base::{
    Bulk, Count, Filter, FilterKind, FoldError, Full, Insert, InsertBulk, KeyHash, Merge,
    MergeError, Remove, Storage, Unsupported,
};

/// The filter inside, if it is of the kind given, and otherwise [`WrongKind`].
macro_rules! of_kind_or_wrong {
    ($any:ident::$kind:ident in $value:expr) => {
        match $value {
            $any::$kind(filter) => Ok(filter),
            other => Err(WrongKind { expected: FilterKind::$kind, found: other.kind() }),
        }
    };
}
pub(crate) use of_kind_or_wrong;

macro_rules! declare_any_filter {
    ([] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        /// An owned filter whose kind is known only at run time.
        ///
        /// Every kind inserts and looks up keys. The methods that only some kinds support return an error, or `None`,
        /// for the other kinds. A call with a batch selects the kind once for all its keys, so the call costs as much
        /// as on the filter's own type.
        ///
        /// ```
        /// use trommel::{AnyFilter, Filter, FilterKind, FilterSpec, Insert};
        /// let mut filter = FilterSpec::new(FilterKind::CountingBloom).keys(100).build()?;
        /// filter.insert("anvil").unwrap();
        /// let bytes = filter.to_bytes();
        /// let mut read = AnyFilter::from_bytes(&bytes).unwrap();
        /// let hash = read.hash("anvil");
        /// assert_eq!(read.remove_hash(hash), Ok(true));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// Two filters are equal if they have the same kind and the same frozen bytes.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        // `repr(u8)` stores the kind in a byte of its own. Without it, the compiler packed the kind into unused values
        // of a filter's fields, and each insert or lookup of a single key took 6 more instructions. For a lookup in a
        // register-blocked filter, that is a tenth of all its instructions.
        #[repr(u8)]
        pub enum AnyFilter {
            $($(#[$doc])* $kind($type),)*
        }

        $(
            impl From<$type> for AnyFilter {
                fn from(filter: $type) -> Self {
                    Self::$kind(filter)
                }
            }

            /// Returns the filter inside. A filter of another kind is returned as the error.
            impl TryFrom<AnyFilter> for $type {
                type Error = AnyFilter;

                fn try_from(filter: AnyFilter) -> Result<Self, AnyFilter> {
                    match filter {
                        AnyFilter::$kind(filter) => Ok(filter),
                        other => Err(other),
                    }
                }
            }

            impl<'f> TryFrom<&'f AnyFilter> for &'f $type {
                type Error = WrongKind;

                fn try_from(filter: &'f AnyFilter) -> Result<Self, WrongKind> {
                    of_kind_or_wrong!(AnyFilter::$kind in filter)
                }
            }
        )*
    };
}
kinds!(declare_any_filter []);

/// The filter is not of the kind that was asked for.
///
/// ```
/// use trommel::error::WrongKind;
/// use trommel::{BloomFilter, CuckooFilter, FilterKind, FilterSpec};
/// let filter = FilterSpec::new(FilterKind::Bloom).build()?;
/// assert!(<&BloomFilter>::try_from(&filter).is_ok());
/// let WrongKind { expected, found } = <&CuckooFilter>::try_from(&filter).unwrap_err();
/// assert_eq!((expected, found), (FilterKind::Cuckoo, FilterKind::Bloom));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongKind {
    /// The kind asked for.
    pub expected: FilterKind,
    /// The kind of the filter.
    pub found: FilterKind,
}

trommel_base::error_messages! { WrongKind {
    Self { expected, found } => "expected a {expected} filter, found a {found} filter";
}}

impl From<WrongKind> for MergeError {
    fn from(WrongKind { expected, found }: WrongKind) -> Self {
        Self::Kinds { left: expected, right: found }
    }
}

/// Implements [`Filter`] for `AnyFilter` or a view, by calling the methods of the filter inside.
macro_rules! filter_by_kind {
    ($any:ty) => {
        impl $any {
            /// Not inlined: otherwise every call of [`Filter::contains_hash`] would save and restore registers that
            /// only lookups in filters with slots use.
            #[inline(never)]
            fn contains_in_slots(&self, hash: KeyHash) -> bool {
                each_kind!(Self in self, filter => filter.contains_hash(hash))
            }
        }

        impl Filter for $any {
            #[inline]
            fn contains_hash(&self, hash: KeyHash) -> bool {
                each_kind_that!(bits: Self in self, filter => filter.contains_hash(hash),
                    else self.contains_in_slots(hash))
            }

            trommel_base::delegate_filter!(filter_inside!);
        }
    };
}
pub(crate) use filter_by_kind;

/// Writes methods of `AnyFilter` or a view. Each name stands for the method of this name, which gets the documentation
/// above the name.
macro_rules! methods_by_kind {
    ($($(#[$doc:meta])* $method:ident;)*) => {
        $(method_by_kind! { $method $(#[$doc])* })*
    };
}
pub(crate) use methods_by_kind;

/// The rows of `methods_by_kind`: one method each.
macro_rules! method_by_kind {
    (kind $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn kind(&self) -> FilterKind {
            kinds!(kind_arms [Self, self])
        }
    };
    (isa $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn isa(&self) -> trommel_simd::Isa {
            each_kind!(Self in self, filter => filter.isa())
        }
    };
    (hash_count $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn hash_count(&self) -> Option<u32> {
            each_kind_that!(bits: Self in self, filter => Some(filter.hash_count()), else None)
        }
    };
    (load_factor $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn load_factor(&self) -> Option<f64> {
            each_kind_that!(slots: Self in self, filter => Some(filter.load_factor()), else None)
        }
    };
    (estimate_len $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn estimate_len(&self) -> f64 {
            each_kind_that!(bits: Self in self, filter => filter.estimate_len(), else self.len() as f64)
        }
    };
    (count_hash $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn count_hash(&self, hash: KeyHash) -> Result<u64, Unsupported> {
            let refused = Unsupported { kind: self.kind(), operation: "count" };
            each_kind_that!(removes: Self in self, filter => Ok(filter.count_hash(hash)), else Err(refused))
        }
    };
    (to_bytes $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn to_bytes(&self) -> alloc::vec::Vec<u8> {
            each_kind!(Self in self, filter => filter.to_bytes())
        }
    };
    (encoded_len $(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        pub fn encoded_len(&self) -> usize {
            each_kind!(Self in self, filter => filter.encoded_len())
        }
    };
    (to_owned_filter $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn to_owned_filter(&self) -> Result<AnyFilter, FormatError> {
            each_kind!(Self in self, filter => Ok(filter.to_owned_filter()?.into()))
        }
    };
}
pub(crate) use method_by_kind;

filter_by_kind!(AnyFilter);

impl AnyFilter {
    methods_by_kind! {
        /// The kind of the filter.
        ///
        /// ```
        /// use trommel::{FilterKind, FilterSpec};
        /// let filter = FilterSpec::new(FilterKind::Cuckoo).build()?;
        /// assert_eq!(filter.kind(), FilterKind::Cuckoo);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        kind;

        /// The instruction set in use.
        ///
        /// ```
        /// use trommel::{FilterKind, FilterSpec, Isa};
        /// let filter = FilterSpec::new(FilterKind::Cuckoo).isa(Isa::Portable).build()?;
        /// assert_eq!(filter.isa(), Isa::Portable);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        isa;
    }

    /// Removes every key. The filter keeps its size and the memory of its table.
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, Insert};
    /// let mut filter = FilterSpec::new(FilterKind::Cuckoo).keys(1_000).build()?;
    /// filter.insert("anvil").unwrap();
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn clear(&mut self) {
        each_kind!(Self in self, filter => filter.clear());
    }

    methods_by_kind! {
        /// The number of bits that a key sets; `None` for a filter with slots.
        ///
        /// ```
        /// use trommel::{FilterKind, FilterSpec};
        /// assert_eq!(FilterSpec::new(FilterKind::SplitBlockBloom).build()?.hash_count(), Some(8));
        /// assert_eq!(FilterSpec::new(FilterKind::Cuckoo).build()?.hash_count(), None);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        hash_count;

        /// The number of fingerprints, copies included, divided by the number of slots; `None` for a Bloom filter.
        ///
        /// ```
        /// use trommel::{FilterKind, FilterSpec, Insert};
        /// let mut filter = FilterSpec::new(FilterKind::Quotient).keys(950).build()?; // in 1,000 slots
        /// filter.insert("anvil").unwrap();
        /// assert_eq!(filter.load_factor(), Some(0.001));
        /// assert_eq!(FilterSpec::new(FilterKind::Bloom).build()?.load_factor(), None);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        load_factor;

        /// An estimate of the number of distinct keys. For a Bloom filter, the call takes one pass over the bits. A
        /// filter with slots knows its number of fingerprints, copies included, and returns that number.
        ///
        /// ```
        /// use trommel::{Filter, FilterKind, FilterSpec, Insert};
        /// let mut filter = FilterSpec::new(FilterKind::Bloom).keys(1_000).build()?;
        /// for key in ["anvil", "anvil", "forge"] {
        ///     filter.insert(key).unwrap();
        /// }
        /// assert!((filter.estimate_len() - 2.0).abs() < 0.1 && filter.len() == 3);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        estimate_len;
    }

    /// Removes one copy of a key; returns false if the key is not in the filter. See [`Remove::remove_hash`].
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, Insert};
    /// let mut filter = FilterSpec::new(FilterKind::Cuckoo).keys(1_000).build()?;
    /// filter.insert("anvil").unwrap();
    /// let hash = filter.hash("anvil");
    /// assert_eq!((filter.remove_hash(hash), filter.remove_hash(hash)), (Ok(true), Ok(false)));
    /// assert!(FilterSpec::new(FilterKind::Bloom).build()?.remove_hash(hash).is_err());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`] if the kind cannot remove.
    pub fn remove_hash(&mut self, hash: KeyHash) -> Result<bool, Unsupported> {
        let refused = Unsupported { kind: self.kind(), operation: "remove" };
        each_kind_that!(removes: Self in self, filter => Ok(filter.remove_hash(hash)), else Err(refused))
    }

    methods_by_kind! {
        /// The number of copies of a key in the filter, or a larger number if other keys share its counters or its
        /// fingerprint. A counting filter with four-bit counters returns at most 15, even for more copies. See
        /// [`Count::count_hash`].
        ///
        /// ```
        /// use trommel::{Filter, FilterKind, FilterSpec, Insert};
        /// let mut filter = FilterSpec::new(FilterKind::Quotient).keys(1_000).multiset(true).build()?;
        /// let hash = filter.hash("anvil");
        /// filter.insert_batch(&[hash; 3]).unwrap();
        /// assert_eq!(filter.count_hash(hash), Ok(3));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// # Errors
        /// [`Unsupported`] if the kind cannot count.
        count_hash;
    }

    /// Inserts all keys of another filter. See [`Merge::merge`].
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, Insert, MergeError};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let (mut monday, mut tuesday) = (spec.build()?, spec.build()?);
    /// tuesday.insert("forge").unwrap();
    /// monday.merge(&tuesday).unwrap();
    /// assert!(monday.contains("forge"));
    /// let cuckoo = FilterSpec::new(FilterKind::Cuckoo).keys(1_000).build()?;
    /// assert!(matches!(monday.merge(&cuckoo), Err(MergeError::Kinds { .. })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError`] if kinds, sizes, parameters or hashers differ, if a filter with slots has no room for all keys,
    /// or if memory is refused. (Filters of the quotient kinds are allowed to differ in size if they have the same
    /// number of possible fingerprints, for example because they have the same `fingerprint_bits`.) If memory is
    /// refused to a counting filter with compact counters, the call ends the program instead. After an error, this
    /// filter is unchanged.
    pub fn merge(&mut self, other: &AnyFilter) -> Result<(), MergeError> {
        each_kind!(Self in self, filter => Ok(filter.merge(other.try_into()?)?))
    }

    /// Keeps only the bits that are also set in another filter. Keys that both filters hold are still found; other keys
    /// can be found too, even some that neither filter holds. See [`Bloom::intersect`](crate::bloom::Bloom::intersect).
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, Insert};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let (mut monday, mut tuesday) = (spec.build()?, spec.build()?);
    /// monday.insert("anvil").unwrap();
    /// monday.insert("forge").unwrap();
    /// tuesday.insert("forge").unwrap();
    /// monday.intersect(&tuesday).unwrap();
    /// assert!(monday.contains("forge") && !monday.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError::Unsupported`] if this filter's kind cannot intersect. Otherwise [`MergeError::Kinds`] if the kinds
    /// differ, or [`MergeError::Incompatible`] if sizes, parameters or hashers differ. After an error, this filter is
    /// unchanged.
    pub fn intersect(&mut self, other: &AnyFilter) -> Result<(), MergeError> {
        let refused = Unsupported { kind: self.kind(), operation: "intersect" };
        each_kind_that!(
            folds: Self in self,
            filter => Ok(filter.intersect::<Storage>(other.try_into()?)?),
            else Err(MergeError::Unsupported(refused))
        )
    }

    /// Returns a filter with the same keys and `1 / factor` of the size. See
    /// [`Bloom::fold`](crate::bloom::Bloom::fold).
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::SplitBlockBloom).keys(1_000).foldable_by(8);
    /// let large = spec.build()?;
    /// assert_eq!(large.fold(8).unwrap().memory_bytes() * 8, large.memory_bytes());
    /// assert!(FilterSpec::new(FilterKind::Cuckoo).build()?.fold(2).is_err());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FoldError`] if the kind cannot fold, the size is not a multiple of the factor, or memory is
    /// refused.
    pub fn fold(&self, factor: u32) -> Result<AnyFilter, FoldError> {
        let refused = FoldError::Unsupported { kind: self.kind() };
        each_kind_that!(folds: Self in self, filter => Ok(filter.fold(factor)?.into()), else Err(refused))
    }

    /// Returns a copy of the filter, folded to half its size again and again, as long as the size can be halved and the
    /// expected false-positive rate stays at most `fpr`. Returns `None` if this filter's own rate is above `fpr`. See
    /// [`Bloom::fold_to_fpr`](crate::bloom::Bloom::fold_to_fpr).
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, Insert};
    /// let spec = FilterSpec::new(FilterKind::SplitBlockBloom).keys(100_000).foldable_by(16);
    /// let mut large = spec.build()?;
    /// for order in 0..10_000u64 {
    ///     large.insert(&order).unwrap();
    /// }
    /// let small = large.fold_to_fpr(0.01).unwrap().unwrap();
    /// assert!(small.memory_bytes() <= large.memory_bytes() / 8 && small.expected_fpr() <= 0.01);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FoldError`] if the kind cannot fold, or memory is refused.
    pub fn fold_to_fpr(&self, fpr: f64) -> Result<Option<AnyFilter>, FoldError> {
        let refused = FoldError::Unsupported { kind: self.kind() };
        each_kind_that!(
            folds: Self in self,
            filter => Ok(filter.fold_to_fpr(fpr)?.map(AnyFilter::from)),
            else Err(refused)
        )
    }

    methods_by_kind! {
        /// Returns the frozen bytes of the filter, in the format of docs/FORMAT.md.
        ///
        /// Ends the program if the system refuses the memory; [`write_to`](Self::write_to) does not need this memory.
        ///
        /// ```
        /// use trommel::{AnyFilter, FilterKind, FilterSpec, Insert};
        /// let mut filter = FilterSpec::new(FilterKind::Cuckoo).keys(1_000).build()?;
        /// filter.insert("anvil").unwrap();
        /// assert_eq!(AnyFilter::from_bytes(&filter.to_bytes()), Ok(filter));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        to_bytes;

        /// The number of bytes that [`AnyFilter::to_bytes`] returns. Allocates nothing.
        ///
        /// ```
        /// use trommel::{Filter, FilterKind, FilterSpec};
        /// let filter = FilterSpec::new(FilterKind::Bloom).keys(1_000).build()?;
        /// assert_eq!(filter.encoded_len(), 128 + filter.memory_bytes()); // a header, and the table
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        encoded_len;
    }

    /// Writes the frozen bytes, without a copy of the table.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterSpec};
    /// let filter = FilterSpec::new(FilterKind::Bloom).keys(1_000).build()?;
    /// let mut file = Vec::new();
    /// filter.write_to(&mut file)?;
    /// assert_eq!(file, filter.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The writer's errors. For a counting filter with compact counters also `ErrorKind::OutOfMemory`, if there is no
    /// memory for the bytes of its overflow table.
    #[cfg(feature = "std")]
    pub fn write_to(&self, to: impl std::io::Write) -> std::io::Result<()> {
        each_kind!(Self in self, filter => filter.write_to(to))
    }
}

impl AnyFilter {
    /// Not inlined into [`Insert::insert_hash`], for the same reason as `contains_in_slots`.
    #[inline(never)]
    fn insert_in_slots(&mut self, hash: KeyHash) -> Result<bool, Full> {
        each_kind!(Self in self, filter => filter.insert_hash(hash))
    }
}

impl Insert for AnyFilter {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        // Two steps, since the borrow checker refuses a match on `self` whose arms use `self` again.
        each_kind_that!(bits: Self in self, filter => return filter.insert_hash(hash), else {});
        self.insert_in_slots(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        each_kind!(Self in self, filter => filter.insert_batch(hashes))
    }
}

impl InsertBulk for AnyFilter {
    fn lines_per_insert(&self) -> Option<u32> {
        each_kind!(Self in self, filter => filter.lines_per_insert())
    }

    fn slices(&self, bulk: Bulk<'_>) -> usize {
        each_kind!(Self in self, filter => filter.slices(bulk))
    }

    fn insert_slices(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        each_kind!(Self in self, filter => filter.insert_slices(hashes, bulk))
    }

    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        each_kind!(Self in self, filter => filter.insert_bulk(hashes, bulk))
    }
}
