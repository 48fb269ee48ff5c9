//! How much a run measures, and how long it may take.

use crate::cli::Selection;
use crate::interleave::Pace;
use crate::lanes::Length;
use std::time::Duration;

/// How much a run measures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Length of a repetition.
    pub(crate) length: Length,
    /// Time and rounds of a group.
    pub(crate) pace: Pace,
    /// Absent keys that the false-positive rate is counted on.
    pub(crate) absent: usize,
    /// The run should end by then: on a slow or busy machine groups get less time.
    pub(crate) limit: Duration,
}

impl Effort {
    /// A group in about four seconds.
    pub(crate) const QUICK: Self = Self {
        length: Length(Duration::from_millis(3)),
        pace: Pace { budget: Duration::from_millis(4000), min_rounds: 5, max_rounds: 201 },
        absent: 1_000_000,
        limit: Duration::from_secs(140),
    };

    /// A group in about twelve seconds, more where filters are large.
    pub(crate) const FULL: Self = Self {
        length: Length(Duration::from_millis(6)),
        pace: Pace { budget: Duration::from_secs(12), min_rounds: 9, max_rounds: 401 },
        absent: 10_000_000,
        limit: Duration::from_secs(3600),
    };

    /// Each case twice, as short as it gets: for its answers alone.
    pub(crate) const CHECK: Self = Self {
        length: Length(Duration::from_micros(1)),
        pace: Pace { budget: Duration::ZERO, min_rounds: 1, max_rounds: 1 },
        absent: 20_000,
        limit: Duration::MAX,
    };
}

impl Effort {
    /// What a selection asks for. Loads that were named take the time that they need; they are many
    /// groups, so each is kept short.
    pub(crate) fn of(selection: &Selection) -> Self {
        let effort = if selection.full { Self::FULL } else { Self::QUICK };
        if selection.load.is_none() {
            return effort;
        }
        let pace = Pace { budget: effort.pace.budget / 2, ..effort.pace };
        Self { pace, limit: Self::FULL.limit, ..effort }
    }

    /// The pace of a group of the engine: it has many of them, in repetitions that can be long.
    pub(crate) fn pace_of_engine(&self) -> Pace {
        let min_rounds = self.pace.min_rounds.min(MIN_ROUNDS_OF_ENGINE);
        Pace { budget: self.pace.budget / 2, min_rounds, ..self.pace }
    }

    /// The pace of the next group, when so much time has passed and so many groups are left.
    pub(crate) fn pace_within(&self, passed: Duration, groups_left: usize) -> Pace {
        let share = self.limit.saturating_sub(passed) / groups_left.max(1) as u32;
        let min_rounds = if share < self.pace.budget {
            self.pace.min_rounds.min(MIN_ROUNDS_LATE)
        } else {
            self.pace.min_rounds
        };
        Pace { budget: self.pace.budget.min(share), min_rounds, ..self.pace }
    }
}

/// The fewest rounds of a group when the run is late: a median of three.
const MIN_ROUNDS_LATE: usize = 3;
/// The fewest rounds of a group of the engine.
const MIN_ROUNDS_OF_ENGINE: usize = 5;
