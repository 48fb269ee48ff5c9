//! A measurement of how well the engine chooses between its two strategies, `direct` and `partitioned`.

use serde::{Deserialize, Serialize};
use trommel::engine::Strategy;

/// The times of both strategies of the engine for one operation, filter size, number of keys and number of threads: a
/// line of `strategies.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Choice {
    /// `insert` or `contains`.
    pub(crate) op: String,
    /// The size of the filter in bytes.
    pub(crate) bytes: u64,
    /// The number of keys in the batch.
    pub(crate) keys: u64,
    /// Keys per cache line of the filter.
    pub(crate) keys_per_line: f64,
    pub(crate) threads: u32,
    /// Median wall-clock nanoseconds per key, with keys in the order of the batch.
    pub(crate) direct_ns: f64,
    /// Median wall-clock nanoseconds per key, with keys grouped by piece of the table.
    pub(crate) partitioned_ns: f64,
    /// The strategy that the cost model picks: `direct` or `partitioned`.
    pub(crate) picked: String,
}

impl Choice {
    /// The share by which the picked strategy takes longer than the better of the two strategies.
    pub(crate) fn over_best(&self) -> f64 {
        let is_direct = self.picked == name_of_strategy(Strategy::Direct);
        let picked = if is_direct { self.direct_ns } else { self.partitioned_ns };
        picked / self.direct_ns.min(self.partitioned_ns) - 1.0
    }

    /// The values that identify the choice: the operation, the filter size, the number of keys and the number of
    /// threads.
    pub(crate) fn point(&self) -> (&str, u64, u64, u32) {
        (&self.op, self.bytes, self.keys, self.threads)
    }
}

/// The name of a strategy in the files of a run.
pub(crate) fn name_of_strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Partitioned => "partitioned",
        _ => "direct",
    }
}

/// A pick counts as good if it takes at most this share longer than the better strategy.
pub(crate) const GOOD: f64 = 0.10;

/// Returns `picked within 10 % of the best in N of M`, where `N` is the number of good picks among `M` choices.
pub(crate) fn summary(choices: &[Choice]) -> String {
    let good = choices.iter().filter(|choice| choice.over_best() <= GOOD).count();
    let percent = GOOD * 100.0;
    format!("picked within {percent} % of the best in {good} of {}", choices.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A choice with plausible values.
    pub(crate) fn example(op: &str, picked: &str) -> Choice {
        Choice {
            op: op.into(),
            bytes: 1 << 20,
            keys: 16_384,
            keys_per_line: 1.0,
            threads: 2,
            direct_ns: 2.0,
            partitioned_ns: 3.0,
            picked: picked.into(),
        }
    }

    #[test]
    fn a_pick_is_compared_with_the_better_strategy() {
        let (good, bad) = (example("insert", "direct"), example("contains", "partitioned"));
        assert_eq!((good.over_best(), bad.over_best()), (0.0, 0.5));
        assert_eq!(summary(&[good, bad]), "picked within 10 % of the best in 1 of 2");
    }
}
