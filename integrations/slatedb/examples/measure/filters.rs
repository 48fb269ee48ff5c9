//! Measures filters of one table through the methods that SlateDB calls.

use crate::samples::{Samples, interleave, thousands, time};
use crate::{Subject, key, support};
use slatedb::bytes::Bytes;
use slatedb::{Filter, FilterQuery, RowEntry};
use std::sync::Arc;

const LOOKUPS: usize = 1 << 16;
/// The number of lookups per sample. A sample is so short that other programs interrupt few samples. Each repetition
/// uses the next `SAMPLE` of the `LOOKUPS` queries.
const SAMPLE: usize = 1 << 13;
/// No filter holds a key whose number is `ABSENT` or higher.
const ABSENT: u64 = 1 << 40;

/// Returns queries for the keys of `numbers`. The keys lie one after another in memory, so that reading them is cheap
/// and costs every policy the same.
fn queries(numbers: impl Iterator<Item = u64>) -> Vec<FilterQuery> {
    let keys = Bytes::from(numbers.flat_map(key).collect::<Vec<u8>>());
    (0..keys.len()).step_by(20).map(|at| FilterQuery::point(keys.slice(at..at + 20))).collect()
}

fn matches(filter: &Arc<dyn Filter>, queries: &[FilterQuery]) -> usize {
    queries.iter().filter(|query| filter.might_match(query)).count()
}

fn build(subject: &Subject, rows: &[RowEntry], add: &mut Samples, finish: &mut Samples) -> Vec<u8> {
    let mut builder = subject.policy.builder();
    let (adding, ()) = time(|| rows.iter().for_each(|row| builder.add_entry(row)));
    let (building, filter) = time(|| builder.build());
    add.add_ns(adding, rows.len());
    finish.add(building.as_secs_f64() * 1e3);
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    bytes
}

/// Prints a row for each policy.
pub(crate) fn measure(subjects: &[Subject], keys: usize, lookups: usize, others: usize) {
    let mut numbers: Vec<u64> = (0..keys as u64).collect();
    numbers.sort_by_cached_key(|i| key(*i));
    let rows: Vec<RowEntry> = numbers.iter().map(|i| support::row(&key(*i))).collect();
    let mut state = 1;
    let mut random_number = || support::random(&mut state) % keys as u64;
    let present = queries((0..LOOKUPS).map(|_| random_number()));
    let absent = queries((0..LOOKUPS as u64).map(|i| ABSENT + i));

    let mut samples = vec![<[Samples; 6]>::default(); subjects.len()];
    let mut encoded = vec![Vec::new(); subjects.len()];
    interleave(others, subjects.len(), |i| {
        let [add, finish, ..] = &mut samples[i];
        encoded[i] = build(&subjects[i], &rows, add, finish);
    });
    let filters: Vec<_> = subjects
        .iter()
        .zip(&encoded)
        .map(|(subject, bytes)| subject.policy.decode(bytes))
        .collect();
    interleave(others, subjects.len(), |i| {
        let [_, _, decode, estimate, ..] = &mut samples[i];
        let policy = &subjects[i].policy;
        let (decoding, filter) = time(|| policy.decode(&encoded[i]));
        decode.add(decoding.as_secs_f64() * 1e6);
        assert!(filter.size() > 0);
        let (estimating, sum) = time(|| {
            (0..SAMPLE).map(|n| policy.estimate_size(std::hint::black_box(n))).sum::<usize>()
        });
        estimate.add_ns(estimating, SAMPLE);
        assert!(sum > 0);
    });
    let mut samples_taken = vec![0; subjects.len()];
    interleave(lookups, subjects.len(), |i| {
        let window = samples_taken[i] % (LOOKUPS / SAMPLE) * SAMPLE;
        let window = window..window + SAMPLE;
        samples_taken[i] += 1;
        let [.., absent_times, present_times] = &mut samples[i];
        // Loads the filter into the CPU's cache. The measurements of the other filters have evicted it, but in a
        // program that uses only one filter, the filter would be in the cache.
        matches(&filters[i], &present);
        let (looking, found) = time(|| matches(&filters[i], &absent[window.clone()]));
        absent_times.add_ns(looking, SAMPLE);
        assert!(found < SAMPLE / 20, "{}: too many absent keys match: {found}", subjects[i].name);
        let (looking, found) = time(|| matches(&filters[i], &present[window]));
        present_times.add_ns(looking, SAMPLE);
        assert_eq!(found, SAMPLE, "{}: some present keys do not match", subjects[i].name);
    });

    println!(
        "\n{} keys of 20 bytes:\n\n| policy | bytes | false positives | absent, ns | present, ns | \
         add, ns per key | build, ms | decode, µs | estimate, ns |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        thousands(keys as u64)
    );
    for (i, subject) in subjects.iter().enumerate() {
        let false_positives: usize = (0..16)
            .map(|part| {
                let first = ABSENT + part * LOOKUPS as u64;
                matches(&filters[i], &queries(first..first + LOOKUPS as u64))
            })
            .sum();
        let [add, finish, decode, estimate, absent_times, present_times] = &samples[i];
        println!(
            "| {} | {} | {:.2} % | {absent_times} | {present_times} | {add} | {finish} | {decode} | {estimate} |",
            subject.name,
            thousands(encoded[i].len() as u64),
            false_positives as f64 / (16 * LOOKUPS) as f64 * 100.0
        );
    }
}
