//! From how many keys on is a batch faster than single lookups? Two filters are measured: the table of one has about
//! 640 KiB and fits into an L2 cache of 1 MiB, the other is twenty times as large.
//!
//! Each call takes the next keys of a long list, so that no call repeats the lookups of the call before it.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use trommel::{AnyFilter, Bitmap, Filter, FilterKind, Isa, KeyHash};
use trommel_benches::{KEYS_IN_L2, filled, hashes, verify};

/// The number of probes in the list: a multiple of every length in [`LENGTHS`].
const PROBES: usize = 1 << 20;
/// The numbers of keys per call.
const LENGTHS: [usize; 6] = [1, 8, 64, 256, 1024, 8192];

/// Returns the next `length` probes. After the last probe of the list, continues with the first.
fn next<'a>(probes: &'a [KeyHash], at: &mut usize, length: usize) -> &'a [KeyHash] {
    let start = *at;
    *at = (start + length) % PROBES;
    &probes[start..start + length]
}

fn one_by_one(filter: &AnyFilter, hashes: &[KeyHash]) -> usize {
    hashes.iter().filter(|hash| filter.contains_hash(**hash)).count()
}

fn single_vs_batch(criterion: &mut Criterion) {
    let probes = hashes(2, PROBES);
    for (regime, count) in [("L2", KEYS_IN_L2), ("beyond-L2", 20 * KEYS_IN_L2)] {
        let keys = hashes(1, count);
        let filter = filled(FilterKind::SplitBlockBloom, Isa::best(), &keys);
        verify(&filter, &keys, &probes);
        let mut group = criterion.benchmark_group(format!("single_vs_batch/{regime}"));
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        for length in LENGTHS {
            group.throughput(Throughput::Elements(length as u64));
            let mut at = 0;
            group.bench_function(BenchmarkId::new("single", length), |bencher| {
                bencher.iter(|| one_by_one(&filter, black_box(next(&probes, &mut at, length))));
            });
            let mut found = Bitmap::new(0);
            group.bench_function(BenchmarkId::new("batch", length), |bencher| {
                bencher.iter(|| {
                    filter.contains_batch(black_box(next(&probes, &mut at, length)), &mut found);
                    found.count_ones()
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, single_vs_batch);
criterion_main!(benches);
