//! A spec that cannot be built is a typed error. Unless the system refuses the memory, the error is found before any
//! allocation. A filter that is built meets its spec.

use super::{answers, fill};
use crate::Splitmix;
use crate::sizes::clamped;
use crate::streams::{Disjoint, distinct};
use crate::subject::{Room, Subject, built, spec, spec_of_bytes};
use trommel_base::{Filter, Spec, SpecError};
use trommel_simd::Isa;

/// False-positive rates that are not between 0 and 1, and rates that no 64-bit hash can reach, are typed errors.
pub fn impossible_rates_are_typed_errors<S: Subject>() {
    for keys in [0, 1, 1000] {
        for fpr in [f64::NAN, 0.0, -0.0, 1.0, 2.0, -0.5, f64::INFINITY, f64::NEG_INFINITY] {
            match S::build(&spec(keys, fpr, Isa::Portable)) {
                Err(SpecError::FprOutOfRange { fpr: reported }) => {
                    assert_eq!(reported.to_bits(), fpr.to_bits(), "the error has another rate");
                }
                other => panic!("{keys} keys at {fpr} gave {other:?}"),
            }
            // The error is the same if a number of bytes is given in addition to the rate.
            let mut bounded = spec(keys, fpr, Isa::Portable);
            bounded.memory_bytes = Some(1 << 20);
            assert!(
                matches!(S::build(&bounded), Err(SpecError::FprOutOfRange { .. })),
                "a rate of {fpr} with bytes is not refused as out of range"
            );
        }
    }
    for fpr in [1e-300, f64::MIN_POSITIVE, 5e-324, 1e-20] {
        match S::build(&spec(1000, fpr, Isa::Portable)) {
            Err(SpecError::FprUnreachable { fpr: reported, floor }) => {
                assert!(
                    reported == fpr && floor > fpr && floor < 1.0,
                    "floor {floor:e} for {fpr:e}"
                );
            }
            other => panic!("1000 keys at {fpr:e} gave {other:?}"),
        }
    }
    // Even a rate just below 1 is a valid rate.
    for fpr in [0.5, 0.99, 1.0 - f64::EPSILON] {
        let mut filter = built::<S>(&spec(1000, fpr, Isa::Portable));
        let hashes = distinct(1, 0..1000);
        fill::<S>(&mut filter, &hashes);
        assert_eq!(answers(&filter, &hashes).count_ones(), 1000);
    }
}

/// Numbers of keys for which no machine has enough bytes.
const TOO_MANY_KEYS: [usize; 4] = [usize::MAX, usize::MAX - 1, clamped(1 << 63), clamped(1 << 60)];

/// Tries numbers of keys at which a careless computation would overflow, and so make a tiny filter or abort. The
/// largest numbers are refused before any memory is requested. A smaller number, whose filter a machine could in
/// principle hold, is either refused too, or gives a filter that is not small.
pub fn impossible_key_counts_are_typed_errors<S: Subject>() {
    for fpr in [0.9, 0.63, 0.5, 0.3, 0.01, 1e-5] {
        // With addresses of 32 bits, a filter for the largest number of keys fits into memory if a key takes few bits.
        let lacks_room = if usize::BITS < 64 && fpr > 0.01 { &[][..] } else { &TOO_MANY_KEYS };
        for &keys in lacks_room {
            match S::build(&spec(keys, fpr, Isa::Portable)) {
                Err(SpecError::TooLarge { bytes, max_bytes }) => {
                    assert!(
                        bytes > u128::from(max_bytes),
                        "{bytes} bytes are refused as too large, but the limit is {max_bytes}"
                    );
                }
                // With this number of keys, 64-bit hashes collide more often than `fpr`.
                Err(SpecError::FprUnreachable { floor, .. }) => assert!(floor > 0.0),
                other => panic!("{keys} keys at {fpr} gave {other:?}"),
            }
        }
        for keys in [1 << 56, 1 << 50, 1 << 44].map(clamped) {
            match S::build(&spec(keys, fpr, Isa::Portable)) {
                Ok(filter) => assert!(filter.memory_bytes() > keys / 64),
                Err(SpecError::TooLarge { .. } | SpecError::FprUnreachable { .. }) => {}
                Err(SpecError::OutOfMemory { bytes }) => assert!(bytes > keys as u64 / 64),
                other => panic!("{keys} keys at {fpr} gave {other:?}"),
            }
        }
    }
}

/// More bytes than any machine has, fewer bytes than a filter needs, and a fold factor of 0 are typed errors.
pub fn impossible_byte_counts_are_typed_errors<S: Subject>() {
    for keys in [0, 1000, usize::MAX] {
        for bytes in [usize::MAX, usize::MAX - 63, clamped(1 << 60), clamped(1 << 50)] {
            match S::build(&spec_of_bytes(keys, bytes, Isa::Portable)) {
                Err(SpecError::TooLarge { bytes: reported, max_bytes }) => {
                    assert!(reported > u128::from(max_bytes) && reported <= bytes as u128);
                }
                other => panic!("{keys} keys in {bytes} bytes gave {other:?}"),
            }
        }
        match S::build(&spec_of_bytes(keys, 0, Isa::Portable)) {
            Err(SpecError::TooSmall { bytes: 0, min_bytes }) => assert!(min_bytes > 0),
            other => panic!("{keys} keys in no bytes gave {other:?}"),
        }
    }
    // The spec has too few bytes for its false-positive rate, and the error states how many bytes are enough.
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

/// A spec for zero keys gives the smallest filter, which is empty and still takes keys.
pub fn zero_keys_is_the_smallest_filter<S: Subject>(isa: Isa) {
    let keys = Disjoint::new(2, 3, 1000);
    for fpr in [0.5, 0.01, 1e-4] {
        let mut filter = built::<S>(&spec(0, fpr, isa));
        assert!(filter.is_empty() && filter.len() == 0);
        assert!(filter.memory_bytes() <= built::<S>(&spec(1, fpr, isa)).memory_bytes());
        assert!(filter.memory_bytes() <= 1024);
        assert_eq!(filter.expected_fpr(), 0.0);
        assert_eq!(answers(&filter, &keys.absent).count_ones(), 0, "an empty filter reports a key");
        assert!(!filter.bits_per_key().is_finite());
        fill::<S>(&mut filter, &keys.members);
        assert_eq!(answers(&filter, &keys.members).count_ones(), 3);
        let empty = built::<S>(&spec(0, fpr, isa));
        assert!(S::len_range(&empty, &keys.members).contains(&filter.len()));
        assert!(filter.expected_fpr() > 0.0 && filter.expected_fpr() <= 1.0);
    }
}

/// Any spec is either met, or refused with a typed error. If it is met, the table is no larger than allowed, and the
/// sizing equation gives at most the false-positive rate asked for.
pub fn random_specs_never_panic_and_are_met<S: Subject>() {
    let mut random = Splitmix::new(0x59EC);
    let mut met = 0;
    for _ in 0..2000 {
        let mut any = Spec::default();
        any.isa = Some(Isa::Portable);
        // Four specs in five have fewer than 2^21 keys and fewer than 2^21 bytes. In the others, both numbers can be of
        // any size.
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
        if random.below(4) == 0 {
            any.bits_per_key = Some(libm::exp2(random.unit() * 17.0 - 5.0));
        }
        match S::build(&any) {
            Ok(filter) => {
                met += 1;
                if let Some(bits) = any.bits_per_key {
                    assert!(
                        bits <= Spec::MOST_BITS_PER_KEY && any.memory_bytes.is_none(),
                        "bits per key that must be refused were accepted: {any:?}"
                    );
                    let limit = any.keys as f64 * bits / 8.0;
                    let units = (256 * any.foldable_by) as f64;
                    let within = filter.memory_bytes() as f64 <= limit + units;
                    assert!(within || any.keys == 0, "more bits than asked for: {any:?}");
                }
                if let Some(limit) = any.memory_bytes {
                    assert!(filter.memory_bytes() <= limit, "more bytes than allowed: {any:?}");
                }
                if let Some(fpr) = any.fpr {
                    let sizing = S::sizing_fpr(&filter, any.keys);
                    assert!(sizing <= fpr * 1.000_001, "{any:?}: the equation gives {sizing}");
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(met > 300, "only {met} of the specs could be met: too few to tell");
}

/// A filter that is allowed `n` bytes takes at most `n` bytes, and more than `n` minus [`Subject::STEP_BYTES`].
pub fn bytes_allowed_are_bytes_taken<S: Subject>() {
    for bytes in [4096, 10_000, 65_537, 1_000_000] {
        let keys = if S::ROOM == Room::Endless { bytes } else { bytes / 5 };
        let filter = built::<S>(&spec_of_bytes(keys, bytes, Isa::Portable));
        assert!(
            filter.memory_bytes() <= bytes,
            "{} bytes taken, but only {bytes} allowed",
            filter.memory_bytes()
        );
        assert!(
            filter.memory_bytes() + S::STEP_BYTES > bytes,
            "only {} bytes taken of {bytes} allowed",
            filter.memory_bytes()
        );
    }
}

/// A number of bits per key that no table can have is a typed error, and so is a spec with both bits per key and bytes.
pub fn impossible_bits_per_key_are_typed_errors<S: Subject>() {
    let most = Spec::MOST_BITS_PER_KEY;
    for keys in [0, 1, 1000, usize::MAX] {
        for bits in [f64::NAN, 0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, most + 1.0, 1e300]
        {
            for fpr in [None, Some(0.01)] {
                let mut any = spec_of_bits(keys, bits);
                any.fpr = fpr;
                match S::build(&any) {
                    Err(error @ SpecError::BitsPerKeyOutOfRange { bits_per_key, .. }) => {
                        assert_eq!(bits_per_key.to_bits(), bits.to_bits());
                        assert!(
                            error.to_string().contains("1024"),
                            "{error} does not give the range"
                        );
                    }
                    other => panic!("{keys} keys with {bits} bits gave {other:?}"),
                }
            }
        }
        let mut both = spec_of_bits(keys, 10.0);
        both.memory_bytes = Some(1 << 20);
        match S::build(&both) {
            Err(error @ SpecError::Exclusive { .. }) => {
                let text = error.to_string();
                assert!(
                    text.contains("bits_per_key") && text.contains("memory_bytes"),
                    "an option is not named: {text}"
                );
            }
            other => panic!("bits and bytes gave {other:?}"),
        }
    }
    let least = if usize::BITS < 64 { 8.0 } else { 0.5 };
    for keys in TOO_MANY_KEYS {
        for bits in [least, 10.0, 100.0, most] {
            match S::build(&spec_of_bits(keys, bits)) {
                Err(SpecError::TooLarge { bytes, max_bytes }) => {
                    assert!(
                        bytes > u128::from(max_bytes),
                        "{bytes} bytes are refused as too large, but the limit is {max_bytes}"
                    );
                }
                other => panic!("{keys} keys with {bits} bits gave {other:?}"),
            }
        }
    }
    for keys in [0, 1, 1 << 20, usize::MAX] {
        for bits in [5e-324, 1e-300, 1e-12] {
            match S::build(&spec_of_bits(keys, bits)) {
                Ok(filter) => assert!(
                    filter.memory_bytes() <= 1 << 22,
                    "more than 4 MiB for {keys} keys with {bits} bits"
                ),
                Err(SpecError::TooSmall { bytes, min_bytes }) => {
                    assert!(S::ROOM != Room::Endless && bytes < min_bytes);
                }
                other => panic!("{keys} keys with {bits} bits gave {other:?}"),
            }
        }
    }
}

/// A Bloom filter takes all the bits asked for, rounded up to a possible size of a table. A filter with slots takes at
/// most the bits asked for. If a filter with slots needs more bits, the spec is refused, and the error states how many
/// bytes the filter needs.
pub fn bits_per_key_are_bytes<S: Subject>() {
    let smallest = built::<S>(&spec(0, Spec::DEFAULT_FPR, Isa::Portable)).memory_bytes();
    assert!(built::<S>(&spec_of_bits(0, 10.0)).memory_bytes() <= smallest);
    for keys in [1, 7, 18, 1000, 12_345, 1_000_000] {
        for bits in [0.01, 1.0, 7.3, 10.0, 16.0, 33.3, 64.0] {
            let any = spec_of_bits(keys, bits);
            let bytes = libm::ceil(keys as f64 * bits / 8.0) as usize;
            match S::build(&any) {
                Ok(filter) if S::ROOM == Room::Endless => {
                    let memory = filter.memory_bytes();
                    let units = bytes..bytes + S::STEP_BYTES;
                    assert!(
                        units.contains(&memory),
                        "{memory} bytes for {keys} keys with {bits} bits, not {units:?}"
                    );
                }
                Ok(filter) => assert!(
                    filter.memory_bytes() <= bytes,
                    "more bytes than allowed: {keys} keys with {bits} bits"
                ),
                Err(SpecError::TooSmall { bytes: allowed, min_bytes }) => {
                    assert!(S::ROOM != Room::Endless);
                    assert_eq!(allowed, bytes as u64);
                    let enough = (min_bytes * 8) as f64 / keys as f64;
                    assert!(
                        enough > Spec::MOST_BITS_PER_KEY || {
                            let filter = built::<S>(&spec_of_bits(keys, enough));
                            filter.memory_bytes() as u64 <= min_bytes + 1
                        }
                    );
                }
                other => panic!("{keys} keys with {bits} bits gave {other:?}"),
            }
            // If the spec also has a false-positive rate, the bits are only an upper limit.
            let mut limited = any;
            limited.fpr = Some(0.05);
            match S::build(&limited) {
                Ok(filter) => assert!(filter.memory_bytes() < bytes + S::STEP_BYTES),
                Err(SpecError::TooSmall { bytes: allowed, min_bytes }) => {
                    assert!(allowed < min_bytes && (allowed as usize) < bytes + S::STEP_BYTES);
                }
                other => panic!("{keys} keys with {bits} bits at 5 % gave {other:?}"),
            }
        }
    }
}

fn spec_of_bits(keys: usize, bits: f64) -> Spec {
    let mut spec = spec(keys, 0.5, Isa::Portable);
    spec.fpr = None;
    spec.bits_per_key = Some(bits);
    spec
}
