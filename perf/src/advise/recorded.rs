//! The speed of lookups from the results of a run.

use super::Question;
use super::offers::offers;
use super::timings::{LineTimes, Sample, Timings};
use super::verdict::{Advice, rank};
use crate::failure::bad_input;
use crate::plan::Matrix;
use crate::results::Results;
use crate::roofline::Point;
use crate::row::Row;
use anyhow::Result;

/// Answers a question by what a run measured: between its sizes and shares of keys, lookups are interpolated.
///
/// # Errors
/// Bad input, if the run has no lookups of ours in batches, or no filter meets the question.
pub(crate) fn from_results(asked: &Question, results: &Results) -> Result<Advice> {
    let timings = timings_of(results);
    if timings.samples.is_empty() {
        return Err(bad_input("the results hold no lookups of our filters in batches"));
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

/// All lookups of a run that tell what one in a large batch costs.
fn timings_of(results: &Results) -> Timings {
    Timings {
        samples: results.rows.iter().filter_map(sample_of).collect(),
        lines: LineTimes(results.roofline.iter().map(Point::line_ns).collect()),
    }
}

fn sample_of(row: &Row) -> Option<Sample> {
    let is_usual = row.rival.is_none()
        && (&*row.op, &*row.api) == ("contains", "batch")
        && row.threads == 1
        && row.input().is_none()
        && !row.hashes_keys()
        && !row.is_of_engine()
        && !row.sizing().contains('+')
        && matches!(row.matrix(), None | Some(Matrix::Bits | Matrix::Regime(_)));
    let hit_rate = match row.workload.as_deref()? {
        "miss" => 0.0,
        "mixed" => 0.5,
        "hit" => 1.0,
        _ => return None,
    };
    let kind: trommel::FilterKind = row.filter.parse().ok()?;
    // Of a counting filter lookups read the bits alone, of which counters of 4 bits leave a fifth.
    let bytes = if kind == trommel::FilterKind::CountingBloom { row.bytes / 5 } else { row.bytes };
    is_usual.then_some(Sample { kind, bytes, load: row.load_factor, hit_rate, ns: row.ns_per_op })
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::question;
    use super::super::timings::Basis;
    use super::*;
    use crate::environment::Environment;
    use crate::failure::BadInput;
    use crate::row::tests::example;

    #[test]
    fn lookups_of_a_run_answer_and_say_what_was_interpolated() {
        let mut results = Results::new(Environment::observe(None));
        let asked = question(1_000_000, 10.0, 0.0);
        assert!(from_results(&asked, &results).unwrap_err().is::<BadInput>());
        // 1.5 MB take 2 ns; a rival and the engine are not asked.
        results.put(example("split-block-bloom", "12-bit", None, 2.0));
        results.put(example("split-block-bloom", "12-bit", Some("sbbf-rs-safe"), 0.1));
        results.put(example("split-block-bloom", "12-bit+wall", None, 0.1));
        results.put(example("split-block-bloom", "12-bit+by-1", None, 0.1));
        results.put(Row {
            bytes: 15_000_000,
            keys: 10_000_000,
            ..example("split-block-bloom", "12-bit", None, 4.0)
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
        // Exactly between the two in logarithms: √10 as many bytes as 1.5 MB.
        let bytes = Some((1.5e6 * 10f64.sqrt()) as u64);
        let more = Question { keys: 3_162_277, bytes, fpr: Some(0.0056), ..asked };
        let between = from_results(&more, &results).unwrap();
        let best = between.take().unwrap();
        assert_eq!(best.basis, Basis::Between(1_500_000, 15_000_000));
        assert!((best.lookup_ns - 3.0).abs() < 0.05, "{best:?}");
    }
}
