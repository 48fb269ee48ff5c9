//! A filter whose kind is chosen at run time.

use crate::AnyFilter;
use trommel_base::{FilterKind, FromSpec, Spec, SpecError};

macro_rules! build_arms {
    ([$spec:expr] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $spec.kind {
            $(FilterKind::$kind => Ok(AnyFilter::$kind(FromSpec::from_spec(&$spec.spec)?)),)*
            // The table has a row for every kind, so this is none.
            other => Err(SpecError::UnknownKind { kind: other }),
        }
    };
}

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

    /// What was asked for.
    #[cfg(feature = "parallel")]
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    trommel_base::spec_setters!();

    /// The same for so many keys, if it does not say how many.
    #[cfg(feature = "parallel")]
    pub(crate) fn or_keys(mut self, keys: usize) -> Self {
        if self.spec.keys == 0 {
            self.spec.keys = keys;
        }
        self
    }

    /// Makes the empty filter.
    ///
    /// # Errors
    /// [`SpecError`] if the kind cannot meet what was asked for: never a worse filter instead.
    pub fn build(&self) -> Result<AnyFilter, SpecError> {
        kinds!(build_arms[self])
    }
}
