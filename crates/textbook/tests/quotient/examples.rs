//! Worked examples from lecture notes and a blog post, slot by slot.

use crate::definition::assert_holds;
use trommel_base::Filter;
use trommel_textbook::TextbookQuotientFilter;
use trommel_textbook::quotient::Slot;

/// A slot in the notation of the examples: its index, the remainder, and the bits is_occupied, is_continuation and
/// is_shifted.
type Row = (usize, u64, [u8; 3]);

fn slots(count: usize, rows: &[Row]) -> Vec<Option<Slot>> {
    let mut slots = vec![None; count];
    for (index, remainder, bits) in rows {
        let [is_occupied, is_continuation, is_shifted] = bits.map(|bit| bit == 1);
        slots[*index] =
            Some(Slot { remainder: *remainder, is_occupied, is_continuation, is_shifted });
    }
    slots
}

fn assert_slots(filter: &TextbookQuotientFilter, rows: &[Row]) {
    assert_eq!(filter.slots().collect::<Vec<_>>(), slots(filter.capacity(), rows));
}

/// A filter of distinct fingerprints, inserted in this order.
fn filter_of(
    quotient_bits: u32,
    remainder_bits: u32,
    fingerprints: &[u64],
) -> TextbookQuotientFilter {
    let mut filter = TextbookQuotientFilter::new(quotient_bits, remainder_bits).unwrap();
    for fingerprint in fingerprints {
        assert_eq!(filter.insert_fingerprint(*fingerprint), Ok(true));
    }
    filter
}

const V: u64 = 0b10001_001010;
const W: u64 = 0b10011_100111;
const X: u64 = 0b10011_111111;
const Y: u64 = 0b10100_101101;
const Z: u64 = 0b10100_111110;
const A: u64 = 0b10100_000000;

#[test]
fn six_fingerprints_make_the_table_of_the_lecture_notes() {
    let filter = filter_of(5, 6, &[V, W, X, Y, Z, A]);
    let rows = [
        (17, 0b001010, [1, 0, 0]),
        (19, 0b100111, [1, 0, 0]),
        (20, 0b111111, [1, 1, 1]),
        (21, 0b000000, [0, 0, 1]),
        (22, 0b101101, [0, 1, 1]),
        (23, 0b111110, [0, 1, 1]),
    ];
    assert_slots(&filter, &rows);
    assert_holds(&filter, &[V, W, X, A, Y, Z]);
}

/// Checks the table of the example from the lecture notes after each insert and each removal.
#[test]
fn every_step_of_the_example_matches_the_definition() {
    let mut filter = TextbookQuotientFilter::new(5, 6).unwrap();
    let mut sorted = Vec::new();
    for fingerprint in [V, W, X, Y, Z, A] {
        filter.insert_fingerprint(fingerprint).unwrap();
        sorted.push(fingerprint);
        sorted.sort_unstable();
        assert_holds(&filter, &sorted);
    }
    // Removes the first remainder of a cluster, the first of a run, the only one of a run, and then the rest.
    for fingerprint in [W, A, V, Z, X, Y] {
        assert!(filter.remove_fingerprint(fingerprint));
        sorted.retain(|held| *held != fingerprint);
        assert_holds(&filter, &sorted);
    }
    assert_slots(&filter, &[]);
}

/// Removing W, the first of its run, moves X and then Y into their home slots.
#[test]
fn a_removal_moves_the_next_remainder_of_the_run_home() {
    let mut filter = filter_of(5, 6, &[V, W, X, Y]);
    assert!(filter.remove_fingerprint(W));
    let rows = [(17, 0b001010, [1, 0, 0]), (19, 0b111111, [1, 0, 0]), (20, 0b101101, [1, 0, 0])];
    assert_slots(&filter, &rows);
}

#[test]
fn six_cities_make_the_table_of_the_blog_post() {
    let cities =
        [4_248_224_207, 629_555_247, 2_673_248_856, 775_943_400, 1_474_643_542, 567_538_184];
    let filter = filter_of(3, 29, &cities);
    let rows = [
        (1, 30_667_272, [1, 0, 0]),
        (2, 92_684_335, [1, 1, 1]),
        (3, 239_072_488, [0, 1, 1]),
        (4, 400_901_718, [1, 0, 1]),
        (5, 525_765_208, [0, 0, 1]),
        (7, 490_127_823, [1, 0, 0]),
    ];
    assert_slots(&filter, &rows);
    assert!(filter.contains_fingerprint(2_673_248_856));
    assert!(!filter.contains_fingerprint(2_673_248_857));
    assert_eq!((filter.len(), filter.load()), (6, 0.75));
}

/// Three remainders of quotient 3 in a table of four slots: the run wraps around the end and shifts the run
/// of quotient 0.
#[test]
fn a_run_wraps_around_the_end_and_is_listed_last() {
    let mut filter = filter_of(2, 4, &[0x05, 0x3C, 0x3A, 0x3B]);
    let rows = [(0, 0xB, [1, 1, 1]), (1, 0xC, [0, 1, 1]), (2, 0x5, [0, 0, 1]), (3, 0xA, [1, 0, 0])];
    assert_slots(&filter, &rows);
    assert_holds(&filter, &[0x05, 0x3A, 0x3B, 0x3C]);
    assert!(filter.remove_fingerprint(0x3A));
    let rows = [(0, 0xC, [1, 1, 1]), (1, 0x5, [0, 0, 1]), (3, 0xB, [1, 0, 0])];
    assert_slots(&filter, &rows);
}
