//! Accumulators of parts merge into the filter of the whole, whatever the parts and the order; and one thread builds a
//! filter without an engine.

use trommel::error::{AccumulateError, BuildError};
use trommel::{
    Bitmap, Filter, FilterAccumulator, FilterKind, FilterSpec, Insert, KeyHash, SpecError,
};
use trommel_testkit::Splitmix;

const KEYS: usize = 3000;
const KEPT: usize = 200;

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    (0..count).map(|_| KeyHash::from_raw(random.word())).collect()
}

fn spec(kind: FilterKind) -> FilterSpec {
    FilterSpec::new(kind).keys(KEYS).fpr(0.01).seed(11)
}

/// An accumulator of some keys, by single inserts and by batches.
fn accumulated(spec: FilterSpec, keys: &[KeyHash]) -> FilterAccumulator {
    let mut accumulator = FilterAccumulator::new(spec, KEPT).unwrap();
    let (single, batch) = keys.split_at(keys.len() / 3);
    single.iter().for_each(|hash| accumulator.insert_hash(*hash).unwrap());
    accumulator.insert_batch(batch).unwrap();
    assert_eq!(accumulator.is_sparse(), keys.len() <= KEPT);
    accumulator
}

#[test]
fn parts_merge_in_any_order_into_the_filter_of_all_keys() {
    let keys = hashes(1, KEYS);
    let mut random = Splitmix::new(2);
    for kind in FilterKind::ALL {
        let spec = spec(*kind);
        let mut whole = spec.build().unwrap();
        whole.insert_batch(&keys).unwrap();
        for _ in 0..12 {
            // Empty parts, parts of hashes, of exactly as many as are kept, and of filters.
            let mut rest = &keys[..];
            let mut parts = vec![accumulated(spec, &[])];
            while !rest.is_empty() {
                let most = [1, 50, KEPT, KEPT + 1, 1500][random.below(5) as usize];
                let (part, others) = rest.split_at(most.min(rest.len()));
                parts.push(accumulated(spec, part));
                rest = others;
            }
            // A tree of merges: any two, until one is left.
            while parts.len() > 1 {
                let other = parts.swap_remove(random.below(parts.len() as u64) as usize);
                let into = random.below(parts.len() as u64) as usize;
                parts[into].merge(other).unwrap();
            }
            let merged = parts.remove(0).finish().unwrap();
            if *kind != FilterKind::Cuckoo {
                assert!(merged.to_bytes() == whole.to_bytes(), "{kind}: the bytes differ");
            }
            let mut found = Bitmap::new(0);
            merged.contains_batch(&keys, &mut found);
            assert_eq!(found.count_ones(), keys.len(), "{kind} lost a key");
        }
    }
}

#[test]
fn few_keys_take_the_memory_of_their_hashes() {
    let spec = FilterSpec::new(FilterKind::SplitBlockBloom).keys(1_000_000).bits_per_key(10.0);
    let mut accumulator = FilterAccumulator::new(spec, KEPT).unwrap();
    assert_eq!((accumulator.memory_bytes(), accumulator.is_empty()), (0, true));
    accumulator.insert_batch(&hashes(3, KEPT)).unwrap();
    assert!(accumulator.is_sparse() && accumulator.memory_bytes() <= 16 * KEPT);
    accumulator.insert_batch(&[]).unwrap();
    assert!(accumulator.is_sparse());
    accumulator.insert_hash(hashes(4, 1)[0]).unwrap();
    assert!(!accumulator.is_sparse() && accumulator.memory_bytes() >= 1_250_000);
    assert_eq!(accumulator.len(), KEPT + 1);
    // None are kept: the filter is made at the first.
    let mut none = FilterAccumulator::new(spec, 0).unwrap();
    none.insert_hash(hashes(4, 1)[0]).unwrap();
    assert!(!none.is_sparse());
    // Nor is the filter made before there is a key.
    let mut empty = FilterAccumulator::new(spec, 0).unwrap();
    empty.insert_batch(&[]).unwrap();
    assert!(empty.is_sparse());
    assert!(empty.finish().unwrap().is_empty());
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let impossible = FilterSpec::new(FilterKind::RegisterBloom).keys(10).fpr(1e-15);
    assert!(matches!(
        FilterAccumulator::new(impossible, 10),
        Err(SpecError::FprUnreachable { .. })
    ));

    let keys = hashes(5, 50);
    let mut left = accumulated(spec(FilterKind::Bloom), &keys);
    let other = FilterAccumulator::new(spec(FilterKind::Bloom).seed(12), KEPT).unwrap();
    assert_eq!(left.merge(other), Err(AccumulateError::Specs));
    assert_eq!((left.len(), left.is_sparse()), (50, true));

    // Filters that are full: the smaller one keeps its hashes.
    let tiny = FilterSpec::new(FilterKind::CacheLineQuotient).keys(10).fpr(0.01);
    let mut kept = FilterAccumulator::new(tiny, 1000).unwrap();
    kept.insert_batch(&hashes(6, 1000)).unwrap();
    let mut filter = FilterAccumulator::new(tiny, 0).unwrap();
    filter.insert_hash(keys[0]).unwrap();
    let refused = kept.merge(filter).unwrap_err();
    assert!(
        matches!(refused, AccumulateError::Build(BuildError::Full(full)) if full.inserted == 0),
        "{refused}"
    );
    assert_eq!((kept.len(), kept.is_sparse()), (1000, true));
    // One more, and the filter would have to be made: it cannot take those that are kept.
    let refused = kept.insert_hash(keys[0]).unwrap_err();
    assert!(matches!(refused, BuildError::Full(full) if full.inserted == 0), "{refused}");
    assert_eq!((kept.len(), kept.is_sparse()), (1000, true));
    assert!(matches!(kept.finish(), Err(BuildError::Full(_))));
}

#[test]
fn one_thread_builds_the_filter_that_inserts_make() {
    let keys = hashes(8, KEYS);
    for kind in FilterKind::ALL {
        let built = spec(*kind).build_from(&keys).unwrap();
        let mut inserted = spec(*kind).build().unwrap();
        inserted.insert_batch(&keys).unwrap();
        assert_eq!(built.len(), inserted.len(), "{kind}");
        if *kind != FilterKind::Cuckoo {
            assert!(built.to_bytes() == inserted.to_bytes(), "{kind}: the bytes differ");
        }
        let mut found = Bitmap::new(0);
        built.contains_batch(&keys, &mut found);
        assert_eq!(found.count_ones(), keys.len(), "{kind} lost a key");

        // For as many keys as there are, if nothing is said.
        let sized = FilterSpec::new(*kind).bits_per_key(60.0).build_from(&keys).unwrap();
        let same = FilterSpec::new(*kind).keys(KEYS).bits_per_key(60.0).build().unwrap();
        assert_eq!(sized.memory_bytes(), same.memory_bytes(), "{kind}");
        assert!(FilterSpec::new(*kind).build_from(&[]).unwrap().is_empty());
        let refused = FilterSpec::new(*kind).fpr(2.0).build_from(&keys).unwrap_err();
        assert!(matches!(refused, BuildError::Spec(SpecError::FprOutOfRange { .. })), "{refused}");
    }
}
