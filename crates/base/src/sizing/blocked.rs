//! False-positive rates of layouts in which a key sets all its bits in one block, and the inverse: the keys per block
//! for a rate.

use super::{MAX_BITS_PER_KEY, MAX_HASHES, all_set, distinct_draws, probe_fpr};
use libm::{exp, log, log1p, pow};

/// A search for a load (the keys per block) divides the range of loads into this number of steps. It returns the lowest
/// load plus a whole number of steps. Even in the largest filter, one step changes the size by less than one block.
const STEPS: u64 = 1 << 44;
/// The most iterations of Halley's method. Two iterations reach the last digits at false-positive rates above 0.1 %.
const MAX_ITERATIONS: u32 = 4;
/// If the rate at a load has at most this relative error, the iteration that starts from this load is the last. The
/// error of its result is of third order, so only the last digits are wrong.
const LAST_ERROR: f64 = 1e-4;

/// Element `i` is `1 / i`. Element 0 is not used.
const RECIPROCALS: [f64; MAX_HASHES as usize + 2] = {
    let mut reciprocals = [0.0; MAX_HASHES as usize + 2];
    let mut i = 1;
    while i < reciprocals.len() {
        reciprocals[i] = 1.0 / i as f64;
        i += 1;
    }
    reciprocals
};

/// The false-positive rate of a blocked layout as a function of the keys per block `λ`: a sum of exponentials
/// `Σ_r factor_r · exp(−hit_r λ)`.
pub(super) struct BlockRate {
    /// The number of positions that a probe tests, at most [`MAX_HASHES`].
    positions: usize,
    /// The distribution of the number of distinct positions of a probe; `None` if they are always distinct.
    distinct: Option<[f64; MAX_HASHES as usize + 1]>,
    /// Element `r` is the probability that a key sets at least one of `r` given positions.
    hit: [f64; MAX_HASHES as usize + 1],
}

impl BlockRate {
    /// The layout of [`super::blocked_fpr`].
    pub(super) fn blocked(block_bits: u32, k: u32) -> Self {
        let positions = k.min(MAX_HASHES) as usize;
        let bits = f64::from(block_bits);
        let mut hit = [0.0; MAX_HASHES as usize + 1];
        for (r, hit) in hit.iter_mut().enumerate().take(positions + 1) {
            *hit = 1.0 - power(1.0 - r as f64 / bits, k);
        }
        Self { positions, distinct: Some(distinct_draws(block_bits, k)), hit }
    }

    /// The layout of [`super::split_fpr`].
    pub(super) fn split(lanes: u32, lane_bits: u32) -> Self {
        let positions = lanes.min(MAX_HASHES) as usize;
        let missed_in_a_lane = 1.0 - 1.0 / f64::from(lane_bits);
        let mut hit = [0.0; MAX_HASHES as usize + 1];
        let mut missed_by_a_key = 1.0;
        for hit in &mut hit[..=positions] {
            *hit = 1.0 - missed_by_a_key;
            missed_by_a_key *= missed_in_a_lane;
        }
        Self { positions, distinct: None, hit }
    }

    /// The probability that `r` given positions are all clear, for each `r`.
    fn all_clear(&self, keys_per_block: f64) -> [f64; MAX_HASHES as usize + 1] {
        let mut all_clear = [0.0; MAX_HASHES as usize + 1];
        for (clear, hit) in all_clear.iter_mut().zip(&self.hit).take(self.positions + 1) {
            *clear = exp(-keys_per_block * hit);
        }
        all_clear
    }

    /// The mean of `all_set` over the number of distinct positions.
    fn mean(&self, values: &[f64; MAX_HASHES as usize + 1]) -> f64 {
        match &self.distinct {
            Some(distinct) => probe_fpr(distinct, &values[..=self.positions]),
            None => all_set(&values[..=self.positions]),
        }
    }

    /// The false-positive rate at a load.
    pub(super) fn at(&self, keys_per_block: f64) -> f64 {
        self.mean(&self.all_clear(keys_per_block)).clamp(0.0, 1.0)
    }

    /// The factor of each exponential.
    fn factors(&self) -> [f64; MAX_HASHES as usize + 1] {
        let mut factors = [0.0; MAX_HASHES as usize + 1];
        let mut add = |d: usize, probability: f64| {
            let mut signed_choose = probability;
            for (r, factor) in factors.iter_mut().enumerate().take(d + 1) {
                *factor += signed_choose;
                signed_choose *= (r as f64 - d as f64) * RECIPROCALS[r + 1];
            }
        };
        match &self.distinct {
            Some(distinct) => (1..=self.positions).for_each(|d| add(d, distinct[d])),
            None => add(self.positions, 1.0),
        }
        factors
    }

    /// Computes a load whose rate is `fpr` up to the last digits, starting from a guess.
    ///
    /// Uses Halley's method on the logarithm of the rate as a function of the logarithm of the load, which is nearly
    /// linear.
    fn approximate(&self, fpr: f64, guess: f64) -> f64 {
        let factors = self.factors();
        let per_fpr = 1.0 / fpr;
        let mut load = guess;
        for _ in 0..MAX_ITERATIONS {
            let (mut rate, mut slope, mut curvature) = (0.0, 0.0, 0.0);
            for (factor, hit) in factors.iter().zip(&self.hit).take(self.positions + 1) {
                let exponent = load * hit;
                let term = factor * exp(-exponent);
                rate += term;
                slope -= exponent * term;
                curvature += exponent * exponent * term;
            }
            let (error, per_rate) = (log(rate * per_fpr), 1.0 / rate);
            let tangent = slope * per_rate;
            let bend = tangent * (1.0 - tangent) + curvature * per_rate;
            let per_tangent = 1.0 / tangent;
            let newton = error * per_tangent;
            let change = newton * (1.0 + 0.5 * newton * bend * per_tangent);
            // Multiplies by `exp(−change)`, to the order of the method.
            let change = change.clamp(-0.5, 0.5);
            load *= 1.0 - change * (1.0 - change * (0.5 - change * (1.0 / 6.0)));
            if error.abs() < LAST_ERROR {
                break;
            }
        }
        load
    }

    /// The most keys per block at which the rate does not exceed `fpr`, at 1 to [`MAX_BITS_PER_KEY`] bits per key;
    /// `None` if the rate exceeds `fpr` even with the fewest keys. The search begins at `guess`.
    ///
    /// The result is the lowest load plus a whole number of steps. One step further, the rate exceeds `fpr`, unless the
    /// range of loads ends at the result.
    fn keys_per_block(&self, block_bits: f64, fpr: f64, guess: f64) -> Option<f64> {
        let min = block_bits / MAX_BITS_PER_KEY;
        // For a block of 2^b bits, the load at every step is exact.
        let step = (block_bits - min) / STEPS as f64;
        let load = |steps: u64| min + step * steps as f64;
        // At all steps below `end_met`, the rate is at most `fpr`; at all steps from `exceeded` on, it exceeds `fpr`.
        let (mut end_met, mut exceeded) = (0, STEPS + 1);
        // The cast makes NaN, and values below the range, step 0.
        let mut next = (((self.approximate(fpr, guess) - min) / step) as u64).min(STEPS);
        let mut reach = 1;
        // Tries the neighbours of the approximation first, then steps ever farther away until the result is between two
        // loads that were tried, and then bisects.
        loop {
            if self.at(load(next)) <= fpr {
                end_met = next + 1;
                next = next.saturating_add(reach).min(exceeded - 1);
            } else {
                exceeded = next;
                next = next.saturating_sub(reach).max(end_met);
            }
            if end_met == exceeded {
                return end_met.checked_sub(1).map(load);
            }
            if end_met > 0 && exceeded <= STEPS {
                next = end_met + (exceeded - end_met) / 2;
            } else {
                reach *= 2;
            }
        }
    }
}

/// The most keys per block at which [`super::blocked_fpr`] does not exceed `fpr`; `None` if more than
/// [`MAX_BITS_PER_KEY`] bits per key are needed. At most one key per bit.
#[must_use]
pub fn blocked_keys_per_block(block_bits: u32, k: u32, fpr: f64) -> Option<f64> {
    let bits = f64::from(block_bits);
    let guess = keys_per_block_about(k, f64::from(k) / bits, fpr);
    BlockRate::blocked(block_bits, k).keys_per_block(bits, fpr, guess)
}

/// The most keys per block at which [`super::split_fpr`] does not exceed `fpr`; `None` if more than
/// [`MAX_BITS_PER_KEY`] bits per key are needed. At most one key per bit.
///
/// ```
/// use trommel_base::sizing::{split_fpr, split_keys_per_block};
/// let keys = split_keys_per_block(8, 32, 0.01).unwrap();
/// assert!(split_fpr(8, 32, keys) <= 0.01);
/// assert!(split_fpr(8, 32, keys * 1.000_001) > 0.01);
/// ```
#[must_use]
pub fn split_keys_per_block(lanes: u32, lane_bits: u32, fpr: f64) -> Option<f64> {
    let bits = f64::from(lanes) * f64::from(lane_bits);
    let guess = keys_per_block_about(lanes, 1.0 / f64::from(lane_bits), fpr);
    BlockRate::split(lanes, lane_bits).keys_per_block(bits, fpr, guess)
}

/// Estimates the keys per block for a false-positive rate. For up to 8 positions in the blocks of
/// our filters, the error is below 4 % at rates of at
/// least 10 %, below 12 % at rates of at least 1 %, and below 35 % at rates down to 0.1 %. Assumes `positions`
/// independent positions, each set by a key with probability `share`, and corrects for the variance of the number of
/// keys to first order.
fn keys_per_block_about(positions: u32, share: f64, fpr: f64) -> f64 {
    let positions = f64::from(positions);
    let set = exp(log(fpr) / positions);
    let keys = -log1p(-set) / share;
    let odds = share * (1.0 - set) / set;
    // The variance makes the rate higher by the relative amount `variance`. `tangent` is the slope of the logarithm of
    // the rate over the logarithm of the load.
    let tangent = keys * positions * odds;
    let variance = 0.5 * tangent * ((positions - 1.0) * odds - share);
    keys - keys * variance / ((1.0 + 0.5 * variance) * tangent)
}

/// `base^exponent`, for exponents up to [`MAX_HASHES`] by multiplication: exact where a floating-point number holds the
/// result, as it does for multiples of 1/64 to at most the eighth power.
fn power(base: f64, exponent: u32) -> f64 {
    if exponent > MAX_HASHES {
        return pow(base, f64::from(exponent));
    }
    (0..exponent).fold(1.0, |power, _| power * base)
}

#[cfg(test)]
mod tests {
    use super::super::{blocked_fpr, split_fpr};
    use super::*;

    /// The same search by 44 halvings of the range.
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

    /// Rates from 0.999 down to below what any layout reaches.
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
        // Rates are sums of terms of up to 70 with alternating signs, so the last digits of the terms decide which step
        // is the last that meets the rate. At rates of 1 % and more, both searches find the same step.
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

    /// At usual rates, both searches give the same result to the last bit. Filters were sized by halving before, and
    /// must not change their sizes.
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

    /// The search gives the same result from any guess, but it is short only from a good one.
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
                let load = layout.approximate(fpr, guess);
                if load <= bits && load >= bits / MAX_BITS_PER_KEY {
                    assert!(
                        (guess / load - 1.0).abs() < max_error,
                        "{bits} bits at {fpr:e}: {guess}, {load}"
                    );
                    let error = (layout.at(load) / fpr - 1.0).abs();
                    assert!(error < 1e-12 + 3e-14 / fpr, "{bits} bits at {fpr:e}: {error:e}");
                }
            };
            for k in 1..=8 {
                let guess = keys_per_block_about(k, f64::from(k) / 64.0, fpr);
                assert_good(&BlockRate::blocked(64, k), 64.0, guess);
            }
            for lane_bits in [32, 64] {
                let guess = keys_per_block_about(8, 1.0 / f64::from(lane_bits), fpr);
                assert_good(&BlockRate::split(8, lane_bits), f64::from(8 * lane_bits), guess);
            }
        }
    }

    #[test]
    fn no_argument_makes_a_search_endless() {
        let fprs =
            [f64::NAN, -1.0, 0.0, 5e-324, 1e-300, 1.0 - f64::EPSILON, 1.0, 2.0, f64::INFINITY];
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
}
