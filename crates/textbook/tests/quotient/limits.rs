//! Which shapes are allowed, and how much memory they take.

use std::panic::catch_unwind;
use trommel_base::{Filter, SpecError};
use trommel_testkit::Splitmix;
use trommel_textbook::TextbookQuotientFilter;

#[test]
fn the_error_for_an_impossible_width_names_the_parameter() {
    for make in [TextbookQuotientFilter::new, TextbookQuotientFilter::new_multiset] {
        for q in [0, 41, 64, u32::MAX] {
            let expected =
                SpecError::Parameter { name: "quotient_bits", value: q.into(), min: 1, max: 40 };
            assert_eq!(make(q, 8).unwrap_err(), expected);
        }
        for (q, r, max) in [(1, 0, 61), (3, 62, 61), (4, 61, 60), (40, 25, 24), (9, u32::MAX, 55)] {
            let expected =
                SpecError::Parameter { name: "remainder_bits", value: r.into(), min: 1, max };
            assert_eq!(make(q, r).unwrap_err(), expected);
        }
    }
}

/// The tables take 3.7 TB, 0.55 TB and 0.27 TB. If the system grants a table, it allocates each page of the table only
/// when the page is used.
#[test]
fn tables_beyond_memory_are_refused_or_allocated_lazily() {
    for (q, r) in [(40, 24), (40, 1), (36, 28)] {
        match TextbookQuotientFilter::new(q, r) {
            Ok(filter) => assert!(!filter.contains_fingerprint(77)),
            Err(error) => {
                let bytes = (1u64 << q) * u64::from(r + 3) / 8 + 16;
                assert_eq!(error, SpecError::OutOfMemory { bytes });
            }
        }
    }
}

#[test]
fn a_slot_takes_three_bits_and_its_remainder() {
    for (q, r) in [(10, 1), (10, 6), (12, 13), (8, 56), (3, 61)] {
        let filter = TextbookQuotientFilter::new(q, r).unwrap();
        let bits = (filter.memory_bytes() - 16) * 8;
        assert_eq!(bits, filter.capacity() * (r as usize + 3), "2^{q} slots, {r} remainder bits");
    }
}

/// All widths together have slots that begin at each of the eight bits of a byte. Writing a slot changes no other slot.
#[test]
fn remainders_of_every_width_are_stored_whole() {
    for r in 1..=61 {
        let mut random = Splitmix::new(r.into());
        let mut filter = TextbookQuotientFilter::new(3, r).unwrap();
        let mut fingerprints: Vec<u64> =
            (0..8).map(|quotient| quotient << r | random.word() >> (64 - r)).collect();
        fingerprints[5] |= (1 << r) - 1;
        for fingerprint in fingerprints.iter().rev() {
            filter.insert_fingerprint(*fingerprint).unwrap();
        }
        assert!(filter.fingerprints().eq(fingerprints));
    }
}

#[test]
fn a_fingerprint_that_is_too_long_panics_instead_of_being_truncated() {
    let filter = TextbookQuotientFilter::new(4, 4).unwrap();
    assert!(!filter.contains_fingerprint(0xFF));
    for fingerprint in [0x100, u64::MAX] {
        assert!(catch_unwind(|| filter.contains_fingerprint(fingerprint)).is_err());
        assert!(catch_unwind(|| filter.clone().insert_fingerprint(fingerprint)).is_err());
        assert!(catch_unwind(|| filter.count_fingerprint(fingerprint)).is_err());
        assert!(catch_unwind(|| filter.clone().remove_fingerprint(fingerprint)).is_err());
    }
}
