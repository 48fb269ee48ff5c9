//! How many instructions does an operation on each kind of filter take, in portable code and with AVX2?
//!
//! Callgrind counts the instructions, so the counts are the same on a busy machine as on a quiet one. The counts show
//! even a change of a few percent, and need no hardware counters. The instruction sets are listed here instead of taken
//! from the machine, since Valgrind does not support AVX-512. `scripts/check-instructions` compares the counts with the
//! committed counts in `instructions.csv`, and fails if a count is over 2 % higher than committed. If that file has the
//! counts of another compiler, the script does not compare them.
//!
//! Needs `valgrind` and `cargo install gungraun-runner --version 0.20.0`.

// The macros of gungraun make undocumented public items.
#![allow(missing_docs)]

use gungraun::Callgrind;
use gungraun::prelude::*;
use std::hint::black_box;
use trommel::{FilterKind, Isa};
use trommel_benches::counted::{Op, Prepared};

/// Defines the bench of an operation: its function, and a case for every kind with portable code and with AVX2.
/// The program `check_instructions` finds the counts by the ids of the cases, such as `bloom_portable`.
macro_rules! of_every_kind {
    ($name:ident, $op:ident) => {
        #[library_benchmark]
        #[bench::bloom_portable(Op::$op.prepare(FilterKind::Bloom, Isa::Portable))]
        #[bench::bloom_avx2(Op::$op.prepare(FilterKind::Bloom, Isa::Avx2))]
        #[bench::counting_bloom_portable(Op::$op.prepare(FilterKind::CountingBloom, Isa::Portable))]
        #[bench::counting_bloom_avx2(Op::$op.prepare(FilterKind::CountingBloom, Isa::Avx2))]
        #[bench::register_bloom_portable(Op::$op.prepare(FilterKind::RegisterBloom, Isa::Portable))]
        #[bench::register_bloom_avx2(Op::$op.prepare(FilterKind::RegisterBloom, Isa::Avx2))]
        #[bench::split_block_bloom_portable(Op::$op.prepare(FilterKind::SplitBlockBloom, Isa::Portable))]
        #[bench::split_block_bloom_avx2(Op::$op.prepare(FilterKind::SplitBlockBloom, Isa::Avx2))]
        #[bench::cache_line_bloom_portable(Op::$op.prepare(FilterKind::CacheLineBloom, Isa::Portable))]
        #[bench::cache_line_bloom_avx2(Op::$op.prepare(FilterKind::CacheLineBloom, Isa::Avx2))]
        #[bench::quotient_portable(Op::$op.prepare(FilterKind::Quotient, Isa::Portable))]
        #[bench::quotient_avx2(Op::$op.prepare(FilterKind::Quotient, Isa::Avx2))]
        #[bench::cache_line_quotient_portable(Op::$op.prepare(FilterKind::CacheLineQuotient, Isa::Portable))]
        #[bench::cache_line_quotient_avx2(Op::$op.prepare(FilterKind::CacheLineQuotient, Isa::Avx2))]
        #[bench::cuckoo_portable(Op::$op.prepare(FilterKind::Cuckoo, Isa::Portable))]
        #[bench::cuckoo_avx2(Op::$op.prepare(FilterKind::Cuckoo, Isa::Avx2))]
        fn $name(mut prepared: Prepared) -> Prepared {
            Op::$op.run(black_box(&mut prepared));
            // The filter is returned, so that freeing it is not counted.
            prepared
        }
    };
}

of_every_kind!(contains_batch, ContainsBatch);
of_every_kind!(contains, Contains);
of_every_kind!(insert_batch, InsertBatch);
of_every_kind!(insert, Insert);

library_benchmark_group!(
    name = every_kind,
    benchmarks = [contains_batch, contains, insert_batch, insert]
);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=yes"])),
    library_benchmark_groups = every_kind
);
