//! What does a call with one key cost, for lookups, inserts and removals, compared with the crates that a user would
//! otherwise pick? With `--batches`: what does a key of a batch cost? Other crates have no batches, so they still get
//! one call per key. Removals from our filters, and lookups in our `FilterView`, have one call per key too.
//!
//! A group has one or more filters of this library and their rivals, the comparable filters of other crates. In each
//! round, every filter of a group looks up 4,096 absent keys and 4,096 present ones, and inserts 4,096 keys unless it
//! is a `FilterView`, which cannot insert. Without `--batches`, there is one call per key. Filters with slots insert
//! new keys and remove them again; Bloom filters insert keys that they have already. The order of the filters rotates
//! from round to round. The table shows medians in nanoseconds per key and, for our filters, a ratio: the time of the
//! group's fastest rival divided by the time of our filter. The ratio is above 1 if our filter is faster. Each round
//! checks that all present keys are found, that at most 5 % of the absent keys are reported as present, and that at
//! least 95 % of the removals find their key.
//!
//! The filters are those of the module `subjects`, for 1e5, 1e6 and 1e7 keys, or with 2^17, 2^20 and 2^24 slots.
//!
//! ```sh
//! cargo bench -p trommel-benches --bench single_keys -- [--batches] [ROUNDS] [NAME]...
//! ```
//!
//! ROUNDS is 401 by default. A NAME is a filter's name, as in the second column of the table: with names, only groups
//! that have a filter of one of these names are measured. `TROMMEL_ISA` chooses the instruction set of our filters.

mod subjects;

use std::time::Instant;
use subjects::{CHUNK, Group, OPERATIONS, Pools, bloom_groups, run_operations, slot_groups};
use trommel::KeyHash;
use trommel_benches::hashes;

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// Times an operation on [`CHUNK`] keys. Returns nanoseconds per key.
fn time(operation: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    operation();
    start.elapsed().as_nanos() as f64 / CHUNK as f64
}

/// Measures a group whose filters hold `keys`, and prints its rows of the table.
fn compare(title: &str, mut group: Group, keys: &[KeyHash], rounds: usize) {
    let pools = Pools::new(&mut group, keys);
    let mut times: Vec<[Vec<f64>; 4]> = group.subjects.iter().map(|_| Default::default()).collect();
    let count = group.subjects.len();
    for number in 0..rounds {
        let chunks = pools.chunks(number);
        for i in (0..count).map(|i| (i + number) % count) {
            let (name, subject) = &mut group.subjects[i];
            let nanoseconds = run_operations(name, &mut **subject, chunks, time);
            for (times, nanoseconds) in times[i].iter_mut().zip(nanoseconds) {
                times.extend(nanoseconds);
            }
        }
    }
    let medians: Vec<[Option<f64>; 4]> = times.into_iter().map(|times| times.map(median)).collect();
    let best = |operation: usize| {
        let rivals = medians[..group.rivals].iter().filter_map(|row| row[operation]);
        rivals.min_by(f64::total_cmp)
    };
    for (i, ((name, _), row)) in group.subjects.iter().zip(&medians).enumerate() {
        print!("| {title} | {name} |");
        for (operation, nanoseconds) in row.iter().enumerate() {
            let ratio = best(operation).zip(*nanoseconds).map(|(best, ours)| best / ours);
            match (nanoseconds, ratio.filter(|_| i >= group.rivals)) {
                (Some(nanoseconds), Some(ratio)) => print!(" {nanoseconds:.2} ×{ratio:.2} |"),
                (Some(nanoseconds), None) => print!(" {nanoseconds:.2} |"),
                (None, _) => print!(" |"),
            }
        }
        println!();
    }
}

fn main() {
    let (mut rounds, mut batches, mut names) = (401, false, Vec::new());
    for argument in std::env::args().skip(1) {
        match (argument.as_str(), argument.parse()) {
            // `cargo bench` adds this argument.
            ("--bench", _) => {}
            ("--batches", _) => batches = true,
            (_, Ok(number)) => rounds = number,
            _ => names.push(argument),
        }
    }
    let is_wanted = |group: &Group| {
        let named = |name| names.iter().any(|wanted| wanted == name);
        names.is_empty() || group.subjects.iter().any(|(name, _)| named(*name))
    };
    println!(
        "| keys or slots | filter | {} |",
        OPERATIONS.map(|name| format!("{name}, ns")).join(" | ")
    );
    println!("|---:|---|---:|---:|---:|---:|");
    for n in [100_000, 1_000_000, 10_000_000] {
        let keys = hashes(1, n);
        for group in bloom_groups(&keys, batches).into_iter().filter(is_wanted) {
            compare(&format!("{n} keys"), group, &keys, rounds);
        }
    }
    for bits in [17, 20, 24] {
        let keys = hashes(1, (1 << bits) / 10 * 9);
        for group in slot_groups(1 << bits, &keys, batches).into_iter().filter(is_wanted) {
            compare(&format!("2^{bits} slots"), group, &keys, rounds);
        }
    }
}
