//! Kernels, the functions that read and write tables, access nothing after a table. In these tests, accessible
//! memory ends where a table, a frozen filter or a filter block ends, and an access to later bytes ends the process.
//!
//! A filter's own table is aligned to a cache line. So if its size is no multiple of 64 bytes, some bytes lie between
//! its end and the end of accessible memory. Frozen filters and filter blocks always end exactly where accessible
//! memory ends. A table of 4 MiB or more is mapped by the library and not allocated, so only its frozen form is
//! guarded. Accesses before a table are not tested.
#![cfg(target_os = "linux")]

mod allocator;

use allocator::{Guarded, SHORTEST_LIST, UNIT_BYTES};
use trommel::container::Storage;
use trommel::{
    AnyFilter, Bitmap, Filter, FilterKind, FilterPolicy, FilterSpec, FilterView, Insert as _, Isa,
    KeyHash,
};
use trommel_testkit::process::{assert_passed, run_ignored};
use trommel_testkit::streams::distinct;

#[global_allocator]
static ALLOCATOR: Guarded = Guarded;

/// The memory maps of this process that can be read or written: the first address, and the address after the last.
fn accessible_maps() -> Vec<(usize, usize)> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let address = |digits: &str| usize::from_str_radix(digits, 16).unwrap();
    let map = |line: &str| {
        let mut fields = line.split_whitespace();
        let (from, to) = fields.next().unwrap().split_once('-').unwrap();
        let access = fields.next().unwrap();
        access.contains(['r', 'w']).then(|| (address(from), address(to)))
    };
    text.lines().filter_map(map).collect()
}

/// Checks that accessible memory ends `gap` bytes after a block.
fn assert_guarded(block: &[u8], gap: usize) {
    let (start, end) = (block.as_ptr() as usize, block.as_ptr() as usize + block.len());
    let maps = accessible_maps();
    let is_accessible = |at: usize| maps.iter().any(|(from, to)| (*from..*to).contains(&at));
    let len = block.len();
    assert!(is_accessible(start) && is_accessible(end - 1), "{len} bytes cannot be accessed");
    assert!(!is_accessible(end + gap), "memory after {len} bytes can be accessed");
    assert!(!is_accessible(end - 1 + UNIT_BYTES), "memory after {len} bytes can be accessed");
}

#[test]
fn memory_after_tables_and_lists_cannot_be_accessed() {
    for len in [SHORTEST_LIST, 1_000, UNIT_BYTES, UNIT_BYTES + 1] {
        assert_guarded(&vec![1; len].into_boxed_slice(), 0);
    }
    for len in [1, 8, 64, 1_000, UNIT_BYTES, 1 << 20] {
        assert_guarded(&Storage::zeroed(len, true).unwrap(), len.next_multiple_of(64) - len);
    }
}

/// Returns the answers of single lookups. Checks that batches of several lengths give the same answers.
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

/// Looks hashes up in a view of frozen bytes that end where accessible memory ends.
fn check_frozen(filter: &AnyFilter, hashes: &[KeyHash]) {
    // A boxed slice has no spare capacity, so the bytes end where their allocated block ends.
    let bytes = filter.to_bytes().into_boxed_slice();
    let view = FilterView::parse(&bytes).unwrap();
    assert_eq!(answers(&view, hashes), answers(filter, hashes), "the view of a {}", filter.kind());
}

/// Checks inserts and lookups, in batches and one by one, and removals.
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
    check_frozen(&filter, &asked);
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
        let policy = policy.build().unwrap();
        // The bytes before the block make the vector long enough to be guarded.
        let mut bytes = vec![0; SHORTEST_LIST];
        bytes.extend(policy.build(keys));
        let bytes = bytes.into_boxed_slice();
        let block = &bytes[SHORTEST_LIST..];
        assert!(block.len() > 1, "{kind}: the block has no filter");
        let probes: Vec<(&[u8], KeyHash)> =
            [keys, absent].concat().iter().map(|hash| (block, *hash)).collect();
        let mut found = Bitmap::new(0);
        policy.may_match_many(&probes, &mut found);
        for (i, (block, hash)) in probes.iter().enumerate() {
            assert_eq!(found.get(i), policy.may_match(block, *hash), "{kind}, {isa}");
            assert!(found.get(i) || i >= keys.len(), "{kind}, {isa}: a block lost a key");
        }
    }
}

/// Specs of a kind: some widths of slots, both sizes of counters, or some false-positive rates.
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

fn check_kinds(isas: &[Isa]) {
    for keys in [1, 30, 700, 2_500] {
        let absent = distinct(2, 0..1_000);
        let keys = distinct(1, 0..keys);
        for kind in FilterKind::ALL.iter().copied() {
            for isa in isas.iter().copied() {
                for spec in specs(kind) {
                    check_filter(&spec.keys(keys.len()), isa, &keys, &absent);
                }
                // Counting Bloom filters have no block form.
                if kind != FilterKind::CountingBloom {
                    check_blocks(kind, isa, &keys, &absent);
                }
            }
        }
    }
}

/// Checks tables that do not fit into the L2 cache, so that lookups in batches prefetch cache lines.
fn check_large_frozen_filters() {
    let keys = distinct(1, 0..6_000_000);
    for kind in FilterKind::ALL.iter().copied() {
        let filter = specs(kind)[1].keys(keys.len()).build_from(&keys).unwrap();
        assert!(filter.encoded_len() > 6 << 20, "{kind}: {} bytes", filter.encoded_len());
        let asked = [&keys[..5_000], &distinct(2, 0..5_000)].concat();
        check_frozen(&filter, &asked);
    }
}

#[test]
fn kernels_access_nothing_after_a_table() {
    check_kinds(&Isa::available().collect::<Vec<_>>());
}

/// A view runs on the instruction set that its process has chosen, so each instruction set gets a process of its own.
#[test]
fn views_access_nothing_after_frozen_bytes_with_any_isa() {
    for isa in Isa::available() {
        let name = isa.to_string();
        let done = run_ignored("in_a_process_with_an_isa", &[("TROMMEL_ISA", &name)]);
        assert_passed(&done, &name);
    }
}

#[test]
#[ignore = "started by views_access_nothing_after_frozen_bytes_with_any_isa"]
fn in_a_process_with_an_isa() {
    let isa = Isa::active_or_best();
    assert_eq!(std::env::var("TROMMEL_ISA").ok(), Some(isa.to_string()));
    check_kinds(&[isa]);
    check_large_frozen_filters();
}
