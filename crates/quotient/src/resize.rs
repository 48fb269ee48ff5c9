//! Growing, shrinking and merging. Each of them appends the fingerprints of one or two old tables, in order, to a new
//! table.
//!
//! Source: Bender et al., PVLDB 5 (2012), section 3, "Resizing and merging".

use crate::append::Appender;
use crate::filter::Quotient;
use crate::fingerprint::Rounding;
use crate::geometry::{GUARANTEED_LOAD, Geometry, MAX_SLOTS};
use crate::layout::Layout;
use crate::sizing::{slots_for, with_slots};
use trommel_base::storage::{MAX_BYTES, OutOfMemory};
use trommel_base::{Incompatible, Merge, MergeError, Storage, WhyFull};

/// Why a filter was not resized. The filter is unchanged.
///
/// ```
/// use trommel::{QuotientFilter, quotient::ResizeError};
/// let mut filter = QuotientFilter::builder().keys(950).remainder_bits(1).build()?;
/// let refused = ResizeError::Fingerprint { slots: 2_000, fingerprints: 2_000 };
/// assert_eq!(filter.grow(), Err(refused)); // no bit would be left
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// With this number of slots, a remainder would have no bit left, or more bits than the layout can store, or
    /// quotient and remainder together would have more than 62 bits.
    Fingerprint {
        /// The number of slots asked for.
        slots: u64,
        /// The number of possible fingerprints.
        fingerprints: u64,
    },
    /// The filter's fingerprints do not fit into this number of slots, or [`Quotient::resize`] was called with fewer
    /// keys than the filter holds.
    TooSmall {
        /// The number of slots of the requested size.
        slots: u64,
        /// The number of fingerprints held.
        len: u64,
    },
    /// No filter can have this number of slots.
    TooLarge {
        /// The number of slots asked for.
        slots: u64,
        /// The most slots that a filter can have.
        max_slots: u64,
    },
    /// The system refused the memory, or the table would have more bytes than the machine can address.
    OutOfMemory {
        /// The number of bytes asked for.
        bytes: u64,
    },
}

trommel_base::error_messages! { ResizeError {
    Self::Fingerprint { slots, fingerprints } =>
        "with {slots} slots, remainders would have too few or too many bits: \
         fingerprints have {fingerprints} possible values";
    Self::TooSmall { slots, len } =>
        "the filter holds {len} keys, too many for the requested size, {slots} slots";
    Self::TooLarge { slots, max_slots } =>
        "{slots} slots are too many: a filter has at most {max_slots}";
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
}}

trommel_base::error_from! { ResizeError {
    OutOfMemory { bytes };
}}

impl<L: Layout> Quotient<L> {
    /// Doubles the number of slots. This does not need the keys: the highest bit of every remainder becomes the lowest
    /// bit of its quotient. Doubling does not change the false-positive rate, which depends on the number of keys and
    /// on [`Geometry::fingerprints`]. The rate rises with every further key.
    ///
    /// Cost: one pass over the old table and one over the new table; both tables are in memory meanwhile.
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::builder().keys(950).remainder_bits(12).build()?;
    /// filter.insert("anvil").unwrap();
    /// filter.grow()?;
    /// assert_eq!((filter.geometry().slots, filter.geometry().remainder_bits), (2_000, 11));
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ResizeError`]: `Fingerprint` if remainders have one bit left, `TooSmall` if remainders that are pushed beyond
    /// the slot of the last quotient do not fit into the spare slots at the end of the new table, `TooLarge`, or
    /// `OutOfMemory`.
    pub fn grow(&mut self) -> Result<(), ResizeError> {
        self.resize_slots(self.geometry.slots.saturating_mul(2))
    }

    /// Gives the filter the fewest slots that hold `keys` keys at 95 % load, which can be more or fewer slots than it
    /// has now. A [`QuotientFilter`](crate::QuotientFilter) can have any number of slots that leaves remainders of 1 to
    /// 32 bits. A [`CacheLineQuotient`](crate::CacheLineQuotient) can have its original number of slots, or at least
    /// twice that number. All keys stay, with the same fingerprints.
    ///
    /// If the new number of slots is not the original one times a power of two, each insert, lookup, count and removal
    /// costs two multiplications more: the filter keeps fingerprints and not hashes, so it first rounds a key's hash to
    /// its fingerprint. A filter that was built with `fingerprint_bits` rounds hashes at nearly every size. In a
    /// [`CacheLineQuotient`](crate::CacheLineQuotient), the fingerprints whose lowest eight bits are zero are reserved.
    /// So if the filter's number of slots is the original one times 2, 4, 8 or a higher power of two, each insert,
    /// lookup, count and removal tests whether the key's fingerprint is reserved, which costs one multiplication.
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::builder().keys(950).remainder_bits(12).build()?;
    /// filter.insert("anvil").unwrap();
    /// filter.resize(2_850)?;
    /// assert_eq!(filter.geometry().slots, 3_000);
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ResizeError`]: `TooSmall` if the filter holds more than `keys` keys, or if the keys it holds do not fit,
    /// `Fingerprint` if fingerprints are too short or too long for the size, `TooLarge`, or `OutOfMemory`.
    pub fn resize(&mut self, keys: usize) -> Result<(), ResizeError> {
        let slots = self.slots_to_hold(keys);
        if (keys as u64) < self.len {
            return Err(ResizeError::TooSmall { slots, len: self.len });
        }
        self.resize_slots(slots)
    }

    /// The fewest slots that hold `keys` keys at 95 % load and that a resize can give the filter.
    fn slots_to_hold(&self, keys: usize) -> u64 {
        let slots = slots_for::<L>(keys, GUARANTEED_LOAD);
        if !L::RESERVES_ZERO {
            return slots;
        }
        // If remainders have eight bits, remainder 0 is reserved, since it would be stored in the same form as
        // remainder 1. At the original number of slots, no fingerprint has remainder 0. At any other number of slots, a
        // fingerprint could have remainder 0. So with another number of slots, remainders must have at most seven bits,
        // which needs at least twice the original number of slots.
        let first = self.geometry.fingerprints >> L::REMAINDER_BITS.end();
        if slots <= first { first } else { slots.max(first.saturating_mul(2)) }
    }

    /// Shrinks the table to the fewest slots that hold the keys at 95 % load. If a table with this number of slots
    /// is not possible, or would not take fewer bytes than the present one, the filter stays as it is. See
    /// [`Quotient::resize`].
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::builder().keys(9_500).remainder_bits(12).build()?;
    /// for order in 0..950u64 {
    ///     filter.insert(&order)?;
    /// }
    /// filter.shrink_to_fit()?;
    /// assert!(filter.geometry().slots <= 1_000 && filter.contains(&949u64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ResizeError`]: `OutOfMemory`, or `TooSmall` if remainders that are pushed beyond the slot of the last quotient
    /// do not fit into the spare slots at the end of the smaller table.
    pub fn shrink_to_fit(&mut self) -> Result<(), ResizeError> {
        let slots = self.slots_to_hold(usize::try_from(self.len).unwrap_or(usize::MAX));
        let now = self.geometry.table_bytes::<L>();
        match resized::<L>(&self.geometry, slots) {
            Ok(smaller) if smaller.table_bytes::<L>() < now => self.resize_slots(slots),
            _ => Ok(()),
        }
    }

    fn resize_slots(&mut self, slots: u64) -> Result<(), ResizeError> {
        let geometry = resized::<L>(&self.geometry, slots)?;
        let mut table = new_table::<L>(&geometry, &self.table)?;
        let fingerprints = self.fingerprints();
        let len =
            append_all::<L>(&geometry, &mut table, fingerprints).map_err(|why| match why {
                WhyFull::Memory { bytes } => ResizeError::OutOfMemory { bytes },
                _ => ResizeError::TooSmall { slots, len: self.len },
            })?;
        debug_assert_eq!(len, self.len);
        self.replace(geometry, table, len);
        Ok(())
    }

    fn replace(&mut self, geometry: Geometry, table: Storage, len: u64) {
        let grow_at = self.grow_at;
        *self = Self::assemble(geometry, self.hasher, self.isa(), table);
        (self.len, self.grow_at) = (len, grow_at);
    }

    /// Whether one more key would push the filter over the load at which it grows.
    pub(crate) fn is_growth_due(&self) -> bool {
        self.grow_at.is_some_and(|load| self.len >= self.keys_at(load))
    }

    /// The number of keys with which the filter has this load.
    pub(crate) fn keys_at(&self, load: f64) -> u64 {
        (load * self.geometry.slots as f64) as u64
    }

    /// Doubles the filter until it can take one more key without exceeding the load at which it grows. On an error, the
    /// filter is unchanged.
    pub(crate) fn grow_if_due(&mut self) -> Result<(), WhyFull> {
        let Some(load) = self.grow_at.filter(|_| self.is_growth_due()) else { return Ok(()) };
        let mut geometry = self.geometry;
        while self.len >= (load * geometry.slots as f64) as u64 {
            geometry = resized::<L>(&geometry, geometry.slots.saturating_mul(2))?;
        }
        self.resize_slots(geometry.slots)?;
        Ok(())
    }
}

impl From<ResizeError> for WhyFull {
    /// The reason to report for a full filter whose growth failed with this error.
    fn from(error: ResizeError) -> Self {
        match error {
            ResizeError::OutOfMemory { bytes } => Self::Memory { bytes },
            // The filter has the largest number of slots already, or remainders that are pushed beyond the slot of the
            // last quotient do not fit into the spare slots at the end of a doubled table.
            ResizeError::TooSmall { .. } | ResizeError::TooLarge { .. } => Self::Slots,
            ResizeError::Fingerprint { .. } => Self::Fingerprint,
        }
    }
}

/// The geometry `old`, but with `slots` slots. The possible fingerprints stay the same.
fn resized<L: Layout>(old: &Geometry, slots: u64) -> Result<Geometry, ResizeError> {
    if slots > MAX_SLOTS {
        return Err(ResizeError::TooLarge { slots, max_slots: MAX_SLOTS });
    }
    with_slots::<L>(old, slots)
        .ok_or(ResizeError::Fingerprint { slots, fingerprints: old.fingerprints })
}

/// An empty table, on huge pages if the table that it replaces asks for huge pages.
fn new_table<L: Layout>(geometry: &Geometry, old: &Storage) -> Result<Storage, OutOfMemory> {
    let bytes = geometry.table_bytes::<L>();
    if bytes > MAX_BYTES {
        return Err(OutOfMemory { bytes });
    }
    Storage::zeroed(bytes as usize, old.wants_huge_pages())
}

/// Fills a table with fingerprints in ascending order. Returns the number of fingerprints in the table.
fn append_all<L: Layout>(
    geometry: &Geometry,
    table: &mut [u8],
    fingerprints: impl Iterator<Item = u64>,
) -> Result<u64, WhyFull> {
    let refused = |OutOfMemory { bytes }| WhyFull::Memory { bytes };
    let mut appender = Appender::<L>::new(geometry, table).map_err(refused)?;
    appender.extend(fingerprints.map(entry_in::<L>(geometry)))?;
    Ok(appender.finish())
}

/// Fills a table with the merged fingerprints of two filters. Returns the number of fingerprints in the table.
fn append_merged<L: Layout, I: Iterator<Item = u64>>(
    geometry: &Geometry,
    table: &mut [u8],
    mut fingerprints: Merged<I>,
) -> Result<u64, WhyFull> {
    let refused = |OutOfMemory { bytes }| WhyFull::Memory { bytes };
    let mut appender = Appender::<L>::new(geometry, table).map_err(refused)?;
    let mut numbers = [0; BUFFERED];
    loop {
        let some = fingerprints.next_some(&mut numbers);
        if some.is_empty() {
            return Ok(appender.finish());
        }
        appender.extend(some.iter().copied().map(entry_in::<L>(geometry)))?;
    }
}

/// A function from a fingerprint to its quotient and stored remainder in a table.
#[inline(always)]
fn entry_in<L: Layout>(geometry: &Geometry) -> impl Fn(u64) -> (u64, u32) {
    let (geometry, rounding) = (*geometry, Rounding::of::<L>(geometry));
    move |fingerprint| {
        let place = rounding.place_of(&geometry, fingerprint);
        let remainder = (place & ((1 << geometry.remainder_bits) - 1)) as u32;
        (place >> geometry.remainder_bits, L::stored(geometry.remainder_bits, remainder))
    }
}

/// Merges two ascending sequences, some numbers at a time. The processor cannot predict which sequence has the next
/// number, so a step has no branch: it reads the next number of each of two buffers, takes the smaller number, and
/// advances in the buffer that had it.
struct Merged<I> {
    left: Buffered<I>,
    right: Buffered<I>,
}

/// A sequence, and a buffer of its next numbers.
struct Buffered<I> {
    sequence: I,
    /// The numbers from `at` on come next. [`END`] follows the last number of the sequence.
    numbers: [u64; BUFFERED],
    at: usize,
}

const BUFFERED: usize = 256;
/// A number that is no fingerprint.
const END: u64 = u64::MAX;

impl<I: Iterator<Item = u64>> Buffered<I> {
    fn new(sequence: I) -> Self {
        Self { sequence, numbers: [END; BUFFERED], at: BUFFERED }
    }

    /// The buffered numbers that come next: at least one, which is [`END`] after the end of the sequence.
    fn rest(&mut self) -> &[u64] {
        if self.at == BUFFERED {
            self.numbers.fill(END);
            for (to, number) in self.numbers.iter_mut().zip(&mut self.sequence) {
                *to = number;
            }
            self.at = 0;
        }
        &self.numbers[self.at..]
    }
}

impl<I: Iterator<Item = u64>> Merged<I> {
    fn new(left: I, right: I) -> Self {
        Self { left: Buffered::new(left), right: Buffered::new(right) }
    }

    /// The next merged numbers, without [`END`]: at most as many as the buffer with the fewer numbers has left.
    /// The slice is empty at the end of both sequences.
    fn next_some<'n>(&mut self, numbers: &'n mut [u64; BUFFERED]) -> &'n [u64] {
        let (left, right) = (self.left.rest(), self.right.rest());
        let steps = left.len().min(right.len());
        let (mut from_left, mut from_right) = (0, 0);
        for to in &mut numbers[..steps] {
            let (l, r) = (left[from_left], right[from_right]);
            *to = l.min(r);
            from_left += usize::from(l <= r);
            from_right += usize::from(l > r);
        }
        self.left.at += from_left;
        self.right.at += from_right;
        let numbers = &numbers[..steps];
        &numbers[..numbers.partition_point(|number| *number != END)]
    }
}

impl<L: Layout> Quotient<L> {
    /// Adds the fingerprints of another filter, owned or viewed. The filters can have any sizes, and can have been
    /// resized, but must have the same number of possible [`fingerprints`](Geometry::fingerprints). Filters have the
    /// same number if they were built with the same [`fingerprint_bits`](trommel_base::Builder::fingerprint_bits), or
    /// with the same numbers of slots and of remainder bits. Filters that were built with a false-positive rate for
    /// different numbers of keys generally have different numbers of possible fingerprints. If both filters hold the
    /// same fingerprint, a set stores it once.
    ///
    /// If the merged filter will hold `n` keys, and its false-positive rate is to be at most `fpr`, build each filter
    /// with fingerprints of `⌈log2(n / fpr)⌉` bits:
    ///
    /// ```
    /// use trommel::{Filter, Insert, KeyHash, QuotientFilter};
    /// // 6000 keys at 1 %: log2(600,000) is 19.2.
    /// let builder = QuotientFilter::builder().fpr(0.01).fingerprint_bits(20).grow_at(0.95);
    /// let mut small = builder.keys(1000).build()?;
    /// let mut large = builder.keys(5000).build()?;
    /// small.insert_hash(KeyHash::from_raw(1 << 63))?;
    /// large.insert_hash(KeyHash::from_raw(1 << 62))?;
    /// large.union(&small)?;
    /// assert_eq!(large.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The filter keeps its size, unless it grows by itself. Cost: one pass over both tables and one over the new
    /// table; all three tables are in memory meanwhile. If `other` is a view that
    /// [`parse_trusted`](Quotient::parse_trusted) made, its bytes are checked first, in one more pass.
    ///
    /// # Errors
    /// [`MergeError`] if the filters differ in hash function, seed, number of possible fingerprints or maximum of
    /// copies, if there are too few free slots or too many copies of a key, if the system refuses the memory, or if
    /// `other` is a view that [`parse_trusted`](Quotient::parse_trusted) made of damaged bytes. On an error, this
    /// filter is unchanged.
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &Quotient<L, T>) -> Result<(), MergeError> {
        let (mine, theirs) = (self.hasher, other.hasher);
        Incompatible::check("hash function", mine.id() as u64, theirs.id() as u64)?;
        Incompatible::check("hash seed", mine.seed(), theirs.seed())?;
        let (mine, theirs) = (self.geometry, other.geometry);
        let what = if L::RESERVES_ZERO {
            "the number of possible fingerprints"
        } else {
            "the number of possible fingerprints, which `fingerprint_bits` sets"
        };
        Incompatible::check(what, mine.fingerprints, theirs.fingerprints)?;
        Incompatible::check("copies of a key", mine.copies.into(), theirs.copies.into())?;
        other.check_structure()?;
        let mut geometry = self.geometry;
        let held = self.len.saturating_add(other.len);
        if let Some(load) = self.grow_at {
            while held as f64 > load * geometry.slots as f64
                && let Ok(doubled) = resized::<L>(&geometry, geometry.slots.saturating_mul(2))
            {
                geometry = doubled;
            }
        }
        let mut table = new_table::<L>(&geometry, &self.table)?;
        let both = Merged::new(self.fingerprints(), other.fingerprints());
        let merged = append_merged::<L, _>(&geometry, &mut table, both);
        let len = merged.map_err(|why| match why {
            WhyFull::Memory { bytes } => MergeError::OutOfMemory { bytes },
            why => self.full(0, why).into(),
        })?;
        self.replace(geometry, table, len);
        Ok(())
    }
}

impl<L: Layout> Merge for Quotient<L> {
    type Error = MergeError;

    /// See [`Quotient::union`].
    fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        self.union(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::WideBlock;

    /// A table with more slots than the maximum needs terabytes, so only the geometry is computed.
    #[test]
    fn no_filter_is_resized_to_more_than_the_maximum_of_slots() {
        let small = crate::QuotientFilter::builder().keys(1_000_000).fingerprint_bits(50).build();
        let old = small.unwrap().geometry();
        let most = resized::<WideBlock>(&old, MAX_SLOTS);
        assert_eq!(most.map(|geometry| geometry.slots), Ok(MAX_SLOTS));
        for slots in [MAX_SLOTS + 1, 2 * MAX_SLOTS, u64::MAX] {
            let refused = Err(ResizeError::TooLarge { slots, max_slots: MAX_SLOTS });
            assert_eq!(resized::<WideBlock>(&old, slots), refused);
        }
    }
}
