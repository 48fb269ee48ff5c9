//! Tests of the claims about density-based cuckoo hashing.

use trommel_testkit::streams::distinct;
use trommel_textbook::cuckoo_hashing::{
    CuckooSet, DensityCuckooSet, StandardCuckooSet, StashCuckooSet,
};

fn keys(seed: u64, count: u64) -> Vec<u64> {
    distinct(seed, 0..count).iter().map(|hash| hash.raw()).collect()
}

#[test]
fn there_is_no_rehash_at_any_load() {
    for (places, count) in [(16, 200), (500, 900), (500, 1000), (500, 5000)] {
        let mut set = DensityCuckooSet::new(places, 7).unwrap();
        let keys = keys(places, count);
        assert!(keys.iter().all(|key| set.insert(*key) == Ok(true)));
        assert!(keys.iter().all(|key| set.contains(*key)));
        assert_eq!((set.places() as u64, set.statistics().rehashes), (2 * places, 0));
        // Every key stands in a table or in an overflow chain.
        let [first, second] = set.held();
        assert_eq!(first + second + set.overflowed() as u64, count);
        assert_eq!(set.statistics().cycles, set.overflowed() as u64);
        assert!(set.overflowed() as i64 >= count as i64 - 2 * places as i64);
    }
}

/// Without a limit on displacements, the set places as many keys as the cuckoo graph has room for. The nodes of this
/// graph are the places, each key joins its two places, and a component takes at most as many keys as it has nodes. So
/// the number of placed keys depends neither on the order of the keys nor on the order in which places are tried, and a
/// [`StashCuckooSet`] with the same hash functions must place the same number of keys.
#[test]
fn only_keys_that_cannot_be_placed_overflow() {
    for seed in 0..20 {
        let mut unbounded = DensityCuckooSet::new(200, seed).unwrap();
        unbounded = unbounded.with_max_displacements(u64::MAX);
        let keys = keys(seed, 230);
        keys.iter().for_each(|key| assert!(unbounded.insert(*key).is_ok()));
        let mut stash = StashCuckooSet::new(200, 64, seed).unwrap();
        keys.iter().for_each(|key| assert!(stash.insert(*key).is_ok()));
        assert_eq!(unbounded.overflowed(), stash.stashed(), "seed {seed}");
    }
}

#[test]
fn keys_that_would_exceed_the_displacement_limit_are_chained() {
    let overflowed_and_longest = |limit| {
        let mut set = DensityCuckooSet::new(2000, 3).unwrap().with_max_displacements(limit);
        let mut longest = 0;
        for key in keys(3, 2000) {
            let before = set.statistics().displacements;
            set.insert(key).unwrap();
            longest = longest.max(set.statistics().displacements - before);
        }
        assert!(longest <= limit, "{longest} displacements, limit {limit}");
        (set.overflowed(), longest)
    };
    let (with_0, _) = overflowed_and_longest(0);
    let (with_3, longest) = overflowed_and_longest(3);
    let (with_400, _) = overflowed_and_longest(400);
    assert!(
        with_0 > with_3 && with_3 > with_400 && longest == 3,
        "keys chained with limits 0, 3, 400: {with_0}, {with_3}, {with_400}; longest path {longest}"
    );
}

/// Without removals, the density-based and the standard method both fill a place of the first table as soon as a key
/// hashes to that place. So, as long as no key overflows and no insert rehashes, each table has as many keys with one
/// method as with the other. For the same reason, the first of two equally large tables is nearly always the denser
/// one.
#[test]
fn equally_large_tables_fill_as_with_the_standard_method() {
    let mut density = DensityCuckooSet::new(10_000, 5).unwrap();
    let mut standard = StandardCuckooSet::new(10_000, 5).unwrap();
    for key in keys(5, 9_000) {
        density.insert(key).unwrap();
        standard.insert(key).unwrap();
        assert_eq!(density.held(), standard.held());
    }
    assert_eq!((density.overflowed(), standard.statistics().rehashes), (0, 0));
}

/// At loads below one half and with tables of the same size, the density-based method displaces fewer keys than the
/// standard method, since the density-based method first looks for a free place in both tables.
#[test]
fn checking_both_places_first_needs_fewer_displacements() {
    for load in [0.3, 0.4, 0.45] {
        let count = (load * 100_000.0) as u64;
        let keys = keys(8, count);
        let mut density = DensityCuckooSet::new(50_000, 8).unwrap();
        let mut standard = StandardCuckooSet::new(50_000, 8).unwrap();
        for key in &keys {
            density.insert(*key).unwrap();
            standard.insert(*key).unwrap();
        }
        let (with_density, with_standard) =
            (density.statistics().displacements, standard.statistics().displacements);
        assert_eq!(standard.statistics().rehashes, 0);
        assert!(
            4 * with_density < with_standard,
            "load {load}: {with_density} displacements, {with_standard} with the standard method"
        );
    }
}

#[test]
fn overflow_chains_take_memory_only_after_an_overflow() {
    let mut set = DensityCuckooSet::new(1000, 2).unwrap();
    let empty = set.memory_bytes();
    let keys = keys(2, 3000);
    for key in &keys {
        set.insert(*key).unwrap();
        let expected = set.overflowed() > 0;
        assert_eq!(set.memory_bytes() > empty, expected);
    }
    assert!(set.memory_bytes() >= empty + 4 * 1000 + 16 * set.overflowed());
    // The chains reuse the memory of removed keys.
    let full = set.memory_bytes();
    for key in &keys {
        assert!(set.remove(*key));
    }
    assert!(set.is_empty() && set.overflowed() == 0);
    keys.iter().for_each(|key| assert!(set.insert(*key).is_ok()));
    assert_eq!(set.memory_bytes(), full);
}
