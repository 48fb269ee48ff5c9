//! What changed between two programs that were measured on one machine, and what of it is the machine.
//!
//! | module | idea |
//! |---|---|
//! | [`runs`] | the folders compared: refused where they cannot be |
//! | [`drift`] | rivals and the machine's limit, which no change of ours can make slower |
//! | [`interleaved`] | drift of the machine in the rounds of a case, by the rivals that were interleaved with it |
//! | [`alike`] | rounds of two runs in which rivals took the same time, and the machine did alike |
//! | [`speed`] | what is slower, by how much, and with which confidence |
//! | [`answers`] | false-positive rates and bits per key, which should not change at all |
//! | [`show`], [`junit`] | for people, for scripts |

mod alike;
mod answers;
mod drift;
mod interleaved;
mod junit;
mod runs;
mod show;
mod speed;

pub(crate) use junit::to_junit;
pub(crate) use runs::Attempt;

use answers::Change;
use anyhow::Result;
use drift::Drift;
use interleaved::Interleaved;
use serde::Serialize;
use speed::{Speed, Verdict};

/// What two programs, old and new, differ in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// The least effect on speed that counts, as a share.
    pub(crate) min_effect: f64,
    /// What forbids the comparison, which was made nevertheless.
    pub(crate) forced: Vec<String>,
    /// What to know when reading it.
    pub(crate) notes: Vec<String>,
    pub(crate) attempts: Vec<Compared>,
    /// Cases that all runs have.
    pub(crate) cases: Vec<Case>,
    /// Names of cases that some runs have.
    pub(crate) unmatched: Vec<Unmatched>,
}

/// One run of the old program and one of the new.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Compared {
    pub(crate) old: String,
    pub(crate) old_commit: String,
    pub(crate) new: String,
    pub(crate) new_commit: String,
    pub(crate) drift: Drift,
}

/// One case in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The kind of filter.
    pub(crate) filter: String,
    /// Instruction set, where it is ours.
    pub(crate) isa: Option<String>,
    pub(crate) threads: u32,
    /// The crate measured, if it is not ours: shown, and no regression.
    pub(crate) rival: Option<String>,
    pub(crate) speed: Speed,
    /// Changes of rates and sizes that every attempt shows.
    pub(crate) changes: Vec<Change>,
}

/// A case that is missing in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Unmatched {
    pub(crate) name: String,
    /// The crate measured, if it is not ours.
    pub(crate) rival: Option<String>,
    pub(crate) measured_in: MeasuredIn,
}

/// Who has a case that not all have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MeasuredIn {
    OldAlone,
    NewAlone,
    SomeRuns,
}

impl Case {
    /// Whether it is ours and got worse: slower, or another filter than before.
    pub(crate) fn is_regression(&self) -> bool {
        self.rival.is_none() && (self.speed.verdict == Verdict::Slower || !self.changes.is_empty())
    }

    /// Whether there is something to say of it.
    pub(crate) fn is_notable(&self) -> bool {
        self.is_regression()
            || !self.changes.is_empty()
            || (self.rival.is_none() && self.speed.verdict != Verdict::Same)
    }
}

impl Comparison {
    /// Compares the runs. Cases are matched by all that says what was measured.
    ///
    /// # Errors
    ///
    /// Bad input, if the runs are not of one kind and it is not forced, or have no case in common.
    pub(crate) fn of(attempts: &[Attempt], min_effect: f64, is_forced: bool) -> Result<Self> {
        let forced = runs::ensure_alike(attempts, is_forced)?;
        let (matched, unmatched) = runs::matched(attempts)?;
        let pairs_of = |index: usize| matched.iter().map(move |case| case.pairs[index]);
        let compared: Vec<Compared> = attempts
            .iter()
            .enumerate()
            .map(|(index, attempt)| Compared {
                old: attempt.old.directory.display().to_string(),
                old_commit: attempt.old.results.environment.get("commit").into(),
                new: attempt.new.directory.display().to_string(),
                new_commit: attempt.new.results.environment.get("commit").into(),
                drift: Drift::of(pairs_of(index)),
            })
            .collect();
        let interleaved: Vec<Interleaved<'_>> = attempts
            .iter()
            .enumerate()
            .map(|(index, attempt)| Interleaved::of(attempt, pairs_of(index)))
            .collect();
        let cases = matched.iter().map(|matched| {
            let row = matched.pairs[0].new;
            let name = row.name();
            let measures =
                attempts.iter().zip(&matched.pairs).zip(compared.iter().zip(&interleaved));
            let speed = measures.map(|((attempt, pair), (compared, interleaved))| {
                let [old, new] =
                    [&attempt.old, &attempt.new].map(|run| run.results.samples.of(&name));
                // A rival would be beside itself.
                let rivals = if row.rival.is_none() { interleaved.rivals_of(&name) } else { None };
                speed::Measure::of(pair, old, new, rivals, compared.drift.factor)
            });
            let speed = Speed::of(speed.collect(), min_effect);
            Case {
                name,
                filter: row.filter.clone(),
                isa: row.isa.clone(),
                threads: row.threads,
                rival: row.rival.clone(),
                speed,
                changes: answers::changes(&matched.pairs),
            }
        });
        let cases = cases.collect();
        let notes = runs::notes(attempts);
        Ok(Self { min_effect, forced, notes, attempts: compared, cases, unmatched })
    }

    /// Whether a case of ours got worse.
    pub(crate) fn has_regressions(&self) -> bool {
        self.cases.iter().any(Case::is_regression)
    }

    /// How many cases of ours have an effect of which nothing is sure, neither a regression nor its absence.
    pub(crate) fn count_unsure(&self) -> usize {
        let is_unsure = |case: &&Case| {
            let verdict = case.speed.verdict;
            case.rival.is_none()
                && matches!(verdict, Verdict::Unsettled | Verdict::TooFewRepetitions)
        };
        self.cases.iter().filter(is_unsure).count()
    }

    /// How many cases of ours that the old program has were not measured in every run.
    pub(crate) fn count_missing(&self) -> usize {
        let is_missing =
            |it: &&Unmatched| it.rival.is_none() && it.measured_in != MeasuredIn::NewAlone;
        self.unmatched.iter().filter(is_missing).count()
    }

    /// Whether there is nothing to say.
    pub(crate) fn is_silent(&self) -> bool {
        self.forced.is_empty()
            && self.notes.is_empty()
            && self.unmatched.is_empty()
            && !self.cases.iter().any(Case::is_notable)
            && self.attempts.iter().all(|attempt| !attempt.drift.is_established())
    }
}
