//! A filter that several threads can insert into and look keys up in, all at the same time.

use crate::filter::Bloom;
use crate::geometry::Geometry;
use crate::kernel::{self, shared::SharedKernels};
use crate::layout::{self, Layout};
use core::fmt;
use core::marker::PhantomData;
use trommel_base::storage::AtomicStorage;
use trommel_base::sync::{AtomicU64, Ordering::Relaxed};
use trommel_base::{Backing, Bitmap, Filter, Full, Hasher, InsertShared, KeyHash, Storage};
use trommel_simd::Isa;

/// A Bloom filter of layout `L` that takes keys through `&self`, from any number of threads, without a lock.
///
/// [`Bloom::into_shared`] makes a shared filter from a [`Bloom`], in the same memory, and [`SharedBloom::into_filter`]
/// turns the shared filter back into a [`Bloom`]; both calls cost nothing. The returned [`Bloom`] is byte for byte the
/// filter that [`Insert`](trommel_base::Insert) makes from the same keys, in whatever order the keys were inserted.
///
/// Lookups are allowed during inserts, but they read the table word by word. Only lookups in a [`Bloom`] can load
/// several words with one SIMD instruction, so turn the shared filter back after the last insert. A lookup that runs
/// during an insert can find the key or miss it. A lookup that is ordered after the insert, by a join, a lock, a
/// channel or anything else, finds the key.
///
/// ```
/// use trommel::{Filter, InsertShared, SplitBlockBloom};
///
/// let shared = SplitBlockBloom::with_capacity_and_fpr(10_000, 0.01)?.into_shared();
/// std::thread::scope(|threads| {
///     for part in 0..4u64 {
///         let shared = &shared;
///         threads.spawn(move || {
///             let keys: Vec<u64> = (part * 2500..(part + 1) * 2500).collect();
///             let mut hashes = Vec::new();
///             shared.hasher().hash_batch(&keys, &mut hashes);
///             shared.insert_batch(&hashes).unwrap();
///         });
///     }
/// });
/// let filter = shared.into_filter();
/// assert_eq!(filter.len(), 10_000);
/// assert!((0..10_000u64).all(|key| filter.contains(&key)));
/// # Ok::<(), trommel::SpecError>(())
/// ```
pub struct SharedBloom<L: Layout> {
    geometry: Geometry,
    hasher: Hasher,
    isa: Isa,
    kernels: SharedKernels,
    table: AtomicStorage,
    /// The number of inserts before the filter was shared.
    before: u64,
    inserted: Inserted,
    layout: PhantomData<L>,
}

/// The number of inserts since the filter was shared, on cache lines of its own. A thread that counts its inserts takes
/// the cache line of this number away from all other cores. If the table's address and size were on the same cache
/// line, the other cores would lose address and size too. The type takes 128 bytes, since some processors fetch cache
/// lines in pairs.
///
/// Relaxed ordering is enough: a sum does not depend on the order of the additions, and no code infers from this sum
/// what other memory holds.
#[repr(align(128))]
struct Inserted(AtomicU64);

impl Inserted {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts inserts. A batch calls this function once, not once per key, so the batch takes the cache line from other
    /// cores only once.
    #[inline(always)]
    fn add(&self, keys: usize) {
        self.0.fetch_add(keys as u64, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl<L: Layout> Bloom<L> {
    /// Converts the filter to one that several threads insert into; see [`SharedBloom`]. Cost: none, the table stays
    /// where it is.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let shared = BloomFilter::with_capacity_and_fpr(100, 0.01)?.into_shared();
    /// shared.add("anvil"); // through `&self`
    /// assert!(shared.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn into_shared(self) -> SharedBloom<L> {
        SharedBloom {
            geometry: self.geometry,
            hasher: self.hasher,
            isa: self.isa(),
            kernels: L::shared_kernels(self.isa()),
            before: self.len,
            inserted: Inserted::new(),
            table: AtomicStorage::new(self.table),
            layout: PhantomData,
        }
    }
}

impl<L: Layout> SharedBloom<L> {
    /// Converts the filter back to an ordinary one, which one thread at a time can change and which has the vector
    /// kernels. Cost: none, the table stays where it is.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let shared = BloomFilter::with_capacity_and_fpr(100, 0.01)?.into_shared();
    /// shared.add("anvil");
    /// let filter = shared.into_filter();
    /// assert!(filter.contains("anvil") && filter.len() == 1);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn into_filter(self) -> Bloom<L> {
        let len = self.count();
        Bloom::assemble(self.geometry, self.hasher, len, self.isa, self.table.into_storage())
    }

    trommel_base::filter_methods! {
        /// The shape of the table.
        ///
        /// ```
        /// use trommel::BloomFilter;
        /// let filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
        /// assert_eq!(filter.clone().into_shared().geometry(), filter.geometry());
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        geometry;

        /// The number of bits that each key sets. In the standard and register layouts, some of these bits can
        /// coincide.
        ///
        /// ```
        /// use trommel::BloomFilter;
        /// assert_eq!(BloomFilter::with_capacity_and_fpr(100, 0.01)?.into_shared().hash_count(), 7);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        hash_count;

        /// The instruction set in use.
        ///
        /// ```
        /// use trommel::{BloomFilter, Isa};
        /// let filter = BloomFilter::builder().keys(100).isa(Isa::Portable).build()?;
        /// assert_eq!(filter.into_shared().isa(), Isa::Portable);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        isa;
    }

    /// An estimate of the number of distinct keys inserted; see [`Bloom::estimate_len`].
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let shared = BloomFilter::with_capacity_and_fpr(100, 0.01)?.into_shared();
    /// ["anvil", "anvil", "forge"].map(|key| shared.add(key));
    /// assert!((shared.estimate_len() - 2.0).abs() < 0.1 && shared.len() == 3);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn estimate_len(&self) -> f64 {
        L::estimate_len(self.geometry, layout::count_ones(self.words()))
    }

    /// Inserts the keys into a new filter of the same shape, and returns the new filter. `None` if there are fewer keys
    /// than the table has words, or if memory is refused. With at least as many keys as words, direct inserts are
    /// usually slower than setting the bits in a second table without atomic operations and then uniting the two
    /// tables word by word. The second table takes no more memory than the caller's hashes.
    ///
    /// Times in ns per key for inserts into a filter for a million keys at a false-positive rate of 1 %, on two cores
    /// of Zen 4. In each cell, the first figure is for inserts made directly, the second for inserts made through a new
    /// filter:
    ///
    /// | batches | threads | standard | register | split blocks | cache lines |
    /// | --- | --- | --- | --- | --- | --- |
    /// | of about three keys per word | 1 | 29, 11 | 4.6, 2.3 | 12, 2.1 | 25, 2.7 |
    /// | | 2 | 31, 5.6 | 4.7, 1.6 | 10, 1.8 | 17, 2.4 |
    /// | of about one key per word | 1 | 28, 18 | 4.6, 6.4 | 12, 10 | 25, 11 |
    /// | | 2 | 87, 9.6 | 4.1, 2.0 | 7.9, 9.1 | 17, 6.5 |
    fn separate_filter(&self, hashes: &[KeyHash]) -> Option<Bloom<L>> {
        if hashes.len() < self.table.words().len() {
            return None;
        }
        let huge_pages = self.table.backing() == Backing::HugePagesAdvised;
        let table = Storage::zeroed(self.table.len(), huge_pages).ok()?;
        let mut filter = Bloom::assemble(self.geometry, self.hasher, 0, self.isa, table);
        filter.add_batch(hashes);
        Some(filter)
    }

    /// The words of the table, each with its value at the time when it is read.
    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.table.words().iter().map(|word| u64::from_le(word.load(Relaxed)))
    }

    fn count(&self) -> u64 {
        self.before.saturating_add(self.inserted.get())
    }
}

impl<L: Layout> Filter for SharedBloom<L> {
    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.kernels.contains(self.geometry, self.table.words(), hash)
    }

    #[inline]
    fn prefetch_hash(&self, hash: KeyHash) {
        L::prefetch(self.geometry, self.table.words().as_ptr().cast(), hash.raw());
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        found.fill_words(hashes.len(), |words| {
            self.kernels.contains_batch(self.geometry, self.table.words(), hashes, words);
        });
    }

    fn hasher(&self) -> Hasher {
        self.hasher
    }

    /// The number of inserts so far; a repeated key counts each time. A batch is counted when it begins. Inserts
    /// that run during this call can be counted or not.
    fn len(&self) -> usize {
        usize::try_from(self.count()).unwrap_or(usize::MAX)
    }

    /// True if [`Filter::len`] is 0 and no bit is set.
    fn is_empty(&self) -> bool {
        self.count() == 0 && self.words().all(|word| word == 0)
    }

    fn memory_bytes(&self) -> usize {
        self.table.len()
    }

    /// True for all layouts but the standard one.
    fn is_ordered_by_hash(&self) -> bool {
        L::unit(self.geometry, 0).is_some()
    }

    /// Computed from the set bits, as [`Filter::expected_fpr`] of [`Bloom`] is. Words are read one after the other,
    /// while other threads can set bits. Cost: one pass over the table.
    fn expected_fpr(&self) -> f64 {
        L::fpr_of_table(self.geometry, self.words())
    }
}

impl<L: Layout> SharedBloom<L> {
    /// Inserts the key of a hash; returns true if this call set a bit. If several threads set the same bit at once,
    /// only one of them is told that it set the bit. Never fails, like [`SharedBloom::add`].
    ///
    /// Cost: the cache lines of the key's bits, and the cache line of the insert counter. Threads that insert key by
    /// key take the counter's cache line away from each other; a batch writes it once.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let shared = BloomFilter::with_capacity_and_fpr(100, 0.01)?.into_shared();
    /// let hash = shared.hash("anvil");
    /// assert!(shared.add_hash(hash) && shared.contains("anvil"));
    /// assert!(!shared.add_hash(hash)); // no bit changed
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[inline]
    pub fn add_hash(&self, hash: KeyHash) -> bool {
        self.inserted.add(1);
        self.kernels.insert(self.geometry, self.table.words(), hash)
    }

    /// Inserts a batch. Never fails, like [`SharedBloom::add`].
    ///
    /// Cost: a batch with at least as many keys as the table has words goes into a second table first, without atomic
    /// operations; then each word of the filter takes at most one atomic OR. The second table is as large as the
    /// filter's table and no larger than the hashes, and is freed when the call ends. In a batch of fewer keys, or if
    /// the memory for the second table is refused, each key takes one atomic OR for each word that lacks a bit of the
    /// key; in the standard layout, one atomic OR for each bit of the key that is clear.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let shared = BloomFilter::with_capacity_and_fpr(100, 0.01)?.into_shared();
    /// shared.add_batch(&["anvil", "forge"].map(|key| shared.hash(key)));
    /// assert!(shared.contains("anvil") && shared.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn add_batch(&self, hashes: &[KeyHash]) {
        self.inserted.add(hashes.len());
        match self.separate_filter(hashes) {
            Some(separate) => kernel::shared::unite(self.table.words(), &separate.table),
            None => self.kernels.insert_batch(self.geometry, self.table.words(), hashes),
        }
    }
}

impl<L: Layout> InsertShared for SharedBloom<L> {
    /// Never fails, like [`SharedBloom::add_hash`].
    #[inline]
    fn insert_hash(&self, hash: KeyHash) -> Result<bool, Full> {
        Ok(self.add_hash(hash))
    }

    /// Never fails, like [`SharedBloom::add_batch`].
    fn insert_batch(&self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.add_batch(hashes);
        Ok(())
    }
}

impl<L: Layout> From<Bloom<L>> for SharedBloom<L> {
    fn from(filter: Bloom<L>) -> Self {
        filter.into_shared()
    }
}

impl<L: Layout> From<SharedBloom<L>> for Bloom<L> {
    fn from(shared: SharedBloom<L>) -> Self {
        shared.into_filter()
    }
}

impl<L: Layout> fmt::Debug for SharedBloom<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBloom")
            .field("kind", &L::KIND)
            .field("geometry", &self.geometry)
            .field("hasher", &self.hasher)
            .field("len", &self.count())
            .field("isa", &self.isa)
            .finish_non_exhaustive()
    }
}
