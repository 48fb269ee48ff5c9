//! Tests that compare each search for a load with a search that only halves the range of loads, and each function of a
//! search with its documentation.

use super::super::{blocked_fpr, split_fpr};
use super::*;

/// The search of [`BlockRate::keys_per_block`], but by 44 halvings of the range of loads.
fn by_halving(block_bits: f64, fpr: f64, rate: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high) = (block_bits / MAX_BITS_PER_KEY, block_bits);
    if rate(low) > fpr {
        return None;
    }
    if rate(high) <= fpr {
        return Some(high);
    }
    for _ in 0..44 {
        let middle = 0.5 * (low + high);
        if rate(middle) <= fpr { low = middle } else { high = middle }
    }
    Some(low)
}

/// Rates from 0.999 down to rates that no layout reaches.
fn rates() -> impl Iterator<Item = f64> {
    (0..1200).map(|i| 0.999 * exp(-0.015 * f64::from(i)))
}

#[track_caller]
fn check(block_bits: u32, fpr: f64, found: Option<f64>, rate: impl Fn(f64) -> f64) {
    let block_bits = f64::from(block_bits);
    let expected = by_halving(block_bits, fpr, &rate);
    assert_eq!(found.is_some(), expected.is_some(), "{block_bits} bits at {fpr:e}");
    let (Some(found), Some(expected)) = (found, expected) else { return };
    assert!(rate(found) <= fpr, "{block_bits} bits: {found} keys exceed the rate {fpr:e}");
    // Rates are sums of terms with alternating signs and magnitudes of up to 70. So the rounding of the terms decides
    // which step is the last that meets the rate. At rates of 1 % and more, the search and halving find the same step.
    let noise = 3e-14 / fpr;
    let error = (found - expected).abs();
    assert!(error <= expected * noise, "{block_bits} bits at {fpr:e}: {found}, not {expected}");
    let above = found * (1.0 + noise) + block_bits / STEPS as f64;
    assert!(
        above >= block_bits || rate(above) > fpr,
        "{block_bits} bits: more keys than {found} have a rate of at most {fpr:e}"
    );
}

#[test]
fn searches_end_where_halving_ends() {
    for fpr in rates() {
        for k in 1..=8 {
            let found = blocked_keys_per_block(64, k, fpr);
            check(64, fpr, found, |load| blocked_fpr(64, k, load));
        }
        for lane_bits in [32, 64] {
            let found = split_keys_per_block(8, lane_bits, fpr);
            check(8 * lane_bits, fpr, found, |load| split_fpr(8, lane_bits, load));
        }
    }
}

/// At usual rates, the search and halving give the same result to the last bit. Earlier versions sized filters by
/// this halving, and the sizes of filters must not change.
#[test]
fn searches_for_usual_rates_give_the_value_of_halving() {
    for fpr in [0.5, 0.25, 0.1, 0.05, 0.03, 0.02, 0.01] {
        for lane_bits in [32, 64] {
            let rate = |load| split_fpr(8, lane_bits, load);
            let expected = by_halving(f64::from(8 * lane_bits), fpr, rate);
            assert_eq!(split_keys_per_block(8, lane_bits, fpr), expected, "at {fpr}");
        }
        for k in 1..=6 {
            let expected = by_halving(64.0, fpr, |load| blocked_fpr(64, k, load));
            assert_eq!(blocked_keys_per_block(64, k, fpr), expected, "at {fpr}, k = {k}");
        }
    }
}

/// The search gives the same result from any guess, but takes few tries only from a good guess.
#[test]
fn guesses_are_near_and_approximations_right_to_the_last_digits() {
    for i in 1..320 {
        let fpr = 0.6 * exp(-0.02 * f64::from(i));
        let max_error = if fpr >= 0.1 {
            0.04
        } else if fpr >= 0.01 {
            0.12
        } else {
            0.35
        };
        let assert_good = |layout: &BlockRate, bits: f64, guess: f64| {
            let exact = by_halving(bits, fpr, |load| layout.at(load));
            // In all of these layouts, the rate is exceeded at one key per bit, the highest load of the search.
            assert_ne!(exact, Some(bits));
            let Some(exact) = exact else { return };
            let guess_error = (guess / exact - 1.0).abs();
            assert!(guess_error < max_error, "{bits} bits at {fpr:e}: {guess}, not {exact}");
            let load = layout.approximate(fpr, guess);
            let error = (layout.at(load) / fpr - 1.0).abs();
            assert!(error < 1e-12 + 3e-14 / fpr, "{bits} bits at {fpr:e}: {error:e}");
        };
        for k in 1..=8 {
            assert_good(&BlockRate::blocked(64, k), 64.0, blocked_guess(64, k, fpr));
        }
        for lane_bits in [32, 64] {
            let guess = split_guess(8, lane_bits, fpr);
            assert_good(&BlockRate::split(8, lane_bits), f64::from(8 * lane_bits), guess);
        }
    }
}

/// Each iteration of Halley's method leaves an error of third order in the change of the load. [`exp_of_minus`]
/// computes the factor by which the load changes, so the error of [`exp_of_minus`] must be of higher order.
#[test]
fn the_change_of_a_load_is_an_exponential_up_to_the_fourth_order() {
    for i in -500..=500 {
        let x = f64::from(i) / 1000.0;
        let error = (exp_of_minus(x) - exp(-x)).abs();
        assert!(error <= x * x * x * x / 20.0 + f64::EPSILON, "exp(-{x}) is wrong by {error:e}");
    }
}

/// Three lanes of eight bits at a rate of 1/8: each of the three positions of a probe must be set with probability 1/2,
/// which takes `8 ln 2` keys. A key sets a position with probability 1/8, and a position is as likely clear as set. So
/// in [`keys_per_block_about`], `odds` is 1/8, `tangent` is `3 ln 2`, and `variance` is `1.5 ln 2 (2/8 − 1/8)`.
#[test]
fn a_guess_lowers_the_load_by_as_much_as_the_variance_makes_the_rate_higher() {
    let ln_2 = core::f64::consts::LN_2;
    let uncorrected = 8.0 * ln_2;
    let expected = uncorrected * (1.0 - log1p(3.0 / 16.0 * ln_2) / (3.0 * ln_2));
    let guess = split_guess(3, 8, 0.125);
    // With `v` for `variance`, the guess uses `v / (1 + v/2)` instead of `ln(1 + v)`. Here the two agree to within
    // 1/700.
    assert!((guess / expected - 1.0).abs() < 2e-4, "{guess}, not {expected}");
}

#[test]
fn a_rate_is_the_sum_of_its_exponentials() {
    let sum_is_rate = |layout: &BlockRate, load: f64| {
        let terms = layout.factors().into_iter().zip(layout.hit);
        let sum: f64 = terms.map(|(factor, hit)| factor * exp(-load * hit)).sum();
        // The sum has at most nine terms, whose magnitudes are at most 70.
        let error = (sum - layout.at(load)).abs();
        assert!(error < 1e-13, "{} positions, {load} keys: {error:e}", layout.positions);
    };
    for eighths in 1..=256 {
        let load = f64::from(eighths) / 8.0;
        (1..=8).for_each(|k| sum_is_rate(&BlockRate::blocked(64, k), load));
        [32, 64].into_iter().for_each(|bits| sum_is_rate(&BlockRate::split(8, bits), load));
    }
}

/// The factors are the coefficients of `(1 − x)^4`, since the four positions of a key are in different lanes.
#[test]
fn factors_of_four_lanes_are_those_of_a_fourth_power() {
    let factors = BlockRate::split(4, 32).factors();
    for (factor, expected) in factors.into_iter().zip([1.0, -4.0, 6.0, -4.0, 1.0, 0.0]) {
        assert!((factor - expected).abs() < 1e-14, "{factor}, not {expected}");
    }
}

#[test]
fn the_step_of_a_load_is_the_last_one_at_or_below_it() {
    for block_bits in [64.0, 256.0, 512.0] {
        let loads = Loads::of(block_bits);
        assert_eq!([loads.at(0), loads.at(STEPS)], [block_bits / MAX_BITS_PER_KEY, block_bits]);
        for step in [0, 1, 2, 1000, STEPS / 3, STEPS / 2, STEPS - 2, STEPS - 1] {
            // These loads are exact.
            let (load, next) = (loads.at(step), loads.at(step + 1));
            assert_eq!(loads.step_at(load), step);
            assert_eq!(loads.step_at(0.5 * (load + next)), step);
            assert_eq!(loads.step_at(next), step + 1);
        }
        let outside = [f64::NAN, f64::NEG_INFINITY, 0.0, block_bits / 65.0];
        assert_eq!(outside.map(|load| loads.step_at(load)), [0; 4]);
        assert_eq!([block_bits * 1.5, f64::INFINITY].map(|load| loads.step_at(load)), [STEPS; 2]);
    }
}

#[test]
fn a_search_takes_at_most_twice_the_logarithm_of_the_distance_in_tries() {
    let tries_of = |start: u64, result: Option<u64>| {
        let tries = core::cell::Cell::new(0);
        let found = last_met(start, |step| {
            assert!(step <= STEPS, "step {step} is not in the range");
            tries.set(tries.get() + 1);
            Some(step) <= result
        });
        assert_eq!(found, result, "from {start}");
        let steps_from_below = result.map_or(0, |step| step + 1);
        let distance = (start + 1).abs_diff(steps_from_below);
        let most = 2 + 2 * (distance + 1).ilog2();
        assert!(tries.get() <= most, "{} tries from {start} to {result:?}", tries.get());
    };
    let distances = || (0..40).chain((6..44).flat_map(|log2| [(1 << log2) - 1, 1 << log2]));
    for start in [0, 1, 5, 1000, STEPS / 3, STEPS - 1000, STEPS - 1, STEPS] {
        for distance in distances() {
            tries_of(start, (start + distance <= STEPS).then_some(start + distance));
            tries_of(start, start.checked_sub(distance));
        }
        tries_of(start, Some(STEPS));
        tries_of(start, Some(0));
    }
}

#[test]
fn no_argument_makes_a_search_endless() {
    let fprs = [f64::NAN, -1.0, 0.0, 5e-324, 1e-300, 1.0 - f64::EPSILON, 1.0, 2.0, f64::INFINITY];
    for fpr in fprs {
        for (lanes, lane_bits) in [(8, 32), (1, 1), (32, 2), (40, 8), (0, 8), (3, 0)] {
            let found = split_keys_per_block(lanes, lane_bits, fpr);
            assert!(found.is_none() || fpr > 0.0, "a load was found for a rate of {fpr}");
        }
        for (block_bits, k) in [(64, 1), (64, 0), (1, 8), (512, 32), (512, u32::MAX), (0, 3)] {
            let found = blocked_keys_per_block(block_bits, k, fpr);
            assert!(found.is_none() || fpr >= 0.0, "a load was found for a rate of {fpr}");
        }
    }
}

#[test]
fn powers_of_the_register_layout_are_exact() {
    for k in 0..=8 {
        for r in 0..=8 {
            let base = 1.0 - f64::from(r) / 64.0;
            assert_eq!(power(base, k).to_bits(), pow(base, f64::from(k)).to_bits());
        }
    }
}
