//! What is slower. An effect counts if it is large enough to matter and if every attempt shows it beyond the
//! noise of its repetitions.

use super::interleaved::Rivals;
use super::runs::Pair;
use crate::bootstrap::{self, Interval};
use crate::stats::median;
use serde::Serialize;

/// The speed of a case in all attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Speed {
    pub(crate) attempts: Vec<Measure>,
    /// New time over old time: the median of the attempts.
    pub(crate) ratio: f64,
    /// The same beside the machine: what the verdict rests on.
    pub(crate) relative: f64,
    pub(crate) verdict: Verdict,
}

/// The speed of a case in one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Measure {
    /// Median nanoseconds per operation.
    pub(crate) old_ns: f64,
    pub(crate) new_ns: f64,
    /// New over old.
    pub(crate) ratio: f64,
    /// The same beside the machine.
    pub(crate) relative: f64,
    /// What `relative` is made of.
    pub(crate) source: Source,
    /// Of `relative`, by resampling the repetitions of both runs; none if there are too few of them.
    pub(crate) interval: Option<Interval>,
}

/// What is compared in one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
    /// Rounds in which rivals took the same time.
    AlikeRounds,
    /// The medians of all rounds, beside those of the rivals that were interleaved with the case.
    Rivals,
    /// The medians of all rounds, over the drift of the machine from one run to the other.
    Run,
}

/// What there is to say of the speed of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// No effect as large as was asked for.
    Same,
    /// Slower in every attempt.
    Slower,
    /// Faster in every attempt.
    Faster,
    /// As large an effect, but attempts disagree or their intervals hold 1.
    Unsettled,
    /// As large an effect, but too few repetitions to tell.
    TooFewRepetitions,
}

impl Measure {
    /// From the rows of a case and its repetitions in the rounds of both runs: beside the rivals that were interleaved
    /// with it, or, without any, on a machine that has drifted by this factor.
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
            Some(rivals) => rivals.beside(ratio, old, new),
            None => {
                let interval = bootstrap::of_ratio(new, old).map(|interval| interval.over(drift));
                (ratio / drift, Source::Run, interval)
            }
        };
        Self { old_ns, new_ns, ratio, relative, source, interval }
    }
}

impl Speed {
    /// From all attempts; effects below `min_effect`, a share, do not count.
    pub(super) fn of(attempts: Vec<Measure>, min_effect: f64) -> Self {
        let middle = |of: fn(&Measure) -> f64| median(&attempts.iter().map(of).collect::<Vec<_>>());
        let (ratio, relative) = (middle(|it| it.ratio), middle(|it| it.relative));
        let verdict = verdict(&attempts, relative, min_effect);
        Self { attempts, ratio, relative, verdict }
    }

    /// The interval that holds those of all attempts.
    pub(crate) fn hull(&self) -> Option<Interval> {
        let intervals: Option<Vec<Interval>> = self.attempts.iter().map(|it| it.interval).collect();
        intervals?.into_iter().reduce(Interval::hull)
    }
}

fn verdict(attempts: &[Measure], relative: f64, min_effect: f64) -> Verdict {
    let (is_slower, is_faster) =
        (relative >= 1.0 + min_effect, relative <= 1.0 / (1.0 + min_effect));
    // Without a least effect, what is exactly as fast has none.
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
    fn an_effect_counts_if_it_is_large_and_sure() {
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
    fn attempts_have_to_agree() {
        let [slow, slower] = [measure(1.06, 1.04, 1.08), measure(1.2, 1.15, 1.25)];
        assert_eq!(verdict_of(&[slow, slower, slow]), Verdict::Slower);
        // The size is that of the median, the direction that of each.
        assert_eq!(verdict_of(&[slower, slower, measure(1.03, 1.01, 1.05)]), Verdict::Slower);
        assert_eq!(verdict_of(&[slower, slower, measure(1.0, 0.99, 1.01)]), Verdict::Unsettled);
        assert_eq!(
            verdict_of(&[slower, measure(1.0, 0.99, 1.01), measure(1.0, 0.99, 1.01)]),
            Verdict::Same
        );
    }

    #[test]
    fn the_drift_of_the_machine_is_divided_out() {
        let row = |ns| crate::row::tests::example("bloom", "12-bit", None, ns);
        let (old, new) = (row(10.0), row(12.0));
        let pair = Pair { old: &old, new: &new };
        let measure = Measure::of(&pair, &[10.0; 12], &[12.0; 12], None, 1.2);
        assert_eq!((measure.ratio, measure.relative), (1.2, 1.0));
        assert_eq!(measure.interval, Some(Interval { low: 1.0, high: 1.0 }));
        assert_eq!(verdict_of(&[measure]), Verdict::Same);
    }
}
