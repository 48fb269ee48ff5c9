//! How far a count may be from its expectation before a test says that the expectation is wrong.
//!
//! A bound is given as a number of standard deviations. It stands for the probability of the tail that a normal
//! variable has beyond this number, whatever the distribution of the count. So a bound of 3 excludes, on each side of
//! the expectation, a tail with a probability of 0.00135.

use libm::{erfc, exp, lgamma, log, log1p, sqrt};

/// If the expected number of successes or of failures is below this number, tails are summed exactly. With an expected
/// number of 50, the normal approximation gives 0.0012 for an upper tail of 0.0020 and also for a lower tail of 0.0005.
/// With smaller expected numbers, the approximation is worse.
const NORMAL_FROM: f64 = 50.0;

/// The probability that a standard normal variable exceeds `sigmas`.
#[must_use]
pub fn normal_tail(sigmas: f64) -> f64 {
    0.5 * erfc(sigmas / core::f64::consts::SQRT_2)
}

/// The probability of a result at least as extreme as `successes`, if each of `trials` trials succeeds with probability
/// `p`. This is the tail on the side of the expectation on which `successes` lies; the tail contains `successes`
/// itself.
///
/// The tail is exact if few successes or few failures are expected. Otherwise it is the normal approximation with a
/// continuity correction.
///
/// # Panics
/// If `p` is not a probability, or if there are more successes than trials. In both cases the calling test is wrong.
#[must_use]
pub fn binomial_tail(successes: u64, trials: u64, p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "{p} is not a probability");
    assert!(successes <= trials, "{successes} successes in {trials} trials");
    if p > 0.5 {
        return binomial_tail(trials - successes, trials, 1.0 - p);
    }
    let mean = trials as f64 * p;
    let observed = successes as f64;
    if mean >= NORMAL_FROM {
        let deviation = (observed - mean).abs();
        return normal_tail((deviation - 0.5).max(0.0) / sqrt(mean * (1.0 - p)));
    }
    if p == 0.0 {
        return if successes == 0 { 1.0 } else { 0.0 };
    }
    let upward = observed > mean;
    let mut term = exp(log_binomial(successes, trials, p));
    let mut tail = 0.0;
    let mut at = successes;
    // Away from the mean, the terms fall at least geometrically; the loop ends when they hardly change the sum.
    while term > tail * 1e-12 {
        tail += term;
        if upward && at < trials {
            term *= (trials - at) as f64 / (at + 1) as f64 * (p / (1.0 - p));
            at += 1;
        } else if !upward && at > 0 {
            term *= at as f64 / (trials - at + 1) as f64 * ((1.0 - p) / p);
            at -= 1;
        } else {
            break;
        }
    }
    tail.min(1.0)
}

fn log_binomial(successes: u64, trials: u64, p: f64) -> f64 {
    let (k, n) = (successes as f64, trials as f64);
    lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(p) + (n - k) * log1p(-p)
}

/// Fails if `successes` is more than `sigmas` standard deviations above or below `trials · p`.
///
/// # Panics
/// If `successes` is too far from `trials · p`, and in the cases in which [`binomial_tail`] panics.
#[track_caller]
pub fn assert_binomial(what: &str, successes: u64, trials: u64, p: f64, sigmas: f64) {
    let tail = binomial_tail(successes, trials, p);
    assert!(
        tail >= normal_tail(sigmas),
        "{what}: {successes} of {trials} ({:.6e}) where {p:.6e} was expected: the tail has a probability of \
         {tail:.1e}, but {sigmas} standard deviations require at least {:.1e}",
        successes as f64 / trials as f64,
        normal_tail(sigmas),
    );
}

/// Fails if `successes` exceeds `trials · p` by more than `sigmas` standard deviations. It never fails if
/// `successes` is below `trials · p`, however far below.
///
/// # Panics
/// If `successes` is too large, and in the cases in which [`binomial_tail`] panics.
#[track_caller]
pub fn assert_binomial_at_most(what: &str, successes: u64, trials: u64, p: f64, sigmas: f64) {
    if successes as f64 > trials as f64 * p {
        assert_binomial(what, successes, trials, p, sigmas);
    }
}

/// Pearson's statistic: `Σ (observed − expected)² / expected`.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    observed.iter().zip(expected).map(|(o, e)| (*o as f64 - e).powi(2) / e).sum()
}

/// A critical value of Pearson's statistic: the statistic exceeds this value as often as a standard normal variable
/// exceeds `sigmas`.
///
/// Source: Wilson and Hilferty, PNAS 17 (1931): if a chi-square variable is divided by its degrees of freedom, the cube
/// root of the quotient is nearly normal. With at least three degrees of freedom, the error of the critical value is at
/// most 1 % if `sigmas` is 2, at most 2 % if it is 3, and at most 5 % if it is 4.
#[must_use]
pub fn chi_square_critical(degrees_of_freedom: u64, sigmas: f64) -> f64 {
    let df = degrees_of_freedom as f64;
    let spread = 2.0 / (9.0 * df);
    df * (1.0 - spread + sigmas * sqrt(spread)).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitmix;
    use std::panic::catch_unwind;

    fn fails(successes: u64, trials: u64, p: f64, sigmas: f64) -> bool {
        catch_unwind(|| assert_binomial("test", successes, trials, p, sigmas)).is_err()
    }

    fn draw(seed: u64, trials: u64, p: f64) -> u64 {
        let mut random = Splitmix::new(seed);
        (0..trials).filter(|_| random.unit() < p).count() as u64
    }

    #[test]
    fn normal_tails_are_the_tabulated_ones() {
        for (sigmas, tail) in [(0.0, 0.5), (1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_349_9)] {
            assert!((normal_tail(sigmas) - tail).abs() < 1e-6);
        }
    }

    #[test]
    fn small_counts_have_exact_tails() {
        // 10 fair coins: P(X >= 8) = 56/1024, P(X <= 1) = 11/1024.
        assert!((binomial_tail(8, 10, 0.5) - 56.0 / 1024.0).abs() < 1e-12);
        assert!((binomial_tail(1, 10, 0.5) - 11.0 / 1024.0).abs() < 1e-12);
        // At least three failures in ten trials of probability 0.99: sum over i >= 3 of C(10, i) 0.01^i 0.99^(10-i).
        assert!((binomial_tail(7, 10, 0.99) - 1.138e-4).abs() < 1e-7);
        // P(X = 0) of 1e6 trials at 1e-6 is 1/e.
        assert!((binomial_tail(0, 1_000_000, 1e-6) - (-1.0f64).exp()).abs() < 1e-6);
        assert_eq!(binomial_tail(0, 10, 0.0), 1.0);
        assert_eq!(binomial_tail(1, 10, 0.0), 0.0);
        assert_eq!(binomial_tail(9, 10, 1.0), 0.0);
    }

    #[test]
    fn exact_and_normal_tails_meet() {
        // Tails are exact for expected numbers below `NORMAL_FROM`, and normal from `NORMAL_FROM` on. One expected
        // number is just below this limit and one just above, and each count is two standard deviations from its
        // expected number. The tolerance is wide, since the normal approximation ignores skewness.
        for side in [-1.0, 1.0] {
            let tail = |mean: f64| {
                let trials = 1_000_000;
                let successes = (mean + side * 2.0 * sqrt(mean)).round() as u64;
                binomial_tail(successes, trials, mean / trials as f64)
            };
            let (below, above) = (tail(49.999), tail(50.001));
            assert!(
                (below / above - 1.0).abs() < 0.35,
                "the exact tail is {below}, the normal tail {above}"
            );
        }
    }

    #[test]
    fn the_right_probability_passes() {
        for (seed, p) in [0.5, 0.01, 0.001, 1e-5, 0.999].into_iter().enumerate() {
            assert!(!fails(draw(seed as u64, 200_000, p), 200_000, p, 3.0), "{p} fails");
        }
        assert!(!fails(0, 1000, 0.0, 3.0));
    }

    #[test]
    fn a_wrong_probability_fails_on_either_side() {
        for (p, wrong) in [(0.01, 0.0112), (0.01, 0.0089), (0.5, 0.505), (1e-4, 3e-4), (2e-4, 5e-5)]
        {
            assert!(fails(draw(7, 200_000, p), 200_000, wrong, 3.0), "{p} is taken for {wrong}");
        }
        assert!(fails(1, 1000, 0.0, 3.0));
        assert!(catch_unwind(|| assert_binomial_at_most("test", 200, 1000, 0.1, 3.0)).is_err());
        assert_binomial_at_most("test", 0, 1000, 0.1, 3.0);
    }

    #[test]
    fn critical_values_are_the_tabulated_ones() {
        // Degrees of freedom, and the value that the statistic exceeds with a probability of 5 %. A normal variable
        // exceeds 1.6449 standard deviations with the same probability.
        for (df, value) in [(3, 7.815), (10, 18.307), (100, 124.342)] {
            let got = chi_square_critical(df, 1.644_853_6);
            assert!((got / value - 1.0).abs() < 0.01, "{df} degrees of freedom: {got} for {value}");
        }
    }

    #[test]
    fn a_loaded_die_is_detected() {
        let throws = |bias: f64| {
            let mut random = Splitmix::new(11);
            let mut counts = [0u64; 6];
            for _ in 0..60_000 {
                let face = if random.unit() < bias { 5 } else { random.below(6) as usize };
                counts[face] += 1;
            }
            chi_square(&counts, &[10_000.0; 6])
        };
        let critical = chi_square_critical(5, 3.0);
        assert!(throws(0.0) < critical);
        assert!(throws(0.02) > critical);
    }
}
