//! What the benches share: hashes, filled filters, and the check that comes before any timing.
//!
//! | bench | question |
//! |---|---|
//! | `lookup_batch` | what does a batch of lookups cost, by kind and instruction set, in L2? |
//! | `insert_batch` | what does a batch of inserts cost, by kind and instruction set, in L2? |
//! | `single_vs_batch` | from how many keys on is a batch worth it? |
//! | `single_keys` | what does one key a call cost, beside other crates? |
//! | `multi_get` | what does one key cost in many filters, one after the other and together? |
//! | `hash_batch` | what does hashing a column of integers cost? |
//! | `hash_columns` | what does hashing a column cost, integers of every width and strings, batch and one by one? |
//! | `open_frozen` | what does it cost to open a frozen filter, viewed and copied? |
//! | `filter_block` | what does a filter block cost to build and to probe? |
//! | `small_filters` | what does it cost to make a filter for 18 keys, by rate, bits per key and bytes? |
//! | `instructions` | how many instructions is an operation, portable and AVX2? |
//!
//! Benches answer one question each while a kernel is worked on. What is published comes from the
//! harness in `perf/`, which interleaves its repetitions and measures other crates beside.

pub mod counted;
pub mod gate;

use trommel::{AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, Hasher, Insert, Isa, KeyHash};

/// Keys of a filter whose table of bits fits 1 MiB at 1 %, whatever the kind.
pub const KEYS_IN_L2: usize = 500_000;
/// The rate that filters are sized for.
pub const FPR: f64 = 0.01;

/// `count` hashes that no other seed gives, with all but certainty.
#[must_use]
pub fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    let counters: Vec<u64> = (0..count as u64).collect();
    let mut hashes = Vec::new();
    Hasher::xxh3(seed).hash_batch(&counters, &mut hashes);
    hashes
}

/// An empty filter for `keys` keys.
///
/// # Panics
/// If the machine lacks the instruction set.
#[must_use]
pub fn empty(kind: FilterKind, isa: Isa, keys: usize) -> AnyFilter {
    match FilterSpec::new(kind).keys(keys).fpr(FPR).isa(isa).build() {
        Ok(filter) => filter,
        Err(error) => panic!("a {kind} filter on {isa}: {error}"),
    }
}

/// A filter of the keys.
///
/// # Panics
/// As [`empty`].
#[must_use]
pub fn filled(kind: FilterKind, isa: Isa, keys: &[KeyHash]) -> AnyFilter {
    let mut filter = empty(kind, isa, keys.len());
    if let Err(full) = filter.insert_batch(keys) {
        panic!("a {kind} filter on {isa}: {full}");
    }
    filter
}

/// Checks what is about to be timed: no key is lost, a batch answers as single lookups do, and of the
/// absent keys about as many are reported as present as the filter expects.
///
/// # Panics
/// If the filter is wrong.
pub fn verify(filter: &AnyFilter, keys: &[KeyHash], absent: &[KeyHash]) {
    let what = format!("{} on {}", filter.kind(), filter.isa());
    let mut found = Bitmap::new(0);
    filter.contains_batch(keys, &mut found);
    assert_eq!(found.count_ones(), keys.len(), "{what} lost a key");
    filter.contains_batch(absent, &mut found);
    for (i, hash) in absent.iter().enumerate() {
        assert_eq!(found.get(i), filter.contains_hash(*hash), "{what}: batch and single differ");
    }
    // Six standard deviations of a binomial count, and one for luck with few absent keys.
    let expected = filter.expected_fpr() * absent.len() as f64;
    let bound = expected + 6.0 * expected.sqrt() + 1.0;
    let passed = found.count_ones() as f64;
    assert!(
        passed <= bound,
        "{what}: {passed} absent keys reported as present, {expected:.0} expected"
    );
}
