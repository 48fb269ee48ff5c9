//! The memory budget of an engine bounds the bytes that its calls allocate, and the resident memory that the calls add
//! to the process.
#![cfg(feature = "parallel")]
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use trommel::engine::Strategy;
use trommel::{AnyFilter, Bitmap, Engine, FilterKind, FilterSpec, Insert, KeyHash};
#[cfg(target_os = "linux")]
use trommel_testkit::process::{assert_passed, run_ignored};
use trommel_testkit::streams::mix;

/// The system's allocator, with a count of the bytes that are taken from it.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn take(bytes: usize) {
    let taken = TAKEN.fetch_add(bytes, Ordering::SeqCst) + bytes;
    PEAK.fetch_max(taken, Ordering::SeqCst);
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Locked during a measurement, so that only one measurement runs at a time.
static MEASURING: Mutex<()> = Mutex::new(());

/// The number of bytes that are allowed in addition to the budget: for stacks, for code that runs for the first time,
/// and for lists with an item per thread.
const BESIDE_BYTES: usize = 64 << 10;
/// The number of bytes of resident memory that are allowed in addition to the budget.
#[cfg(target_os = "linux")]
const RESIDENT_BESIDE_BYTES: usize = 2 << 20;

fn hashes(keys: usize) -> Vec<KeyHash> {
    (0..keys as u64).map(|key| KeyHash::from_raw(mix(key))).collect()
}

fn engine(threads: usize, budget: usize) -> Engine {
    let builder = Engine::builder().threads(threads).memory_budget(budget);
    builder.strategy(Strategy::Partitioned).build().unwrap()
}

/// The memory that the filter, not the engine, keeps for inserts.
fn kept_by(filter: &AnyFilter) -> usize {
    match filter {
        AnyFilter::Cuckoo(filter) => filter.scratch_bytes(),
        _ => 0,
    }
}

/// Counts the scratch memory that comes from the allocator: all pieces of less than 4 MiB. On Linux, larger pieces are
/// mapped; [`resident_memory_is_within_the_budget`] measures the mapped pieces too. Memory that the engine keeps from
/// earlier calls is also counted.
#[test]
fn allocations_are_within_the_budget() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    for keys in [30_000, 400_000] {
        let hashes = hashes(keys);
        let empty = FilterKind::ALL.iter().map(|kind| {
            let spec = FilterSpec::new(*kind).keys(keys).fpr(0.005);
            spec.build().unwrap()
        });
        let empty: Vec<AnyFilter> = empty.collect();
        for budget in [0, 100_000, 1 << 20, 3 << 20, 12 << 20, 30 << 20] {
            for threads in [1, 2, 5] {
                let engine = engine(threads, budget);
                let mut filters = empty.clone();
                let mut found = Bitmap::new(keys);
                let mut taken = TAKEN.load(Ordering::SeqCst);
                for filter in filters.iter_mut().rev() {
                    let what = format!(
                        "{}, {keys} keys, budget {budget}, {threads} threads",
                        filter.kind()
                    );
                    PEAK.store(taken, Ordering::SeqCst);
                    engine.insert_batch(filter, &hashes).unwrap();
                    taken += kept_by(filter);
                    let scratch = PEAK.load(Ordering::SeqCst).saturating_sub(taken);
                    assert!(scratch <= budget + BESIDE_BYTES, "insert {what}: {scratch} bytes");

                    PEAK.store(taken, Ordering::SeqCst);
                    engine.contains_batch(filter, &hashes, &mut found);
                    let scratch = PEAK.load(Ordering::SeqCst).saturating_sub(taken);
                    assert!(scratch <= budget + BESIDE_BYTES, "contains {what}: {scratch} bytes");
                    assert_eq!(found.count_ones(), keys, "{what}");
                }
            }
        }
    }
}

/// A field of the status of this process, in bytes.
#[cfg(target_os = "linux")]
fn status_bytes(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// The cases of [`resident_memory_is_within_the_budget`]: the budget in MiB, and the kinds of the filters, which the
/// same engine fills one after the other.
#[cfg(target_os = "linux")]
const CASES: &[(usize, &[FilterKind])] = &[
    (200, &[FilterKind::Bloom]),
    (50, &[FilterKind::Bloom]),
    (100, &[FilterKind::CountingBloom]),
    (100, &[FilterKind::RegisterBloom, FilterKind::Quotient, FilterKind::Cuckoo]),
    (60, &[FilterKind::Cuckoo, FilterKind::Bloom, FilterKind::Quotient]),
];

#[cfg(target_os = "linux")]
const CASE: &str = "TROMMEL_TEST_CASE";

/// Each case runs in a process of its own, so that the peak memory of the process is the peak of the case's calls.
#[cfg(target_os = "linux")]
#[test]
fn resident_memory_is_within_the_budget() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    for (number, case) in CASES.iter().enumerate() {
        let number = number.to_string();
        // With the second variable, glibc returns freed pieces of 128 KiB or more to the system immediately.
        let variables = [(CASE, &number[..]), ("MALLOC_MMAP_THRESHOLD_", "131072")];
        let done = run_ignored("resident_memory_of_a_case", &variables);
        assert_passed(&done, &format!("{case:?}"));
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "started by resident_memory_is_within_the_budget"]
fn resident_memory_of_a_case() {
    const KEYS: usize = 6_000_000;
    let number: usize = std::env::var(CASE).unwrap().parse().unwrap();
    let (budget, kinds) = CASES[number];
    let budget = budget << 20;
    let hashes = hashes(KEYS);
    let engine = engine(2, budget);
    let mut found = Bitmap::new(KEYS);
    found.fill_words(KEYS, |words| words.fill(1));
    let mut filters: Vec<AnyFilter> = kinds.iter().map(|kind| filled(*kind, &hashes)).collect();
    // Resets the peak memory of the process. From here on, the peak is the peak of the calls below.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status_bytes("VmRSS:");
    for filter in &mut filters {
        engine.insert_batch(filter, &hashes).unwrap();
        engine.contains_batch(filter, &hashes, &mut found);
        assert_eq!(found.count_ones(), KEYS);
        let scratch = status_bytes("VmHWM:") - before;
        assert!(scratch <= budget + RESIDENT_BESIDE_BYTES, "{}: {scratch} bytes", filter.kind());
    }
}

/// Returns a filter whose memory is resident, because the filter was filled. The filter is cleared again if its kind
/// inserts into an empty filter differently from a filled one.
#[cfg(target_os = "linux")]
fn filled(kind: FilterKind, hashes: &[KeyHash]) -> AnyFilter {
    let mut filter = FilterSpec::new(kind).keys(hashes.len()).fpr(0.005).build().unwrap();
    filter.insert_batch(hashes).unwrap();
    match &mut filter {
        AnyFilter::Bloom(filter) => filter.clear(),
        // A counting filter inserts batches in the same way whether it is empty or not.
        AnyFilter::CountingBloom(_) => {}
        AnyFilter::RegisterBloom(filter) => filter.clear(),
        AnyFilter::Quotient(filter) => filter.clear(),
        AnyFilter::Cuckoo(filter) => filter.clear(),
        filter => unreachable!("no case of {}", filter.kind()),
    }
    filter
}
