//! A zero-copy view of a frozen filter of any kind.

use crate::AnyFilter;
use crate::any::{each_kind, filter_by_kind};
use trommel_base::container;
use trommel_base::{Bitmap, Filter, FilterKind, FormatError, Hasher, KeyHash};
use trommel_bloom::{
    BloomFilter, CacheLineBloom, CountingBloomFilter, RegisterBloom, SplitBlockBloom,
};
use trommel_cuckoo::CuckooFilter;
use trommel_quotient::{CacheLineQuotient, QuotientFilter};

/// A filter that is read where its bytes are: in a mapped file, a network buffer, a cached block, at
/// any alignment. It answers as the filter that was frozen. At the same speed, too, where the bytes
/// begin at a multiple of 64 (so that no block crosses a cache line) and lie in huge pages as a large
/// owned table does; elsewhere lookups take up to twice as long.
///
/// ```
/// use trommel::{Filter, FilterView, Insert, SplitBlockBloom};
/// let mut filter = SplitBlockBloom::with_capacity_and_fpr(100, 0.01)?;
/// filter.insert("anvil").unwrap();
/// let bytes = filter.to_bytes();
///
/// let view = FilterView::parse(&bytes).unwrap();
/// assert!(view.contains("anvil"));
/// assert!(FilterView::parse(&bytes[1..]).is_err());
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FilterView<'a> {
    /// A standard Bloom filter.
    Bloom(BloomFilter<&'a [u8]>),
    /// A counting Bloom filter.
    CountingBloom(CountingBloomFilter<&'a [u8]>),
    /// A register-blocked Bloom filter.
    RegisterBloom(RegisterBloom<&'a [u8]>),
    /// A split-block Bloom filter.
    SplitBlockBloom(SplitBlockBloom<&'a [u8]>),
    /// A cache-line-blocked Bloom filter.
    CacheLineBloom(CacheLineBloom<&'a [u8]>),
    /// A quotient filter in blocks of 64 slots.
    Quotient(QuotientFilter<&'a [u8]>),
    /// A quotient filter with a block in a cache line.
    CacheLineQuotient(CacheLineQuotient<&'a [u8]>),
    /// A cuckoo filter.
    Cuckoo(CuckooFilter<&'a [u8]>),
}

impl<'a> FilterView<'a> {
    /// Checks the bytes and views them. Cost: one pass over the bytes for the checksum; of a quotient
    /// filter another, of some tens of nanoseconds a slot, that proves its structure; of a cuckoo filter
    /// another that counts its fingerprints.
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter.
    pub fn parse(bytes: &'a [u8]) -> Result<FilterView<'a>, FormatError> {
        let parsed = container::parse(bytes)?;
        Ok(match parsed.header.kind {
            FilterKind::Bloom => Self::Bloom(BloomFilter::from_container(parsed)?),
            FilterKind::CountingBloom => {
                Self::CountingBloom(CountingBloomFilter::from_container(parsed)?)
            }
            FilterKind::RegisterBloom => {
                Self::RegisterBloom(RegisterBloom::from_container(parsed)?)
            }
            FilterKind::SplitBlockBloom => {
                Self::SplitBlockBloom(SplitBlockBloom::from_container(parsed)?)
            }
            FilterKind::CacheLineBloom => {
                Self::CacheLineBloom(CacheLineBloom::from_container(parsed)?)
            }
            FilterKind::Quotient => Self::Quotient(QuotientFilter::from_container(parsed)?),
            FilterKind::CacheLineQuotient => {
                Self::CacheLineQuotient(CacheLineQuotient::from_container(parsed)?)
            }
            FilterKind::Cuckoo => Self::Cuckoo(CuckooFilter::from_container(parsed)?),
            other => return Err(FormatError::UnknownKind { code: other as u16 }),
        })
    }

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

    /// An owned copy, which takes keys again.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the memory is refused.
    pub fn to_owned_filter(&self) -> Result<AnyFilter, FormatError> {
        Ok(match self {
            Self::Bloom(filter) => AnyFilter::Bloom(filter.to_owned_filter()?),
            Self::CountingBloom(filter) => AnyFilter::CountingBloom(filter.to_owned_filter()?),
            Self::RegisterBloom(filter) => AnyFilter::RegisterBloom(filter.to_owned_filter()?),
            Self::SplitBlockBloom(filter) => AnyFilter::SplitBlockBloom(filter.to_owned_filter()?),
            Self::CacheLineBloom(filter) => AnyFilter::CacheLineBloom(filter.to_owned_filter()?),
            Self::Quotient(filter) => AnyFilter::Quotient(filter.to_owned_filter()?),
            Self::CacheLineQuotient(filter) => {
                AnyFilter::CacheLineQuotient(filter.to_owned_filter()?)
            }
            Self::Cuckoo(filter) => AnyFilter::Cuckoo(filter.to_owned_filter()?),
        })
    }
}

filter_by_kind!(FilterView<'_>);
