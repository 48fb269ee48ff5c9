//! All sets with their names, for tests that apply to each of them.

use trommel_textbook::cuckoo_hashing::{
    AsymmetricCuckooSet, BucketCuckooSet, CuckooSet, DAryCuckooSet, DensityCuckooSet,
    HintedCuckooSet, SimplifiedCuckooSet, StandardCuckooSet, StashCuckooSet,
};

/// Every variant with about `places` places: its name, whether it accepts any number of keys, and the set. The caller
/// must ensure that `places` is at least 8.
pub(crate) fn all(places: u64, seed: u64) -> Vec<(&'static str, bool, Box<dyn CuckooSet>)> {
    let half = places / 2;
    vec![
        ("standard", true, Box::new(StandardCuckooSet::new(half, seed).unwrap()) as _),
        ("asymmetric", true, Box::new(AsymmetricCuckooSet::new(half, 0.3, seed).unwrap())),
        ("simplified", false, Box::new(SimplifiedCuckooSet::new(places, seed).unwrap())),
        ("no stash", false, Box::new(StashCuckooSet::new(half, 0, seed).unwrap())),
        ("stash of 3", false, Box::new(StashCuckooSet::new(half, 3, seed).unwrap())),
        ("2-ary", false, Box::new(DAryCuckooSet::new(places, 2, seed).unwrap())),
        ("3-ary", false, Box::new(DAryCuckooSet::new(places, 3, seed).unwrap())),
        ("5-ary", false, Box::new(DAryCuckooSet::new(places, 5, seed).unwrap())),
        ("buckets of 1", false, Box::new(BucketCuckooSet::new(places, 1, seed).unwrap())),
        ("buckets of 4", false, Box::new(BucketCuckooSet::new(places / 4, 4, seed).unwrap())),
        ("hinted", false, Box::new(HintedCuckooSet::new(places / 8, seed).unwrap())),
        ("density", true, Box::new(DensityCuckooSet::new(half, seed).unwrap())),
        (
            "density, short",
            true,
            Box::new(DensityCuckooSet::new(half, seed).unwrap().with_max_displacements(1)),
        ),
        (
            "density, asymmetric",
            true,
            Box::new(DensityCuckooSet::with_sizes([half + half / 2, half / 2], seed).unwrap()),
        ),
    ]
}
