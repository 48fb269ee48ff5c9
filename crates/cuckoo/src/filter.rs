//! The filter type: a table of buckets, and an overflow area that is nearly always empty.

use crate::bucket::EmptyPair;
use crate::evict::parts::{BoxedScratch, InsertScratch, Parts, Placed};
use crate::geometry::{Geometry, SLOTS};
use crate::kernel::{Buckets, Kernels, Removed};
use crate::overflow::{self, Overflow};
use crate::rate;
use crate::sizing;
use crate::table::{Entry, Table};
use crate::width::{Width, with_width};
use core::fmt;
use trommel_base::builder::{FingerprintOptions, SlotOptions};
use trommel_base::container::HEADER_BYTES;
use trommel_base::{
    Bitmap, Bulk, Count, Filter, FromSpec, Full, Hasher, Insert, InsertBulk, KeyHash, Remove, Spec,
    SpecError, Storage, WhyFull,
};
use trommel_simd::{Hint, Isa, prefetch};

/// A cuckoo filter over the bytes `S`: owned bytes ([`Storage`], the default), or borrowed bytes of any alignment
/// (`&[u8]`), of which the filter is a zero-copy view.
///
/// It stores a fingerprint of a key in one of the key's two buckets, each of which has four slots. A lookup reads at
/// most two buckets, at any load, and the overflow area, which is nearly always empty. A lookup of a single key reads
/// both buckets, since a branch on whether the second is needed would take longer. Batches in large tables read the
/// second bucket only for keys that can be there. See [`Geometry`] for how a hash is split, and docs/FORMAT.md for the
/// bytes.
///
/// The filter is a set, unless it is built with [`multiset`](trommel_base::Builder::multiset). A set does not insert a
/// key that it already finds. So two keys that it cannot tell apart can have one fingerprint in common, and removing
/// either then removes both: **from a set, remove only keys that cannot be mistaken for others, or use a multiset**.
/// Copies of a key share its two buckets, so a multiset has room for eight copies of it, and for more as long as the
/// overflow area has room: up to 64 fingerprints for all keys together. If two keys with many copies share a bucket,
/// there is room for fewer copies of each.
///
/// ```
/// use trommel::{CuckooFilter, Filter, Insert, Remove};
///
/// let mut filter = CuckooFilter::with_capacity_and_fpr(10_000, 0.03)?;
/// filter.insert("anvil").unwrap();
/// assert!(filter.contains("anvil"));
/// assert!(filter.remove("anvil") && !filter.contains("anvil"));
/// # Ok::<(), trommel::SpecError>(())
/// ```
pub struct CuckooFilter<S = Storage> {
    pub(crate) geometry: Geometry,
    pub(crate) hasher: Hasher,
    pub(crate) len: u64,
    pub(crate) multiset: bool,
    pub(crate) empty: EmptyPair,
    pub(crate) kernels: Kernels,
    pub(crate) isa: Isa,
    /// Whether the table was checked, or needs no check. False in a trusted view.
    pub(crate) is_checked: bool,
    pub(crate) table: S,
    pub(crate) overflow: Overflow,
    /// An insert that would exceed this load factor doubles the filter first. `None` if inserts never double it.
    pub(crate) grow_at: Option<f64>,
    /// Scratch memory of bulk builds and of inserts into a highly loaded table; no part of the frozen filter.
    pub(crate) scratch: Option<BoxedScratch>,
}

impl CuckooFilter {
    trommel_base::filter_methods! {
        /// A filter whose false-positive rate with `keys` keys is at most `fpr`. With `keys` keys, the filter is about
        /// 95 % full, or less full if it has at most 1026 buckets. Its fingerprints have 8, 12, 16 or 32 bits: the
        /// fewest that reach `fpr` at this load.
        ///
        /// ```
        /// use trommel::{CuckooFilter, Filter};
        /// let filter = CuckooFilter::with_capacity_and_fpr(1_000_000, 0.03)?;
        /// assert!((filter.memory_bytes() as f64 * 8.0 / 1e6 - 8.0 / 0.95).abs() < 0.01);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// # Errors
        /// [`SpecError`] if `fpr` is not strictly between 0 and 1 or cannot be reached, if the filter would be too
        /// large, if the environment variable `TROMMEL_ISA` names an instruction set that cannot be used, or if the
        /// system refuses the memory.
        with_capacity_and_fpr;

        /// A builder, for all options: load, fingerprint bits, multiset, growth, seed and others.
        ///
        /// ```
        /// use trommel::CuckooFilter;
        /// let filter = CuckooFilter::builder().keys(1000).fingerprint_bits(16).multiset(true).build()?;
        /// assert!(filter.is_multiset() && filter.geometry().fingerprint_bits == 16);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        builder;

        /// How the table's memory was allocated, and whether huge pages were advised.
        ///
        /// ```
        /// use trommel::{CuckooFilter, container::Backing};
        /// let filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
        /// assert_eq!(filter.backing(), Backing::Heap); // far below 4 MiB
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        backing;
    }

    /// Bytes of the scratch memory that the filter keeps after a bulk build, or after inserts into a highly loaded
    /// table: a bit per bucket, and 16 KiB for searches. It is no part of [`Filter::memory_bytes`] or of the frozen
    /// filter.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(10_000, 0.03)?;
    /// assert_eq!(filter.scratch_bytes(), 0);
    /// for order in 0..10_000u64 {
    ///     filter.insert(&order).unwrap();
    /// }
    /// assert!(filter.scratch_bytes() > 0);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn scratch_bytes(&self) -> usize {
        self.scratch.as_ref().map_or(0, |scratch| size_of::<InsertScratch>() + scratch.full.bytes())
    }

    /// Frees the scratch memory of [`CuckooFilter::scratch_bytes`]. An insert that needs scratch memory allocates it
    /// again, and fills it in one pass over the table.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(10_000, 0.03)?;
    /// for order in 0..10_000u64 {
    ///     filter.insert(&order).unwrap();
    /// }
    /// filter.release_scratch();
    /// assert!(filter.scratch_bytes() == 0 && filter.contains(&9_999u64));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn release_scratch(&mut self) {
        self.scratch = None;
    }

    /// The parts that are read or changed by inserts, and by draining the overflow area.
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        Parts {
            geometry: &self.geometry,
            table: self.table.as_mut(),
            empty: &mut self.empty,
            overflow: &mut self.overflow,
            scratch: &mut self.scratch,
            multiset: self.multiset,
        }
    }

    /// The reason why the last insert found no room: either the system refused memory that the insert needed, or the
    /// table and the overflow area have no room.
    pub(crate) fn why_no_room(&self) -> WhyFull {
        if self.scratch.is_none() {
            let full_bytes = self.geometry.buckets.div_ceil(64) * size_of::<u64>() as u64;
            return WhyFull::Memory { bytes: full_bytes + size_of::<InsertScratch>() as u64 };
        }
        if self.overflow.room(&self.geometry) > 0 {
            return WhyFull::Memory { bytes: overflow::ENTRY_BYTES as u64 };
        }
        WhyFull::Slots
    }

    /// The error of a batch of which only the first `inserted` keys were inserted, for the reason `why`.
    pub(crate) fn full(&self, inserted: usize, why: WhyFull) -> Full {
        let capacity = self.geometry.slots() + overflow::capacity(&self.geometry) as u64;
        Full::new(inserted, self.len(), usize::try_from(capacity).unwrap_or(usize::MAX))
            .because(why)
    }
}

impl SlotOptions for CuckooFilter {}
impl FingerprintOptions for CuckooFilter {}

impl FromSpec for CuckooFilter {
    fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let isa = spec.usable_isa()?;
        let geometry = sizing::geometry(spec)?;
        // `sizing::geometry` refuses tables of more bytes than the machine can address, so the cast is exact.
        let table = Storage::zeroed(geometry.table_bytes() as usize, spec.huge_pages)?;
        let filter = Self::assemble(geometry, spec.hasher, isa, table);
        Ok(Self { grow_at: spec.grow_at, multiset: spec.multiset, ..filter })
    }

    fn encoded_len_of(spec: &Spec) -> Result<u64, SpecError> {
        spec.usable_isa()?;
        Ok(HEADER_BYTES as u64 + sizing::geometry(spec)?.table_bytes())
    }
}

impl<S: AsRef<[u8]>> CuckooFilter<S> {
    /// Makes a filter of its parts, with 0 as its number of keys. The caller must ensure that the machine has the
    /// instruction set.
    ///
    /// # Panics
    /// If the table does not have the geometry's length.
    pub(crate) fn assemble(geometry: Geometry, hasher: Hasher, isa: Isa, table: S) -> Self {
        // The kernels' memory accesses rely on this assertion.
        assert_eq!(table.as_ref().len() as u64, geometry.table_bytes());
        Self {
            geometry,
            hasher: hasher.with_isa(isa).unwrap_or(hasher),
            len: 0,
            multiset: false,
            empty: EmptyPair::Clear,
            grow_at: None,
            kernels: Kernels::of(&geometry, isa),
            isa,
            is_checked: true,
            table,
            overflow: Overflow::default(),
            scratch: None,
        }
    }

    /// The number of fingerprints, divided by the number of slots.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// filter.insert("anvil").unwrap();
    /// assert_eq!(filter.load_factor(), 1.0 / filter.geometry().slots() as f64);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.len as f64 / self.geometry.slots() as f64
    }

    /// Whether the filter is a multiset, which keeps every copy of a key.
    ///
    /// ```
    /// use trommel::CuckooFilter;
    /// let builder = CuckooFilter::builder().keys(1_000);
    /// assert!(!builder.build()?.is_multiset());
    /// assert!(builder.multiset(true).build()?.is_multiset());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn is_multiset(&self) -> bool {
        self.multiset
    }

    /// The number of fingerprints in the overflow area. No room was found for them in the table, or the system refused
    /// the memory for the search.
    ///
    /// ```
    /// use trommel::{Count, CuckooFilter, Insert};
    /// let mut filter = CuckooFilter::builder().keys(1_000).multiset(true).build()?;
    /// for _ in 0..9 {
    ///     filter.insert("anvil").unwrap(); // eight fit into its two buckets
    /// }
    /// assert_eq!((filter.count("anvil"), filter.overflowing()), (9, 1));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn overflowing(&self) -> usize {
        self.overflow.len()
    }

    /// The false-positive rate of a filter of this geometry with `keys` distinct keys, if every lookup searches two
    /// buckets. If no key was removed, this rate is an upper bound on the filter's own false-positive rate. Filters are
    /// sized by this bound. Buckets have *overflow flags*, which spare some lookups the second bucket. So the filter's
    /// own rate at 95 % load is about a sixth lower than the bound if keys were inserted in batches, and a fifth lower
    /// if they were inserted one by one.
    ///
    /// A removal clears no overflow flag. So if keys are replaced by other keys again and again, the false-positive
    /// rate rises to this bound. `keys` counts all keys that the filter holds, even keys for which a set stored no
    /// fingerprint because it found them already. Once all flags are set, a filter that is no multiset never stores a
    /// fingerprint twice in the two buckets that a lookup of the fingerprint searches. So at most one of the eight
    /// slots matches, the probabilities of a match in each slot add up, and the false-positive rate of such a filter
    /// rises to `8 α q`: `α` is the number of stored fingerprints divided by the number of slots, and `q` is the
    /// probability that two fingerprints of a bucket are equal (see [`cuckoo_fpr`](trommel_base::sizing::cuckoo_fpr)).
    ///
    /// ```
    /// use trommel::CuckooFilter;
    /// let filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// assert!(filter.fpr_with(1_000) <= 0.03 && filter.fpr_with(500) < 0.016);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn fpr_with(&self, keys: usize) -> f64 {
        sizing::fpr(&self.geometry, keys as f64)
    }

    trommel_base::filter_methods! {
        /// The geometry of the table: buckets, fingerprint bits and doublings.
        ///
        /// ```
        /// use trommel::{CuckooFilter, Filter};
        /// let filter = CuckooFilter::with_capacity_and_fpr(100_000, 0.03)?;
        /// let geometry = filter.geometry();
        /// assert_eq!((geometry.fingerprint_bits, geometry.doublings), (8, 0));
        /// assert_eq!(geometry.slots(), 4 * geometry.buckets);
        /// assert_eq!(geometry.table_bytes(), filter.memory_bytes() as u64);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        geometry;

        /// The instruction set in use.
        ///
        /// ```
        /// use trommel::{CuckooFilter, Isa};
        /// let filter = CuckooFilter::builder().keys(1_000).isa(Isa::Portable).build()?;
        /// assert_eq!(filter.isa(), Isa::Portable);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        isa;

        /// The bytes of the table.
        ///
        /// ```
        /// use trommel::{CuckooFilter, Filter, Insert};
        /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
        /// assert_eq!(filter.table().len(), filter.memory_bytes());
        /// filter.insert("anvil").unwrap();
        /// assert!(filter.table().iter().any(|byte| *byte != 0));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        table;
    }

    pub(crate) fn table_of<W: Width>(&self) -> Table<W, &[u8]> {
        Table::new(&self.geometry, self.table.as_ref(), self.empty)
    }

    #[inline(always)]
    fn buckets(&self) -> Buckets<'_> {
        Buckets { geometry: &self.geometry, table: self.table.as_ref(), empty: self.empty }
    }

    /// Searches the overflow area for the keys that a batch did not find in the table.
    #[cold]
    fn look_in_overflow(&self, hashes: &[KeyHash], words: &mut [u64]) {
        for (hashes, word) in hashes.chunks(64).zip(words) {
            for missing in trommel_base::bitmap::ones(!*word).take_while(|bit| *bit < hashes.len())
            {
                let key = Entry::of_hash(&self.geometry, hashes[missing].raw());
                *word |= u64::from(self.overflow.contains(&self.geometry, key)) << missing;
            }
        }
    }
}

/// Prefetches the cache lines in which both buckets of a key begin: a single lookup reads both buckets.
#[inline(always)]
pub(crate) fn prefetch_buckets(geometry: &Geometry, table: &[u8], hash: u64) {
    let key = Entry::of_hash(geometry, hash);
    for Entry { bucket, .. } in [key, key.alternate(geometry)] {
        let start = bucket as usize * geometry.fingerprint_bits as usize * SLOTS as usize / 8;
        prefetch(table.as_ptr().wrapping_add(start), Hint::T0);
    }
}

impl<S: AsRef<[u8]>> Filter for CuckooFilter<S> {
    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.kernels.contains(self.buckets(), hash.raw())
            || (!self.overflow.is_empty()
                && self
                    .overflow
                    .contains(&self.geometry, Entry::of_hash(&self.geometry, hash.raw())))
    }

    /// Prefetches the cache lines in which both buckets of a key begin.
    fn prefetch_hash(&self, hash: KeyHash) {
        prefetch_buckets(&self.geometry, self.table.as_ref(), hash.raw());
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        found.fill_words(hashes.len(), |words| {
            self.kernels.contains_batch(self.buckets(), KeyHash::slice_as_raw(hashes), words);
            if !self.overflow.is_empty() {
                self.look_in_overflow(hashes, words);
            }
        });
    }

    fn is_ordered_by_hash(&self) -> bool {
        true
    }

    /// The probability that a lookup with a random primary bucket and a random fingerprint finds the fingerprint. It is
    /// counted from the table, and exact in tables of up to 2^20 slots. In a larger table, only every n-th bucket is
    /// counted. The result then has a relative standard deviation of at most about 0.2 % at half load or more, and a
    /// higher one at lower loads. Fingerprints in the overflow area are not counted.
    ///
    /// Cost: one pass over the buckets that are counted, and a read of the other bucket of each fingerprint.
    fn expected_fpr(&self) -> f64 {
        with_width!(self.geometry, W => rate::found::<W>(&self.table_of()))
    }

    trommel_base::filter_methods! {
        hasher;

        /// The number of fingerprints in the filter; every copy counts.
        len;

        memory_bytes;
    }
}

impl Insert for CuckooFilter {
    /// Inserts a key. Returns false if the filter is a set and finds the key already.
    ///
    /// Cost: about one cache line up to half load. At 95 % load, three of four inserts search for room. Such a search
    /// reads about eight buckets of the table, and some of the [scratch memory](CuckooFilter::scratch_bytes).
    ///
    /// # Errors
    /// [`Full`] with the reason, if there is no room for the key, if the system refuses memory that the insert needs,
    /// or if the filter has to grow for the key and cannot. The filter is then unchanged, except if it was doubled for
    /// this key and still had no room.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        if self.is_growth_due() {
            // A key that a set finds already is no reason to grow.
            if !self.multiset && self.contains_hash(hash) {
                return Ok(false);
            }
            self.grow_by_itself().map_err(|why| self.full(0, why))?;
        }
        let kernels = self.kernels;
        match kernels.insert(&mut self.parts(), hash.raw()) {
            Placed::Inserted => {
                self.len += 1;
                Ok(true)
            }
            Placed::Known => Ok(false),
            Placed::NoRoom => {
                let copies = self.count_hash(hash);
                let most = 2 * crate::geometry::SLOTS;
                Err(self.full(
                    0,
                    match u32::try_from(copies) {
                        Ok(max) if copies >= most => WhyFull::Copies { max },
                        _ => self.why_no_room(),
                    },
                ))
            }
        }
    }

    /// Inserts a batch. The filter then holds the same keys as after single inserts, but perhaps in other slots. A set
    /// can differ even in its number of fingerprints: single inserts and a batch can set different overflow flags,
    /// which decide whether two keys that the filter cannot tell apart have one fingerprint or two.
    ///
    /// # Errors
    /// [`Full`] if there is no room for all keys, if the system refuses memory that the inserts need, or if the filter
    /// has to grow for the keys and cannot. The first [`inserted`](Full::inserted) keys are then in the filter.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.insert_bulk(hashes, Bulk::CALLER)
    }
}

impl CuckooFilter {
    /// Removes all keys, and keeps the table's memory.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// filter.insert("anvil").unwrap();
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn clear(&mut self) {
        self.table.fill(0);
        self.overflow.clear();
        self.empty = EmptyPair::Clear;
        self.scratch = None;
        self.len = 0;
    }

    /// Removes a key's fingerprint from a bucket that holds it.
    #[inline(never)]
    fn remove_and_arrange(&mut self, bucket: u32, hash: KeyHash) {
        let Entry { fingerprint, .. } = Entry::of_one_hash(&self.geometry, hash.raw());
        with_width!(self.geometry, W => {
            let mut table = Table::<W, _>::new(&self.geometry, self.table.as_mut(), self.empty);
            table.remove_and_arrange(Entry { bucket, fingerprint });
            self.empty = table.empty;
        });
    }

    /// Removes one copy of a key from the overflow area. Returns false if the area has no copy.
    #[inline(never)]
    fn remove_overflowing(&mut self, hash: KeyHash) -> bool {
        let key = Entry::of_hash(&self.geometry, hash.raw());
        let is_removed = self.overflow.remove(&self.geometry, key);
        if is_removed {
            self.count_removal();
        }
        is_removed
    }

    /// If the overflow area has a fingerprint that can be in `bucket`, moves this fingerprint to the bucket. The caller
    /// must ensure that the bucket has room.
    #[cold]
    #[inline(never)]
    fn drain(&mut self, bucket: u32) {
        with_width!(self.geometry, W => self.parts().drain::<W>(bucket));
    }

    #[inline(always)]
    fn count_removal(&mut self) {
        self.len -= 1;
        if self.len == 0 {
            // No key is left, so none is in its alternate bucket, and empty pairs of slots encode clear flags again.
            self.empty = EmptyPair::Clear;
        }
    }
}

impl Remove for CuckooFilter {
    /// Removes one copy of the key's fingerprint. Returns false, and changes nothing, if there is none.
    ///
    /// Remove only keys that were inserted. If a key was not inserted, but is a false positive, this removes the
    /// fingerprint of another key, and lookups can then miss that key.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let found =
            self.kernels.remove(&self.geometry, self.table.as_mut(), self.empty, hash.raw());
        let bucket = match found {
            Some(Removed::From { bucket }) => bucket,
            Some(Removed::OnlyFound { bucket }) => {
                self.remove_and_arrange(bucket, hash);
                bucket
            }
            None => return self.remove_overflowing(hash),
        };
        if let Some(scratch) = self.scratch.as_mut() {
            scratch.full.remove(bucket);
        }
        if !self.overflow.is_empty() {
            self.drain(bucket);
        }
        self.count_removal();
        true
    }
}

impl<S: AsRef<[u8]>> Count for CuckooFilter<S> {
    /// The number of copies of the key's fingerprint in the buckets that a lookup searches, and in the overflow area.
    fn count_hash(&self, hash: KeyHash) -> u64 {
        let key = Entry::of_hash(&self.geometry, hash.raw());
        let in_table = with_width!(self.geometry, W => self.table_of::<W>().count(key));
        u64::from(in_table) + self.overflow.count(&self.geometry, key) as u64
    }
}

/// Filters are equal if their frozen bytes are equal. The instruction set does not count, and neither does the load for
/// growth. Two filters of the same keys are not equal if they hold the keys in different slots.
impl<S: AsRef<[u8]>, T: AsRef<[u8]>> PartialEq<CuckooFilter<T>> for CuckooFilter<S> {
    fn eq(&self, other: &CuckooFilter<T>) -> bool {
        (self.geometry, self.hasher, self.len) == (other.geometry, other.hasher, other.len)
            && (self.multiset, self.empty) == (other.multiset, other.empty)
            && self.overflow == other.overflow
            && self.table() == other.table()
    }
}

impl<S: AsRef<[u8]>> Eq for CuckooFilter<S> {}

impl<S: Clone> Clone for CuckooFilter<S> {
    fn clone(&self) -> Self {
        let (table, overflow) = (self.table.clone(), self.overflow.clone());
        // The scratch memory is cloned too. Otherwise, a clone that inserts keys would make it again, in a pass over
        // the table.
        let scratch = self.scratch.clone();
        Self { table, overflow, scratch, ..*self }
    }
}

impl<S> fmt::Debug for CuckooFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CuckooFilter")
            .field("geometry", &self.geometry)
            .field("hasher", &self.hasher)
            .field("len", &self.len)
            .field("multiset", &self.multiset)
            .field("overflowing", &self.overflow.len())
            .field("isa", &self.isa)
            .finish_non_exhaustive()
    }
}
