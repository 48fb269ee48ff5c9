//! A zero-copy view of a frozen filter of any kind.

use crate::any::{
    AnyFilter, WrongKind, filter_by_kind, method_by_kind, methods_by_kind, of_kind_or_wrong,
};
use crate::kinds::types::*;
use trommel_base::container::{self, Parsed, Trust};
use trommel_base::{
    Count, Filter, FilterKind, FormatError, Hasher, KeyHash, MergeError, Unsupported,
};

macro_rules! declare_filter_view {
    ([] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        /// A view of a frozen filter. It reads the frozen bytes in place, at any alignment: in a mapped file, a network
        /// buffer or a cached block. It gives the same answers as the filter that was frozen.
        ///
        /// Lookups are as fast as in an owned filter if the bytes lie in memory as an owned table does: they begin at
        /// an address that is a multiple of 64, so that the table is aligned to cache lines, and those of a large
        /// filter lie in huge pages. Otherwise lookups take up to twice as long.
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
        // `repr(u8)` for the same reason as on `AnyFilter`.
        #[repr(u8)]
        pub enum FilterView<'a> {
            $($(#[$doc])* $kind($type<&'a [u8]>),)*
        }

        $(
            impl<'f, 'a> TryFrom<&'f FilterView<'a>> for &'f $type<&'a [u8]> {
                type Error = WrongKind;

                fn try_from(view: &'f FilterView<'a>) -> Result<Self, WrongKind> {
                    of_kind_or_wrong!(FilterView::$kind in view)
                }
            }
        )*
    };
}
kinds!(declare_filter_view []);

impl<'a> FilterView<'a> {
    /// Checks the bytes and views them. Cost: one pass over the bytes for the checksum, 30 µs per MB on a Zen 4
    /// core. The kinds with counters or slots take a second pass for the other checks, and most quotient
    /// filters that were resized or built with `fingerprint_bits` take a third pass. For a million keys at a
    /// false-positive rate of 1 %, the checks besides the checksum take:
    ///
    /// | kind | checks besides the checksum | µs |
    /// |---|---|---|
    /// | Bloom kinds without counters | parameters and length | 0 |
    /// | counting | each counter agrees with its bit; overflow table | 550, compact 2500 |
    /// | quotient kinds | the table is exactly the one that its fingerprints produce | 220 to 280 |
    /// | cuckoo | each fingerprint is in a bucket that it can be in; the header states their number | 210 |
    ///
    /// ```
    /// use trommel::{CuckooFilter, FilterKind, FilterView, FormatError};
    /// let mut bytes = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.to_bytes();
    /// assert_eq!(FilterView::parse(&bytes).unwrap().kind(), FilterKind::Cuckoo);
    /// bytes[200] ^= 1;
    /// let refused = FilterView::parse(&bytes);
    /// assert!(matches!(refused, Err(FormatError::PayloadChecksum { .. })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter, or if its keys were hashed with a secret
    /// key; for a cuckoo filter, also if the system refuses the memory for a copy of its overflow area.
    pub fn parse(bytes: &'a [u8]) -> Result<FilterView<'a>, FormatError> {
        Self::from_container(container::parse(bytes)?)
    }

    /// Views bytes that were verified before, by [`FilterView::parse`], or by a storage engine that keeps a
    /// checksum of every block. For large filters, `parse_trusted` takes at most a quarter of the time of
    /// [`FilterView::parse`]; for Bloom kinds without counters, only tens of nanoseconds, at any size.
    ///
    /// `parse_trusted` checks:
    ///
    /// - for every kind, header, parameters and length;
    /// - for the quotient kinds, also the metadata of the blocks (occupieds, runends and offsets), on which the
    ///   safety of lookups depends;
    /// - for the counting kind, also the overflow table;
    /// - for the cuckoo kind, also the overflow area.
    ///
    /// It skips the checksum of the table, and all other checks on which only the answers depend.
    /// On damaged bytes, a lookup can give any answer, including a false negative. But every lookup terminates,
    /// reads only within the bytes, and does not panic.
    ///
    /// Two calls bring the contents of a view into an owned filter:
    /// [`to_owned_filter`](Self::to_owned_filter) and [`AnyFilter::merge_view`]. They run
    /// [`check_structure`](Self::check_structure) first. [`to_bytes`](Self::to_bytes) does not run these
    /// checks: it writes the table as it is, under a new checksum.
    ///
    /// ```
    /// use trommel::{Filter, FilterView, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::with_capacity_and_fpr(100, 0.01)?;
    /// filter.insert("anvil").unwrap();
    /// let block = filter.to_bytes();
    /// assert!(FilterView::parse(&block).is_ok()); // once, when the block is read
    ///
    /// let view = FilterView::parse_trusted(&block).unwrap(); // each time it is used
    /// assert!(view.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if one of the checks fails, or if the keys were hashed with a secret key; for a cuckoo
    /// filter, also if the system refuses the memory for a copy of its overflow area.
    pub fn parse_trusted(bytes: &'a [u8]) -> Result<FilterView<'a>, FormatError> {
        Self::from_container(container::parse_trusted(bytes)?)
    }

    /// Does the same as [`FilterView::parse`], for a filter whose keys were hashed by `hasher`. Frozen bytes
    /// never contain a secret key. If the keys were hashed with a secret key, the functions that take no hasher
    /// refuse the bytes.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, FilterView, FormatError, Hasher, Insert};
    /// let hasher = Hasher::siphash13([7; 16]);
    /// let mut filter = CuckooFilter::builder().keys(100).hasher(hasher).build()?;
    /// filter.insert("anvil")?;
    /// let bytes = filter.to_bytes();
    /// assert!(FilterView::parse_with_hasher(&bytes, &hasher)?.contains("anvil"));
    ///
    /// let refused = FilterView::parse_with_hasher(&bytes, &Hasher::siphash13([8; 16]));
    /// assert!(matches!(refused, Err(FormatError::WrongHasher { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter, or the filter has another hasher; for a
    /// cuckoo filter, also if the system refuses the memory for a copy of its overflow area.
    pub fn parse_with_hasher(
        bytes: &'a [u8],
        hasher: &Hasher,
    ) -> Result<FilterView<'a>, FormatError> {
        Self::from_container(container::parse_with_hasher(&bytes, Trust::Verify, hasher)?)
    }

    /// Does the same as [`FilterView::parse_trusted`], for a filter whose keys were hashed by `hasher`.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, FilterView, Hasher};
    /// let hasher = Hasher::siphash13([7; 16]);
    /// let mut filter = BloomFilter::builder().keys(100).hasher(hasher).build()?;
    /// filter.add("anvil");
    /// let block = filter.to_bytes();
    /// assert!(FilterView::parse_trusted(&block).is_err());
    /// assert!(FilterView::parse_trusted_with_hasher(&block, &hasher)?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if one of the checks fails, or the filter has another hasher; for a cuckoo filter, also
    /// if the system refuses the memory for a copy of its overflow area.
    pub fn parse_trusted_with_hasher(
        bytes: &'a [u8],
        hasher: &Hasher,
    ) -> Result<FilterView<'a>, FormatError> {
        Self::from_container(container::parse_with_hasher(&bytes, Trust::Trusted, hasher)?)
    }

    fn from_container(parsed: Parsed<&'a [u8]>) -> Result<FilterView<'a>, FormatError> {
        kinds!(view_arms [Self, parsed])
    }
}

impl AnyFilter {
    /// Inserts all keys of a frozen filter. Makes no owned copy of the frozen filter.
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, FilterView, Insert};
    /// let spec = FilterSpec::new(FilterKind::Cuckoo).keys(100);
    /// let (mut left, mut right) = (spec.build()?, spec.build()?);
    /// left.insert("anvil").unwrap();
    /// right.insert("forge").unwrap();
    /// let bytes = right.to_bytes();
    /// left.merge_view(&FilterView::parse(&bytes).unwrap()).unwrap();
    /// assert!(left.contains("anvil") && left.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`AnyFilter::merge`], and [`MergeError::Damaged`] if the bytes of a
    /// [trusted](FilterView::parse_trusted) view are damaged. After an error, `self` is unchanged.
    pub fn merge_view(&mut self, other: &FilterView<'_>) -> Result<(), MergeError> {
        other.check_structure()?;
        each_kind!(Self in self, filter => Ok(filter.union::<&[u8]>(other.try_into()?)?))
    }

    /// Makes an owned filter from frozen bytes of any kind. Everything is checked before memory for the table is
    /// allocated.
    ///
    /// ```
    /// use trommel::{AnyFilter, CuckooFilter, FilterKind, FormatError};
    /// let bytes = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.to_bytes();
    /// assert_eq!(AnyFilter::from_bytes(&bytes).unwrap().kind(), FilterKind::Cuckoo);
    /// let refused = AnyFilter::from_bytes(&bytes[..200]);
    /// assert!(matches!(refused, Err(FormatError::Truncated { got: 200, .. })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter, if its keys were hashed with a secret key, or if
    /// memory is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<AnyFilter, FormatError> {
        FilterView::parse(bytes)?.to_owned_filter()
    }

    /// Does the same as [`AnyFilter::from_bytes`], for a filter whose keys were hashed by `hasher`. Frozen bytes never
    /// contain a secret key. If the keys were hashed with a secret key, [`AnyFilter::from_bytes`] refuses the bytes.
    ///
    /// ```
    /// use trommel::{AnyFilter, Filter, FilterKind, FilterSpec, FormatError, Hasher, Insert};
    /// let hasher = Hasher::siphash13([7; 16]);
    /// let mut filter = FilterSpec::new(FilterKind::Quotient).keys(100).hasher(hasher).build()?;
    /// filter.insert("anvil")?;
    /// let bytes = filter.to_bytes();
    /// assert!(matches!(AnyFilter::from_bytes(&bytes), Err(FormatError::KeyRequired { .. })));
    /// assert_eq!(AnyFilter::from_bytes_with_hasher(&bytes, &hasher)?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter, if the filter has another hasher, or if memory
    /// is refused.
    pub fn from_bytes_with_hasher(bytes: &[u8], hasher: &Hasher) -> Result<AnyFilter, FormatError> {
        FilterView::parse_with_hasher(bytes, hasher)?.to_owned_filter()
    }
}

impl FilterView<'_> {
    methods_by_kind! {
        /// The kind of the filter.
        ///
        /// ```
        /// use trommel::{BloomFilter, FilterKind, FilterView};
        /// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.kind(), FilterKind::Bloom);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        kind;

        /// The instruction set in use.
        ///
        /// ```
        /// use trommel::{BloomFilter, FilterView, Isa};
        /// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.isa(), Isa::active_or_best());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        isa;

        /// The number of bits that a key sets; `None` for a filter with slots.
        ///
        /// ```
        /// use trommel::{FilterView, SplitBlockBloom};
        /// let bytes = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.hash_count(), Some(8));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        hash_count;

        /// The number of fingerprints, copies included, divided by the number of slots; `None` for a Bloom filter.
        ///
        /// ```
        /// use trommel::{FilterView, Insert, QuotientFilter};
        /// let mut filter = QuotientFilter::builder().keys(950).build()?; // in 1,000 slots
        /// filter.insert("anvil")?;
        /// let bytes = filter.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.load_factor(), Some(0.001));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        load_factor;

        /// An estimate of the number of distinct keys. See [`AnyFilter::estimate_len`].
        ///
        /// ```
        /// use trommel::{BloomFilter, FilterView};
        /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// ["anvil", "anvil", "forge"].map(|key| filter.add(key));
        /// let bytes = filter.to_bytes();
        /// assert!((FilterView::parse(&bytes)?.estimate_len() - 2.0).abs() < 0.1);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        estimate_len;

        /// The number of copies of a key in the filter, or a larger number; a counting filter with four-bit counters
        /// returns at most 15, even for more copies. See [`Count::count_hash`].
        ///
        /// ```
        /// use trommel::{CountingBloomFilter, Filter, FilterView};
        /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// ["anvil", "anvil"].map(|key| filter.add(key));
        /// let bytes = filter.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.count_hash(filter.hash("anvil")), Ok(2));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`Unsupported`] if the kind cannot count.
        count_hash;

        /// Returns the frozen bytes of the filter: a copy of the viewed bytes, except that the checksums are computed
        /// anew.
        ///
        /// Ends the program if the system refuses the memory.
        ///
        /// ```
        /// use trommel::{BloomFilter, FilterView};
        /// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.to_bytes(), bytes);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        to_bytes;

        /// The number of bytes that [`FilterView::to_bytes`] returns. Allocates nothing.
        ///
        /// ```
        /// use trommel::{BloomFilter, FilterView};
        /// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// assert_eq!(FilterView::parse(&bytes)?.encoded_len(), bytes.len());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        encoded_len;
    }

    /// Makes the checks that [`FilterView::parse_trusted`] leaves out, except the check of the checksum. A view that
    /// [`FilterView::parse`] made has passed all of these checks already.
    ///
    /// ```
    /// use trommel::{CuckooFilter, FilterView};
    /// let mut bytes = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.to_bytes();
    /// bytes[200] = 1; // one fingerprint more than the header states
    /// assert!(FilterView::parse_trusted(&bytes)?.check_structure().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if one of the checks fails. The frozen bytes of a filter, if unchanged, pass all checks.
    pub fn check_structure(&self) -> Result<(), FormatError> {
        each_kind!(Self in self, filter => filter.check_structure())
    }

    methods_by_kind! {
        /// Returns an owned copy, into which keys can be inserted. If the view is trusted, its table is first checked
        /// by [`check_structure`](Self::check_structure).
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter, FilterView, Insert};
        /// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// let mut filter = FilterView::parse(&bytes)?.to_owned_filter()?;
        /// filter.insert("anvil")?; // a view takes no keys
        /// assert!(filter.contains("anvil"));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if `check_structure` fails or memory is refused.
        to_owned_filter;
    }
}

filter_by_kind!(FilterView<'_>);
