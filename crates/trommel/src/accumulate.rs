//! Partial filters that can be merged, however many keys each of them has.

mod bytes;

use crate::any::AnyFilter;
use crate::spec::{BuildError, FilterSpec, insert_alone};
use alloc::vec::Vec;
use core::fmt;
use trommel_base::{Filter, FormatError, Full, Hasher, KeyHash, MergeError, SpecError};

/// Collects the hashes of a part of the keys, and turns into a filter when there are too many hashes to keep.
///
/// An aggregate over many partitions or groups has many parts with few keys and some with many. Most kinds of filters
/// merge only if they have the same size, so the filter of every part would need the size of the filter of all keys. An
/// accumulator keeps up to `max_hashes` hashes, of 8 bytes each. With one more hash, the accumulator makes a filter
/// from the [`FilterSpec`] that all parts share. Accumulators of the same spec merge in any order, whether they have
/// hashes or a filter. The exception is a spec of [`FilterKind::Cuckoo`](crate::FilterKind::Cuckoo) with
/// [`grow_at`](FilterSpec::grow_at): two cuckoo filters that have doubled a different number of times refuse to merge.
///
/// The filter that [`FilterAccumulator::finish`] returns equals a single filter of the spec with the same inserts, byte
/// for byte. There are two exceptions: the bytes of a cuckoo filter depend on the order of inserts, and the size of a
/// filter that grows by itself depends on the order of inserts and merges.
///
/// ```
/// use trommel::{Filter, FilterAccumulator, FilterKind, FilterSpec};
///
/// let spec = FilterSpec::new(FilterKind::SplitBlockBloom).keys(10_000).fpr(0.01);
/// let mut parts = Vec::new();
/// for part in [0..10u64, 10..9_000, 9_000..9_001] {
///     let mut accumulator = FilterAccumulator::new(spec, 100)?;
///     for key in part {
///         accumulator.insert_hash(accumulator.hasher().hash(&key))?;
///     }
///     parts.push(accumulator);
/// }
///
/// let mut whole = FilterAccumulator::new(spec, 100)?;
/// for part in parts {
///     whole.merge(part)?;
/// }
/// let filter = whole.finish()?;
/// assert!((0..9_001u64).all(|key| filter.contains(&key)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FilterAccumulator {
    spec: FilterSpec,
    max_hashes: usize,
    held: Held,
}

#[derive(Clone)]
enum Held {
    Hashes(Vec<KeyHash>),
    Filter(AnyFilter),
}

/// The reason why two accumulators were not merged. The accumulator whose `merge` or `merge_bytes` was called has the
/// same keys as before, plus those that the error reports as inserted.
///
/// ```
/// use trommel::error::AccumulateError;
/// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
/// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
/// let mut whole = FilterAccumulator::new(spec, 100)?;
/// let refused = whole.merge(FilterAccumulator::new(spec.seed(7), 100)?);
/// assert_eq!(refused, Err(AccumulateError::Specs));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum AccumulateError {
    /// The accumulators have different specs.
    Specs,
    /// The filter could not be made, it has no room for the keys, or memory for hashes or inserts was refused.
    Build(BuildError),
    /// The filters did not merge.
    Merge(MergeError),
    /// The bytes could not be read as an accumulator or as a frozen filter.
    Format(FormatError),
}

trommel_base::error_messages! { AccumulateError {
    Self::Specs => "the accumulators have different specs";
    Self::Build(error) => "{error}";
    Self::Merge(error) => "{error}";
    Self::Format(error) => "{error}";
}}

trommel_base::error_from! { AccumulateError {
    BuildError => Build;
    MergeError => Merge;
    FormatError => Format;
}}

impl FilterAccumulator {
    /// Makes an empty accumulator, and allocates nothing. The accumulator keeps at most `max_hashes` hashes before it
    /// makes the filter. Set the spec's number of keys to the number expected in all parts together, not in this part.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// assert!(FilterAccumulator::new(spec, 100)?.is_empty());
    /// assert!(FilterAccumulator::new(spec.fpr(1.5), 100).is_err());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the spec cannot be met.
    pub fn new(spec: FilterSpec, max_hashes: usize) -> Result<Self, SpecError> {
        spec.encoded_len()?;
        Ok(Self { spec, max_hashes, held: Held::Hashes(Vec::new()) })
    }

    /// The spec of the whole filter.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// assert_eq!(FilterAccumulator::new(spec, 100)?.spec(), spec);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn spec(&self) -> FilterSpec {
        self.spec
    }

    /// The spec's hasher, with which keys must be hashed.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec, Hasher};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000).seed(7);
    /// assert_eq!(FilterAccumulator::new(spec, 100)?.hasher(), Hasher::xxh3(7));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn hasher(&self) -> Hasher {
        self.spec.spec().hasher
    }

    /// Whether the accumulator still keeps hashes, and has not made the filter.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let mut accumulator = FilterAccumulator::new(spec, 1)?;
    /// accumulator.insert_hash(accumulator.hasher().hash("anvil"))?;
    /// assert!(accumulator.is_sparse());
    /// accumulator.insert_hash(accumulator.hasher().hash("forge"))?;
    /// assert!(!accumulator.is_sparse());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        matches!(self.held, Held::Hashes(_))
    }

    /// The number of hashes that are kept, repeated ones included, or [`Filter::len`] of the filter if one was made.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Quotient).keys(1_000);
    /// let mut accumulator = FilterAccumulator::new(spec, 2)?;
    /// let hash = accumulator.hasher().hash("anvil");
    /// accumulator.insert_batch(&[hash; 2])?;
    /// assert_eq!(accumulator.len(), 2); // hashes
    /// accumulator.insert_hash(hash)?;
    /// assert_eq!(accumulator.len(), 1); // keys of a filter
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.held {
            Held::Hashes(hashes) => hashes.len(),
            Held::Filter(filter) => filter.len(),
        }
    }

    /// Whether [`FilterAccumulator::len`] is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of memory that the hashes take, or [`Filter::memory_bytes`] of the filter if one was made.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000).memory_bytes(2_000);
    /// let mut accumulator = FilterAccumulator::new(spec, 1)?;
    /// assert_eq!(accumulator.memory_bytes(), 0);
    /// let hashes = ["anvil", "forge"].map(|key| accumulator.hasher().hash(key));
    /// accumulator.insert_batch(&hashes)?;
    /// assert_eq!(accumulator.memory_bytes(), 2_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.held {
            Held::Hashes(hashes) => hashes.capacity() * size_of::<KeyHash>(),
            Held::Filter(filter) => filter.memory_bytes(),
        }
    }

    /// Inserts a key.
    ///
    /// ```
    /// use trommel::{Filter, FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let mut accumulator = FilterAccumulator::new(spec, 100)?;
    /// accumulator.insert_hash(accumulator.hasher().hash("anvil"))?;
    /// assert!(accumulator.finish()?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if memory is refused, the filter cannot be made, or the filter has no room. The accumulator then
    /// has the same keys as before. If the accumulator kept hashes, it may now have a filter of these hashes instead.
    pub fn insert_hash(&mut self, hash: KeyHash) -> Result<(), BuildError> {
        self.insert_batch(&[hash])
    }

    /// Inserts a batch of keys.
    ///
    /// ```
    /// use trommel::{Filter, FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let mut accumulator = FilterAccumulator::new(spec, 100)?;
    /// let mut hashes = Vec::new();
    /// accumulator.hasher().hash_batch(&["anvil", "forge"], &mut hashes);
    /// accumulator.insert_batch(&hashes)?;
    /// assert_eq!(accumulator.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if memory is refused, the filter cannot be made, or the filter has no room. The accumulator then
    /// has the same keys as before, plus those of the batch that a [`BuildError::Full`] reports as inserted.
    pub fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), BuildError> {
        if let Held::Hashes(kept) = &mut self.held {
            // The sum cannot overflow, since both slices are in memory at 8 bytes per hash.
            if kept.len() + hashes.len() <= self.max_hashes {
                let bytes = size_of_val(hashes) as u64;
                let reserved = kept.try_reserve(hashes.len());
                reserved.map_err(|_| SpecError::OutOfMemory { bytes })?;
                kept.extend_from_slice(hashes);
                return Ok(());
            }
            self.held = Held::Filter(filter_of(&self.spec, kept)?);
        }
        if let Held::Filter(filter) = &mut self.held {
            insert_alone(filter, hashes)?;
        }
        Ok(())
    }

    /// Inserts the keys of another accumulator of the same spec.
    ///
    /// ```
    /// use trommel::{Filter, FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let mut whole = FilterAccumulator::new(spec, 100)?;
    /// let mut part = FilterAccumulator::new(spec, 0)?; // a filter from the first key on
    /// part.insert_hash(part.hasher().hash("anvil"))?;
    /// whole.merge(part)?;
    /// assert!(!whole.is_sparse() && whole.finish()?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AccumulateError`] if the specs differ, memory is refused, the filter cannot be made, or the filter has no
    /// room. If both accumulators have made a cuckoo filter that grows by itself, and one of these filters has doubled
    /// more often than the other, the error is [`MergeError::Incompatible`].
    pub fn merge(&mut self, other: Self) -> Result<(), AccumulateError> {
        if self.spec != other.spec {
            return Err(AccumulateError::Specs);
        }
        match (&mut self.held, other.held) {
            (_, Held::Hashes(hashes)) => self.insert_batch(&hashes)?,
            (Held::Filter(filter), Held::Filter(other)) => filter.merge(&other)?,
            (Held::Hashes(hashes), Held::Filter(mut other)) => {
                // This accumulator's hashes are dropped only after they are in the filter of the other accumulator.
                insert_alone(&mut other, hashes).map_err(none_of_this_call)?;
                self.held = Held::Filter(other);
            }
        }
        Ok(())
    }

    /// Returns the filter of the spec with all keys.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// assert_eq!(FilterAccumulator::new(spec, 100)?.finish()?, spec.build()?);
    /// # Ok::<(), trommel::error::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the filter cannot be made (for example because memory is refused), or if it has no room.
    pub fn finish(self) -> Result<AnyFilter, BuildError> {
        match self.held {
            Held::Hashes(hashes) => filter_of(&self.spec, &hashes),
            Held::Filter(filter) => Ok(filter),
        }
    }

    /// Returns a filter of all keys. If the accumulator has made a filter, returns it, like
    /// [`FilterAccumulator::finish`]. If the accumulator keeps hashes, makes a filter that is sized by these hashes
    /// instead of by the spec's number of keys. The new filter is no larger than the spec requires for these keys. But
    /// if the spec sets a size in bytes and no false-positive rate, that size decides, however few the keys are.
    /// Multisets and counting filters count the copies of a key, so they get every copy, and are made for the number of
    /// hashes, repeated ones included. Any other filter is made for the number of distinct hashes.
    ///
    /// ```
    /// use trommel::{Filter, FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000_000);
    /// let mut accumulator = FilterAccumulator::new(spec, 100)?;
    /// let hash = accumulator.hasher().hash("anvil");
    /// accumulator.insert_batch(&[hash; 100])?;
    /// assert!(accumulator.finish_compact()?.memory_bytes() < 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the filter cannot be made (for example because memory is refused), or if it has no room.
    pub fn finish_compact(self) -> Result<AnyFilter, BuildError> {
        match self.held {
            Held::Hashes(mut hashes) => {
                if !self.spec.counts_copies() {
                    hashes.sort_unstable();
                    hashes.dedup();
                }
                filter_of(&self.spec.keys(hashes.len()), &hashes)
            }
            Held::Filter(filter) => Ok(filter),
        }
    }
}

/// Prints how many hashes the accumulator keeps, but not the hashes.
impl fmt::Debug for FilterAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("FilterAccumulator");
        shown.field("spec", &self.spec).field("max_hashes", &self.max_hashes);
        match &self.held {
            Held::Hashes(hashes) => shown.field("hashes", &hashes.len()).finish(),
            Held::Filter(filter) => shown.field("filter", filter).finish(),
        }
    }
}

/// Sets the number of inserted keys in an error to 0. The error comes from inserting the kept hashes of earlier calls,
/// but the error that a call returns must count only the keys of that call.
fn none_of_this_call(full: Full) -> BuildError {
    BuildError::Full(Full::new(0, full.len, full.capacity).because(full.why))
}

/// Makes the filter of a spec, and inserts the keys that the accumulator got in earlier calls.
fn filter_of(spec: &FilterSpec, hashes: &[KeyHash]) -> Result<AnyFilter, BuildError> {
    let mut filter = spec.build()?;
    insert_alone(&mut filter, hashes).map_err(none_of_this_call)?;
    Ok(filter)
}
