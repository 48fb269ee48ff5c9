//! A filter of any kind.

use crate::FilterView;
use alloc::vec::Vec;
use core::fmt;
use trommel_base::{
    Bitmap, Bulk, Count, Filter, FilterKind, FoldError, FormatError, Full, Hasher, Incompatible,
    Insert, InsertBulk, KeyHash, Merge, Remove, Workers,
};
use trommel_bloom::{
    BloomFilter, CacheLineBloom, CountingBloomFilter, RegisterBloom, SplitBlockBloom,
};
use trommel_cuckoo::CuckooFilter;
use trommel_quotient::{CacheLineQuotient, QuotientFilter};
use trommel_simd::Isa;

/// An owned filter whose kind is known at run time only.
///
/// Every kind takes keys and answers lookups; what only some can do are methods that can say no. The
/// choice of kind is made once a call, so a batch costs what it costs on the kind itself.
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
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyFilter {
    /// A standard Bloom filter.
    Bloom(BloomFilter),
    /// A counting Bloom filter.
    CountingBloom(CountingBloomFilter),
    /// A register-blocked Bloom filter.
    RegisterBloom(RegisterBloom),
    /// A split-block Bloom filter.
    SplitBlockBloom(SplitBlockBloom),
    /// A cache-line-blocked Bloom filter.
    CacheLineBloom(CacheLineBloom),
    /// A quotient filter in blocks of 64 slots.
    Quotient(QuotientFilter),
    /// A quotient filter with a block in a cache line.
    CacheLineQuotient(CacheLineQuotient),
    /// A cuckoo filter.
    Cuckoo(CuckooFilter),
}

/// A capability that the kind lacks. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The kind of the filter.
    pub kind: FilterKind,
    /// What it cannot do: `"remove"`, `"count"`.
    pub operation: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} filter cannot {}", self.kind, self.operation)
    }
}

impl core::error::Error for Unsupported {}

/// Why two filters were not merged. Neither was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError {
    /// They are of different kinds.
    Kinds {
        /// The kind of the filter that was to be changed.
        left: FilterKind,
        /// The kind of the other one.
        right: FilterKind,
    },
    /// They are of one kind, but unlike.
    Incompatible(Incompatible),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kinds { left, right } => {
                write!(f, "a {left} filter cannot take in a {right} filter")
            }
            Self::Incompatible(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for MergeError {}

impl From<Incompatible> for MergeError {
    fn from(error: Incompatible) -> Self {
        Self::Incompatible(error)
    }
}

/// Evaluates an expression for the filter inside an [`AnyFilter`] or a [`FilterView`].
macro_rules! each_kind {
    ($any:ident in $value:expr, $filter:ident => $body:expr) => {
        match $value {
            $any::Bloom($filter) => $body,
            $any::CountingBloom($filter) => $body,
            $any::RegisterBloom($filter) => $body,
            $any::SplitBlockBloom($filter) => $body,
            $any::CacheLineBloom($filter) => $body,
            $any::Quotient($filter) => $body,
            $any::CacheLineQuotient($filter) => $body,
            $any::Cuckoo($filter) => $body,
        }
    };
}
pub(crate) use each_kind;

/// Implements [`Filter`] for an [`AnyFilter`] or a [`FilterView`] by asking the filter inside.
macro_rules! filter_by_kind {
    ($any:ty) => {
        impl Filter for $any {
            fn contains_hash(&self, hash: KeyHash) -> bool {
                each_kind!(Self in self, filter => filter.contains_hash(hash))
            }

            fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
                each_kind!(Self in self, filter => filter.contains_batch(hashes, found));
            }

            fn hasher(&self) -> Hasher {
                each_kind!(Self in self, filter => filter.hasher())
            }

            fn len(&self) -> usize {
                each_kind!(Self in self, filter => filter.len())
            }

            fn memory_bytes(&self) -> usize {
                each_kind!(Self in self, filter => filter.memory_bytes())
            }

            fn is_ordered_by_hash(&self) -> bool {
                each_kind!(Self in self, filter => filter.is_ordered_by_hash())
            }

            fn expected_fpr(&self) -> f64 {
                each_kind!(Self in self, filter => filter.expected_fpr())
            }
        }
    };
}
pub(crate) use filter_by_kind;

filter_by_kind!(AnyFilter);

impl AnyFilter {
    /// The kind.
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        match self {
            Self::Bloom(_) => FilterKind::Bloom,
            Self::CountingBloom(_) => FilterKind::CountingBloom,
            Self::RegisterBloom(_) => FilterKind::RegisterBloom,
            Self::SplitBlockBloom(_) => FilterKind::SplitBlockBloom,
            Self::CacheLineBloom(_) => FilterKind::CacheLineBloom,
            Self::Quotient(_) => FilterKind::Quotient,
            Self::CacheLineQuotient(_) => FilterKind::CacheLineQuotient,
            Self::Cuckoo(_) => FilterKind::Cuckoo,
        }
    }

    /// The instruction set in use.
    #[must_use]
    pub fn isa(&self) -> Isa {
        each_kind!(Self in self, filter => filter.isa())
    }

    /// Bits that a key sets, in a filter that is made of them.
    #[must_use]
    pub fn hash_count(&self) -> Option<u32> {
        match self {
            Self::Bloom(filter) => Some(filter.hash_count()),
            Self::CountingBloom(filter) => Some(filter.hash_count()),
            Self::RegisterBloom(filter) => Some(filter.hash_count()),
            Self::SplitBlockBloom(filter) => Some(filter.hash_count()),
            Self::CacheLineBloom(filter) => Some(filter.hash_count()),
            Self::Quotient(_) | Self::CacheLineQuotient(_) | Self::Cuckoo(_) => None,
        }
    }

    /// An estimate of the distinct keys held: one pass over the bits of a Bloom filter. A filter of
    /// fingerprints knows how many it holds, copies included.
    #[must_use]
    pub fn estimate_keys(&self) -> f64 {
        match self {
            Self::Bloom(filter) => filter.estimate_keys(),
            Self::CountingBloom(filter) => filter.estimate_keys(),
            Self::RegisterBloom(filter) => filter.estimate_keys(),
            Self::SplitBlockBloom(filter) => filter.estimate_keys(),
            Self::CacheLineBloom(filter) => filter.estimate_keys(),
            Self::Quotient(_) | Self::CacheLineQuotient(_) | Self::Cuckoo(_) => self.len() as f64,
        }
    }

    /// Removes one copy of a key; false if it is not there. See [`Remove::remove_hash`].
    ///
    /// # Errors
    /// [`Unsupported`] if the kind cannot remove.
    pub fn remove_hash(&mut self, hash: KeyHash) -> Result<bool, Unsupported> {
        match self {
            Self::CountingBloom(filter) => Ok(filter.remove_hash(hash)),
            Self::Quotient(filter) => Ok(filter.remove_hash(hash)),
            Self::CacheLineQuotient(filter) => Ok(filter.remove_hash(hash)),
            Self::Cuckoo(filter) => Ok(filter.remove_hash(hash)),
            other => Err(Unsupported { kind: other.kind(), operation: "remove" }),
        }
    }

    /// How many copies of a key were inserted, or more. See [`Count::count_hash`].
    ///
    /// # Errors
    /// [`Unsupported`] if the kind cannot count.
    pub fn count_hash(&self, hash: KeyHash) -> Result<u64, Unsupported> {
        match self {
            Self::CountingBloom(filter) => Ok(filter.count_hash(hash)),
            Self::Quotient(filter) => Ok(filter.count_hash(hash)),
            Self::CacheLineQuotient(filter) => Ok(filter.count_hash(hash)),
            Self::Cuckoo(filter) => Ok(filter.count_hash(hash)),
            other => Err(Unsupported { kind: other.kind(), operation: "count" }),
        }
    }

    /// Takes in all keys of another filter. See [`Merge::merge`].
    ///
    /// # Errors
    /// [`MergeError`] if kinds, sizes, parameters or hashers differ; this filter is as it was.
    pub fn merge(&mut self, other: &AnyFilter) -> Result<(), MergeError> {
        match (&mut *self, other) {
            (Self::Bloom(left), Self::Bloom(right)) => left.merge(right)?,
            (Self::CountingBloom(left), Self::CountingBloom(right)) => left.merge(right)?,
            (Self::RegisterBloom(left), Self::RegisterBloom(right)) => left.merge(right)?,
            (Self::SplitBlockBloom(left), Self::SplitBlockBloom(right)) => left.merge(right)?,
            (Self::CacheLineBloom(left), Self::CacheLineBloom(right)) => left.merge(right)?,
            (Self::Quotient(left), Self::Quotient(right)) => left.merge(right)?,
            (Self::CacheLineQuotient(left), Self::CacheLineQuotient(right)) => left.merge(right)?,
            (Self::Cuckoo(left), Self::Cuckoo(right)) => left.merge(right)?,
            (left, right) => {
                return Err(MergeError::Kinds { left: left.kind(), right: right.kind() });
            }
        }
        Ok(())
    }

    /// A filter of `1 / factor` of the size with the same keys. See [`Bloom::fold`](crate::Bloom::fold).
    ///
    /// # Errors
    /// [`FoldError`] if the kind cannot fold, the size is not a multiple of the factor, or memory is
    /// refused.
    pub fn fold(&self, factor: u32) -> Result<AnyFilter, FoldError> {
        Ok(match self {
            Self::Bloom(filter) => Self::Bloom(filter.fold(factor)?),
            Self::RegisterBloom(filter) => Self::RegisterBloom(filter.fold(factor)?),
            Self::SplitBlockBloom(filter) => Self::SplitBlockBloom(filter.fold(factor)?),
            Self::CacheLineBloom(filter) => Self::CacheLineBloom(filter.fold(factor)?),
            Self::CountingBloom(_)
            | Self::Quotient(_)
            | Self::CacheLineQuotient(_)
            | Self::Cuckoo(_) => {
                return Err(FoldError::Unsupported { kind: self.kind() });
            }
        })
    }

    /// The frozen filter, in the format of docs/FORMAT.md.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        each_kind!(Self in self, filter => filter.to_bytes())
    }

    /// Writes the frozen filter, without a copy of its table.
    ///
    /// # Errors
    /// What the writer says.
    #[cfg(feature = "std")]
    pub fn write_to(&self, to: impl std::io::Write) -> std::io::Result<()> {
        each_kind!(Self in self, filter => filter.write_to(to))
    }

    /// An owned filter from frozen bytes of any kind. Everything is checked before memory is asked
    /// for.
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter.
    pub fn from_bytes(bytes: &[u8]) -> Result<AnyFilter, FormatError> {
        FilterView::parse(bytes)?.to_owned_filter()
    }
}

impl Insert for AnyFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        each_kind!(Self in self, filter => filter.insert_hash(hash))
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        each_kind!(Self in self, filter => filter.insert_batch(hashes))
    }
}

impl InsertBulk for AnyFilter {
    fn lines_per_insert(&self) -> Option<u32> {
        each_kind!(Self in self, filter => filter.lines_per_insert())
    }

    fn slices<W: Workers>(&self, bulk: Bulk<'_, W>) -> usize {
        each_kind!(Self in self, filter => filter.slices(bulk))
    }

    fn insert_slices<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        each_kind!(Self in self, filter => filter.insert_slices(hashes, bulk))
    }

    fn insert_bulk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        each_kind!(Self in self, filter => filter.insert_bulk(hashes, bulk))
    }
}

macro_rules! any_from {
    ($($kind:ident: $filter:ty),*) => {$(
        impl From<$filter> for AnyFilter {
            fn from(filter: $filter) -> Self {
                Self::$kind(filter)
            }
        }
    )*};
}
any_from!(
    Bloom: BloomFilter,
    CountingBloom: CountingBloomFilter,
    RegisterBloom: RegisterBloom,
    SplitBlockBloom: SplitBlockBloom,
    CacheLineBloom: CacheLineBloom,
    Quotient: QuotientFilter,
    CacheLineQuotient: CacheLineQuotient,
    Cuckoo: CuckooFilter
);
