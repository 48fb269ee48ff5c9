//! Before a run, measures how noisy the machine is. The result is reported, with a warning if the machine is noisy; no
//! setting of the machine is changed.

use crate::base::stats::quantile;
use crate::measure::environment::cpu_jiffies;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Instant;

/// The result of the noise check.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Noise {
    /// The 90th percentile of the times of equal spins (loops of multiplications, see [`SPINS`]), relative to the
    /// fastest spin, minus 1.
    pub(crate) spread: f64,
    /// The time of the slowest spin, relative to the fastest, minus 1.
    pub(crate) worst: f64,
    /// The share of processor time that the hypervisor took during the check; `None` if the system does not report it.
    pub(crate) steal: Option<f64>,
}

/// The number of spins. Each consists of [`MULTIPLICATIONS`] dependent multiplications. A spin takes about 1 ms on
/// today's cores: long enough to be interrupted, and short enough that an interruption stands out.
const SPINS: usize = 200;
const MULTIPLICATIONS: u64 = 1_000_000;

/// A run is noisy if [`Noise::spread`] is above [`NOISY_SPREAD`] or [`Noise::steal`] is above [`NOISY_STEAL`].
const NOISY_SPREAD: f64 = 0.05;
const NOISY_STEAL: f64 = 0.01;

/// Runs [`SPINS`] equal spins, and measures the time of each.
pub(crate) fn check() -> Noise {
    let before = cpu_jiffies();
    let times: Vec<f64> = (0..SPINS).map(|_| time_spin()).collect();
    let after = cpu_jiffies();
    let fastest = quantile(&times, 0.0);
    Noise {
        spread: quantile(&times, 0.9) / fastest - 1.0,
        worst: quantile(&times, 1.0) / fastest - 1.0,
        steal: before.zip(after).map(|(before, after)| stolen_share(before, after)),
    }
}

/// Returns the share of stolen jiffies between two readings of [`cpu_jiffies`]. The counters of Linux can decrease, for
/// example if a processor goes offline, so a difference below 0 counts as 0.
fn stolen_share(before: (u64, u64), after: (u64, u64)) -> f64 {
    let (all, stolen) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    stolen.min(all) as f64 / all.max(1) as f64
}

fn time_spin() -> f64 {
    let start = Instant::now();
    let mut value = black_box(1u64);
    for step in 0..MULTIPLICATIONS {
        value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(step);
    }
    black_box(value);
    start.elapsed().as_secs_f64()
}

impl Noise {
    /// Describes the result in one line.
    pub(crate) fn describe(&self) -> String {
        let steal = self.steal.map_or("unknown".into(), |share| format!("{:.1} %", share * 100.0));
        format!(
            "equal spins of 1 ms: 90 % within +{:.1} % of the fastest, slowest +{:.0} %, steal {steal}",
            self.spread * 100.0,
            self.worst * 100.0
        )
    }

    /// Whether individual figures of this run can be wrong by more than a few per cent.
    pub(crate) fn is_noisy(&self) -> bool {
        self.spread > NOISY_SPREAD || self.steal.is_some_and(|share| share > NOISY_STEAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stolen_share_is_from_0_to_1_even_if_counters_decrease() {
        assert_eq!(stolen_share((100, 10), (300, 60)), 0.25);
        assert_eq!(stolen_share((100, 10), (100, 10)), 0.0);
        assert_eq!(stolen_share((100, 10), (300, 9)), 0.0);
        assert_eq!(stolen_share((100, 10), (90, 20)), 0.0);
    }
}
