//! What the contract has to know of a filter to test it.

use core::fmt::Debug;
use trommel_base::{Filter, FoldError, FormatError, Hasher, Incompatible, Insert, Spec, SpecError};
use trommel_simd::Isa;

/// A filter under test: what traits of the filter itself do not say (how it is built, frozen and
/// viewed, and by which equation it is sized).
///
/// Implemented by a unit struct of the test, so that one type of filter can stand trial in several
/// variants, and so that filters of another crate need no trait of this one.
pub trait Subject {
    /// The owned filter.
    type Filter: Filter + Insert + Clone + Debug;
    /// The zero-copy view of its bytes.
    type View<'a>: Filter;

    /// XXH3-64 of the frozen bytes of [`golden_keys`](crate::contract::golden_keys) in the filter
    /// of [`golden_spec`](crate::contract::golden_spec): what freezes format, hash and layout at
    /// once.
    const GOLDEN: u64;

    /// How many keys a filter is asked for each key that it holds, where rates are measured. Few,
    /// so that many filters are made and the chance fill of each one's blocks evens out; more where
    /// inserting is slow and the fill of a filter varies little.
    const PROBES_PER_KEY: f64 = 0.25;

    /// Builds the filter.
    ///
    /// # Errors
    /// What the filter's builder says.
    fn build(spec: &Spec) -> Result<Self::Filter, SpecError>;

    /// The instruction set in use.
    fn isa(filter: &Self::Filter) -> Isa;

    /// The rate that the sizing equation gives for a filter of this shape with `keys` keys.
    fn sizing_fpr(filter: &Self::Filter, keys: usize) -> f64;

    /// Freezes the filter.
    fn to_bytes(filter: &Self::Filter) -> Vec<u8>;

    /// Freezes the filter into a writer.
    ///
    /// # Errors
    /// What the writer says.
    fn write_to(filter: &Self::Filter, to: &mut dyn std::io::Write) -> std::io::Result<()>;

    /// An owned filter from bytes.
    ///
    /// # Errors
    /// [`FormatError`] if they are not one.
    fn from_bytes(bytes: &[u8]) -> Result<Self::Filter, FormatError>;

    /// A view of bytes.
    ///
    /// # Errors
    /// [`FormatError`] if they are not a filter.
    fn view(bytes: &[u8]) -> Result<Self::View<'_>, FormatError>;
}

/// A subject that can keep what is in two filters.
pub trait Intersect: Subject {
    /// The filter's own method.
    ///
    /// # Errors
    /// [`Incompatible`] if the filters are unlike.
    fn intersect(left: &mut Self::Filter, right: &Self::Filter) -> Result<(), Incompatible>;
}

/// A subject that folds to a smaller size.
pub trait Fold: Subject {
    /// The filter's own method.
    ///
    /// # Errors
    /// [`FoldError`] if it cannot be folded so.
    fn fold(filter: &Self::Filter, factor: u32) -> Result<Self::Filter, FoldError>;
}

/// A subject that estimates how many distinct keys it holds.
pub trait Estimate: Subject {
    /// The filter's own method.
    fn estimate_keys(filter: &Self::Filter) -> f64;
}

/// The spec that most claims build: so many keys at a rate on an instruction set, XXH3 with seed 0.
#[must_use]
pub fn spec(keys: usize, fpr: f64, isa: Isa) -> Spec {
    let mut spec = Spec::default();
    spec.keys = keys;
    spec.fpr = Some(fpr);
    spec.isa = Some(isa);
    spec
}

/// A spec by bytes instead of by rate.
#[must_use]
pub fn spec_of_bytes(keys: usize, bytes: usize, isa: Isa) -> Spec {
    let mut spec = spec(keys, 0.5, isa);
    spec.fpr = None;
    spec.memory_bytes = Some(bytes);
    spec
}

/// The same spec with another hasher.
#[must_use]
pub fn with_hasher(mut spec: Spec, hasher: Hasher) -> Spec {
    spec.hasher = hasher;
    spec
}

/// The same spec, foldable by any divisor of `factor`.
#[must_use]
pub fn foldable(mut spec: Spec, factor: u32) -> Spec {
    spec.foldable_by = factor;
    spec
}

/// Builds a filter that must be buildable.
///
/// # Panics
/// If it is not.
#[track_caller]
#[must_use]
pub fn built<S: Subject>(spec: &Spec) -> S::Filter {
    match S::build(spec) {
        Ok(filter) => filter,
        Err(error) => panic!("{spec:?}: {error}"),
    }
}
