//! Builders: the options of each kind of filter.

use crate::spec::FromSpec;
use crate::{Spec, SpecError};
use core::marker::PhantomData;

/// Builds a filter of type `F`. The defaults are: 0 expected keys, XXH3 with seed 0, the instruction set
/// [`Isa::active`](trommel_simd::Isa::active), and huge pages for large tables. The false-positive rate is at most 1 %,
/// unless the builder sets another rate, a size, or the bits of a remainder or of a fingerprint.
///
/// A builder has only the options of its kind: an option of another kind does not compile. A `trommel::FilterSpec`,
/// whose kind is known at run time, has all options, and its `build` refuses those that the kind lacks.
#[derive(Debug)]
#[must_use]
pub struct Builder<F> {
    spec: Spec,
    filter: PhantomData<fn() -> F>,
}

impl<F> Clone for Builder<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Builder<F> {}

impl<F> Default for Builder<F> {
    fn default() -> Self {
        Self { spec: Spec::default(), filter: PhantomData }
    }
}

impl<F: FromSpec> Builder<F> {
    crate::spec_setters!();

    /// Makes the empty filter.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, SpecError};
    /// let filter = BloomFilter::builder().keys(1_000).fpr(0.01).build()?;
    /// assert!(filter.is_empty());
    /// let impossible = BloomFilter::builder().fpr(1.5).build();
    /// assert!(matches!(impossible, Err(SpecError::FprOutOfRange { fpr: 1.5 })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the options cannot be met.
    pub fn build(self) -> Result<F, SpecError> {
        F::from_spec(&self.spec)
    }

    /// Bytes of the empty filter once it is frozen: the length of its `to_bytes`. Allocates nothing.
    ///
    /// Inserts lengthen the frozen bytes in three cases only: if a cuckoo filter uses its overflow area (8 bytes for
    /// each of at most 64 keys), in a compact counting filter (16 bytes for each counter above 2), and if a filter
    /// grows by itself.
    ///
    /// ```
    /// use trommel::SplitBlockBloom;
    /// let builder = SplitBlockBloom::builder().keys(800).bits_per_key(10.0);
    /// assert_eq!(builder.encoded_len()?, 128 + 1024); // a header, and 32 blocks for 1000 bytes
    /// assert_eq!(builder.build()?.to_bytes().len(), 128 + 1024);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the options cannot be met. Whether the system has the memory is not checked.
    pub fn encoded_len(&self) -> Result<u64, SpecError> {
        F::encoded_len_of(&self.spec)
    }
}

/// Filters that fold to a smaller size: their builder has [`foldable_by`](Builder::foldable_by).
pub trait FoldOptions: FromSpec {}

/// Counting filters: their builder has [`compact`](Builder::compact).
pub trait CountingOptions: FromSpec {}

/// Filters with slots: their builder has [`load`](Builder::load), [`multiset`](Builder::multiset) and
/// [`grow_at`](Builder::grow_at).
pub trait SlotOptions: FromSpec {}

/// Filters that choose the width of a remainder: their builder has [`remainder_bits`](Builder::remainder_bits).
pub trait RemainderOptions: SlotOptions {}

/// Filters that choose the width of a fingerprint: their builder has [`fingerprint_bits`](Builder::fingerprint_bits).
pub trait FingerprintOptions: SlotOptions {}

impl<F: FoldOptions> Builder<F> {
    crate::fold_setters!();
}

impl<F: CountingOptions> Builder<F> {
    crate::counting_setters!();
}

impl<F: SlotOptions> Builder<F> {
    crate::slot_setters!();
}

impl<F: RemainderOptions> Builder<F> {
    crate::remainder_setters!();
}

impl<F: FingerprintOptions> Builder<F> {
    crate::fingerprint_setters!();
}

/// The options of every kind, for any type with a field `spec` of type [`Spec`].
#[doc(hidden)]
#[macro_export]
macro_rules! spec_setters {
    () => {
        $crate::setters! {
            /// The number of expected keys. For 0 keys, the filter has the smallest size. There is one exception: if
            /// `memory_bytes` is given without a false-positive rate, the filter takes these bytes. (A quotient filter
            /// with `fingerprint_bits` has the smallest size even then.)
            ///
            /// ```
            /// use trommel::{Filter, FilterKind, FilterSpec};
            /// let filter = FilterSpec::new(FilterKind::Bloom).keys(1_000_000).build()?; // at 1 %
            /// assert_eq!(filter.memory_bytes() * 8 / 1_000_000, 9);
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            keys(keys: usize) sets spec.keys = keys;

            /// The false-positive rate to reach with the expected keys. If bytes are given as well, they are a limit: a
            /// rate that needs more bytes is an error.
            ///
            /// ```
            /// use trommel::{BloomFilter, Filter, SpecError};
            /// let builder = BloomFilter::builder().keys(1_000).fpr(0.001);
            /// assert_eq!(builder.build()?.memory_bytes() * 8 / 1_000, 14);
            /// let too_small = builder.memory_bytes(1_000).build();
            /// assert!(matches!(too_small, Err(SpecError::TooSmall { bytes: 1_000, .. })));
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            fpr(fpr: f64) sets spec.fpr = Some(fpr);

            /// The most bytes that the table is allowed to take. If no false-positive rate is given, the table is the
            /// largest one within these bytes; but a quotient filter with `fingerprint_bits` is no larger than its keys
            /// need.
            ///
            /// ```
            /// use trommel::{Filter, RegisterBloom};
            /// let filter = RegisterBloom::builder().keys(10_000).memory_bytes(16_384).build()?;
            /// assert_eq!(filter.memory_bytes(), 16_384);
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            memory_bytes(bytes: usize) sets spec.memory_bytes = Some(bytes);

            /// The bits of the table per expected key: `ceil(keys · bits / 8)` bytes, in a Bloom filter rounded up to
            /// whole blocks or words.
            ///
            /// If no false-positive rate is given, a Bloom filter takes all of these bytes, which include any counters.
            /// For a quotient or cuckoo filter the bytes are a limit, and the build is refused if the keys need more.
            /// If a rate is given as well, these bytes are a limit for every kind. For 0 keys, the filter is the
            /// smallest one.
            ///
            /// The number must be above 0 and at most 1024. A build with both `bits_per_key` and `memory_bytes` is
            /// refused.
            ///
            /// ```
            /// use trommel::{Filter, SplitBlockBloom};
            /// let filter = SplitBlockBloom::builder().keys(1_000).bits_per_key(12.0).build()?;
            /// assert_eq!(filter.memory_bytes(), 1_504); // 1,500 bytes, rounded up to blocks of 32
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            bits_per_key(bits: f64) sets spec.bits_per_key = Some(bits);

            /// The hash function, and its seed or secret key.
            ///
            /// ```
            /// use trommel::{Filter, Hasher, SplitBlockBloom};
            /// let filter = SplitBlockBloom::builder().keys(1_000).hasher(Hasher::PARQUET).build()?;
            /// assert_eq!(filter.hash("anvil"), Hasher::xxh64(0).hash("anvil"));
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            hasher(hasher: $crate::Hasher) sets spec.hasher = hasher;

            /// The instruction set to use. By default, it is the one that the environment variable `TROMMEL_ISA` names;
            /// if the variable is not set, it is the machine's best.
            ///
            /// ```
            /// use trommel::{CacheLineBloom, Isa};
            /// let filter = CacheLineBloom::builder().keys(1_000).isa(Isa::Portable).build()?;
            /// assert_eq!(filter.isa(), Isa::Portable);
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            isa(isa: ::trommel_simd::Isa) sets spec.isa = Some(isa);

            /// Whether a table of 4 MiB and more asks for huge pages, on Linux with the feature `std`. By default, it
            /// asks.
            ///
            /// ```
            /// use trommel::{BloomFilter, container::Backing};
            /// let builder = BloomFilter::builder().keys(4_000_000).memory_bytes(5 << 20);
            /// let filter = builder.huge_pages(false).build()?;
            /// assert_ne!(filter.backing(), Backing::HugePagesAdvised);
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            huge_pages(huge_pages: bool) sets spec.huge_pages = huge_pages;
        }

        /// The seed of the hash function. See `Hasher::with_seed` for a hasher with a secret key.
        ///
        /// ```
        /// use trommel::{CuckooFilter, Filter};
        /// let filter = CuckooFilter::builder().keys(1_000).seed(42).build()?;
        /// assert_eq!(filter.hasher().seed(), 42);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        pub fn seed(mut self, seed: u64) -> Self {
            self.spec.hasher = self.spec.hasher.with_seed(seed);
            self
        }
    };
}

/// The options of kinds that fold, for any type with a field `spec` of type [`Spec`].
#[doc(hidden)]
#[macro_export]
macro_rules! fold_setters {
    () => {
        $crate::setters! {
            /// Makes a Bloom filter's length a multiple of `factor` units (words, blocks or cache lines), so that the
            /// filter can later be folded by any divisor of `factor`.
            ///
            /// ```
            /// use trommel::{Filter, SplitBlockBloom};
            /// let large = SplitBlockBloom::builder().keys(1_000).foldable_by(8).build()?;
            /// let small = large.fold(4).unwrap();
            /// assert_eq!(small.memory_bytes() * 4, large.memory_bytes());
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            foldable_by(factor: u32) sets spec.foldable_by = factor;
        }
    };
}

/// The options of counting filters, for any type with a field `spec` of type [`Spec`].
#[doc(hidden)]
#[macro_export]
macro_rules! counting_setters {
    () => {
        $crate::setters! {
            /// Whether to build the compact variant, whose counters have 2 bits. Counts above 2 are in an overflow
            /// table, at 16 bytes each, and are exact. With half of the planned keys, such a filter takes 0.76 times
            /// the memory of the usual filter; with all planned keys, 1.57 times the memory of the usual filter (both
            /// at 1 %).
            ///
            /// ```
            /// use trommel::{CountingBloomFilter, Filter};
            /// let builder = CountingBloomFilter::builder().keys(1_000);
            /// let (whole, compact) = (builder.build()?, builder.compact(true).build()?);
            /// assert_eq!(whole.memory_bytes() / 5, compact.memory_bytes() / 3); // bits per position
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            compact(compact: bool) sets spec.compact = compact;
        }
    };
}

/// The options of kinds with slots, for any type with a field `spec` of type [`Spec`].
#[doc(hidden)]
#[macro_export]
macro_rules! slot_setters {
    () => {
        $crate::setters! {
            /// The largest share of slots that the expected keys fill: by default 0.95, and less in small cuckoo
            /// filters and in cache-line quotient filters whose false-positive rate requires more slots. If bytes are
            /// given without a false-positive rate, the filter can have more slots than this share requires. Only
            /// quotient and cuckoo filters have this option.
            ///
            /// ```
            /// use trommel::{QuotientFilter, SpecError};
            /// let filter = QuotientFilter::builder().keys(1_000).load(0.5).build()?;
            /// assert_eq!(filter.geometry().slots, 2_000);
            /// let above = QuotientFilter::builder().load(1.5).build();
            /// assert!(matches!(above, Err(SpecError::LoadOutOfRange { load: 1.5 })));
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            load(load: f64) sets spec.load = Some(load);

            /// Whether every copy of a key is kept and counted, instead of only one. Only quotient and cuckoo filters
            /// have this option.
            ///
            /// ```
            /// use trommel::{Count, CuckooFilter, Insert};
            /// let mut filter = CuckooFilter::builder().keys(1_000).multiset(true).build()?;
            /// filter.insert("anvil").unwrap();
            /// filter.insert("anvil").unwrap();
            /// assert_eq!(filter.count("anvil"), 2);
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            multiset(multiset: bool) sets spec.multiset = multiset;

            /// The filter doubles by itself when this share of its slots is taken. Only quotient and cuckoo filters
            /// have this option. Each doubling uses up one bit of every stored remainder or fingerprint. A share is
            /// refused if it is so low that the bits run out, or the filter has its largest size, before all expected
            /// keys are inserted (before the first key, if 0 keys are expected).
            ///
            /// ```
            /// use trommel::{Filter, Insert, QuotientFilter};
            /// let mut filter = QuotientFilter::builder().keys(1_000).remainder_bits(16).grow_at(0.9).build()?;
            /// for order in 0..5_000u64 {
            ///     filter.insert(&order).unwrap();
            /// }
            /// assert!(filter.load_factor() < 0.9 && filter.contains(&4_999u64));
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            grow_at(load: f64) sets spec.grow_at = Some(load);
        }
    };
}

/// The options of kinds that choose the width of a remainder, for any type with a field `spec` of type [`Spec`].
#[doc(hidden)]
#[macro_export]
macro_rules! remainder_setters {
    () => {
        $crate::setters! {
            /// The number of bits of a remainder; by default, as many as the false-positive rate needs. Spare bits let
            /// the filter grow. Only quotient filters have this option.
            ///
            /// ```
            /// use trommel::{CacheLineQuotient, QuotientFilter};
            /// let filter = QuotientFilter::builder().keys(1_000).remainder_bits(12).build()?;
            /// assert_eq!(filter.geometry().remainder_bits, 12);
            /// assert!(CacheLineQuotient::builder().keys(1_000).remainder_bits(12).build().is_err()); // always 8
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            remainder_bits(bits: u32) sets spec.remainder_bits = Some(bits);
        }
    };
}

/// The options of kinds that choose the width of a fingerprint, for any type with a field `spec` of type [`Spec`].
#[doc(hidden)]
#[macro_export]
macro_rules! fingerprint_setters {
    () => {
        $crate::setters! {
            /// Bits of a whole fingerprint. Only the kinds `quotient` and `cuckoo` have this option.
            ///
            /// In a quotient filter, a fingerprint is the quotient and the remainder together, and has 1 to 62 bits.
            /// Filters of different sizes merge if they have the same number of fingerprint bits. In a cuckoo filter, a
            /// fingerprint is the content of a slot, and has 8, 12, 16 or 32 bits.
            ///
            /// ```
            /// use trommel::{CuckooFilter, QuotientFilter};
            /// let cuckoo = CuckooFilter::builder().keys(1_000).fingerprint_bits(16).build()?;
            /// assert_eq!(cuckoo.geometry().fingerprint_bits, 16);
            /// let quotient = QuotientFilter::builder().keys(1_000).fingerprint_bits(20).build()?;
            /// assert_eq!(quotient.geometry().fingerprints, 1 << 20);
            /// # Ok::<(), trommel::SpecError>(())
            /// ```
            fingerprint_bits(bits: u32) sets spec.fingerprint_bits = Some(bits);
        }
    };
}
