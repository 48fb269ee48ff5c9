//! Files of the quotient and cuckoo kinds.

use super::{Made, SIPHASH13, copies, filled, insert, merged, numbers, removed, texts};
use crate::corpus::Keys;
use trommel::{AnyFilter, Filter, FilterKind, FilterSpec, Hasher, Insert};

pub(super) fn add(made: &mut Made) {
    quotient(made);
    line_quotient(made);
    cuckoo(made);
}

/// Inserts keys until one is refused. Returns the keys that were inserted, and the filter.
fn packed(spec: FilterSpec) -> (Keys, AnyFilter) {
    let mut filter = spec.build().unwrap();
    let hashes = numbers(100_000).hashes(filter.hasher());
    let count = hashes.iter().take_while(|hash| filter.insert_hash(**hash).is_ok()).count();
    assert!(count < hashes.len());
    (numbers(count as u64), filter)
}

/// Adds the files that both quotient kinds have.
fn of_both(made: &mut Made, spec: FilterSpec) {
    made.filled("empty", numbers(0), spec, "the smallest table without keys");
    made.filled("one-key", numbers(1), spec.keys(1), "1 key");
    made.filled("1-percent", numbers(300), spec.keys(300).fpr(0.01), "300 keys at 1 %");
    let (keys, filter) = packed(spec.keys(300).load(0.9));
    made.frozen("packed", keys, &filter, "keys until one was refused");
    let xxh64 = spec.keys(100).hasher(Hasher::xxh64(9));
    made.filled("xxh64", texts(100), xxh64, "100 texts hashed by XXH64");
    let siphash13 = spec.keys(100).hasher(SIPHASH13);
    made.filled("siphash13", texts(100), siphash13, "100 texts hashed by SipHash-1-3");
    let multiset = spec.multiset(true);
    let keys = copies(100, &[1, 2, 3]);
    made.filled("multiset", keys, multiset.keys(220), "100 keys with up to 3 copies each");
    let keys = copies(8, &[255, 1, 200, 3]);
    made.filled("copies", keys, multiset.keys(1400), "8 keys with up to 255 copies each");
    let keys = copies(60, &[1, 2]);
    let filter = removed(&keys, 60, multiset.keys(200));
    made.frozen("removed", keys, &filter, "120 keys of which 60 were removed");
    let keys = numbers(120);
    let filter = merged(&keys, spec.keys(120));
    made.frozen("merged", keys, &filter, "merged from two filters of 60 keys");
}

fn grow(filter: &mut AnyFilter) {
    match filter {
        AnyFilter::Quotient(filter) => filter.grow().unwrap(),
        AnyFilter::CacheLineQuotient(filter) => filter.grow().unwrap(),
        AnyFilter::Cuckoo(filter) => filter.grow().unwrap(),
        other => panic!("a {} filter does not double", other.kind()),
    }
}

fn resize(filter: &mut AnyFilter, keys: usize) {
    match filter {
        AnyFilter::Quotient(filter) => filter.resize(keys).unwrap(),
        AnyFilter::CacheLineQuotient(filter) => filter.resize(keys).unwrap(),
        other => panic!("a {} filter has no resize", other.kind()),
    }
}

/// A filter that got half of its keys, was doubled `times` times, and then got the other half.
fn grown(keys: &Keys, spec: FilterSpec, times: u32) -> AnyFilter {
    let mut filter = filled(&Keys { count: keys.count / 2, ..keys.clone() }, spec);
    (0..times).for_each(|_| grow(&mut filter));
    let hashes = keys.hashes(filter.hasher());
    for hash in &hashes[keys.count as usize / 2..] {
        filter.insert_hash(*hash).unwrap();
    }
    filter
}

fn quotient(made: &mut Made) {
    let spec = made.spec(FilterKind::Quotient);
    of_both(made, spec.remainder_bits(9));
    for bits in 1..=32 {
        let name = format!("{bits}-bit");
        let how = format!("60 keys with remainders of {bits} bits");
        made.filled(&name, numbers(60), spec.keys(60).remainder_bits(bits), &how);
    }
    for bits in [1, 8, 13, 32] {
        let name = format!("{bits}-bit-multiset");
        let how = format!("30 keys with up to 3 copies each and remainders of {bits} bits");
        let spec = spec.keys(60).remainder_bits(bits).multiset(true);
        made.filled(&name, copies(30, &[1, 2, 3]), spec, &how);
    }
    for times in [1, 3] {
        let filter = grown(&numbers(100), spec.keys(60).remainder_bits(9), times);
        let how = format!("100 keys in a table for 60 that was doubled {times} times");
        made.frozen(&format!("doubled-{times}"), numbers(100), &filter, &how);
    }
    for size in [70, 333, 777] {
        let mut filter = filled(&numbers(60), spec.keys(120).remainder_bits(12));
        resize(&mut filter, size);
        let how = format!("60 keys in a table for 120 that was resized to {size}");
        made.frozen(&format!("resized-{size}"), numbers(60), &filter, &how);
    }
    let spec = spec.keys(200).fingerprint_bits(21);
    made.filled("21-bit-fingerprints", numbers(200), spec, "200 keys with fingerprints of 21 bits");
    let mut filter = filled(&copies(100, &[1, 2]), spec.multiset(true));
    resize(&mut filter, 500);
    let how = "100 keys with fingerprints of 21 bits in a table that was resized to 500";
    made.frozen("21-bit-fingerprints-resized", copies(100, &[1, 2]), &filter, how);
}

fn line_quotient(made: &mut Made) {
    let spec = made.spec(FilterKind::CacheLineQuotient);
    of_both(made, spec);
    for times in 1..=7 {
        let filter = grown(&numbers(60), spec.keys(40), times);
        let how = format!("60 keys in a table for 40 that was doubled {times} times");
        made.frozen(&format!("doubled-{times}"), numbers(60), &filter, &how);
    }
    let mut filter = filled(&copies(60, &[1, 2]), spec.keys(100).multiset(true));
    resize(&mut filter, 333);
    let how = "60 keys in a table for 100 that was resized to 333";
    made.frozen("resized-333", copies(60, &[1, 2]), &filter, how);
}

fn cuckoo(made: &mut Made) {
    for bits in [8, 12, 16, 32] {
        let spec = made.spec(FilterKind::Cuckoo).fingerprint_bits(bits);
        let name = |state: &str| format!("{bits}-bit-{state}");
        made.filled(&name("empty"), numbers(0), spec, "the smallest table without keys");
        made.filled(&name("one-key"), numbers(1), spec.keys(1), "1 key");
        made.filled(&name("200-keys"), numbers(200), spec.keys(200), "200 keys");
        let (keys, filter) = packed(spec.keys(120));
        made.frozen(&name("packed"), keys, &filter, "keys until one was refused");
        let keys = copies(60, &[1, 2, 3]);
        let multiset = spec.multiset(true);
        made.filled(
            &name("multiset"),
            keys,
            multiset.keys(130),
            "60 keys with up to 3 copies each",
        );
        let keys = numbers(60);
        let filter = removed(&keys, 60, multiset.keys(125));
        made.frozen(&name("half-removed"), keys, &filter, "120 keys of which 60 were removed");
        for times in [1, 4] {
            let filter = grown(&numbers(100), spec.keys(60), times);
            let how = format!("100 keys in a table for 60 that was doubled {times} times");
            made.frozen(&name(&format!("doubled-{times}")), numbers(100), &filter, &how);
        }
        let (keys, mut filter) = packed(spec.keys(90));
        grow(&mut filter);
        made.frozen(
            &name("packed-doubled"),
            keys,
            &filter,
            "keys until one was refused; then doubled",
        );
    }
    let spec = made.spec(FilterKind::Cuckoo);
    let xxh64 = spec.keys(100).fingerprint_bits(12).hasher(Hasher::xxh64(9));
    made.filled("xxh64", texts(100), xxh64, "100 texts hashed by XXH64");
    let siphash13 = spec.keys(100).fingerprint_bits(12).hasher(SIPHASH13);
    made.filled("siphash13", texts(100), siphash13, "100 texts hashed by SipHash-1-3");
    let keys = copies(60, &[1, 3]);
    let filter = merged(&keys, spec.keys(150).fingerprint_bits(16).multiset(true));
    made.frozen("merged", keys, &filter, "merged from two filters");
    // A table of 2^16 buckets or more is a case of its own: in such a table, the distance between a fingerprint's
    // two buckets does not depend on the number of buckets.
    let mut filter = spec.keys(200).fingerprint_bits(8).memory_bytes(264_000).build().unwrap();
    insert(&mut filter, &numbers(200));
    made.frozen("large", numbers(200), &filter, "200 keys in a table of more than 2^16 buckets");
}
