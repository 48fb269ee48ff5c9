//! What the contract has to know of a filter to test it.

use core::fmt::Debug;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;
use trommel_base::{
    Count, Filter, FoldError, FormatError, Hasher, Incompatible, Insert, KeyHash, Merge, Remove,
    Spec, SpecError,
};
use trommel_simd::Isa;

/// What a filter has room for, and so what its `len` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Any number of keys, at a rate of false positives that rises with them. No insert fails, and
    /// `len` counts every one.
    Endless,
    /// A slot per copy of a fingerprint, up to `copies`: a set keeps one, a multiset counts some.
    /// `len` counts the slots that are taken, and an insert that finds none is
    /// [`Full`](trommel_base::Full).
    Slots {
        /// The most copies of one fingerprint. A filter that is not [canonical](Subject::CANONICAL) has
        /// room for `copies` of a key that shares its slots with no other, and for more where chance leaves
        /// it.
        copies: u32,
    },
}

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

    /// Whether the bytes follow from the keys that are held and from nothing else. In a filter for which
    /// they do not, the order of inserts and whether they come in a batch decide where a fingerprint is.
    /// What is still held: the same calls make the same bytes on every instruction set, and whatever the
    /// calls, the same keys are held.
    const CANONICAL: bool = true;

    /// Whether the sizing equation is the rate of a filter. Otherwise it is a bound.
    const SIZING_IS_EXACT: bool = true;

    /// What the filter has room for.
    const ROOM: Room = Room::Endless;

    /// By how many bytes a table may fall short of what it is allowed: its smallest step.
    const STEP_BYTES: usize = 256;

    /// What `len` says after these hashes went into the filter, which is empty now.
    fn len_after(empty: &Self::Filter, hashes: &[KeyHash]) -> usize {
        assert!(empty.is_empty() && Self::ROOM == Room::Endless);
        hashes.len()
    }

    /// What `len` may say after these hashes, in whatever order and by whatever calls. A set takes a key
    /// that it does not find, and in one that is not canonical it depends on where a fingerprint is
    /// which other keys it is found as.
    fn len_range(empty: &Self::Filter, hashes: &[KeyHash]) -> RangeInclusive<usize> {
        assert!(Self::CANONICAL);
        let len = Self::len_after(empty, hashes);
        len..=len
    }

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
    fn estimate_len(filter: &Self::Filter) -> f64;
}

/// A subject that keeps whole fingerprints, and keeps them in one way: its bytes depend on which
/// fingerprints are held, and on nothing else.
pub trait Exact: Subject<Filter: Remove + Count + Merge> {
    /// The fingerprint of a hash, worked out from the words of the documentation.
    fn fingerprint(filter: &Self::Filter, hash: KeyHash) -> u64;

    /// The least hash of a fingerprint.
    fn hash_of(filter: &Self::Filter, fingerprint: u64) -> KeyHash;

    /// The filter's own enumeration: every copy, in ascending order.
    fn fingerprints(filter: &Self::Filter) -> Vec<u64>;

    /// Slots that quotients are drawn from.
    fn slots(filter: &Self::Filter) -> u64;

    /// The most copies of a fingerprint.
    #[must_use]
    fn copies() -> u64 {
        match Self::ROOM {
            Room::Slots { copies } => copies.into(),
            Room::Endless => panic!("a filter of fingerprints has slots"),
        }
    }

    /// What a filter holds after these hashes: fingerprints and their copies.
    #[must_use]
    fn held(filter: &Self::Filter, hashes: &[KeyHash]) -> BTreeMap<u64, u64> {
        let mut held = BTreeMap::new();
        for hash in hashes {
            let count = held.entry(Self::fingerprint(filter, *hash)).or_default();
            *count = Self::copies().min(*count + 1);
        }
        held
    }
}

/// A subject that can take another size without its keys.
pub trait Resize: Exact {
    /// Why it could not.
    type Error: core::error::Error + PartialEq;

    /// Doubles the slots.
    ///
    /// # Errors
    /// What the filter's own method says.
    fn grow(filter: &mut Self::Filter) -> Result<(), Self::Error>;

    /// Makes room for `keys`.
    ///
    /// # Errors
    /// What the filter's own method says.
    fn resize(filter: &mut Self::Filter, keys: usize) -> Result<(), Self::Error>;

    /// Gives back what is not needed.
    ///
    /// # Errors
    /// What the filter's own method says.
    fn shrink_to_fit(filter: &mut Self::Filter) -> Result<(), Self::Error>;
}

/// The spec that most claims build: `keys` at a false-positive rate on an instruction set, XXH3 with seed 0.
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
