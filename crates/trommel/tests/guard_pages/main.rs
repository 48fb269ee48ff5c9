//! Kernels access nothing outside of a table. Every table, frozen filter and filter block ends at the border of a page,
//! and an access to the page after it ends the process. The page before its first page cannot be accessed either, so
//! the same holds for the bytes before a table whose size is a multiple of the page size.
//!
//! A filter's own table is aligned to 64 bytes. So if its size is no multiple of 64, some bytes lie between its end and
//! the border. A frozen filter and a filter block always end at the border. Tables of 4 MiB and more are not allocated,
//! but mapped by the library, so only their frozen forms end at the border.
#![cfg(target_os = "linux")]

mod allocator;

use allocator::{Guarded, SMALLEST_GUARDED};
use std::process::Command;
use trommel::{
    AnyFilter, Bitmap, Filter, FilterKind, FilterPolicy, FilterSpec, FilterView, Insert as _, Isa,
    KeyHash,
};
use trommel_testkit::streams::distinct;

#[global_allocator]
static ALLOCATOR: Guarded = Guarded;

/// The memory maps of this process: the first address, the address after the last, and the permitted accesses.
fn maps() -> Vec<(usize, usize, String)> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let map = |line: &str| {
        let mut fields = line.split([' ', '-']);
        let mut address = || usize::from_str_radix(fields.next().unwrap(), 16).unwrap();
        let (from, to) = (address(), address());
        (from, to, fields.next().unwrap().to_string() + fields.next().unwrap_or(""))
    };
    text.lines().map(map).collect()
}

#[test]
fn the_pages_around_a_block_cannot_be_accessed() {
    for len in [SMALLEST_GUARDED, 1_000, 4_096, 10_000] {
        let block = vec![1u8; len].into_boxed_slice();
        let (start, end) = (block.as_ptr() as usize, block.as_ptr() as usize + len);
        let maps = maps();
        let around = |address: usize| {
            let map = maps.iter().find(|(from, to, _)| (*from..*to).contains(&address));
            map.is_some_and(|(_, _, access)| access.starts_with("r") || access.contains('w'))
        };
        assert!(around(start) && around(end - 1), "{len} bytes cannot be read");
        assert!(!around(end), "the byte after {len} bytes can be read");
        assert!(!around((start & !4_095) - 1), "the page before {len} bytes can be read");
    }
}

/// The answers of single lookups and of batches of several lengths, which must be equal.
fn answers(filter: &impl Filter, hashes: &[KeyHash]) -> Vec<bool> {
    let single: Vec<bool> = hashes.iter().map(|hash| filter.contains_hash(*hash)).collect();
    let mut found = Bitmap::new(0);
    for len in [1, 5, 33, 300, hashes.len()] {
        for (hashes, single) in hashes.chunks(len).zip(single.chunks(len)).take(40) {
            filter.contains_batch(hashes, &mut found);
            let batch: Vec<bool> = (0..hashes.len()).map(|i| found.get(i)).collect();
            assert_eq!(batch, single);
        }
    }
    single
}

/// Looks hashes up in a view of frozen bytes that end at the border. `shift` moves the beginning.
fn check_frozen(filter: &AnyFilter, hashes: &[KeyHash], shift: usize) {
    let mut bytes = vec![0; shift];
    bytes.extend(filter.to_bytes());
    // Without spare capacity, so that the bytes end where their block ends.
    let bytes = bytes.into_boxed_slice();
    let view = FilterView::parse(&bytes[shift..]).unwrap();
    assert_eq!(answers(&view, hashes), answers(filter, hashes), "the view of a {}", filter.kind());
}

/// Inserts, lookups and removals, in batches and one by one.
fn check_filter(spec: &FilterSpec, isa: Isa, keys: &[KeyHash], absent: &[KeyHash]) {
    let mut filter = spec.isa(isa).build().unwrap();
    let (batch, single) = keys.split_at(keys.len() / 2);
    filter.insert_batch(batch).unwrap();
    for hash in single {
        filter.insert_hash(*hash).unwrap();
    }
    assert!(
        answers(&filter, keys).iter().all(|found| *found),
        "{isa}: a {} lost a key",
        spec.kind()
    );
    let asked = [keys, absent].concat();
    for shift in [0, 1] {
        check_frozen(&filter, &asked, shift);
    }
    if filter.remove_hash(keys[0]).is_ok() {
        for hash in &keys[1..] {
            filter.remove_hash(*hash).unwrap();
        }
        filter.insert_batch(keys).unwrap();
        assert!(answers(&filter, keys).iter().all(|found| *found));
    }
}

fn check_blocks(kind: FilterKind, isa: Isa, keys: &[KeyHash], absent: &[KeyHash]) {
    for bits_per_key in [11.0, 17.0] {
        let policy = FilterPolicy::builder(kind).bits_per_key(bits_per_key).isa(isa);
        // Counting Bloom filters have no block form.
        let Ok(policy) = policy.build() else { continue };
        let block = policy.build(keys).into_boxed_slice();
        let probes: Vec<(&[u8], KeyHash)> =
            [keys, absent].concat().iter().map(|hash| (&block[..], *hash)).collect();
        let mut found = Bitmap::new(0);
        policy.may_match_many(&probes, &mut found);
        for (i, (block, hash)) in probes.iter().enumerate() {
            assert_eq!(found.get(i), policy.may_match(block, *hash), "{kind}, {isa}");
            assert!(found.get(i) || i >= keys.len(), "{kind}, {isa}: a block lost a key");
        }
    }
}

/// The specs of a kind: each width of slots and each counter.
fn specs(kind: FilterKind) -> Vec<FilterSpec> {
    let spec = FilterSpec::new(kind);
    match kind {
        FilterKind::CountingBloom => {
            [false, true].map(|compact| spec.compact(compact).fpr(0.01)).into()
        }
        FilterKind::Quotient => [3, 8, 13, 32].map(|bits| spec.remainder_bits(bits)).into(),
        FilterKind::Cuckoo => [8, 12, 16, 32].map(|bits| spec.fingerprint_bits(bits)).into(),
        FilterKind::CacheLineQuotient => [0.03, 0.004].map(|fpr| spec.fpr(fpr)).into(),
        _ => [0.1, 0.01, 0.000_1].map(|fpr| spec.fpr(fpr)).into(),
    }
}

fn check_kinds() {
    for keys in [1, 30, 700, 2_500] {
        let absent = distinct(2, 0..1_000);
        let keys = distinct(1, 0..keys);
        for kind in FilterKind::ALL.iter().copied() {
            for isa in Isa::available() {
                for spec in specs(kind) {
                    check_filter(&spec.keys(keys.len()), isa, &keys, &absent);
                }
                check_blocks(kind, isa, &keys, &absent);
            }
        }
    }
}

/// A table of more than twice L2, whose cache lines are prefetched. It has more than 4 MiB on purpose: see above.
fn check_large_frozen_filters() {
    let keys = distinct(1, 0..3_000_000);
    for kind in FilterKind::ALL.iter().copied() {
        let filter = specs(kind)[1].keys(keys.len()).build_from(&keys).unwrap();
        let asked = [&keys[..5_000], &distinct(2, 0..5_000)].concat();
        check_frozen(&filter, &asked, 0);
    }
}

#[test]
fn kernels_access_nothing_outside_of_a_table() {
    check_kinds();
}

/// Views run on the instruction set of the process, so each set has a process.
#[test]
fn views_access_nothing_outside_of_frozen_bytes_with_any_isa() {
    for isa in Isa::available() {
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "in_a_process_with_an_isa", "--ignored", "--nocapture"])
            .env("TROMMEL_ISA", isa.to_string())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{isa}: {}\n{errors}", done.status);
    }
}

#[test]
#[ignore = "started by views_access_nothing_outside_of_frozen_bytes_with_any_isa"]
fn in_a_process_with_an_isa() {
    check_kinds();
    check_large_frozen_filters();
}
