//! Large batches on several threads make the same bytes as on one thread, for any keys, any amount of scratch memory
//! and any number of threads.

use trommel_base::{Bulk, Filter, FromSpec, Full, Insert, InsertBulk, KeyHash, Spec, WhyFull};
use trommel_quotient::{Layout, LineBlock, MAX_COPIES, Quotient, WideBlock};
use trommel_simd::Isa;
use trommel_testkit::streams::distinct;
use trommel_testkit::{ScopedThreads, Splitmix, Stream};

const THREADS: [usize; 4] = [1, 2, 3, 7];

fn spec(keys: usize, bits: Option<u32>, multiset: bool) -> Spec {
    let mut spec = Spec::default();
    (spec.keys, spec.remainder_bits, spec.multiset) = (keys, bits, multiset);
    spec
}

/// Fails if a batch on several threads results in another filter or outcome than the same batch on one thread. Returns
/// the outcome. (Other tests compare batches on one thread with single inserts.)
fn assert_same<L: Layout>(filter: &Quotient<L>, batch: &[KeyHash], what: &str) -> Result<(), Full> {
    let mut alone = filter.clone();
    let expected = alone.insert_batch(batch);
    for threads in THREADS {
        // Enough scratch memory to build the whole table in bulk, less than that, and no scratch memory.
        let scratch_bytes = [usize::MAX, 6 * batch.len(), 0];
        for scratch_bytes in &scratch_bytes[..if threads == 2 { 3 } else { 1 }] {
            let scratch_bytes = *scratch_bytes;
            let mut filter = filter.clone();
            let outcome =
                filter.insert_bulk(batch, Bulk { workers: &ScopedThreads(threads), scratch_bytes });
            assert_eq!(outcome, expected, "{what}, {threads} threads, {scratch_bytes} bytes");
            assert!(
                filter.len() == alone.len() && filter.table() == alone.table(),
                "{what}, {threads} threads, {scratch_bytes} bytes: not the filter of one thread"
            );
        }
    }
    expected
}

#[test]
fn any_number_of_threads_makes_the_same_wide_blocks() {
    for bits in [5, 8, 9, 16, 19, 20, 32] {
        for multiset in [false, true] {
            let what = format!("{bits} bits, multiset {multiset}");
            let filter =
                Quotient::<WideBlock>::from_spec(&spec(600_000, Some(bits), multiset)).unwrap();
            for keys in [90_000, 600_000] {
                // Even with the narrowest remainders, no fingerprint has more copies than a multiset keeps.
                let outcome = assert_same(&filter, &distinct(1, 0..keys), &what);
                assert_eq!(outcome, Ok(()), "{what}: outcome of the batch");
            }
        }
    }
}

#[test]
fn any_number_of_threads_makes_the_same_line_blocks() {
    for multiset in [false, true] {
        for isa in Isa::available() {
            let mut spec = spec(500_000, None, multiset);
            spec.isa = Some(isa);
            let filter = Quotient::<LineBlock>::from_spec(&spec).unwrap();
            for keys in [70_000, 500_000] {
                let what = format!("{keys} keys, multiset {multiset}, {isa}");
                assert_eq!(
                    assert_same(&filter, &distinct(2, 0..keys), &what),
                    Ok(()),
                    "{what}: outcome of the batch"
                );
            }
        }
    }
}

/// In a filter that was resized, a key's quotient and remainder are not parts of the key's hash, but parts of another
/// number, which is computed from the key's fingerprint. Batches on several threads compute the same number.
#[test]
fn any_number_of_threads_makes_the_same_resized_filter() {
    let hashes = distinct(3, 0..500_000);
    let mut wide = Quotient::<WideBlock>::from_spec(&spec(400_000, Some(11), false)).unwrap();
    wide.resize(610_000).unwrap();
    assert_eq!(assert_same(&wide, &hashes, "resized"), Ok(()));
    let mut lines = Quotient::<LineBlock>::from_spec(&spec(300_000, None, true)).unwrap();
    lines.grow().unwrap();
    assert_eq!(assert_same(&lines, &hashes, "grown"), Ok(()));
}

/// Skewed streams, among them equal keys and small integers, in batches of several sizes. Each stream is also inserted
/// in sorted order. Some streams have more copies of a key than a multiset keeps.
#[test]
fn any_number_of_threads_makes_the_same_filter_of_skewed_keys() {
    fn assert_all<L: Layout>(bits: Option<u32>) {
        for multiset in [false, true] {
            let filter = Quotient::<L>::from_spec(&spec(400_000, bits, multiset)).unwrap();
            for stream in Stream::ALL {
                let mut hashes = stream.hashes(4, 300_000);
                for keys in [0, 1, 255, 300, 60_000, 300_000] {
                    // Skipped: few of these keys fit, and inserting them one by one takes long.
                    if multiset && keys > 300 && matches!(stream, Stream::SmallIntegers) {
                        continue;
                    }
                    let what = format!("{keys} keys of {stream}, multiset {multiset}");
                    let outcome = assert_same(&filter, &hashes[..keys], &what);
                    if multiset && keys > 255 && *stream == Stream::AllEqual {
                        let full = outcome.unwrap_err();
                        assert_eq!(full.why, WhyFull::Copies { max: MAX_COPIES });
                        assert_eq!(full.inserted, MAX_COPIES as usize);
                    }
                }
                hashes.sort_unstable();
                let _ = assert_same(&filter, &hashes, &format!("{stream} in order"));
            }
        }
    }
    assert_all::<WideBlock>(Some(10));
    assert_all::<LineBlock>(None);
}

/// If not all keys fit, the error says how many keys were inserted. The inserted keys are the first keys of the batch.
#[test]
fn any_number_of_threads_stops_at_the_same_key_when_the_filter_is_full() {
    fn assert_full<L: Layout>(bits: Option<u32>) {
        let filter = Quotient::<L>::from_spec(&spec(320_000, bits, false)).unwrap();
        let hashes = distinct(5, 0..350_000);
        let full = assert_same(&filter, &hashes, "too many").unwrap_err();
        assert!(
            full.why == WhyFull::Slots && full.inserted >= 320_000,
            "refused for the wrong reason, or too early: {full}"
        );
        let mut filter = filter.clone();
        let bulk = Bulk { workers: &ScopedThreads(2), scratch_bytes: usize::MAX };
        filter.insert_bulk(&hashes, bulk).unwrap_err();
        assert!(hashes[..full.inserted].iter().all(|hash| filter.contains_hash(*hash)));
    }
    assert_full::<WideBlock>(Some(12));
    assert_full::<LineBlock>(None);
}

/// If a filter holds keys already, or grows by itself, `insert_bulk` inserts the keys without building the table in
/// bulk.
#[test]
fn any_number_of_threads_makes_the_same_filter_without_a_build() {
    let hashes = distinct(6, 0..200_000);
    let mut filter = Quotient::<WideBlock>::from_spec(&spec(300_000, Some(9), false)).unwrap();
    filter.insert_hash(KeyHash::from_raw(1 << 63)).unwrap();
    assert_eq!(assert_same(&filter, &hashes, "one key held"), Ok(()));
    let mut spec = spec(30_000, Some(20), false);
    spec.grow_at = Some(0.9);
    let growing = Quotient::<WideBlock>::from_spec(&spec).unwrap();
    assert_eq!(assert_same(&growing, &hashes[..100_000], "growing"), Ok(()));
}

/// A build fills the table in regions of 128 blocks. The second half of every region gets more keys than it has slots,
/// so a cluster of thousands of slots lies across the end of the region. One key in ten repeats another.
#[test]
fn any_number_of_threads_makes_the_same_filter_with_long_clusters() {
    fn assert_clusters<L: Layout>(bits: Option<u32>) {
        let filter = Quotient::<L>::from_spec(&spec(700_000, bits, false)).unwrap();
        let slots = filter.geometry().slots;
        let region = 128 * u64::from(L::SLOTS);
        let mut random = Splitmix::new(8);
        let mut hashes: Vec<KeyHash> = Vec::new();
        for _ in 0..500_000 {
            let copied = random.below(10) == 0 && !hashes.is_empty();
            let hash = if copied {
                hashes[random.below(hashes.len() as u64) as usize]
            } else {
                // The second half of every region gets the keys of both halves.
                let quotient = random.below(slots / region) * region + random.below(region / 2);
                let quotient = (quotient + region / 2) as u128;
                let low = u128::from(random.word());
                KeyHash::from_raw((((quotient << 64) | low) / u128::from(slots)) as u64)
            };
            hashes.push(hash);
        }
        assert_eq!(assert_same(&filter, &hashes, "clusters"), Ok(()));
    }
    assert_clusters::<WideBlock>(Some(13));
    assert_clusters::<LineBlock>(None);
}
