//! A filter whose kind is chosen at run time.

use crate::AnyFilter;
use trommel_base::{FilterKind, FromSpec, Hasher, Spec, SpecError};
use trommel_simd::Isa;

/// What kind of filter to build, and for what. Whatever is not said has a default: no keys, 1 %, XXH3
/// with seed 0, the best instruction set, huge pages for large tables.
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
    /// A spec for a kind, with defaults for the rest.
    pub fn new(kind: FilterKind) -> Self {
        Self { kind, spec: Spec::default() }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// Keys expected; with none, the smallest filter.
    pub fn keys(mut self, keys: usize) -> Self {
        self.spec.keys = keys;
        self
    }

    /// The false-positive rate to reach with that many keys.
    pub fn fpr(mut self, fpr: f64) -> Self {
        self.spec.fpr = Some(fpr);
        self
    }

    /// The bytes that the table may take: all are used if no rate is given, and they are a limit if
    /// one is.
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.spec.memory_bytes = Some(bytes);
        self
    }

    /// The seed of the hash.
    pub fn seed(mut self, seed: u64) -> Self {
        self.spec.hasher = self.spec.hasher.with_seed(seed);
        self
    }

    /// The hash and its seed.
    pub fn hasher(mut self, hasher: Hasher) -> Self {
        self.spec.hasher = hasher;
        self
    }

    /// The instruction set to use, instead of the machine's best.
    pub fn isa(mut self, isa: Isa) -> Self {
        self.spec.isa = Some(isa);
        self
    }

    /// Whether a large table asks for huge pages.
    pub fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.spec.huge_pages = huge_pages;
        self
    }

    /// Makes the number of units a multiple of `factor`, so that the filter can be folded later.
    pub fn foldable_by(mut self, factor: u32) -> Self {
        self.spec.foldable_by = factor;
        self
    }

    /// The compact variant of a kind that has one: 2-bit counters in a counting filter.
    pub fn compact(mut self, compact: bool) -> Self {
        self.spec.compact = compact;
        self
    }

    /// Makes the empty filter.
    ///
    /// # Errors
    /// [`SpecError`] if the kind cannot meet what was asked for: never a worse filter instead.
    pub fn build(&self) -> Result<AnyFilter, SpecError> {
        Ok(match self.kind {
            FilterKind::Bloom => AnyFilter::Bloom(FromSpec::from_spec(&self.spec)?),
            FilterKind::CountingBloom => AnyFilter::CountingBloom(FromSpec::from_spec(&self.spec)?),
            FilterKind::RegisterBloom => AnyFilter::RegisterBloom(FromSpec::from_spec(&self.spec)?),
            FilterKind::SplitBlockBloom => {
                AnyFilter::SplitBlockBloom(FromSpec::from_spec(&self.spec)?)
            }
            FilterKind::CacheLineBloom => {
                AnyFilter::CacheLineBloom(FromSpec::from_spec(&self.spec)?)
            }
            other => return Err(SpecError::UnknownKind { kind: other }),
        })
    }
}
