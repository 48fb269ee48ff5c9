//! Every Bloom filter under the contract of all filters, on every instruction set.

use trommel_base::sizing::{blocked_fpr, split_fpr, standard_fpr};
use trommel_base::{FoldError, FormatError, FromSpec, Incompatible, Spec, SpecError};
use trommel_bloom::{BloomFilter, CacheLineBloom, RegisterBloom, SplitBlockBloom};
use trommel_simd::Isa;
use trommel_testkit::subject::{Estimate, Fold, Intersect, Subject};
use trommel_testkit::{contract_suite, estimate_suite, fold_suite, intersect_suite, merge_suite};

/// The subject of one layout: its golden digest, and the rate at `keys_per_unit` keys in each of its
/// units with `hashes` bits a key.
macro_rules! layout_subject {
    ($subject:ident, $filter:ident, $golden:literal, |$hashes:pat_param, $keys_per_unit:ident| $fpr:expr) => {
        struct $subject;

        impl Subject for $subject {
            type Filter = $filter;
            type View<'a> = $filter<&'a [u8]>;
            const GOLDEN: u64 = $golden;

            fn build(spec: &Spec) -> Result<$filter, SpecError> {
                $filter::from_spec(spec)
            }
            fn isa(filter: &$filter) -> Isa {
                filter.isa()
            }
            fn sizing_fpr(filter: &$filter, keys: usize) -> f64 {
                let $hashes = filter.hash_count();
                let $keys_per_unit = keys as f64 / filter.geometry().units as f64;
                $fpr
            }
            fn to_bytes(filter: &$filter) -> Vec<u8> {
                filter.to_bytes()
            }
            fn write_to(filter: &$filter, to: &mut dyn std::io::Write) -> std::io::Result<()> {
                filter.write_to(to)
            }
            fn from_bytes(bytes: &[u8]) -> Result<$filter, FormatError> {
                $filter::from_bytes(bytes)
            }
            fn view(bytes: &[u8]) -> Result<$filter<&[u8]>, FormatError> {
                $filter::parse(bytes)
            }
        }

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

        impl Estimate for $subject {
            fn estimate_keys(filter: &$filter) -> f64 {
                filter.estimate_keys()
            }
        }
    };
}

layout_subject!(StandardSubject, BloomFilter, 0x0, |hashes, load| standard_fpr(
    64.0 / load,
    hashes
));
layout_subject!(RegisterSubject, RegisterBloom, 0x0, |hashes, load| blocked_fpr(64, hashes, load));
layout_subject!(SplitBlockSubject, SplitBlockBloom, 0x0, |_, load| split_fpr(8, 32, load));
layout_subject!(CacheLineSubject, CacheLineBloom, 0x0, |_, load| split_fpr(8, 64, load));

contract_suite!(standard, StandardSubject);
contract_suite!(register, RegisterSubject);
contract_suite!(split_block, SplitBlockSubject);
contract_suite!(cache_line, CacheLineSubject);

merge_suite!(standard_merge, StandardSubject);
merge_suite!(register_merge, RegisterSubject);
merge_suite!(split_block_merge, SplitBlockSubject);
merge_suite!(cache_line_merge, CacheLineSubject);

intersect_suite!(standard_intersection, StandardSubject);
intersect_suite!(register_intersection, RegisterSubject);
intersect_suite!(split_block_intersection, SplitBlockSubject);
intersect_suite!(cache_line_intersection, CacheLineSubject);

fold_suite!(standard_fold, StandardSubject);
fold_suite!(register_fold, RegisterSubject);
fold_suite!(split_block_fold, SplitBlockSubject);
fold_suite!(cache_line_fold, CacheLineSubject);

estimate_suite!(standard_estimate, StandardSubject);
estimate_suite!(register_estimate, RegisterSubject);
estimate_suite!(split_block_estimate, SplitBlockSubject);
estimate_suite!(cache_line_estimate, CacheLineSubject);
