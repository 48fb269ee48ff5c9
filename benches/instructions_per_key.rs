//! How many instructions per key do our filters take in batches, and the filters of other crates with one call per key?
//!
//! Our filters, too, have one call per key for removals, and for lookups in a `FilterView`.
//!
//! Runs the operations of the bench `single_keys` twice on each filter. The second time, calls `getpid` before and
//! after each operation, so that an emulator that runs this program can count the instructions between the two calls.
//! `scripts/count-aarch64` counts them in this way. Writes a line for each operation, in the order of these pairs:
//!
//! ```text
//! size|group|role|filter|operation|keys
//! ```
//!
//! `group` is the number of a group of filters that are compared with each other, and `role` is `rival` or `ours`.
//! `keys` is the number of keys that the operation gets, or 0 if the filter lacks the operation.
//!
//! With names as arguments, only groups that have a filter of one of these names are counted. The filters are those of
//! the module `subjects`. Filters for 1e5 keys or with 2^17 slots fit into an L2 cache; filters for 1e7 keys or with
//! 2^24 slots do not.

mod subjects;

use subjects::{CHUNK, Group, OPERATIONS, Pools, bloom_groups, run_operations, slot_groups};
use trommel::KeyHash;
use trommel_benches::hashes;

/// Runs the operations of a group of filters. `number` is the group's number among the groups of this size.
fn count(size: &str, number: usize, mut group: Group, keys: &[KeyHash]) {
    let pools = Pools::new(&mut group, keys);
    // The first round has costs that later rounds do not have, such as growing a buffer.
    for (name, subject) in &mut group.subjects {
        run_operations(name, &mut **subject, pools.chunks(0), |operation| operation());
    }
    for (i, (name, subject)) in group.subjects.iter_mut().enumerate() {
        let counted = run_operations(name, &mut **subject, pools.chunks(1), |operation| {
            let _ = std::process::id();
            operation();
            let _ = std::process::id();
        });
        let role = if i < group.rivals { "rival" } else { "ours" };
        for (operation, counted) in OPERATIONS.into_iter().zip(counted) {
            let keys = if counted.is_some() { CHUNK } else { 0 };
            println!("{size}|{number}|{role}|{name}|{operation}|{keys}");
        }
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    let is_wanted = |(_, group): &(usize, Group)| {
        let named = |name| names.iter().any(|wanted| wanted == name);
        names.is_empty() || group.subjects.iter().any(|(name, _)| named(*name))
    };
    for n in [100_000, 10_000_000] {
        let keys = hashes(1, n);
        let groups = bloom_groups(&keys, true).into_iter().enumerate();
        for (number, group) in groups.filter(is_wanted) {
            count(&format!("{n} keys"), number, group, &keys);
        }
    }
    for bits in [17, 24] {
        let keys = hashes(1, (1 << bits) / 10 * 9);
        let groups = slot_groups(1 << bits, &keys, true).into_iter().enumerate();
        for (number, group) in groups.filter(is_wanted) {
            count(&format!("2^{bits} slots"), number, group, &keys);
        }
    }
}
