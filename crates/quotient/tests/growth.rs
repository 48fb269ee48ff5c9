//! Filters that grow, by themselves or on demand, until one remainder bit is left; that shrink; and that merge with
//! filters of other sizes. The contract suites test that these changes keep every fingerprint. The tests here are about
//! the limits of these changes.

use trommel_base::{
    Count, Filter, FromSpec, Full, Hasher, Incompatible, Insert, KeyHash, Merge, MergeError,
    Remove, Spec, SpecError, WhyFull,
};
use trommel_quotient::{
    CacheLineQuotient, Layout, LineBlock, Quotient, QuotientFilter, ResizeError, WideBlock,
};
use trommel_simd::Isa;
use trommel_testkit::sizes::clamped;
use trommel_testkit::streams::{Disjoint, distinct};

fn filter<L: Layout>(keys: usize, bits: Option<u32>) -> Quotient<L> {
    let builder = Quotient::<L>::builder().keys(keys);
    bits.map_or(builder, |bits| builder.remainder_bits(bits)).build().unwrap()
}

/// Every doubling takes a bit from the remainders, and keeps the fingerprints. Once only one bit is left, a further
/// doubling is refused and changes nothing. The error has the number of slots that the doubled table would have, and
/// the number of possible fingerprints.
#[test]
fn doubling_ends_with_the_last_remainder_bit() {
    fn double<L: Layout>(mut filter: Quotient<L>, hashes: &[KeyHash]) {
        filter.insert_batch(hashes).unwrap();
        let fingerprints: Vec<u64> = filter.fingerprints().collect();
        let first = filter.geometry();
        for doublings in 1..first.remainder_bits {
            filter.grow().unwrap();
            let geometry = filter.geometry();
            assert_eq!(geometry.slots, first.slots << doublings);
            assert_eq!(geometry.remainder_bits, first.remainder_bits - doublings);
            assert_eq!(geometry.fingerprints, first.fingerprints);
            assert!(filter.fingerprints().eq(fingerprints.iter().copied()));
        }
        let before = filter.to_bytes();
        let (slots, fingerprints) = (2 * filter.geometry().slots, first.fingerprints);
        for _ in 0..2 {
            let error = filter.grow().unwrap_err();
            assert_eq!(error, ResizeError::Fingerprint { slots, fingerprints });
            assert!(error.to_string().contains(&fingerprints.to_string()));
            assert!(filter.to_bytes() == before);
        }
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
    }
    for (keys, bits) in [(1, 1), (100, 1), (100, 2), (333, 7), (1000, 8), (77, 12)] {
        double(filter::<WideBlock>(keys, Some(bits)), &distinct(1, 0..keys as u64));
    }
    for keys in [1, 100, 1000] {
        double(filter::<LineBlock>(keys, None), &distinct(1, 0..keys as u64));
    }
}

/// A resize is refused if there would be at least as many slots as possible fingerprints, or so few slots that 32
/// remainder bits cannot tell the fingerprints apart.
#[test]
fn sizes_that_cannot_store_the_fingerprints_are_refused() {
    let mut short = filter::<WideBlock>(1000, Some(3));
    short.insert_batch(&distinct(2, 0..1000)).unwrap();
    let before = short.to_bytes();
    for keys in [8 * 1053, 100_000, 1 << 30] {
        assert!(
            matches!(short.resize(keys), Err(ResizeError::Fingerprint { .. })),
            "a resize to {keys} keys is not refused, or is refused for the wrong reason"
        );
        assert!(short.to_bytes() == before);
    }
    for keys in [clamped(1 << 43), clamped(1 << 60), usize::MAX] {
        let error = short.resize(keys).unwrap_err();
        assert!(
            matches!(error, ResizeError::TooLarge { .. } | ResizeError::Fingerprint { .. }),
            "a resize to {keys} keys: wrong error: {error}"
        );
        assert!(short.to_bytes() == before);
    }
    let mut long = filter::<WideBlock>(100_000, Some(32));
    long.insert_batch(&distinct(2, 0..10)).unwrap();
    let before = long.to_bytes();
    let error = long.resize(10).unwrap_err();
    assert!(matches!(error, ResizeError::Fingerprint { .. }), "wrong error: {error}");
    // If no smaller size is possible, shrinking changes nothing.
    long.shrink_to_fit().unwrap();
    assert!(long.to_bytes() == before);
    long.resize(200_001).unwrap();
    assert_eq!(long.len(), 10);
}

/// A filter that grows by itself never exceeds the load at which it grows, and keeps every key. Single inserts and
/// batches make the same bytes.
#[test]
fn a_filter_with_a_load_to_grow_at_grows_by_itself() {
    fn grow<L: Layout>(keys: usize, bits: Option<u32>, load: f64) {
        for isa in Isa::available() {
            let mut spec = Spec::default();
            (spec.keys, spec.remainder_bits, spec.grow_at) = (keys, bits, Some(load));
            spec.isa = Some(isa);
            let hashes = distinct(3, 0..20_000);
            let mut singly = Quotient::<L>::from_spec(&spec).unwrap();
            for hash in &hashes {
                singly.insert_hash(*hash).unwrap();
                assert!(
                    singly.load_factor() <= load,
                    "the load is {} on {isa}",
                    singly.load_factor()
                );
            }
            assert!(singly.load_factor() > load / 2.1, "the filter grew before it had to");
            assert!(hashes.iter().all(|hash| singly.contains_hash(*hash)));
            for length in [1, 7, 300, 4999, 20_000] {
                let mut batches = Quotient::<L>::from_spec(&spec).unwrap();
                for batch in hashes.chunks(length) {
                    batches.insert_batch(batch).unwrap();
                    assert!(batches.load_factor() <= load);
                }
                assert!(
                    batches.to_bytes() == singly.to_bytes(),
                    "batches of {length} on {isa} make other bytes than single inserts"
                );
            }
            assert_eq!(singly.isa(), isa);
        }
    }
    grow::<WideBlock>(10, Some(20), 0.9);
    grow::<WideBlock>(1000, Some(14), 0.95);
    grow::<WideBlock>(777, Some(31), 0.5);
    grow::<LineBlock>(1000, None, 0.9);
    grow::<LineBlock>(500, None, 0.75);
}

/// If the filter would have to grow but remainders have only one bit left, an insert fails for that reason and changes
/// nothing. A batch fails at the same key, and says how many keys it inserted.
#[test]
fn a_filter_that_cannot_grow_any_more_returns_a_typed_error() {
    fn exhaust<L: Layout>(keys: usize, bits: Option<u32>) {
        let mut spec = Spec::default();
        (spec.keys, spec.remainder_bits, spec.grow_at) = (keys, bits, Some(0.9));
        let hashes = distinct(4, 0..200_000);
        let mut singly = Quotient::<L>::from_spec(&spec).unwrap();
        let mut batch = singly.clone();
        let (inserted, full) = hashes
            .iter()
            .enumerate()
            .find_map(|(i, hash)| Some((i, singly.insert_hash(*hash).err()?)))
            .unwrap();
        assert_eq!((full.why, full.inserted, full.len), (WhyFull::Fingerprint, 0, singly.len()));
        assert!(full.to_string().contains("fingerprint"));
        assert_eq!(singly.geometry().remainder_bits, 1);
        let before = singly.to_bytes();
        assert_eq!(singly.insert_hash(hashes[inserted]), Err(full));
        assert!(singly.to_bytes() == before);
        assert!(hashes[..inserted].iter().all(|hash| singly.contains_hash(*hash)));
        let full = batch.insert_batch(&hashes).unwrap_err();
        assert_eq!((full.why, full.inserted), (WhyFull::Fingerprint, inserted));
        assert!(batch.to_bytes() == before);
    }
    exhaust::<WideBlock>(100, Some(6));
    exhaust::<WideBlock>(10, Some(3));
    exhaust::<LineBlock>(50, None);
}

/// After a doubling, fewer slots can follow the last quotient's slot than before, since the number of slots is rounded
/// up to whole blocks. If the remainders of the last quotients do not fit there, the error is a lack of slots, not of
/// fingerprint bits.
#[test]
fn a_cluster_at_the_end_that_does_not_fit_a_doubled_table_is_a_lack_of_slots() {
    let builder = QuotientFilter::builder().keys(135).remainder_bits(20);
    let mut filter = builder.multiset(true).grow_at(0.9).build().unwrap();
    // With 143 slots in 4 blocks, 114 slots are left from the last quotient on; with 286 slots in 6 blocks, only 99.
    assert_eq!((filter.geometry().slots, filter.geometry().blocks), (143, 4));
    let (last, other) = (KeyHash::from_raw(u64::MAX), KeyHash::from_raw(1));
    (0..110).for_each(|_| assert_eq!(filter.insert_hash(last), Ok(true)));
    (0..18).for_each(|_| assert_eq!(filter.insert_hash(other), Ok(true)));
    let before = filter.to_bytes();
    let full = filter.insert_hash(other).unwrap_err();
    assert_eq!((full.why, full.len), (WhyFull::Slots, 128));
    assert_eq!(filter.grow(), Err(ResizeError::TooSmall { slots: 286, len: 128 }));
    assert!(filter.to_bytes() == before && filter.count_hash(last) == 110);
}

/// A resize keeps the load at which a filter grows by itself. The frozen bytes do not contain this load.
#[test]
fn growing_by_itself_is_a_setting_of_the_owned_filter() {
    let mut filter =
        QuotientFilter::builder().keys(100).remainder_bits(16).grow_at(0.9).build().unwrap();
    filter.insert_batch(&distinct(5, 0..50)).unwrap();
    filter.resize(60).unwrap();
    filter.grow().unwrap();
    let mut twin = filter.clone();
    let mut read = QuotientFilter::from_bytes(&filter.to_bytes()).unwrap();
    let more = distinct(5, 50..3000);
    filter.insert_batch(&more).unwrap();
    twin.insert_batch(&more).unwrap();
    assert!(filter.to_bytes() == twin.to_bytes() && filter.len() > 2900);
    assert_eq!(read.insert_batch(&more).unwrap_err().why, WhyFull::Slots);
}

/// After removals, shrinking frees the memory that the remaining keys do not need: the load rises to about 95 %.
#[test]
fn shrinking_frees_memory() {
    let hashes = distinct(6, 0..50_000);
    for kept in [0, 1, 100, 5000, 30_000] {
        let mut filter = filter::<WideBlock>(50_000, Some(9));
        filter.insert_batch(&hashes).unwrap();
        let large = filter.memory_bytes();
        let fpr = filter.fpr_with(1000);
        for f in filter.fingerprints().skip(kept).collect::<Vec<_>>() {
            let fingerprints = u128::from(filter.geometry().fingerprints);
            let hash = (u128::from(f) << 64).div_ceil(fingerprints) as u64;
            assert!(filter.remove_hash(KeyHash::from_raw(hash)));
        }
        let held: Vec<u64> = filter.fingerprints().collect();
        filter.shrink_to_fit().unwrap();
        assert!(filter.memory_bytes() < large && filter.fingerprints().eq(held));
        // With very few keys, rounding up to whole slots makes the load lower.
        assert!(
            kept < 1000 || filter.load_factor() > 0.94,
            "{kept} keys kept: the load after shrinking is only {}",
            filter.load_factor()
        );
        assert_eq!(filter.fpr_with(1000), fpr, "shrinking changed the false-positive rate");
    }
    // 995 keys need fewer slots than 1000 keys, but equally many blocks. So shrinking keeps the old table.
    let spec = |keys| QuotientFilter::builder().keys(keys).fingerprint_bits(17).build().unwrap();
    let mut nearly = spec(1000);
    nearly.insert_batch(&hashes[..995]).unwrap();
    let (before, smaller) = (nearly.geometry(), spec(995));
    assert!(smaller.geometry().slots < before.slots);
    assert_eq!(smaller.memory_bytes(), nearly.memory_bytes());
    nearly.shrink_to_fit().unwrap();
    assert_eq!(nearly.geometry(), before);
    // A cache-line filter has the size that it was made with, or at least twice that size.
    let mut line = filter::<LineBlock>(1000, None);
    let small = line.to_bytes();
    (0..3).for_each(|_| line.grow().unwrap());
    line.shrink_to_fit().unwrap();
    assert!(line.to_bytes() == small);
    line.resize(1100).unwrap();
    assert_eq!(line.geometry().slots, 2 * filter::<LineBlock>(1000, None).geometry().slots);
}

/// Filters for different numbers of keys merge, in either direction, if they have equally many possible fingerprints.
/// Otherwise the error has both numbers of possible fingerprints.
#[test]
fn filters_with_equally_many_fingerprints_merge_whatever_their_sizes() {
    let build = |keys: usize, bits: u32| {
        QuotientFilter::builder().keys(keys).fingerprint_bits(bits).build().unwrap()
    };
    let sizes = [10, 300, 1024, 4097, 20_000];
    for bits in [20, 29, 35] {
        for left_keys in sizes {
            for right_keys in sizes {
                let take = (left_keys.min(right_keys) / 3) as u64;
                let (ours, theirs) = (distinct(7, 0..take), distinct(7, take / 2..take + take / 2));
                let (mut left, mut right) = (build(left_keys, bits), build(right_keys, bits));
                left.insert_batch(&ours).unwrap();
                right.insert_batch(&theirs).unwrap();
                let slots = left.geometry().slots;
                left.merge(&right).unwrap();
                assert_eq!(left.geometry().slots, slots);
                let both = [ours, theirs].concat();
                let mut expected: Vec<u64> =
                    both.iter().map(|hash| hash.raw() >> (64 - bits)).collect();
                expected.sort_unstable();
                expected.dedup();
                assert!(
                    left.fingerprints().eq(expected),
                    "{bits} bits: wrong union of filters for {left_keys} and {right_keys} keys"
                );
                let mut fresh = build(left_keys, bits);
                fresh.insert_batch(&both).unwrap();
                assert!(fresh.to_bytes() == left.to_bytes());
            }
        }
    }
    let (mut left, right) = (build(100, 20), build(100, 21));
    let error = merge_incompatible(&mut left, &right);
    assert_eq!((error.left, error.right), (1 << 20, 1 << 21));
}

/// Filters that were built with a false-positive rate for different numbers of keys do not merge. The error names the
/// option with which they would merge.
#[test]
fn filters_built_by_fpr_merge_with_the_option_that_the_error_names() {
    let builder = QuotientFilter::builder().fpr(0.01).grow_at(0.95);
    let by_fpr = |keys| builder.keys(keys).build().unwrap();
    let (mut left, right) = (by_fpr(1000), by_fpr(5000));
    let before = left.to_bytes();
    let error = merge_incompatible(&mut left, &right);
    assert_eq!((error.left, error.right), (134_784, 673_792));
    assert!(error.to_string().contains("`fingerprint_bits`"), "no option named: {error}");
    assert!(left.to_bytes() == before);

    let by_bits = |keys: u64| {
        let filter = builder.keys(keys as usize).fingerprint_bits(20).build();
        let (mut filter, hashes) = (filter.unwrap(), distinct(keys, 0..keys));
        filter.insert_batch(&hashes).unwrap();
        (filter, hashes)
    };
    let absent = distinct(3, 0..100_000);
    for (left, right) in [(1000, 5000), (5000, 1000)] {
        let ((mut left, ours), (right, theirs)) = (by_bits(left), by_bits(right));
        left.merge(&right).unwrap();
        assert!(ours.iter().chain(&theirs).all(|hash| left.contains_hash(*hash)));
        let false_positives = absent.iter().filter(|hash| left.contains_hash(**hash)).count();
        // The filter holds at most 6000 of 2^20 fingerprints. The margin is five standard deviations.
        let mean = absent.len() as f64 * 6000.0 / f64::from(1 << 20);
        assert!(
            (false_positives as f64) < mean + 5.0 * mean.sqrt(),
            "{false_positives} false positives, {mean} expected"
        );
    }
}

/// Merges filters that are incompatible, and returns the error.
fn merge_incompatible(left: &mut QuotientFilter, right: &QuotientFilter) -> Incompatible {
    match left.merge(right).unwrap_err() {
        MergeError::Incompatible(error) => error,
        error => panic!("the merge was refused with the wrong error: {error}"),
    }
}

/// Merges `right` into `left`, which has too few slots for the keys of both, and returns the error.
fn merge_without_room(left: &mut QuotientFilter, right: &QuotientFilter) -> Full {
    match left.merge(right).unwrap_err() {
        MergeError::Full(full) => full,
        error => panic!("the merge was refused with the wrong error: {error}"),
    }
}

/// A filter that grows by itself also grows when it merges with another. A filter that does not grow refuses a merge
/// whose fingerprints do not fit, even if only the end of the table is full and enough slots before it are free. The
/// error has the filter's number of slots.
#[test]
fn a_filter_that_grows_can_merge_with_a_larger_one() {
    let builder = QuotientFilter::builder().keys(100).fingerprint_bits(30);
    let hashes = distinct(8, 0..5000);
    let mut large = QuotientFilter::builder().keys(5000).fingerprint_bits(30).build().unwrap();
    large.insert_batch(&hashes).unwrap();
    let mut fixed = builder.build().unwrap();
    let before = fixed.to_bytes();
    let full = merge_without_room(&mut fixed, &large);
    let slots = fixed.geometry().blocks * u64::from(WideBlock::SLOTS);
    assert_eq!((full.capacity as u64, full.len, full.why), (slots, 0, WhyFull::Slots));
    assert!(fixed.to_bytes() == before);
    // Each of the two filters holds 80 keys of the last quotient. From the slot of this quotient to the end of the
    // table, there are 133 slots. Hundreds of slots before that slot are free.
    let at_the_end = |keys: std::ops::Range<u64>| {
        let mut filter = QuotientFilter::builder().keys(300).remainder_bits(20).build().unwrap();
        let hashes: Vec<KeyHash> =
            keys.map(|key| KeyHash::from_raw(u64::MAX - (key << 36))).collect();
        filter.insert_batch(&hashes).unwrap();
        filter
    };
    let (mut left, right) = (at_the_end(0..80), at_the_end(80..160));
    let full = merge_without_room(&mut left, &right);
    assert!(
        left.len() + right.len() < full.capacity && full.len == left.len(),
        "the error has wrong numbers: {full}"
    );
    let mut growing = builder.grow_at(0.9).build().unwrap();
    growing.merge(&large).unwrap();
    assert!(growing.load_factor() <= 0.9 && growing.fingerprints().eq(large.fingerprints()));
    assert!(hashes.iter().all(|hash| growing.contains_hash(*hash)));
}

/// A merge doubles a filter as often as its `grow_at` requires, and not once more. With a `grow_at` of 1/2, the filter
/// doubles above a whole number of keys, so the test can use exactly this number and the next.
#[test]
fn a_merge_doubles_no_more_than_the_load_requires() {
    let builder = QuotientFilter::builder().keys(100).fingerprint_bits(30).grow_at(0.5);
    let slots = builder.build().unwrap().geometry().slots;
    assert!(slots.is_multiple_of(2));
    for (keys, factor) in [(slots / 2, 1), (slots / 2 + 1, 2), (slots, 2), (slots + 1, 4)] {
        let mut other = QuotientFilter::builder().keys(2000).fingerprint_bits(30).build().unwrap();
        other.insert_batch(&distinct(3, 0..keys)).unwrap();
        assert_eq!(other.len() as u64, keys);
        let mut growing = builder.build().unwrap();
        growing.merge(&other).unwrap();
        assert_eq!(growing.geometry().slots, factor * slots, "{keys} keys");
    }
}

/// Filters that differ in hash function, seed or maximum of copies do not merge after a resize either.
#[test]
fn incompatible_filters_do_not_merge_after_a_resize() {
    let builder = QuotientFilter::builder().keys(300).fingerprint_bits(28);
    let mut left = builder.build().unwrap();
    left.resize(1000).unwrap();
    for other in [builder.multiset(true), builder.seed(1), builder.hasher(Hasher::xxh64(0))] {
        let mut other = other.build().unwrap();
        other.resize(2000).unwrap();
        let error = merge_incompatible(&mut left, &other);
        assert_ne!(error.left, error.right, "the error has equal values: {error}");
    }
}

/// The error for a spec that cannot be met has the numbers of the spec.
#[test]
fn impossible_options_are_typed_errors() {
    let wide = || QuotientFilter::builder().keys(1000);
    for bits in [0, 33, u32::MAX] {
        let error = wide().remainder_bits(bits).build().unwrap_err();
        let expected =
            SpecError::Parameter { name: "remainder_bits", value: bits.into(), min: 1, max: 32 };
        assert_eq!(error, expected);
    }
    for bits in [0, 63, u32::MAX] {
        let error = wide().fingerprint_bits(bits).build().unwrap_err();
        assert!(
            matches!(error, SpecError::Parameter { name: "fingerprint_bits", .. }),
            "wrong error: {error}"
        );
    }
    // With 1053 slots, 32 remainder bits suffice for fingerprints of 42 bits, but not of 43. There must be more
    // fingerprints than slots, so fingerprints have at least 11 bits.
    for bits in [1, 10, 43, 50, 62] {
        let error = wide().fingerprint_bits(bits).build().unwrap_err();
        let (value, max) = (bits.into(), 42);
        let expected = SpecError::Parameter { name: "fingerprint_bits", value, min: 11, max };
        assert_eq!(error, expected);
        let error = wide().fingerprint_bits(bits).memory_bytes(1 << 20).build().unwrap_err();
        assert_eq!(error, expected);
    }
    for bits in 11..=42 {
        assert!(wide().fingerprint_bits(bits).build().is_ok(), "{bits} bits were refused");
    }
    for bits in [1, 9, 16] {
        let error = wide().fingerprint_bits(bits).fpr(0.01).build().unwrap_err();
        assert!(
            matches!(error, SpecError::FprUnreachable { floor, .. } if floor > 0.01),
            "{bits} bits: wrong error: {error}"
        );
    }
    assert!(wide().fingerprint_bits(17).fpr(0.01).build().is_ok());
    for bits in [1, 7, 9, 32] {
        let error =
            CacheLineQuotient::builder().keys(1000).remainder_bits(bits).build().unwrap_err();
        assert!(
            matches!(error, SpecError::Parameter { name: "remainder_bits", .. }),
            "wrong error: {error}"
        );
    }
    let error = wide().remainder_bits(3).fpr(0.01).build().unwrap_err();
    assert!(
        matches!(error, SpecError::FprUnreachable { floor, .. } if floor > 0.1),
        "wrong error: {error}"
    );
}

/// The bytes of resized filters, like those of other filters, must never change between versions.
#[test]
fn golden_digests_of_resized_filters_are_unchanged() {
    fn digest<L: Layout>(bits: Option<u32>, resize: impl Fn(&mut Quotient<L>)) -> u64 {
        let mut filter = filter::<L>(200, bits);
        for key in 0..200u64 {
            filter.insert(&key).unwrap();
        }
        resize(&mut filter);
        Hasher::xxh3(0).hash_bytes(&filter.to_bytes()).raw()
    }
    let digests = [
        digest::<WideBlock>(Some(9), |filter| filter.grow().unwrap()),
        digest::<WideBlock>(Some(9), |filter| filter.resize(777).unwrap()),
        digest::<LineBlock>(None, |filter| filter.grow().unwrap()),
        digest::<LineBlock>(None, |filter| filter.resize(777).unwrap()),
    ];
    assert_eq!(digests, GOLDEN, "the digests are now {digests:#018x?}");
}

const GOLDEN: [u64; 4] =
    [0x6941_8f5c_0ab0_577c, 0x8cc1_373b_04fc_a8ae, 0x7b29_c0b8_357c_c20f, 0x2261_06bb_cde0_621d];

/// A lookup depends only on fingerprints, so a resize changes no answer: it neither adds nor removes false positives.
#[test]
fn resizing_changes_no_answer() {
    let keys = Disjoint::new(9, 3000, 200_000);
    let mut filter = filter::<WideBlock>(3000, Some(6));
    filter.insert_batch(&keys.members).unwrap();
    let answers = |filter: &QuotientFilter| -> Vec<bool> {
        keys.absent.iter().map(|hash| filter.contains_hash(*hash)).collect()
    };
    let before = answers(&filter);
    assert!(before.iter().filter(|found| **found).count() > 2000);
    for size in [4000, 6316, 20_000, 3000] {
        filter.resize(size).unwrap();
        assert!(answers(&filter) == before, "other answers after a resize to room for {size}");
        assert_eq!(filter.count_hash(keys.members[0]), 1);
    }
}

/// The first table of each filter is too small to be mapped from the system, so the choice about huge pages has no
/// effect yet. The filter must still keep the choice for its larger tables.
#[cfg(target_os = "linux")]
#[test]
fn larger_and_merged_filters_keep_the_choice_about_huge_pages() {
    use trommel_base::Backing;
    let small = |huge_pages: bool| {
        let builder = QuotientFilter::builder().keys(500_000).remainder_bits(16);
        let mut filter = builder.huge_pages(huge_pages).build().unwrap();
        assert_eq!(filter.backing(), Backing::Heap);
        filter.insert_batch(&distinct(1, 0..1_000)).unwrap();
        filter
    };
    let larger = |change: &dyn Fn(&mut QuotientFilter)| {
        let [without, with] = [false, true].map(|huge_pages| {
            let mut filter = small(huge_pages);
            change(&mut filter);
            filter
        });
        assert_eq!(without.backing(), Backing::Pages);
        assert_ne!(with.backing(), Backing::Heap);
        assert!(without.to_bytes() == with.to_bytes());
    };
    let double = |filter: &mut QuotientFilter| {
        filter.grow().unwrap();
        filter.grow().unwrap();
    };
    larger(&double);
    larger(&|filter| filter.resize(4_000_000).unwrap());
    larger(&|filter| {
        double(filter);
        let other = filter.clone();
        filter.union(&other).unwrap();
    });
}
