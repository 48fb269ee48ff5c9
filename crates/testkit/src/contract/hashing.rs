//! Claims about hashers: the frozen bytes state the hash function and the seed, another seed gives other answers, and a
//! filter hashes keys with its own hasher.

use super::{answers, fill};
use crate::stats::assert_binomial;
use crate::subject::{Subject, built, spec, with_hasher};
use trommel_base::container::HEADER_BYTES;
use trommel_base::{Filter, Hasher, Insert, KeyHash};
use trommel_simd::Isa;

/// A filter that was read back hashes keys in the same way as the filter that was written.
pub fn the_hasher_is_in_the_bytes<S: Subject>() {
    for hasher in [Hasher::default(), Hasher::xxh3(u64::MAX), Hasher::PARQUET, Hasher::xxh64(7)] {
        let mut filter = built::<S>(&with_hasher(spec(100, 0.01, Isa::Portable), hasher));
        assert_eq!(filter.hasher(), hasher);
        for key in 0..100u32 {
            filter.insert(&key).unwrap();
        }
        let bytes = S::to_bytes(&filter);
        let (owned, view) = (S::from_bytes(&bytes).unwrap(), S::view(&bytes).unwrap());
        assert_eq!((owned.hasher(), view.hasher()), (hasher, hasher));
        assert_eq!(owned.hasher().isa(), Isa::active_or_best());
        assert!((0..100u32).all(|key| owned.contains(&key) && view.contains(&key)));
    }
}

/// Filters with different seeds or hash functions have different false positives.
pub fn another_seed_gives_other_answers<S: Subject>() {
    let keys: Vec<u64> = (0..20_000).collect();
    let make = |hasher: Hasher| {
        let mut filter = built::<S>(&with_hasher(spec(1000, 0.02, Isa::Portable), hasher));
        let mut hashes = Vec::new();
        filter.hasher().hash_batch(&keys, &mut hashes);
        fill::<S>(&mut filter, &hashes[..1000]);
        let false_positives: Vec<usize> =
            answers(&filter, &hashes).iter_ones().filter(|i| *i >= 1000).collect();
        let hits = false_positives.len() as u64;
        assert_binomial("false positives", hits, 19_000, filter.expected_fpr(), 4.0);
        (S::to_bytes(&filter).split_off(HEADER_BYTES), false_positives)
    };
    let secret = Hasher::siphash13(*b"0123456789abcdef");
    let all = [
        Hasher::xxh3(1),
        Hasher::xxh3(2),
        Hasher::xxh64(1),
        Hasher::xxh64(2),
        secret,
        secret.with_seed(1),
        secret.with_seed(2),
    ]
    .map(make);
    for (i, (table, false_positives)) in all.iter().enumerate() {
        // At the rate of 2 %, about 380 of the 19,000 absent keys are false positives, and two independent filters
        // share 2 % of these, about 8. Filters whose sizes come in steps can have a lower rate.
        assert!(
            false_positives.len() < 600,
            "{} of 19,000 absent keys are false positives",
            false_positives.len()
        );
        for (other_table, others) in &all[i + 1..] {
            assert!(table != other_table);
            let shared = false_positives.iter().filter(|key| others.contains(key)).count();
            assert!(shared < 30, "{shared} false positives are shared by different hashers");
        }
    }
    let again = make(Hasher::xxh3(1));
    assert!(again == all[0], "the same seed made another filter");
}

/// A filter's batches of keys are hashed on the instruction set that the filter was built for.
pub fn the_hasher_has_the_set_of_the_filter<S: Subject>() {
    for isa in Isa::available() {
        let filter = built::<S>(&with_hasher(spec(100, 0.01, isa), Hasher::xxh3(3)));
        assert_eq!(filter.hasher().isa(), isa);
        assert_eq!(filter.hasher().with_seed(4).isa(), isa);
        assert_eq!(filter.clone().hasher().isa(), isa);
    }
}

/// A key is the same whether it is given as a string, as bytes, as its hash or in a batch.
pub fn keys_and_their_hashes_are_one<S: Subject>() {
    let empty = built::<S>(&with_hasher(spec(100, 0.001, Isa::Portable), Hasher::xxh3(3)));
    let hasher = empty.hasher();
    assert_eq!(empty.hash("trommel"), hasher.hash("trommel"));
    let filters = [
        inserted(empty.clone(), |filter| filter.insert("trommel").is_ok()),
        inserted(empty.clone(), |filter| filter.insert(&b"trommel"[..]).is_ok()),
        inserted(empty.clone(), |filter| filter.insert(&String::from("trommel")).is_ok()),
        inserted(empty.clone(), |filter| filter.insert_hash(hasher.hash("trommel")).is_ok()),
        inserted(empty.clone(), |filter| filter.insert_batch(&[hasher.hash("trommel")]).is_ok()),
    ];
    for filter in &filters {
        assert!(filter.contains("trommel") && filter.contains_hash(filter.hash("trommel")));
        assert!(!filter.contains("drum"));
        assert!(S::to_bytes(filter) == S::to_bytes(&filters[0]));
    }
    // A slice of words serves as a slice of hashes, without a copy, and without hashing the words again.
    let words = [hasher.hash("trommel").raw(), 1, 2];
    assert!(answers(&filters[0], KeyHash::slice_from_raw(&words)).iter_ones().eq([0]));
}

fn inserted<F>(mut filter: F, insert: impl FnOnce(&mut F) -> bool) -> F {
    assert!(insert(&mut filter));
    filter
}
