//! Runs the contract tests, which all filters must pass, for every Bloom filter on every instruction set of this
//! machine.

use trommel_base::sizing::{blocked_fpr, split_fpr, standard_fpr};
use trommel_base::{FoldError, FromSpec, Incompatible, Spec, SpecError};
use trommel_bloom::{
    BloomFilter, CacheLineBloom, CounterWidth, CountingBloomFilter, RegisterBloom, SplitBlockBloom,
};
use trommel_simd::Isa;
use trommel_testkit::subject::{Estimate, Fold, Intersect, Subject, built, spec};
use trommel_testkit::{
    contract_suite, endless_suite, estimate_suite, fold_suite, intersect_suite, merge_suite,
    removal_suite,
};

/// Defines a subject of the contract tests: its filter type, whether it is the compact variant, and its golden digest,
/// which is explained at `Subject::GOLDEN`. `probes per key` is the number of absent keys that are looked up for each
/// inserted key when the false-positive rate is measured. It is higher for counting filters: their inserts are slow,
/// and the same number of lookups then needs fewer inserts. The last argument is the predicted false-positive rate with
/// `load` keys per unit, if each key sets `hashes` bits.
macro_rules! subject {
    ($subject:ident: $filter:ident, compact: $compact:literal, golden: $golden:literal,
     probes per key: $probes:literal, |$hashes:pat_param, $load:ident| $fpr:expr) => {
        struct $subject;

        impl Subject for $subject {
            type Filter = $filter;
            type View<'a> = $filter<&'a [u8]>;
            const GOLDEN: u64 = $golden;
            const PROBES_PER_KEY: f64 = $probes;

            fn build(spec: &Spec) -> Result<$filter, SpecError> {
                let mut spec = *spec;
                spec.compact = $compact;
                $filter::from_spec(&spec)
            }
            fn sizing_fpr(filter: &$filter, keys: usize) -> f64 {
                let $hashes = filter.hash_count();
                let $load = keys as f64 / filter.geometry().units as f64;
                $fpr
            }
            trommel_testkit::inherent_methods!();
        }

        impl Estimate for $subject {
            fn estimate_len(filter: &$filter) -> f64 {
                filter.estimate_len()
            }
        }
    };
}

/// Implements the operations that only filters without counters have.
macro_rules! set_algebra {
    ($($subject:ident: $filter:ident),*) => {$(
        impl Intersect for $subject {
            fn intersect(left: &mut $filter, right: &$filter) -> Result<(), Incompatible> {
                left.intersect(right)
            }
        }

        impl Fold for $subject {
            fn fold(filter: &$filter, factor: u32) -> Result<$filter, FoldError> {
                filter.fold(factor)
            }
        }
    )*};
}

subject!(Standard: BloomFilter, compact: false, golden: 0xb003_90df_bdcd_d182,
    probes per key: 0.25, |hashes, load| standard_fpr(64.0 / load, hashes));
subject!(Counting: CountingBloomFilter, compact: false, golden: 0x9c20_4976_0469_b840,
    probes per key: 2.0, |hashes, load| standard_fpr(64.0 / load, hashes));
subject!(CompactCounting: CountingBloomFilter, compact: true, golden: 0x4a20_e3c5_975b_e0dc,
    probes per key: 2.0, |hashes, load| standard_fpr(64.0 / load, hashes));
subject!(Register: RegisterBloom, compact: false, golden: 0x521e_55bd_fe48_6cb6,
    probes per key: 0.25, |hashes, load| blocked_fpr(64, hashes, load));
subject!(SplitBlock: SplitBlockBloom, compact: false, golden: 0x89b0_2642_3452_0edf,
    probes per key: 0.25, |_, load| split_fpr(8, 32, load));
subject!(CacheLine: CacheLineBloom, compact: false, golden: 0x1b6a_41eb_1cc3_ae43,
    probes per key: 0.25, |_, load| split_fpr(8, 64, load));

set_algebra!(Standard: BloomFilter, Register: RegisterBloom, SplitBlock: SplitBlockBloom,
    CacheLine: CacheLineBloom);

contract_suite!(standard, Standard);
contract_suite!(counting, Counting);
contract_suite!(compact_counting, CompactCounting);
contract_suite!(register, Register);
contract_suite!(split_block, SplitBlock);
contract_suite!(cache_line, CacheLine);

endless_suite!(standard_endless, Standard);
endless_suite!(counting_endless, Counting);
endless_suite!(compact_counting_endless, CompactCounting);
endless_suite!(register_endless, Register);
endless_suite!(split_block_endless, SplitBlock);
endless_suite!(cache_line_endless, CacheLine);

merge_suite!(standard_merge, Standard);
merge_suite!(counting_merge, Counting);
merge_suite!(compact_counting_merge, CompactCounting);
merge_suite!(register_merge, Register);
merge_suite!(split_block_merge, SplitBlock);
merge_suite!(cache_line_merge, CacheLine);

intersect_suite!(standard_intersection, Standard);
intersect_suite!(register_intersection, Register);
intersect_suite!(split_block_intersection, SplitBlock);
intersect_suite!(cache_line_intersection, CacheLine);

fold_suite!(standard_fold, Standard);
fold_suite!(register_fold, Register);
fold_suite!(split_block_fold, SplitBlock);
fold_suite!(cache_line_fold, CacheLine);

estimate_suite!(standard_estimate, Standard);
estimate_suite!(counting_estimate, Counting);
estimate_suite!(compact_counting_estimate, CompactCounting);
estimate_suite!(register_estimate, Register);
estimate_suite!(split_block_estimate, SplitBlock);
estimate_suite!(cache_line_estimate, CacheLine);

removal_suite!(counting_removal, Counting);
removal_suite!(compact_counting_removal, CompactCounting);

/// Only the counting filter has a compact variant.
#[test]
fn filters_without_counters_refuse_the_compact_option() {
    let mut compact = spec(100, 0.01, Isa::Portable);
    compact.compact = true;
    let refused = [
        BloomFilter::from_spec(&compact).map(drop),
        RegisterBloom::from_spec(&compact).map(drop),
        SplitBlockBloom::from_spec(&compact).map(drop),
        CacheLineBloom::from_spec(&compact).map(drop),
    ];
    for outcome in refused {
        assert!(matches!(outcome, Err(SpecError::Option { option: "compact", .. })));
    }
    assert_eq!(built::<CompactCounting>(&compact).counter_width(), CounterWidth::Two);
}
