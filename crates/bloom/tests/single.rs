//! Calls with one key, which run other code than batches do. This code differs by instruction set, and in the
//! register-blocked filter also by the number of bits that a key sets.

use std::collections::BTreeSet;
use trommel_base::{Filter, FromSpec, Insert, KeyHash, Spec};
use trommel_bloom::{BloomFilter, CacheLineBloom, RegisterBloom, SplitBlockBloom};
use trommel_simd::Isa;
use trommel_testkit::streams::distinct;

const KEYS: usize = 3_000;

/// An empty filter with the given bits per key.
fn filter<F: FromSpec>(isa: Isa, bits_per_key: usize) -> F {
    let mut spec = Spec::default();
    spec.keys = KEYS;
    spec.memory_bytes = Some(KEYS * bits_per_key / 8);
    spec.isa = Some(isa);
    F::from_spec(&spec).unwrap()
}

/// Inserts `keys` one by one. Returns for each insert whether it set a bit, for each of `probes` whether it is found
/// after the inserts, and the filter.
fn inserted_one_by_one<F: Filter + Insert>(
    mut filter: F,
    keys: &[KeyHash],
    probes: &[KeyHash],
) -> (Vec<bool>, Vec<bool>, F) {
    let new = keys.iter().map(|key| filter.insert_hash(*key).unwrap()).collect();
    let found = probes.iter().map(|key| filter.contains_hash(*key)).collect();
    (new, found, filter)
}

/// Checks filters of 1 to 48 bits per key: on all instruction sets of this machine, single inserts and lookups must
/// give the same answers and bytes as in portable code. Returns the different numbers of bits that a key sets in these
/// filters.
fn check_against_portable<F: Filter + Insert + FromSpec + PartialEq>(
    hash_count: fn(&F) -> u32,
) -> BTreeSet<u32> {
    let known = distinct(7, 0..2 * KEYS as u64);
    // Every tenth key is inserted twice.
    let keys: Vec<KeyHash> =
        known[..KEYS].iter().chain(known[..KEYS].iter().step_by(10)).copied().collect();
    let mut seen = BTreeSet::new();
    for bits_per_key in (1..=26).chain([32, 40, 48]) {
        let empty = filter::<F>(Isa::Portable, bits_per_key);
        seen.insert(hash_count(&empty));
        let expected = inserted_one_by_one(empty, &keys, &known);
        assert!(
            expected.0[KEYS..].iter().all(|new| !new)
                && expected.1[..KEYS].iter().all(|found| *found)
        );
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let answers = inserted_one_by_one(filter::<F>(isa, bits_per_key), &keys, &known);
            // This compares the filters too, which are equal only if their bytes are equal.
            assert!(
                answers == expected,
                "{isa} differs from portable code at {bits_per_key} bits per key"
            );
        }
    }
    seen
}

#[test]
fn register_blocks_answer_alike_on_all_instruction_sets_if_keys_set_one_to_eight_bits() {
    let seen = check_against_portable::<RegisterBloom>(RegisterBloom::hash_count);
    assert!(seen.iter().copied().eq(1..=8), "keys of these filters set {seen:?} bits");
}

#[test]
fn the_other_layouts_answer_alike_on_all_instruction_sets() {
    check_against_portable::<SplitBlockBloom>(SplitBlockBloom::hash_count);
    check_against_portable::<CacheLineBloom>(CacheLineBloom::hash_count);
    check_against_portable::<BloomFilter>(BloomFilter::hash_count);
}
