//! The loads at which sets first cannot place a key.

use trommel_testkit::streams::distinct;
use trommel_textbook::cuckoo_hashing::{
    AsymmetricCuckooSet, BucketCuckooSet, CuckooSet, DAryCuckooSet, HintedCuckooSet,
    SimplifiedCuckooSet, StandardCuckooSet, StashCuckooSet,
};

const SEEDS: u64 = 5;

/// The mean load at which an insert first finds no free place, or reaches a limit before it finds one.
fn load_limit<S: CuckooSet>(make: impl Fn(u64) -> S) -> f64 {
    let load = |seed| {
        let mut set = make(seed);
        let places = set.places();
        for (inserted, key) in distinct(seed + 50, 0..2 * places as u64).iter().enumerate() {
            let _ = set.insert(key.raw());
            if set.statistics().cycles > 0 {
                return inserted as f64 / places as f64;
            }
        }
        panic!("no insert cycled")
    };
    (0..SEEDS).map(load).sum::<f64>() / SEEDS as f64
}

fn assert_near(what: &str, load: f64, published: f64) {
    assert!((load - published).abs() < 0.015, "{what}: {load:.4}, published {published}");
}

#[test]
fn more_places_per_key_reach_the_published_loads() {
    for (choices, published) in [(3, 0.91), (4, 0.97), (5, 0.99)] {
        let load = load_limit(|seed| DAryCuckooSet::new(1 << 14, choices, seed).unwrap());
        assert_near(&format!("{choices} places"), load, published);
    }
}

#[test]
fn buckets_reach_the_published_loads() {
    for (bucket_keys, published) in [(1, 0.5), (2, 0.897), (3, 0.959), (4, 0.980)] {
        let buckets = (1 << 15) / bucket_keys;
        let load = load_limit(|seed| BucketCuckooSet::new(buckets, bucket_keys, seed).unwrap());
        assert_near(&format!("buckets of {bucket_keys}"), load, published);
    }
}

/// With two places per key, the load limit is one half, with one table and with two.
#[test]
fn two_places_per_key_reach_a_load_of_one_half() {
    let load = load_limit(|seed| SimplifiedCuckooSet::new(1 << 17, seed).unwrap());
    assert_near("simplified", load, 0.5);
    let load = load_limit(|seed| StashCuckooSet::new(1 << 16, 0, seed).unwrap());
    assert_near("two tables", load, 0.5);
    let load = load_limit(|seed| DAryCuckooSet::new(1 << 17, 2, seed).unwrap());
    assert_near("2-ary", load, 0.5);
    let load = load_limit(|seed| StandardCuckooSet::new(1 << 16, seed).unwrap());
    assert_near("standard", load, 0.5);
}

/// The load limit for asymmetry `c` is `√(1 − c²) / 2`.
#[test]
fn more_asymmetry_lowers_the_load_limit() {
    for asymmetry in [0.2f64, 0.4, 0.6, 0.8] {
        let published = (1.0 - asymmetry * asymmetry).sqrt() / 2.0;
        let make = |seed| AsymmetricCuckooSet::new(1 << 17, asymmetry, seed).unwrap();
        assert_near(&format!("asymmetry {asymmetry}"), load_limit(make), published);
    }
}

/// Buckets of eight keys fill to over 95 % although an insert hardly ever makes more than two displacements.
#[test]
fn bounded_displacement_still_fills_large_buckets() {
    let load = load_limit(|seed| HintedCuckooSet::new(1 << 12, seed).unwrap());
    assert!(load > 0.95 && load < 0.998, "the load limit is {load:.4}");
}
