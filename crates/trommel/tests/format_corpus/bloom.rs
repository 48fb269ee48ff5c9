//! Files of the Bloom kinds.

use super::{Made, SIPHASH13, copies, filled, insert, merged, numbers, removed, texts};
use crate::corpus::{Keys, Rule};
use trommel::{FilterKind, Hasher};

pub(super) fn add(made: &mut Made) {
    for kind in [
        FilterKind::Bloom,
        FilterKind::RegisterBloom,
        FilterKind::SplitBlockBloom,
        FilterKind::CacheLineBloom,
    ] {
        without_counters(made, kind);
    }
    set_operations(made);
    keys_of_every_length(made);
    counting(made);
}

fn without_counters(made: &mut Made, kind: FilterKind) {
    let spec = made.spec(kind);
    made.filled("empty", numbers(0), spec, "the smallest table without keys");
    made.filled("one-key", numbers(1), spec.keys(1), "1 key at 1 %");
    made.filled("1-percent", numbers(300), spec.keys(300).fpr(0.01), "300 keys at 1 %");
    let xxh64 = spec.keys(100).hasher(Hasher::xxh64(9));
    made.filled("xxh64", texts(100), xxh64, "100 texts at 1 % hashed by XXH64");
    let siphash13 = spec.keys(100).hasher(SIPHASH13);
    made.filled("siphash13", texts(100), siphash13, "100 texts at 1 % hashed by SipHash-1-3");
    for bits in [2, 6, 24] {
        let spec = spec.keys(100).bits_per_key(bits.into());
        let name = format!("{bits}-bits");
        made.filled(&name, numbers(100), spec, &format!("100 keys with {bits} bits per key"));
    }
    made.filled("overfull", numbers(400), spec.keys(20), "400 keys in a table for 20");
    let keys = numbers(200);
    let filter = merged(&keys, spec.keys(200));
    made.frozen("merged", keys, &filter, "merged from two filters of 100 keys");
}

fn set_operations(made: &mut Made) {
    let spec = made.spec(FilterKind::Bloom);
    let wide = spec.keys(60).bits_per_key(50.0);
    made.filled("32-hashes", numbers(60), wide, "60 keys with 50 bits per key; a key sets 32 bits");

    let keys = numbers(100);
    let mut filter = filled(&numbers(200), spec.keys(200));
    let mut other = filled(&keys, spec.keys(200));
    insert(&mut other, &texts(100));
    filter.intersect(&other).unwrap();
    let how = "200 keys intersected with 100 of them and 100 texts";
    made.frozen("intersected", keys, &filter, how);

    let spec = made.spec(FilterKind::SplitBlockBloom).keys(400).foldable_by(8);
    let keys = numbers(120);
    let folded = filled(&keys, spec).fold(4).unwrap();
    made.frozen("folded", keys, &folded, "120 keys in a table for 400 that was folded by 4");
}

fn keys_of_every_length(made: &mut Made) {
    let parquet = made.spec(FilterKind::SplitBlockBloom).keys(300).hasher(Hasher::PARQUET);
    made.filled("parquet", texts(300), parquet, "300 texts hashed as Parquet does");
    let spec = made.spec(FilterKind::SplitBlockBloom).keys(400);
    let keys = Keys { rule: Rule::Lengths, count: 400, copies: vec![1] };
    made.filled("lengths-xxh3", keys.clone(), spec, "keys of 0 to 399 bytes");
    let how = "keys of 0 to 399 bytes hashed by XXH64";
    made.filled("lengths-xxh64", keys.clone(), spec.hasher(Hasher::xxh64(u64::MAX)), how);
    let how = "keys of 0 to 399 bytes hashed by SipHash-1-3";
    made.filled("lengths-siphash13", keys, spec.hasher(SIPHASH13), how);
    let keys = Keys { rule: Rule::U32(1), ..numbers(200) };
    made.filled(
        "u32",
        keys,
        made.spec(FilterKind::RegisterBloom).keys(200),
        "200 keys of type u32",
    );
}

fn counting(made: &mut Made) {
    for (width, compact) in [("4-bit", false), ("2-bit", true)] {
        let spec = made.spec(FilterKind::CountingBloom).compact(compact);
        let name = |state: &str| format!("{width}-{state}");
        made.filled(&name("empty"), numbers(0), spec, "the smallest table without keys");
        made.filled(&name("one-key"), numbers(1), spec.keys(1), "1 key at 1 %");
        made.filled(&name("1-percent"), numbers(200), spec.keys(200), "200 keys at 1 %");
        let xxh64 = spec.keys(50).hasher(Hasher::xxh64(9));
        made.filled(&name("xxh64"), texts(50), xxh64, "50 texts at 1 % hashed by XXH64");
        let siphash13 = spec.keys(50).hasher(SIPHASH13);
        let how = "50 texts at 1 % hashed by SipHash-1-3";
        made.filled(&name("siphash13"), texts(50), siphash13, how);
        let keys = copies(100, &[1, 2, 3, 40]);
        made.filled(&name("copies"), keys, spec.keys(100), "100 keys with up to 40 copies each");
        let keys = copies(100, &[1, 2]);
        let filter = removed(&keys, 50, spec.keys(150));
        made.frozen(&name("removed"), keys, &filter, "150 keys of which 50 were removed");
        let keys = copies(100, &[1, 5]);
        let filter = merged(&keys, spec.keys(100));
        made.frozen(&name("merged"), keys, &filter, "merged from two filters");
    }
}
