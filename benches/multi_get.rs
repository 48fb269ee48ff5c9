//! What does it cost to look one key up in many filters, one after the other and by one call?
//!
//! There are 1,024 filters of 62,500 to 100,000 keys, which take more than 80 MB together. In each round, one filter is
//! asked for a key that it holds, and all others for the same absent key. A point read of a storage engine does nearly
//! the same if it must find out which of many files has the key. The filters are either views of frozen bytes, or
//! filter blocks. The one call is `contains_many` for views, and `may_match_many` for blocks. Each round measures two
//! ways: a lookup per filter, and the one call. Each way has an absent key of its own, and the next round measures the
//! ways in the other order. Prints the medians in nanoseconds per filter. The answers are compared with those of single
//! lookups.
//!
//! ```sh
//! cargo bench -p trommel-benches --bench multi_get -- [ROUNDS]
//! ```

use std::time::Instant;
use trommel::{Bitmap, Filter, FilterKind, FilterPolicy, FilterView, Isa, KeyHash};
use trommel_benches::{filled, hashes};

const FILTERS: usize = 1_024;
const KEYS: usize = 100_000;
const KINDS: [FilterKind; 7] = [
    FilterKind::Bloom,
    FilterKind::RegisterBloom,
    FilterKind::SplitBlockBloom,
    FilterKind::CacheLineBloom,
    FilterKind::Quotient,
    FilterKind::CacheLineQuotient,
    FilterKind::Cuckoo,
];
/// Bits per key of filter blocks. Every kind in [`KINDS`] has filter blocks with this number of bits per key.
const BLOCK_BITS_PER_KEY: f64 = 12.0;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Measures both ways in `rounds` rounds, checks the answers, and prints a row with the name `name`. A probe is a
/// filter and a hash. `probe` makes a probe from the index of the filter and the hash, `one` answers a single probe,
/// and `many` answers all probes in one call.
fn measure<P>(
    name: &str,
    rounds: usize,
    probe: impl Fn(usize, KeyHash) -> P,
    one: impl Fn(&P) -> bool,
    many: impl Fn(&[P], &mut Bitmap),
) {
    let keys = hashes(1, KEYS);
    // Each way has its own absent keys, so that their lookups do not find in cache what the other way has loaded.
    let absent = hashes(2, 2 * rounds);
    let mut times = [Vec::new(), Vec::new()];
    let mut found = Bitmap::new(0);
    for round in 0..rounds {
        // The index of the filter that is asked for one of its keys. Every filter holds the first `KEYS / 2` keys.
        let owner = round % FILTERS;
        for way in [round % 2, 1 - round % 2] {
            let hash =
                |i| if i == owner { keys[round % (KEYS / 2)] } else { absent[2 * round + way] };
            let probes: Vec<P> = (0..FILTERS).map(|i| probe(i, hash(i))).collect();
            let start = Instant::now();
            if way == 0 {
                found.reset(probes.len());
                for (i, probe) in probes.iter().enumerate() {
                    if one(probe) {
                        found.set(i);
                    }
                }
            } else {
                many(&probes, &mut found);
            }
            times[way].push(start.elapsed().as_nanos() as f64 / FILTERS as f64);
            assert!(found.get(owner), "{name} does not find a key");
            for (i, probe) in probes.iter().enumerate() {
                assert_eq!(
                    found.get(i),
                    one(probe),
                    "{name}: answer {i} differs from a single lookup"
                );
            }
        }
    }
    let [one, many] = times.map(median);
    println!("| {name} | {one:.1} | {many:.1} | {:.2} |", one / many);
}

/// Makes [`FILTERS`] filters: copies of sixteen filters with different numbers of keys, so that a key is not at the
/// same offset in all tables.
fn copies(filter: impl Fn(&[KeyHash]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let keys = hashes(1, KEYS);
    let sixteen: Vec<Vec<u8>> = (0..16).map(|i| filter(&keys[..KEYS - i * 2_500])).collect();
    sixteen.iter().cycle().take(FILTERS).cloned().collect()
}

fn main() {
    let rounds =
        std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(301);
    println!("| filters | one after the other, ns | by one call, ns | ratio |");
    println!("|---|---:|---:|---:|");
    for kind in KINDS {
        let frozen = copies(|keys| filled(kind, Isa::best(), keys).to_bytes());
        let views: Vec<FilterView<'_>> =
            frozen.iter().map(|bytes| FilterView::parse(bytes).expect("frozen bytes")).collect();
        measure(
            &format!("views, {kind}"),
            rounds,
            |i, hash| (&views[i], hash),
            |(view, hash)| view.contains_hash(*hash),
            FilterView::contains_many,
        );
    }
    for kind in KINDS {
        let policy = FilterPolicy::builder(kind)
            .bits_per_key(BLOCK_BITS_PER_KEY)
            .build()
            .expect("every kind in the list has filter blocks");
        let blocks = copies(|keys| policy.build(keys));
        measure(
            &format!("blocks, {kind}"),
            rounds,
            |i, hash| (&blocks[i][..], hash),
            |(block, hash)| policy.may_match(block, *hash),
            |probes, found| policy.may_match_many(probes, found),
        );
    }
}
