//! False-positive rates of layouts in which a key sets all its bits in one block, and the inverse: the keys per block
//! for a rate.

use super::{MAX_BITS_PER_KEY, MAX_HASHES, all_set, distinct_draws, probe_fpr};
use libm::{exp, log, log1p, pow};

/// A search for a load (the keys per block) divides the range of loads into this number of steps. Its result is the sum
/// of the lowest load of the range and a whole number of steps. Even in the largest filter, one step changes the size
/// of the table by less than one block.
const STEPS: u64 = 1 << 44;
/// The most iterations of Halley's method. At false-positive rates above 0.1 %, only the last digits of the load are
/// wrong after two iterations.
const MAX_ITERATIONS: u32 = 4;
/// If the rate at a load differs from the requested rate by a relative error below this limit, the iteration that
/// starts from the load is the last. An iteration leaves an error in proportion to the third power of the error that it
/// starts with, so after the last iteration, only the last digits of the load are wrong.
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
    /// The distribution of the number of distinct positions of a probe; `None` if all positions are always distinct.
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

    /// The false-positive rate, if element `r` of `values` is the probability that `r` given positions are all clear.
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

    /// Computes, from a guess, a load whose rate differs from `fpr` only in the last digits.
    ///
    /// Uses Halley's method on a function that is nearly linear: the logarithm of the rate, as a function of the
    /// logarithm of the load.
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
            load *= exp_of_minus(change.clamp(-0.5, 0.5));
            if error.abs() < LAST_ERROR {
                break;
            }
        }
        load
    }

    /// Searches the loads with 1 to [`MAX_BITS_PER_KEY`] bits per key for the highest load at which the rate does not
    /// exceed `fpr`; returns `None` if the rate exceeds `fpr` even at the lowest of these loads. The search begins at
    /// the load that [`BlockRate::approximate`] computes from `guess`.
    ///
    /// The result is the sum of the lowest load and a whole number of steps. Unless the result is the highest load of
    /// the range, the rate exceeds `fpr` one step above the result.
    fn keys_per_block(&self, block_bits: f64, fpr: f64, guess: f64) -> Option<f64> {
        let loads = Loads::of(block_bits);
        let start = loads.step_at(self.approximate(fpr, guess));
        last_met(start, |step| self.at(loads.at(step)) <= fpr).map(|step| loads.at(step))
    }
}

/// `exp(−x)`, to the third order: for `x` between −1/2 and 1/2, with an error of at most `x^4 / 20`.
fn exp_of_minus(x: f64) -> f64 {
    1.0 - x * (1.0 - x * (0.5 - x * (1.0 / 6.0)))
}

/// The loads that a search tries: at 1 to [`MAX_BITS_PER_KEY`] bits per key, in [`STEPS`] equal steps.
struct Loads {
    min: f64,
    step: f64,
}

impl Loads {
    fn of(block_bits: f64) -> Self {
        let min = block_bits / MAX_BITS_PER_KEY;
        // For a block of 2^b bits, the load at every step is exact.
        Self { min, step: (block_bits - min) / STEPS as f64 }
    }

    fn at(&self, step: u64) -> f64 {
        self.min + self.step * step as f64
    }

    /// The last step whose load is at most `load`, up to rounding; step 0 for a load below the range and for NaN, and
    /// the last step for a load above the range.
    fn step_at(&self, load: f64) -> u64 {
        // The cast maps NaN and values below the range to step 0.
        (((load - self.min) / self.step) as u64).min(STEPS)
    }
}

/// The highest step from 0 to [`STEPS`] for which `is_met` returns true; `None` if there is none. Assumes that if
/// `is_met` returns true for a step, it returns true for every lower step too.
///
/// Tries step `start` first, and then other steps at growing distances from `start`. Once the result is between two
/// steps that were tried, bisects. Takes at most `2 + 2 · floor(log2(d + 1))` tries if the result is `d` steps from
/// `start` (`None` counts as one step below step 0).
fn last_met(start: u64, is_met: impl Fn(u64) -> bool) -> Option<u64> {
    // At all steps below `end_met`, the rate is met; at all steps from `exceeded` on, it is exceeded.
    let (mut end_met, mut exceeded) = (0, STEPS + 1);
    let mut next = start;
    let mut reach = 1;
    loop {
        if is_met(next) {
            end_met = next + 1;
            next = next.saturating_add(reach).min(exceeded - 1);
        } else {
            exceeded = next;
            next = next.saturating_sub(reach).max(end_met);
        }
        if end_met == exceeded {
            return end_met.checked_sub(1);
        }
        if end_met > 0 && exceeded <= STEPS {
            next = end_met + (exceeded - end_met) / 2;
        } else {
            reach *= 2;
        }
    }
}

/// The most keys per block at which [`super::blocked_fpr`] does not exceed `fpr`; `None` if more than
/// [`MAX_BITS_PER_KEY`] bits per key are needed. The result is at most one key per bit.
#[must_use]
pub fn blocked_keys_per_block(block_bits: u32, k: u32, fpr: f64) -> Option<f64> {
    let bits = f64::from(block_bits);
    BlockRate::blocked(block_bits, k).keys_per_block(bits, fpr, blocked_guess(block_bits, k, fpr))
}

/// The load at which a search begins for the layout of [`super::blocked_fpr`].
fn blocked_guess(block_bits: u32, k: u32, fpr: f64) -> f64 {
    keys_per_block_about(k, f64::from(k) / f64::from(block_bits), fpr)
}

/// The most keys per block at which [`super::split_fpr`] does not exceed `fpr`; `None` if more than
/// [`MAX_BITS_PER_KEY`] bits per key are needed. The result is at most one key per bit.
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
    BlockRate::split(lanes, lane_bits).keys_per_block(bits, fpr, split_guess(lanes, lane_bits, fpr))
}

/// The load at which a search begins for the layout of [`super::split_fpr`].
fn split_guess(lanes: u32, lane_bits: u32, fpr: f64) -> f64 {
    keys_per_block_about(lanes, 1.0 / f64::from(lane_bits), fpr)
}

/// Estimates the keys per block for a false-positive rate. For up to 8 positions in the blocks of our filters, the
/// error is below 4 % at rates of at least 10 %, below 12 % at rates from 1 to 10 %, and below 35 % at rates from
/// 0.1 to 1 %. Assumes `positions` independent positions, each of which a key sets with probability `share`, and
/// corrects to first order for the variance of the number of keys per block.
fn keys_per_block_about(positions: u32, share: f64, fpr: f64) -> f64 {
    let positions = f64::from(positions);
    let set = exp(log(fpr) / positions);
    let keys = -log1p(-set) / share;
    let odds = share * (1.0 - set) / set;
    // `variance` is the relative amount by which the variance of the number of keys per block raises the rate.
    // `tangent` is the slope of the logarithm of the rate over the logarithm of the load.
    let tangent = keys * positions * odds;
    let variance = 0.5 * tangent * ((positions - 1.0) * odds - share);
    keys - keys * variance / ((1.0 + 0.5 * variance) * tangent)
}

/// `base^exponent`. For exponents up to [`MAX_HASHES`], the power is computed by repeated multiplication, and is exact
/// if an `f64` can hold it. An `f64` can hold the first eight powers of every multiple of 1/64 from 0 to 1.
fn power(base: f64, exponent: u32) -> f64 {
    if exponent > MAX_HASHES {
        return pow(base, f64::from(exponent));
    }
    (0..exponent).fold(1.0, |power, _| power * base)
}

#[cfg(test)]
mod tests;
