//! What does it cost to look one key up in many filters, one after the other and with `contains_many`?
//!
//! Each key is looked up in 1,024 frozen filters of 62,500 to 100,000 keys, which take more than 80 MB together. A
//! point read does the same if it has no better way to tell which table has its key. Each round does it both ways, with
//! a new key for each, and the next round in the other order. Prints the medians in nanoseconds per filter. The answers
//! are compared with those of single lookups.
//!
//! ```sh
//! cargo bench -p trommel-benches --bench multi_get -- [ROUNDS]
//! ```

use std::time::Instant;
use trommel::{Bitmap, Filter, FilterKind, FilterView, Isa, KeyHash};
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

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[inline(never)]
fn one_after_the_other(probes: &[(&FilterView<'_>, KeyHash)], found: &mut Bitmap) {
    found.reset(probes.len());
    for (i, (filter, hash)) in probes.iter().enumerate() {
        if filter.contains_hash(*hash) {
            found.set(i);
        }
    }
}

fn main() {
    let rounds =
        std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(301);
    println!("| kind | one after the other, ns | contains_many, ns | ratio |");
    println!("|---|---:|---:|---:|");
    for kind in KINDS {
        // Copies of sixteen frozen filters. Their sizes differ, so that a key is not at the same offset in all tables.
        let keys = hashes(1, KEYS);
        let frozen: Vec<Vec<u8>> = (0..16)
            .map(|i| filled(kind, Isa::best(), &keys[..KEYS - i * 2_500]).to_bytes())
            .collect();
        let tables: Vec<Vec<u8>> = frozen.iter().cycle().take(FILTERS).cloned().collect();
        let views: Vec<FilterView<'_>> =
            tables.iter().map(|table| FilterView::parse(table).expect("frozen bytes")).collect();
        // Each way has its own absent keys, so that it does not find cache lines that the other way has loaded.
        let absent = hashes(2, 2 * rounds);
        let mut times = [Vec::new(), Vec::new()];
        let mut found = Bitmap::new(0);
        for round in 0..rounds {
            let owner = round % FILTERS;
            for way in [round % 2, 1 - round % 2] {
                let hash =
                    |i| if i == owner { keys[round % (KEYS / 2)] } else { absent[2 * round + way] };
                let probes: Vec<_> =
                    views.iter().enumerate().map(|(i, view)| (view, hash(i))).collect();
                let start = Instant::now();
                if way == 0 {
                    one_after_the_other(&probes, &mut found);
                } else {
                    FilterView::contains_many(&probes, &mut found);
                }
                times[way].push(start.elapsed().as_nanos() as f64 / FILTERS as f64);
                assert!(found.get(owner), "{kind} does not find a key");
                for (i, (view, hash)) in probes.iter().enumerate() {
                    assert_eq!(found.get(i), view.contains_hash(*hash), "{kind}");
                }
            }
        }
        let [one, many] = times.map(median);
        println!("| {kind} | {one:.1} | {many:.1} | {:.2} |", one / many);
    }
}
