//! Measures Trommel's policy and SlateDB's own policy in one run, at 10 bits per key. Prints tables in Markdown.
//!
//! ```sh
//! cargo run --release -p trommel-slatedb --example measure             # 51 repetitions of lookups, 15 of all else
//! cargo run --release -p trommel-slatedb --example measure -- 5 --small   # 5 and 2 repetitions, fewer keys
//! ```
//!
//! A time is the median of the repetitions, with the lowest value in brackets. Each repetition measures all policies
//! and starts with a different one. Panics if a present key is not found, or if too many absent keys match.

mod databases;
mod filters;
mod samples;
#[path = "../../tests/support/mod.rs"]
mod support;

use slatedb::{BloomFilterPolicy, FilterPolicy};
use std::sync::Arc;
use trommel_slatedb::TrommelFilterPolicy;
use trommel_slatedb::trommel::{self, FilterKind};

const BITS_PER_KEY: u32 = 10;

struct Subject {
    name: String,
    policy: Arc<dyn FilterPolicy>,
}

/// SlateDB's own policy, and every kind that works with `BITS_PER_KEY`.
fn subjects() -> Vec<Subject> {
    let own = Arc::new(BloomFilterPolicy::new(BITS_PER_KEY));
    let mut subjects = vec![Subject { name: "SlateDB's Bloom".to_owned(), policy: own }];
    for kind in [
        FilterKind::Bloom,
        FilterKind::SplitBlockBloom,
        FilterKind::CacheLineBloom,
        FilterKind::RegisterBloom,
        FilterKind::Quotient,
        FilterKind::Cuckoo,
    ] {
        let blocks = trommel::FilterPolicy::builder(kind).bits_per_key(BITS_PER_KEY.into());
        let policy = Arc::new(TrommelFilterPolicy::new(blocks.build().unwrap()));
        subjects.push(Subject { name: kind.to_string(), policy });
    }
    subjects
}

/// Returns key number `i`. Keys with consecutive numbers are not neighbours in the order of keys.
fn key(i: u64) -> [u8; 20] {
    let mut state = i;
    support::key(support::random(&mut state))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--small");
    let repetitions = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(51);
    let others = (repetitions * 15usize).div_ceil(51);
    let sizes = if small { [1_000, 10_000] } else { [100_000, 1_000_000] };
    let subjects = subjects();
    for keys in sizes {
        filters::measure(&subjects, keys, repetitions, others);
    }
    databases::measure(&subjects, if small { 10_000 } else { 200_000 }, others);
}
