//! The smallest sets, sizes that are refused, and the memory of sets.

use trommel_base::SpecError;
use trommel_textbook::cuckoo_hashing::{
    AsymmetricCuckooSet, BucketCuckooSet, CuckooSet, DAryCuckooSet, DensityCuckooSet,
    HintedCuckooSet, InsertError, MAX_BUCKET_KEYS, MAX_CHOICES, MAX_PLACES, MAX_STASH,
    SimplifiedCuckooSet, StandardCuckooSet, StashCuckooSet,
};

fn refused<T>(made: Result<T, SpecError>) -> (&'static str, u64) {
    match made.err() {
        Some(SpecError::Parameter { name, value, .. }) => (name, value),
        other => panic!("expected a refused parameter, not {other:?}"),
    }
}

#[test]
fn the_error_for_an_impossible_size_names_the_parameter() {
    for bad in [0, MAX_PLACES + 1, u64::MAX] {
        assert_eq!(refused(StandardCuckooSet::new(bad, 0)), ("first_places", bad));
        assert_eq!(refused(StashCuckooSet::new(bad, 1, 0)), ("first_places", bad));
        assert_eq!(refused(DensityCuckooSet::new(bad, 0)), ("first_places", bad));
        assert_eq!(refused(DensityCuckooSet::with_sizes([5, bad], 0)), ("second_places", bad));
        assert_eq!(refused(SimplifiedCuckooSet::new(bad, 0)), ("places", bad));
        assert_eq!(refused(DAryCuckooSet::new(bad, 3, 0)), ("places", bad));
        assert_eq!(refused(BucketCuckooSet::new(bad, 1, 0)), ("places", bad));
        assert_eq!(refused(HintedCuckooSet::new(bad, 0)), ("places", bad.saturating_mul(8)));
    }
    assert_eq!(refused(AsymmetricCuckooSet::new(0, 0.5, 0)), ("first_places", 0));
    for choices in [0, 1, MAX_CHOICES + 1] {
        let made = DAryCuckooSet::new(9, choices, 0);
        assert_eq!(refused(made), ("choices", u64::from(choices)));
    }
    for bucket_keys in [0, MAX_BUCKET_KEYS + 1, u64::MAX] {
        let made = BucketCuckooSet::new(9, bucket_keys, 0);
        assert_eq!(refused(made), ("bucket_keys", bucket_keys));
    }
    assert_eq!(refused(StashCuckooSet::new(9, 65, 0)), ("stash_places", MAX_STASH as u64 + 1));
    for asymmetry in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        let made = AsymmetricCuckooSet::new(9, asymmetry, 0);
        assert!(
            matches!(made, Err(SpecError::LoadOutOfRange { .. })),
            "{asymmetry} was not refused"
        );
    }
    for max_visited in [0, usize::MAX] {
        let made = DAryCuckooSet::new(9, 3, 0).unwrap().with_max_visited(max_visited);
        assert_eq!(refused(made), ("max_visited", max_visited as u64));
    }
}

/// The table takes 35 GB. If the system grants the table, it allocates its pages only when the pages are used.
#[test]
fn tables_beyond_memory_are_refused_or_allocated_lazily() {
    match SimplifiedCuckooSet::new(MAX_PLACES, 0) {
        Ok(mut set) => {
            assert_eq!(set.insert(7), Ok(true));
            assert!(set.contains(7) && !set.contains(8));
        }
        Err(error) => assert!(matches!(error, SpecError::OutOfMemory { .. }), "{error}"),
    }
}

#[test]
fn a_single_place_holds_a_single_key() {
    let mut set = SimplifiedCuckooSet::new(1, 0).unwrap();
    assert_eq!(set.insert(3), Ok(true));
    assert_eq!(set.insert(4), Err(InsertError::Full { len: 1, places: 1 }));
    assert_eq!((set.insert(3), set.remove(3), set.insert(4)), (Ok(false), true, Ok(true)));

    let mut set = DAryCuckooSet::new(1, 4, 0).unwrap();
    assert_eq!((set.insert(3), set.insert(4).is_err(), set.contains(3)), (Ok(true), true, true));

    // Two tables, each of one place, have room for two keys. The kind of set decides whether the third key is refused,
    // makes the tables grow, or overflows.
    let mut set = StashCuckooSet::new(1, 0, 0).unwrap();
    assert_eq!((set.insert(3), set.insert(4)), (Ok(true), Ok(true)));
    assert_eq!(set.insert(5), Err(InsertError::Full { len: 2, places: 2 }));
    let mut set = StandardCuckooSet::new(1, 0).unwrap();
    assert!((0..100).all(|key| set.insert(key) == Ok(true)));
    assert!((0..100).all(|key| set.contains(key)) && set.statistics().rehashes > 5);
    let mut set = DensityCuckooSet::new(1, 0).unwrap();
    assert!((0..100).all(|key| set.insert(key) == Ok(true)));
    assert!((0..100).all(|key| set.contains(key)));
    assert_eq!((set.overflowed(), set.places(), set.statistics().cycles), (98, 2, 98));
}

#[test]
fn a_full_bucket_refuses_a_key_and_keeps_its_own() {
    for bucket_keys in [1, 2, 4, 8, 64] {
        let mut set = BucketCuckooSet::new(1, bucket_keys, 0).unwrap();
        assert!((0..bucket_keys).all(|key| set.insert(key) == Ok(true)));
        let places = bucket_keys as usize;
        let full = InsertError::Full { len: places, places };
        assert_eq!(set.insert(bucket_keys), Err(full));
        assert!((0..bucket_keys).all(|key| set.contains(key)));
    }
}

#[test]
fn a_place_takes_eight_bytes_and_a_bit() {
    let table = |places: usize| places * 8 + places.div_ceil(8);
    assert_eq!(StandardCuckooSet::new(1000, 0).unwrap().memory_bytes(), 2 * table(1000));
    assert_eq!(SimplifiedCuckooSet::new(77, 0).unwrap().memory_bytes(), table(77));
    assert_eq!(HintedCuckooSet::new(10, 0).unwrap().memory_bytes(), table(80) + 160);
    assert_eq!(StashCuckooSet::new(80, 4, 0).unwrap().memory_bytes(), 2 * table(80) + 32);
    let asymmetric = AsymmetricCuckooSet::new(1000, 0.25, 0).unwrap();
    assert_eq!(asymmetric.sizes(), [1250, 750]);
    assert_eq!(asymmetric.memory_bytes(), table(1250) + table(750));
}
