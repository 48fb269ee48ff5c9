//! What does a filter block cost to build and to probe?
//!
//! A filter block is the filter of one block or file of a storage engine ([`FilterPolicy`]). A probe hashes a key of 16
//! bytes and looks it up in one filter block, as the engine does for each point read. Absent keys never repeat, so a
//! branch predictor cannot learn their lookups. Present keys are looked up in a cycle through all keys of the block, so
//! the predictor can learn the lookups in a block with few keys. In this bench, lookups of present keys in such a block
//! can take less time than in practice.

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use std::hint::black_box;
use trommel::{FilterKind, FilterPolicy, KeyHash};

/// The numbers of keys of the three filter blocks that are measured for each kind: about the numbers of keys in a data
/// block of 2 KB, a file of 200 KB and a file of 100 MB, if a key and its value take about 120 bytes.
const KEYS: [usize; 3] = [18, 1_600, 800_000];
const KINDS: [FilterKind; 7] = [
    FilterKind::Bloom,
    FilterKind::RegisterBloom,
    FilterKind::SplitBlockBloom,
    FilterKind::CacheLineBloom,
    FilterKind::Quotient,
    FilterKind::CacheLineQuotient,
    FilterKind::Cuckoo,
];

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:            ";
    key[8..].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key
}

fn bench(c: &mut Criterion) {
    for kind in KINDS {
        let policy = FilterPolicy::builder(kind).bits_per_key(11.0).build();
        let policy = policy.expect("each of KINDS has filter blocks");
        let mut group = c.benchmark_group(format!("filter_block/{kind}"));
        group.throughput(Throughput::Elements(1));
        for keys in KEYS {
            bench_size(&mut group, &policy, keys);
        }
        group.finish();
    }
}

/// Benches a filter block of `keys` keys.
fn bench_size(group: &mut BenchmarkGroup<'_, WallTime>, policy: &FilterPolicy, keys: usize) {
    let hashes: Vec<KeyHash> = (0..keys as u64).map(|number| policy.hash(&key(number))).collect();
    let block = policy.build(&hashes);
    verify(policy, &block, &hashes);

    let mut next = 0;
    group.bench_function(BenchmarkId::new("present", keys), |b| {
        b.iter(|| {
            next = (next + 1) % keys as u64;
            policy.may_match(black_box(&block), policy.hash(&key(next)))
        });
    });
    group.bench_function(BenchmarkId::new("absent", keys), |b| {
        b.iter(|| {
            next += 1;
            policy.may_match(black_box(&block), policy.hash(&key(u64::MAX - next)))
        });
    });
    group.bench_function(BenchmarkId::new("hash alone", keys), |b| {
        b.iter(|| {
            next += 1;
            policy.hash(&key(u64::MAX - next))
        });
    });
    let mut buffer = vec![0; block.len()];
    group.bench_function(BenchmarkId::new("build", keys), |b| {
        b.iter(|| policy.build_into(black_box(&hashes), &mut buffer));
    });
}

/// Checks that the block has the right form, that every key is found, and that fewer than a tenth of 10,000 absent keys
/// are reported as present.
fn verify(policy: &FilterPolicy, block: &[u8], hashes: &[KeyHash]) {
    assert_eq!(policy.verify(block), Ok(()));
    assert!(hashes.iter().all(|hash| policy.may_match(block, *hash)));
    let absent = (0..10_000).map(|number| policy.hash(&key(u64::MAX - number)));
    let reported = absent.filter(|hash| policy.may_match(block, *hash)).count();
    assert!(reported < 1_000, "{reported} of 10000 absent keys reported as present");
}

criterion_group!(benches, bench);
criterion_main!(benches);
