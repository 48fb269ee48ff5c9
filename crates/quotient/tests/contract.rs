//! Runs the contract suites on the quotient filters, on every instruction set: the suite for all filters, and the
//! suites for filters that can be full, that merge, that resize, and that store whole fingerprints.

use trommel_base::{FromSpec, KeyHash, Spec, SpecError};
use trommel_quotient::{CacheLineQuotient, MAX_COPIES, Quotient, QuotientFilter, ResizeError};
use trommel_testkit::subject::{Exact, Resize, Room, Subject};
use trommel_testkit::{contract_suite, exact_suite, full_suite, merge_suite, resize_suite};

/// Declares a subject: its filter, a change that is made to every spec, the most copies of a fingerprint, the largest
/// step between table sizes in bytes, whether the filter reserves remainder 0, and the golden digest.
macro_rules! subject {
    ($subject:ident: $filter:ident, |$spec:ident| $add:expr, copies: $copies:expr,
     step: $step:literal, reserved: $reserved:literal, golden: $golden:literal) => {
        struct $subject;

        impl Subject for $subject {
            type Filter = $filter;
            type View<'a> = $filter<&'a [u8]>;
            const GOLDEN: u64 = $golden;
            const PROBES_PER_KEY: f64 = 2.0;
            const ROOM: Room = Room::Slots { copies: $copies };
            const STEP_BYTES: usize = $step;

            fn build(spec: &Spec) -> Result<$filter, SpecError> {
                let mut $spec = *spec;
                $add;
                $filter::from_spec(&$spec)
            }
            fn len_after(empty: &$filter, hashes: &[KeyHash]) -> usize {
                Self::held(empty, hashes).values().sum::<u64>() as usize
            }
            fn sizing_fpr(filter: &$filter, keys: usize) -> f64 {
                // If remainder 0 is reserved, it is stored as 1. So stored remainder 1 is twice as likely as each of
                // the 254 others.
                let factor = if $reserved { 258.0 / 256.0 } else { 1.0 };
                -libm::expm1(-(keys as f64) * factor / filter.geometry().fingerprints as f64)
            }
            trommel_testkit::inherent_methods!();
        }

        impl Exact for $subject {
            fn fingerprint(filter: &$filter, hash: KeyHash) -> u64 {
                let fingerprints = u128::from(filter.geometry().fingerprints);
                let f = ((u128::from(hash.raw()) * fingerprints) >> 64) as u64;
                if $reserved && f.is_multiple_of(256) { f + 1 } else { f }
            }
            fn hash_of(filter: &$filter, fingerprint: u64) -> KeyHash {
                let fingerprints = u128::from(filter.geometry().fingerprints);
                KeyHash::from_raw((u128::from(fingerprint) << 64).div_ceil(fingerprints) as u64)
            }
            fn fingerprints(filter: &$filter) -> Vec<u64> {
                assert_eq!(filter.fingerprints().len(), filter.fingerprints().count());
                filter.fingerprints().collect()
            }
            fn slots(filter: &$filter) -> u64 {
                filter.geometry().slots
            }
        }

        impl Resize for $subject {
            type Error = ResizeError;

            fn grow(filter: &mut $filter) -> Result<(), ResizeError> {
                Quotient::grow(filter)
            }
            fn resize(filter: &mut $filter, keys: usize) -> Result<(), ResizeError> {
                Quotient::resize(filter, keys)
            }
            fn shrink_to_fit(filter: &mut $filter) -> Result<(), ResizeError> {
                Quotient::shrink_to_fit(filter)
            }
        }
    };
}

subject!(Wide: QuotientFilter, |spec| spec.multiset = false, copies: 1,
    step: 448, reserved: false, golden: 0xaf46_d0b2_5dfe_a6b9);
subject!(WideMultiset: QuotientFilter, |spec| spec.multiset = true, copies: MAX_COPIES,
    step: 448, reserved: false, golden: 0x3dc1_46c7_436a_000f);
// This subject has 27 remainder bits for any false-positive rate, as an example of a width above three bytes that is
// not a whole number of bytes.
subject!(LongRemainders: QuotientFilter, |spec| spec.remainder_bits = Some(27), copies: 1,
    step: 448, reserved: false, golden: 0x6358_d9f7_2e3b_c076);
subject!(Line: CacheLineQuotient, |spec| spec.multiset = false, copies: 1,
    step: 128, reserved: true, golden: 0x4651_0e56_d012_79c3);
subject!(LineMultiset: CacheLineQuotient, |spec| spec.multiset = true, copies: MAX_COPIES,
    step: 128, reserved: true, golden: 0x0b39_52c4_f368_bdf8);

/// Declares every suite for every subject.
macro_rules! suites {
    ($($subject:ident: $contract:ident, $merge:ident, $full:ident, $exact:ident, $resize:ident;)*) => {$(
        contract_suite!($contract, $subject);
        merge_suite!($merge, $subject);
        full_suite!($full, $subject);
        exact_suite!($exact, $subject);
        resize_suite!($resize, $subject);
    )*};
}

suites! {
    Wide: wide, wide_merge, wide_full, wide_exact, wide_resize;
    WideMultiset: wide_multiset, wide_multiset_merge, wide_multiset_full, wide_multiset_exact, wide_multiset_resize;
    LongRemainders: long_remainders, long_remainders_merge, long_remainders_full, long_remainders_exact, long_remainders_resize;
    Line: line, line_merge, line_full, line_exact, line_resize;
    LineMultiset: line_multiset, line_multiset_merge, line_multiset_full, line_multiset_exact, line_multiset_resize;
}
