//! Tests the policy, its builders and its filters through the methods that SlateDB calls.

mod support;

use slatedb::bytes::Bytes;
use slatedb::{
    BloomFilterPolicy, Filter, FilterPolicy, FilterQuery, PrefixExtractor, PrefixTarget,
};
use std::ops::Bound;
use std::sync::Arc;
use support::{FixedPrefix, binomial_bounds, every_policy, expected_fpr, key, row};
use trommel_slatedb::TrommelFilterPolicy;
use trommel_slatedb::trommel::{self, FilterKind, Hasher};

fn policy() -> TrommelFilterPolicy {
    TrommelFilterPolicy::with_bits_per_key(10.0).unwrap()
}

fn build<K: AsRef<[u8]>>(
    policy: &dyn FilterPolicy,
    keys: impl IntoIterator<Item = K>,
) -> Arc<dyn Filter> {
    let mut builder = policy.builder();
    for key in keys {
        builder.add_entry(&row(key.as_ref()));
    }
    builder.build()
}

fn encoded(filter: &dyn Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    bytes
}

fn point(key: impl AsRef<[u8]>) -> FilterQuery {
    FilterQuery::point(Bytes::copy_from_slice(key.as_ref()))
}

fn prefix(key: impl AsRef<[u8]>) -> FilterQuery {
    FilterQuery::prefix(Bytes::copy_from_slice(key.as_ref()))
}

#[test]
fn every_kind_finds_its_keys_and_has_the_expected_false_positives() {
    let n = 20_000;
    for policy in every_policy() {
        let built = build(&policy, (0..n).map(key));
        let bytes = encoded(&*built);
        assert_eq!(built.size(), bytes.len());
        let clamped = policy.decode(&bytes).clamp_allocated_size();
        for filter in [built, policy.decode(&bytes), clamped] {
            assert_eq!(encoded(&*filter), bytes, "{policy:?}");
            assert!(
                (0..n).all(|i| filter.might_match(&point(key(i)))),
                "a key is missing: {policy:?}"
            );
            let maybe = (n..n + 100_000).filter(|i| filter.might_match(&point(key(*i)))).count();
            let bounds = binomial_bounds(100_000, expected_fpr(&policy, n));
            println!("{maybe} {bounds:?}");
            assert!(
                bounds.contains(&maybe),
                "{maybe} of 100,000 absent keys are found, not {bounds:?}: {policy:?}"
            );
        }
        assert_eq!(policy.corrupt_blocks(), 0);
    }
}

#[test]
fn estimates_are_the_exact_bytes() {
    for policy in every_policy() {
        for n in [0, 1, 2, 17, 999, 1_000, 4_096, 50_000] {
            let bytes = encoded(&*build(&policy, (0..n).map(key)));
            assert_eq!(policy.estimate_size(n as usize), bytes.len(), "{n} keys: {policy:?}");
        }
    }
}

// SlateDB adds an estimate to other sizes; a debug build panics if the sum overflows. Five bytes are the size of a
// filter that excludes nothing: a block of one byte and a checksum of four.
#[test]
fn estimates_for_more_keys_than_a_filter_holds_are_small() {
    for policy in every_policy() {
        for n in [usize::MAX, usize::MAX - 1, usize::MAX / 2] {
            assert_eq!(policy.estimate_size(n), 5, "{policy:?}");
        }
    }
}

#[test]
fn incompatible_policies_have_different_names() {
    let blocks =
        |kind, hasher| trommel::FilterPolicy::builder(kind).hasher(hasher).build().unwrap();
    let fixed = |len| Arc::new(FixedPrefix(len));
    let policies = [
        policy(),
        policy().with_whole_key_filtering(false),
        policy().with_prefix_extractor(fixed(3)),
        policy().with_prefix_extractor(fixed(4)),
        policy().with_prefix_extractor(fixed(3)).with_whole_key_filtering(false),
        TrommelFilterPolicy::new(blocks(FilterKind::SplitBlockBloom, Hasher::xxh3(0))),
        TrommelFilterPolicy::new(blocks(FilterKind::Bloom, Hasher::xxh3(1))),
        TrommelFilterPolicy::new(blocks(FilterKind::Bloom, Hasher::PARQUET)),
    ];
    let mut names: Vec<_> = policies.iter().map(|policy| policy.name().to_owned()).collect();
    names.push(BloomFilterPolicy::NAME.to_owned());
    let n = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), n, "two policies have the same name: {names:?}");
    // The order of the calls and the bits per key are not in the name.
    let other = TrommelFilterPolicy::with_bits_per_key(20.0).unwrap();
    let other = other.with_whole_key_filtering(false).with_prefix_extractor(fixed(3));
    assert_eq!(other.name(), policies[4].name());
    assert_eq!(other.name(), "trommel.1.bloom.xxh3.0000000000000000:slatedb.1:wh=0:p=fixed-3");
}

#[test]
fn bits_per_key_can_change() {
    let other = TrommelFilterPolicy::with_bits_per_key(16.0).unwrap();
    let bytes = encoded(&*build(&policy(), (0..1_000).map(key)));
    let filter = other.decode(&bytes);
    assert!((0..1_000).all(|i| filter.might_match(&point(key(i)))));
    assert!((1_000..2_000).filter(|i| filter.might_match(&point(key(*i)))).count() < 100);
    assert_eq!(other.corrupt_blocks(), 0);
}

#[test]
fn an_encoded_filter_is_a_filter_block_and_a_checksum() {
    let policy = policy();
    let blocks = policy.blocks();
    let hashes: Vec<_> = (0..1_000).map(|i| blocks.hash(&key(i))).collect();
    let mut expected = blocks.build(&hashes);
    let checksum = blocks.hash(&expected[..]).raw() as u32;
    expected.extend(checksum.to_le_bytes());
    assert_eq!(encoded(&*build(&policy, (0..1_000).map(key))), expected);
}

/// Whether a filter answers "maybe" for 200 keys and 50 prefixes.
fn excludes_nothing(filter: &dyn Filter) -> bool {
    let queries = (0..200).map(|i| point(key(i))).chain((0..50).map(|i| prefix(&key(i)[..18])));
    queries.into_iter().all(|query| filter.might_match(&query))
}

#[test]
fn every_changed_byte_is_counted_and_excludes_nothing() {
    for policy in every_policy() {
        let policy = policy.with_prefix_extractor(Arc::new(FixedPrefix(18)));
        let bytes = encoded(&*build(&policy, (0..100).map(key)));
        let mut corrupt = 0;
        for i in 0..bytes.len() {
            for bits in [1, 0x80, 0xFF] {
                let mut changed = bytes.clone();
                changed[i] ^= bits;
                let filter = policy.decode(&changed);
                corrupt += 1;
                assert_eq!(policy.corrupt_blocks(), corrupt, "byte {i}: {policy:?}");
                assert!(excludes_nothing(&*filter), "byte {i}: {policy:?}");
            }
        }
    }
}

#[test]
fn bytes_of_another_length_are_counted_and_exclude_nothing() {
    for policy in every_policy() {
        let bytes = encoded(&*build(&policy, (0..100).map(key)));
        let longer = [&bytes[..], &[0]].concat();
        let cut = (0..bytes.len()).map(|len| &bytes[..len]);
        let rest = (1..=bytes.len()).map(|from| &bytes[from..]);
        let mut corrupt = 0;
        for bytes in cut.chain(rest).chain([&longer[..]]) {
            let filter = policy.decode(bytes);
            corrupt += 1;
            assert_eq!(policy.corrupt_blocks(), corrupt, "{} bytes: {policy:?}", bytes.len());
            assert!(excludes_nothing(&*filter));
            assert!(excludes_nothing(&*filter.clamp_allocated_size()));
            // If a cache encodes this filter and decodes the bytes, the decoded filter excludes nothing either.
            assert!(encoded(&*filter).is_empty());
            assert_eq!(filter.size(), 0);
        }
    }
}

#[test]
fn random_and_foreign_bytes_are_counted_and_exclude_nothing() {
    for policy in every_policy() {
        let mut state = 1;
        let mut corrupt = 0;
        let mut check = |bytes: &[u8]| {
            corrupt += 1;
            assert!(excludes_nothing(&*policy.decode(bytes)));
            assert_eq!(policy.corrupt_blocks(), corrupt, "{bytes:?}: {policy:?}");
        };
        for len in 0..300 {
            let bytes: Vec<u8> = (0..len).map(|_| support::random(&mut state) as u8).collect();
            check(&bytes);
            check(&vec![0; len]);
            check(&vec![0xFF; len]);
        }
        check(&encoded(&*build(&BloomFilterPolicy::new(10), (0..100).map(key))));
        for other in every_policy() {
            if other.name() != policy.name() {
                check(&encoded(&*build(&other, (0..100).map(key))));
            }
        }
        let blocks = trommel::FilterPolicy::builder(policy.blocks().kind()).bits_per_key(12.0);
        let reseeded = TrommelFilterPolicy::new(blocks.seed(42).build().unwrap());
        check(&encoded(&*build(&reseeded, (0..100).map(key))));
    }
}

/// Our policy hashes the same prefixes and whole keys as SlateDB's own policy. So the filters of both policies give the
/// same answer to a query, unless one of the two answers is a false positive.
#[test]
fn queries_have_the_answers_of_slatedbs_own_filter() {
    let keys: Vec<Vec<u8>> =
        (0..2_000u32).map(|i| key(i.into())[..(i as usize % 20) + 1].to_vec()).collect();
    let mut sorted = keys.clone();
    sorted.sort();
    for whole_keys in [true, false] {
        for len in [None, Some(0), Some(1), Some(7), Some(19), Some(25)] {
            let mut own = BloomFilterPolicy::new(30).with_whole_key_filtering(whole_keys);
            let mut ours = TrommelFilterPolicy::with_bits_per_key(30.0)
                .unwrap()
                .with_whole_key_filtering(whole_keys);
            if let Some(len) = len {
                own = own.with_prefix_extractor(Arc::new(FixedPrefix(len)));
                ours = ours.with_prefix_extractor(Arc::new(FixedPrefix(len)));
            }
            assert_eq!(own.supports_prefix_queries(), ours.supports_prefix_queries());
            assert_eq!(own.supports_range_queries(), ours.supports_range_queries());
            let (own, ours) = (build(&own, &sorted), build(&ours, &sorted));
            let mut unlike = 0;
            for i in 0..4_000 {
                let whole = key(i);
                for bytes in [&whole[..], &whole[..19], &whole[..7], &whole[..1], &[]] {
                    for query in [point(bytes), prefix(bytes)] {
                        unlike += usize::from(own.might_match(&query) != ours.might_match(&query));
                    }
                }
            }
            // At 30 bits per key, a filter reports about one in a million absent keys as present.
            assert!(
                unlike <= 2,
                "{unlike} of 40,000 answers differ; prefix length {len:?}, whole keys: {whole_keys}"
            );
            for key in &keys {
                assert!(ours.might_match(&point(key)));
                for n in 0..=key.len() {
                    assert!(ours.might_match(&prefix(&key[..n])));
                }
            }
            let range = FilterQuery::range(Bound::Unbounded, Bound::Excluded(Bytes::new()));
            assert!(own.might_match(&range) && ours.might_match(&range));
        }
    }
}

#[test]
fn versions_of_a_key_and_keys_of_a_prefix_are_added_once() {
    let whole = policy();
    let versions = build(&whole, (0..3_000).map(|i| key(i / 3)));
    assert_eq!(versions.size(), whole.estimate_size(1_000));

    let prefixes =
        policy().with_prefix_extractor(Arc::new(FixedPrefix(3))).with_whole_key_filtering(false);
    let sorted = build(&prefixes, ["aaa1", "aaa2", "bbb1", "bbb2"]);
    assert_eq!(sorted.size(), prefixes.estimate_size(2));
    let both = policy().with_prefix_extractor(Arc::new(FixedPrefix(3)));
    let sorted = build(&both, ["aaa1", "aaa2", "bbb1", "bbb2"]);
    assert_eq!(sorted.size(), both.estimate_size(6));
}

#[test]
fn a_filter_without_keys_excludes_every_key() {
    for policy in every_policy() {
        let empty: [&[u8]; 0] = [];
        let filter = policy.decode(&encoded(&*build(&policy, empty)));
        assert!(!filter.might_match(&point("anvil")), "an empty filter reports a key: {policy:?}");
    }
    assert_eq!(policy().corrupt_blocks(), 0);
}

#[test]
fn a_builder_begins_again_after_each_filter() {
    let policy = policy();
    let mut builder = policy.builder();
    for _ in 0..2 {
        builder.add_entry(&row(b"anvil"));
        let filter = builder.build();
        assert!(filter.might_match(&point("anvil")));
        assert_eq!(filter.size(), policy.estimate_size(1));
    }
    assert!(!builder.build().might_match(&point("anvil")));
}

/// An extractor that returns the length `self.0` even if the key is shorter. SlateDB's own filter panics for such a
/// key.
struct Unchecked(usize);

impl PrefixExtractor for Unchecked {
    fn name(&self) -> &str {
        "unchecked"
    }

    fn prefix_len(&self, _target: &PrefixTarget) -> Option<usize> {
        Some(self.0)
    }
}

#[test]
fn an_extractor_can_return_more_than_the_length_of_the_key() {
    for len in [3, usize::MAX] {
        for whole_keys in [true, false] {
            let policy = policy()
                .with_prefix_extractor(Arc::new(Unchecked(len)))
                .with_whole_key_filtering(whole_keys);
            let keys = ["", "a", "ab", "abc", "abcd"];
            let filter = build(&policy, keys);
            for key in keys {
                assert!(filter.might_match(&point(key)), "key {key:?} is missing");
                assert!(filter.might_match(&prefix(key)), "prefix {key:?} is missing");
            }
            assert!(filter.might_match(&prefix("x")));
            assert_eq!(filter.might_match(&prefix("xyz")), len != 3);
        }
    }
}

#[test]
fn policies_are_shared_by_threads_and_clones_share_the_counter() {
    let policy = policy();
    let clones: Vec<Arc<dyn FilterPolicy>> =
        (0..4).map(|_| Arc::new(policy.clone()) as _).collect();
    std::thread::scope(|scope| {
        for clone in &clones {
            scope.spawn(|| (0..100).for_each(|_| drop(clone.decode(b"no filter"))));
        }
    });
    let configured = policy.clone().with_whole_key_filtering(false);
    configured.decode(b"");
    assert_eq!(policy.corrupt_blocks(), 401);
    assert!(format!("{policy:?}").contains("trommel.1.bloom"));
}
