//! One key a call: each number of bits per key has functions of its own in the register-blocked filter, and each
//! instruction set other functions than for batches.

use std::collections::BTreeSet;
use trommel_base::{Filter, FromSpec, Insert, KeyHash, Spec};
use trommel_bloom::{BloomFilter, CacheLineBloom, RegisterBloom, SplitBlockBloom};
use trommel_simd::Isa;
use trommel_testkit::streams::distinct;

const KEYS: usize = 3_000;

/// A filter of the given bits per key.
fn filter<F: FromSpec>(isa: Isa, bits_per_key: usize) -> F {
    let mut spec = Spec::default();
    spec.keys = KEYS;
    spec.memory_bytes = Some(KEYS * bits_per_key / 8);
    spec.isa = Some(isa);
    F::from_spec(&spec).unwrap()
}

/// What single inserts say of each key, whether it set a bit, and the answers afterwards.
fn inserted_one_by_one<F: Filter + Insert>(
    mut filter: F,
    keys: &[KeyHash],
    probes: &[KeyHash],
) -> (Vec<bool>, Vec<bool>) {
    let new = keys.iter().map(|key| filter.insert_hash(*key).unwrap()).collect();
    let found = probes.iter().map(|key| filter.contains_hash(*key)).collect();
    (new, found)
}

/// Single inserts and lookups of all instruction sets against the portable ones, over sizes from one bit per key
/// to 48; returns the numbers of bits per key sets that this came across.
fn agrees_with_portable<F: Filter + Insert + FromSpec>(hash_count: fn(&F) -> u32) -> BTreeSet<u32> {
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
            expected.0[KEYS..].iter().all(|new| !new) && expected.1[..KEYS].iter().all(|it| *it)
        );
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let answers = inserted_one_by_one(filter::<F>(isa, bits_per_key), &keys, &known);
            assert!(answers == expected, "{isa}, {bits_per_key} bits per key");
        }
    }
    seen
}

#[test]
fn register_blocks_answer_alike_with_one_to_eight_bits_a_key() {
    let seen = agrees_with_portable::<RegisterBloom>(RegisterBloom::hash_count);
    assert!(seen.iter().copied().eq(1..=8), "{seen:?}");
}

#[test]
fn the_other_layouts_answer_alike() {
    agrees_with_portable::<SplitBlockBloom>(SplitBlockBloom::hash_count);
    agrees_with_portable::<CacheLineBloom>(CacheLineBloom::hash_count);
    agrees_with_portable::<BloomFilter>(BloomFilter::hash_count);
}
