//! What does a batch of lookups cost, by kind and instruction set, while the table is in L2?
//!
//! The keys of a batch are either all present or all absent, since their costs differ: a standard Bloom filter has to
//! test every bit that belongs to a present key, but can skip bits of an absent key once one of them is not set.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use trommel::{Bitmap, Filter, FilterKind, Isa};
use trommel_benches::{KEYS_IN_L2, filled, hashes, verify};

/// The number of probes in a batch: too many for a branch predictor to learn.
const PROBES: usize = 1 << 16;

fn lookup_batch(criterion: &mut Criterion) {
    let keys = hashes(1, KEYS_IN_L2);
    let absent = hashes(2, PROBES);
    for (workload, probes) in [("hit", &keys[..PROBES]), ("miss", &absent[..])] {
        let mut group = criterion.benchmark_group(format!("lookup_batch/{workload}"));
        group.throughput(Throughput::Elements(PROBES as u64));
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        for kind in FilterKind::ALL {
            for isa in Isa::available() {
                let filter = filled(*kind, isa, &keys);
                verify(&filter, &keys, &absent);
                let mut found = Bitmap::new(PROBES);
                group.bench_function(BenchmarkId::new(kind.name(), isa), |bencher| {
                    bencher.iter(|| {
                        filter.contains_batch(black_box(probes), &mut found);
                        black_box(found.as_words().last());
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, lookup_batch);
criterion_main!(benches);
