//! The drift of the machine between two runs. Rivals and cache-line reads were interleaved with our filters, and no
//! change of ours makes rivals or reads slower. So if all their times change by a common factor, the machine is the
//! cause. The factor is computed for every attempt, which is a run of the old program and a run of the new program.
//! It is divided out of the times of rivals, and out of the times of our cases that have no control: cases that were
//! interleaved with no rival, or only with rivals that cannot serve as controls.

use super::runs::Pair;
use crate::base::bootstrap;
use crate::base::bootstrap::Interval;
use crate::base::stats::median;
use serde::Serialize;

/// The factors by which the machine was slower in the new run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Drift {
    /// The common factor of the times of rivals.
    pub(crate) rivals: Option<Common>,
    /// The common factor of random cache-line reads, one ratio per measurement of these reads.
    pub(crate) roofline: Option<Common>,
    /// The common factor of rivals and cache-line reads together if it is significant, else 1. Above 1, the machine was
    /// slower in the new run.
    pub(crate) factor: f64,
}

/// The common factor of several ratios of new time to old time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Common {
    /// The median of the ratios.
    pub(crate) factor: f64,
    /// The interval of this median; `None` for too few ratios.
    pub(crate) interval: Option<Interval>,
    /// The number of ratios.
    pub(crate) count: usize,
}

/// A common factor counts as drift only if it differs from 1 by at least this share, and if 1 is not in its interval. A
/// smaller difference is ignored: the median time of a single case is not precise enough to show it.
const LEAST: f64 = 0.01;

impl Drift {
    /// Computes the drift from the cases of one attempt.
    pub(super) fn of<'a>(pairs: impl Iterator<Item = Pair<'a>>) -> Self {
        let (mut rivals, mut lines) = (Vec::new(), Vec::new());
        for Pair { old, new } in pairs {
            if old.case.is_of_rival() {
                rivals.push(new.ns_per_op / old.ns_per_op);
            }
            // Cases of one group and size share one measurement of cache-line reads, which counts once.
            if let Some((was, is)) = old.roofline_mops.zip(new.roofline_mops) {
                let line = (old.case.op, old.case.workload, old.case.keys, was, is);
                if was > 0.0 && is > 0.0 && !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        let lines: Vec<f64> = lines.iter().map(|(.., was, is)| was / is).collect();
        let all = Common::of(&[&*rivals, &lines].concat());
        let factor = all.filter(Common::is_significant).map_or(1.0, |all| all.factor);
        Self { rivals: Common::of(&rivals), roofline: Common::of(&lines), factor }
    }

    /// The factor that is divided out of the times of a rival to find out whether the rival is a control. It is the
    /// common factor of the cache-line reads, which does not depend on rivals. If there are too few reads for an
    /// interval, it is the common factor of rivals and reads together.
    pub(super) fn factor_for_controls(&self) -> f64 {
        match self.roofline.filter(|reads| reads.interval.is_some()) {
            Some(reads) => Some(reads).filter(Common::is_significant).map_or(1.0, |it| it.factor),
            None => self.factor,
        }
    }

    /// Whether the machine as a whole was significantly slower or faster in the new run.
    pub(crate) fn is_established(&self) -> bool {
        self.factor != 1.0
    }
}

impl Common {
    fn of(ratios: &[f64]) -> Option<Self> {
        let interval = bootstrap::of_median(ratios);
        (!ratios.is_empty()).then(|| Self { factor: median(ratios), interval, count: ratios.len() })
    }

    fn is_significant(&self) -> bool {
        (self.factor - 1.0).abs() >= LEAST
            && self.interval.is_some_and(|interval| !interval.holds(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Row, example};

    fn rows(times: impl Iterator<Item = f64>, rival: Option<&str>) -> Vec<Row> {
        let row =
            |ns_per_op| Row { roofline_mops: None, ..example("bloom", "12-bit", rival, ns_per_op) };
        times.map(row).collect()
    }

    fn drift(old: &[Row], new: &[Row]) -> Drift {
        Drift::of(old.iter().zip(new).map(|(old, new)| Pair { old, new }))
    }

    #[test]
    fn a_factor_common_to_all_rivals_is_drift() {
        let times = |factor: f64| {
            (1..=20).map(move |i| f64::from(i) * factor * (1.0 + f64::from(i % 3) / 100.0))
        };
        let old = rows(times(1.0), Some("fastbloom"));
        let slower = drift(&old, &rows(times(1.2), Some("fastbloom")));
        assert!((slower.factor - 1.2).abs() < 1e-9, "{slower:?}");
        assert_eq!(drift(&old, &old).factor, 1.0);
        assert_eq!(drift(&old, &rows(times(1.005), Some("fastbloom"))).factor, 1.0);
        let ours = drift(&rows(times(1.0), None), &rows(times(1.2), None));
        assert_eq!((ours.factor, ours.rivals), (1.0, None));
    }

    #[test]
    fn rivals_are_judged_by_cache_line_reads_if_there_are_enough() {
        let runs = |reads: u64, factor: f64| -> Vec<Row> {
            let row = |i: u64| {
                let row = example("bloom", "12-bit", Some("fastbloom"), 2.0 * factor);
                let row = row.with(|case| case.keys = 1000 + i.min(reads));
                Row { roofline_mops: Some(300.0), ..row }
            };
            (1..=30).map(row).collect()
        };
        let moved = |reads| drift(&runs(reads, 1.0), &runs(reads, 1.5));
        assert_eq!((moved(30).factor, moved(30).factor_for_controls()), (1.0, 1.0));
        assert_eq!((moved(12).factor, moved(12).factor_for_controls()), (1.5, 1.0));
        assert_eq!((moved(5).factor, moved(5).factor_for_controls()), (1.5, 1.5));
    }

    #[test]
    fn rivals_that_disagree_or_are_few_give_no_drift() {
        let old = rows((1..=20).map(f64::from), Some("qfilter"));
        let apart = |i: i32| f64::from(i) * if i % 2 == 0 { 1.3 } else { 0.8 };
        assert_eq!(drift(&old, &rows((1..=20).map(apart), Some("qfilter"))).factor, 1.0);
        let few = rows((1..=5).map(f64::from), Some("qfilter"));
        let slower = rows((1..=5).map(|i| f64::from(i) * 1.2), Some("qfilter"));
        let drift = drift(&few, &slower);
        assert_eq!((drift.factor, drift.rivals.unwrap().count), (1.0, 5));
    }

    #[test]
    fn cache_line_reads_count_once_per_group_and_size() {
        let old: Vec<Row> = (0..30)
            .map(|i| {
                let row = example("bloom", "12-bit", None, 2.0);
                let row = row.with(|case| case.keys = 1000 * (i / 2));
                Row { roofline_mops: Some(300.0), ..row }
            })
            .collect();
        let new: Vec<Row> =
            old.iter().map(|row| Row { roofline_mops: Some(250.0), ..row.clone() }).collect();
        let drift = drift(&old, &new);
        assert_eq!((drift.roofline.unwrap().count, drift.factor), (15, 1.2));
    }
}
