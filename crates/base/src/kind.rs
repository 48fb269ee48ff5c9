//! The kinds of filter.

use core::fmt;
use core::str::FromStr;

/// A kind of filter; the number is what the container stores.
///
/// ```
/// use trommel_base::FilterKind;
/// for kind in FilterKind::ALL {
///     assert_eq!(kind.to_string().parse::<FilterKind>(), Ok(*kind));
/// }
/// assert_eq!(FilterKind::SplitBlockBloom.to_string(), "split-block-bloom");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum FilterKind {
    /// The standard Bloom filter: `k` bits anywhere.
    Bloom = 1,
    /// A standard Bloom filter with a counter beside every bit, so that keys can be removed.
    CountingBloom = 2,
    /// All bits of a key in one 64-bit word.
    RegisterBloom = 3,
    /// All bits of a key in one 256-bit block, one in each of its eight 32-bit lanes (Parquet).
    SplitBlockBloom = 4,
    /// All bits of a key in one 64-byte line, one in each of its eight 64-bit lanes.
    CacheLineBloom = 5,
    /// A quotient filter in blocks of 64 slots, remainders of any width.
    Quotient = 6,
    /// A quotient filter of 8-bit remainders, a block in one 64-byte line.
    CacheLineQuotient = 7,
    /// A cuckoo filter: four fingerprints a bucket, two buckets a key.
    Cuckoo = 8,
}

/// A name that is no kind of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown kind of filter, expected one of")?;
        FilterKind::ALL.iter().try_for_each(|kind| write!(f, " {kind}"))
    }
}

impl core::error::Error for UnknownKind {}

impl FilterKind {
    /// Every kind that there is.
    pub const ALL: &'static [FilterKind] = &[
        FilterKind::Bloom,
        FilterKind::CountingBloom,
        FilterKind::RegisterBloom,
        FilterKind::SplitBlockBloom,
        FilterKind::CacheLineBloom,
        FilterKind::Quotient,
        FilterKind::CacheLineQuotient,
        FilterKind::Cuckoo,
    ];

    /// The name in kebab case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::CountingBloom => "counting-bloom",
            Self::RegisterBloom => "register-bloom",
            Self::SplitBlockBloom => "split-block-bloom",
            Self::CacheLineBloom => "cache-line-bloom",
            Self::Quotient => "quotient",
            Self::CacheLineQuotient => "cache-line-quotient",
            Self::Cuckoo => "cuckoo",
        }
    }

    /// The kind of a stored number.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| *kind as u16 == code)
    }
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FilterKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(UnknownKind)
    }
}
