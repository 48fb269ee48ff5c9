//! What does hashing a column of integers cost: one by one as strings of bytes, one by one as `u64`, and as a batch?

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use trommel::{Hasher, KeyHash};

/// The number of keys in a column. The keys and their hashes take 512 KiB.
const KEYS: usize = 1 << 15;

fn hash_batch(criterion: &mut Criterion) {
    let keys: Vec<u64> = (0..KEYS as u64).map(|i| i * 32 + i % 8).collect();
    let mut group = criterion.benchmark_group("hash_batch");
    group.throughput(Throughput::Elements(KEYS as u64));
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for hasher in [Hasher::xxh3(0), Hasher::xxh64(0), Hasher::siphash13(*b"0123456789abcdef")] {
        let name = hasher.id().name();
        let mut hashes = Vec::new();
        hasher.hash_batch(&keys, &mut hashes);
        for (key, hash) in keys.iter().zip(&hashes) {
            assert_eq!(hasher.hash_bytes(&key.to_le_bytes()), *hash, "{name} of {key}");
            assert_eq!(hasher.hash_u64(*key), *hash, "{name} of {key}");
        }
        let mut one_by_one = |form: &str, hash: &dyn Fn(&[u64], &mut [KeyHash])| {
            group.bench_function(BenchmarkId::new(name, form), |bencher| {
                bencher.iter(|| hash(black_box(&keys), &mut hashes));
            });
        };
        one_by_one("bytes", &|keys, hashes| {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = hasher.hash_bytes(&key.to_le_bytes());
            }
        });
        one_by_one("u64", &|keys, hashes| {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = hasher.hash_u64(*key);
            }
        });
        group.bench_function(BenchmarkId::new(name, "batch"), |bencher| {
            bencher.iter(|| hasher.hash_batch(black_box(&keys), &mut hashes));
        });
    }
    group.finish();
}

criterion_group!(benches, hash_batch);
criterion_main!(benches);
