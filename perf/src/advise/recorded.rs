//! Answers a question with the lookup times of an earlier run.

use super::Question;
use super::offers::offers;
use super::timings::{LineTimes, Sample, Timings};
use super::verdict::{Advice, rank};
use crate::base::failure::bad_input;
use crate::measure::roofline::Point;
use crate::model::{Calls, Matrix, Op, Row, Workload};
use crate::store::results::Results;
use anyhow::Result;

/// Answers a question with the lookup times of a run. The times are interpolated between the filter sizes that the run
/// measured, and between its hit rates.
///
/// # Errors
/// Bad input if the run has no batched lookups of our filters, or if no filter meets the question.
pub(crate) fn from_results(asked: &Question, results: &Results) -> Result<Advice> {
    let timings = timings_of(results);
    if timings.samples.is_empty() {
        return Err(bad_input("the results hold no batched lookups of our filters"));
    }
    let offers = offers(asked, &results.environment.caches, None)?;
    let estimates: Vec<_> = offers
        .iter()
        .map(|offer| {
            timings.estimate(offer.kind, offer.probed_bytes, offer.shape.load(), asked.hit_rate)
        })
        .collect();
    Ok(rank(asked, &offers, &estimates))
}

/// The times that a run measured for lookups in large batches and for cache-line reads.
fn timings_of(results: &Results) -> Timings {
    Timings {
        samples: results.rows.iter().filter_map(sample_of).collect(),
        lines: LineTimes(results.roofline.iter().map(Point::line_ns).collect()),
    }
}

/// Turns a row into a sample if the row measures lookups in a filter of ours, on one thread, with the usual kernels and
/// pages, in large batches of generated hashes, and if the probes are not skewed. Returns `None` for every other row.
fn sample_of(row: &Row) -> Option<Sample> {
    let is_usual = row.case.rival.is_none()
        && (row.case.op, row.case.calls) == (Op::Contains, Calls::BATCH)
        && row.case.threads == 1
        && row.case.input_name().is_none()
        && !row.case.hashing
        && !row.case.is_of_engine()
        && row.case.kernels.is_none()
        && matches!(row.case.matrix, None | Some(Matrix::Bits | Matrix::Regime(_)));
    let hit_rate = match row.case.workload? {
        Workload::Miss => 0.0,
        Workload::Mixed => 0.5,
        Workload::Hit => 1.0,
        Workload::Zipf => return None,
    };
    let kind: trommel::FilterKind = row.case.filter.parse().ok()?;
    // Lookups in a counting filter read only its bits: a fifth of its memory, as each bit has a 4-bit counter.
    let bytes = if kind == trommel::FilterKind::CountingBloom { row.bytes / 5 } else { row.bytes };
    is_usual.then_some(Sample { kind, bytes, load: row.load_factor, hit_rate, ns: row.ns_per_op })
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::question;
    use super::super::timings::Basis;
    use super::*;
    use crate::base::failure::BadInput;
    use crate::measure::environment::Environment;
    use crate::model::example;

    #[test]
    fn recorded_lookups_give_an_answer_that_names_the_interpolated_sizes() {
        let mut results = Results::new(Environment::observe(None));
        let asked = question(1_000_000, 10.0, 0.0);
        assert!(from_results(&asked, &results).unwrap_err().is::<BadInput>());
        // A lookup in 1.5 MB takes 2 ns. The rows of a rival, of the engine and of small batches are not used.
        results.put(example("split-block-bloom", "12-bit", None, 2.0));
        results.put(example("split-block-bloom", "12-bit", Some("sbbf-rs-safe"), 0.1));
        results.put(example("split-block-bloom", "12-bit+wall", None, 0.1));
        results.put(example("split-block-bloom", "12-bit+by-1", None, 0.1));
        results.put(Row {
            bytes: 15_000_000,
            ..example("split-block-bloom", "12-bit", None, 4.0).with(|case| case.keys = 10_000_000)
        });
        let advice = from_results(
            &Question { fpr: Some(0.01), bytes: Some(1_500_000), ..asked.clone() },
            &results,
        );
        let best = advice.unwrap();
        assert_eq!(best.take().unwrap().kind, "split-block-bloom");
        assert_eq!(best.take().unwrap().lookup_ns, 2.0);
        assert_eq!(best.take().unwrap().basis, Basis::Measured);
        assert!(best.unknown.contains(&"bloom".to_owned()));
        // Times are interpolated in the logarithm of the size. √10 times 1.5 MB is the geometric mean of the two sizes,
        // so the time is the mean of 2 and 4 ns.
        let bytes = Some((1.5e6 * 10f64.sqrt()) as u64);
        let more = Question { keys: 3_162_277, bytes, fpr: Some(0.0056), ..asked };
        let between = from_results(&more, &results).unwrap();
        let best = between.take().unwrap();
        assert_eq!(best.basis, Basis::Between(1_500_000, 15_000_000));
        assert!((best.lookup_ns - 3.0).abs() < 0.05, "{best:?}");
    }
}
