//! Compares partitions with a naive grouping.

use super::*;
use crate::range::reduce;
use core::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

const METHODS: [Method; 3] = [
    Method::Scatter,
    Method::Combine { run_bytes: SHORT_RUN_BYTES },
    Method::Combine { run_bytes: LONG_RUN_BYTES },
];
const SIZES: &[usize] = if cfg!(miri) {
    &[0, 1, 63, 64, 65, 1000]
} else {
    &[0, 1, 63, 64, 65, 1000, 100_000, 1_000_000]
};

trait TestRecord: Record + PartialEq {
    fn of(hash: u64) -> Self;
}
impl TestRecord for u32 {
    fn of(hash: u64) -> Self {
        hash as u32
    }
}
impl TestRecord for u64 {
    fn of(hash: u64) -> Self {
        hash
    }
}

/// Four lists of hashes: uniform hashes, the same hashes sorted, equal hashes, and hashes of keys that follow Zipf's
/// law.
fn inputs(len: usize) -> [Vec<KeyHash>; 4] {
    let hash = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i << 7)).rotate_left(29);
    let uniform: Vec<_> = (0..len as u64).map(|i| KeyHash::from_raw(hash(hash(i)))).collect();
    let mut sorted = uniform.clone();
    sorted.sort_unstable();
    let equal = std::vec![KeyHash::from_raw(0xABCD_EF01_2345_6789); len];
    // For a uniform `u` below 1, `len^u` has the density of Zipf's law with exponent 1.
    let key = |h: &KeyHash| (len as f64).powf(h.raw() as f64 / u64::MAX as f64) as u64;
    let zipf = uniform.iter().map(|h| KeyHash::from_raw(hash(hash(key(h))))).collect();
    [uniform, sorted, equal, zipf]
}

fn by_reduction<R: TestRecord>(parts: usize) -> impl Fn(u64) -> (usize, R) + Copy {
    move |hash| (reduce(hash, parts as u64) as usize, R::of(hash))
}

/// Partitions by one method, and compares the parts with lists to which the records are pushed one by one.
fn check<R: TestRecord>(
    partitioner: &mut Partitioner<R>,
    method: Method,
    hashes: &[KeyHash],
    parts: usize,
    split: impl Fn(u64) -> (usize, R),
) {
    let mut expected = std::vec![Vec::new(); parts];
    for hash in hashes {
        let (part, record) = split(hash.raw());
        expected[part].push(record);
    }
    let grouped = partitioner
        .partition_by(method, hashes, hashes.len(), parts, |hash| [split(hash)])
        .unwrap();
    assert_eq!(grouped.len(), hashes.len());
    assert_eq!(grouped.is_empty(), hashes.is_empty());
    assert_eq!(grouped.parts(), parts);
    assert!(
        (0..parts).all(|part| grouped.part(part) == expected[part]),
        "{method:?}, {parts} parts"
    );
    assert!(grouped.iter().eq(expected));
}

fn groups_like_the_naive_way<R: TestRecord>() {
    let mut partitioner = Partitioner::<R>::new();
    for &len in SIZES {
        let parts: &[usize] = match len {
            _ if cfg!(miri) => &[1, 2, 65],
            100_000.. => &[1, 2, 100, 1024, 4095, 8192],
            _ => &[1, 2, 3, 7, 64, 255, 256, 1000, 2049, 8192],
        };
        for hashes in inputs(len) {
            for &parts in parts {
                for method in METHODS {
                    check(&mut partitioner, method, &hashes, parts, by_reduction(parts));
                }
            }
        }
    }
}

#[test]
fn records_of_four_bytes_are_grouped_as_by_the_naive_way() {
    groups_like_the_naive_way::<u32>();
}

#[test]
fn records_of_eight_bytes_are_grouped_as_by_the_naive_way() {
    groups_like_the_naive_way::<u64>();
}

#[test]
fn the_order_of_the_input_is_kept_inside_a_part() {
    // Each record is the position of its hash in the input, so the records of each part must ascend.
    let hashes: Vec<_> = (0..5000).map(KeyHash::from_raw).collect();
    for method in METHODS {
        let mut partitioner = Partitioner::<u32>::new();
        let split = |hash: u64| ((hash * hash % 7) as usize, hash as u32);
        let grouped = partitioner
            .partition_by(method, &hashes, hashes.len(), 7, |hash| [split(hash)])
            .unwrap();
        assert!(grouped.iter().all(<[u32]>::is_sorted));
        assert_eq!(grouped.iter().map(<[u32]>::len).sum::<usize>(), hashes.len());
    }
}

#[test]
fn memory_is_kept_but_no_record_of_an_earlier_batch_remains() {
    let mut partitioner = Partitioner::<u64>::new();
    assert_eq!(partitioner.scratch_bytes(), 0);
    let [hashes, ..] = inputs(if cfg!(miri) { 2000 } else { 700_000 });
    let mut held = 0;
    for (len, parts) in [(10, 3), (hashes.len(), 64), (100, 64), (0, 8192), (hashes.len() / 2, 500)]
    {
        let method = Method::for_batch(8 * len, parts);
        check(&mut partitioner, method, &hashes[..len], parts, by_reduction(parts));
        assert!(partitioner.scratch_bytes() >= held);
        held = partitioner.scratch_bytes();
    }
}

#[test]
fn split_is_called_once_per_hash_even_if_the_last_part_is_short() {
    let [hashes, ..] = inputs(if cfg!(miri) { 2000 } else { 600_000 });
    for (blocks, shift) in [(1 << 10, 4), ((1 << 10) + 1, 4), (3, 1), (100_001, 5)] {
        let parts = usize::div_ceil(blocks, 1 << shift);
        for method in METHODS {
            let calls = Cell::new(0);
            let split = |hash| {
                calls.set(calls.get() + 1);
                ((reduce(hash, blocks as u64) >> shift) as usize, hash)
            };
            Partitioner::new()
                .partition_by(method, &hashes, hashes.len(), parts, |hash| [split(hash)])
                .unwrap();
            assert_eq!(calls.get(), hashes.len(), "{blocks} blocks, {method:?}");
        }
    }
}

#[test]
fn memory_stays_within_its_bound() {
    for len in [0usize, 1, 1000, 65_536, 1 << 20, 16_000_000, MAX_HASHES] {
        for parts in [1, 2, 3, 64, 1000, LONG_RUN_PARTS, LONG_RUN_PARTS + 1, MAX_PARTS] {
            for size in [size_of::<u32>(), size_of::<u64>()] {
                let method = Method::for_batch(len.saturating_mul(size), parts);
                let unit = if size == 4 { method.unit::<u32>() } else { method.unit::<u64>() };
                let region = guessed_region(len, parts, unit);
                assert!(parts as u64 * region as u64 <= u64::from(u32::MAX));
                assert!(parts * region >= len + parts * (unit - 1), "no room for counted regions");
                let mean = len as f64 / (parts.max(2) - 1) as f64;
                let bound = (mean + 6.0 * mean.sqrt()) * size as f64 + 1100.0;
                let rest = method.buffer_bytes() + 2 * size_of::<u32>();
                let part = region as u64 * size as u64 + rest as u64;
                assert!(part as f64 <= bound, "{len} in {parts}: {part} above {bound}");
            }
        }
    }
}

#[test]
fn a_part_out_of_range_panics_and_leaves_a_usable_partitioner() {
    let [hashes, ..] = inputs(1000);
    for method in METHODS {
        let mut partitioner = Partitioner::<u32>::new();
        for part in [4, usize::MAX] {
            let split = |hash: u64| (if hash == hashes[999].raw() { part } else { 0 }, hash as u32);
            let attempt = || {
                partitioner
                    .partition_by(method, &hashes, hashes.len(), 4, |hash| [split(hash)])
                    .map(drop)
            };
            assert!(catch_unwind(AssertUnwindSafe(attempt)).is_err());
        }
        check(&mut partitioner, method, &hashes, 4, by_reduction(4));
    }
}

#[test]
fn a_split_that_changes_its_answer_panics() {
    let [hashes, ..] = inputs(1000);
    for method in METHODS {
        // `split` returns part 0, except in its calls 500 to 1499: these return parts 0 to 49, again and again. So the
        // last pass has more records for part 0 than were counted, and these records do not fit into the region.
        let calls = Cell::new(0);
        let attempt = || {
            let split = |hash| {
                calls.set(calls.get() + 1);
                (usize::from((500..1500).contains(&calls.get())) * (calls.get() % 50), hash)
            };
            Partitioner::<u64>::new()
                .partition_by(method, &hashes, hashes.len(), 50, |hash| [split(hash)])
                .map(drop)
        };
        assert!(catch_unwind(AssertUnwindSafe(attempt)).is_err());
    }
}

#[test]
fn too_few_and_too_many_parts_panic() {
    for parts in [0, MAX_PARTS + 1, usize::MAX] {
        let attempt = || Partitioner::<u32>::new().partition(&[], parts, |_| (0, 0)).map(drop);
        assert!(catch_unwind(attempt).is_err());
    }
}

#[test]
fn refused_memory_is_an_error() {
    let mut scratch = Some(Storage::zeroed(64, true).unwrap());
    assert_eq!(grown(&mut scratch, usize::MAX).unwrap_err().bytes, usize::MAX as u64);
    assert_eq!(grown(&mut scratch, 128).unwrap().len(), 128);
}

#[test]
fn results_can_be_read_by_every_thread() {
    fn shared<T: Send + Sync>() {}
    shared::<Partitioned<'_, u32>>();
    shared::<Partitioner<u64>>();
}

/// Claims a number of threads, but processes the shares one after another, the last one first.
struct ManyThreads(usize);

impl crate::Workers for ManyThreads {
    fn threads(&self) -> usize {
        self.0
    }

    fn run<'t>(&self, tasks: &mut crate::Tasks<'_, 't>) {
        let tasks: Vec<_> = tasks.collect();
        tasks.into_iter().rev().for_each(|task| task());
    }
}

/// A share has up to 63 keys more than the mean, since shares begin at whole words of a bitmap.
#[test]
fn no_share_has_more_records_than_a_partitioner_takes() {
    for each in [1, 3, 32] {
        let most = MAX_HASHES / each;
        for keys in [most, most + 1, 2 * most - 130, 2 * most - 2, 2 * most, most.saturating_mul(5)]
        {
            for threads in [1, 2] {
                let plan = SharePlan::new(&ManyThreads(threads), keys, each, 1 << 20);
                let records = plan.share_records(keys);
                assert!(records <= MAX_HASHES, "{keys} keys, {each} records per key: {records}");
            }
        }
    }
}

/// A hash has several records. The records that all shares have for a part, joined in the order of the shares, equal
/// the records that a single pass has for this part, in the same order.
#[test]
fn joined_shares_equal_one_pass() {
    const EACH: usize = 3;
    let split = |hash: u64| {
        core::array::from_fn::<_, EACH, _>(|i| {
            let hash = hash.rotate_left(20 * i as u32);
            (reduce(hash, 100) as usize, hash)
        })
    };
    for len in [0, 1, 5, 1000, if cfg!(miri) { 2000 } else { 700_000 }] {
        for hashes in inputs(len) {
            let mut whole = Partitioner::new();
            let whole = whole.partition_each(&hashes, EACH, 100, split).unwrap();
            assert_eq!(whole.len(), len * EACH);
            for threads in [1, 2, 5] {
                let workers = ManyThreads(threads);
                let plan = SharePlan::new(&workers, len, EACH, 100);
                let mut shares = plan.take::<u64>(&workers, len, usize::MAX).unwrap();
                let shares = partition_shares(&workers, &mut shares, &hashes, split).unwrap();
                for part in 0..100 {
                    let joined: Vec<_> = shares.iter().flat_map(|share| share.part(part)).collect();
                    assert!(
                        joined.into_iter().eq(whole.part(part)),
                        "{len} hashes, {threads} threads, part {part}"
                    );
                }
            }
        }
    }
}

/// A pass takes the memory that `scratch_bytes_for` predicts, give or take 64 bytes.
#[test]
fn scratch_memory_is_predicted() {
    for (len, parts) in [(0, 1), (1000, 7), (700_000, 64), (700_000, 1024), (100_000, 4096)] {
        let [uniform, ..] = inputs(len);
        let mut partitioner = Partitioner::<u32>::new();
        let scale = |hash: u64| (reduce(hash, parts as u64) as usize, hash as u32);
        partitioner.partition(&uniform, parts, scale).unwrap();
        let (expected, taken) =
            (Partitioner::<u32>::scratch_bytes_for(len, parts), partitioner.scratch_bytes());
        assert!(taken.abs_diff(expected) <= 64, "{taken} bytes, not {expected}");
        // Another partitioner can use the memory again.
        let mut next = Partitioner::<u64>::with_memory(partitioner.into_memory());
        next.partition(&uniform[..len / 3], parts, |hash| {
            (reduce(hash, parts as u64) as usize, hash)
        })
        .unwrap();
        assert!(next.scratch_bytes() <= taken + 64, "{} bytes, not {taken}", next.scratch_bytes());
    }
}
