//! How many instructions is a batch, portable and with AVX2?
//!
//! Counted by Callgrind, so the same on a busy machine as on a quiet one: what a change of a few
//! percent is seen by where no hardware counters are. Valgrind knows no AVX-512, so the instruction
//! sets are named here instead of taken from the machine. A count that grew by more than 3 % against
//! the last run fails.
//!
//! Needs `valgrind` and `cargo install gungraun-runner --version 0.20.0`.

// The macros of gungraun make undocumented public items.
#![allow(missing_docs)]

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use std::hint::black_box;
use trommel::{AnyFilter, Bitmap, Filter, FilterKind, Insert, Isa, KeyHash};
use trommel_benches::{empty, filled, hashes, verify};

/// Keys of the filter, and of a batch: Callgrind runs some fifty times slower than the machine.
const KEYS: usize = 8192;

/// A filled filter, keys and strangers in turn, and a bitmap that has room for the answers.
fn asked(kind: FilterKind, isa: Isa) -> (AnyFilter, Vec<KeyHash>, Bitmap) {
    let keys = hashes(1, KEYS);
    let strangers = hashes(2, KEYS);
    let filter = filled(kind, isa, &keys);
    verify(&filter, &keys, &strangers);
    let pairs = keys.iter().zip(&strangers);
    let mixed =
        pairs.enumerate().map(|(i, (key, stranger))| *if i % 2 == 0 { key } else { stranger });
    (filter, mixed.collect(), Bitmap::new(KEYS))
}

/// An empty filter and keys for it.
fn offered(kind: FilterKind, isa: Isa) -> (AnyFilter, Vec<KeyHash>) {
    let keys = hashes(1, KEYS);
    verify(&filled(kind, isa, &keys), &keys, &hashes(2, KEYS));
    (empty(kind, isa, KEYS), keys)
}

#[library_benchmark]
#[bench::bloom_portable(asked(FilterKind::Bloom, Isa::Portable))]
#[bench::bloom_avx2(asked(FilterKind::Bloom, Isa::Avx2))]
#[bench::counting_bloom_portable(asked(FilterKind::CountingBloom, Isa::Portable))]
#[bench::counting_bloom_avx2(asked(FilterKind::CountingBloom, Isa::Avx2))]
#[bench::register_bloom_portable(asked(FilterKind::RegisterBloom, Isa::Portable))]
#[bench::register_bloom_avx2(asked(FilterKind::RegisterBloom, Isa::Avx2))]
#[bench::split_block_bloom_portable(asked(FilterKind::SplitBlockBloom, Isa::Portable))]
#[bench::split_block_bloom_avx2(asked(FilterKind::SplitBlockBloom, Isa::Avx2))]
#[bench::cache_line_bloom_portable(asked(FilterKind::CacheLineBloom, Isa::Portable))]
#[bench::cache_line_bloom_avx2(asked(FilterKind::CacheLineBloom, Isa::Avx2))]
fn contains_batch(
    (filter, hashes, mut found): (AnyFilter, Vec<KeyHash>, Bitmap),
) -> (AnyFilter, Vec<KeyHash>, Bitmap) {
    filter.contains_batch(black_box(&hashes), &mut found);
    // Handed back, so that freeing them is not counted.
    (filter, hashes, found)
}

#[library_benchmark]
#[bench::bloom_portable(offered(FilterKind::Bloom, Isa::Portable))]
#[bench::bloom_avx2(offered(FilterKind::Bloom, Isa::Avx2))]
#[bench::counting_bloom_portable(offered(FilterKind::CountingBloom, Isa::Portable))]
#[bench::counting_bloom_avx2(offered(FilterKind::CountingBloom, Isa::Avx2))]
#[bench::register_bloom_portable(offered(FilterKind::RegisterBloom, Isa::Portable))]
#[bench::register_bloom_avx2(offered(FilterKind::RegisterBloom, Isa::Avx2))]
#[bench::split_block_bloom_portable(offered(FilterKind::SplitBlockBloom, Isa::Portable))]
#[bench::split_block_bloom_avx2(offered(FilterKind::SplitBlockBloom, Isa::Avx2))]
#[bench::cache_line_bloom_portable(offered(FilterKind::CacheLineBloom, Isa::Portable))]
#[bench::cache_line_bloom_avx2(offered(FilterKind::CacheLineBloom, Isa::Avx2))]
fn insert_batch((mut filter, hashes): (AnyFilter, Vec<KeyHash>)) -> (AnyFilter, Vec<KeyHash>) {
    let inserted = filter.insert_batch(black_box(&hashes));
    assert!(inserted.is_ok());
    (filter, hashes)
}

library_benchmark_group!(name = batches, benchmarks = [contains_batch, insert_batch]);

main!(
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::default().soft_limits([(EventKind::Ir, 3.0)])),
    library_benchmark_groups = batches
);
