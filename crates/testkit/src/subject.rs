//! What the contract (the tests that every filter must pass) needs to know about a filter.

use core::fmt::Debug;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;
use trommel_base::{
    Count, Filter, FoldError, FormatError, Hasher, Incompatible, Insert, KeyHash, Merge, Remove,
    Spec, SpecError,
};
use trommel_simd::Isa;

/// Whether a filter can become full. This also determines what its `len` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The filter takes any number of keys; the false-positive rate rises with that number. No insert fails, and `len`
    /// counts every insert.
    Endless,
    /// Each copy of a fingerprint takes a slot. The filter keeps at most `copies` copies: one in a set, several in a
    /// multiset. `len` counts the slots that are taken, and an insert that finds no slot fails with
    /// [`Full`](trommel_base::Full).
    Slots {
        /// The most copies of one fingerprint. In a filter that is not [canonical](Subject::CANONICAL), a key can have
        /// this number of copies if no other key takes slots that these copies need; by chance, it can have more.
        copies: u32,
    },
}

/// A filter under test. A subject provides what the filter's own traits do not: how the filter is built,
/// frozen and viewed, and by which equation it is sized.
///
/// A unit struct of the test implements this trait, so that one type of filter can be tested in several
/// variants, and so that the filter itself need not implement a trait of this crate.
pub trait Subject {
    /// The owned filter.
    type Filter: Filter + Insert + Clone + Debug;
    /// The zero-copy view of the filter's bytes.
    type View<'a>: Filter;

    /// XXH3-64 of the frozen bytes of a filter that has the spec [`golden_spec`](crate::contract::golden_spec) and
    /// holds the keys [`golden_keys`](crate::contract::golden_keys). This digest pins the format, the hash function and
    /// the layout.
    const GOLDEN: u64;

    /// The number of lookups in each filter, per key that it holds, when a false-positive rate is measured.
    /// The total number of lookups is fixed. So with a small value, many filters are built and measured, and random
    /// differences in the fill of their blocks even out. The value is larger for a filter whose inserts are slow and
    /// whose fill varies little.
    const PROBES_PER_KEY: f64 = 0.25;

    /// Whether the bytes of a filter with a given spec depend only on the keys that it holds. If not, the slot of a
    /// fingerprint also depends on the order of inserts, and on whether the inserts come in a batch. Even in such a
    /// filter, the same calls make the same bytes on every instruction set. And as long as no insert fails, such a
    /// filter finds every inserted key, whatever calls inserted the keys.
    const CANONICAL: bool = true;

    /// Whether the false-positive rate that the sizing equation gives is exact. If not, it is an upper bound.
    const SIZING_IS_EXACT: bool = true;

    /// Whether the filter can become full.
    const ROOM: Room = Room::Endless;

    /// The largest step between the possible sizes of a table, in bytes. A table that is sized by bytes falls short
    /// of the allowed bytes by less than one step.
    const STEP_BYTES: usize = 256;

    /// The value of `len` after these hashes are inserted into the empty filter.
    fn len_after(empty: &Self::Filter, hashes: &[KeyHash]) -> usize {
        assert!(empty.is_empty() && Self::ROOM == Room::Endless);
        hashes.len()
    }

    /// The possible values of `len` after these hashes are inserted into the empty filter, in any order and
    /// by any calls. A set does not insert a key that it already finds. In a set that is not canonical, the
    /// slots of the fingerprints decide which absent keys the set finds, so `len` can vary.
    fn len_range(empty: &Self::Filter, hashes: &[KeyHash]) -> RangeInclusive<usize> {
        assert!(Self::CANONICAL);
        let len = Self::len_after(empty, hashes);
        len..=len
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// The errors of the filter's builder.
    fn build(spec: &Spec) -> Result<Self::Filter, SpecError>;

    /// The instruction set in use.
    fn isa(filter: &Self::Filter) -> Isa;

    /// The false-positive rate that the sizing equation gives for a filter of this shape with `keys` keys.
    fn sizing_fpr(filter: &Self::Filter, keys: usize) -> f64;

    /// Freezes the filter.
    fn to_bytes(filter: &Self::Filter) -> Vec<u8>;

    /// Freezes the filter into a writer.
    ///
    /// # Errors
    /// The errors of the writer.
    fn write_to(filter: &Self::Filter, to: &mut dyn std::io::Write) -> std::io::Result<()>;

    /// An owned filter from bytes.
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not a filter.
    fn from_bytes(bytes: &[u8]) -> Result<Self::Filter, FormatError>;

    /// A view of bytes.
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not a filter.
    fn view(bytes: &[u8]) -> Result<Self::View<'_>, FormatError>;
}

/// Implements the methods of a [`Subject`] that call the filter's own method of the same name, and `view`, which calls
/// the `parse` of the view's type. [`Subject::Filter`] and [`Subject::View`] must be known types.
#[macro_export]
macro_rules! inherent_methods {
    () => {
        fn isa(filter: &Self::Filter) -> $crate::Isa {
            filter.isa()
        }
        fn to_bytes(filter: &Self::Filter) -> Vec<u8> {
            filter.to_bytes()
        }
        fn write_to(filter: &Self::Filter, to: &mut dyn std::io::Write) -> std::io::Result<()> {
            filter.write_to(to)
        }
        fn from_bytes(bytes: &[u8]) -> Result<Self::Filter, $crate::FormatError> {
            Self::Filter::from_bytes(bytes)
        }
        fn view(bytes: &[u8]) -> Result<Self::View<'_>, $crate::FormatError> {
            Self::View::parse(bytes)
        }
    };
}

/// A subject whose filters can be intersected: the left filter then keeps the keys that are in both filters.
pub trait Intersect: Subject {
    /// Calls the filter's own method.
    ///
    /// # Errors
    /// [`Incompatible`] if a property of the filters differs.
    fn intersect(left: &mut Self::Filter, right: &Self::Filter) -> Result<(), Incompatible>;
}

/// A subject that folds to a smaller size.
pub trait Fold: Subject {
    /// Calls the filter's own method.
    ///
    /// # Errors
    /// [`FoldError`] if the filter cannot be folded by `factor`.
    fn fold(filter: &Self::Filter, factor: u32) -> Result<Self::Filter, FoldError>;
}

/// A subject that estimates how many distinct keys it holds.
pub trait Estimate: Subject {
    /// Calls the filter's own method.
    fn estimate_len(filter: &Self::Filter) -> f64;
}

/// A subject that keeps whole fingerprints, and whose bytes depend only on which fingerprints it holds.
pub trait Exact: Subject<Filter: Remove + Count + Merge> {
    /// The fingerprint of a hash, computed by the definition in the documentation.
    fn fingerprint(filter: &Self::Filter, hash: KeyHash) -> u64;

    /// The smallest hash that has this fingerprint.
    fn hash_of(filter: &Self::Filter, fingerprint: u64) -> KeyHash;

    /// The fingerprints that the filter itself enumerates: every copy, in ascending order.
    fn fingerprints(filter: &Self::Filter) -> Vec<u64>;

    /// The number of slots. A fingerprint's quotient is the number of a slot, so it is below this number.
    fn slots(filter: &Self::Filter) -> u64;

    /// The most copies of a fingerprint.
    ///
    /// # Panics
    /// If the filter has room for any number of keys. In this case the calling test is wrong.
    #[must_use]
    fn copies() -> u64 {
        match Self::ROOM {
            Room::Slots { copies } => copies.into(),
            Room::Endless => panic!("a filter of fingerprints must have slots"),
        }
    }

    /// Each fingerprint with its number of copies, after these hashes are inserted into an empty filter of this shape.
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

/// A subject that can be resized without its keys.
pub trait Resize: Exact {
    /// Why a resize failed.
    type Error: core::error::Error + PartialEq;

    /// Doubles the slots.
    ///
    /// # Errors
    /// The errors of the filter's own method.
    fn grow(filter: &mut Self::Filter) -> Result<(), Self::Error>;

    /// Resizes the filter to have room for `keys` keys.
    ///
    /// # Errors
    /// The errors of the filter's own method.
    fn resize(filter: &mut Self::Filter, keys: usize) -> Result<(), Self::Error>;

    /// Frees the slots that are not needed.
    ///
    /// # Errors
    /// The errors of the filter's own method.
    fn shrink_to_fit(filter: &mut Self::Filter) -> Result<(), Self::Error>;
}

/// The spec that most tests of the contract build: `keys` keys at a false-positive rate, on an instruction set, with
/// XXH3 and seed 0.
#[must_use]
pub fn spec(keys: usize, fpr: f64, isa: Isa) -> Spec {
    let mut spec = Spec::default();
    spec.keys = keys;
    spec.fpr = Some(fpr);
    spec.isa = Some(isa);
    spec
}

/// A spec with a number of bytes instead of a false-positive rate.
#[must_use]
pub fn spec_of_bytes(keys: usize, bytes: usize, isa: Isa) -> Spec {
    let mut spec = spec(keys, 0.5, isa);
    spec.fpr = None;
    spec.memory_bytes = Some(bytes);
    spec
}

/// A spec of a quotient filter without a false-positive rate. `bits` is the number of remainder bits, if the layout has
/// a choice.
#[must_use]
pub fn spec_of_remainders(keys: usize, bits: Option<u32>, multiset: bool, isa: Isa) -> Spec {
    let mut spec = spec(keys, 0.5, isa);
    (spec.fpr, spec.remainder_bits, spec.multiset) = (None, bits, multiset);
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

/// Builds a filter. The caller must ensure that the spec is valid.
///
/// # Panics
/// If the builder refuses the spec.
#[track_caller]
#[must_use]
pub fn built<S: Subject>(spec: &Spec) -> S::Filter {
    match S::build(spec) {
        Ok(filter) => filter,
        Err(error) => panic!("{spec:?} was refused: {error}"),
    }
}
