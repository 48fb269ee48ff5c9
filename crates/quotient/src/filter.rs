//! The filter: a table of some layout over owned or borrowed bytes.

use crate::check::Extent;
use crate::enumerate::Fingerprints;
use crate::fingerprint::Rounding;
use crate::geometry::Geometry;
use crate::kernel::Kernels;
use crate::layout::Position;
use crate::layout::{Layout, LineBlock, WideBlock};
use crate::sizing;
use crate::table::Table;
use crate::words::Plain;
use core::marker::PhantomData;
use trommel_base::builder::{FingerprintOptions, RemainderOptions, SlotOptions};
use trommel_base::container::HEADER_BYTES;
use trommel_base::{
    Bitmap, Bulk, Count, Filter, FromSpec, Full, Hasher, Insert, InsertBulk, KeyHash, Remove, Spec,
    SpecError, Storage, WhyFull,
};
use trommel_simd::{Hint, Isa, prefetch};

/// A quotient filter of layout `L` over the bytes `S`: owned ([`Storage`], the default) or borrowed
/// (`&[u8]`, any alignment). A filter over borrowed bytes is a zero-copy view.
///
/// The filter keeps a fingerprint of every key: the fingerprint's quotient names a slot, and its remainder is stored in
/// that slot or soon after it. So the filter can list the fingerprints in order, and merges, grows and shrinks without
/// the keys.
///
/// The filter is a set, unless built with [`multiset`](trommel_base::Builder::multiset): a fingerprint that a set holds
/// is not inserted again. Two keys with the same fingerprint are then stored as one, and removing either removes both.
/// **So remove keys from a set only if no other key can share their fingerprint, or use a multiset**, which keeps a
/// copy for each key. (The probability that a given key shares its fingerprint with some other key is the
/// false-positive rate.)
///
/// ```
/// use trommel::{Filter, Insert, QuotientFilter, Remove};
///
/// let mut filter = QuotientFilter::with_capacity_and_fpr(10_000, 0.01)?;
/// filter.insert("anvil").unwrap();
/// assert!(filter.contains("anvil"));
/// assert!(filter.remove("anvil") && !filter.contains("anvil"));
/// # Ok::<(), trommel::SpecError>(())
/// ```
pub struct Quotient<L: Layout, S = Storage> {
    pub(crate) geometry: Geometry,
    pub(crate) rounding: Rounding,
    pub(crate) hasher: Hasher,
    pub(crate) len: u64,
    /// The load at which the filter doubles by itself.
    pub(crate) grow_at: Option<f64>,
    pub(crate) kernels: Kernels,
    isa: Isa,
    /// The part of the table that was checked, or needs no check: all of it, except in a trusted view.
    pub(crate) checked: Extent,
    pub(crate) table: S,
    layout: PhantomData<L>,
}

/// The quotient filter in blocks of 64 slots, with remainders of `r` = 1 to 32 bits: it takes `(r + 2.125) / load`
/// bits per key at a false-positive rate of at most `load / 2^r`. See [`WideBlock`] for the byte layout.
pub type QuotientFilter<S = Storage> = Quotient<WideBlock, S>;

/// The quotient filter in blocks of one 64-byte cache line, with remainders of 8 bits: it takes 10.24 bits per slot
/// and, at 95 % load, reads 1.2 cache lines per lookup on average and has a false-positive rate of 0.37 %. After the
/// filter has grown, its remainders have fewer bits. See [`LineBlock`] for the byte layout.
pub type CacheLineQuotient<S = Storage> = Quotient<LineBlock, S>;

impl<L: Layout> Quotient<L> {
    trommel_base::filter_methods! {
        /// A filter whose false-positive rate with `keys` keys is at most `fpr`. These keys fill a [`QuotientFilter`]
        /// to 95 %, and its remainders have the fewest bits that suffice. A new [`CacheLineQuotient`] always has
        /// remainders of 8 bits, so for an `fpr` below 0.37 %, it has more slots and is filled less.
        ///
        /// ```
        /// use trommel::{Filter, QuotientFilter};
        /// let filter = QuotientFilter::with_capacity_and_fpr(1_000_000, 0.01)?;
        /// assert!((filter.memory_bytes() as f64 * 8.0 / 1e6 - (7.0 + 2.125) / 0.95).abs() < 0.01);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// # Errors
        /// [`SpecError`] if `fpr` is not strictly between 0 and 1 or cannot be reached, if the filter would be too
        /// large, if the environment variable `TROMMEL_ISA` names an instruction set that cannot be used, or if the
        /// system refuses the memory.
        with_capacity_and_fpr;

        /// A builder, which has more options, among them load, remainder bits, multiset, growth and seed.
        ///
        /// ```
        /// use trommel::QuotientFilter;
        /// let filter = QuotientFilter::builder().keys(1000).remainder_bits(12).multiset(true).build()?;
        /// assert!(filter.is_multiset() && filter.geometry().remainder_bits == 12);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        builder;

        /// How the table's memory was allocated, including whether huge pages were advised.
        ///
        /// ```
        /// use trommel::{QuotientFilter, container::Backing};
        /// let filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(filter.backing(), Backing::Heap); // far below 4 MiB
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        backing;
    }
}

impl<L: Layout> SlotOptions for Quotient<L> {}
impl<L: Layout> RemainderOptions for Quotient<L> {}
impl FingerprintOptions for QuotientFilter {}

impl<L: Layout> FromSpec for Quotient<L> {
    fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let isa = spec.usable_isa()?;
        let geometry = sizing::geometry::<L>(spec)?;
        // `sizing::geometry` refuses tables of more bytes than the machine can address.
        let bytes = geometry.table_bytes::<L>() as usize;
        let table = Storage::zeroed(bytes, spec.huge_pages)?;
        let filter = Self::assemble(geometry, spec.hasher, isa, table);
        Ok(Self { grow_at: spec.grow_at, ..filter })
    }

    fn encoded_len_of(spec: &Spec) -> Result<u64, SpecError> {
        spec.usable_isa()?;
        Ok(HEADER_BYTES as u64 + sizing::geometry::<L>(spec)?.table_bytes::<L>())
    }
}

impl<L: Layout, S: AsRef<[u8]>> Quotient<L, S> {
    /// Makes a filter of its parts, with 0 as its number of keys. The caller must ensure that the machine has the
    /// instruction set.
    ///
    /// # Panics
    /// If the table does not have the geometry's length.
    pub(crate) fn assemble(geometry: Geometry, hasher: Hasher, isa: Isa, table: S) -> Self {
        // The kernels' safety rests on this length.
        assert_eq!(table.as_ref().len() as u64, geometry.table_bytes::<L>());
        let rounding = Rounding::of::<L>(&geometry);
        let kernels = Kernels::of::<L>(isa);
        let hasher = hasher.with_isa(isa).unwrap_or(hasher);
        let layout = PhantomData;
        let checked = Extent::Whole;
        Self {
            geometry,
            rounding,
            hasher,
            len: 0,
            grow_at: None,
            kernels,
            isa,
            checked,
            table,
            layout,
        }
    }

    /// The number of fingerprints held, divided by [`Geometry::slots`]. It can exceed 1, since further slots
    /// follow the last quotient's slot (see [`Geometry::blocks`]).
    ///
    /// ```
    /// use trommel::{Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::builder().keys(950).build()?; // in 1,000 slots
    /// filter.insert("anvil").unwrap();
    /// assert_eq!(filter.load_factor(), 0.001);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.len as f64 / self.geometry.slots as f64
    }

    /// Whether the filter is a multiset, which keeps a copy of the fingerprint for every insert of a key, up to
    /// [`MAX_COPIES`](crate::MAX_COPIES).
    ///
    /// ```
    /// use trommel::QuotientFilter;
    /// let builder = QuotientFilter::builder().keys(1_000);
    /// assert!(!builder.build()?.is_multiset());
    /// assert!(builder.multiset(true).build()?.is_multiset());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn is_multiset(&self) -> bool {
        self.geometry.copies > 1
    }

    /// The false-positive rate that a filter of this geometry has with `keys` distinct keys:
    /// `1 − e^(−keys / fingerprints)`. For a [`CacheLineQuotient`], `keys` is first multiplied by 258/256, the mean
    /// effect of its reserved remainder. A filter that is built for a false-positive rate is sized by this equation.
    /// (If it is also built with `fingerprint_bits`, it is sized by the upper bound `keys / 2^fingerprint_bits`.)
    ///
    /// ```
    /// use trommel::QuotientFilter;
    /// let filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// assert!(filter.fpr_with(1_000) <= 0.01 && filter.fpr_with(500) < 0.005);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn fpr_with(&self, keys: usize) -> f64 {
        let fingerprints = self.geometry.fingerprints as f64;
        -libm::expm1(-(keys as f64) * sizing::reserved_factor::<L>() / fingerprints)
    }

    /// The fingerprints held, in ascending order, each as often as it has copies. Cost: one pass over the table.
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::with_capacity_and_fpr(1000, 0.01).unwrap();
    /// for key in 0..1000u32 {
    ///     filter.insert(&key).unwrap();
    /// }
    /// assert!(filter.fingerprints().is_sorted());
    /// assert_eq!(filter.fingerprints().count(), filter.len());
    /// ```
    #[must_use]
    pub fn fingerprints(&self) -> Fingerprints<'_, L> {
        Fingerprints::new(self.geometry, self.rounding, self.table(), self.len)
    }

    trommel_base::filter_methods! {
        /// The size of the table and of its fingerprints.
        ///
        /// ```
        /// use trommel::QuotientFilter;
        /// let filter = QuotientFilter::builder().keys(950).remainder_bits(7).build()?;
        /// let geometry = filter.geometry();
        /// assert_eq!((geometry.slots, geometry.fingerprints), (1_000, 1_000 << 7));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        geometry;

        /// The instruction set in use.
        ///
        /// ```
        /// use trommel::{Isa, QuotientFilter};
        /// let filter = QuotientFilter::builder().keys(1_000).isa(Isa::Portable).build()?;
        /// assert_eq!(filter.isa(), Isa::Portable);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        isa;

        /// The bytes of the table; [`WideBlock`] and [`LineBlock`] document their layout.
        ///
        /// ```
        /// use trommel::{Filter, Insert, QuotientFilter};
        /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(filter.table().len(), filter.memory_bytes());
        /// filter.insert("anvil").unwrap();
        /// assert!(filter.table().iter().any(|byte| *byte != 0));
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        table;
    }

    #[inline(always)]
    pub(crate) fn round(&self, hash: KeyHash) -> u64 {
        self.rounding.apply::<L>(&self.geometry, hash.raw())
    }
}

/// The number of hashes to which a batch lookup applies the [`Rounding`] at a time. The rounded hashes are in a buffer
/// on the stack.
const ROUNDED_KEYS: usize = 1024;

impl<L: Layout, S: AsRef<[u8]>> Filter for Quotient<L, S> {
    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.kernels.contains(&self.geometry, self.table.as_ref(), self.round(hash))
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        prefetch_home::<L>(&self.geometry, self.table.as_ref(), self.round(hash));
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        let (geometry, table) = (&self.geometry, self.table.as_ref());
        found.fill_words(hashes.len(), |words| {
            if self.rounding == Rounding::None {
                let hashes = KeyHash::slice_as_raw(hashes);
                self.kernels.contains_batch(geometry, table, hashes, words);
                return;
            }
            let mut rounded = [0; ROUNDED_KEYS];
            let chunks = hashes.chunks(ROUNDED_KEYS).zip(words.chunks_mut(ROUNDED_KEYS / 64));
            for (hashes, words) in chunks {
                for (to, hash) in rounded.iter_mut().zip(hashes) {
                    *to = self.round(*hash);
                }
                self.kernels.contains_batch(geometry, table, &rounded[..hashes.len()], words);
            }
        });
    }

    fn is_ordered_by_hash(&self) -> bool {
        true
    }

    /// The share of all possible fingerprints that the filter holds. This is the false-positive rate of a set, and an
    /// upper bound for a multiset, since the share counts every copy. For a [`CacheLineQuotient`], the share is
    /// multiplied by 258/256, the mean effect of its reserved remainder.
    fn expected_fpr(&self) -> f64 {
        let held = self.len as f64 * sizing::reserved_factor::<L>();
        (held / self.geometry.fingerprints as f64).min(1.0)
    }

    trommel_base::filter_methods! {
        hasher;

        /// The number of fingerprints held, copies included.
        len;

        memory_bytes;
    }
}

/// Prefetches the cache lines with the metadata and the remainders near a key's home, which is the slot whose number is
/// the key's quotient.
#[inline(always)]
pub(crate) fn prefetch_home<L: Layout>(geometry: &Geometry, table: &[u8], hash: u64) {
    let (quotient, _) = geometry.split::<L>(hash);
    let home = Position::of_slot::<L>(quotient);
    for line in L::lines(&geometry.shape(), home).into_iter().flatten() {
        prefetch(table.as_ptr().wrapping_add(line), Hint::T0);
    }
}

impl<L: Layout> Insert for Quotient<L> {
    /// Inserts a key's fingerprint; returns false if a set holds it already.
    ///
    /// Cost at 95 % load: moves of some 190 stored remainders, which are spread over about four cache lines in a
    /// [`CacheLineQuotient`].
    ///
    /// # Errors
    /// [`Full`] with the reason; the filter holds the same fingerprints as before. (A filter that grows by itself can
    /// have doubled before it refuses a key, for example if a multiset gets one copy too many.)
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        if self.is_growth_due() {
            // Do not grow for a key that a set holds already.
            if !self.is_multiset() && self.contains_hash(hash) {
                return Ok(false);
            }
            self.grow_if_due().map_err(|why| self.full(0, why))?;
        }
        let hash = self.round(hash);
        let inserted = self
            .kernels
            .insert(&self.geometry, self.table.as_mut(), hash)
            .map_err(|why| self.full(0, why))?;
        self.len += u64::from(inserted);
        Ok(inserted)
    }

    /// Inserts a batch. If the batch is large and leaves the load at 97 % or less, and the table is larger than the
    /// nearest caches, keys are inserted by region of the table. If a large batch fits into an empty filter that does
    /// not grow by itself, and there is enough scratch memory, it is inserted without moving stored remainders for each
    /// key. The resulting filter is the same as if the keys were inserted one by one.
    ///
    /// # Errors
    /// [`Full`] with the reason if a key of the batch is refused. The keys before the refused key were inserted, and
    /// the error has their number.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.insert_bulk(hashes, Bulk::CALLER)
    }
}

impl<L: Layout> Remove for Quotient<L> {
    /// Removes one copy of the key's fingerprint; returns false, and changes nothing, if the filter does not hold it.
    ///
    /// A false positive is a key that was never inserted but has the fingerprint of a key that was. Removing the false
    /// positive removes a copy of the inserted key's fingerprint.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let hash = self.round(hash);
        let removed = self.kernels.remove(&self.geometry, self.table.as_mut(), hash);
        self.len -= u64::from(removed);
        removed
    }
}

impl<L: Layout, S: AsRef<[u8]>> Count for Quotient<L, S> {
    /// The number of copies of the key's fingerprint; 0 or 1 in a set.
    fn count_hash(&self, hash: KeyHash) -> u64 {
        let (quotient, stored) = self.geometry.split::<L>(self.round(hash));
        let home = Position::of_slot::<L>(quotient);
        let table = Table::<L, _>::new(&self.geometry, self.table.as_ref());
        table.count(Plain, home, stored).into()
    }
}

impl<L: Layout> Quotient<L> {
    /// Removes all keys and keeps the memory.
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.insert("anvil").unwrap();
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn clear(&mut self) {
        self.table.fill(0);
        self.len = 0;
    }

    /// The error of a batch that failed after `inserted` keys, with the filter's length and capacity.
    pub(crate) fn full(&self, inserted: usize, why: WhyFull) -> Full {
        let slots = self.geometry.blocks * u64::from(L::SLOTS);
        Full::new(inserted, self.len(), usize::try_from(slots).unwrap_or(usize::MAX)).because(why)
    }
}

trommel_base::filter_traits! {
    /// Two filters are equal if their frozen bytes are equal. The bytes contain neither the load at which a filter
    /// grows nor its instruction set.
    Quotient, filter => filter.isa
}
