//! What does a batch of inserts cost, by kind and instruction set, while the table is in L2?
//!
//! All keys are inserted into an empty filter. The table of the counting filter does not fit into an L2 of 1 or 2 MiB,
//! since its counters take four times the memory of its bits.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use trommel::{FilterKind, Insert, Isa};
use trommel_benches::{KEYS_IN_L2, empty, filled, hashes, verify};

fn insert_batch(criterion: &mut Criterion) {
    let keys = hashes(1, KEYS_IN_L2);
    let absent = hashes(2, 100_000);
    let mut group = criterion.benchmark_group("insert_batch");
    group.throughput(Throughput::Elements(KEYS_IN_L2 as u64)).sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for kind in FilterKind::ALL {
        for isa in Isa::available() {
            verify(&filled(*kind, isa, &keys), &keys, &absent);
            let empty = empty(*kind, isa, KEYS_IN_L2);
            group.bench_function(BenchmarkId::new(kind.name(), isa), |bencher| {
                bencher.iter_batched_ref(
                    || empty.clone(),
                    |filter| filter.insert_batch(black_box(&keys)),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, insert_batch);
criterion_main!(benches);
