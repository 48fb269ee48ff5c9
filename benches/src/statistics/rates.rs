//! Measures the false-positive rate of every kind at several loads, on every instruction set.

use super::{Counted, Effort, Outcome, Subject, false_positives, relative_spread};
use trommel::{AnyFilter, Filter, Insert};
use trommel_testkit::stats::chi_square_critical;

/// The number of keys that fill a filter with slots to 95 %, or for which a filter without slots is planned. This
/// number is small enough that `expected_fpr` of a cuckoo filter counts the whole table: in tables of more than 2^20
/// slots, it counts only a part of the buckets.
const KEYS: usize = 100_000;
/// The number of keys of a filter without slots, divided by the number that it is planned for.
const BLOOM_LOADS: [f64; 3] = [0.5, 1.0, 2.0];
/// The share of the slots that are taken.
const SLOT_LOADS: [f64; 3] = [0.5, 0.75, 0.95];

/// The columns of the CSV file. `hits` is the number of false positives of `probes` lookups, `expected` the filter's
/// `expected_fpr`, `spread` its [`Counted::relative_spread`], and `deviations` the result of [`Counted::deviations`].
pub const COLUMNS: &str = "kind,bits,load,isa,keys,probes,hits,expected,spread,deviations";

/// Measures every case. Reports each filter to `progress` when it is done.
///
/// # Errors
/// A text that names the kind: the library's error if a filter cannot be made or filled, or a text that says that the
/// same keys give different bytes on two instruction sets.
pub fn run(effort: &Effort, mut progress: impl FnMut(&str)) -> Result<Outcome, String> {
    let mut outcome = Outcome::new(COLUMNS);
    let (mut squares, mut counts) = (0.0, 0);
    let bloom = Subject::BLOOM.map(|subject| BLOOM_LOADS.map(|load| (subject, load, load)));
    let slotted =
        Subject::SLOTTED.map(|subject| SLOT_LOADS.map(|load| (subject, load, load / super::FULL)));
    let cases = bloom.into_iter().chain(slotted).flatten();
    for (number, (subject, load, share)) in cases.enumerate() {
        let keys = (KEYS as f64 * share).round() as u64;
        let filters = filled(effort, subject, keys, 1 + number as u64)?;
        let hits = false_positives(&filters, effort.probes);
        for (filter, hits) in filters.iter().zip(&hits) {
            let what = || {
                format!("{} {} at {load} on {}", subject.kind, subject.bits_field(), filter.isa())
            };
            let counted = Counted {
                hits: *hits,
                probes: effort.probes,
                expected: filter.expected_fpr(),
                relative_spread: relative_spread(filter),
            };
            let deviations = counted.deviations();
            let line = format!(
                "{},{},{load},{},{keys},{},{hits},{:e},{:e},{deviations:.2}",
                subject.kind,
                subject.bits_field(),
                filter.isa(),
                effort.probes,
                counted.expected,
                counted.relative_spread,
            );
            progress(&line);
            outcome.lines.push(line);
            outcome.claim(counted.is_within(effort.sigmas), || {
                format!("{}: {hits} false positives, {deviations:.2} standard deviations", what())
            });
            if filter.isa() == filters[0].isa() && counted.is_nearly_normal() {
                squares += deviations * deviations;
                counts += 1;
            }
        }
        let same = hits.iter().all(|count| *count == hits[0]);
        outcome.claim(same, || format!("{}: instruction sets differ: {hits:?} hits", subject.kind));
    }
    let critical = chi_square_critical(counts, effort.sigmas);
    outcome.claim(squares <= critical, || {
        format!(
            "the squares of {counts} deviations add up to {squares:.1}, more than {critical:.1}"
        )
    });
    Ok(outcome)
}

/// Returns a filter of the same keys for every instruction set. Fails if their bytes differ.
fn filled(
    effort: &Effort,
    subject: Subject,
    keys: u64,
    seed: u64,
) -> Result<Vec<AnyFilter>, String> {
    let members: Vec<u64> = (0..keys).collect();
    let mut hashes = Vec::new();
    let mut filters = Vec::new();
    for isa in effort.sets() {
        let spec = subject.spec(KEYS, seed, isa);
        let mut filter = spec.build().map_err(|error| format!("{}: {error}", subject.kind))?;
        filter.hasher().hash_batch(&members, &mut hashes);
        filter.insert_batch(&hashes).map_err(|full| format!("{}: {full}", subject.kind))?;
        filters.push(filter);
    }
    let bytes: Vec<Vec<u8>> = filters.iter().map(AnyFilter::to_bytes).collect();
    if bytes.iter().any(|other| *other != bytes[0]) {
        return Err(format!(
            "{}: instruction sets made different bytes of the same keys",
            subject.kind
        ));
    }
    Ok(filters)
}
