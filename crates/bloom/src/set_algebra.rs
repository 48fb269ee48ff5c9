//! Union, intersection and folding of whole tables.

use crate::counters::CounterWidth;
use crate::counting::CountingBloomFilter;
use crate::filter::Bloom;
use crate::geometry::Geometry;
use crate::layout::Layout;
use trommel_base::{FoldError, Incompatible, Merge, MergeError, Storage};

/// Changes `table` to the bitwise OR of `table` and `other`, up to the end of the shorter of the two.
pub(crate) fn set_bits_of(table: &mut [u8], other: &[u8]) {
    table.iter_mut().zip(other).for_each(|(to, from)| *to |= from);
}

impl<L: Layout, S: AsRef<[u8]>> Bloom<L, S> {
    fn check_compatible<T: AsRef<[u8]>>(&self, other: &Bloom<L, T>) -> Result<(), Incompatible> {
        let (a, b) = (self, other);
        Incompatible::check("units", a.geometry.units, b.geometry.units)?;
        let hashes = |geometry: Geometry| u64::from(geometry.hashes);
        Incompatible::check("hashes", hashes(a.geometry), hashes(b.geometry))?;
        Incompatible::check("hash function", a.hasher.id() as u64, b.hasher.id() as u64)?;
        Incompatible::check("hash seed", a.hasher.seed(), b.hasher.seed())
    }
}

impl<L: Layout, S: AsRef<[u8]> + AsMut<[u8]>> Bloom<L, S> {
    /// Adds all keys of another filter, owned or viewed, by a bitwise OR. The table becomes bit for bit the table of a
    /// filter with the keys of both filters. [`Filter::len`](trommel_base::Filter::len) becomes the sum of its values
    /// in both filters.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut monday = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// let mut tuesday = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// monday.add("anvil");
    /// tuesday.add("forge");
    /// let bytes = tuesday.to_bytes();
    /// monday.union(&BloomFilter::parse(&bytes)?)?;
    /// assert!(monday.contains("anvil") && monday.contains("forge"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Incompatible`] if the filters differ in size, number of hashes or hasher. This filter is then unchanged.
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &Bloom<L, T>) -> Result<(), Incompatible> {
        self.check_compatible(other)?;
        set_bits_of(self.table.as_mut(), other.table.as_ref());
        self.len = self.len.saturating_add(other.len);
        Ok(())
    }

    /// Keeps the bits that are set in both filters, by a bitwise AND. Every key that is in both filters is still found.
    /// The resulting false-positive rate is at least the rate of a filter that is built from the keys that are in both
    /// filters, and at most the rate of each of the two filters. [`Filter::len`](trommel_base::Filter::len) becomes the
    /// smaller of the two filters' values. This is an upper bound for the number of keys that are in both filters,
    /// provided that neither value is below the number of keys in its filter.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut monday = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// let mut tuesday = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// monday.extend(["anvil", "forge"].map(|key| tuesday.hash(key)));
    /// tuesday.add("forge");
    /// monday.intersect(&tuesday)?;
    /// assert!(monday.contains("forge") && !monday.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Incompatible`] if the filters differ in size, number of hashes or hasher. This filter is then unchanged.
    pub fn intersect<T: AsRef<[u8]>>(&mut self, other: &Bloom<L, T>) -> Result<(), Incompatible> {
        self.check_compatible(other)?;
        let from = other.table.as_ref();
        self.table.as_mut().iter_mut().zip(from).for_each(|(to, from)| *to &= from);
        self.len = self.len.min(other.len);
        Ok(())
    }
}

impl<L: Layout, S: AsRef<[u8]> + AsMut<[u8]>> Merge for Bloom<L, S> {
    type Error = Incompatible;

    fn merge(&mut self, other: &Self) -> Result<(), Incompatible> {
        self.union(other)
    }
}

impl<L: Layout> Bloom<L> {
    /// A filter with the same keys and `1 / factor` of the size. The result is bit for bit the filter that would have
    /// been built at that size with the same number of hashes. If the number of keys is unknown, build a large filter
    /// and fold it when all keys are in; see [`Builder::foldable_by`](trommel_base::Builder::foldable_by).
    /// [`expected_fpr`](trommel_base::Filter::expected_fpr) of the result is the false-positive rate after the fold.
    ///
    /// ```
    /// use trommel::{Filter, Insert, SplitBlockBloom};
    /// let mut large =
    ///     SplitBlockBloom::builder().keys(100_000).fpr(0.01).foldable_by(16).build().unwrap();
    /// for key in 0..10_000u32 {
    ///     large.insert(&key).unwrap();
    /// }
    /// let small = large.fold(8).unwrap();
    /// assert_eq!(small.memory_bytes() * 8, large.memory_bytes());
    /// assert!((0..10_000u32).all(|key| small.contains(&key)));
    /// assert!(small.expected_fpr() < 0.03);
    /// ```
    ///
    /// # Errors
    /// [`FoldError`] if `factor` is 0, if the number of units is not a multiple of `factor`, or if memory is refused.
    pub fn fold(&self, factor: u32) -> Result<Self, FoldError> {
        let Geometry { units, hashes } = self.geometry;
        let not_divisible = FoldError::NotDivisible { units, factor: u64::from(factor) };
        if units.checked_rem(u64::from(factor)) != Some(0) {
            return Err(not_divisible);
        }
        let geometry = Geometry { units: units / u64::from(factor), hashes };
        let bytes = self.table.len() / factor as usize;
        let mut table = Storage::zeroed(bytes, self.table.wants_huge_pages())?;
        L::fold(&self.table, factor as usize, &mut table);
        Ok(Self::assemble(geometry, self.hasher, self.len, self.isa(), table))
    }

    /// Returns a copy of the filter, folded to half its size again and again, until the number of units is odd or the
    /// next fold would raise the expected false-positive rate above `fpr`. `None` if the expected false-positive rate
    /// of this filter is already above `fpr`.
    ///
    /// ```
    /// use trommel::{Filter, SplitBlockBloom};
    /// let mut large = SplitBlockBloom::builder().keys(100_000).foldable_by(16).build()?;
    /// (0..10_000u64).for_each(|order| {
    ///     large.add(&order);
    /// });
    /// let small = large.fold_to_fpr(0.01)?.unwrap();
    /// assert!(small.memory_bytes() <= large.memory_bytes() / 8 && small.expected_fpr() <= 0.01);
    /// assert_eq!(large.fold_to_fpr(1e-300)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FoldError::OutOfMemory`] if memory is refused.
    pub fn fold_to_fpr(&self, fpr: f64) -> Result<Option<Self>, FoldError> {
        use trommel_base::Filter;
        let mut best = None;
        let mut factor = 1u32;
        loop {
            match self.fold(factor) {
                Ok(folded) if folded.expected_fpr() <= fpr => best = Some(folded),
                Ok(_) | Err(FoldError::NotDivisible { .. }) => return Ok(best),
                Err(error) => return Err(error),
            }
            match factor.checked_mul(2) {
                Some(next) => factor = next,
                None => return Ok(best),
            }
        }
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> CountingBloomFilter<S> {
    /// Adds the counters of another filter, owned or viewed. The result holds all copies of the keys of both filters.
    /// Counters of four bits that reach 15 stick there, as they do in inserts.
    ///
    /// ```
    /// use trommel::{Count, CountingBloomFilter};
    /// let mut monday = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// let mut tuesday = monday.clone();
    /// monday.add("anvil");
    /// tuesday.add("anvil");
    /// monday.union(&tuesday)?;
    /// assert_eq!(monday.count("anvil"), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError`] if the filters differ in size, number of hashes, hasher or counter width, or if the counters of
    /// `other` disagree with its bits or its overflow table. Only a view of bytes that were not verified can have such
    /// counters. After an error, this filter is unchanged.
    pub fn union<T: AsRef<[u8]>>(
        &mut self,
        other: &CountingBloomFilter<T>,
    ) -> Result<(), MergeError> {
        let width = |width: CounterWidth| u64::from(width.bits());
        Incompatible::check(
            "counter width",
            width(self.counters.width),
            width(other.counters.width),
        )?;
        other.check_structure()?;
        self.bits.union(&other.bits)?;
        self.counters.add_all(&other.counters);
        Ok(())
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Merge for CountingBloomFilter<S> {
    type Error = MergeError;

    fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        self.union(other)
    }
}
