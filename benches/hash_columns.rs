//! What does hashing a column of keys cost, as a batch and one by one: integers of every width, strings as slices, and
//! strings as offsets and bytes?

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use std::hint::black_box;
use std::time::Duration;
use trommel::{Hasher, Isa, Key, KeyHash};

/// The number of keys in a column of integers, or of strings of equal length. Keys and hashes take at most 1.4 MiB.
const KEYS: usize = 1 << 14;
/// The number of keys in a column of strings of different lengths: too many for a branch predictor to learn the
/// lengths.
const MIXED_KEYS: usize = 1 << 17;
const HASHERS: [(&str, Hasher); 2] = [("xxh3", Hasher::xxh3(0)), ("xxh64", Hasher::PARQUET)];
/// Columns of strings: the name, and the lengths in bytes of the shortest and the longest string.
const LENGTHS: [(&str, usize, usize); 7] = [
    ("8", 8, 8),
    ("16", 16, 16),
    ("20", 20, 20),
    ("64", 64, 64),
    ("1-16", 1, 16),
    ("5-20", 5, 20),
    ("10-30", 10, 30),
];

/// Returns a pseudo-random number that depends on `i` alone.
fn mixed(i: usize) -> u64 {
    Hasher::xxh3(1).hash_u64(i as u64).raw()
}

/// Checks the hashes that `hash` computes for a column, then measures the time of `hash`.
fn column(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    expected: &[KeyHash],
    mut hash: impl FnMut(&mut Vec<KeyHash>),
) {
    let mut hashes = Vec::new();
    hash(&mut hashes);
    assert!(hashes == expected, "the hashes of a column differ from those of its keys one by one");
    group.bench_function(id, |bencher| bencher.iter(|| hash(black_box(&mut hashes))));
}

fn one_by_one<K: Key>(hasher: &Hasher, keys: &[K], hashes: &mut Vec<KeyHash>) {
    hashes.clear();
    hashes.extend(keys.iter().map(|key| hasher.hash(key)));
}

/// Benches integers of one width: one by one, and as a batch on each instruction set.
fn integers<K: Key>(criterion: &mut Criterion, width: &str, make: impl Fn(u64) -> K) {
    let mut group = group(criterion, width, KEYS);
    let keys: Vec<K> = (0..KEYS).map(|i| make(mixed(i))).collect();
    for (name, hasher) in HASHERS {
        let expected: Vec<_> = keys.iter().map(|key| hasher.hash(key)).collect();
        column(&mut group, BenchmarkId::new(name, "one by one"), &expected, |hashes| {
            one_by_one(&hasher, black_box(&keys), hashes);
        });
        for isa in Isa::available() {
            let Ok(hasher) = hasher.with_isa(isa) else { continue };
            column(&mut group, BenchmarkId::new(name, isa), &expected, |hashes| {
                hasher.hash_batch(black_box(&keys), hashes);
            });
        }
    }
    group.finish();
}

/// Benches strings of `shortest` to `longest` bytes: one by one, as a batch of slices, and as offsets and bytes.
fn strings(criterion: &mut Criterion, name: &str, shortest: usize, longest: usize) {
    let count = if shortest == longest { KEYS } else { MIXED_KEYS };
    let mut group = group(criterion, &format!("strings of {name} bytes"), count);
    let mut bytes = String::new();
    let mut offsets = vec![0i32];
    for i in 0..count {
        let len = shortest + mixed(i) as usize % (longest - shortest + 1);
        bytes.extend((0..len).map(|at| (b'a' + (mixed(i * 64 + at) % 26) as u8) as char));
        offsets.push(bytes.len() as i32);
    }
    let keys: Vec<&str> =
        offsets.windows(2).map(|pair| &bytes[pair[0] as usize..pair[1] as usize]).collect();
    for (name, hasher) in HASHERS {
        let expected: Vec<_> = keys.iter().map(|key| hasher.hash(*key)).collect();
        column(&mut group, BenchmarkId::new(name, "one by one"), &expected, |hashes| {
            one_by_one(&hasher, black_box(&keys), hashes);
        });
        column(&mut group, BenchmarkId::new(name, "slices"), &expected, |hashes| {
            hasher.hash_batch(black_box(&keys), hashes);
        });
        column(&mut group, BenchmarkId::new(name, "offsets"), &expected, |hashes| {
            let done = hasher.hash_column(black_box(&offsets), bytes.as_bytes(), hashes);
            assert!(done.is_ok());
        });
    }
    group.finish();
}

fn group<'a>(
    criterion: &'a mut Criterion,
    name: &str,
    keys: usize,
) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(keys as u64));
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(400));
    group
}

fn hash_columns(criterion: &mut Criterion) {
    integers(criterion, "u8", |key| key as u8);
    integers(criterion, "u16", |key| key as u16);
    integers(criterion, "u32", |key| key as u32);
    integers(criterion, "u64", |key| key);
    integers(criterion, "u128", |key| u128::from(key) << 64 | u128::from(!key));
    for (name, shortest, longest) in LENGTHS {
        strings(criterion, name, shortest, longest);
    }
}

criterion_group!(benches, hash_columns);
criterion_main!(benches);
