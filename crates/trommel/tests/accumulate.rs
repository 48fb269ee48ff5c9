//! Accumulators, each with a part of the keys, merge into the filter of all keys, however the keys are split, and in
//! any order. `build_from` builds a filter on one thread, without an engine.

use trommel::error::{AccumulateError, BuildError};
use trommel::{
    Bitmap, Filter, FilterAccumulator, FilterKind, FilterSpec, Insert, KeyHash, SpecError,
};
use trommel_testkit::Splitmix;

const KEYS: usize = 3000;
/// The most hashes that an accumulator keeps before it makes its filter.
const KEPT: usize = 200;

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    (0..count).map(|_| KeyHash::from_raw(random.word())).collect()
}

fn spec(kind: FilterKind) -> FilterSpec {
    FilterSpec::new(kind).keys(KEYS).fpr(0.01).seed(11)
}

/// Makes an accumulator of some keys, by single inserts and a batch.
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
            // Each part is empty, keeps few hashes, keeps as many hashes as it can, or has made a filter.
            let mut rest = &keys[..];
            let mut parts = vec![accumulated(spec, &[])];
            while !rest.is_empty() {
                let most = [1, 50, KEPT, KEPT + 1, 1500][random.below(5) as usize];
                let (part, others) = rest.split_at(most.min(rest.len()));
                parts.push(accumulated(spec, part));
                rest = others;
            }
            // Merges two random parts at a time, until one part is left.
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
    // An accumulator that keeps no hashes makes its filter at the first key.
    let mut none = FilterAccumulator::new(spec, 0).unwrap();
    none.insert_hash(hashes(4, 1)[0]).unwrap();
    assert!(!none.is_sparse());
    // The filter is not made before the first key.
    let mut empty = FilterAccumulator::new(spec, 0).unwrap();
    empty.insert_batch(&[]).unwrap();
    assert!(empty.is_sparse());
    assert!(empty.finish().unwrap().is_empty());
}

#[test]
fn impossible_specs_and_merges_are_refused_and_change_nothing() {
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

    // The merge would insert the 1,000 kept hashes into the filter of the other accumulator. This filter has no room
    // for all of them. So the merge is refused, and the accumulator keeps its hashes.
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
    // With one more key, the accumulator would have to make the filter, which has no room for the kept hashes.
    let refused = kept.insert_hash(keys[0]).unwrap_err();
    assert!(matches!(refused, BuildError::Full(full) if full.inserted == 0), "{refused}");
    assert_eq!((kept.len(), kept.is_sparse()), (1000, true));
    assert!(matches!(kept.finish(), Err(BuildError::Full(_))));
}

#[test]
fn build_from_gives_the_filter_that_inserts_give() {
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

        // If the spec sets no number of keys, the filter is made for the number of hashes.
        let sized = FilterSpec::new(*kind).bits_per_key(60.0).build_from(&keys).unwrap();
        let same = FilterSpec::new(*kind).keys(KEYS).bits_per_key(60.0).build().unwrap();
        assert_eq!(sized.memory_bytes(), same.memory_bytes(), "{kind}");
        assert!(FilterSpec::new(*kind).build_from(&[]).unwrap().is_empty());
        let refused = FilterSpec::new(*kind).fpr(2.0).build_from(&keys).unwrap_err();
        assert!(matches!(refused, BuildError::Spec(SpecError::FprOutOfRange { .. })), "{refused}");
    }
}

#[test]
fn parts_merge_as_bytes_into_the_filter_of_all_keys() {
    let keys = hashes(5, KEYS);
    for kind in FilterKind::ALL {
        let spec = spec(*kind);
        // An accumulator of few keys has hashes, and one of many keys has a filter. Each sort is merged into each sort.
        for (into, from) in
            [(0, 0), (0, 100), (100, 100), (100, 150), (1_000, 100), (100, 1_000), (1_000, 1_000)]
        {
            let (into, from) = (&keys[..into], &keys[into..into + from]);
            let part = accumulated(spec, from);
            let bytes = part.to_bytes();
            let (mut by_bytes, mut whole) = (accumulated(spec, into), accumulated(spec, into));
            by_bytes.merge_bytes(&bytes).unwrap();
            whole.merge(part).unwrap();
            assert_eq!(by_bytes.is_sparse(), whole.is_sparse(), "{kind}");
            if *kind != FilterKind::Cuckoo {
                assert!(by_bytes.to_bytes() == whole.to_bytes(), "{kind}: the bytes differ");
            }
            let merged = by_bytes.finish().unwrap();
            assert!(
                into.iter().chain(from).all(|hash| merged.contains_hash(*hash)),
                "{kind} lost a key"
            );
        }
    }
}

/// The example in `docs/FORMAT.md` has the bytes of this accumulator.
#[test]
fn the_bytes_of_hashes_are_those_in_the_format_document() {
    let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000).seed(7);
    let mut accumulator = FilterAccumulator::new(spec, 10).unwrap();
    accumulator.insert_hash(accumulator.hasher().hash("anvil")).unwrap();
    let mut dumps = include_str!("../../../docs/FORMAT.md").split("```hex\n");
    let dump = dumps.find(|dump| dump.contains("54 72 6d 6c 48 61 73 68")).unwrap();
    let lines = dump.split("```").next().unwrap().lines();
    let bytes: Vec<u8> = lines
        .flat_map(|line| line.split_whitespace().skip(1))
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    assert_eq!(accumulator.to_bytes(), bytes);
}

#[test]
fn bytes_that_are_no_accumulator_are_refused_and_change_nothing() {
    let spec = spec(FilterKind::Bloom);
    let keys = hashes(6, 1_000);
    let mut random = Splitmix::new(7);
    for (into, from) in [(10, 20), (500, 20), (10, 500), (500, 500)] {
        let before = accumulated(spec, &keys[..into]);
        let bytes = accumulated(spec, &keys[into..into + from]).to_bytes();
        let refused = |bytes: &[u8]| {
            let mut accumulator = before.clone();
            let error = accumulator.merge_bytes(bytes).unwrap_err();
            assert!(accumulator.to_bytes() == before.to_bytes(), "changed: {error}");
            error
        };
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            refused(&changed);
        }
        for len in (0..bytes.len()).step_by(1 + bytes.len() / 200) {
            assert!(matches!(refused(&bytes[..len]), AccumulateError::Format(_)), "{len} bytes");
        }
        refused(&[&bytes[..], &[0]].concat());
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.word() as u8).collect();
        refused(&noise);
    }
}

#[test]
fn forged_fields_under_a_right_checksum_are_refused() {
    let spec = spec(FilterKind::Bloom);
    let bytes = accumulated(spec, &hashes(8, 3)).to_bytes();
    // Changes one byte of the header at a time, except the bytes of the seed, and corrects the checksum.
    for at in (0..16).chain(24..32) {
        for value in [0xff, 0x80, 2] {
            let mut forged = bytes.clone();
            forged[at] ^= value;
            let end = forged.len() - 8;
            let checksum = trommel::Hasher::xxh3(0).hash_bytes(&forged[..end]).raw();
            forged[end..].copy_from_slice(&checksum.to_le_bytes());
            let error = FilterAccumulator::new(spec, KEPT).unwrap().merge_bytes(&forged);
            // Byte 10 has the code of the hash function. If the changed byte is the code of another hash function, the
            // bytes belong to another spec.
            match error.unwrap_err() {
                AccumulateError::Specs => assert_eq!(at, 10),
                AccumulateError::Format(_) => {}
                other => panic!("byte {at}: {other}"),
            }
        }
    }
    let other_seed = accumulated(spec.seed(12), &hashes(8, 3)).to_bytes();
    let refused = FilterAccumulator::new(spec, KEPT).unwrap().merge_bytes(&other_seed);
    assert_eq!(refused, Err(AccumulateError::Specs));
    let other_size = accumulated(spec.keys(2 * KEYS), &hashes(8, KEPT + 1)).to_bytes();
    let refused = FilterAccumulator::new(spec, KEPT).unwrap().merge_bytes(&other_size);
    assert!(matches!(refused, Err(AccumulateError::Merge(_))), "{refused:?}");
}

#[test]
fn a_compact_filter_that_counts_copies_gets_every_copy() {
    let keys = hashes(21, 50);
    let copies = |kind, multiset| {
        let mut accumulator = FilterAccumulator::new(spec(kind).multiset(multiset), KEPT).unwrap();
        for _ in 0..3 {
            accumulator.insert_batch(&keys).unwrap();
        }
        assert!(accumulator.is_sparse());
        let filter = accumulator.finish_compact().unwrap();
        keys.iter().map(|hash| filter.count_hash(*hash).unwrap()).min()
    };
    assert!(copies(FilterKind::Quotient, true) >= Some(3));
    assert!(copies(FilterKind::Cuckoo, true) >= Some(3));
    assert!(copies(FilterKind::CountingBloom, false) >= Some(3));
    assert_eq!(copies(FilterKind::Quotient, false), Some(1));
}
