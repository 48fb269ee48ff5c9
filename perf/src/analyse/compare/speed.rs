//! Decides which cases are slower or faster. An effect counts if it is at least as large as `--min-effect`, and if in
//! every attempt ([`super::Attempt`]: a run of the old program and one of the new) it exceeds the noise of the
//! repetitions.

use super::interleaved::{Rivals, Source};
use super::runs::Pair;
use crate::base::bootstrap;
use crate::base::bootstrap::Interval;
use crate::base::stats::median;
use serde::Serialize;

/// The speed of a case in all attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Speed {
    pub(crate) attempts: Vec<Measure>,
    /// New time divided by old time: the median of all attempts.
    pub(crate) ratio: f64,
    /// The drift-adjusted ratio: the median of all attempts. The verdict depends on this ratio.
    pub(crate) relative: f64,
    pub(crate) verdict: Verdict,
}

/// The speed of a case in one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Measure {
    /// Median nanoseconds per operation.
    pub(crate) old_ns: f64,
    pub(crate) new_ns: f64,
    /// `new_ns` divided by `old_ns`.
    pub(crate) ratio: f64,
    /// The drift-adjusted ratio.
    pub(crate) relative: f64,
    /// How `relative` was computed.
    pub(crate) source: Source,
    /// The interval of `relative`, by resampling the repetitions of both runs; `None` if there are too few repetitions.
    pub(crate) interval: Option<Interval>,
}

/// The conclusion about the speed of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The effect is smaller than `--min-effect`, or there is none.
    Same,
    /// Slower in every attempt.
    Slower,
    /// Faster in every attempt.
    Faster,
    /// The effect is large enough, but attempts disagree, or an interval contains 1.
    Unsettled,
    /// The effect is large enough, but an attempt has too few repetitions for an interval.
    TooFewRepetitions,
}

impl Measure {
    /// Computes the speed from the rows of a case and its repetitions in both runs. The ratio is adjusted by the rivals
    /// that were interleaved with the case, or divided by `drift` if there are no such rivals or all were left out.
    pub(super) fn of(
        pair: &Pair<'_>,
        old: &[f64],
        new: &[f64],
        rivals: Option<&Rivals>,
        drift: f64,
    ) -> Self {
        let (old_ns, new_ns) = (pair.old.ns_per_op, pair.new.ns_per_op);
        let ratio = new_ns / old_ns;
        let (relative, source, interval) = match rivals {
            Some(rivals) => rivals.drift_adjusted(ratio, old, new),
            None => {
                let interval = bootstrap::of_ratio(new, old).map(|interval| interval.over(drift));
                (ratio / drift, Source::Run, interval)
            }
        };
        Self { old_ns, new_ns, ratio, relative, source, interval }
    }
}

/// With fewer attempts than this, every rival stays a control (a measure of the drift), even if the rival was slower or
/// faster in each attempt: in so few attempts, the machine alone can cause such a change. On a shared machine, the
/// rivals of one group took 0.7 times as long in the second of two runs of the same program.
const FEWEST_TO_REJECT_A_CONTROL: usize = 3;

impl Speed {
    /// Combines all attempts. Effects smaller than `min_effect`, a share, do not count.
    pub(super) fn of(attempts: Vec<Measure>, min_effect: f64) -> Self {
        let median_of =
            |value: fn(&Measure) -> f64| median(&attempts.iter().map(value).collect::<Vec<_>>());
        let (ratio, relative) = (median_of(|it| it.ratio), median_of(|it| it.relative));
        let verdict = verdict(&attempts, relative, min_effect);
        Self { attempts, ratio, relative, verdict }
    }

    /// Whether a rival with this speed measures the drift of the machine. The rival does not measure it if there are at
    /// least three attempts, and the rival became slower in every attempt, or faster in every attempt. The old and the
    /// new program run in alternation, so a change that every attempt shows is a difference between the programs.
    pub(super) fn is_of_control(&self) -> bool {
        let is_moved = matches!(self.verdict, Verdict::Slower | Verdict::Faster);
        !(is_moved && self.attempts.len() >= FEWEST_TO_REJECT_A_CONTROL)
    }

    /// The smallest interval that contains the intervals of all attempts.
    pub(crate) fn hull(&self) -> Option<Interval> {
        let intervals: Option<Vec<Interval>> = self.attempts.iter().map(|it| it.interval).collect();
        intervals?.into_iter().reduce(Interval::hull)
    }
}

fn verdict(attempts: &[Measure], relative: f64, min_effect: f64) -> Verdict {
    let (is_slower, is_faster) =
        (relative >= 1.0 + min_effect, relative <= 1.0 / (1.0 + min_effect));
    // A case that is exactly as fast as before is unchanged, even if `min_effect` is 0.
    if !(is_slower || is_faster) || relative == 1.0 {
        return Verdict::Same;
    }
    let intervals: Option<Vec<Interval>> = attempts.iter().map(|it| it.interval).collect();
    let Some(intervals) = intervals else { return Verdict::TooFewRepetitions };
    if is_slower && intervals.iter().all(|interval| interval.low > 1.0) {
        Verdict::Slower
    } else if is_faster && intervals.iter().all(|interval| interval.high < 1.0) {
        Verdict::Faster
    } else {
        Verdict::Unsettled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(ratio: f64, low: f64, high: f64) -> Measure {
        let interval = Some(Interval { low, high });
        Measure {
            old_ns: 1.0,
            new_ns: ratio,
            ratio,
            relative: ratio,
            source: Source::Run,
            interval,
        }
    }

    fn verdict_of(attempts: &[Measure]) -> Verdict {
        Speed::of(attempts.to_vec(), 0.05).verdict
    }

    #[test]
    fn an_effect_counts_if_it_is_large_and_its_interval_excludes_one() {
        assert_eq!(verdict_of(&[measure(1.08, 1.07, 1.09)]), Verdict::Slower);
        assert_eq!(verdict_of(&[measure(0.92, 0.91, 0.93)]), Verdict::Faster);
        assert_eq!(verdict_of(&[measure(1.04, 1.03, 1.05)]), Verdict::Same);
        assert_eq!(verdict_of(&[measure(1.08, 0.99, 1.2)]), Verdict::Unsettled);
        let few = Measure { interval: None, ..measure(1.08, 0.0, 0.0) };
        assert_eq!(verdict_of(&[few]), Verdict::TooFewRepetitions);
        let few_alike = Measure { interval: None, ..measure(1.0, 0.0, 0.0) };
        assert_eq!(verdict_of(&[few_alike]), Verdict::Same);
        assert_eq!(Speed::of(vec![few_alike], 0.0).verdict, Verdict::Same);
    }

    #[test]
    fn an_effect_counts_only_if_all_attempts_agree() {
        let [slow, slower] = [measure(1.06, 1.04, 1.08), measure(1.2, 1.15, 1.25)];
        assert_eq!(verdict_of(&[slow, slower, slow]), Verdict::Slower);
        // The median effect of the attempts must be large enough, and the effects of all attempts must have the same
        // direction.
        assert_eq!(verdict_of(&[slower, slower, measure(1.03, 1.01, 1.05)]), Verdict::Slower);
        assert_eq!(verdict_of(&[slower, slower, measure(1.0, 0.99, 1.01)]), Verdict::Unsettled);
        assert_eq!(
            verdict_of(&[slower, measure(1.0, 0.99, 1.01), measure(1.0, 0.99, 1.01)]),
            Verdict::Same
        );
    }

    #[test]
    fn the_drift_of_the_machine_is_divided_out_of_a_case_without_rivals() {
        let row = |ns| crate::model::example("bloom", "12-bit", None, ns);
        let (old, new) = (row(10.0), row(12.0));
        let pair = Pair { old: &old, new: &new };
        let measure = Measure::of(&pair, &[10.0; 12], &[12.0; 12], None, 1.2);
        assert_eq!((measure.ratio, measure.relative), (1.2, 1.0));
        assert_eq!(measure.interval, Some(Interval { low: 1.0, high: 1.0 }));
        assert_eq!(verdict_of(&[measure]), Verdict::Same);
    }
}
