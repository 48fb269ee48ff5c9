//! The spec of a filter: a kind that is chosen at run time, and its options.

use crate::any::AnyFilter;
use crate::kinds::types::*;
use trommel_base::{
    Bulk, Filter, FilterKind, FromSpec, Full, Insert, InsertBulk, KeyHash, Spec, SpecError,
};

/// If the table of a Bloom filter has this number of bytes or more, [`insert_alone`] groups the keys of a batch by
/// the part of the table they belong to, before it inserts them. For smaller tables, the default costs of
/// [`CostModel`](crate::engine::CostModel) favour inserts without grouping in nearly all batches: inserts into blocked
/// filters cost 1.2 to 4.8 ns per key without grouping, and 4.6 to 11.1 ns with grouping.
const GROUPED_TABLE_BYTES: usize = 256 << 20;

macro_rules! build_arms {
    ([$spec:expr] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $spec.kind {
            $(FilterKind::$kind => Ok(AnyFilter::$kind(FromSpec::from_spec(&$spec.spec)?)),)*
            // Not reached, since the table of kinds has a row for every kind.
            other => Err(SpecError::UnknownKind { kind: other }),
        }
    };
}

macro_rules! encoded_len_arms {
    ([$spec:expr] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $spec.kind {
            $(FilterKind::$kind => <$type as FromSpec>::encoded_len_of(&$spec.spec),)*
            // Not reached, since the table of kinds has a row for every kind.
            other => Err(SpecError::UnknownKind { kind: other }),
        }
    };
}

/// The kind of a filter, its size and its other options. By default: zero expected keys, XXH3 with seed 0, the
/// instruction set [`Isa::active`](crate::Isa::active), huge pages for large tables. The false-positive rate is at most
/// 1 %, unless the spec sets another rate, a size, or the bits of a remainder or of a fingerprint.
///
/// ```
/// use trommel::{Filter, FilterKind, FilterSpec, SpecError};
///
/// let filter = FilterSpec::new(FilterKind::SplitBlockBloom).keys(1_000).fpr(0.01).seed(7).build()?;
/// assert!(filter.is_empty());
///
/// let impossible = FilterSpec::new(FilterKind::RegisterBloom).keys(1_000).fpr(1e-12).build();
/// assert!(matches!(impossible, Err(SpecError::FprUnreachable { .. })));
/// # Ok::<(), SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct FilterSpec {
    kind: FilterKind,
    spec: Spec,
}

impl FilterSpec {
    /// A spec for a kind, with defaults for all options.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterSpec};
    /// for kind in FilterKind::ALL {
    ///     assert_eq!(FilterSpec::new(*kind).build()?.kind(), *kind);
    /// }
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn new(kind: FilterKind) -> Self {
        Self { kind, spec: Spec::default() }
    }

    /// The kind.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterSpec};
    /// assert_eq!(FilterSpec::new(FilterKind::Cuckoo).keys(1_000).kind(), FilterKind::Cuckoo);
    /// ```
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// Whether the filter counts the copies of a key.
    pub(crate) fn counts_copies(&self) -> bool {
        self.spec.multiset || self.kind == FilterKind::CountingBloom
    }

    /// The options, with defaults for those that were not set.
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    trommel_base::spec_setters!();
    trommel_base::fold_setters!();
    trommel_base::counting_setters!();
    trommel_base::slot_setters!();
    trommel_base::remainder_setters!();
    trommel_base::fingerprint_setters!();

    /// Sets the number of keys, unless it is already set.
    pub(crate) fn or_keys(mut self, keys: usize) -> Self {
        if self.spec.keys == 0 {
            self.spec.keys = keys;
        }
        self
    }

    /// Makes the empty filter.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterSpec, SpecError};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// assert_eq!(spec.build()?.kind(), FilterKind::Bloom);
    /// let refused = spec.multiset(true).build();
    /// assert!(matches!(refused, Err(SpecError::Option { option: "multiset", .. })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the kind cannot meet the spec, if the instruction set cannot be used, or if memory is refused.
    /// A filter that does not meet the spec is never made.
    pub fn build(&self) -> Result<AnyFilter, SpecError> {
        kinds!(build_arms[self])
    }

    /// The size in bytes of the empty filter's frozen form: the length of [`AnyFilter::to_bytes`]. Allocates nothing.
    ///
    /// Inserts lengthen the frozen bytes only in three cases: in a cuckoo filter whose overflow area is used (8 bytes
    /// for each of at most 64 keys), in a compact counting filter (16 bytes for each counter above 2), and in a filter
    /// that grows by itself.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterSpec, SpecError};
    /// let spec = FilterSpec::new(FilterKind::CacheLineBloom).keys(800).bits_per_key(10.0);
    /// assert_eq!(spec.encoded_len()?, 128 + 1024); // a header, and 16 cache lines for 1000 bytes
    /// assert_eq!(spec.build()?.to_bytes().len(), 128 + 1024);
    /// # Ok::<(), SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the kind cannot meet the spec, or if the instruction set cannot be used. Whether the system has
    /// the memory is not checked.
    pub fn encoded_len(&self) -> Result<u64, SpecError> {
        kinds!(encoded_len_arms[self])
    }

    /// Makes a filter and inserts the keys, on the caller's thread only. If the spec does not set the number of keys,
    /// the filter is made for the number of `hashes`. [`Engine::build`](crate::Engine::build) does the same on all
    /// cores.
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, Hasher};
    /// let mut hashes = Vec::new();
    /// Hasher::default().hash_batch(&[1u64, 2, 3], &mut hashes);
    /// let filter = FilterSpec::new(FilterKind::Bloom).bits_per_key(10.0).build_from(&hashes)?;
    /// assert!(filter.contains(&2u64));
    /// # Ok::<(), trommel::error::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the spec cannot be met, memory is refused, or the keys do not fit.
    pub fn build_from(&self, hashes: &[KeyHash]) -> Result<AnyFilter, BuildError> {
        let mut filter = self.or_keys(hashes.len()).build()?;
        insert_alone(&mut filter, hashes)?;
        Ok(filter)
    }
}

/// Inserts a batch on the thread of the caller.
pub(crate) fn insert_alone(filter: &mut AnyFilter, hashes: &[KeyHash]) -> Result<(), Full> {
    if filter.lines_per_insert().is_some() && filter.memory_bytes() < GROUPED_TABLE_BYTES {
        return filter.insert_batch(hashes);
    }
    filter.insert_bulk(hashes, Bulk::CALLER)
}

/// The reason why a filter was not built, or why a [`FilterAccumulator`](crate::FilterAccumulator) did not take all
/// keys. A call that builds a filter and returns this error returns no filter, not even a partly filled filter.
///
/// ```
/// use trommel::error::BuildError;
/// use trommel::{FilterKind, FilterSpec, KeyHash};
/// let hashes: Vec<_> = (1..=1_000).map(|i| KeyHash::from_raw(i << 50)).collect();
/// let refused = FilterSpec::new(FilterKind::Cuckoo).keys(100).build_from(&hashes).unwrap_err();
/// let BuildError::Full(full) = refused else { panic!() };
/// assert!(full.inserted < 1_000 && full.len <= full.capacity);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// The spec cannot be met, or memory was refused.
    Spec(SpecError),
    /// The keys do not fit, or memory for inserts was refused.
    Full(Full),
}

trommel_base::error_messages! { BuildError {
    Self::Spec(error) => "{error}";
    Self::Full(error) => "{error}";
}}

trommel_base::error_from! { BuildError {
    SpecError => Spec;
    Full => Full;
}}
