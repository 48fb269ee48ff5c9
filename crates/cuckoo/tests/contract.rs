//! Runs three suites on cuckoo filters: the contract tests that all filters share, the tests of merges, and the tests
//! for filters that can be full. Most of the tests run with every instruction set.

mod words;

use std::ops::RangeInclusive;
use trommel_base::{FromSpec, Insert, KeyHash, Spec, SpecError};
use trommel_cuckoo::CuckooFilter;
use trommel_testkit::subject::{Room, Subject};
use trommel_testkit::{claims_per_isa, contract_suite, full_suite, merge_suite};

/// Defines a subject: how its filter is built from a spec, how many copies of a key it has room for, and its golden
/// digest.
macro_rules! subject {
    ($subject:ident: $build:expr, copies: $copies:literal, golden: $golden:literal) => {
        struct $subject;

        impl Subject for $subject {
            type Filter = CuckooFilter;
            type View<'a> = CuckooFilter<&'a [u8]>;
            const GOLDEN: u64 = $golden;
            const PROBES_PER_KEY: f64 = 2.0;
            const CANONICAL: bool = false;
            const SIZING_IS_EXACT: bool = false;
            const ROOM: Room = Room::Slots { copies: $copies };
            const STEP_BYTES: usize = 33;

            fn build(spec: &Spec) -> Result<CuckooFilter, SpecError> {
                $build(spec)
            }
            fn len_after(empty: &CuckooFilter, hashes: &[KeyHash]) -> usize {
                let mut filter = empty.clone();
                hashes.iter().filter(|hash| filter.insert_hash(**hash).unwrap()).count()
            }
            fn len_range(empty: &CuckooFilter, hashes: &[KeyHash]) -> RangeInclusive<usize> {
                words::len_range(empty, hashes)
            }
            fn sizing_fpr(filter: &CuckooFilter, keys: usize) -> f64 {
                filter.fpr_with(keys)
            }
            trommel_testkit::inherent_methods!();
        }
    };
}

/// A filter of the spec with fingerprints of `bits` bits.
fn with_bits(spec: &Spec, bits: u32, multiset: bool) -> Result<CuckooFilter, SpecError> {
    let mut spec = *spec;
    spec.fingerprint_bits = Some(bits);
    spec.multiset = multiset;
    CuckooFilter::from_spec(&spec)
}

/// A filter of the spec with fingerprints of `bits` bits, even if these do not reach the false-positive rate of the
/// spec.
fn of_bits(spec: &Spec, bits: u32, multiset: bool) -> Result<CuckooFilter, SpecError> {
    CuckooFilter::from_spec(spec)?;
    let mut spec = *spec;
    spec.fpr = None;
    with_bits(&spec, bits, multiset)
}

// In `Set` and `Multiset`, the false-positive rate of the spec decides the width: 8 bits for a rate of 3 % or more, 12
// for 0.2 % or more, else 16 or 32.
subject!(Set: CuckooFilter::from_spec, copies: 1, golden: 0xa2c3_2cf7_ab3d_7a74);
subject!(Multiset: |spec: &Spec| {
    let mut spec = *spec;
    spec.multiset = true;
    CuckooFilter::from_spec(&spec)
}, copies: 8, golden: 0x9049_7241_f0e0_39f6);
subject!(Bits16: |spec| with_bits(spec, 16, false), copies: 1, golden: 0xf751_0c46_8b7f_a092);
subject!(Bits32: |spec| with_bits(spec, 32, false), copies: 1, golden: 0xf2cd_2804_6a07_96de);
subject!(Bits32Multiset: |spec| with_bits(spec, 32, true), copies: 8, golden: 0xd238_9e57_bab6_342a);
// The filters of the following subjects have the given width, whatever false-positive rate the spec asks for.
subject!(Bits8: |spec| of_bits(spec, 8, false), copies: 1, golden: 0xc5a5_38b2_108e_767a);
subject!(Bits8Multiset: |spec| of_bits(spec, 8, true), copies: 8, golden: 0x6f63_51ca_c7cd_5882);
subject!(Bits12: |spec| of_bits(spec, 12, false), copies: 1, golden: 0xa2c3_2cf7_ab3d_7a74);
subject!(Bits12Multiset: |spec| of_bits(spec, 12, true), copies: 8, golden: 0x9049_7241_f0e0_39f6);

contract_suite!(set, Set);
contract_suite!(multiset, Multiset);
contract_suite!(bits_16, Bits16);
contract_suite!(bits_32, Bits32);

merge_suite!(set_merge, Set);
merge_suite!(bits_16_merge, Bits16);

full_suite!(set_full, Set);
full_suite!(multiset_full, Multiset);
full_suite!(bits_16_full, Bits16);
full_suite!(bits_32_full, Bits32);

/// Runs the tests that do not depend on the false-positive rate.
macro_rules! narrow_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            claims_per_isa!($subject, {
                answers::no_key_is_lost,
                answers::every_way_to_insert_makes_the_same_filter,
                answers::every_way_to_ask_gives_the_same_answer,
                answers::an_insert_says_whether_it_changed_the_filter,
                answers::a_reused_bitmap_forgets_the_past,
                bytes::golden_digest_is_unchanged,
                full::a_failed_insert_changes_nothing,
                full::a_failed_batch_takes_the_keys_that_it_says,
                full::a_batch_fails_where_single_inserts_do,
                full::a_key_has_a_bounded_number_of_copies,
                full::every_way_to_ask_a_full_filter_gives_the_same_answer,
            });
        }
    };
}

narrow_suite!(bits_8, Bits8);
narrow_suite!(bits_8_multiset, Bits8Multiset);
narrow_suite!(bits_12, Bits12);
narrow_suite!(bits_12_multiset, Bits12Multiset);
narrow_suite!(bits_32_multiset, Bits32Multiset);
