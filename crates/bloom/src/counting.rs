//! The counting Bloom filter: a standard Bloom filter from which keys can be removed.

use crate::BloomFilter;
use crate::counters::{CounterWidth, Counters};
use crate::geometry::Geometry;
use crate::kernel::standard::{clear_bit, positions};
use crate::layout::{Layout, Standard};
use crate::overflow::{ENTRY_BYTES, Overflow};
use alloc::vec::Vec;
use trommel_base::builder::CountingOptions;
use trommel_base::container::{FrozenBytes, HEADER_BYTES, Header, Parsed, Trust};
use trommel_base::{
    Backing, Bitmap, Count, Filter, FilterKind, FormatError, FromSpec, Full, Hasher, Insert,
    KeyHash, Remove, Spec, SpecError, Storage,
};
use trommel_simd::Isa;

/// A standard Bloom filter with a counter for every bit. The bit is set exactly if the counter is above zero. So
/// lookups read only bits, and are as fast as lookups in a [`BloomFilter`]. Inserts, removals and [`Count`] read the
/// counters.
///
/// Memory: 5 bits per position with [`CounterWidth::Four`]. With [`CounterWidth::Two`], it is 3 bits per position, and
/// an entry of the overflow table for each counter above 2. An entry takes 16 bytes in the frozen filter, and somewhat
/// more in memory. In a filter that was planned for a false-positive rate of at most 3 %, and into which as many
/// distinct keys were inserted as planned, 2.6 to 4.2 % of the counters are above 2, and the frozen overflow table
/// takes another 3.4 to 5.3 bits per position.
///
/// - Counters of four bits, the default, stick at 15: a counter that has reached 15 is never decremented again, so that
///   a count above 15 causes no false negative. The probability that any of `m` counters sticks is below `m · (e ln 2 /
///   15)^15`, which is 3.1e-14 `m`. This bound holds for filters with a planned false-positive rate of at most 30 %, if
///   as many distinct keys are inserted as planned, and no key is inserted often.
/// - Counters of two bits ([`Builder::compact`](trommel_base::Builder::compact)) keep counts above 2 in an overflow
///   table, and are exact. Inserts allocate the nodes of this table, of less than 300 bytes each. In a filter that was
///   read from bytes, the first change of the table allocates all its nodes. If the system refuses the memory for a
///   node, the program ends.
///
/// Remove only keys that were inserted. The removal of a key that was not inserted is refused if a lookup does not find
/// the key. If the lookup finds the key, by a false positive, the removal decrements counters of other keys, and
/// lookups can then miss these keys.
///
/// Source: Fan, Cao, Almeida and Broder, "Summary cache", IEEE/ACM Transactions on Networking 8 (2000), section V-C.
/// The filter of that paper has only counters. With the separate bits, a filter takes a quarter more memory than with
/// four-bit counters alone, and half more than with two-bit counters alone. In return, lookups read a table that is a
/// quarter of the size of four-bit counters, or half of the size of two-bit counters.
///
/// ```
/// use trommel::{CountingBloomFilter, Filter, Insert, Remove};
/// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1000, 0.01)?;
/// filter.insert("anvil").unwrap();
/// let hash = filter.hash("anvil");
/// assert!(filter.remove_hash(hash));
/// assert!(!filter.contains("anvil"));
/// assert!(!filter.remove_hash(hash));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountingBloomFilter<S = Storage> {
    pub(crate) bits: BloomFilter<S>,
    pub(crate) counters: Counters<S>,
    /// Whether the counters are known to agree with the bits and the overflow table; false in a view of trusted bytes,
    /// such as a view that [`CountingBloomFilter::parse_trusted`] opened.
    is_checked: bool,
}

impl CountingBloomFilter {
    trommel_base::filter_methods! {
        /// The smallest filter whose expected false-positive rate with `keys` keys is at most `fpr`.
        ///
        /// ```
        /// use trommel::{CountingBloomFilter, Filter};
        /// let filter = CountingBloomFilter::with_capacity_and_fpr(1_000_000, 0.01)?;
        /// assert!((filter.memory_bytes() as f64 * 8.0 / 1e6 - 5.0 * 9.59).abs() < 0.05);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        ///
        /// # Errors
        /// [`SpecError`] if `fpr` is not strictly between 0 and 1 or cannot be reached, if the filter would be too
        /// large, if the memory is refused, or if the instruction set that the environment variable `TROMMEL_ISA` names
        /// cannot be used.
        with_capacity_and_fpr;

        /// A builder with further options: seed, hasher, compact counters, instruction set, huge pages.
        ///
        /// ```
        /// use trommel::{CountingBloomFilter, Isa, bloom::CounterWidth};
        /// let builder = CountingBloomFilter::builder().keys(1000).compact(true);
        /// assert_eq!(builder.build()?.counter_width(), CounterWidth::Two);
        /// assert_eq!(builder.isa(Isa::Portable).build()?.isa(), Isa::Portable);
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        builder;
    }

    /// How the bit table's memory was allocated: whether huge pages were advised.
    ///
    /// ```
    /// use trommel::{CountingBloomFilter, container::Backing};
    /// assert_eq!(CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?.backing(), Backing::Heap);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn backing(&self) -> Backing {
        self.bits.backing()
    }

    /// Removes all keys, and keeps the memory of bits and counters. The memory of an overflow table is freed.
    ///
    /// ```
    /// use trommel::{CountingBloomFilter, Filter};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn clear(&mut self) {
        self.bits.clear();
        self.counters.cells.fill(0);
        self.counters.overflow = Overflow::default();
    }
}

impl CountingOptions for CountingBloomFilter {}

impl FromSpec for CountingBloomFilter {
    fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let isa = spec.usable_isa()?;
        let Plan { width, geometry, bit_bytes, cell_bytes } = Plan::of(spec)?;
        let cells = Storage::zeroed(cell_bytes as usize, spec.huge_pages)?;
        let table = Storage::zeroed(bit_bytes as usize, spec.huge_pages)?;
        let bits = BloomFilter::assemble(geometry, spec.hasher, 0, isa, table);
        let counters = Counters { width, cells, overflow: Default::default() };
        Ok(Self { bits, counters, is_checked: true })
    }

    fn encoded_len_of(spec: &Spec) -> Result<u64, SpecError> {
        spec.usable_isa()?;
        let Plan { bit_bytes, cell_bytes, .. } = Plan::of(spec)?;
        Ok(HEADER_BYTES as u64 + bit_bytes + cell_bytes)
    }
}

/// The shape and size of a filter's parts.
struct Plan {
    width: CounterWidth,
    /// The shape of the bits.
    geometry: Geometry,
    bit_bytes: u64,
    cell_bytes: u64,
}

impl Plan {
    fn of(spec: &Spec) -> Result<Self, SpecError> {
        // Folding would merge positions, whose counters could no longer be told apart.
        spec.refuse_folding(FilterKind::CountingBloom)?;
        spec.refuse_slot_options(FilterKind::CountingBloom)?;
        let width = if spec.compact { CounterWidth::Two } else { CounterWidth::Four };
        // Each byte of bits needs as many bytes of counters as a counter has bits.
        let multiple = 1 + width.bits() as usize;
        let spec = &spec.in_bytes((Standard::UNIT_BYTES * multiple) as u64)?;
        let mut bit_spec = *spec;
        bit_spec.memory_bytes = spec.memory_bytes.map(|bytes| bytes / multiple);
        let scaled = |error| scaled_error(error, spec, multiple as u64);
        let geometry = crate::layout::geometry::<Standard>(&bit_spec).map_err(scaled)?;
        let bit_bytes = geometry.units * Standard::UNIT_BYTES as u64;
        let cell_bytes = geometry.units.saturating_mul(width.bytes_per_word() as u64);
        let max_bytes = trommel_base::storage::MAX_BYTES;
        if cell_bytes > max_bytes {
            let bytes = u128::from(cell_bytes) + u128::from(bit_bytes);
            return Err(SpecError::TooLarge { bytes, max_bytes });
        }
        Ok(Self { width, geometry, bit_bytes, cell_bytes })
    }
}

/// Converts an error that states sizes of the bits alone. The new error states sizes of bits and counters together,
/// which are `multiple` times as large. In [`SpecError::TooLarge`], `max_bytes` stays the limit for the bits.
fn scaled_error(error: SpecError, spec: &Spec, multiple: u64) -> SpecError {
    match error {
        SpecError::TooSmall { min_bytes, bytes } => SpecError::TooSmall {
            bytes: spec.memory_bytes.map_or(bytes, |bytes| bytes as u64),
            min_bytes: min_bytes.saturating_mul(multiple),
        },
        SpecError::TooLarge { bytes, max_bytes } => {
            SpecError::TooLarge { bytes: bytes.saturating_mul(u128::from(multiple)), max_bytes }
        }
        other => other,
    }
}

impl<S: AsRef<[u8]>> CountingBloomFilter<S> {
    /// How wide the counters are.
    #[must_use]
    pub fn counter_width(&self) -> CounterWidth {
        self.counters.width
    }

    /// The shape of the bit table.
    ///
    /// ```
    /// use trommel::CountingBloomFilter;
    /// let filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let geometry = filter.geometry();
    /// assert_eq!((filter.hash_count(), filter.bits().table().len()), (7, 8 * geometry.units as usize));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.bits.geometry()
    }

    /// The number of increments per key. Two increments for one key can change the same counter.
    #[must_use]
    pub fn hash_count(&self) -> u32 {
        self.bits.hash_count()
    }

    /// The instruction set in use.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.bits.isa()
    }

    /// The bits of the filter: a standard Bloom filter that holds the same keys.
    ///
    /// ```
    /// use trommel::{CountingBloomFilter, Filter};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// assert!(filter.bits().contains("anvil"));
    /// assert_eq!(filter.bits().memory_bytes() * 5, filter.memory_bytes());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BloomFilter<S> {
        &self.bits
    }

    /// An estimate of the number of distinct keys held, from the number of set bits. Cost: one pass over the bits.
    ///
    /// ```
    /// use trommel::{CountingBloomFilter, Filter};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// (0..2_000u64).for_each(|i| {
    ///     filter.add(&(i % 500)); // each four times
    /// });
    /// assert!((filter.estimate_len() - 500.0).abs() < 25.0 && filter.len() == 2_000);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn estimate_len(&self) -> f64 {
        self.bits.estimate_len()
    }

    /// Checks that counters agree with bits and with the overflow table. [`CountingBloomFilter::parse_trusted`] skips
    /// this check. This method computes no checksum.
    ///
    /// # Errors
    /// [`FormatError`] if counters disagree with bits or with the overflow table.
    pub fn check_structure(&self) -> Result<(), FormatError> {
        if self.is_checked { Ok(()) } else { self.counters.check(self.bits.table()) }
    }

    fn header(&self) -> Header {
        let Geometry { units, hashes } = self.geometry();
        let width = u64::from(self.counters.width.bits());
        let entries = self.counters.overflow.len() as u64;
        Header {
            kind: FilterKind::CountingBloom,
            hasher: self.bits.hasher,
            len: self.bits.len,
            parameters: [units, u64::from(hashes), width, entries],
        }
    }

    /// The frozen filter: header, bits, counters, overflow table.
    ///
    /// Ends the program if the system refuses the memory; [`write_to`](Self::write_to) returns an error instead.
    ///
    /// ```
    /// use trommel::CountingBloomFilter;
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// filter.add("anvil");
    /// let bytes = filter.to_bytes();
    /// assert_eq!(bytes.len(), filter.encoded_len());
    /// assert_eq!(CountingBloomFilter::from_bytes(&bytes)?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let overflow = self.counters.overflow.to_bytes();
        self.header().to_bytes(&[self.bits.table(), self.counters.cells.as_ref(), &overflow])
    }

    /// The number of bytes that [`CountingBloomFilter::to_bytes`] returns. Allocates nothing.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.bits.encoded_len() + self.counters.memory_bytes()
    }

    /// Writes the frozen filter without copying bits and counters.
    ///
    /// ```
    /// use trommel::CountingBloomFilter;
    /// let filter = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// let mut file = Vec::new();
    /// filter.write_to(&mut file)?;
    /// assert_eq!(file, filter.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The writer's errors, and `ErrorKind::OutOfMemory` if there is no memory for the bytes of the overflow table.
    #[cfg(feature = "std")]
    pub fn write_to(&self, to: impl std::io::Write) -> std::io::Result<()> {
        let overflow = self.counters.overflow.try_to_bytes();
        let overflow = overflow.map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        self.header().write_to(&[self.bits.table(), self.counters.cells.as_ref(), &overflow], to)
    }
}

impl<'a> CountingBloomFilter<&'a [u8]> {
    trommel_base::filter_methods! {
        /// A view of a frozen filter, at any alignment. Nothing is copied. Cost: one pass over the bytes for the
        /// checksum, and one pass that compares bits and counters. With four-bit counters and a false-positive rate of
        /// 1 %, the two passes together take 0.8 ms per million keys on a Zen 4 core.
        ///
        /// ```
        /// use trommel::{Count, CountingBloomFilter};
        /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
        /// filter.add("anvil");
        /// let bytes = filter.to_bytes();
        /// let view = CountingBloomFilter::parse(&bytes)?;
        /// assert_eq!(view.count("anvil"), 1);
        /// assert_eq!(view.to_owned_filter()?, filter);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the bytes are not exactly one frozen filter of this kind, or if its keys were hashed with
        /// a secret key: [`parse_with_hasher`](trommel_base::container::parse_with_hasher) reads such bytes.
        parse;

        /// Like [`CountingBloomFilter::parse`], for bytes that were verified before. Does not compute the checksum of
        /// the payload, and does not compare the counters with the bits, since lookups read only bits. Still checks
        /// that the entries of an overflow table are sorted and in range. See
        /// [`container::parse_trusted`](trommel_base::container::parse_trusted).
        ///
        /// ```
        /// use trommel::{CountingBloomFilter, Filter};
        /// let mut bytes = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?.to_bytes();
        /// *bytes.last_mut().unwrap() = 1; // a counter whose bit is not set
        /// let view = CountingBloomFilter::parse_trusted(&bytes)?;
        /// assert!(!view.contains("anvil") && view.check_structure().is_err());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the header, the length or the overflow table is not valid for a frozen filter of this
        /// kind, or if its keys were hashed with a secret key.
        parse_trusted;
    }
}

impl<B: FrozenBytes> CountingBloomFilter<B> {
    /// A view of a container that is parsed already.
    ///
    /// ```
    /// use trommel::{BloomFilter, CountingBloomFilter, FormatError, container};
    /// let bytes = BloomFilter::with_capacity_and_fpr(100, 0.01)?.to_bytes();
    /// let refused = CountingBloomFilter::from_container(container::parse(&bytes)?);
    /// assert!(matches!(refused, Err(FormatError::WrongKind { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the container holds another kind of filter, invalid parameters or an invalid overflow table,
    /// or if counters disagree with bits or with the overflow table. If the container was parsed as trusted, counters
    /// are not compared with bits or with the overflow table.
    pub fn from_container(parsed: Parsed<B>) -> Result<Self, FormatError> {
        let (header, trust, payload) = (parsed.header(), parsed.trust(), parsed.payload());
        let expected = FilterKind::CountingBloom;
        if header.kind != expected {
            return Err(FormatError::WrongKind { expected, found: header.kind });
        }
        let [units, hashes, width, entries] = header.parameters;
        let width = match width {
            2 => CounterWidth::Two,
            4 => CounterWidth::Four,
            _ => return Err(FormatError::Field { name: "counter width", value: width }),
        };
        let payload_len = payload.as_ref().len();
        let lengths = (|| {
            let bits = units.checked_mul(Standard::UNIT_BYTES as u64)?;
            let cells = units.checked_mul(width.bytes_per_word() as u64)?;
            let overflow = entries.checked_mul(ENTRY_BYTES as u64)?;
            let total = bits.checked_add(cells)?.checked_add(overflow)?;
            (total == payload_len as u64).then_some((bits as usize, cells as usize))
        })();
        let Some((bits, cells)) = lengths else {
            return Err(FormatError::Field { name: "units", value: units });
        };
        if width == CounterWidth::Four && entries != 0 {
            return Err(FormatError::Field { name: "overflow entries", value: entries });
        }
        let bits_header =
            Header { kind: FilterKind::Bloom, parameters: [units, hashes, 0, 0], ..header };
        let overflow = payload.slice(bits + cells..payload_len);
        let min_count = u64::from(width.ceiling());
        let overflow = Overflow::parse(overflow, units.saturating_mul(64), min_count)?;
        let cells = payload.slice(bits..bits + cells);
        let bits = BloomFilter::from_header(&bits_header, payload.slice(0..bits))?;
        let counters = Counters { width, cells, overflow };
        let filter = Self { bits, counters, is_checked: false };
        if trust == Trust::Trusted {
            return Ok(filter);
        }
        filter.check_structure()?;
        Ok(Self { is_checked: true, ..filter })
    }

    /// Copies the view into an owned filter. A trusted view is first checked with
    /// [`check_structure`](Self::check_structure).
    ///
    /// # Errors
    /// [`FormatError`] if the check fails or the memory is refused.
    pub fn to_owned_filter(&self) -> Result<CountingBloomFilter, FormatError> {
        self.check_structure()?;
        let cells = Storage::copy_of(self.counters.cells.as_ref(), true)?;
        let overflow = self.counters.overflow.to_owned_table()?;
        let counters = Counters { width: self.counters.width, cells, overflow };
        let bits = self.bits.to_owned_filter()?;
        Ok(CountingBloomFilter { bits, counters, is_checked: true })
    }
}

impl CountingBloomFilter {
    /// Reads an owned filter from frozen bytes. Everything is checked before memory is allocated.
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter of this kind, if its keys were hashed with a
    /// secret key, or if the memory is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        CountingBloomFilter::<&[u8]>::parse(bytes)?.to_owned_filter()
    }
}

impl<S: AsRef<[u8]>> Filter for CountingBloomFilter<S> {
    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.bits.contains_hash(hash)
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        self.bits.prefetch_hash(hash);
    }

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        self.bits.contains_batch(hashes, found);
    }

    fn hasher(&self) -> Hasher {
        self.bits.hasher()
    }

    /// The number of inserts minus the number of removals, but never below 0. If no key was removed more often than it
    /// was inserted, this is the number of copies of keys that the filter holds; a key that was inserted twice has two
    /// copies. A merge adds the `len` of the other filter.
    ///
    /// A removal is refused if a lookup does not find the key. All other removals are counted, even the removals of
    /// false positives, and of keys whose four-bit counters are all stuck. However often a key with stuck counters is
    /// removed, lookups still find the key. So after removals of either sort, `len` can be less than the number of
    /// copies held.
    fn len(&self) -> usize {
        self.bits.len()
    }

    /// True if [`Filter::len`] is 0 and no bit is set. Counters that stick leave bits set even if every key was
    /// removed.
    ///
    /// Cost: if [`Filter::len`] is 0, a pass over the bits up to the first set bit.
    fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Bytes of bits, counters and overflow table. An entry of the overflow table is counted as 16 bytes, its size
    /// in the frozen filter.
    fn memory_bytes(&self) -> usize {
        self.bits.memory_bytes() + self.counters.memory_bytes()
    }

    fn expected_fpr(&self) -> f64 {
        self.bits.expected_fpr()
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> CountingBloomFilter<S> {
    /// Inserts the key of a hash; returns false only if all counters of the key are stuck. Never fails, like
    /// [`CountingBloomFilter::add`].
    ///
    /// ```
    /// use trommel::{Count, CountingBloomFilter, Filter};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// assert!(filter.add_hash(filter.hash("anvil")));
    /// assert_eq!(filter.count("anvil"), 1);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn add_hash(&mut self, hash: KeyHash) -> bool {
        let mut changed = false;
        for position in positions(self.geometry(), hash.raw()) {
            changed |= self.counters.increment(position);
        }
        // If the next line sets a bit, the bit's counter was zero, so `changed` is already true.
        self.bits.add_hash(hash);
        changed
    }

    /// Inserts a batch, with the same result as if the keys were inserted one at a time. Never fails, like
    /// [`CountingBloomFilter::add`].
    ///
    /// ```
    /// use trommel::{Count, CountingBloomFilter, Filter};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// filter.add_batch(&["anvil", "forge", "anvil"].map(|key| filter.hash(key)));
    /// assert_eq!((filter.count("anvil"), filter.count("forge")), (2, 1));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn add_batch(&mut self, hashes: &[KeyHash]) {
        let geometry = self.geometry();
        let raw = KeyHash::slice_as_raw(hashes);
        self.counters.increment_batch(raw, |hash| positions(geometry, hash));
        self.bits.add_batch(hashes);
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Insert for CountingBloomFilter<S> {
    /// Never fails, like [`CountingBloomFilter::add_hash`].
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full> {
        Ok(self.add_hash(hash))
    }

    /// Never fails, like [`CountingBloomFilter::add_batch`].
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.add_batch(hashes);
        Ok(())
    }
}

/// Two filters are equal if their frozen bytes are equal. The instruction set does not matter.
impl<S: AsRef<[u8]>, T: AsRef<[u8]>> PartialEq<CountingBloomFilter<T>> for CountingBloomFilter<S> {
    fn eq(&self, other: &CountingBloomFilter<T>) -> bool {
        self.bits == other.bits
            && self.counter_width() == other.counter_width()
            && self.counters.cells.as_ref() == other.counters.cells.as_ref()
            && self.counters.overflow == other.counters.overflow
    }
}

impl<S: AsRef<[u8]>> Eq for CountingBloomFilter<S> {}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Remove for CountingBloomFilter<S> {
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        if !self.contains_hash(hash) {
            return false;
        }
        for position in positions(self.geometry(), hash.raw()) {
            if self.counters.decrement(position) {
                clear_bit(self.bits.table.as_mut(), position);
            }
        }
        self.bits.len = self.bits.len.saturating_sub(1);
        true
    }
}

impl<S: AsRef<[u8]>> Count for CountingBloomFilter<S> {
    /// The smallest of the key's counts. With counters of four bits, 15 means 15 or more.
    fn count_hash(&self, hash: KeyHash) -> u64 {
        let counts =
            positions(self.geometry(), hash.raw()).map(|position| self.counters.count(position));
        counts.min().unwrap_or(0)
    }
}
