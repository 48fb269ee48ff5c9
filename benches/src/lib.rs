//! Code that the benches share: hashes, filled filters, and the check of a filter before it is timed. Also the code of
//! the programs `check_instructions` and `check_statistics`.
//!
//! | bench | question |
//! |---|---|
//! | `lookup_batch` | what does a batch of lookups cost, by kind and instruction set, in L2? |
//! | `insert_batch` | what does a batch of inserts cost, by kind and instruction set, in L2? |
//! | `single_vs_batch` | from how many keys on is a batch faster than single lookups? |
//! | `single_keys` | what does a call with one key cost, compared with other crates? |
//! | `instructions_per_key` | how many instructions does an operation take per key, compared with other crates? |
//! | `multi_get` | what does looking one key up in many filters cost, one after the other and by one call? |
//! | `hash_batch` | what does hashing a column of integers cost? |
//! | `hash_columns` | what does hashing a column of integers or strings cost, as a batch and one by one? |
//! | `open_frozen` | what does it cost to open a frozen filter, as a view and as a copy? |
//! | `filter_block` | what does a filter block cost to build and to probe? |
//! | `small_filters` | what does making an 18-key filter cost, sized by false-positive rate, bits per key or bytes? |
//! | `instructions` | how many instructions does an operation take, in portable code and with AVX2? |
//!
//! Each bench answers one question while a kernel is being changed. The tables of RESULTS.md come from the harness in
//! `perf/`, which interleaves its repetitions.

pub mod counted;
pub mod gate;
pub mod statistics;

use trommel::{AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, Hasher, Insert, Isa, KeyHash};

/// A number of keys for which the table of every kind fits into 1 MiB at a false-positive rate of 1 %. (The counters of
/// `counting-bloom` are not in its table, and need more memory.)
pub const KEYS_IN_L2: usize = 500_000;
/// The false-positive rate that the filters are built for. Some kinds have a lower one.
pub const FPR: f64 = 0.01;

/// Returns `count` hashes. It is nearly certain that another seed gives none of these hashes.
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

/// A filter that holds `keys`.
///
/// # Panics
/// If the machine lacks the instruction set, or the filter is full.
#[must_use]
pub fn filled(kind: FilterKind, isa: Isa, keys: &[KeyHash]) -> AnyFilter {
    let mut filter = empty(kind, isa, keys.len());
    if let Err(full) = filter.insert_batch(keys) {
        panic!("a {kind} filter on {isa}: {full}");
    }
    filter
}

/// Checks a filter before it is timed: all keys are found, a batch gives the answers of single lookups, and the number
/// of absent keys that are reported as present is not far above the expected one.
///
/// # Panics
/// If a check fails.
pub fn verify(filter: &AnyFilter, keys: &[KeyHash], absent: &[KeyHash]) {
    let what = format!("{} on {}", filter.kind(), filter.isa());
    let mut found = Bitmap::new(0);
    filter.contains_batch(keys, &mut found);
    assert_eq!(found.count_ones(), keys.len(), "{what} does not find a key");
    filter.contains_batch(absent, &mut found);
    for (i, hash) in absent.iter().enumerate() {
        assert_eq!(
            found.get(i),
            filter.contains_hash(*hash),
            "{what}: batch and single lookup differ at {i}"
        );
    }
    // The expected number, plus six standard deviations of a binomial count, plus one key. This one key matters only if
    // few false positives are expected.
    let expected = filter.expected_fpr() * absent.len() as f64;
    let bound = expected + 6.0 * expected.sqrt() + 1.0;
    let reported = found.count_ones() as f64;
    assert!(
        reported <= bound,
        "{what}: {reported} absent keys reported as present, {expected:.0} expected"
    );
}
