//! The capabilities of filters. Each capability is a trait, which a filter implements only if it has the capability.

use crate::{Bitmap, Full, Hasher, Key, KeyHash, MergeError};
use alloc::boxed::Box;
use trommel_simd::{Hint, prefetch};

/// A set that can answer "perhaps" for a key that it does not hold, but never answers "no" for a key that it holds.
///
/// If `F` is a filter, `&F`, `Box<F>` and `Arc<F>` are filters too, even if `F` is `dyn Filter`. So [`Filter::hash`]
/// and [`Filter::contains`], which take keys of any type, work even if the filter's type is known only at run time.
///
/// ```
/// use trommel::Filter;
/// fn hits(filters: &[Box<dyn Filter>], key: &str) -> usize {
///     filters.iter().filter(|filter| filter.contains(key)).count()
/// }
/// fn is_hit(filter: &dyn Filter, key: &str) -> bool {
///     // `contains` requires a type with a size: `&dyn Filter` has a size, `dyn Filter` has none.
///     (&filter).contains(key)
/// }
/// ```
pub trait Filter {
    /// Whether the key of this hash may be in the filter. Cost: the full latency of the lookup's cache
    /// lines; a batch overlaps the latencies of its lookups.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let hash = filter.hash("anvil"); // once for all filters of one hasher
    /// assert!(!filter.contains_hash(hash));
    /// filter.add_hash(hash);
    /// assert!(filter.contains_hash(hash));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn contains_hash(&self, hash: KeyHash) -> bool;

    /// Looks up a batch: bit `i` of `found` becomes the answer for `hashes[i]`. `found` gets the batch's length, and
    /// keeps its allocation if that is large enough. If the system refuses a larger allocation, the program ends; to
    /// get an error instead, call [`Bitmap::try_reserve`] first. Nothing else is allocated, except by
    /// `trommel::engine::ShardedFilter`.
    ///
    /// ```
    /// use trommel::{Bitmap, Filter, SplitBlockBloom};
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add(&1002u64);
    /// let mut hashes = Vec::new();
    /// filter.hasher().hash_batch(&[1001u64, 1002], &mut hashes);
    /// let mut found = Bitmap::new(0);
    /// filter.contains_batch(&hashes, &mut found);
    /// assert_eq!(found.iter_ones().collect::<Vec<_>>(), [1]);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap);

    /// Prefetches the cache lines that a lookup of this hash reads first, so that they arrive while the caller does
    /// something else. This is only a hint: it changes no answer, and a filter may ignore it. Cost: some nanoseconds;
    /// the call does not wait for the lines.
    ///
    /// ```
    /// use trommel::{Filter, SplitBlockBloom};
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// let hash = filter.hash("anvil");
    /// filter.prefetch_hash(hash);
    /// // … read a page index …
    /// assert!(filter.contains_hash(hash));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn prefetch_hash(&self, hash: KeyHash) {
        let _ = hash;
    }

    /// Looks up one hash in each filter of a list: bit `i` of `found` becomes the answer of the filter `probes[i].0`
    /// for the hash `probes[i].1`. A point read can thus ask the filters of all tables that may have its key. `found`
    /// gets the length of the list, and reuses its allocation if that is large enough. Nothing else is allocated.
    ///
    /// Cost: the cache lines of each lookup. Unless the type of the filters ignores the hint
    /// [`Filter::prefetch_hash`], the latencies of some sixteen lookups overlap.
    ///
    /// ```
    /// use trommel::{Bitmap, BloomFilter, Filter};
    /// let tables = [["anvil", "forge"], ["hammer", "tongs"], ["anvil", "bellows"]];
    /// let filters = tables.map(|keys| {
    ///     let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.001).unwrap();
    ///     keys.iter().for_each(|key| _ = filter.add(key));
    ///     filter
    /// });
    /// let hash = filters[0].hash("anvil"); // all have the same hasher
    /// let probes: Vec<_> = filters.iter().map(|filter| (filter, hash)).collect();
    /// let mut found = Bitmap::new(0);
    /// BloomFilter::contains_many(&probes, &mut found);
    /// assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0, 2]);
    /// ```
    fn contains_many(probes: &[(&Self, KeyHash)], found: &mut Bitmap)
    where
        Self: Sized,
    {
        contains_many(probes, found);
    }

    /// The hash function and seed of this filter. The hasher hashes batches on the filter's instruction set.
    ///
    /// ```
    /// use trommel::{Filter, Hasher, QuotientFilter};
    /// let filter = QuotientFilter::builder().keys(1_000).seed(7).build()?;
    /// assert_eq!(filter.hasher(), Hasher::xxh3(7));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn hasher(&self) -> Hasher;

    /// The hash of a key under this filter's own hasher and seed.
    ///
    /// ```
    /// use trommel::{BloomFilter, CuckooFilter, Filter};
    /// let bloom = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let cuckoo = CuckooFilter::builder().keys(1_000).seed(7).build()?;
    /// assert_eq!(bloom.hash("anvil"), bloom.hasher().hash("anvil"));
    /// assert_ne!(bloom.hash("anvil"), cuckoo.hash("anvil")); // another seed
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn hash<K: Key + ?Sized>(&self, key: &K) -> KeyHash
    where
        Self: Sized,
    {
        self.hasher().hash(key)
    }

    /// Whether the key may be in the filter.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// assert!(filter.contains("anvil") && filter.contains(b"anvil"));
    /// assert!(!filter.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool
    where
        Self: Sized,
    {
        self.contains_hash(self.hash(key))
    }

    /// The number of keys held; a multiset counts every copy. A filter that cannot tell repeated keys from new ones
    /// returns the number of inserts minus the number of removals instead.
    ///
    /// If a key is removed that was never inserted, or a key is removed more often than it was inserted, this
    /// difference can fall below the number of keys held, down to 0. So [`Filter::is_empty`] can be false although
    /// `len` is 0.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, Insert, QuotientFilter};
    /// let mut bloom = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let mut quotient = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// for key in ["anvil", "anvil"] {
    ///     bloom.add(key);
    ///     quotient.insert(key).unwrap();
    /// }
    /// // A Bloom filter counts inserts; a quotient filter counts the keys that it holds.
    /// assert_eq!((bloom.len(), quotient.len()), (2, 1));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn len(&self) -> usize;

    /// Whether every lookup is answered "no". Returns false as long as a bit of the table is set, even if
    /// [`Filter::len`] is 0. The only exception is a trusted view of damaged bytes: it can return true although a bit
    /// is set.
    ///
    /// Cost: for a Bloom filter whose `len` is 0, up to one pass over the table. A `trommel::engine::ShardedFilter`
    /// asks its shards, one after the other. Other filters do not read their tables.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// assert!(filter.is_empty());
    /// filter.add("anvil");
    /// assert!(!filter.is_empty());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of the filter's table in bytes. In a counting filter, it includes the counters and the overflow table.
    ///
    /// ```
    /// use trommel::{Filter, SplitBlockBloom};
    /// let filter = SplitBlockBloom::builder().keys(1_000).memory_bytes(1_500).build()?;
    /// assert_eq!(filter.memory_bytes(), 1_472); // 46 blocks of 32 bytes
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn memory_bytes(&self) -> usize;

    /// Bits of memory per key, for [`Filter::len`] keys; infinite if `len` is 0.
    ///
    /// ```
    /// use trommel::{CacheLineBloom, Filter};
    /// let mut filter = CacheLineBloom::builder().keys(1_000).memory_bytes(1_024).build()?;
    /// assert!(filter.bits_per_key().is_infinite());
    /// (0..1_000u64).for_each(|order| {
    ///     filter.add(&order);
    /// });
    /// assert_eq!(filter.bits_per_key(), 8.192);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn bits_per_key(&self) -> f64 {
        self.memory_bytes() as f64 * 8.0 / self.len() as f64
    }

    /// Whether keys whose hashes are close together are in cache lines that are close together. If so, a large batch
    /// that is grouped by the high bits of its hashes is answered from the caches.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, SplitBlockBloom};
    /// assert!(SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?.is_ordered_by_hash());
    /// assert!(!BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.is_ordered_by_hash());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn is_ordered_by_hash(&self) -> bool {
        false
    }

    /// The probability that the filter answers "perhaps" for a key that it does not hold. It is computed from the
    /// filter's parameters and its current fill.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// assert_eq!(filter.expected_fpr(), 0.0);
    /// (0..1_000u64).for_each(|order| {
    ///     filter.add(&order);
    /// });
    /// assert!((filter.expected_fpr() - 0.01).abs() < 0.002);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn expected_fpr(&self) -> f64;
}

/// While a key is looked up in filter `i` of a list, the cache lines for the lookup in filter `i + LINES_AHEAD` are
/// prefetched. The distance is 16, since a core can have some sixteen lines on their way to L1.
const LINES_AHEAD: usize = 16;
/// While the cache lines of filter `i` are prefetched, the struct of filter `i + FILTERS_AHEAD` is prefetched too.
const FILTERS_AHEAD: usize = 16;

fn contains_many<F: Filter>(probes: &[(&F, KeyHash)], found: &mut Bitmap) {
    let prefetch_filter = |at: usize| {
        if let Some((filter, _)) = probes.get(at) {
            prefetch(core::ptr::from_ref(*filter), Hint::T0);
        }
    };
    let prefetch_lines = |at: usize| {
        if let Some((filter, hash)) = probes.get(at) {
            filter.prefetch_hash(*hash);
        }
    };
    (0..LINES_AHEAD + FILTERS_AHEAD).for_each(prefetch_filter);
    (0..LINES_AHEAD).for_each(prefetch_lines);
    found.fill_words(probes.len(), |words| {
        for (i, (filter, hash)) in probes.iter().enumerate() {
            prefetch_filter(i + LINES_AHEAD + FILTERS_AHEAD);
            prefetch_lines(i + LINES_AHEAD);
            words[i / 64] |= u64::from(filter.contains_hash(*hash)) << (i % 64);
        }
    });
}

/// Calls a method of the filter that a pointer points to.
macro_rules! pointee {
    ($pointer:ident, $filter:ident => $call:expr) => {{
        let $filter = &**$pointer;
        $call
    }};
}

/// A pointer to a filter is a filter, even if it points to a `dyn Filter`.
macro_rules! filter_behind {
    ($($pointer:ty),*) => {$(
        impl<F: Filter + ?Sized> Filter for $pointer {
            fn contains_hash(&self, hash: KeyHash) -> bool {
                (**self).contains_hash(hash)
            }

            $crate::delegate_filter!(pointee!);
        }
    )*};
}
filter_behind!(&F, Box<F>);
#[cfg(target_has_atomic = "ptr")]
filter_behind!(alloc::sync::Arc<F>);

/// A filter into which keys can be inserted.
pub trait Insert: Filter {
    /// Inserts the key of this hash; true if that changed a bit, a counter or the stored fingerprints.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// let hash = filter.hash("anvil");
    /// assert_eq!(filter.insert_hash(hash), Ok(true));
    /// assert_eq!(filter.insert_hash(hash), Ok(false)); // a set has it already
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`] if there is no room, if a filter that grows by itself cannot grow, or if the system refuses memory that
    /// the insert needs. The filter then holds the same keys as before; if it grows by itself, it can have doubled.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Full>;

    /// Inserts a batch: the filter then holds the same keys as after single inserts. In a kind whose bytes do not
    /// depend on the order of inserts, the filter's bytes are the same too.
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let mut hashes = Vec::new();
    /// filter.hasher().hash_batch(&["anvil", "forge"], &mut hashes);
    /// filter.insert_batch(&hashes).unwrap();
    /// assert!(filter.contains("anvil") && filter.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`] if a key cannot be inserted, as in [`Insert::insert_hash`]. The error has the number of keys that were
    /// inserted; these are the first keys of the batch.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full>;

    /// Inserts a key; true if that changed the filter. An integer is a key of its own width: a key that
    /// is inserted as `&7` (an `i32`) is found as `&7i32` and `&7u32`, but `&7u64` is another key.
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// assert_eq!(filter.insert("anvil"), Ok(true));
    /// filter.insert(&7u32).unwrap();
    /// assert!(filter.contains("anvil") && filter.contains(&7i32));
    /// assert!(!filter.contains(&7u64));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Insert::insert_hash`].
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Full>
    where
        Self: Sized,
    {
        let hash = self.hash(key);
        self.insert_hash(hash)
    }
}

/// A filter into which several threads can insert keys at once, through `&self`.
///
/// No filter implements both this trait and [`Insert`]: the methods of the two traits have the same names, so a call
/// would be ambiguous. A lookup that runs concurrently with an insert can miss the inserted key. A lookup finds the key
/// if it follows the insert in the same thread, or if a join, a lock or a channel orders the lookup after the insert.
pub trait InsertShared: Filter {
    /// Inserts the key of this hash; true if that changed a bit, a counter or the stored fingerprints.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, InsertShared};
    /// let shared = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.into_shared();
    /// let hash = shared.hash("anvil");
    /// assert_eq!(shared.insert_hash(hash), Ok(true));
    /// assert_eq!(shared.insert_hash(hash), Ok(false)); // no bit changed
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`] if there is no room, if a filter that grows by itself cannot grow, or if the system refuses memory that
    /// the insert needs. This call then inserted nothing; a filter that grows by itself can have doubled.
    fn insert_hash(&self, hash: KeyHash) -> Result<bool, Full>;

    /// Inserts a batch: the filter then holds the same keys as after single inserts.
    ///
    /// ```
    /// use trommel::{Filter, FilterKind, FilterSpec, InsertShared};
    /// use trommel::engine::ShardedFilter;
    /// let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo).keys(1_000), 4)?;
    /// let mut hashes = Vec::new();
    /// filter.hasher().hash_batch(&["anvil", "forge"], &mut hashes);
    /// filter.insert_batch(&hashes).unwrap();
    /// assert!(filter.contains("anvil") && filter.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`] if a key cannot be inserted, as in [`InsertShared::insert_hash`]. The error has the number of keys that
    /// were inserted.
    fn insert_batch(&self, hashes: &[KeyHash]) -> Result<(), Full>;

    /// Inserts a key; true if that changed the filter. An integer is a key of its own width, see [`Insert::insert`].
    ///
    /// ```
    /// use trommel::{Filter, InsertShared, SplitBlockBloom};
    /// let shared = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?.into_shared();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| shared.insert("anvil"));
    ///     threads.spawn(|| shared.insert("forge"));
    /// });
    /// assert!(shared.contains("anvil") && shared.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// As [`InsertShared::insert_hash`].
    fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Full>
    where
        Self: Sized,
    {
        self.insert_hash(self.hash(key))
    }
}

/// A filter that keys can be removed from.
pub trait Remove: Filter {
    /// Removes one copy of the key of this hash, and returns true. If a lookup of the hash would answer "no", changes
    /// nothing and returns false.
    ///
    /// Remove only keys that were inserted. Removing a false positive decrements counters of inserted keys or takes the
    /// fingerprint of an inserted key, and lookups can then miss inserted keys. In a quotient or cuckoo filter that is
    /// not a multiset, two inserted keys with the same fingerprint can share one slot. Removing one of the two keys
    /// then removes the other key too. A multiset keeps a copy for each key.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert, Remove};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// filter.insert("anvil").unwrap();
    /// let hash = filter.hash("anvil");
    /// assert!(filter.remove_hash(hash));
    /// assert!(!filter.remove_hash(hash));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn remove_hash(&mut self, hash: KeyHash) -> bool;

    /// Removes one copy of a key; see [`Remove::remove_hash`].
    ///
    /// ```
    /// use trommel::{CountingBloomFilter, Filter, Remove};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// filter.add("anvil");
    /// assert!(filter.remove("anvil") && filter.contains("anvil")); // one copy is left
    /// assert!(filter.remove("anvil") && !filter.contains("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool
    where
        Self: Sized,
    {
        let hash = self.hash(key);
        self.remove_hash(hash)
    }
}

/// A filter that counts copies of a key.
pub trait Count: Filter {
    /// The number of copies of the key of this hash in the filter. The number can be too high, since keys can share
    /// counters or a fingerprint. If a lookup of the hash answers "no", the number is 0. Counters that stop at a
    /// ceiling can give a number that is too low; the filter's documentation states the ceiling.
    ///
    /// ```
    /// use trommel::{Count, CountingBloomFilter, Filter};
    /// let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let hash = filter.hash("anvil");
    /// (0..3).for_each(|_| {
    ///     filter.add_hash(hash);
    /// });
    /// assert_eq!(filter.count_hash(hash), 3);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn count_hash(&self, hash: KeyHash) -> u64;

    /// The number of copies of a key in the filter; [`Count::count_hash`] says when it is too high or too low.
    ///
    /// ```
    /// use trommel::{Count, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::builder().keys(1_000).multiset(true).build()?;
    /// filter.insert("anvil").unwrap();
    /// filter.insert("anvil").unwrap();
    /// assert_eq!((filter.count("anvil"), filter.count("forge")), (2, 0));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    fn count<K: Key + ?Sized>(&self, key: &K) -> u64
    where
        Self: Sized,
    {
        self.count_hash(self.hash(key))
    }
}

/// A filter to which all keys of another filter can be added.
///
/// The keys of a frozen filter (a filter in its stored bytes) can be added without an owned copy of the frozen filter:
/// every kind's `union` takes a view of a frozen filter of that kind, and `merge_view` of `AnyFilter` takes a view of
/// any kind.
pub trait Merge: Sized {
    /// Why a merge is refused. A merge of Bloom filters without counters is refused only if their parameters differ, so
    /// the error of these kinds is [`Incompatible`](crate::Incompatible). The error of every other kind is
    /// [`MergeError`].
    type Error: core::error::Error + Into<MergeError>;

    /// Adds all keys of `other`, so that this filter holds the keys of both filters.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, Merge};
    /// let mut monday = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// let mut tuesday = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// monday.add("anvil");
    /// tuesday.add("forge");
    /// monday.merge(&tuesday).unwrap();
    /// assert!(monday.contains("anvil") && monday.contains("forge"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Merge::Error`] if the filters differ in size, parameters or hasher, if a filter with slots has no room, or if
    /// the system refuses memory. Two cases are not errors: quotient filters with the same `fingerprint_bits` are
    /// allowed to differ in size, and a counting filter with compact counters ends the program if the system refuses
    /// memory. After an error, this filter is unchanged.
    fn merge(&mut self, other: &Self) -> Result<(), Self::Error>;
}
