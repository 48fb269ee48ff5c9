//! What the density-based method claims, against an exact view of the cuckoo graph.

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
        // Every key has cost either a place or an overflow.
        let [first, second] = set.held();
        assert_eq!(first + second + set.overflowed() as u64, count);
        assert_eq!(set.statistics().cycles, set.overflowed() as u64);
        assert!(set.overflowed() as i64 >= count as i64 - 2 * places as i64);
    }
}

/// Without a bound, as many keys are placed as the cuckoo graph has room for: of each component, at most
/// as many edges as nodes. How many that is depends neither on the order of the keys nor on the order in
/// which places are tried; a table with the same hash functions and a stash that is large enough tells.
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
fn a_bound_chains_what_would_take_longer() {
    let displaced_at_most = |bound| {
        let mut set = DensityCuckooSet::new(2000, 3).unwrap().with_max_displacements(bound);
        let mut longest = 0;
        for key in keys(3, 2000) {
            let before = set.statistics().displacements;
            set.insert(key).unwrap();
            longest = longest.max(set.statistics().displacements - before);
        }
        assert!(longest <= bound, "{longest} of {bound}");
        (set.overflowed(), longest)
    };
    let (none, _) = displaced_at_most(0);
    let (few, three) = displaced_at_most(3);
    let (all, _) = displaced_at_most(400);
    assert!(none > few && few > all && three == 3, "{none} {few} {all}");
}

/// Without removals, a place of the first table is taken as soon as a key hashes to it, with either
/// method: so the first table of two alike is always the denser one, and both methods fill them alike.
/// Where displacing begins makes a difference where tables are unlike, or after removals.
#[test]
fn tables_alike_fill_as_with_the_standard_method() {
    let mut density = DensityCuckooSet::new(10_000, 5).unwrap();
    let mut standard = StandardCuckooSet::new(10_000, 5).unwrap();
    for key in keys(5, 9_000) {
        density.insert(key).unwrap();
        standard.insert(key).unwrap();
        assert_eq!(density.held(), standard.held());
    }
    assert_eq!((density.overflowed(), standard.statistics().rehashes), (0, 0));
}

/// Below one half, and with both methods in tables of the same size: fewer displacements, since a free
/// place is looked for in both tables first.
#[test]
fn looking_at_both_places_first_displaces_less() {
    for load in [0.3, 0.4, 0.45] {
        let count = (load * 100_000.0) as u64;
        let keys = keys(8, count);
        let mut density = DensityCuckooSet::new(50_000, 8).unwrap();
        let mut standard = StandardCuckooSet::new(50_000, 8).unwrap();
        for key in &keys {
            density.insert(*key).unwrap();
            standard.insert(*key).unwrap();
        }
        let (ours, theirs) =
            (density.statistics().displacements, standard.statistics().displacements);
        assert_eq!(standard.statistics().rehashes, 0);
        assert!(4 * ours < theirs, "{load}: {ours} and {theirs} displacements");
    }
}

#[test]
fn overflow_takes_memory_only_where_something_overflows() {
    let mut set = DensityCuckooSet::new(1000, 2).unwrap();
    let empty = set.memory_bytes();
    let keys = keys(2, 3000);
    for key in &keys {
        set.insert(*key).unwrap();
        let expected = set.overflowed() > 0;
        assert_eq!(set.memory_bytes() > empty, expected);
    }
    assert!(set.memory_bytes() >= empty + 4 * 1000 + 16 * set.overflowed());
    // What was removed is used again.
    let full = set.memory_bytes();
    for key in &keys {
        assert!(set.remove(*key));
    }
    assert!(set.is_empty() && set.overflowed() == 0);
    keys.iter().for_each(|key| assert!(set.insert(*key).is_ok()));
    assert_eq!(set.memory_bytes(), full);
}
