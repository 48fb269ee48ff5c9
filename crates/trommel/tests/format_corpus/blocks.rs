//! Files that are filter blocks or lists of hashes.

use super::{Made, SIPHASH13, copies, inserts, numbers, texts};
use crate::corpus::Keys;
use trommel::{FilterKind, FilterPolicy, Hasher};

pub(super) fn add(made: &mut Made) {
    // A counting filter has no block form.
    for kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom) {
        for keys in [0, 1, 18, 1600] {
            let how = format!("{keys} keys with 12 bits per key");
            built(made, &format!("{keys}-keys"), numbers(keys), *kind, 12.0, Hasher::xxh3(0), &how);
        }
        let how = "18 texts with 12 bits per key hashed by XXH64";
        built(made, "xxh64", texts(18), *kind, 12.0, Hasher::xxh64(9), how);
        let how = "18 keys with 12 bits per key hashed by SipHash-1-3";
        built(made, "siphash13", numbers(18), *kind, 12.0, SIPHASH13, how);
        let how = "18 texts with 12 bits per key";
        built(made, "seed", texts(18), *kind, 12.0, Hasher::xxh3(u64::MAX), how);
    }
    let widths: [(FilterKind, &[u32]); 4] = [
        (FilterKind::Bloom, &[1, 3, 7, 30, 64]),
        (FilterKind::RegisterBloom, &[1, 3, 7, 30]),
        (FilterKind::Quotient, &[4, 6, 10, 20, 38]),
        (FilterKind::Cuckoo, &[9, 18, 36]),
    ];
    for (kind, widths) in widths {
        for bits in widths {
            let how = format!("100 keys with {bits} bits per key");
            let (name, bits) = (format!("{bits}-bits"), f64::from(*bits));
            built(made, &name, numbers(100), kind, bits, Hasher::xxh3(0), &how);
        }
    }
    let policy = FilterPolicy::builder(FilterKind::Bloom).isa(made.isa).build().unwrap();
    let how = "a block without a filter: every key may be there";
    made.block("none", numbers(18), &policy, vec![0], how);

    made.hashes("none", numbers(0), Hasher::xxh3(0), "no hash");
    made.hashes("numbers", numbers(20), Hasher::xxh3(42), "the hashes of 20 keys");
    let how = "the hashes of 10 keys with up to 3 copies each";
    made.hashes("copies", copies(10, &[1, 3]), Hasher::xxh3(42), how);
    made.hashes("xxh64", texts(20), Hasher::xxh64(9), "the hashes of 20 texts by XXH64");
    made.hashes("siphash13", numbers(20), SIPHASH13, "the hashes of 20 keys by SipHash-1-3");
}

fn built(
    made: &mut Made,
    name: &str,
    keys: Keys,
    kind: FilterKind,
    bits_per_key: f64,
    hasher: Hasher,
    how: &str,
) {
    let builder = FilterPolicy::builder(kind).bits_per_key(bits_per_key).isa(made.isa);
    let policy = builder.hasher(hasher).build().unwrap();
    let block = policy.build(&inserts(&keys, hasher));
    made.block(name, keys, &policy, block, how);
}
