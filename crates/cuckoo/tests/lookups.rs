//! Lookups on every instruction set answer as the portable code does, in filters of many geometries.

use trommel_base::{Bitmap, Filter, Insert, KeyHash};
use trommel_cuckoo::CuckooFilter;
use trommel_simd::Isa;
use trommel_testkit::Splitmix;

/// A multiset of `keys` random keys. The first `removed` keys are removed, then the filter is doubled `doublings`
/// times.
fn filter(isa: Isa, bits: u32, keys: usize, doublings: u32, removed: usize) -> CuckooFilter {
    use trommel_base::Remove;
    let mut filter = CuckooFilter::builder()
        .keys(keys)
        .fingerprint_bits(bits)
        .multiset(true)
        .isa(isa)
        .build()
        .unwrap();
    let hashes = hashes(keys as u64, keys);
    for hash in &hashes {
        filter.insert_hash(*hash).unwrap();
    }
    for hash in &hashes[..removed] {
        assert!(filter.remove_hash(*hash));
    }
    (0..doublings).for_each(|_| filter.grow().unwrap());
    filter
}

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    (0..count).map(|_| KeyHash::from_raw(random.word())).collect()
}

#[test]
fn every_instruction_set_answers_like_portable_code() {
    for bits in [8, 12, 16, 32] {
        for (keys, doublings, removed) in [
            (3, 0, 1),
            (1000, 0, 0),
            (1000, 2, 500),
            (5000, 1, 4900),
            (300_000, 0, 1000),
            (700_000, 3, 10),
        ] {
            let portable = filter(Isa::Portable, bits, keys, doublings, removed);
            let bytes = portable.to_bytes();
            let mut probes = hashes(keys as u64, keys.min(6000));
            probes.extend(hashes(!0, 20_011));
            for isa in Isa::available() {
                let other = filter(isa, bits, keys, doublings, removed);
                assert!(other.to_bytes() == bytes, "{isa}, {bits} bits, {keys} keys");
                let mut found = Bitmap::new(0);
                other.contains_batch(&probes, &mut found);
                for (i, hash) in probes.iter().enumerate() {
                    let expected = portable.contains_hash(*hash);
                    assert_eq!(
                        found.get(i),
                        expected,
                        "{isa}, {bits} bits, {keys} keys, probe {i}"
                    );
                    assert_eq!(other.contains_hash(*hash), expected);
                }
                assert!((removed..probes.len() - 20_011).all(|i| found.get(i)));
            }
        }
    }
}
