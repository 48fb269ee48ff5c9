//! The Bloom filter type: a layout over bytes.

use crate::geometry::Geometry;
use crate::kernel::Kernels;
use crate::layout::{self, Layout};
use trommel_base::builder::FoldOptions;
use trommel_base::container::HEADER_BYTES;
use trommel_base::{
    Bitmap, Filter, FromSpec, Full, Hasher, Insert, KeyHash, Spec, SpecError, Storage,
};
use trommel_simd::Isa;

/// A Bloom filter of layout `L`, whose table is in `S`: owned memory ([`Storage`], the default), or, for a zero-copy
/// view, frozen bytes at any alignment (`&[u8]` or `SharedBytes`).
///
/// ```
/// use trommel::{Bitmap, Filter, Insert, KeyHash, RegisterBloom};
///
/// let mut filter = RegisterBloom::with_capacity_and_fpr(10_000, 0.01)?;
/// let keys: Vec<u64> = (0..10_000).collect();
/// let mut hashes = Vec::new();
/// filter.hasher().hash_batch(&keys, &mut hashes);
/// filter.insert_batch(&hashes).unwrap();
///
/// let mut found = Bitmap::new(0);
/// filter.contains_batch(&hashes, &mut found);
/// assert_eq!(found.count_ones(), 10_000);
/// # Ok::<(), trommel::SpecError>(())
/// ```
pub struct Bloom<L: Layout, S = Storage> {
    pub(crate) geometry: Geometry,
    pub(crate) hasher: Hasher,
    pub(crate) len: u64,
    pub(crate) kernels: Kernels<L::Body>,
    pub(crate) table: S,
}

impl<L: Layout> Bloom<L> {
    trommel_base::filter_methods! {
        /// The smallest filter whose expected false-positive rate with `keys` keys is at most `fpr`.
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter};
        /// let filter = BloomFilter::with_capacity_and_fpr(1_000_000, 0.01)?;
        /// assert!((filter.memory_bytes() as f64 * 8.0 / 1e6 - 9.59).abs() < 0.01);
        /// assert!(BloomFilter::with_capacity_and_fpr(10, f64::NAN).is_err());
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// # Errors
        /// [`SpecError`] if `fpr` is not strictly between 0 and 1 or cannot be reached, if the filter would be too
        /// large, if the memory is refused, or if the instruction set that the environment variable `TROMMEL_ISA` names
        /// cannot be used.
        with_capacity_and_fpr;

        /// A builder with further options: bytes, bits per key, seed, hasher, instruction set, huge pages.
        ///
        /// ```
        /// use trommel::{CacheLineBloom, Filter, SplitBlockBloom};
        /// let filter = SplitBlockBloom::builder().keys(1000).fpr(0.005).seed(42).build()?;
        /// // The lowest false-positive rate that 50,000 keys can have in 100,000 bytes.
        /// let filter = CacheLineBloom::builder().keys(50_000).memory_bytes(100_000).build()?;
        /// assert_eq!(filter.memory_bytes(), 99_968); // whole cache lines of 64 bytes
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// Calling an option that this kind of filter lacks does not compile:
        ///
        /// ```compile_fail
        /// use trommel::SplitBlockBloom;
        /// let filter = SplitBlockBloom::builder().keys(1000).remainder_bits(3).build();
        /// ```
        builder;

        /// How the table's memory was allocated: whether huge pages were advised.
        ///
        /// ```
        /// use trommel::{BloomFilter, container::Backing};
        /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(filter.backing(), Backing::Heap); // far below 4 MiB
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        backing;
    }

    /// Removes all keys and keeps the memory.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn clear(&mut self) {
        self.table.fill(0);
        self.len = 0;
    }
}

impl<L: Layout> FoldOptions for Bloom<L> {}

impl<L: Layout> FromSpec for Bloom<L> {
    fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let isa = spec.usable_isa()?;
        let geometry = checked_geometry::<L>(spec)?;
        // `checked_geometry` refuses tables that the machine cannot address, so this number of bytes fits `usize`.
        let bytes = geometry.units * L::UNIT_BYTES as u64;
        let table = Storage::zeroed(bytes as usize, spec.huge_pages)?;
        Ok(Self::assemble(geometry, spec.hasher, 0, isa, table))
    }

    fn encoded_len_of(spec: &Spec) -> Result<u64, SpecError> {
        spec.usable_isa()?;
        Ok(HEADER_BYTES as u64 + checked_geometry::<L>(spec)?.units * L::UNIT_BYTES as u64)
    }
}

/// The geometry for a spec. Refuses options that only other kinds have.
fn checked_geometry<L: Layout>(spec: &Spec) -> Result<Geometry, SpecError> {
    spec.refuse_compact(L::KIND)?;
    spec.refuse_slot_options(L::KIND)?;
    layout::geometry::<L>(spec)
}

impl<L: Layout, S: AsRef<[u8]>> Bloom<L, S> {
    /// Puts a filter together. The caller must ensure that the machine has the instruction set.
    ///
    /// # Panics
    /// If the table does not have the geometry's length.
    pub(crate) fn assemble(
        geometry: Geometry,
        hasher: Hasher,
        len: u64,
        isa: Isa,
        table: S,
    ) -> Self {
        // The single-key kernels access the table unchecked. This assertion makes these accesses sound in filters; the
        // assertion in `block_geometry` makes them sound in filter blocks.
        assert_eq!(table.as_ref().len() as u64, geometry.units * L::UNIT_BYTES as u64);
        let kernels = L::kernels(isa);
        let hasher = hasher.with_isa(isa).unwrap_or(hasher);
        Self { geometry, hasher, len, kernels, table }
    }

    /// The instruction set in use.
    ///
    /// ```
    /// use trommel::{Isa, RegisterBloom};
    /// let filter = RegisterBloom::builder().keys(1_000).isa(Isa::Portable).build()?;
    /// assert_eq!(filter.isa(), Isa::Portable);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.kernels.isa()
    }

    /// The number of set bits in the table. Cost: one pass over the table.
    ///
    /// ```
    /// use trommel::SplitBlockBloom;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// assert_eq!(filter.count_ones(), 8); // one bit in each lane of a block
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn count_ones(&self) -> u64 {
        layout::count_ones(layout::words_of(self.table()))
    }

    /// An estimate of the number of distinct keys inserted, from the number of set bits. Cost: one pass over
    /// the table.
    ///
    /// Source: Swamidass and Baldi (2007). The register layout uses the blocked form of their estimate.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// (0..2_000u64).for_each(|i| {
    ///     filter.add(&(i % 500)); // each four times
    /// });
    /// assert!((filter.estimate_len() - 500.0).abs() < 25.0 && filter.len() == 2_000);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn estimate_len(&self) -> f64 {
        L::estimate_len(self.geometry, self.count_ones())
    }

    trommel_base::filter_methods! {
        /// The shape of the table.
        ///
        /// ```
        /// use trommel::{Filter, SplitBlockBloom};
        /// let filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
        /// let geometry = filter.geometry();
        /// assert_eq!(geometry.units as usize * 32, filter.memory_bytes()); // blocks of 32 bytes
        /// assert_eq!(geometry.hashes, filter.hash_count());
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        geometry;

        /// The number of bits that each key sets. In the standard and register layouts, some of these bits can
        /// coincide.
        ///
        /// ```
        /// use trommel::{BloomFilter, SplitBlockBloom};
        /// assert_eq!(BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.hash_count(), 7);
        /// assert_eq!(SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?.hash_count(), 8); // at any rate and size
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        hash_count;

        /// The bytes of the table: 64-bit words, little-endian.
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter};
        /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(filter.table().len(), filter.memory_bytes());
        /// filter.add("anvil");
        /// assert!(filter.table().iter().any(|byte| *byte != 0));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        table;
    }
}

impl<L: Layout, S: AsRef<[u8]>> Filter for Bloom<L, S> {
    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.kernels.contains(self.geometry, self.table.as_ref(), hash)
    }

    #[inline]
    fn prefetch_hash(&self, hash: KeyHash) {
        L::prefetch(self.geometry, self.table.as_ref().as_ptr(), hash.raw());
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        found.fill_words(hashes.len(), |words| {
            self.kernels.contains_batch(self.geometry, self.table.as_ref(), hashes, words);
        });
    }

    /// True if [`Filter::len`] is 0 and no bit is set. Bits can be set although `len` is 0:
    ///
    /// - in the bit table of a counting filter that has stuck counters, or from which false positives were removed;
    /// - in frozen bytes whose header states a `len` of 0;
    /// - in a filter from a Parquet bitset;
    /// - in the results of operations on such filters, for example [`Bloom::union`] and [`Bloom::intersect`].
    ///
    /// Cost: if [`Filter::len`] is 0, a pass over the table up to the first set bit.
    fn is_empty(&self) -> bool {
        self.len == 0 && self.table().iter().all(|byte| *byte == 0)
    }

    /// True for all layouts but the standard one.
    fn is_ordered_by_hash(&self) -> bool {
        L::unit(self.geometry, 0).is_some()
    }

    /// The rate is computed from the bits that are set now, not from [`Filter::len`]. So the rate also holds after
    /// repeated inserts, merges and folds. The computation assumes that the bits of an absent key are uniform and
    /// independent of each other. Cost: one pass over the table.
    fn expected_fpr(&self) -> f64 {
        L::fpr_of_table(self.geometry, layout::words_of(self.table()))
    }

    trommel_base::filter_methods! {
        hasher;

        /// The number of inserts so far; a repeated key counts each time. After
        /// [`Merge::merge`](trommel_base::Merge::merge) the number is the sum of the numbers of both filters.
        /// [`Bloom::estimate_len`] estimates the number of distinct keys.
        len;

        memory_bytes;
    }
}

impl<L: Layout, S: AsRef<[u8]> + AsMut<[u8]>> Bloom<L, S> {
    /// Inserts the key of a hash; returns true if the insert changed the table. Never fails, like [`Bloom::add`].
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let hash = filter.hash("anvil");
    /// assert!(filter.add_hash(hash) && filter.contains("anvil"));
    /// assert!(!filter.add_hash(hash)); // no bit changed
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) -> bool {
        self.len = self.len.saturating_add(1);
        self.kernels.insert(self.geometry, self.table.as_mut(), hash)
    }

    /// Inserts a batch, with the same result as if the keys were inserted one at a time. A batch of about 64 keys or
    /// more is mostly two to five times as fast as single inserts. Never fails, like [`Bloom::add`].
    ///
    /// ```
    /// use trommel::{Filter, KeyHash, RegisterBloom};
    /// let mut filter = RegisterBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let keys: Vec<u64> = (0..1_000).collect();
    /// let mut hashes = Vec::new();
    /// filter.hasher().hash_batch(&keys, &mut hashes);
    /// filter.add_batch(&hashes);
    /// assert!(filter.contains(&999u64));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn add_batch(&mut self, hashes: &[KeyHash]) {
        self.len = self.len.saturating_add(hashes.len() as u64);
        self.kernels.insert_batch(self.geometry, self.table.as_mut(), hashes);
    }
}

impl<L: Layout, S: AsRef<[u8]> + AsMut<[u8]>> Insert for Bloom<L, S> {
    /// Never fails, like [`Bloom::add_hash`].
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        Ok(self.add_hash(hash))
    }

    /// Never fails, like [`Bloom::add_batch`].
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.add_batch(hashes);
        Ok(())
    }
}

trommel_base::filter_traits! {
    /// Two filters are equal if their frozen bytes are equal, that is, if they have the same layout, shape, hasher,
    /// number of inserts and table. The instruction set does not matter.
    Bloom, filter => filter.kernels.isa()
}
