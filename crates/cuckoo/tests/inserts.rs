//! Inserts make the same bytes on every instruction set, and lose no key even when the table gets full.

use trommel_base::{Count, Filter, Insert, KeyHash, Remove};
use trommel_cuckoo::CuckooFilter;
use trommel_simd::Isa;

/// Hash `i` of a sequence that is as good as random.
fn hash(seed: u64, i: u64) -> KeyHash {
    let mut z = (seed << 40).wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    KeyHash::from_raw(z ^ (z >> 31))
}

fn hashes(seed: u64, keys: usize) -> Vec<KeyHash> {
    (0..keys as u64).map(|i| hash(seed, i)).collect()
}

/// A filter that reaches `buckets` buckets by `doublings` doublings.
fn filter(isa: Isa, bits: u32, buckets: usize, doublings: u32, multiset: bool) -> CuckooFilter {
    let first = buckets >> doublings;
    let mut filter = CuckooFilter::builder()
        .keys(first * 4 - 1)
        .load(0.999_999)
        .fingerprint_bits(bits)
        .multiset(multiset)
        .isa(isa)
        .build()
        .unwrap();
    for _ in 0..doublings {
        filter.grow().unwrap();
    }
    assert_eq!(filter.geometry().buckets, buckets as u64);
    filter
}

const SHAPES: [(usize, u32); 12] = [
    (2, 0),
    (4, 1),
    (6, 0),
    (16, 3),
    (18, 0),
    (100, 1),
    (250, 0),
    (1000, 2),
    (1026, 0),
    (4098, 0),
    (20_000, 4),
    (70_002, 0),
];
const WIDTHS: [u32; 4] = [8, 12, 16, 32];

/// Inserts batches of many lengths, with repeated keys, until a batch does not fit. Returns the number of keys in the
/// batches that fit and, if a batch did not fit, the number of its keys that were inserted.
fn fill(filter: &mut CuckooFilter, seed: u64) -> (usize, Option<usize>) {
    let slots = filter.geometry().slots() as usize;
    let keys = hashes(seed, slots + slots / 8 + 200);
    let lengths = [1, 7, 15, 16, 17, 100, 255, 256, 257, 1000, 5000, 20_000];
    let (mut at, mut given) = (0, 0);
    for (i, length) in lengths.into_iter().cycle().enumerate() {
        let end = (at + length).min(keys.len());
        let mut batch = keys[at..end].to_vec();
        if i % 3 == 0 {
            // Repeat some keys, both close to their first occurrence and far from it.
            batch.extend_from_slice(&keys[at..end.min(at + 3)]);
            batch.extend_from_slice(&keys[end.saturating_sub(9)..end]);
        }
        at = end;
        if let Err(full) = filter.insert_batch(&batch) {
            return (given, Some(full.inserted));
        }
        given += batch.len();
        if at == keys.len() {
            // A set with short fingerprints mistakes many keys for keys that it holds, and so has room for all other
            // keys.
            assert!(!filter.is_multiset(), "a multiset took more keys than it has room for");
            break;
        }
    }
    (given, None)
}

#[test]
fn every_instruction_set_makes_the_same_bytes_of_batches() {
    for bits in WIDTHS {
        for (buckets, doublings) in SHAPES {
            for multiset in [true, false] {
                let seed = bits as u64 + buckets as u64;
                let mut portable = filter(Isa::Portable, bits, buckets, doublings, multiset);
                let expected = fill(&mut portable, seed);
                for isa in Isa::available().filter(|isa| *isa != Isa::Portable) {
                    let mut other = filter(isa, bits, buckets, doublings, multiset);
                    assert_eq!(
                        fill(&mut other, seed),
                        expected,
                        "{isa}, {bits} bits, {buckets} buckets"
                    );
                    assert!(
                        other.to_bytes() == portable.to_bytes(),
                        "{isa}, {bits} bits, {buckets} buckets"
                    );
                }
            }
        }
    }
}

#[test]
fn every_instruction_set_makes_the_same_bytes_of_single_keys() {
    for bits in WIDTHS {
        for (buckets, doublings) in SHAPES {
            let fill = |isa| {
                let mut filter = filter(isa, bits, buckets, doublings, true);
                let keys = (0..).take_while(|i| filter.insert_hash(hash(3, *i)).is_ok()).count();
                (keys, filter.to_bytes())
            };
            let expected = fill(Isa::Portable);
            for isa in Isa::available() {
                assert!(fill(isa) == expected, "{isa}, {bits} bits, {buckets} buckets");
            }
        }
    }
}

/// All keys before the first that does not fit are found. The insert of that key changes nothing.
#[test]
fn a_table_that_is_filled_until_an_insert_fails_loses_no_key() {
    for bits in WIDTHS {
        for (buckets, doublings) in SHAPES {
            let mut filter = filter(Isa::active().unwrap(), bits, buckets, doublings, true);
            let slots = filter.geometry().slots() as usize;
            let keys = hashes(u64::from(bits), slots + 200);
            let mut at = 0;
            let stopped = loop {
                let end = (at + 300).min(keys.len());
                match filter.insert_batch(&keys[at..end]) {
                    Ok(()) => at = end,
                    Err(full) => break at + full.inserted,
                }
            };
            assert_eq!(filter.len(), stopped);
            assert!(keys[..stopped].iter().all(|key| filter.count_hash(*key) > 0));
            let least = if buckets > 4000 { 0.95 } else { 0.5 };
            assert!(
                filter.load_factor() > least,
                "{bits} bits, {buckets} buckets: load {}",
                filter.load_factor()
            );
            let before = filter.to_bytes();
            assert!(filter.insert_hash(keys[stopped]).is_err());
            assert!(filter.to_bytes() == before);
            // Every key has a copy of its own to remove.
            assert!(keys[..stopped].iter().all(|key| filter.remove_hash(*key)));
            assert_eq!(filter.len(), 0);
        }
    }
}

/// A key that is inserted into a set again, in the same batch or later, changes nothing.
#[test]
fn a_set_stores_a_repeated_key_once() {
    for bits in WIDTHS {
        for (buckets, doublings) in [(250, 0), (1000, 2), (20_002, 0)] {
            let mut filter = filter(Isa::active().unwrap(), bits, buckets, doublings, false);
            let keys = hashes(5, buckets * 4 * 93 / 100);
            let twice: Vec<KeyHash> = keys
                .chunks(40)
                .flat_map(|chunk| chunk.iter().chain(chunk).chain(&chunk[..3.min(chunk.len())]))
                .copied()
                .collect();
            for batch in twice.chunks(3000) {
                filter.insert_batch(batch).unwrap();
            }
            let (held, bytes) = (filter.len(), filter.to_bytes());
            assert!(held <= keys.len());
            filter.insert_batch(&twice).unwrap();
            filter.insert_batch(&keys).unwrap();
            assert_eq!(filter.len(), held);
            assert!(filter.to_bytes() == bytes, "{bits} bits, {buckets} buckets");
            assert!(keys.iter().all(|key| filter.contains_hash(*key)));
            if bits == 32 {
                assert_eq!(held, keys.len());
            }
        }
    }
}
