//! Error types. They carry the numbers that explain the error.

mod format;
mod messages;

pub use format::FormatError;

use crate::FilterKind;
use crate::storage::OutOfMemory;
use core::fmt;
use trommel_simd::IsaError;

/// Why a filter could not be built. No memory stays allocated for it. Only [`SpecError::OutOfMemory`] means that the
/// system refused memory.
///
/// ```
/// use trommel::{BloomFilter, SpecError};
/// let refused = BloomFilter::builder().keys(1_000).fpr(0.01).memory_bytes(500).build();
/// let Err(SpecError::TooSmall { bytes, min_bytes }) = refused else { panic!() };
/// assert!(bytes == 500 && min_bytes > 1_190);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// The false-positive rate does not lie strictly between 0 and 1, or is not a number.
    FprOutOfRange {
        /// The rate asked for.
        fpr: f64,
    },
    /// The filter cannot reach the false-positive rate: the layout of its kind, the 64-bit hash, or an option such as
    /// `remainder_bits` sets a floor.
    FprUnreachable {
        /// The rate asked for.
        fpr: f64,
        /// The lowest rate that a filter for the expected keys can reach with the options given.
        floor: f64,
    },
    /// The filter would be larger than the kind can address or any machine can hold.
    TooLarge {
        /// Bytes that would be needed, as far as they can be computed.
        bytes: u128,
        /// The largest size of this kind, in bytes.
        max_bytes: u64,
    },
    /// The bytes allowed are too few.
    TooSmall {
        /// Bytes allowed.
        bytes: u64,
        /// Bytes needed.
        min_bytes: u64,
    },
    /// The number of bits per key is not above 0, is NaN, or is outside the range that the kind can use.
    BitsPerKeyOutOfRange {
        /// The number asked for.
        bits_per_key: f64,
        /// The fewest bits for each key.
        min: f64,
        /// The most bits for each key.
        max: f64,
    },
    /// The load does not lie strictly between 0 and 1, or is not a number.
    LoadOutOfRange {
        /// The load asked for.
        load: f64,
    },
    /// A filter that grows at this load cannot hold the expected keys: before all of them are inserted, its
    /// fingerprints have no bit left for another doubling, or the filter has its largest size.
    GrowAt {
        /// The load asked for.
        load: f64,
        /// Keys expected, at least 1.
        keys: u64,
        /// Keys that the filter holds at that load once it has doubled to its largest size.
        most_keys: u64,
    },
    /// Two options that set the same quantity were both given.
    Exclusive {
        /// The builder's methods.
        options: [&'static str; 2],
    },
    /// A parameter is outside its range.
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// The smallest value allowed.
        min: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// The value of a parameter is not one of the few values allowed.
    Choice {
        /// The parameter's name.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// All values allowed, in ascending order.
        allowed: &'static [u64],
    },
    /// The system refused the memory.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The instruction set asked for cannot be used.
    Isa(IsaError),
    /// The kind has no such option.
    Option {
        /// The kind asked for.
        kind: FilterKind,
        /// The builder's method.
        option: &'static str,
    },
    /// This build of the library cannot make this kind.
    UnknownKind {
        /// The kind asked for.
        kind: FilterKind,
    },
}

crate::error_messages! { SpecError {
    Self::FprOutOfRange { fpr } => "a false-positive rate must lie strictly between 0 and 1, got {fpr}";
    Self::FprUnreachable { fpr, floor } =>
        "a false-positive rate of {fpr:e} cannot be reached: the floor for this number of keys is {floor:e}";
    Self::TooLarge { bytes, max_bytes } => "{bytes} bytes are needed, the most for this kind is {max_bytes}";
    Self::TooSmall { bytes, min_bytes } => "{bytes} bytes are allowed, {min_bytes} are needed";
    Self::BitsPerKeyOutOfRange { bits_per_key, min, max } =>
        "{bits_per_key} bits per key: the number must be above 0, at least {min}, and at most {max}";
    Self::LoadOutOfRange { load } => "a load must lie strictly between 0 and 1, got {load}";
    Self::GrowAt { load, keys, most_keys } =>
        "{keys} keys are expected, but a filter that grows at load {load:?} has room for at most {most_keys} keys";
    Self::Exclusive { options: [first, second] } => "{first} and {second} exclude each other";
    Self::Parameter { name, value, min, max } => "{name} is {value}, allowed are {min} to {max}";
    Self::Choice { name, value, allowed } => "{name} is {value}, allowed are {}", Listed(allowed);
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
    Self::Isa(error) => "{error}";
    Self::Option { kind, option } => "a {kind} filter has no option {option}";
    Self::UnknownKind { kind } => "this build cannot make a {kind} filter";
}}

crate::error_from! { SpecError {
    OutOfMemory { bytes };
    IsaError => Isa;
}}

/// Numbers with commas between them.
struct Listed<'a>(&'a [u64]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, number) in self.0.iter().enumerate() {
            write!(f, "{}{number}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A filter could not take a key, for lack of room or of memory. The filter holds what it held before it was given that
/// key.
///
/// ```
/// use trommel::{CuckooFilter, Filter, Insert};
/// let mut filter = CuckooFilter::builder().keys(100).load(0.5).build()?;
/// let mut hashes = Vec::new();
/// filter.hasher().hash_batch(&(0..1_000u64).collect::<Vec<_>>(), &mut hashes);
/// let full = filter.insert_batch(&hashes).unwrap_err();
/// assert!(full.inserted < 1_000 && filter.contains_hash(hashes[full.inserted - 1]));
/// assert!(full.len == filter.len() && full.len <= full.capacity);
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Full {
    /// The number of keys that the failed call inserted: 0 for a single insert.
    pub inserted: usize,
    /// The number of keys in the filter now.
    pub len: usize,
    /// The number of keys that the filter has room for if no slot stays empty.
    pub capacity: usize,
    /// The resource that was exhausted.
    pub why: WhyFull,
}

/// Why a key did not fit.
///
/// ```
/// use trommel::{Insert, QuotientFilter, error::WhyFull};
/// let mut filter = QuotientFilter::builder().keys(1_000).multiset(true).build()?;
/// let full = (0..256).find_map(|_| filter.insert("anvil").err()).unwrap();
/// assert_eq!(full.why, WhyFull::Copies { max: 255 });
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyFull {
    /// All slots that the key could use are taken, and none of them can be made free. Or the filter had to grow, and
    /// its table cannot become larger.
    Slots,
    /// The filter holds as many copies of this key as it has room for: in a quotient filter, always 255 copies; in a
    /// cuckoo filter, 8 copies plus as many as fit into the overflow area, which the filter's keys share.
    Copies {
        /// How many copies of the key the filter holds.
        max: u32,
    },
    /// The filter had to grow, but its fingerprints have no bit left for another doubling.
    Fingerprint,
    /// The insert needed memory, to grow the filter or to search for room, but the system refused it.
    Memory {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl Full {
    /// The error of a call that inserted `inserted` keys and then found no slot, in a filter that holds `len` keys and
    /// can hold `capacity`.
    #[must_use]
    pub const fn new(inserted: usize, len: usize, capacity: usize) -> Self {
        Self { inserted, len, capacity, why: WhyFull::Slots }
    }

    /// The same error with another reason.
    ///
    /// ```
    /// use trommel::{Full, error::WhyFull};
    /// let full = Full::new(3, 95, 100).because(WhyFull::Fingerprint);
    /// assert_eq!((full.inserted, full.why), (3, WhyFull::Fingerprint));
    /// ```
    #[must_use]
    pub const fn because(self, why: WhyFull) -> Self {
        Self { why, ..self }
    }
}

crate::error_messages! { Full {
    Self { inserted, len, capacity, why } =>
        "the filter is full: it holds {len} keys, has a capacity of {capacity}, and this call inserted {inserted}{}",
        Reason(*why);
}}

/// The end of the message of [`Full`]: a reason other than a lack of slots.
struct Reason(WhyFull);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            WhyFull::Slots => Ok(()),
            WhyFull::Copies { max } => {
                write!(f, "; it holds {max} copies of this key, and has no room for more")
            }
            WhyFull::Fingerprint => {
                f.write_str("; it cannot grow, since its fingerprints have no bit to spare")
            }
            WhyFull::Memory { bytes } => write!(f, "; {} for the insert", OutOfMemory { bytes }),
        }
    }
}

/// Two filters cannot be combined, since they differ in a property. Neither filter was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incompatible {
    /// The name of the property that differs, for people to read: `"units"` (the words, blocks or cache lines of a
    /// Bloom filter), `"buckets"`, `"hash seed"`, `"hash function"` and the like. A program that needs to know what
    /// differs should not test this string, but compare the two filters: their geometries, hashers and the like.
    pub what: &'static str,
    /// The property's value in the filter that was to be changed.
    pub left: u64,
    /// The property's value in the other filter.
    pub right: u64,
}

impl Incompatible {
    /// The error for two filters that differ in the property `what`.
    #[must_use]
    pub const fn new(what: &'static str, left: u64, right: u64) -> Self {
        Self { what, left, right }
    }

    /// Compares the two values of a property: `Ok` if they are equal.
    ///
    /// ```
    /// use trommel::Incompatible;
    /// assert!(Incompatible::check("hash seed", 1, 1).is_ok());
    /// let unlike = Incompatible::new("hash seed", 1, 2);
    /// assert_eq!(Incompatible::check("hash seed", 1, 2), Err(unlike));
    /// ```
    ///
    /// # Errors
    /// [`Incompatible`] with both values if they differ.
    pub fn check(what: &'static str, left: u64, right: u64) -> Result<(), Self> {
        if left == right { Ok(()) } else { Err(Self { what, left, right }) }
    }
}

crate::error_messages! { Incompatible {
    Self { what, left, right } => "the filters differ in {what}: {left} and {right}";
}}

/// The filter's kind lacks the operation that was called. Nothing was changed.
///
/// ```
/// use trommel::{Filter, FilterKind, FilterSpec};
/// let mut filter = FilterSpec::new(FilterKind::Bloom).build()?;
/// let refused = filter.remove_hash(filter.hash("anvil")).unwrap_err();
/// assert_eq!((refused.kind, refused.operation), (FilterKind::Bloom, "remove"));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The kind of the filter.
    pub kind: FilterKind,
    /// The operation that the kind lacks: `"remove"`, `"count"` or `"intersect"`.
    pub operation: &'static str,
}

crate::error_messages! { Unsupported {
    Self { kind, operation } => "a {kind} filter cannot {operation}";
}}

/// Why two filters were not merged, or not intersected. Neither filter was changed.
///
/// ```
/// use trommel::{FilterKind, FilterSpec, MergeError};
/// let spec = FilterSpec::new(FilterKind::Quotient).keys(1_000);
/// let refused = spec.build()?.merge(&spec.seed(7).build()?).unwrap_err();
/// let MergeError::Incompatible(unlike) = refused else { panic!() };
/// assert_eq!((unlike.what, unlike.left, unlike.right), ("hash seed", 0, 7));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError {
    /// The filters are of different kinds.
    Kinds {
        /// The kind of the filter that was to be changed.
        left: FilterKind,
        /// The kind of the other filter.
        right: FilterKind,
    },
    /// The filters are of one kind, but a property differs.
    Incompatible(Incompatible),
    /// The filter that was to be changed has no room for the keys of the other filter.
    Full(Full),
    /// The system refused the memory that the merge needs.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The kind lacks the operation.
    Unsupported(Unsupported),
    /// The other filter is a trusted view, and its bytes are damaged.
    Damaged(FormatError),
}

crate::error_messages! { MergeError {
    Self::Kinds { left, right } => "a {right} filter cannot be merged into a {left} filter";
    Self::Incompatible(error) => "{error}";
    Self::Full(error) => "{error}";
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
    Self::Unsupported(error) => "{error}";
    Self::Damaged(error) => "{error}";
}}

crate::error_from! { MergeError {
    FormatError => Damaged;
    Incompatible => Incompatible;
    Full => Full;
    OutOfMemory { bytes };
}}

/// A filter could not be folded.
///
/// ```
/// use trommel::{SplitBlockBloom, error::FoldError};
/// let filter = SplitBlockBloom::builder().keys(80).bits_per_key(12.8).build()?;
/// let refused = filter.fold(3).unwrap_err();
/// assert_eq!(refused, FoldError::NotDivisible { units: 4, factor: 3 });
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoldError {
    /// The number of units (words, blocks or cache lines) is not a multiple of the factor.
    NotDivisible {
        /// Units of the filter.
        units: u64,
        /// The factor asked for.
        factor: u64,
    },
    /// Filters of this kind cannot be folded.
    Unsupported {
        /// The kind of the filter.
        kind: FilterKind,
    },
    /// The system refused the memory for the smaller filter.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

crate::error_messages! { FoldError {
    Self::NotDivisible { units, factor } => "{units} units cannot be folded by a factor of {factor}";
    Self::Unsupported { kind } => "a {kind} filter cannot fold";
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
}}

crate::error_from! { FoldError {
    OutOfMemory { bytes };
}}
