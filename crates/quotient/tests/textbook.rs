//! Compares the filter with the textbook quotient filter, which has three metadata bits per slot, wraps around at the
//! end of the table, and searches clusters slot by slot. The tables differ, but the fingerprints must be the same.
//!
//! If the filter has `2^q` slots and `r` remainder bits, or `fingerprint_bits` is `q + r`, then a fingerprint is the
//! upper `q + r` bits of a hash in both filters.

use trommel_base::{Count, Filter, FromSpec, Insert, KeyHash, Merge, Remove, Spec};
use trommel_quotient::QuotientFilter;
use trommel_simd::Isa;
use trommel_testkit::Splitmix;
use trommel_testkit::streams::distinct;
use trommel_textbook::TextbookQuotientFilter;

fn textbook(q: u32, r: u32, multiset: bool) -> TextbookQuotientFilter {
    let new = match multiset {
        true => TextbookQuotientFilter::new_multiset,
        false => TextbookQuotientFilter::new,
    };
    new(q, r).unwrap()
}

/// A filter of `2^q` slots.
fn of_2_to_the_q_slots(q: u32, r: u32, multiset: bool, isa: Isa) -> QuotientFilter {
    let mut spec = Spec::default();
    spec.keys = 1 << (q - 1);
    spec.load = Some(0.5);
    spec.remainder_bits = Some(r);
    spec.multiset = multiset;
    spec.isa = Some(isa);
    let filter = QuotientFilter::from_spec(&spec).unwrap();
    assert_eq!((filter.geometry().slots, filter.geometry().remainder_bits), (1 << q, r));
    filter
}

/// A filter for `keys` keys with fingerprints of `bits` bits.
fn of_width(keys: usize, bits: u32, multiset: bool, isa: Isa) -> QuotientFilter {
    let mut spec = Spec::default();
    spec.keys = keys;
    spec.fingerprint_bits = Some(bits);
    spec.multiset = multiset;
    spec.isa = Some(isa);
    QuotientFilter::from_spec(&spec).unwrap()
}

fn assert_same(ours: &QuotientFilter, taught: &TextbookQuotientFilter, what: &str) {
    assert_eq!(ours.len(), taught.len(), "{what}: different numbers of fingerprints");
    assert!(ours.fingerprints().eq(taught.fingerprints()), "{what}: different fingerprints");
}

/// Applies random operations to both filters, and compares the filters after each operation. Neither filter gets more
/// fingerprints than `load` times the slots of the smaller table.
fn compare(mut ours: QuotientFilter, mut taught: TextbookQuotientFilter, load: f64, seed: u64) {
    let what = format!("{ours:?} at {load}");
    let mut random = Splitmix::new(seed);
    let most = load * (ours.geometry().slots as f64).min(taught.capacity() as f64);
    let mut held: Vec<KeyHash> = Vec::new();
    for step in 0..9000 {
        let known = held.get(random.below(held.len().max(1) as u64) as usize).copied();
        let hash = match (random.below(4), known) {
            (0, Some(hash)) => hash,
            _ => KeyHash::from_raw(random.word()),
        };
        let full = ours.len() as f64 >= most;
        if !full && random.below(100) < 60 {
            let (one, other) = (ours.insert_hash(hash), taught.insert_hash(hash));
            assert_eq!(one.ok(), other.ok(), "{what}: insert of step {step}");
            held.push(hash);
        } else {
            let hash = known.filter(|_| random.below(8) > 0).unwrap_or(hash);
            assert_eq!(
                ours.remove_hash(hash),
                taught.remove_hash(hash),
                "{what}: removal of step {step}"
            );
        }
        assert_eq!(
            ours.contains_hash(hash),
            taught.contains_hash(hash),
            "{what}: lookup of step {step}"
        );
        assert_eq!(ours.count_hash(hash), taught.count_hash(hash), "{what}: count of step {step}");
        if step % 900 == 0 {
            assert_same(&ours, &taught, &what);
        }
    }
    assert_same(&ours, &taught, &what);
    for hash in distinct(seed, 0..5000) {
        assert_eq!(
            ours.contains_hash(hash),
            taught.contains_hash(hash),
            "{what}: lookup at the end"
        );
    }
}

#[test]
fn the_same_operations_keep_the_same_fingerprints() {
    for isa in Isa::available() {
        for multiset in [false, true] {
            for (q, r) in [(3, 5), (6, 3), (8, 8), (10, 1), (10, 12), (12, 27)] {
                for load in [0.5, 0.95] {
                    let seed = u64::from(q * r);
                    let taught = || textbook(q, r, multiset);
                    compare(of_2_to_the_q_slots(q, r, multiset, isa), taught(), load, seed);
                    let keys = (1usize << q) * 3 / 4 + 3;
                    let bits = q + r;
                    compare(of_width(keys, bits, multiset, isa), taught(), load, seed + 1);
                }
            }
        }
    }
}

/// After doubling, merging and shrinking, both filters hold the same fingerprints.
#[test]
fn resizing_and_merging_keep_the_same_fingerprints() {
    for multiset in [false, true] {
        let (q, r) = (9, 9);
        let mut ours = of_2_to_the_q_slots(q, r, multiset, Isa::best());
        let mut taught = textbook(q, r, multiset);
        let fill =
            |ours: &mut QuotientFilter, taught: &mut TextbookQuotientFilter, hashes: &[KeyHash]| {
                ours.insert_batch(hashes).unwrap();
                taught.insert_batch(hashes).unwrap();
            };
        fill(&mut ours, &mut taught, &distinct(1, 0..480));
        for doublings in 1..=4 {
            ours.grow().unwrap();
            taught.double().unwrap();
            assert_eq!(ours.geometry().slots, taught.capacity() as u64);
            assert_same(&ours, &taught, &format!("{doublings} doublings"));
        }
        fill(&mut ours, &mut taught, &distinct(2, 0..2500));
        let mut other = of_width(1234, q + r, multiset, Isa::best());
        let mut taught_other = textbook(q + 2, r - 2, multiset);
        fill(&mut other, &mut taught_other, &distinct(1, 240..900));
        ours.merge(&other).unwrap();
        taught.merge(&taught_other).unwrap();
        assert_same(&ours, &taught, "merged");
        taught.halve().unwrap();
        ours.resize(4050).unwrap();
        assert_same(&ours, &taught, "smaller");
    }
}
