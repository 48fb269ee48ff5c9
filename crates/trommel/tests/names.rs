//! Uses most names of the crate's root as programs outside this repository use them.
//!
//! Each test but the last is such a program, and mainly tests that the program compiles.

use std::error::Error;
use trommel::error::WhyFull;
use trommel::quotient::ResizeError;
use trommel::{
    AnyFilter, Bitmap, BloomFilter, CacheLineBloom, CacheLineQuotient, Count, CountingBloomFilter,
    CuckooFilter, Filter, FilterKind, FilterSpec, FilterView, FormatError, Full, Hasher,
    Incompatible, Insert, Isa, Key, KeyHash, Merge, MergeError, QuotientFilter, RegisterBloom,
    Remove, SpecError, SplitBlockBloom, Unsupported,
};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn a_program_hashes_strings_bytes_and_integers() {
    fn key<K: Key + ?Sized>(hasher: Hasher, key: &K) -> KeyHash {
        hasher.hash(key)
    }
    let hasher = Hasher::xxh3(7);
    let text = key(hasher, "ab");
    assert_eq!(text, key(hasher, &String::from("ab")));
    assert_eq!(text, key(hasher, &vec![b'a', b'b']));
    assert_eq!(text, key(hasher, b"ab"));
    assert_eq!(text, key(hasher, &b"ab"[..]));
    for integer in [
        key(hasher, &1u8),
        key(hasher, &1i8),
        key(hasher, &1u16),
        key(hasher, &1i16),
        key(hasher, &1u32),
        key(hasher, &1i32),
        key(hasher, &1u64),
        key(hasher, &1i64),
        key(hasher, &1u128),
        key(hasher, &1i128),
    ] {
        assert_ne!(integer, text);
    }
    assert_ne!(Hasher::PARQUET.hash("ab"), text);

    let raw = [1u64, 2];
    assert_eq!(KeyHash::slice_from_raw(&raw)[1], KeyHash::from_raw(2));
    assert_eq!(KeyHash::from_raw(2).raw(), 2);
    assert_eq!(size_of::<KeyHash>(), 8);
    let mut hashes: Vec<KeyHash> = Vec::new();
    hasher.hash_batch(&raw, &mut hashes);
    assert_eq!(hashes[0], hasher.hash(&1u64));
    let column: Vec<u64> = raw.to_vec();
    hasher.hash_batch(&column, &mut hashes);
    assert_eq!(hashes[1], hasher.hash(&2u64));
    hasher.hash_batch(&[1, 2], &mut hashes);
    assert_eq!(hashes[1], hasher.hash(&2));
    hasher.hash_batch(&["a", "ab"], &mut hashes);
    assert_eq!(hashes[1], text);
    hasher.hash_column(&[0i32, 1, 3], b"aab", &mut hashes).unwrap();
    assert_eq!(hashes[1], text);
}

/// A program that uses any filter that keys can be inserted into.
fn sieve<F: Filter + Insert>(mut filter: F) -> Outcome {
    let changed: Result<bool, Full> = filter.insert("anvil");
    assert!(changed?);
    let hash: KeyHash = filter.hash("hammer");
    assert!(filter.insert_hash(hash)?);
    let batch: Vec<KeyHash> = (0..100u32).map(|key| filter.hash(&key)).collect();
    let inserted: Result<(), Full> = filter.insert_batch(&batch);
    inserted?;
    assert!(filter.contains("anvil") && filter.contains_hash(hash));

    let mut found = Bitmap::new(0);
    filter.contains_batch(&batch, &mut found);
    assert_eq!((found.len(), found.count_ones()), (100, 100));
    assert!(found.get(99) && found.iter_ones().eq(0..100));
    assert_eq!(found.as_words(), [u64::MAX, (1 << 36) - 1]);

    assert_eq!(filter.len(), 102);
    assert!(!filter.is_empty());
    assert!(filter.memory_bytes() > 0 && filter.bits_per_key() > 0.0);
    assert!((0.0..0.5).contains(&filter.expected_fpr()));
    Ok(())
}

#[test]
fn a_program_uses_every_filter_alike() -> Outcome {
    sieve(BloomFilter::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(CountingBloomFilter::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(RegisterBloom::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(SplitBlockBloom::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(CacheLineBloom::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(QuotientFilter::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(CacheLineQuotient::with_capacity_and_fpr(1000, 0.01)?)?;
    sieve(CuckooFilter::with_capacity_and_fpr(1000, 0.01)?)?;

    sieve(BloomFilter::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(CountingBloomFilter::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(RegisterBloom::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(SplitBlockBloom::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(CacheLineBloom::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(QuotientFilter::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(CacheLineQuotient::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(CuckooFilter::builder().memory_bytes(4096).keys(1000).build()?)?;

    let isa = Isa::best();
    sieve(BloomFilter::builder().keys(1000).fpr(0.01).seed(1).isa(isa).build()?)?;
    sieve(CountingBloomFilter::builder().keys(1000).compact(true).huge_pages(false).build()?)?;
    sieve(RegisterBloom::builder().memory_bytes(4096).keys(1000).build()?)?;
    sieve(SplitBlockBloom::builder().keys(1000).hasher(Hasher::PARQUET).build()?)?;
    sieve(CacheLineBloom::builder().keys(1000).foldable_by(8).build()?)?;
    sieve(QuotientFilter::builder().keys(1000).load(0.8).remainder_bits(12).build()?)?;
    sieve(QuotientFilter::builder().keys(1000).fingerprint_bits(30).build()?)?;
    sieve(CuckooFilter::builder().keys(1000).load(0.8).fingerprint_bits(16).build()?)?;
    sieve(CuckooFilter::builder().keys(10).multiset(true).grow_at(0.9).build()?)?;
    sieve(CacheLineQuotient::builder().keys(10).multiset(true).grow_at(0.9).build()?)
}

#[test]
fn a_program_chooses_a_kind_at_run_time() -> Outcome {
    for kind in FilterKind::ALL {
        assert_eq!(kind.to_string().parse::<FilterKind>().ok(), Some(*kind));
        let spec = FilterSpec::new(*kind).keys(1000).fpr(0.01).seed(42);
        let built: Result<AnyFilter, SpecError> = spec.build();
        sieve(built?)?;

        let mut filter = spec.build()?;
        let hash = filter.hash("anvil");
        filter.insert_hash(hash)?;
        let removed: Result<bool, Unsupported> = filter.remove_hash(hash);
        let counted: Result<u64, Unsupported> = filter.count_hash(hash);
        assert_eq!(removed.is_ok(), counted.is_ok());
        let merged: Result<(), MergeError> = filter.merge(&spec.build()?);
        merged?;

        let bytes: Vec<u8> = filter.to_bytes();
        let mut written = Vec::new();
        filter.write_to(&mut written)?;
        assert_eq!(written, bytes);
        let read: Result<AnyFilter, FormatError> = AnyFilter::from_bytes(&bytes);
        let view: Result<FilterView<'_>, FormatError> = FilterView::parse(&bytes);
        assert_eq!(read?.len(), view?.len());
    }
    let names: Vec<String> = FilterKind::ALL.iter().map(ToString::to_string).collect();
    let expected = [
        "bloom",
        "counting-bloom",
        "register-bloom",
        "split-block-bloom",
        "cache-line-bloom",
        "quotient",
        "cache-line-quotient",
        "cuckoo",
    ];
    assert_eq!(names, expected);
    Ok(())
}

#[test]
fn a_program_uses_a_capability_through_its_trait() -> Outcome {
    fn union<F: Merge>(left: &mut F, right: &F) -> Result<(), F::Error> {
        left.merge(right)
    }
    fn forget<F: Filter + Remove + Count>(filter: &mut F, key: &str) -> bool {
        let hash = filter.hash(key);
        filter.count_hash(hash) > 0 && filter.remove_hash(hash)
    }
    let mut counting = CountingBloomFilter::with_capacity_and_fpr(100, 0.01)?;
    let mut other = counting.clone();
    other.insert("anvil")?;
    union(&mut counting, &other)?;
    assert!(forget(&mut counting, "anvil") && !forget(&mut counting, "anvil"));

    let mut register = RegisterBloom::with_capacity_and_fpr(100, 0.01)?;
    union(&mut register, &RegisterBloom::with_capacity_and_fpr(100, 0.01)?)?;
    let unlike = RegisterBloom::with_capacity_and_fpr(5000, 0.01)?;
    let error: Incompatible = union(&mut register, &unlike).unwrap_err();
    assert!(!error.to_string().is_empty());
    Ok(())
}

#[test]
fn a_program_keeps_and_resizes_fingerprints() -> Outcome {
    let mut small = QuotientFilter::builder().keys(100).fingerprint_bits(32).build()?;
    let mut large = QuotientFilter::builder().keys(1000).fingerprint_bits(32).build()?;
    small.insert("anvil")?;
    large.insert("forge")?;
    let merged: Result<(), MergeError> = large.merge(&small);
    merged?;
    assert!(large.contains("anvil") && large.contains("forge") && large.remove("anvil"));
    assert!(large.fingerprints().eq([large.hash("forge").raw() >> 32]));
    let grown: Result<(), ResizeError> = small.grow();
    grown?;
    small.resize(777)?;
    small.shrink_to_fit()?;
    assert!(small.load_factor() > 0.0 && !small.is_multiset() && small.geometry().copies == 1);

    let mut tiny = CacheLineQuotient::with_capacity_and_fpr(1, 0.01)?;
    let keys: Vec<KeyHash> = (0..1000u32).map(|key| tiny.hash(&key)).collect();
    let full: Full = tiny.insert_batch(&keys).unwrap_err();
    assert!(full.why == WhyFull::Slots && full.inserted >= full.len && full.capacity >= full.len);
    Ok(())
}

#[test]
fn a_program_reads_filters_without_copying() -> Outcome {
    let mut filter = CacheLineBloom::with_capacity_and_fpr(100, 0.01)?;
    filter.insert("anvil")?;
    let bytes = filter.to_bytes();
    let view = CacheLineBloom::parse(&bytes)?;
    let of_any_kind = FilterView::parse(&bytes)?;
    assert!(view.contains("anvil") && of_any_kind.contains("anvil"));
    assert_eq!(of_any_kind.kind(), FilterKind::CacheLineBloom);
    assert_eq!(CacheLineBloom::from_bytes(&bytes)?.to_bytes(), bytes);
    assert!(BloomFilter::from_bytes(&bytes).is_err(), "bytes of another kind were accepted");
    Ok(())
}

#[test]
fn a_program_shares_filters_between_threads() -> Outcome {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    let mut filter = FilterSpec::new(FilterKind::SplitBlockBloom).keys(10).build()?;
    shared(&filter);
    filter.insert("anvil")?;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(filter.contains("anvil")));
        }
    });
    fn object(filter: &dyn Insert) -> usize {
        filter.len()
    }
    assert_eq!(object(&filter), 1);
    Ok(())
}

#[test]
fn errors_print_the_refused_value_or_a_name_that_is_allowed() {
    fn message(error: &(dyn Error + Send + Sync + 'static)) -> String {
        error.to_string()
    }
    let spec = BloomFilter::with_capacity_and_fpr(10, 2.0).unwrap_err();
    assert!(message(&spec).contains('2'), "{spec}");
    let format = FilterView::parse(&[0; 10]).unwrap_err();
    assert!(message(&format).contains("10"), "{format}");
    let unknown = "blume".parse::<FilterKind>().unwrap_err();
    assert!(message(&unknown).contains("split-block-bloom"), "{unknown}");
    let unknown = "mmx".parse::<Isa>().unwrap_err();
    assert!(message(&unknown).contains("avx2"), "{unknown}");
}

/// A program that uses an engine with any filter.
#[cfg(feature = "parallel")]
fn on_threads<F>(engine: &trommel::Engine, mut filter: F) -> Outcome
where
    F: trommel::engine::InsertBulk + Sync,
{
    let hashes: Vec<KeyHash> = (0..10_000u32).map(|key| filter.hash(&key)).collect();
    let inserted: Result<(), Full> = engine.insert_batch(&mut filter, &hashes);
    inserted?;
    let mut found = Bitmap::new(0);
    engine.contains_batch(&filter, &hashes, &mut found);
    assert_eq!(found.count_ones(), hashes.len());
    Ok(())
}

#[cfg(feature = "parallel")]
#[test]
fn a_program_uses_two_threads() -> Outcome {
    use trommel::Engine;
    use trommel::engine::EngineError;
    use trommel::error::BuildError;
    let engine: Result<Engine, EngineError> =
        Engine::builder().threads(2).pin(true).memory_budget(1 << 24).build();
    let engine = engine?;
    const KEYS: usize = 10_000;
    on_threads(&engine, BloomFilter::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, CountingBloomFilter::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, RegisterBloom::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, SplitBlockBloom::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, CacheLineBloom::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, QuotientFilter::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, CacheLineQuotient::with_capacity_and_fpr(KEYS, 0.01)?)?;
    on_threads(&engine, CuckooFilter::with_capacity_and_fpr(KEYS, 0.01)?)?;
    let hashes: Vec<KeyHash> = (0..10_000u32).map(|key| Hasher::default().hash(&key)).collect();
    for kind in FilterKind::ALL {
        let built: Result<AnyFilter, BuildError> =
            engine.build(&FilterSpec::new(*kind).fpr(0.01), &hashes);
        let built = built?;
        on_threads(&engine, FilterSpec::new(*kind).keys(KEYS).build()?)?;
        let bytes = built.to_bytes();
        let view: FilterView<'_> = FilterView::parse(&bytes)?;
        let mut found = Bitmap::new(0);
        engine.contains_batch(&view, &hashes, &mut found);
        assert_eq!(found.count_ones(), hashes.len());
    }
    Ok(())
}

/// The root of the crate has so few names that a reader can look through all of them. The test counts the root's public
/// modules and the names of its `pub use` items. Further names belong in the module of their topic.
#[test]
fn the_root_has_at_most_40_names() {
    let root = include_str!("../src/lib.rs");
    let mut names = Vec::new();
    for item in root.split(';') {
        let Some(public) = item.find("pub use ").map(|at| &item[at..]) else {
            names.extend(item.split_once("pub mod ").map(|(_, name)| name));
            continue;
        };
        match public.split_once('{') {
            Some((_, list)) => names.extend(list.trim_end_matches('}').split(',').map(str::trim)),
            None => names.extend(public.split([' ', ':']).next_back()),
        }
    }
    names.retain(|name| !name.is_empty());
    assert!(!names.contains(&"*"), "a glob hides its names");
    assert!(names.contains(&"Filter") && names.contains(&"cuckoo") && names.contains(&"engine"));
    assert!(names.len() <= 40, "{} names: {names:?}", names.len());
}
