//! Filters whose keys are hashed with a secret key: their bytes do not contain the secret key, and no reader accepts
//! the bytes unless it is given the secret key.

use trommel::container::{self, HashId, OwnedView, Trust};
use trommel::error::AccumulateError;
use trommel::{
    AnyFilter, BloomFilter, CacheLineBloom, CacheLineQuotient, CountingBloomFilter, CuckooFilter,
    Filter, FilterAccumulator, FilterKind, FilterPolicy, FilterSpec, FilterView, FormatError,
    Hasher, Insert, MergeError, QuotientFilter, RegisterBloom, SplitBlockBloom,
};

const SECRET: [u8; 16] = *b"kqV9:secret!byte";
const OTHER: [u8; 16] = *b"kqV9:secret!bytE";
const KEYS: u64 = 500;

fn filter(kind: FilterKind, hasher: Hasher) -> AnyFilter {
    let spec = FilterSpec::new(kind).keys(2 * KEYS as usize).fpr(0.01).hasher(hasher);
    let mut filter = spec.build().unwrap();
    (0..KEYS).for_each(|key| assert!(filter.insert(&key).is_ok()));
    filter
}

fn holds_the_keys(filter: &impl Filter) -> bool {
    (0..KEYS).all(|key| filter.contains(&key))
}

#[test]
fn without_the_key_every_reader_refuses_the_bytes() {
    for kind in FilterKind::ALL {
        let hasher = Hasher::siphash13(SECRET);
        let bytes = filter(*kind, hasher).to_bytes();
        let required = FormatError::KeyRequired { key_check: hasher.seed() };
        assert_eq!(AnyFilter::from_bytes(&bytes).unwrap_err(), required, "{kind}");
        assert_eq!(FilterView::parse(&bytes).unwrap_err(), required);
        assert_eq!(FilterView::parse_trusted(&bytes).unwrap_err(), required);
        assert_eq!(OwnedView::parse(bytes.clone()).unwrap_err(), required);
        assert_eq!(OwnedView::parse_trusted(bytes.clone()).unwrap_err(), required);
        let message = required.to_string();
        assert!(message.contains("secret key") && message.contains("not given"), "{message}");
    }
}

#[test]
fn with_the_key_every_reader_gives_the_filter() {
    for kind in FilterKind::ALL {
        let hasher = Hasher::siphash13(SECRET);
        let filter = filter(*kind, hasher);
        let bytes = filter.to_bytes();
        let owned = AnyFilter::from_bytes_with_hasher(&bytes, &hasher).unwrap();
        assert_eq!((&owned, owned.hasher()), (&filter, hasher));
        assert_eq!(owned.hasher().isa(), trommel::Isa::active_or_best());
        let views = [
            FilterView::parse_with_hasher(&bytes, &hasher).unwrap(),
            FilterView::parse_trusted_with_hasher(&bytes, &hasher).unwrap(),
        ];
        for view in views {
            assert!(view.kind() == *kind && view.hasher() == hasher && holds_the_keys(&view));
            assert_eq!(view.to_bytes(), bytes);
            assert_eq!(view.to_owned_filter().unwrap(), filter);
        }
        let views = [
            OwnedView::parse_with_hasher(bytes.clone(), &hasher).unwrap(),
            OwnedView::parse_trusted_with_hasher(bytes.clone(), &hasher).unwrap(),
        ];
        assert!(views.iter().all(|view| view.kind() == *kind && holds_the_keys(view)));
    }
}

#[test]
fn with_another_key_or_function_no_reader_gives_answers() {
    for kind in FilterKind::ALL {
        let hasher = Hasher::siphash13(SECRET);
        let bytes = filter(*kind, hasher).to_bytes();
        let others = [
            Hasher::siphash13(OTHER),
            hasher.with_seed(0),
            Hasher::default(),
            Hasher::xxh3(hasher.seed()),
            Hasher::xxh64(hasher.seed()),
        ];
        for other in others {
            let wrong = FormatError::WrongHasher {
                given: other.id(),
                given_seed: other.seed(),
                stored: HashId::SipHash13,
                stored_seed: hasher.seed(),
            };
            let owned = AnyFilter::from_bytes_with_hasher(&bytes, &other);
            assert_eq!(owned.unwrap_err(), wrong, "{kind}");
            assert_eq!(FilterView::parse_with_hasher(&bytes, &other).unwrap_err(), wrong);
            assert_eq!(FilterView::parse_trusted_with_hasher(&bytes, &other).unwrap_err(), wrong);
            let view = OwnedView::parse_with_hasher(bytes.clone(), &other);
            assert_eq!(view.unwrap_err(), wrong);
            let view = OwnedView::parse_trusted_with_hasher(bytes.clone(), &other);
            assert_eq!(view.unwrap_err(), wrong);
            let message = wrong.to_string();
            assert!(message.contains("siphash13") && message.contains(other.id().name()));
        }
        // Bytes that name a hash function without a secret key are refused too if the reader expects a secret key.
        let public = filter(*kind, Hasher::xxh3(7)).to_bytes();
        let refused = FilterView::parse_with_hasher(&public, &hasher).unwrap_err();
        assert!(matches!(refused, FormatError::WrongHasher { stored_seed: 7, .. }), "{refused}");
        assert!(FilterView::parse_with_hasher(&public, &Hasher::xxh3(7)).is_ok());
    }
}

/// The filter type of each kind reads the bytes of a filter whose keys are hashed with a secret key, once the container
/// was parsed with the right hasher.
#[test]
fn each_type_of_filter_reads_its_bytes_with_the_key() {
    macro_rules! check {
        ($($type:ident: $kind:ident),*) => {$(
            let hasher = Hasher::siphash13(SECRET);
            let bytes = filter(FilterKind::$kind, hasher).to_bytes();
            let required = FormatError::KeyRequired { key_check: hasher.seed() };
            assert_eq!($type::from_bytes(&bytes).unwrap_err(), required);
            assert_eq!($type::parse(&bytes).unwrap_err(), required);
            assert_eq!($type::parse_trusted(&bytes).unwrap_err(), required);
            for trust in [Trust::Verify, Trust::Trusted] {
                let parsed = container::parse_with_hasher(&&bytes[..], trust, &hasher).unwrap();
                let view = $type::from_container(parsed).unwrap();
                assert!(holds_the_keys(&view) && holds_the_keys(&view.to_owned_filter().unwrap()));
            }
        )*};
    }
    check!(
        BloomFilter: Bloom,
        CountingBloomFilter: CountingBloom,
        RegisterBloom: RegisterBloom,
        SplitBlockBloom: SplitBlockBloom,
        CacheLineBloom: CacheLineBloom,
        QuotientFilter: Quotient,
        CacheLineQuotient: CacheLineQuotient,
        CuckooFilter: Cuckoo
    );
}

#[test]
fn the_key_is_neither_in_the_header_nor_in_what_debug_prints() {
    let hasher = Hasher::siphash13(SECRET);
    let parts = [&SECRET[..], &SECRET[..8], &SECRET[8..]];
    let contains = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|at| at == part);
    let words = parts[1..].iter().map(|part| u64::from_le_bytes((*part).try_into().unwrap()));
    let words: Vec<u64> = words.collect();
    for kind in FilterKind::ALL {
        let filter = filter(*kind, hasher);
        let bytes = filter.to_bytes();
        assert_eq!(bytes[12..14], [3, 0]);
        assert_eq!(bytes[16..24], hasher.seed().to_le_bytes());
        assert!(parts.iter().all(|part| !contains(&bytes[..128], part)));
        let spec = FilterSpec::new(*kind).hasher(hasher);
        for text in [format!("{hasher:?}"), format!("{spec:?}"), format!("{filter:?}")] {
            for word in &words {
                assert!(!text.contains(&word.to_string()) && !text.contains(&format!("{word:x}")));
            }
            assert!(!text.contains("secret!"), "the debug output has the secret key: {text}");
        }
    }
}

#[test]
fn filters_of_unlike_secret_keys_do_not_merge_and_nothing_changes() {
    for kind in FilterKind::ALL {
        let hasher = Hasher::siphash13(SECRET);
        let mut left = filter(*kind, hasher);
        let before = left.to_bytes();
        for other in [Hasher::siphash13(OTHER), hasher.with_seed(1), Hasher::default()] {
            let right = filter(*kind, other);
            let refused = left.merge(&right).unwrap_err();
            assert!(matches!(refused, MergeError::Incompatible(_)), "{kind}: {refused}");
            assert!(left.to_bytes() == before, "{kind}: changed by a refused merge");
        }
        let right = filter(*kind, hasher);
        left.merge(&right).unwrap();
        let bytes = right.to_bytes();
        let view = FilterView::parse_with_hasher(&bytes, &hasher).unwrap();
        left.merge_view(&view).unwrap();
        assert!(left.hasher() == hasher && holds_the_keys(&left));
    }
}

/// Damaged bytes are refused even if the reader is given the secret key.
#[test]
fn every_flipped_bit_is_refused_with_the_key_too() {
    let hasher = Hasher::siphash13(SECRET);
    for kind in FilterKind::ALL {
        let spec = FilterSpec::new(*kind).keys(20).hasher(hasher);
        let mut filter = spec.build().unwrap();
        (0..20u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
        let good = filter.to_bytes();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(FilterView::parse_with_hasher(&bytes, &hasher).is_err(), "{kind}, bit {bit}");
        }
    }
}

#[test]
fn accumulators_of_a_secret_key_merge_with_each_other_alone() {
    let of = |hasher: Hasher, keys: u64| {
        let spec = FilterSpec::new(FilterKind::SplitBlockBloom).keys(1_000).hasher(hasher);
        let mut accumulator = FilterAccumulator::new(spec, 100).unwrap();
        for key in 0..keys {
            accumulator.insert_hash(hasher.hash(&key)).unwrap();
        }
        accumulator
    };
    let (hasher, other) = (Hasher::siphash13(SECRET), Hasher::siphash13(OTHER));
    // An accumulator keeps at most 100 hashes. With 50 keys, its bytes are hashes; with 200, they are a frozen filter.
    for (mine, theirs) in [(50, 50), (50, 200), (200, 50), (200, 200)] {
        let mut whole = of(hasher, mine);
        whole.merge_bytes(&of(hasher, theirs).to_bytes()).unwrap();
        let refused = whole.merge_bytes(&of(other, theirs).to_bytes()).unwrap_err();
        let expected = match theirs {
            50 => matches!(refused, AccumulateError::Specs),
            _ => matches!(refused, AccumulateError::Format(FormatError::WrongHasher { .. })),
        };
        assert!(expected, "the wrong error: {refused}");
        assert_eq!(whole.merge(of(other, theirs)), Err(AccumulateError::Specs));
        let public = of(Hasher::default(), mine).merge_bytes(&of(hasher, theirs).to_bytes());
        assert!(public.is_err());
    }
    let mut whole = of(hasher, 50);
    whole.merge_bytes(&of(hasher, 200).to_bytes()).unwrap();
    let filter = whole.finish().unwrap();
    assert!(filter.hasher() == hasher && (0..200u64).all(|key| filter.contains(&key)));
}

/// A filter block does not record the secret key with which it was built. But policies with different secret keys have
/// different names.
#[test]
fn filter_blocks_take_a_secret_key_and_tell_policies_apart_by_name() {
    for kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom) {
        let builder = FilterPolicy::builder(*kind).bits_per_key(12.0);
        let policy = builder.hasher(Hasher::siphash13(SECRET)).build().unwrap();
        let other = builder.hasher(Hasher::siphash13(OTHER)).build().unwrap();
        let hashes: Vec<_> = (0..KEYS).map(|key| policy.hash(&key)).collect();
        let block = policy.build(&hashes);
        assert!(
            (0..KEYS).all(|key| policy.may_match(&block, policy.hash(&key))),
            "{kind}: a key is lost"
        );
        assert_eq!(policy.verify(&block), Ok(()));
        assert_ne!(policy.name(), other.name());
        let public = builder.build().unwrap();
        assert!(
            public.may_match(&block, public.hash(&(KEYS + 1))),
            "{kind}: a key is reported as absent from a block of another policy"
        );
        assert!(public.verify(&block).is_err());
    }
}

#[cfg(feature = "parallel")]
#[test]
fn an_engine_and_shards_hash_with_the_secret_key() {
    use trommel::InsertShared;
    use trommel::engine::{Engine, ShardedFilter};
    let hasher = Hasher::siphash13(SECRET);
    let keys: Vec<u64> = (0..20_000).collect();
    let mut hashes = Vec::new();
    hasher.hash_batch(&keys, &mut hashes);
    for kind in FilterKind::ALL {
        let spec = FilterSpec::new(*kind).keys(keys.len()).fpr(0.02).hasher(hasher);
        let engine = Engine::builder().threads(2).build().unwrap();
        let built = engine.build(&spec, &hashes).unwrap();
        assert!(
            built.hasher() == hasher && keys.iter().all(|key| built.contains(key)),
            "{kind}: a key is lost"
        );
        let shards = ShardedFilter::build(&spec, 4).unwrap();
        shards.insert_batch(&hashes).unwrap();
        assert!(shards.hasher() == hasher && keys.iter().all(|key| shards.contains(key)));
    }
}
