//! What cannot be built is a typed error, found without touching memory; what can be built is what
//! was asked for.

use super::{answers, fill};
use crate::Splitmix;
use crate::streams::{Disjoint, distinct};
use crate::subject::{Room, Subject, built, spec, spec_of_bytes};
use trommel_base::{Filter, Spec, SpecError};
use trommel_simd::Isa;

/// Rates that are no rates, and one that no 64-bit hash can reach.
pub fn impossible_rates_are_typed_errors<S: Subject>() {
    for keys in [0, 1, 1000] {
        for fpr in [f64::NAN, 0.0, -0.0, 1.0, 2.0, -0.5, f64::INFINITY, f64::NEG_INFINITY] {
            match S::build(&spec(keys, fpr, Isa::Portable)) {
                Err(SpecError::FprOutOfRange { fpr: told }) => {
                    assert_eq!(told.to_bits(), fpr.to_bits(), "the error carries the number");
                }
                other => panic!("{keys} keys at {fpr} gave {other:?}"),
            }
            // The same when bytes are given as well.
            let mut bounded = spec(keys, fpr, Isa::Portable);
            bounded.memory_bytes = Some(1 << 20);
            assert!(matches!(S::build(&bounded), Err(SpecError::FprOutOfRange { .. })), "{fpr}");
        }
    }
    for fpr in [1e-300, f64::MIN_POSITIVE, 5e-324, 1e-20] {
        match S::build(&spec(1000, fpr, Isa::Portable)) {
            Err(SpecError::FprUnreachable { fpr: told, floor }) => {
                assert!(told == fpr && floor > fpr && floor < 1.0, "floor {floor:e} for {fpr:e}");
            }
            other => panic!("1000 keys at {fpr:e} gave {other:?}"),
        }
    }
    // So near to 1 that a filter hardly needs to exist, and still a rate.
    for fpr in [0.5, 0.99, 1.0 - f64::EPSILON] {
        let mut filter = built::<S>(&spec(1000, fpr, Isa::Portable));
        let hashes = distinct(1, 0..1000);
        fill::<S>(&mut filter, &hashes);
        assert_eq!(answers(&filter, &hashes).count_ones(), 1000);
    }
}

/// Key counts that wrapped to a tiny filter, aborted or crashed elsewhere. The largest are refused
/// by arithmetic alone; one that a machine could in principle hold is refused by the machine at
/// worst, and is no small filter in any case.
pub fn impossible_key_counts_are_typed_errors<S: Subject>() {
    for fpr in [0.9, 0.63, 0.5, 0.3, 0.01, 1e-5] {
        for keys in [usize::MAX, usize::MAX - 1, 1 << 63, 1 << 60] {
            match S::build(&spec(keys, fpr, Isa::Portable)) {
                Err(SpecError::TooLarge { bytes, max_bytes }) => {
                    assert!(bytes > u128::from(max_bytes), "{bytes} bytes of {max_bytes}");
                }
                // A 64-bit hash confuses so many keys by itself.
                Err(SpecError::FprUnreachable { floor, .. }) => assert!(floor > 0.0),
                other => panic!("{keys} keys at {fpr} gave {other:?}"),
            }
        }
        for keys in [1 << 56, 1 << 50, 1 << 44] {
            match S::build(&spec(keys, fpr, Isa::Portable)) {
                Ok(filter) => assert!(filter.memory_bytes() > keys / 64),
                Err(SpecError::TooLarge { .. } | SpecError::FprUnreachable { .. }) => {}
                Err(SpecError::OutOfMemory { bytes }) => assert!(bytes > keys as u64 / 64),
                other => panic!("{keys} keys at {fpr} gave {other:?}"),
            }
        }
    }
}

/// Byte counts beyond any machine, and fewer than a filter needs.
pub fn impossible_byte_counts_are_typed_errors<S: Subject>() {
    for keys in [0, 1000, usize::MAX] {
        for bytes in [usize::MAX, usize::MAX - 63, 1 << 60, 1 << 50] {
            match S::build(&spec_of_bytes(keys, bytes, Isa::Portable)) {
                Err(SpecError::TooLarge { bytes: told, max_bytes }) => {
                    assert!(told > u128::from(max_bytes) && told <= bytes as u128);
                }
                other => panic!("{keys} keys in {bytes} bytes gave {other:?}"),
            }
        }
        match S::build(&spec_of_bytes(keys, 0, Isa::Portable)) {
            Err(SpecError::TooSmall { bytes: 0, min_bytes }) => assert!(min_bytes > 0),
            other => panic!("{keys} keys in no bytes gave {other:?}"),
        }
    }
    // A rate and too few bytes for it.
    let mut bounded = spec(100_000, 0.01, Isa::Portable);
    bounded.memory_bytes = Some(10_000);
    match S::build(&bounded) {
        Err(SpecError::TooSmall { bytes: 10_000, min_bytes }) => {
            bounded.memory_bytes = Some(min_bytes as usize);
            assert_eq!(built::<S>(&bounded).memory_bytes() as u64, min_bytes);
        }
        other => panic!("1 % of 100,000 keys in 10,000 bytes gave {other:?}"),
    }
    let mut unfoldable = spec(1000, 0.01, Isa::Portable);
    unfoldable.foldable_by = 0;
    assert!(matches!(
        S::build(&unfoldable),
        Err(SpecError::Parameter { .. } | SpecError::Option { .. })
    ));
}

/// Zero keys is a filter, the smallest; it is empty and still takes keys.
pub fn zero_keys_is_the_smallest_filter<S: Subject>(isa: Isa) {
    let keys = Disjoint::new(2, 3, 1000);
    for fpr in [0.5, 0.01, 1e-4] {
        let mut filter = built::<S>(&spec(0, fpr, isa));
        assert!(filter.is_empty() && filter.len() == 0);
        assert!(filter.memory_bytes() <= built::<S>(&spec(1, fpr, isa)).memory_bytes());
        assert!(filter.memory_bytes() <= 1024);
        assert_eq!(filter.expected_fpr(), 0.0);
        assert_eq!(answers(&filter, &keys.strangers).count_ones(), 0, "it holds nothing");
        assert!(!filter.bits_per_key().is_finite());
        fill::<S>(&mut filter, &keys.members);
        assert_eq!(answers(&filter, &keys.members).count_ones(), 3);
        let empty = built::<S>(&spec(0, fpr, isa));
        assert!(S::len_range(&empty, &keys.members).contains(&filter.len()));
        assert!(filter.expected_fpr() > 0.0 && filter.expected_fpr() <= 1.0);
    }
}

/// Any spec is met or refused with a typed error. Met: a table no larger than allowed, and an
/// equation that keeps the rate.
pub fn random_specs_never_panic_and_are_met<S: Subject>() {
    let mut random = Splitmix::new(0x59EC);
    let mut met = 0;
    for _ in 0..2000 {
        let mut any = Spec::default();
        any.isa = Some(Isa::Portable);
        // At most 2^21 keys or bytes four times in five, anything otherwise.
        let bits = if random.below(5) == 0 { 64 } else { 21 };
        any.keys = (random.word() >> (64 - bits) >> random.below(bits)) as usize;
        if random.below(2) == 0 {
            any.memory_bytes = Some((random.word() >> (64 - bits) >> random.below(bits)) as usize);
        }
        if random.below(4) != 0 {
            any.fpr = Some(libm::exp2(-(random.unit() * 30.0)));
        }
        if random.below(8) == 0 {
            any.foldable_by = random.below(20) as u32;
        }
        match S::build(&any) {
            Ok(filter) => {
                met += 1;
                if let Some(limit) = any.memory_bytes {
                    assert!(filter.memory_bytes() <= limit, "{any:?}");
                }
                if let Some(fpr) = any.fpr {
                    let sizing = S::sizing_fpr(&filter, any.keys);
                    assert!(sizing <= fpr * 1.000_001, "{any:?}: {sizing}");
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(met > 300, "only {met} of the specs could be met: too few to tell");
}

/// A filter of so many bytes has at most so many, and wastes less than a few cache lines.
pub fn bytes_allowed_are_bytes_taken<S: Subject>() {
    for bytes in [4096, 10_000, 65_537, 1_000_000] {
        let keys = if S::ROOM == Room::Endless { bytes } else { bytes / 5 };
        let filter = built::<S>(&spec_of_bytes(keys, bytes, Isa::Portable));
        assert!(filter.memory_bytes() <= bytes, "{} of {bytes}", filter.memory_bytes());
        assert!(
            filter.memory_bytes() + S::STEP_BYTES > bytes,
            "{} of {bytes}",
            filter.memory_bytes()
        );
    }
}
