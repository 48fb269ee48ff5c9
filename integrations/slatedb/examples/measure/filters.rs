//! Filters of one table, as SlateDB calls them.

use crate::samples::{Samples, interleave, thousands, time};
use crate::{Subject, key, support};
use slatedb::bytes::Bytes;
use slatedb::{Filter, FilterQuery, RowEntry};
use std::sync::Arc;

const LOOKUPS: usize = 1 << 16;
/// Lookups of one sample: short enough that most samples are not interrupted by other programs. Each repetition takes
/// the next ones.
const SAMPLE: usize = 1 << 13;
/// Keys that no filter holds have these numbers.
const ABSENT: u64 = 1 << 40;

/// Queries whose keys follow each other in memory, so that reading them costs all policies the same and little.
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
    let mut some = || support::random(&mut state) % keys as u64;
    let present = queries((0..LOOKUPS).map(|_| some()));
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
    let mut asked = vec![0; subjects.len()];
    interleave(lookups, subjects.len(), |i| {
        let window = asked[i] % (LOOKUPS / SAMPLE) * SAMPLE;
        let window = window..window + SAMPLE;
        asked[i] += 1;
        let [.., of_absent, of_present] = &mut samples[i];
        // Other filters were looked up since: this one comes back into the cache as it does in a program that uses one.
        matches(&filters[i], &present);
        let (looking, found) = time(|| matches(&filters[i], &absent[window.clone()]));
        of_absent.add_ns(looking, SAMPLE);
        assert!(found < SAMPLE / 20, "{}: {found} absent keys match", subjects[i].name);
        let (looking, found) = time(|| matches(&filters[i], &present[window]));
        of_present.add_ns(looking, SAMPLE);
        assert_eq!(found, SAMPLE, "{}: a key is missing", subjects[i].name);
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
        let [add, finish, decode, estimate, of_absent, of_present] = &samples[i];
        println!(
            "| {} | {} | {:.2} % | {of_absent} | {of_present} | {add} | {finish} | {decode} | {estimate} |",
            subject.name,
            thousands(encoded[i].len() as u64),
            false_positives as f64 / (16 * LOOKUPS) as f64 * 100.0
        );
    }
}
