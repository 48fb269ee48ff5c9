//! Settings for how much a run measures and how long it takes. A *group* is a set of cases that are timed in
//! interleaved rounds ([`crate::measure::plan::Group`]), and a *round* is one repetition of each of these cases
//! ([`crate::measure::interleave`]).

use crate::measure::interleave::{FEWEST_ROUNDS, Pace};
use crate::measure::plan::{Scope, Selection};
use crate::measure::repetition::Length;
use std::time::Duration;

/// How much a run measures, and how long it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The length of a repetition.
    pub(crate) length: Length,
    /// The time for a group, and the fewest and the most rounds of the group.
    pub(crate) pace: Pace,
    /// The number of absent keys on which false-positive rates are counted.
    pub(crate) absent: usize,
    /// The most probes of a lookup case.
    pub(crate) most_probes: usize,
    /// The time within which the run should end. If the run falls behind on a slow or busy machine, the groups that are
    /// left get less time.
    pub(crate) limit: Duration,
}

impl Effort {
    /// A quick run: up to about four seconds per group.
    pub(crate) const QUICK: Self = Self {
        length: Length(Duration::from_millis(3)),
        pace: Pace { budget: Duration::from_secs(4), min_rounds: 7, max_rounds: 201 },
        absent: 1_000_000,
        most_probes: 1_000_000,
        limit: Duration::from_secs(125),
    };

    /// A usual run: up to about five seconds per group.
    pub(crate) const USUAL: Self = Self {
        length: Length(Duration::from_millis(4)),
        pace: Pace { budget: Duration::from_secs(5), min_rounds: 7, max_rounds: 301 },
        absent: 3_000_000,
        most_probes: usize::MAX,
        limit: Duration::from_secs(850),
    };

    /// A full run: up to about eight seconds per group, or more if filters are large.
    pub(crate) const FULL: Self = Self {
        length: Length(Duration::from_millis(6)),
        pace: Pace { budget: Duration::from_secs(8), min_rounds: 9, max_rounds: 401 },
        absent: 10_000_000,
        most_probes: usize::MAX,
        limit: Duration::from_secs(3600),
    };

    /// The command `check`: each case is run as briefly as possible, only to verify its answers. A group has two
    /// rounds, of which the first does not count. If the first takes five seconds or more, it counts and is the only
    /// one.
    pub(crate) const CHECK: Self = Self {
        length: Length(Duration::from_micros(1)),
        pace: Pace { budget: Duration::ZERO, min_rounds: 1, max_rounds: 1 },
        absent: 20_000,
        most_probes: usize::MAX,
        limit: Duration::MAX,
    };

    /// A simulation: each case is run once, without rounds.
    pub(crate) const SIMULATED: Self = Self { most_probes: 1 << 14, ..Self::CHECK };
}

impl Effort {
    /// The effort for a selection, so that the run ends in about `seconds` if `seconds` is given. A run with `--load`
    /// has the limit of a full run. Since such a run has many groups, each group gets half the usual time.
    pub(crate) fn of(selection: &Selection, seconds: Option<Duration>) -> Self {
        let mut effort = match selection.scope() {
            Scope::Quick => Self::QUICK,
            Scope::Usual => Self::USUAL,
            Scope::Full => Self::FULL,
        };
        if selection.load.is_some() {
            effort.pace.budget /= 2;
            effort.limit = Self::FULL.limit;
        }
        Self { limit: seconds.unwrap_or(effort.limit), ..effort }
    }

    /// The pace of the next group that measures the engine. The group has at most half the usual time of a group, since
    /// there are many such groups. [`MIN_ROUNDS_OF_ENGINE`] rounds are enough for the group, since repetitions can be
    /// long.
    pub(crate) fn pace_of_engine(&self, passed: Duration, steps_left: usize) -> Pace {
        let pace = self.pace_within(passed, steps_left);
        let min_rounds = pace.min_rounds.min(MIN_ROUNDS_OF_ENGINE);
        Pace { budget: pace.budget.min(self.pace.budget / 2), min_rounds, ..pace }
    }

    /// About how long a run of this many steps (see [`Self::pace_within`]) takes: the budgets of all steps, but at most
    /// the limit of the run. A run takes longer if filters take long to fill.
    pub(crate) fn expected(&self, steps: usize) -> Duration {
        self.limit.min(self.pace.budget * u32::try_from(steps).unwrap_or(u32::MAX))
    }

    /// The pace of the next group after the time `passed`, with `steps_left` steps left. A step is
    /// a group, or the filling of the filters of a group. If the steps left have less time than
    /// usual, [`FEWEST_ROUNDS`] are enough.
    pub(crate) fn pace_within(&self, passed: Duration, steps_left: usize) -> Pace {
        let share = self.limit.saturating_sub(passed) / steps_left.max(1) as u32;
        let min_rounds = if share < self.pace.budget {
            self.pace.min_rounds.min(FEWEST_ROUNDS)
        } else {
            self.pace.min_rounds
        };
        Pace { budget: self.pace.budget.min(share), min_rounds, ..self.pace }
    }
}

/// The number of rounds that is enough for a group that measures the engine, even if other groups need more.
const MIN_ROUNDS_OF_ENGINE: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_limit_is_shared_among_the_steps_left() {
        let seconds = Duration::from_secs;
        let effort = Effort::of(&Selection::default(), Some(seconds(100)));
        assert_eq!(effort.pace_within(seconds(40), 60).budget, seconds(1));
        assert_eq!(effort.pace_within(seconds(40), 60).min_rounds, FEWEST_ROUNDS);
        assert_eq!(effort.pace_within(seconds(0), 10).budget, effort.pace.budget);
        assert_eq!(effort.pace_within(seconds(0), 10).min_rounds, effort.pace.min_rounds);
        assert_eq!(effort.pace_within(seconds(101), 10).budget, seconds(0));
        assert_eq!(effort.pace_within(seconds(0), 0).budget, effort.pace.budget);
    }

    #[test]
    fn a_run_is_expected_to_take_its_budgets_or_its_limit() {
        let seconds = Duration::from_secs;
        assert_eq!(Effort::QUICK.expected(3), seconds(12));
        assert_eq!(Effort::QUICK.expected(1000), Effort::QUICK.limit);
        let engine = Effort::QUICK.pace_of_engine(seconds(0), 10);
        assert_eq!((engine.budget, engine.min_rounds), (seconds(2), MIN_ROUNDS_OF_ENGINE));
        assert_eq!(Effort::QUICK.pace_of_engine(seconds(105), 40).budget, seconds(20) / 40);
    }

    #[test]
    fn named_loads_have_the_limit_of_a_full_run() {
        let named = Selection { load: Some(vec![95]), ..Selection::default() };
        assert_eq!(Effort::of(&named, None).limit, Effort::FULL.limit);
        assert_eq!(Effort::of(&Selection::default(), None).limit, Effort::USUAL.limit);
        let quick = Selection { quick: true, ..Selection::default() };
        assert_eq!(Effort::of(&quick, None).limit, Effort::QUICK.limit);
    }
}
