//! A filter of any kind that several threads can change at once. It is split into shards, each with its own lock.

use crate::any::AnyFilter;
use crate::spec::FilterSpec;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use crossbeam_utils::CachePadded;
#[cfg(loom)]
use loom::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use trommel_base::partition::{Partitioned, Partitioner};
use trommel_base::storage::room_for;
use trommel_base::{
    Bitmap, Filter, FilterKind, Full, Hasher, Insert, InsertShared, KeyHash, SpecError, Unsupported,
};

/// A filter of any kind, split into *shards*, whose number is a power of two. Each shard is a filter of its own with
/// its own lock. Threads insert, remove and look up through `&self`. They wait for each other only if they access the
/// same shard, and any number of threads can look up in one shard at once.
///
/// A sharded filter is meant for quotient and cuckoo filters, whose inserts move stored fingerprints. Bloom filters
/// without counters need no locks: see [`SharedBloom`](crate::bloom::SharedBloom).
///
/// **A sharded filter has no frozen form, and cannot be turned into one ordinary filter.** If you need one frozen
/// filter of a kind that can remove keys, collect hashes on all threads and insert them by
/// [`Engine::insert_batch`](crate::Engine::insert_batch). To freeze the shards themselves, see
/// [`ShardedFilter::into_shards`].
///
/// **Shards.** In a filter of 2^`b` shards, the top `b` bits of a key's hash are the number of its shard. The shard's
/// filter gets another hash: `t ^ (t >> 32)`, where `t` is the key's hash rotated left by `b` bits. With `t` alone, the
/// bits that all keys of a shard have in common would be the lowest bits, from which blocked Bloom filters compute
/// positions. [`ShardedFilter::shard_of`] returns the shard and the hash for its filter. With four shards for each
/// thread that inserts, threads rarely wait. Beside its table, a shard takes a few hundred bytes for the lock and the
/// filter's fields.
///
/// **Size.** A shard is made for its share of the keys plus six standard deviations, since hashes do not split keys
/// evenly. With `m` keys per shard, the six standard deviations take up to `6 / √m` more memory: 0.6 % with a million
/// keys per shard, 6 % with ten thousand, 19 % with a thousand. Of shards that are made for a thousand keys or more,
/// fewer than one in 10^8 get more keys than they are made for. If the spec sets a size in bytes, each shard gets an
/// equal part of that size.
///
/// **Batches** are cut into chunks of 2^20 keys. The keys of a chunk are grouped by shard, so each lock is taken at
/// most once per chunk. The grouping allocates a [`Partitioner`], which takes at least eight bytes per key of a chunk;
/// lookups also allocate memory for answers. If memory is refused, or a chunk has fewer than 32 keys or fewer keys than
/// there are shards, the keys of the chunk are processed one by one.
///
/// **A panic** while a thread changes a shard can leave that shard half changed. (The only known cause of such a panic
/// is a defect of this library.) The shard's lock is then poisoned, and every later call that needs the shard panics
/// too, with a message that names the shard. So no call waits forever or uses a damaged filter. The other shards can
/// still be used. [`ShardedFilter::is_poisoned`] tells whether any shard is poisoned.
///
/// ```
/// use trommel::{Filter, FilterKind, FilterSpec, InsertShared};
/// use trommel::engine::ShardedFilter;
///
/// let spec = FilterSpec::new(FilterKind::Quotient).keys(100_000).fpr(0.01);
/// let filter = ShardedFilter::build(&spec, 8)?;
/// std::thread::scope(|threads| {
///     for first in [0, 50_000] {
///         let filter = &filter;
///         threads.spawn(move || {
///             let keys: Vec<u64> = (first..first + 50_000).collect();
///             let mut hashes = Vec::new();
///             filter.hasher().hash_batch(&keys, &mut hashes);
///             filter.insert_batch(&hashes).unwrap();
///         });
///     }
/// });
/// assert!((0..100_000u64).all(|key| filter.contains(&key)));
/// assert_eq!(filter.remove_hash(filter.hash(&7u64)), Ok(true));
/// # Ok::<(), trommel::SpecError>(())
/// ```
pub struct ShardedFilter {
    /// Padded to cache lines, so that the locks of neighbouring shards are in different cache lines.
    shards: Box<[CachePadded<RwLock<AnyFilter>>]>,
    /// The number of top bits of a hash that select its shard.
    shard_bits: u32,
    kind: FilterKind,
    hasher: Hasher,
}

/// The largest number of shards.
pub const MAX_SHARDS: usize = 4096;
/// The allowed numbers of shards.
const SHARDS: [u64; 13] = {
    let mut shards = [1; 13];
    let mut i = 1;
    while i < shards.len() {
        shards[i] = 2 * shards[i - 1];
        i += 1;
    }
    shards
};
const _: () = assert!(SHARDS[SHARDS.len() - 1] == MAX_SHARDS as u64);
/// The number of hashes that are grouped at a time. It is a multiple of 64, so that the answers for a chunk, one bit
/// per hash, fill whole words.
const CHUNK: usize = 1 << 20;
/// A chunk with fewer hashes than this, or with fewer hashes than the filter has shards, is processed hash by hash:
/// grouping the hashes would cost more than taking a lock for each hash.
const SHORTEST_GROUPED: usize = 32;

/// Returns the shard of a hash, and the hash that the shard's filter gets.
#[inline(always)]
const fn split(hash: u64, shard_bits: u32) -> (usize, u64) {
    // Shifts twice. If there is only one shard, a single shift would be by 64 bits, which overflows.
    let shard = hash >> 1 >> (u64::BITS - 1 - shard_bits);
    let rotated = hash.rotate_left(shard_bits);
    (shard as usize, rotated ^ rotated >> 32)
}

/// The number of keys that a shard is made for: its share of `keys` plus six standard deviations.
fn keys_of_shard(keys: usize, shards: usize) -> usize {
    let share = keys.div_ceil(shards);
    let deviation = (share as f64 * (1.0 - 1.0 / shards as f64)).sqrt();
    share.saturating_add((6.0 * deviation).ceil() as usize)
}

#[cold]
fn poisoned(shard: usize) -> ! {
    panic!("shard {shard} is damaged: a thread panicked while changing this shard")
}

impl ShardedFilter {
    /// Makes an empty filter of `shards` shards, a power of two up to [`MAX_SHARDS`].
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{FilterKind, FilterSpec, SpecError};
    /// let spec = FilterSpec::new(FilterKind::Cuckoo).keys(100_000);
    /// assert_eq!(ShardedFilter::build(&spec, 8)?.shards(), 8);
    /// let refused = ShardedFilter::build(&spec, 6); // not a power of two
    /// assert!(matches!(refused, Err(SpecError::Choice { value: 6, .. })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the number of shards is not allowed, the spec of a shard cannot be met, or memory is refused.
    pub fn build(spec: &FilterSpec, shards: usize) -> Result<Self, SpecError> {
        if !SHARDS.contains(&(shards as u64)) {
            let value = shards as u64;
            return Err(SpecError::Choice { name: "shards", value, allowed: &SHARDS });
        }
        let mut shard_spec = spec.keys(keys_of_shard(spec.spec().keys, shards));
        if let Some(bytes) = spec.spec().memory_bytes {
            shard_spec = shard_spec.memory_bytes(bytes / shards);
        }
        let mut filters = room_for(shards)?;
        for _ in 0..shards {
            filters.push(CachePadded::new(RwLock::new(shard_spec.build()?)));
        }
        Ok(Self {
            shards: filters.into_boxed_slice(),
            shard_bits: shards.trailing_zeros(),
            kind: spec.kind(),
            hasher: spec.spec().hasher.with_isa(spec.spec().usable_isa()?)?,
        })
    }

    /// The kind of the shards.
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{FilterKind, FilterSpec};
    /// let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo), 4)?;
    /// assert_eq!(filter.kind(), FilterKind::Cuckoo);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// The number of shards.
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{FilterKind, FilterSpec};
    /// assert_eq!(ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo), 4)?.shards(), 4);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Returns the index of a key's shard, and the key's hash in that shard.
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{Filter, FilterKind, FilterSpec};
    /// let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo), 4)?;
    /// let hash = filter.hash("anvil");
    /// let (shard, hash_there) = filter.shard_of(hash);
    /// assert_eq!(shard as u64, hash.raw() >> 62);
    /// let rotated = hash.raw().rotate_left(2);
    /// assert_eq!(hash_there.raw(), rotated ^ rotated >> 32);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn shard_of(&self, hash: KeyHash) -> (usize, KeyHash) {
        let (shard, hash) = split(hash.raw(), self.shard_bits);
        (shard, KeyHash::from_raw(hash))
    }

    /// Returns the filters of the shards, in order. Each can be frozen.
    ///
    /// **To look up a key, use the shard and the hash that [`ShardedFilter::shard_of`] returns.** A lookup by the key
    /// itself, or by its own hash, can miss a key that the shard holds.
    ///
    /// Ends the program if the system refuses the memory for the list.
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{Filter, FilterKind, FilterSpec, FilterView, InsertShared};
    /// let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo).keys(1_000), 4)?;
    /// filter.insert("anvil").unwrap();
    /// let (shard, hash) = filter.shard_of(filter.hash("anvil"));
    /// let frozen: Vec<Vec<u8>> = filter.into_shards().iter().map(|shard| shard.to_bytes()).collect();
    /// assert_eq!(frozen.len(), 4);
    /// assert!(FilterView::parse(&frozen[shard]).unwrap().contains_hash(hash));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Panics
    /// If a thread panicked while it changed a shard.
    #[must_use]
    pub fn into_shards(self) -> Vec<AnyFilter> {
        let filters = self.shards.into_iter().enumerate();
        filters
            .map(|(i, lock)| lock.into_inner().into_inner().unwrap_or_else(|_| poisoned(i)))
            .collect()
    }

    /// Whether a thread panicked while it changed a shard. Calls that need that shard panic from then on.
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{FilterKind, FilterSpec};
    /// let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo), 4)?;
    /// assert!(!filter.is_poisoned());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[cfg(not(loom))]
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.shards.iter().any(|lock| lock.is_poisoned())
    }

    /// Removes one copy of a key; returns false if the filter does not contain the key. See [`AnyFilter::remove_hash`].
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{Filter, FilterKind, FilterSpec, InsertShared};
    /// let filter = ShardedFilter::build(&FilterSpec::new(FilterKind::Cuckoo).keys(1_000), 4)?;
    /// filter.insert("anvil").unwrap();
    /// let hash = filter.hash("anvil");
    /// assert_eq!((filter.remove_hash(hash), filter.remove_hash(hash)), (Ok(true), Ok(false)));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`] if the kind cannot remove.
    ///
    /// # Panics
    /// If a thread panicked while it changed the key's shard.
    pub fn remove_hash(&self, hash: KeyHash) -> Result<bool, Unsupported> {
        let (shard, hash) = self.shard_of(hash);
        self.write(shard).remove_hash(hash)
    }

    /// The number of copies of a key in the filter. The number can be too high. In a counting filter with four-bit
    /// counters, it is at most 15, even for more copies. See [`AnyFilter::count_hash`].
    ///
    /// ```
    /// use trommel::engine::ShardedFilter;
    /// use trommel::{Filter, FilterKind, FilterSpec, InsertShared};
    /// let spec = FilterSpec::new(FilterKind::Quotient).keys(1_000).multiset(true);
    /// let filter = ShardedFilter::build(&spec, 4)?;
    /// filter.insert("anvil").unwrap();
    /// filter.insert("anvil").unwrap();
    /// assert_eq!(filter.count_hash(filter.hash("anvil")), Ok(2));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`] if the kind cannot count.
    ///
    /// # Panics
    /// If a thread panicked while it changed the key's shard.
    pub fn count_hash(&self, hash: KeyHash) -> Result<u64, Unsupported> {
        let (shard, hash) = self.shard_of(hash);
        self.read(shard).count_hash(hash)
    }

    fn read(&self, shard: usize) -> RwLockReadGuard<'_, AnyFilter> {
        self.shards[shard].read().unwrap_or_else(|_| poisoned(shard))
    }

    fn write(&self, shard: usize) -> RwLockWriteGuard<'_, AnyFilter> {
        self.shards[shard].write().unwrap_or_else(|_| poisoned(shard))
    }

    /// Calls the closure `number` with the filter of every shard, and returns the results. Locks one shard after the
    /// other.
    fn map_shards<T>(&self, number: impl Fn(&AnyFilter) -> T) -> impl Iterator<Item = T> {
        (0..self.shards()).map(move |shard| number(&self.read(shard)))
    }

    /// Groups hashes by shard, and turns each hash into the hash that its shard's filter gets. Returns `None` if there
    /// are too few hashes or memory is refused.
    fn group<'p>(
        &self,
        hashes: &[KeyHash],
        partitioner: &'p mut Partitioner<u64>,
    ) -> Option<Partitioned<'p, u64>> {
        if hashes.len() < self.shards().max(SHORTEST_GROUPED) {
            return None;
        }
        let shard_bits = self.shard_bits;
        partitioner.partition(hashes, self.shards(), |hash| split(hash, shard_bits)).ok()
    }

    /// Writes the answers for a batch to `words`. The caller must ensure that all bits of `words` are zero.
    fn contains_words(&self, hashes: &[KeyHash], words: &mut [u64]) {
        let mut memory = LookupMemory::default();
        for (hashes, words) in hashes.chunks(CHUNK).zip(words.chunks_mut(CHUNK / 64)) {
            if self.contains_grouped(hashes, words, &mut memory).is_none() {
                for (i, hash) in hashes.iter().enumerate() {
                    words[i / 64] |= u64::from(self.contains_hash(*hash)) << (i % 64);
                }
            }
        }
    }

    /// Looks up keys grouped by shard, and writes the answers to `words`. The caller must ensure that all bits of
    /// `words` are zero. Returns `None`, and leaves the words unchanged, if there are too few keys to group them, or
    /// the system refuses the memory.
    fn contains_grouped(
        &self,
        hashes: &[KeyHash],
        words: &mut [u64],
        memory: &mut LookupMemory,
    ) -> Option<()> {
        let LookupMemory { partitioner, answers, next, shard_answers } = memory;
        let grouped = self.group(hashes, partitioner)?;
        answers.clear();
        let most_words = hashes.len() / 64 + self.shards();
        answers.try_reserve_exact(most_words).ok()?;
        next.clear();
        next.try_reserve_exact(self.shards()).ok()?;
        let longest = grouped.iter().map(<[u64]>::len).max().unwrap_or(0);
        shard_answers.try_reserve(longest).ok()?;
        for (shard, group) in grouped.iter().enumerate() {
            next.push(answers.len() * 64);
            if !group.is_empty() {
                let group = KeyHash::slice_from_raw(group);
                self.read(shard).contains_batch(group, shard_answers);
                answers.extend_from_slice(shard_answers.as_words());
            }
        }
        // Groups keep the order of the batch, so a key's answer is the next answer of its shard.
        for (i, hash) in hashes.iter().enumerate() {
            let at = &mut next[self.shard_of(*hash).0];
            words[i / 64] |= (answers[*at / 64] >> (*at % 64) & 1) << (i % 64);
            *at += 1;
        }
        Some(())
    }
}

/// The memory of a batch of lookups.
#[derive(Default)]
struct LookupMemory {
    partitioner: Partitioner<u64>,
    /// The answers of one shard after the other. The answers of each shard begin at a new word.
    answers: Vec<u64>,
    /// For each shard, the index of its next answer in `answers`.
    next: Vec<usize>,
    shard_answers: Bitmap,
}

/// Every method panics if a thread panicked while it changed a shard that the method needs.
impl Filter for ShardedFilter {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        let (shard, hash) = self.shard_of(hash);
        self.read(shard).contains_hash(hash)
    }

    /// Answers are in the order of the batch. Unlike other filters, this one allocates memory to group the keys, even
    /// if `found` is large enough: see [`ShardedFilter`].
    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        found.fill_words(hashes.len(), |words| self.contains_words(hashes, words));
    }

    fn hasher(&self) -> Hasher {
        self.hasher
    }

    /// The sum over the shards; exact if no thread changes a shard during the call. Cost: locks all shards, one after
    /// the other.
    fn len(&self) -> usize {
        self.map_shards(AnyFilter::len).fold(0, usize::saturating_add)
    }

    /// Whether all shards are empty. Cost: locks the shards one after the other, up to the first that is not empty.
    fn is_empty(&self) -> bool {
        self.map_shards(AnyFilter::is_empty).all(|is_empty| is_empty)
    }

    fn memory_bytes(&self) -> usize {
        self.map_shards(AnyFilter::memory_bytes).sum()
    }

    /// The mean over the shards, since an absent key is equally likely to belong to each of them.
    fn expected_fpr(&self) -> f64 {
        self.map_shards(AnyFilter::expected_fpr).sum::<f64>() / self.shards() as f64
    }
}

/// Every method panics if a thread panicked while it changed a shard that the method needs. Before `insert_batch`
/// panics, it can have inserted the keys that belong to other shards.
impl InsertShared for ShardedFilter {
    /// # Errors
    /// [`Full`] if the key's shard has no room, or if the system refuses memory for the insert. The numbers in the
    /// error describe that shard alone.
    fn insert_hash(&self, hash: KeyHash) -> Result<bool, Full> {
        let (shard, hash) = self.shard_of(hash);
        self.write(shard).insert_hash(hash)
    }

    /// The keys of one shard are inserted in the order of the batch; the order of the shards is unspecified.
    ///
    /// # Errors
    /// [`Full`] if a shard has no room, or if the system refuses memory for the inserts. The error has the number of
    /// keys of the batch that were inserted. The inserted keys need not be the first keys of the batch, since shards
    /// are filled one after the other. The other numbers in the error describe the shard whose insert failed.
    fn insert_batch(&self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut partitioner = Partitioner::new();
        let mut inserted = 0;
        let counted = |inserted: usize, mut full: Full| {
            full.inserted += inserted;
            full
        };
        for hashes in hashes.chunks(CHUNK) {
            if let Some(grouped) = self.group(hashes, &mut partitioner) {
                for (shard, group) in
                    grouped.iter().enumerate().filter(|(_, group)| !group.is_empty())
                {
                    let outcome = self.write(shard).insert_batch(KeyHash::slice_from_raw(group));
                    outcome.map_err(|full| counted(inserted, full))?;
                    inserted += group.len();
                }
            } else {
                for hash in hashes {
                    self.insert_hash(*hash).map_err(|full| counted(inserted, full))?;
                    inserted += 1;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ShardedFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedFilter")
            .field("kind", &self.kind)
            .field("shards", &self.shards())
            .field("hasher", &self.hasher)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::string::String;

    #[test]
    fn hashes_of_a_shard_stay_distinct_after_the_split() {
        assert_eq!(split(u64::MAX, 0).0, 0);
        assert_eq!(split(0xABCD_0000_0000_0001, 12).0, 0xABC);
        let shard = 0x5u64 << 61;
        for bits in 0..61 {
            let (first, second) = (split(shard, 3), split(shard | 1 << bits, 3));
            assert_eq!((first.0, second.0), (5, 5));
            // The bits below the shard number move up by three, and the upper half is XORed onto the lower half.
            let expected = 1u64 << (bits + 3) ^ (1u64 << (bits + 3)) >> 32;
            assert_eq!(first.1 ^ second.1, expected, "bit {bits}");
        }
    }

    #[test]
    fn a_shard_is_made_for_its_share_and_six_standard_deviations() {
        assert_eq!(keys_of_shard(0, 16), 0);
        assert_eq!(keys_of_shard(1000, 1), 1000);
        // The share is 10,000, and six standard deviations are 6 · √(10000 · 3/4) = 519.6, rounded up to 520.
        assert_eq!(keys_of_shard(40_000, 4), 10_520);
        assert!(keys_of_shard(usize::MAX, 4096) >= usize::MAX / 4096);
    }

    fn panic_of(call: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("the call did not panic");
        *payload.downcast::<String>().expect("the payload is not a String")
    }

    #[test]
    fn calls_on_a_poisoned_shard_panic_and_the_other_shards_keep_working() {
        let spec = FilterSpec::new(FilterKind::Quotient).keys(1000);
        let filter = ShardedFilter::build(&spec, 4).unwrap();
        let hash_in = |shard: u64| KeyHash::from_raw(shard << 62 | 12345);
        (0..4).for_each(|shard| assert_eq!(filter.insert_hash(hash_in(shard)), Ok(true)));
        assert!(!filter.is_poisoned());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let _changing = filter.shards[2].write().unwrap();
            panic!("in the middle of a change");
        }));
        assert!(outcome.is_err() && filter.is_poisoned());

        for shard in [0, 1, 3] {
            assert!(filter.contains_hash(hash_in(shard)));
            assert_eq!(filter.remove_hash(hash_in(shard)), Ok(true));
        }
        let (broken, mut found) = (hash_in(2), Bitmap::new(0));
        let messages = [
            panic_of(|| _ = filter.insert_hash(broken)),
            panic_of(|| _ = filter.insert_batch(&[broken; 100])),
            panic_of(|| _ = filter.contains_hash(broken)),
            panic_of(|| filter.contains_batch(&[broken; 100], &mut found)),
            panic_of(|| _ = filter.remove_hash(broken)),
            panic_of(|| _ = filter.count_hash(broken)),
            panic_of(|| _ = filter.len()),
            panic_of(|| _ = filter.expected_fpr()),
            panic_of(|| _ = filter.into_shards()),
        ];
        assert!(messages.iter().all(|message| message.contains("shard 2")), "{messages:?}");
    }
}
