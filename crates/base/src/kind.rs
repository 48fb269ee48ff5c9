//! The kinds of filter.

use core::fmt;

/// Declares [`FilterKind`] from a list of the kinds, each with the number that a container stores and the name.
macro_rules! filter_kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal, $name:literal;)*) => {
        /// A kind of filter. A container (the stored form of a filter) stores the number of the kind.
        ///
        /// ```
        /// use trommel::FilterKind;
        /// for kind in FilterKind::ALL {
        ///     assert_eq!(kind.to_string().parse::<FilterKind>(), Ok(*kind));
        /// }
        /// assert_eq!(FilterKind::SplitBlockBloom.to_string(), "split-block-bloom");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum FilterKind {
            $($(#[$doc])* $kind = $code,)*
        }

        impl FilterKind {
            /// All kinds.
            pub const ALL: &'static [FilterKind] = &[$(FilterKind::$kind),*];

            /// The name in kebab case.
            ///
            /// ```
            /// use trommel::FilterKind;
            /// assert_eq!(FilterKind::CacheLineQuotient.name(), "cache-line-quotient");
            /// ```
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The kind that a container stores as `code`.
            ///
            /// ```
            /// use trommel::FilterKind;
            /// assert_eq!(FilterKind::from_code(8), Some(FilterKind::Cuckoo));
            /// assert_eq!(FilterKind::from_code(99), None);
            /// ```
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code {
                    $($code => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

// Frozen filters contain these numbers. So a number never changes, and is never given to another kind.
filter_kinds! {
    /// The standard Bloom filter: a key sets `k` bits anywhere in the table.
    Bloom = 1, "bloom";
    /// A standard Bloom filter with a counter for every bit, so that keys can be removed.
    CountingBloom = 2, "counting-bloom";
    /// A Bloom filter in which all bits of a key are in one 64-bit word.
    RegisterBloom = 3, "register-bloom";
    /// A Bloom filter in which a key sets one bit in each of the eight 32-bit lanes of a 256-bit block, as in Parquet.
    SplitBlockBloom = 4, "split-block-bloom";
    /// A Bloom filter in which a key sets one bit in each of the eight 64-bit lanes of a 64-byte cache line.
    CacheLineBloom = 5, "cache-line-bloom";
    /// A quotient filter in blocks of 64 slots, with remainders of 1 to 32 bits.
    Quotient = 6, "quotient";
    /// A quotient filter in which a block is one 64-byte cache line. Remainders have 8 bits, or fewer bits once the
    /// filter has grown.
    CacheLineQuotient = 7, "cache-line-quotient";
    /// A cuckoo filter: four fingerprints per bucket, two buckets per key.
    Cuckoo = 8, "cuckoo";
}

/// The error of parsing a kind: no kind of filter has this name.
///
/// ```
/// use trommel::{FilterKind, error::UnknownKind};
/// assert_eq!("sieve".parse::<FilterKind>(), Err(UnknownKind));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown kind of filter, expected one of")?;
        FilterKind::ALL.iter().try_for_each(|kind| write!(f, " {kind}"))
    }
}

impl core::error::Error for UnknownKind {}

trommel_simd::display_and_parse_names!(FilterKind, or UnknownKind => UnknownKind);
