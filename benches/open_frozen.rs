//! What does it cost to open a frozen filter: as a view of its bytes, and as a copy?
//!
//! Both read every byte once for the checksum, and the tables of counting, quotient and cuckoo filters a second time to
//! check them: for example, the bits of a counting filter are compared with its counters. The copy then reads every
//! byte once more.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use trommel::{AnyFilter, Filter, FilterKind, FilterView, Isa};
use trommel_benches::{KEYS_IN_L2, filled, hashes, verify};

fn open_frozen(criterion: &mut Criterion) {
    let keys = hashes(1, KEYS_IN_L2);
    let mut group = criterion.benchmark_group("open_frozen");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group.sample_size(20);
    for kind in FilterKind::ALL {
        let filter = filled(*kind, Isa::best(), &keys);
        verify(&filter, &keys, &hashes(2, 10_000));
        let bytes = filter.to_bytes();
        for read in [FilterView::parse(&bytes).unwrap().len(), filter.len()] {
            assert_eq!(read, keys.len());
        }
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("view", kind), |bencher| {
            bencher.iter(|| FilterView::parse(black_box(&bytes)).unwrap().len());
        });
        group.bench_function(BenchmarkId::new("copy", kind), |bencher| {
            bencher.iter(|| AnyFilter::from_bytes(black_box(&bytes)).unwrap().len());
        });
    }
    group.finish();
}

criterion_group!(benches, open_frozen);
criterion_main!(benches);
