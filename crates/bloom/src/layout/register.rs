//! The register-blocked layout.

use super::Layout;
use crate::geometry::Geometry;
use crate::kernel::register::RegisterBody;
#[cfg(target_has_atomic = "64")]
use crate::kernel::shared::SharedKernels;
use crate::kernel::{self, Body, Kernels};
use core::ops::RangeInclusive;
use trommel_base::{FilterKind, sizing};
use trommel_simd::Isa;

/// Words of 64 bits; a key sets up to eight bits of one word. A lookup is one load and one compare. If the table is in
/// L2, batches of lookups are faster in this layout than in any other on some machines with AVX-512. On Zen 3, which
/// has AVX2 but not AVX-512, they are faster in split blocks. The layout is the least compact: at a false-positive rate
/// of 1 % it takes 12.1 bits per key, the standard filter 9.6.
///
/// In a table of `words` words, a hash `h` has its bits in word number `h · words >> 64`. `g` is the 64-bit product of
/// the low 32 bits of `h` and an odd 32-bit constant. A key that sets `k` bits sets bit number `(g >> (8 + 6j)) & 63`
/// of the word for each `j` from 0 to `k − 1`. Some of these bits can coincide: at 12 bits per key the false-positive
/// rate is 1.03 %. With distinct bits the rate would be 0.96 %, but drawing distinct bits costs more than the lower
/// rate saves.
///
/// Source: Lang et al., "Performance-optimal filtering" (2019), section 3.2.
#[derive(Clone, Copy, Debug)]
pub struct Register;

/// The load at which `n` and `n + 1` hashes (bits that a key sets) give the same false-positive rate, and that rate.
struct Crossover {
    keys_per_word: f64,
    fpr: f64,
}

/// The crossovers of `n` and `n + 1` hashes, for `n` from 1 to 7. `n + 1` hashes are better than `n` at every load
/// below that of the crossover, and for every wanted false-positive rate below that of the crossover. The tests check
/// the values against [`Layout::fpr`]; evaluating [`Layout::fpr`] for each filter instead took 3.4 µs per filter on an
/// AMD EPYC.
const CROSSOVERS: [Crossover; 7] = [
    Crossover { keys_per_word: 30.319413249231207, fpr: 0.37733139257655246 },
    Crossover { keys_per_word: 16.82856373890195, fpr: 0.17190440628494227 },
    Crossover { keys_per_word: 10.930340365445327, fpr: 0.07334158594562648 },
    Crossover { keys_per_word: 7.476288600164321, fpr: 0.028140435284300533 },
    Crossover { keys_per_word: 5.186028247173754, fpr: 0.009514851213543658 },
    Crossover { keys_per_word: 3.5825001613913847, fpr: 0.002816035476540313 },
    Crossover { keys_per_word: 2.4389766310611023, fpr: 0.0007326590100809025 },
];

/// The false-positive rate with one hash if the table has one bit per key, rounded down. One bit per key is the highest
/// load that [`Layout::keys_per_unit`] returns. If a rate above this constant is allowed, `keys_per_unit` can return
/// that highest load for several numbers of hashes, so all numbers are tried.
const ONE_BIT_PER_KEY_FPR: f64 = 0.63;

impl Layout for Register {
    type Body = RegisterBody;
    const KIND: FilterKind = FilterKind::RegisterBloom;
    const UNIT_BYTES: usize = 8;
    // The kernels keep the index of a word in 32 bits, which limits the table to 32 GiB.
    const MAX_UNITS: u64 = u32::MAX as u64;
    const HASHES: RangeInclusive<u32> = 1..=8;

    fn fpr(hashes: u32, keys_per_unit: f64) -> f64 {
        sizing::blocked_fpr(64, hashes, keys_per_unit)
    }

    fn keys_per_unit(hashes: u32, fpr: f64) -> Option<f64> {
        sizing::blocked_keys_per_block(64, hashes, fpr)
    }

    fn hashes_worth_trying(fpr: f64) -> RangeInclusive<u32> {
        if fpr > ONE_BIT_PER_KEY_FPR {
            return Self::HASHES;
        }
        let best = 1 + CROSSOVERS.iter().filter(|crossover| fpr < crossover.fpr).count() as u32;
        best..=best
    }

    fn best_hashes(keys_per_unit: f64) -> u32 {
        let lower = CROSSOVERS.iter().filter(|crossover| keys_per_unit < crossover.keys_per_word);
        1 + lower.count() as u32
    }

    #[inline(always)]
    fn unit(geometry: Geometry, hash: u64) -> Option<u64> {
        Some(RegisterBody::block(geometry, hash))
    }

    fn fpr_of_table(geometry: Geometry, words: impl Iterator<Item = u64>) -> f64 {
        let hashes = f64::from(geometry.hashes);
        let fprs: [f64; 65] = core::array::from_fn(|ones| libm::pow(ones as f64 / 64.0, hashes));
        let sum: f64 = words.map(|word| fprs[word.count_ones() as usize]).sum();
        sum / geometry.units as f64
    }

    fn estimate_len(geometry: Geometry, ones: u64) -> f64 {
        sizing::estimate_len_blocked(geometry.units, 64, geometry.hashes, ones)
    }

    fn kernels(isa: Isa) -> Kernels<Self::Body> {
        Kernels::new(isa, kernel::register::batch_kernels(isa))
    }

    #[cfg(target_has_atomic = "64")]
    fn shared_kernels(isa: Isa) -> SharedKernels {
        kernel::register::shared_kernels(isa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_numbers_of_hashes_have_the_same_rate_at_their_crossover() {
        for (crossover, hashes) in CROSSOVERS.iter().zip(1..) {
            let difference = |load| Register::fpr(hashes + 1, load) - Register::fpr(hashes, load);
            let Crossover { keys_per_word, fpr } = *crossover;
            let epsilon = 1e-9 * keys_per_word;
            assert!(difference(keys_per_word - epsilon) < 0.0, "crossover {hashes} is too high");
            assert!(difference(keys_per_word + epsilon) > 0.0, "crossover {hashes} is too low");
            assert!(
                (Register::fpr(hashes, keys_per_word) / fpr - 1.0).abs() < 1e-12,
                "the rate of crossover {hashes} is wrong"
            );
        }
    }

    #[test]
    fn the_best_number_of_hashes_has_the_lowest_rate() {
        for step in (0..3000).step_by(if cfg!(miri) { 700 } else { 1 }) {
            let load = 0.003 * libm::exp(0.004 * f64::from(step));
            let rates = Register::HASHES.map(|hashes| Register::fpr(hashes, load));
            let lowest = rates.fold(1.0, f64::min);
            // A rate is a sum, whose rounding error hides differences below 1e-14.
            let best = Register::fpr(Register::best_hashes(load), load);
            assert!(
                best <= lowest + 1e-14,
                "{load} keys per word: rate {best:e}, lowest {lowest:e}"
            );
        }
    }
}
