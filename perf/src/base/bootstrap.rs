//! Percentile bootstrap intervals of medians. The repetitions of a case are resampled with replacement many times; the
//! interval is the range that holds most of the medians of the resamples.
//!
//! An interval covers the noise within a run. Two runs of the same program can differ by more than their intervals
//! show, since the speed of a machine changes from one minute to the next: [`crate::analyse::compare`] has controls for
//! such changes.
//!
//! Source: Efron, "Bootstrap methods: another look at the jackknife", The Annals of Statistics 7(1), 1979;
//! Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13 (percentile intervals).
//!
//! Valid for: at least [`FEWEST`] values, drawn independently. The repetitions of a run are not quite independent: slow
//! ones tend to follow each other. So the probability that an interval holds the true median is below the nominal one.

use crate::base::stats::{median, quantile};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// The share of the resampled medians that lie within an interval.
const CONFIDENCE: f64 = 0.95;

/// The number of resamples. If the statistic has a value for all of them, the ends of an interval lie between the 50th
/// and the 51st of these values from either side.
const RESAMPLES: usize = 2000;

/// A fixed seed, so that the same repetitions have the same interval in every run of this program.
const SEED: u64 = 0x7472_6F6D_6D65_6C00;

/// The fewest values that have an interval. The interval of eleven values reaches from the third to the ninth, and
/// holds the true median with a probability of 93 %; with seven values the probability would be only 87 %. With more
/// than eleven values, the probability is about 90 to 97 %, depending on their number.
pub(crate) const FEWEST: usize = 11;

/// A confidence interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Interval {
    /// Whether the value lies in the interval.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The smallest interval that contains this one and `other`.
    pub(crate) fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The interval with both ends divided by a positive number.
    pub(crate) fn over(self, divisor: f64) -> Self {
        Self { low: self.low / divisor, high: self.high / divisor }
    }
}

/// The interval of the median of the values; `None` for fewer than [`FEWEST`] values.
pub(crate) fn of_median(values: &[f64]) -> Option<Interval> {
    let mut draws = Resampling::new(values, SEED)?;
    Some(percentiles((0..RESAMPLES).map(|_| draws.median())))
}

/// The interval of a ratio: the median of `over` divided by the median of `under`. The slices are resampled
/// independently. `None` if either slice has fewer than [`FEWEST`] values.
pub(crate) fn of_ratio(over: &[f64], under: &[f64]) -> Option<Interval> {
    let (mut over, mut under) = (Resampling::new(over, SEED)?, Resampling::new(under, !SEED)?);
    Some(percentiles((0..RESAMPLES).map(|_| over.median() / under.median())))
}

/// The interval of a statistic of two sets of rounds, which are resampled independently. `first` and `second` are the
/// numbers of rounds. `statistic` receives, for each set, how often each of its rounds was drawn. It can return `None`
/// for a resample; if it returns `None` for half of the resamples or more, there is no interval.
pub(crate) fn of_drawn(
    first: usize,
    second: usize,
    mut statistic: impl FnMut(&[u32], &[u32]) -> Option<f64>,
) -> Option<Interval> {
    let mut random = Rng::with_seed(SEED);
    let (mut of_first, mut of_second) = (vec![0; first], vec![0; second]);
    let mut draw = |counts: &mut Vec<u32>| {
        counts.fill(0);
        let rounds = counts.len();
        (0..rounds).for_each(|_| counts[random.usize(..rounds)] += 1);
    };
    let values: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            draw(&mut of_first);
            draw(&mut of_second);
            statistic(&of_first, &of_second)
        })
        .collect();
    (values.len() > RESAMPLES / 2).then(|| percentiles(values.into_iter()))
}

/// The values to draw from, and a buffer for one resample.
struct Resampling<'a> {
    values: &'a [f64],
    drawn: Vec<f64>,
    random: Rng,
}

impl<'a> Resampling<'a> {
    fn new(values: &'a [f64], seed: u64) -> Option<Self> {
        let random = Rng::with_seed(seed);
        (values.len() >= FEWEST).then(|| Self { values, drawn: vec![0.0; values.len()], random })
    }

    /// Draws one resample of the same size, and returns its median.
    fn median(&mut self) -> f64 {
        let (values, random) = (self.values, &mut self.random);
        self.drawn.fill_with(|| values[random.usize(..values.len())]);
        let middle = self.drawn.len() / 2;
        let is_even = self.drawn.len().is_multiple_of(2);
        let (below, upper, _) = self.drawn.select_nth_unstable_by(middle, f64::total_cmp);
        if is_even {
            median(&[below.iter().copied().fold(f64::MIN, f64::max), *upper])
        } else {
            *upper
        }
    }
}

fn percentiles(medians: impl Iterator<Item = f64>) -> Interval {
    let medians: Vec<f64> = medians.collect();
    let outside = (1.0 - CONFIDENCE) / 2.0;
    Interval { low: quantile(&medians, outside), high: quantile(&medians, 1.0 - outside) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X ≥ `at_least`) where X is binomial with `n` trials of probability `p`.
    fn upper_tail(n: u32, p: f64, at_least: u32) -> f64 {
        let log_factorial = |n: u32| (1..=n).map(|i| f64::from(i).ln()).sum::<f64>();
        let probability = |k: u32| {
            let choose = log_factorial(n) - log_factorial(k) - log_factorial(n - k);
            (choose + f64::from(k) * p.ln() + f64::from(n - k) * (1.0 - p).ln()).exp()
        };
        (at_least..=n).map(probability).sum()
    }

    /// The rank, counted from 1, of the value at which the interval of the median of `n` values begins. `n` must be
    /// odd. This is the first rank for which the median of a resample is at most the value of the rank with a
    /// probability of `outside` or more. The median is at most that value if and only if more than half of the drawn
    /// values are.
    fn rank_of_low(n: u32) -> u32 {
        let outside = (1.0 - CONFIDENCE) / 2.0;
        let is_end =
            |rank: &u32| upper_tail(n, f64::from(*rank) / f64::from(n), n.div_ceil(2)) >= outside;
        (1..n).find(is_end).unwrap()
    }

    /// The probability that the true median lies between two of `n` values: the one of rank `rank` from below, and the
    /// one of rank `rank` from above.
    fn coverage(n: u32, rank: u32) -> f64 {
        1.0 - 2.0 * upper_tail(n, 0.5, n + 1 - rank)
    }

    #[test]
    fn ends_are_the_order_statistics_of_the_exact_bootstrap() {
        for (n, slack) in [(11, 0), (101, 1), (201, 1)] {
            let ranks: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = of_median(&ranks).unwrap();
            let low = rank_of_low(n);
            assert!(
                interval.low.round().abs_diff_to(low) <= slack,
                "{n} values: {interval:?}, expected low {low}"
            );
            let high = n + 1 - low;
            assert!(
                interval.high.round().abs_diff_to(high) <= slack,
                "{n} values: {interval:?}, expected high {high}"
            );
        }
    }

    trait Distance {
        fn abs_diff_to(self, rank: u32) -> u32;
    }

    impl Distance for f64 {
        fn abs_diff_to(self, rank: u32) -> u32 {
            (self as u32).abs_diff(rank)
        }
    }

    /// Counts the trials for which `covers` returns true. Asserts that the count lies between the counts expected for
    /// the two bounds of `probability`, give or take six standard deviations.
    fn assert_coverage(trials: u32, probability: (f64, f64), mut covers: impl FnMut() -> bool) {
        let covered = f64::from((0..trials).filter(|_| covers()).count() as u32);
        let mean = |p: f64| p * f64::from(trials);
        let deviation = |p: f64| (mean(p) * (1.0 - p)).sqrt();
        let (low, high) = probability;
        assert!(
            covered >= mean(low) - 6.0 * deviation(low)
                && covered <= mean(high) + 6.0 * deviation(high),
            "{covered} of {trials} covered, expected a share from {low} to {high}"
        );
    }

    /// Times with a long tail to the right, like those of a busy machine. Their true median is 1 + ln 2.
    fn skewed(random: &mut Rng, count: u32) -> Vec<f64> {
        (0..count).map(|_| 1.0 - (1.0 - random.f64()).ln()).collect()
    }

    #[test]
    fn intervals_hold_the_true_median_with_the_predicted_probability() {
        let mut random = Rng::with_seed(1);
        for (n, slack) in [(11, 0), (41, 1)] {
            let rank = rank_of_low(n);
            // Resamples are random. If the `upper_tail` of a rank is close to `outside` in `rank_of_low`, the end of
            // the interval can be one rank off.
            let predicted = (coverage(n, rank + slack), coverage(n, rank - slack));
            assert_coverage(1500, predicted, || {
                of_median(&skewed(&mut random, n)).unwrap().holds(1.0 + 2f64.ln())
            });
        }
        assert!((0.92..0.97).contains(&coverage(11, rank_of_low(11))));
        assert!((0.92..0.97).contains(&coverage(201, rank_of_low(201))));
    }

    #[test]
    fn intervals_of_ratios_hold_one_unless_there_is_an_effect() {
        let mut random = Rng::with_seed(2);
        let mut ratio = |factor: f64| {
            let new: Vec<f64> =
                skewed(&mut random, 41).iter().map(|value| value * factor).collect();
            of_ratio(&new, &skewed(&mut random, 41)).unwrap()
        };
        // The intervals can be wider than necessary, so only a lower bound of their coverage is checked: 92 %.
        assert_coverage(1000, (0.92, 1.0), || ratio(1.0).holds(1.0));
        assert_coverage(1000, (0.92, 1.0), || ratio(1.5).holds(1.5));
        assert_coverage(100, (0.0, 0.01), || ratio(4.0).holds(1.0));
    }

    #[test]
    fn every_resample_has_the_given_numbers_of_rounds_and_most_must_have_a_value() {
        let ranks = |counts: &[u32]| -> Vec<f64> {
            let drawn = counts.iter().enumerate();
            drawn.flat_map(|(i, count)| vec![i as f64; *count as usize]).collect()
        };
        let interval = of_drawn(101, 51, |first, second| {
            let (first, second) = (ranks(first), ranks(second));
            assert_eq!((first.len(), second.len()), (101, 51));
            Some(median(&first) - median(&second) * 2.0)
        });
        // Both terms are 50 on average, with standard deviations of about 5 and 7.
        let Interval { low, high } = interval.unwrap();
        assert!((-25.0..-10.0).contains(&low) && (10.0..25.0).contains(&high), "{low} to {high}");
        let mut draws = 0_usize;
        let of_some = |share| {
            of_drawn(11, 11, |_, _| {
                draws += 1;
                draws.is_multiple_of(share).then_some(1.0)
            })
        };
        assert_eq!([1, 3].map(of_some), [Some(Interval { low: 1.0, high: 1.0 }), None]);
    }

    #[test]
    fn intervals_are_reproducible_and_too_few_values_have_none() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i % 17)).collect();
        assert_eq!(of_median(&values), of_median(&values));
        assert_eq!(of_ratio(&values, &values), of_ratio(&values, &values));
        assert_eq!(of_median(&values[..FEWEST - 1]), None);
        assert_eq!(of_ratio(&values, &values[..FEWEST - 1]), None);
        assert_eq!(of_median(&[3.0; 12]), Some(Interval { low: 3.0, high: 3.0 }));
    }
}
