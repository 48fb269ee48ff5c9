//! Equations of false-positive rates, and their inverses.
//!
//! `λ` is the expected number of keys per block, and `Pois(λ, i)` the Poisson probability that a block has `i` keys.
//! The usual textbook approximation of a blocked filter's rate (the standard formula for the keys of a block, averaged
//! over blocks) is too low: at 12 bits per key and with eight hashes, by 2 % in blocks of 512 bits, and by 12 % in
//! blocks of 64 bits. The equations here agree with measurements to within 0.1 % of the rate. All mathematical
//! functions are `libm`'s, so that a filter has the same size on every machine.
//!
//! | layout | equation |
//! |---|---|
//! | standard | [`standard_fpr`]: `(1 − e^(−kn/m))^k` |
//! | `k` bits anywhere in a block of `B` bits | [`blocked_fpr`]: `Σ_i Pois(λ, i) · E[(X_ki / B)^k]`, `X_t`: number of distinct bits in `t` draws |
//! | one bit in each of `s` lanes of `S` bits | [`split_fpr`]: `Σ_i Pois(λ, i) · (1 − (1 − 1/S)^i)^s` |
//! | one sector of `S` bits in each of `z` zones | [`sectorised_fpr`] |
//! | quotient, remainders of `r` bits at load `α` | [`quotient_fpr`]: `1 − e^(−α 2^−r)` |
//!
//! Sources: Bloom, CACM 13 (1970); Putze, Sanders and Singler, "Cache-, hash- and space-efficient
//! Bloom filters", JEA 14 (2009), section 3; Lang et al., "Performance-optimal filtering: Bloom
//! overtakes cuckoo at high throughput", PVLDB 12 (2019), section 3; Swamidass and Baldi, JCIM 47
//! (2007) for the estimate of distinct keys.

mod blocked;

pub use blocked::{blocked_keys_per_block, split_keys_per_block};

use blocked::BlockRate;
use libm::{exp, expm1, log, log1p, pow};

/// The most bits per key of a Bloom filter that is sized by a false-positive rate, counters not included. A filter with
/// more bits per key would be larger than an exact set of the 64-bit hashes. In the block form ([`crate::block`]),
/// filters of all kinds have at most this number of bits per key. In any other form, a filter can have more bits per
/// key if it is sized by bytes, or if it has slots and a low load.
pub const MAX_BITS_PER_KEY: f64 = 64.0;
/// The most bits that a key sets in a standard filter.
pub const MAX_HASHES: u32 = 32;

/// The probability that a key's hash of `h = hash_bits` bits equals the hash of at least one of `n = keys` other keys:
/// `1 − e^(−n / 2^h)`. No filter that sees only hashes can have a lower false-positive rate.
///
/// ```
/// let floor = trommel_base::sizing::hash_floor(40_000_000, 32);
/// assert!((floor - 0.0093).abs() < 0.0001); // with 32-bit hashes, no filter of 40 M keys has a rate below this
/// ```
#[must_use]
pub fn hash_floor(keys: usize, hash_bits: u32) -> f64 {
    -expm1(-(keys as f64) * power_of_half(hash_bits))
}

/// False-positive rate of a standard filter of `m` bits for `n` keys, `bits_per_key = m / n`, with `k` hashes:
/// `(1 − e^(−kn/m))^k`.
///
/// Valid for filters of more than about a thousand bits. Smaller filters have a higher rate.
#[must_use]
pub fn standard_fpr(bits_per_key: f64, k: u32) -> f64 {
    pow(-expm1(-f64::from(k) / bits_per_key), f64::from(k))
}

/// The bits per key at which a standard filter with `k` hashes has the false-positive rate `fpr`: the
/// inverse of [`standard_fpr`].
#[must_use]
pub fn standard_bits_per_key(fpr: f64, k: u32) -> f64 {
    let k = f64::from(k);
    -k / log1p(-pow(fpr, 1.0 / k))
}

/// The number of hashes, from 1 to [`MAX_HASHES`], that gives a standard filter its lowest
/// false-positive rate: the better of the two integers next to `(m/n) ln 2`.
#[must_use]
pub fn standard_hashes(bits_per_key: f64) -> u32 {
    let best = bits_per_key * core::f64::consts::LN_2;
    let below = (best as u32).clamp(1, MAX_HASHES);
    let above = (below + 1).min(MAX_HASHES);
    if standard_fpr(bits_per_key, above) < standard_fpr(bits_per_key, below) {
        above
    } else {
        below
    }
}

/// False-positive rate of a filter in which each key sets `k ≤ 32` bits, drawn with repetition, in one block of
/// `B = block_bits` bits. With `B = 64`, the filter is the register-blocked filter; with `B = 512`, it is the classic
/// blocked filter.
///
/// Computed by inclusion and exclusion instead of the occupancy recurrence, so that only `k + 1` exponentials are
/// needed. After `t` draws in a block, the `d` distinct bits of a probe are all set with probability
/// `Σ_r (−1)^r C(d, r) (1 − r/B)^t`. A block has `i` keys, which make `t = k·i` draws. Since `i` has a Poisson
/// distribution with mean `λ`, the mean of `(1 − r/B)^(k·i)` is `exp(−λ (1 − (1 − r/B)^k))`.
///
/// Valid for rates above about 1e-9 if `k ≤ 12`. At lower rates, rounding errors show, since terms of both signs nearly
/// cancel. With a larger `k`, rounding errors show even at rates above 1e-9.
#[must_use]
pub fn blocked_fpr(block_bits: u32, k: u32, keys_per_block: f64) -> f64 {
    BlockRate::blocked(block_bits, k).at(keys_per_block)
}

/// The probability that `k` draws from `bits` positions hit only set bits, where `clear(r)` is the
/// probability that `r` given positions are all clear.
fn probe_mean(bits: u32, k: u32, clear: impl Fn(u32) -> f64) -> f64 {
    let distinct = distinct_draws(bits, k);
    let mut all_clear = [0.0; MAX_HASHES as usize + 1];
    for (r, probability) in all_clear.iter_mut().enumerate().take(k as usize + 1) {
        *probability = clear(r as u32);
    }
    probe_fpr(&distinct, &all_clear[..=k.min(MAX_HASHES) as usize]).clamp(0.0, 1.0)
}

/// The probability that all positions of a probe are set. `distinct` is the distribution of the number of distinct
/// positions, and `clear[r]` is the probability that `r` given positions are all clear.
fn probe_fpr(distinct: &[f64], clear: &[f64]) -> f64 {
    let mut fpr = 0.0;
    for (d, probability) in distinct.iter().enumerate().take(clear.len()).skip(1) {
        fpr += probability * all_set(&clear[..=d]);
    }
    fpr
}

/// The probability that all of `d = clear.len() − 1` positions are set, where `clear[r]` is the probability
/// that `r` given positions are all clear: `Σ_r (−1)^r C(d, r) clear[r]`.
fn all_set(clear: &[f64]) -> f64 {
    let d = clear.len() - 1;
    let mut sum = 0.0;
    let mut signed_choose = 1.0;
    for (r, probability) in clear.iter().enumerate() {
        sum += signed_choose * probability;
        signed_choose *= -((d - r) as f64) / (r + 1) as f64;
    }
    sum
}

/// The distribution of the number of distinct positions among `k ≤ 32` draws: element `d` is the
/// probability of `d` distinct positions.
fn distinct_draws(bits: u32, k: u32) -> [f64; MAX_HASHES as usize + 1] {
    let per_bits = 1.0 / f64::from(bits);
    let mut distribution = [0.0; MAX_HASHES as usize + 1];
    distribution[0] = 1.0;
    for draws in 0..k.min(MAX_HASHES) as usize {
        for d in (0..=draws).rev() {
            distribution[d + 1] = distribution[d + 1] * (d + 1) as f64 * per_bits
                + distribution[d] * (1.0 - d as f64 * per_bits);
        }
        distribution[0] = 0.0;
    }
    distribution
}

/// False-positive rate of a filter in which each key sets one bit in each of the `lanes ≤ 32` lanes of one block. A
/// lane has `S = lane_bits` bits. Parquet's split block has 8 lanes of 32 bits, and the cache-line block 8 lanes of 64
/// bits.
///
/// Computed by inclusion and exclusion over the lanes: a key sets none of `r` given positions in different lanes with
/// probability `(1 − 1/S)^r`.
///
/// Valid for false-positive rates above about 1e-9. At lower rates, rounding errors show.
#[must_use]
pub fn split_fpr(lanes: u32, lane_bits: u32, keys_per_block: f64) -> f64 {
    BlockRate::split(lanes, lane_bits).at(keys_per_block)
}

/// False-positive rate of the cache-sectorised layout of Lang et al.: a block of `block_bits` has
/// `zones` zones; a key chooses one sector of `sector_bits` in each zone and sets `k / zones` bits in it.
#[must_use]
pub fn sectorised_fpr(
    block_bits: u32,
    sector_bits: u32,
    zones: u32,
    k: u32,
    keys_per_block: f64,
) -> f64 {
    let sectors_per_zone = f64::from(block_bits) / (f64::from(sector_bits) * f64::from(zones));
    let draws = k.checked_div(zones).unwrap_or(0);
    let sector = f64::from(sector_bits);
    // In one zone alone, the number of keys per sector would have a Poisson distribution, as the number of keys per
    // block has. But the zones of a block share the block's keys: so the outer mean is over the number of keys of the
    // block, and the number of keys per sector has a binomial distribution.
    poisson_mean(keys_per_block, |keys| {
        let one_zone = probe_mean(sector_bits, draws, |clear| {
            let missed = pow(1.0 - f64::from(clear) / sector, f64::from(draws));
            pow(1.0 - (1.0 - missed) / sectors_per_zone, keys)
        });
        pow(one_zone, f64::from(zones))
    })
}

/// `Σ_i Pois(λ, i) · f(i)`. Leaves out the terms whose `i` is far from `λ`, on both sides. If `f` is at most 1, the sum
/// of the terms left out is below 1e-16.
fn poisson_mean(lambda: f64, f: impl Fn(f64) -> f64) -> f64 {
    // At means from 1e9 on, the distribution is practically a single point. (At means above 2^53, adding 1 to `i` would
    // not change it, and the loop below would not end.)
    if lambda.is_nan() || lambda <= 0.0 || lambda >= 1e9 {
        return f(lambda.max(0.0));
    }
    let spread = 9.0 * libm::sqrt(lambda) + 40.0;
    let first = libm::fmax(0.0, libm::floor(lambda - spread));
    let last = libm::ceil(lambda + spread);
    let mut i = first;
    let mut log_weight = i * log(lambda) - lambda - libm::lgamma(i + 1.0);
    let mut mean = 0.0;
    while i <= last {
        mean += exp(log_weight) * f(i);
        i += 1.0;
        log_weight += log(lambda / i);
    }
    mean
}

/// Estimates the number of distinct keys from the number `N = ones` of set bits among `m = bits` bits, if each
/// key sets `k` bits independently: 0 if `N < k`, 1 if `N = k`, `m/k` if all bits are set, else
/// `−(m/k) ln(1 − N/m)`.
#[must_use]
pub fn estimate_len(bits: u64, k: u32, ones: u64) -> f64 {
    let (m, k_bits) = (bits as f64, f64::from(k));
    if ones < u64::from(k) {
        0.0
    } else if ones == u64::from(k) {
        1.0
    } else if ones >= bits {
        m / k_bits
    } else {
        -(m / k_bits) * log1p(-(ones as f64) / m)
    }
}

/// Estimates the number of distinct keys from the number `ones` of set bits in `blocks` blocks of
/// `B = block_bits` bits, if each key draws `k` bits with repetition inside one block: 0 if no bit is set,
/// `blocks · B / k` if all bits are set, else `−blocks · ln(share of clear bits) / (1 − (1 − 1/B)^k)`.
#[must_use]
pub fn estimate_len_blocked(blocks: u64, block_bits: u32, k: u32, ones: u64) -> f64 {
    let bits = blocks.saturating_mul(u64::from(block_bits));
    let set_by_a_key = -expm1(f64::from(k) * log1p(-1.0 / f64::from(block_bits)));
    if ones == 0 {
        0.0
    } else if ones >= bits {
        bits as f64 / f64::from(k)
    } else {
        -(blocks as f64) * log1p(-(ones as f64) / bits as f64) / set_by_a_key
    }
}

/// False-positive rate of a quotient filter whose keys fill a share `α = load` of its slots with
/// remainders of `r = remainder_bits` bits: `1 − e^(−α 2^−r)`, the probability that the filter holds the
/// fingerprint of an absent key.
///
/// Source: Bender et al., "Don't thrash: how to cache your hash on flash", PVLDB 5 (2012), section 3.
///
/// ```
/// let fpr = trommel_base::sizing::quotient_fpr(0.95, 8);
/// assert!((fpr - 0.003704).abs() < 1e-6);
/// ```
#[must_use]
pub fn quotient_fpr(load: f64, remainder_bits: u32) -> f64 {
    -expm1(-load * power_of_half(remainder_bits))
}

/// The load at which a quotient filter with remainders of `remainder_bits` has the false-positive rate `fpr`:
/// the inverse of [`quotient_fpr`].
#[must_use]
pub fn quotient_load(fpr: f64, remainder_bits: u32) -> f64 {
    -log1p(-fpr) / power_of_half(remainder_bits)
}

/// False-positive rate at load `α` of a cuckoo filter whose lookups read two buckets of four slots:
/// `1 − (1 − q)^(8α)`, where `q` is the probability that two fingerprints of a bucket are equal.
///
/// A fingerprint has `f` bits. Each doubling of the filter's size uses up one of these bits, so `e = f − doublings`
/// bits tell the keys of a bucket apart. Fingerprint 0 is stored as 1, which makes 1 twice as likely as any other
/// value. So `q = 2^−e (1 + 2^(1−f))`.
///
/// ```
/// use trommel_base::sizing::cuckoo_fpr;
/// assert!((cuckoo_fpr(0.95, 8, 0) - 0.0295).abs() < 0.0001);
/// assert!(cuckoo_fpr(0.95, 12, 0) < 0.0019);
/// ```
#[must_use]
pub fn cuckoo_fpr(load: f64, fingerprint_bits: u32, doublings: u32) -> f64 {
    let zero_or_one = 2.0 * power_of_half(fingerprint_bits);
    let equal = power_of_half(fingerprint_bits - doublings) * (1.0 + zero_or_one);
    -expm1(8.0 * load * log1p(-equal.min(1.0)))
}

/// `2^−n`, exactly.
fn power_of_half(n: u32) -> f64 {
    libm::scalbn(1.0, n.try_into().map_or(i32::MIN, |n: i32| -n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(got: f64, expected: f64, relative: f64) {
        assert!(
            (got / expected - 1.0).abs() <= relative,
            "{got} is not {expected} within {relative}"
        );
    }

    #[test]
    fn the_floor_of_a_hash_is_the_chance_of_a_collision() {
        // With 2^31 keys and 2^32 possible hashes, the floor is 1 − e^(−1/2). With few keys, the floor is the number of
        // keys divided by the number of possible hashes.
        assert_close(hash_floor(1 << 31, 32), 0.393_469_340_287_366_6, 1e-14);
        assert_close(hash_floor(1_000, 64), 1_000.0 / 18_446_744_073_709_551_616.0, 1e-12);
        assert_eq!(hash_floor(0, 32), 0.0);
    }

    #[test]
    fn the_number_of_hashes_gives_the_lowest_rate() {
        for tenths in 1..=640 {
            let bits_per_key = f64::from(tenths) / 10.0;
            let chosen = standard_hashes(bits_per_key);
            let lowest =
                (1..=MAX_HASHES).map(|k| standard_fpr(bits_per_key, k)).fold(1.0, f64::min);
            assert!((1..=MAX_HASHES).contains(&chosen));
            assert_eq!(standard_fpr(bits_per_key, chosen), lowest, "{bits_per_key} bits per key");
        }
        assert_eq!((standard_hashes(0.1), standard_hashes(1e6)), (1, MAX_HASHES));
    }

    #[test]
    fn a_poisson_mean_takes_all_terms_that_count_and_no_others() {
        for lambda in [1e-3, 0.5, 7.0, 100.0, 1e3, 1e6, 1e8] {
            let terms = core::cell::Cell::new(0.0);
            let constant = poisson_mean(lambda, |_| {
                terms.set(terms.get() + 1.0);
                1.0
            });
            // The terms are computed from their logarithms, whose error grows with λ.
            assert_close(constant, 1.0, 1e-13 + 1e-14 * lambda);
            assert_close(poisson_mean(lambda, |i| i), lambda, 1e-13 + 1e-14 * lambda);
            let most = 2.0 * (9.0 * libm::sqrt(lambda) + 40.0) + 3.0;
            assert!(terms.get() <= most, "{} terms for {lambda}", terms.get());
        }
        let identity = |lambda| poisson_mean(lambda, |i| i);
        assert_eq!(
            [identity(0.0), identity(-1.0), identity(1e9), identity(1e300)],
            [0.0, 0.0, 1e9, 1e300]
        );
        assert_eq!(poisson_mean(f64::NAN, |i| i), 0.0);
        // Just below 1e9, the sum is used.
        let terms = core::cell::Cell::new(0);
        poisson_mean(0.999e9, |_| {
            terms.set(terms.get() + 1);
            1.0
        });
        assert!(terms.get() > 500_000);
    }

    /// With one zone of one sector, the layout is the classic blocked one.
    #[test]
    fn one_sector_as_large_as_the_block_gives_the_blocked_rate() {
        for k in 1..=12 {
            for lambda in [1.0, 6.0, 40.0] {
                assert_close(
                    sectorised_fpr(64, 64, 1, k, lambda),
                    blocked_fpr(64, k, lambda),
                    1e-9,
                );
            }
        }
    }

    /// If each position is set with probability 0.99, independently of the others, then all `d` distinct positions of a
    /// probe are set with probability `0.99^d`.
    #[test]
    fn the_mean_over_probes_with_the_most_draws_is_exact_for_independent_positions() {
        let mean_at = |bits| probe_mean(bits, MAX_HASHES, |r| pow(0.01, f64::from(r)));
        // If there is one position, all 32 draws hit it. If there are 2^32 − 1 positions, two of the draws hit the same
        // position only with a probability of 2^−23.
        assert_close(mean_at(1), 0.99, 1e-12);
        assert_close(mean_at(u32::MAX), pow(0.99, 32.0), 1e-7);
    }

    #[test]
    fn rates_of_quotient_and_cuckoo_filters_are_those_of_the_formulas() {
        // 1 − e^(−0.75 / 256), and its inverse.
        assert_close(quotient_fpr(0.75, 8), 0.002_925_400_153_460_010_6, 1e-12);
        assert_close(quotient_load(0.002_925_400_153_460_010_6, 8), 0.75, 1e-12);
        assert_close(quotient_fpr(0.5, 1), 1.0 - exp(-0.25), 1e-14);
        // q = 2^−8 (1 + 2^−7), since fingerprint 0 is stored as 1.
        let q = 129.0 / 128.0 / 256.0;
        assert_close(cuckoo_fpr(0.75, 8, 0), 1.0 - pow(1.0 - q, 6.0), 1e-12);
        // After three doublings, only 5 of the 8 bits tell the keys of a bucket apart, so q is 8 times as large.
        assert_close(cuckoo_fpr(0.75, 8, 3), 1.0 - pow(1.0 - 8.0 * q, 6.0), 1e-12);
        assert_close(cuckoo_fpr(1.0, 12, 0), 1.0 - pow(1.0 - 2049.0 / 2048.0 / 4096.0, 8.0), 1e-10);
        assert_eq!(
            [power_of_half(0), power_of_half(3), power_of_half(u32::MAX)],
            [1.0, 0.125, 0.0]
        );
    }

    /// The classic table of the standard filter, within one unit of the last digit given.
    #[test]
    fn standard_rates_of_the_textbook_table() {
        let table = [
            (6.0, 4, 0.0561, 1e-4),
            (8.0, 6, 0.0215, 1e-4),
            (12.0, 8, 0.00314, 1e-5),
            (16.0, 11, 0.000458, 1e-6),
        ];
        for (bits_per_key, k, fpr, last_digit) in table {
            let got = standard_fpr(bits_per_key, k);
            assert!((got - fpr).abs() < last_digit, "{got} for {fpr}");
            assert_close(standard_bits_per_key(got, k), bits_per_key, 1e-9);
        }
        // 1e9 keys at 2 % need 8.14e9 bits.
        let ideal = -log(0.02) / (core::f64::consts::LN_2 * core::f64::consts::LN_2);
        assert_close(ideal * 1e9, 8.14e9, 0.001);
    }

    /// Bits per key at false-positive rates of 1, 0.4 and 0.1 %, as published for each layout.
    #[test]
    fn published_bits_per_key_are_reproduced_to_one_percent() {
        let standard = |fpr: f64| {
            (1..=MAX_HASHES).map(|k| standard_bits_per_key(fpr, k)).fold(f64::MAX, f64::min)
        };
        let blocked = |block_bits: u32, fpr: f64| {
            (1..=16)
                .filter_map(|k| blocked_keys_per_block(block_bits, k, fpr))
                .map(|lambda| f64::from(block_bits) / lambda)
                .fold(f64::MAX, f64::min)
        };
        let split = |lane_bits: u32, fpr: f64| {
            let bits = f64::from(8 * lane_bits);
            bits / split_keys_per_block(8, lane_bits, fpr).unwrap()
        };
        let rates = [0.01, 0.004, 0.001];
        for (i, fpr) in rates.into_iter().enumerate() {
            assert_close(standard(fpr), [9.59, 11.49, 14.38][i], 0.01);
            assert_close(blocked(512, fpr), [9.92, 12.08, 15.55][i], 0.01);
            assert_close(split(64, fpr), [10.10, 12.13, 15.72][i], 0.01);
            assert_close(split(32, fpr), [10.53, 12.78, 16.89][i], 0.01);
            assert_close(blocked(64, fpr), [12.14, 16.06, 24.0][i], 0.01);
        }
    }

    /// False-positive rates that the authors of the layouts measured at 12 bits per key.
    #[test]
    fn published_rates_at_twelve_bits_per_key_are_reproduced_to_one_percent() {
        assert_close(blocked_fpr(32, 4, 32.0 / 12.0), 0.0168, 0.01);
        assert_close(blocked_fpr(64, 5, 64.0 / 12.0), 0.0103, 0.01);
        assert_close(sectorised_fpr(512, 32, 2, 8, 512.0 / 12.0), 0.0074, 0.01);
        assert_close(split_fpr(8, 32, 256.0 / 12.0), 0.0054, 0.01);
        assert_close(split_fpr(8, 64, 512.0 / 12.0), 0.0042, 0.01);
    }

    /// Compares the closed form of [`blocked_fpr`] with its definition, a Poisson sum over the occupancy recurrence.
    #[test]
    fn inclusion_and_exclusion_equals_the_occupancy_recurrence() {
        for (k, lambda) in [(3u32, 7.0), (5, 5.3), (6, 4.0), (8, 3.0)] {
            let mut occupied = [0.0; 65];
            occupied[0] = 1.0;
            let mut after_keys = std::vec::Vec::new();
            for _ in 0..80 {
                let mean: f64 =
                    (0..=64).map(|x| occupied[x] * pow(x as f64 / 64.0, f64::from(k))).sum();
                after_keys.push(mean);
                for _ in 0..k {
                    for x in (0..64).rev() {
                        occupied[x + 1] = occupied[x + 1] * (x + 1) as f64 / 64.0
                            + occupied[x] * (1.0 - x as f64 / 64.0);
                    }
                    occupied[0] = 0.0;
                }
            }
            let expected =
                poisson_mean(lambda, |i| after_keys.get(i as usize).copied().unwrap_or(1.0));
            assert_close(blocked_fpr(64, k, lambda), expected, 1e-9);
        }
    }

    #[test]
    fn split_lanes_by_inclusion_and_exclusion_equal_the_poisson_sum() {
        for (lane_bits, lambda) in [(32, 4.0), (32, 21.3), (32, 60.0), (64, 8.0), (64, 42.7)] {
            let expected = poisson_mean(lambda, |keys| {
                let set = -expm1(keys * log1p(-1.0 / f64::from(lane_bits)));
                pow(set, 8.0)
            });
            assert_close(split_fpr(8, lane_bits, lambda), expected, 1e-5);
        }
    }

    #[test]
    fn rates_grow_with_load_and_stay_probabilities() {
        for k in 1..=8 {
            let rates: std::vec::Vec<f64> =
                (1..=64).map(|lambda| blocked_fpr(64, k, f64::from(lambda))).collect();
            assert!(rates.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)));
        }
        assert_eq!(split_fpr(8, 32, 0.0), 0.0);
        assert!(split_fpr(8, 32, 1e6) > 0.999);
    }

    #[test]
    fn estimates_have_the_boundary_values_of_the_paper() {
        assert_eq!(estimate_len(1000, 4, 3), 0.0);
        assert_eq!(estimate_len(1000, 4, 4), 1.0);
        assert_eq!(estimate_len(1000, 4, 1000), 250.0);
        assert_close(estimate_len(1000, 4, 500), 250.0 * core::f64::consts::LN_2, 1e-12);
        assert_eq!(estimate_len_blocked(10, 64, 5, 0), 0.0);
        let set_by_a_key = 1.0 - pow(63.0 / 64.0, 5.0);
        let expected = 10.0 * core::f64::consts::LN_2 / set_by_a_key;
        assert_close(estimate_len_blocked(10, 64, 5, 320), expected, 1e-12);
        assert_eq!(estimate_len_blocked(10, 64, 5, 640), 128.0);
    }
}
