//! Measures the load that every variant of cuckoo filters and cuckoo hash tables reaches before the first insert that
//! fails or that needs more memory than the original tables have.

use super::Effort;
use anyhow::{Result, ensure};
use serde::Serialize;
use trommel_base::{Filter as _, Hasher, Insert as _, KeyHash};
use trommel_textbook::TextbookCuckooFilter;
use trommel_textbook::cuckoo::Kicks;
use trommel_textbook::cuckoo_hashing::{
    AsymmetricCuckooSet, BucketCuckooSet, CuckooSet, DAryCuckooSet, DensityCuckooSet,
    HintedCuckooSet, SimplifiedCuckooSet, StandardCuckooSet, StashCuckooSet,
};

/// The number of bits in a fingerprint. It is so large that two keys rarely have the same fingerprint and the same
/// buckets.
const FINGERPRINT_BITS: u32 = 20;

/// The loads, in keys per place, that the tables of one variant reached.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Limit {
    pub(crate) system: &'static str,
    pub(crate) variant: String,
    /// A text that says how far an insert searches before it gives up, such as `0.2 m`. `m` is the number of places in
    /// one of two tables; if the tables differ in size, in the larger table. `whole path` means that the search follows
    /// the path of displacements until the path ends or cycles.
    pub(crate) search: &'static str,
    pub(crate) places: u64,
    pub(crate) seeds: u64,
    pub(crate) mean: f64,
    pub(crate) min: f64,
    /// The load according to the literature.
    pub(crate) published: f64,
}

/// A variant. `fill` creates a table from a seed, and fills it until an insert fails or needs more memory. `fill`
/// returns the number of places of the table, and the load before this last insert.
struct Variant {
    system: &'static str,
    variant: String,
    search: &'static str,
    published: f64,
    fill: Box<dyn Fn(u64) -> Result<(u64, f64)>>,
}

/// Fills tables of every variant.
pub(super) fn measure(effort: &Effort, say: &mut impl FnMut(&str)) -> Result<Vec<Limit>> {
    let mut limits = Vec::new();
    for Variant { system, variant, search, published, fill } in variants(effort.place_bits) {
        say(&format!("filling a {system}, {variant}"));
        let filled = (0..effort.seeds).map(&fill).collect::<Result<Vec<_>>>()?;
        let loads = || filled.iter().map(|(_, load)| *load);
        limits.push(Limit {
            system,
            variant,
            search,
            places: filled.first().map_or(0, |(places, _)| *places),
            seeds: effort.seeds,
            mean: loads().sum::<f64>() / effort.seeds as f64,
            min: loads().fold(f64::INFINITY, f64::min),
            published,
        });
    }
    Ok(limits)
}

fn variants(place_bits: u32) -> Vec<Variant> {
    let filter = |bucket_bits: u32, max_kicks: u32, search, published| {
        let bits = place_bits - bucket_bits;
        Variant {
            system: "cuckoo filter",
            variant: format!("b = {}", 1 << bucket_bits),
            search,
            published,
            fill: Box::new(move |seed| fill_filter(bits, 1 << bucket_bits, max_kicks, seed)),
        }
    };
    let places = 1u64 << place_bits;
    let half = places / 2;
    let whole_path = "whole path";
    let most_places = "2^16 places";
    let mut all = vec![
        filter(0, 500, "500 kicks", 0.50),
        filter(1, 150, "150 kicks", 0.84),
        filter(1, 500, "500 kicks", 0.84),
        filter(2, 200, "200 kicks", 0.95),
        filter(2, 500, "500 kicks", 0.95),
        set("two tables", "3 log_1.1 m rounds", 0.5, move |seed| {
            StandardCuckooSet::new(half, seed)
        }),
        set("one table", whole_path, 0.5, move |seed| SimplifiedCuckooSet::new(places, seed)),
        set("two tables, stash of 4", whole_path, 0.5, move |seed| {
            StashCuckooSet::new(half, 4, seed)
        }),
        set("density-based", "0.2 m", 0.5, move |seed| DensityCuckooSet::new(half, seed)),
    ];
    for asymmetry in [0.3, 0.6f64] {
        let published = (1.0 - asymmetry * asymmetry).sqrt() / 2.0;
        let make = move |seed| AsymmetricCuckooSet::new(half, asymmetry, seed);
        all.push(set(
            &format!("asymmetric, c = {asymmetry}"),
            "3 log_1.1 m rounds",
            published,
            make,
        ));
    }
    for (choices, published) in [(3, 0.918), (4, 0.977), (5, 0.992)] {
        let make = move |seed| DAryCuckooSet::new(places, choices, seed);
        all.push(set(&format!("d = {choices}"), most_places, published, make));
    }
    for (keys, published) in [(2, 0.897), (4, 0.980)] {
        let make = move |seed| BucketCuckooSet::new(places / keys, keys, seed);
        all.push(set(&format!("buckets of {keys}"), most_places, published, make));
    }
    let make = move |seed| HintedCuckooSet::new(places / 8, seed);
    all.push(set("buckets of 8, hints", "1000 places", 0.998, make));
    all
}

fn set<S: CuckooSet>(
    variant: &str,
    search: &'static str,
    published: f64,
    make: impl Fn(u64) -> Result<S, trommel::SpecError> + 'static,
) -> Variant {
    Variant {
        system: "hash table",
        variant: variant.into(),
        search,
        published,
        fill: Box::new(move |seed| fill_set(make(seed)?, seed)),
    }
}

/// Returns the key with this number. With the same seed, keys of different numbers are distinct. Each seed gives other
/// keys.
fn key(seed: u64, number: u64) -> u64 {
    Hasher::xxh3(!seed).hash_u64(number).raw()
}

fn fill_filter(bucket_bits: u32, b: u32, max_kicks: u32, seed: u64) -> Result<(u64, f64)> {
    let filter = TextbookCuckooFilter::new(bucket_bits, b, FINGERPRINT_BITS)?;
    let mut filter = filter.with_kicks(Kicks::new(max_kicks, seed)?);
    let hash = |number| KeyHash::from_raw(key(seed, number));
    let mut inserted = 0;
    while filter.insert_hash(hash(inserted)).is_ok() {
        inserted += 1;
    }
    ensure!(
        (0..inserted).all(|number| filter.contains_hash(hash(number))),
        "a cuckoo filter does not find an inserted key"
    );
    Ok((filter.capacity() as u64, filter.load()))
}

/// Fills a set until an insert finds no place in the original tables. Such an insert is refused, or
/// it increases the memory, because the tables grow or the key is the first in an overflow chain.
/// Returns the number of places and the load before this insert.
fn fill_set(mut set: impl CuckooSet, seed: u64) -> Result<(u64, f64)> {
    let (places, memory_bytes) = (set.places() as u64, set.memory_bytes());
    let mut inserted = 0;
    while set.insert(key(seed, inserted)).is_ok() && set.memory_bytes() == memory_bytes {
        inserted += 1;
    }
    ensure!(
        (0..inserted).all(|number| set.contains(key(seed, number))),
        "a cuckoo hash table does not find an inserted key"
    );
    Ok((places, inserted as f64 / places as f64))
}
