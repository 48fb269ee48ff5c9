//! What does it cost to make a filter for a few keys, sized by false-positive rate, bits per key or bytes, with and
//! without inserting the keys?
//!
//! A storage engine can make a filter for each data block of some kilobytes: for example, for the 18 entries of 200
//! bytes in a block of 4 KiB. Sizing such a filter must not cost more than its inserts. The benches named `length` only
//! compute the size of a filter for a million keys, without making it. Such a large number makes no difference, since
//! the cost of the sizing equations does not depend on the number of keys.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use trommel::{FilterKind, FilterSpec};
use trommel_benches::{FPR, hashes, verify};

/// The number of keys of each filter that is made.
const FEW_KEYS: usize = 18;

/// The three ways to specify the size of a filter. Filters with slots need many bits per key for few keys, since their
/// tables have a minimum size.
fn specs(kind: FilterKind, keys: usize) -> [(&'static str, FilterSpec); 3] {
    let bits: u8 = match kind {
        FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo => 128,
        FilterKind::CountingBloom => 50,
        _ => 10,
    };
    let spec = FilterSpec::new(kind).keys(keys);
    [
        ("rate", spec.fpr(FPR)),
        ("bits_per_key", spec.bits_per_key(f64::from(bits))),
        ("bytes", spec.memory_bytes((keys * usize::from(bits) / 8).max(64))),
    ]
}

fn small_filters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("small_filters");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let keys = hashes(1, FEW_KEYS);
    for kind in FilterKind::ALL {
        for (way, spec) in specs(*kind, FEW_KEYS) {
            verify(&spec.build_from(&keys).unwrap(), &keys, &hashes(2, 10_000));
            group.bench_function(BenchmarkId::new(format!("{way}/empty"), kind), |bencher| {
                bencher.iter(|| black_box(spec).build().unwrap());
            });
            group.bench_function(BenchmarkId::new(format!("{way}/filled"), kind), |bencher| {
                bencher.iter(|| black_box(spec).build_from(black_box(&keys)).unwrap());
            });
        }
        for (way, spec) in specs(*kind, 1_000_000) {
            group.bench_function(BenchmarkId::new(format!("{way}/length"), kind), |bencher| {
                bencher.iter(|| black_box(spec).encoded_len().unwrap());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, small_filters);
criterion_main!(benches);
