//! Our filters and those of other crates, behind one trait, in the groups in which the benches compare filters.
//!
//! Our Bloom filters have a false-positive rate of 1 %. Their rivals have the same number of bytes, rounded down to
//! whole blocks in `sbbf-rs-safe`. Filters with slots have a load of 90 %, and store remainders (quotient) or
//! fingerprints (cuckoo) of 8 bits.

use std::cell::RefCell;
use std::hint::black_box;
use trommel::{
    AnyFilter, Bitmap, BloomFilter, CacheLineBloom, CacheLineQuotient, CuckooFilter, Filter,
    FilterView, Insert, KeyHash, QuotientFilter, RegisterBloom, Remove, SplitBlockBloom,
};
use trommel_benches::{FPR, hashes};

/// The number of keys that each operation gets.
pub(crate) const CHUNK: usize = 4096;
/// The largest number of keys that lookups choose from: too many for a branch predictor to learn.
pub(crate) const POOL: usize = 1 << 20;
/// The most absent keys of a chunk that a filter is allowed to report as present: 5 %. The expected share is at most
/// 3 % for every filter.
const MAX_REPORTED: usize = CHUNK / 20;
/// The operations, in the order in which [`run_operations`] runs them.
pub(crate) const OPERATIONS: [&str; 4] = ["absent", "present", "insert", "remove"];

/// The operations of a filter that are measured.
pub(crate) trait Subject {
    /// The number of keys that the filter reports as present.
    fn count_keys(&self, hashes: &[KeyHash]) -> usize;
    /// Inserts the keys; false if the filter cannot insert.
    fn insert_keys(&mut self, _hashes: &[KeyHash]) -> bool {
        false
    }
    /// Removes the keys and returns how many were found; `None` if the filter cannot remove.
    fn remove_keys(&mut self, _hashes: &[KeyHash]) -> Option<usize> {
        None
    }
}

macro_rules! subject {
    ($type:ty, |$filter:ident, $hash:ident| contains $contains:expr
        $(, insert $insert:expr $(, remove $remove:expr)?)?) => {
        impl Subject for $type {
            #[inline(never)]
            fn count_keys(&self, hashes: &[KeyHash]) -> usize {
                let $filter = self;
                hashes.iter().map(|$hash| usize::from($contains)).sum()
            }
            $(
                #[inline(never)]
                fn insert_keys(&mut self, hashes: &[KeyHash]) -> bool {
                    let $filter = self;
                    for $hash in hashes {
                        let _ = $insert;
                    }
                    true
                }
                $(
                    #[inline(never)]
                    fn remove_keys(&mut self, hashes: &[KeyHash]) -> Option<usize> {
                        let $filter = self;
                        Some(hashes.iter().map(|$hash| usize::from($remove)).sum())
                    }
                )?
            )?
        }
    };
}

macro_rules! bloom_subjects {
    ($($type:ty),*) => {$(
        subject!($type, |filter, hash| contains filter.contains_hash(*hash), insert filter.insert_hash(*hash));
    )*};
}
bloom_subjects!(BloomFilter, RegisterBloom, SplitBlockBloom, CacheLineBloom, AnyFilter);

macro_rules! slot_subjects {
    ($($type:ty),*) => {$(
        subject!($type, |filter, hash| contains filter.contains_hash(*hash), insert filter.insert_hash(*hash),
            remove filter.remove_hash(*hash));
    )*};
}
slot_subjects!(QuotientFilter, CacheLineQuotient, CuckooFilter);

/// A filter that gets the keys of an operation as one batch. Removals have no batches, and still have one call per key.
struct Batched<F> {
    filter: F,
    found: RefCell<Bitmap>,
}

impl<F: Filter + Insert + Subject> Subject for Batched<F> {
    fn count_keys(&self, hashes: &[KeyHash]) -> usize {
        let mut found = self.found.borrow_mut();
        self.filter.contains_batch(hashes, &mut found);
        found.count_ones()
    }

    fn insert_keys(&mut self, hashes: &[KeyHash]) -> bool {
        let inserted = Insert::insert_batch(&mut self.filter, hashes);
        inserted.expect("room for all keys");
        true
    }

    fn remove_keys(&mut self, hashes: &[KeyHash]) -> Option<usize> {
        self.filter.remove_keys(hashes)
    }
}

struct View(FilterView<'static>);
subject!(View, |view, hash| contains view.0.contains_hash(*hash));

subject!(sbbf_rs_safe::Filter, |filter, hash| contains filter.contains_hash(hash.raw()),
    insert filter.insert_hash(hash.raw()));
subject!(fastbloom::BloomFilter, |filter, hash| contains filter.contains_hash(hash.raw()),
    insert filter.insert_hash(hash.raw()));
subject!(qfilter::Filter, |filter, hash| contains filter.contains_fingerprint(hash.raw()),
    insert filter.insert_fingerprint(false, hash.raw()), remove filter.remove_fingerprint(hash.raw()));
type AtomicCuckoo = atomic_cuckoo_filter::CuckooFilter<KeyOrFingerprint>;
subject!(AtomicCuckoo, |filter, hash| contains filter.contains(&hash.raw()), insert filter.insert(&hash.raw()),
    remove filter.remove(&hash.raw()));
type PlainCuckoo = cuckoofilter::CuckooFilter<KeyOrFingerprint>;
subject!(PlainCuckoo, |filter, hash| contains filter.contains(&hash.raw()), insert filter.add(&hash.raw()),
    remove filter.delete(&hash.raw()));
subject!(subms_cuckoo_filter::CuckooFilter, |filter, hash|
    contains filter.contains_bytes(&hash.raw().to_le_bytes()), insert filter.insert_bytes(&hash.raw().to_le_bytes()),
    remove filter.delete_bytes(&hash.raw().to_le_bytes()));

/// The hasher for crates that hash both keys and fingerprints with the hasher of the caller. A key is a `u64` that is a
/// hash already, and its hash is the same number. A fingerprint is hashed by a multiplication.
#[derive(Clone, Copy, Debug, Default)]
struct KeyOrFingerprint(u64);

impl KeyOrFingerprint {
    fn set_fingerprint(&mut self, fingerprint: u64) {
        // Plus one, since the hash of fingerprint 0 would otherwise be 0, and both buckets of such a key would be the
        // same.
        self.0 = (fingerprint + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    }
}

impl std::hash::Hasher for KeyOrFingerprint {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write_usize(&mut self, fingerprint: usize) {
        self.set_fingerprint(fingerprint as u64);
    }

    fn write(&mut self, fingerprint: &[u8]) {
        let fingerprint = fingerprint.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.set_fingerprint(fingerprint);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Filters that are compared: first the rivals, then ours.
pub(crate) struct Group {
    /// The number of rivals.
    pub(crate) rivals: usize,
    pub(crate) subjects: Vec<(&'static str, Box<dyn Subject>)>,
}

/// The keys of the lookups, inserts and removals of a group of filters.
pub(crate) struct Pools {
    absent: Vec<KeyHash>,
    present: Vec<KeyHash>,
    new: Vec<KeyHash>,
}

impl Pools {
    /// The pools for filters that were filled with `keys`.
    pub(crate) fn new(group: &mut Group, keys: &[KeyHash]) -> Self {
        let present = keys[..keys.len().min(POOL)].to_vec();
        // Filters that cannot remove would fill up with new keys. So they insert keys that they have already, which
        // costs the same in a Bloom filter.
        let can_remove = group.subjects[0].1.remove_keys(&[]).is_some();
        let new = if can_remove {
            // A set does not insert a key that it reports as present. A later removal of that key would remove another
            // key. So the new keys are those that no filter of the group reports as present.
            let mut new = hashes(3, POOL);
            for (_, subject) in &group.subjects {
                new.retain(|hash| subject.count_keys(&[*hash]) == 0);
            }
            new
        } else {
            present.clone()
        };
        Self { absent: hashes(2, POOL), present, new }
    }

    /// The absent, present and new keys of a round. The keys to insert are not those that were looked up, so that
    /// inserts do not find their cache lines in L1.
    pub(crate) fn chunks(&self, round: usize) -> [&[KeyHash]; 3] {
        let chunk = |pool: &'_ [KeyHash], offset: usize| {
            let first = (round * 7 + offset) % (pool.len() / CHUNK) * CHUNK;
            first..first + CHUNK
        };
        [
            &self.absent[chunk(&self.absent, 0)],
            &self.present[chunk(&self.present, 0)],
            &self.new[chunk(&self.new, 3)],
        ]
    }
}

/// Runs all operations of a filter on a round's absent, present and new keys, and checks the answers. Each operation is
/// one call of `measure`; the result has `None` for operations that the filter lacks.
pub(crate) fn run_operations<T>(
    name: &str,
    subject: &mut dyn Subject,
    [absent, present, new]: [&[KeyHash]; 3],
    mut measure: impl FnMut(&mut dyn FnMut()) -> T,
) -> [Option<T>; 4] {
    let (mut reported, mut found, mut inserts, mut removed) = (0, 0, false, None);
    let lookups = [
        measure(&mut || reported = black_box(&*subject).count_keys(black_box(absent))),
        measure(&mut || found = black_box(&*subject).count_keys(black_box(present))),
    ];
    assert!(reported <= MAX_REPORTED, "{name} finds {reported} of {CHUNK} absent keys");
    assert_eq!(found, CHUNK, "{name} does not find a key");
    let insert = measure(&mut || inserts = black_box(&mut *subject).insert_keys(black_box(new)));
    let remove = measure(&mut || removed = black_box(&mut *subject).remove_keys(black_box(new)));
    if let Some(removed) = removed {
        // Of several keys with the same fingerprint, a set stores only one, so the removals of the others fail.
        assert!(removed >= CHUNK - MAX_REPORTED, "{name} removed {removed} of {CHUNK} keys");
    }
    let [absent, present] = lookups.map(Some);
    [absent, present, inserts.then_some(insert), removed.map(|_| remove)]
}

/// Copies the bytes to an address that is a multiple of 64, like that of a mapped file. The memory is never freed.
fn aligned(bytes: &[u8]) -> &'static [u8] {
    let buffer: &'static mut [u8] = vec![0; bytes.len() + 64].leak();
    let start = buffer.as_ptr().align_offset(64);
    buffer[start..][..bytes.len()].copy_from_slice(bytes);
    &buffer[start..][..bytes.len()]
}

fn filled(mut filter: impl Subject + 'static, keys: &[KeyHash]) -> Box<dyn Subject> {
    filter.insert_keys(keys);
    Box::new(filter)
}

/// Inserts `keys` into one of our filters, and returns it as a subject. If `batches` is true, the subject gets the keys
/// of an operation in one call.
fn ours<F>(filter: F, keys: &[KeyHash], batches: bool) -> Box<dyn Subject>
where
    F: Filter + Insert + Subject + 'static,
{
    if batches {
        filled(Batched { filter, found: RefCell::new(Bitmap::new(0)) }, keys)
    } else {
        filled(filter, keys)
    }
}

pub(crate) fn bloom_groups(keys: &[KeyHash], batches: bool) -> Vec<Group> {
    let n = keys.len();
    let sbbf = |bytes: usize| {
        let bytes = vec![0; bytes / 32 * 32];
        filled(sbbf_rs_safe::Filter::from_bytes(&bytes).expect("the bytes are whole blocks"), keys)
    };
    let split = SplitBlockBloom::with_capacity_and_fpr(n, FPR).expect("a valid size");
    let register = RegisterBloom::with_capacity_and_fpr(n, FPR).expect("a valid size");
    let cache_line = CacheLineBloom::with_capacity_and_fpr(n, FPR).expect("a valid size");
    let standard = BloomFilter::with_capacity_and_fpr(n, FPR).expect("a valid size");
    let fastbloom = fastbloom::BloomFilter::with_num_bits(standard.memory_bytes() * 8)
        .hashes(standard.hash_count());
    let mut any = AnyFilter::from(split.clone());
    any.insert_batch(keys).expect("room for all keys");
    let view = FilterView::parse(aligned(&any.to_bytes())).expect("bytes of a frozen filter");
    vec![
        Group {
            rivals: 1,
            subjects: vec![
                ("sbbf-rs-safe", sbbf(split.memory_bytes())),
                ("split-block", ours(split, keys, batches)),
                ("split-block, AnyFilter", ours(any, &[], batches)),
                ("split-block, FilterView", Box::new(View(view))),
            ],
        },
        Group {
            rivals: 1,
            subjects: vec![
                ("sbbf-rs-safe", sbbf(register.memory_bytes())),
                ("register", ours(register, keys, batches)),
            ],
        },
        Group {
            rivals: 1,
            subjects: vec![
                ("sbbf-rs-safe", sbbf(cache_line.memory_bytes())),
                ("cache-line", ours(cache_line, keys, batches)),
            ],
        },
        Group {
            rivals: 1,
            subjects: vec![
                ("fastbloom", filled(fastbloom, keys)),
                ("standard", ours(standard, keys, batches)),
            ],
        },
    ]
}

/// Filters of about `slots` slots, with remainders or fingerprints of 8 bits and a load of 90 %. `slots` is a power of
/// two.
pub(crate) fn slot_groups(slots: usize, keys: &[KeyHash], batches: bool) -> Vec<Group> {
    // With this number of keys and a load of 95 %, a builder makes a table of about `slots` slots.
    let planned = slots / 20 * 19;
    let quotient = QuotientFilter::builder().keys(planned).load(0.95).remainder_bits(8);
    let cache_line = CacheLineQuotient::builder().keys(planned).load(0.95);
    // A multiset, like the filters of the other crates.
    let cuckoo =
        CuckooFilter::builder().keys(planned).load(0.95).fingerprint_bits(8).multiset(true);
    let qfilter = qfilter::Filter::new(planned as u64, 2f64.powi(-8)).expect("a valid size");
    let atomic = atomic_cuckoo_filter::CuckooFilterBuilder::<KeyOrFingerprint>::default()
        .capacity(slots)
        .fingerprint_size(8)
        .build()
        .expect("a valid size");
    vec![
        Group {
            rivals: 1,
            subjects: vec![
                ("qfilter", filled(qfilter, keys)),
                ("quotient", ours(quotient.build().expect("a valid size"), keys, batches)),
                (
                    "cache-line quotient",
                    ours(cache_line.build().expect("a valid size"), keys, batches),
                ),
            ],
        },
        Group {
            rivals: 3,
            subjects: vec![
                ("atomic-cuckoo-filter", filled(atomic, keys)),
                ("cuckoofilter", filled(PlainCuckoo::with_capacity(slots), keys)),
                (
                    "subms-cuckoo-filter",
                    filled(subms_cuckoo_filter::CuckooFilter::with_capacity(slots / 10 * 9), keys),
                ),
                ("cuckoo", ours(cuckoo.build().expect("a valid size"), keys, batches)),
            ],
        },
    ]
}
