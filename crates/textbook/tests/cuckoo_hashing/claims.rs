//! Tests of claims that the papers make about their variants.

use trommel_testkit::streams::distinct;
use trommel_textbook::cuckoo_hashing::{
    AsymmetricCuckooSet, CuckooSet, DAryCuckooSet, HintedCuckooSet, StandardCuckooSet,
    StashCuckooSet,
};

fn filled<S: CuckooSet>(mut set: S, keys: u64, seed: u64) -> S {
    for key in distinct(seed, 0..keys) {
        set.insert(key.raw()).unwrap();
    }
    set
}

/// Pagh and Rodler: inserts take constant time on average while the load stays below one half by a constant margin. So
/// displacements per key are about the same with 10,000 and with 300,000 keys.
#[test]
fn displacements_per_key_do_not_grow_with_the_table() {
    let displacements = |keys: u64| {
        let set = filled(StandardCuckooSet::new(keys * 5 / 4, 2).unwrap(), keys, 2);
        assert_eq!(set.statistics().rehashes, 0);
        set.statistics().displacements as f64 / keys as f64
    };
    let (few, many) = (displacements(10_000), displacements(300_000));
    assert!((many / few - 1.0).abs() < 0.1, "{few} and {many} displacements per key");
}

#[test]
fn a_rehash_doubles_the_tables_and_keeps_all_keys() {
    let mut set = StandardCuckooSet::new(100, 4).unwrap();
    let keys = distinct(4, 0..5000);
    for (inserted, key) in keys.iter().enumerate() {
        let before = (set.places(), set.statistics().rehashes);
        assert_eq!(set.insert(key.raw()), Ok(true));
        let rehashes = set.statistics().rehashes - before.1;
        assert_eq!(set.places(), before.0 << rehashes);
        if rehashes > 0 {
            assert!(keys[..=inserted].iter().all(|key| set.contains(key.raw())));
        }
    }
    let statistics = set.statistics();
    // Each insert that reaches its limit, even one during a rehash, is followed by one attempt to rehash into larger
    // tables.
    assert!(statistics.rehashes >= 5 && statistics.cycles == statistics.rehashes);
}

/// Kutzelnigg: below the load limit, asymmetric tables have more keys in the first table, which is the larger one, and
/// need fewer displacements than two equally large tables with the same total number of places.
#[test]
fn a_larger_first_table_holds_more_keys_and_displaces_less() {
    let (places, keys) = (1 << 16, 50_000);
    let standard = filled(StandardCuckooSet::new(places, 3).unwrap(), keys, 3);
    let mut before = standard.held()[0];
    let mut displacements = standard.statistics().displacements;
    for asymmetry in [0.1, 0.2, 0.3] {
        let set = filled(AsymmetricCuckooSet::new(places, asymmetry, 3).unwrap(), keys, 3);
        assert_eq!((set.places(), set.statistics().rehashes), (2 << 16, 0));
        assert!(
            set.held()[0] > before,
            "asymmetry {asymmetry}: {} keys in the first table, {before} with less asymmetry",
            set.held()[0]
        );
        assert!(
            set.statistics().displacements < displacements,
            "asymmetry {asymmetry}: not fewer displacements than the {displacements} with less asymmetry"
        );
        (before, displacements) = (set.held()[0], set.statistics().displacements);
    }
}

/// Kirsch, Mitzenmacher and Wieder: each place of the stash makes failures rarer by a factor of the order
/// of the table size.
#[test]
fn each_place_of_a_stash_makes_failures_over_four_times_rarer() {
    const TRIALS: u64 = 20_000;
    let failures = |stash: usize| {
        let fails = |seed: &u64| {
            let mut set = StashCuckooSet::new(125, stash, *seed).unwrap();
            distinct(*seed, 0..100).iter().any(|key| set.insert(key.raw()).is_err())
        };
        (0..TRIALS).filter(fails).count()
    };
    let failed = [0, 1, 2, 3].map(failures);
    assert!(failed[0] > 300, "failures with stashes of 0 to 3: {failed:?}");
    assert!(
        failed.windows(2).all(|pair| pair[1] * 4 < pair[0]),
        "failures with stashes of 0 to 3: {failed:?}"
    );
}

/// A removal makes room in a component of the cuckoo graph, and a stashed key of that component moves to the tables.
#[test]
fn stashed_keys_move_to_the_tables_when_there_is_room() {
    let mut set = StashCuckooSet::new(64, 8, 9).unwrap();
    let mut keys = Vec::new();
    for key in distinct(9, 0..1000) {
        if set.insert(key.raw()).is_ok() {
            keys.push(key.raw());
        }
    }
    assert_eq!(set.stashed(), 8);
    while let Some(key) = keys.pop() {
        assert!(set.remove(key));
        assert_eq!(set.len(), keys.len());
        assert!(keys.iter().all(|key| set.contains(*key)));
    }
    assert_eq!(set.stashed(), 0);
}

/// Fotakis et al.: an insert visits a constant number of places on average. At the same load, more places
/// per key mean fewer displacements.
#[test]
fn more_places_per_key_need_fewer_displacements() {
    let displacements = |choices, keys| {
        let set = DAryCuckooSet::new(keys * 10 / 8, choices, 1).unwrap();
        let set = filled(set, keys, 1);
        set.statistics().displacements as f64 / keys as f64
    };
    let [three, four, five] = [3, 4, 5].map(|choices| displacements(choices, 20_000));
    assert!(
        three > 1.5 * four && four > 1.2 * five,
        "displacements per key with 3, 4 and 5 places: {three}, {four}, {five}"
    );
    let large = displacements(3, 100_000);
    assert!(
        (large / three - 1.0).abs() < 0.05,
        "displacements per key with 20,000 and 100,000 keys: {three}, {large}"
    );
}

/// Le Scouarnec: almost all lookups of absent keys read only one bucket, at all loads used in practice.
#[test]
fn most_lookups_of_absent_keys_skip_the_second_bucket() {
    for (load, limit) in [(0.5, 0.001), (0.75, 0.002), (0.9, 0.005)] {
        let buckets = 1u64 << 13;
        let keys = (load * (8 * buckets) as f64) as u64;
        let set = filled(HintedCuckooSet::new(buckets, 6).unwrap(), keys, 6);
        let absent = distinct(6, keys..keys + 100_000);
        let not_skipped = absent.iter().filter(|key| set.needs_second_bucket(key.raw())).count();
        let share = not_skipped as f64 / 100_000.0;
        assert!(share < limit, "a share of {share} reads the second bucket at load {load}");
    }
}

/// A bucket's hint records the keys whose first bucket is this bucket, but which stand in their second bucket. The hint
/// is cleared when the last of these keys has been removed or has moved back.
#[test]
fn hints_are_cleared_when_their_keys_are_removed() {
    let buckets = 256;
    let mut set = HintedCuckooSet::new(buckets, 1).unwrap();
    let keys = distinct(1, 0..1900);
    keys.iter().for_each(|key| assert!(set.insert(key.raw()).is_ok()));
    assert!(set.keys_away() > 100);
    let hinted = |set: &HintedCuckooSet| {
        distinct(2, 0..20_000).iter().filter(|key| set.needs_second_bucket(key.raw())).count()
    };
    assert!(hinted(&set) > 20);
    keys.iter().for_each(|key| assert!(set.remove(key.raw())));
    assert_eq!((set.keys_away(), hinted(&set), set.len()), (0, 0, 0));
}
