//! Compares two programs, an old and a new build of `trommel-perf`, by their runs on one machine. Each program contains
//! its version of our filters. The machine itself can be slower in one run than in another. This change of its speed is
//! called the drift of the machine, and is separated from the differences between the programs.
//!
//! | module | content |
//! |---|---|
//! | [`runs`] | reads the runs, refuses runs that cannot be compared, and matches their cases |
//! | [`drift`] | the drift between whole runs, measured by the times of rivals (other crates) and of cache-line reads |
//! | [`interleaved`] | the drift in the rounds of a case, measured by the times of the rivals interleaved with it |
//! | [`alike`] | matches each new round with the old rounds in which the rivals took about the same time |
//! | [`speed`] | decides which cases are slower, by how much, and with which confidence |
//! | [`answers`] | finds changes of false-positive rates and bits per key, which should not change at all |
//! | [`show`], [`junit`] | write the comparison for people and for continuous integration |

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
use runs::Matched;
use serde::Serialize;
use speed::{Speed, Verdict};

/// The differences between two programs, old and new.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// The smallest change of speed that counts, as a share.
    pub(crate) min_effect: f64,
    /// Differences between the runs. Because of them, the comparison would be refused without `--force`.
    pub(crate) forced: Vec<String>,
    /// Remarks about the runs that a reader of the comparison should know.
    pub(crate) notes: Vec<String>,
    /// The names of rivals' cases that are not used to measure the drift, since their times changed with the program
    /// ([`Speed::is_of_control`]).
    pub(crate) moved_rivals: Vec<String>,
    /// The attempts that are not left out.
    pub(crate) attempts: Vec<Compared>,
    /// Cases that all runs have.
    pub(crate) cases: Vec<Case>,
    /// Cases that only some runs have.
    pub(crate) unmatched: Vec<Unmatched>,
}

/// An attempt: one run of the old program and one of the new.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Compared {
    pub(crate) old: String,
    pub(crate) old_commit: String,
    pub(crate) new: String,
    pub(crate) new_commit: String,
    /// The processor of the old run.
    pub(crate) processor: String,
    pub(crate) drift: Drift,
}

/// One case in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The kind of filter.
    pub(crate) filter: String,
    /// The instruction set, if the filter is ours.
    pub(crate) isa: Option<String>,
    pub(crate) threads: u32,
    /// The crate measured, if it is not ours. A case of a rival is never a regression.
    pub(crate) rival: Option<String>,
    pub(crate) speed: Speed,
    /// Changes of false-positive rates and sizes that every attempt shows.
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

/// The runs in which an [`Unmatched`] case was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MeasuredIn {
    OldAlone,
    NewAlone,
    SomeRuns,
}

impl Case {
    /// Whether the case is ours and is a regression: it is slower, or its filter differs from the old one.
    pub(crate) fn is_regression(&self) -> bool {
        self.rival.is_none() && (self.speed.verdict == Verdict::Slower || !self.changes.is_empty())
    }

    /// Whether the case is shown without `--all`.
    pub(crate) fn is_notable(&self) -> bool {
        self.is_regression()
            || !self.changes.is_empty()
            || (self.rival.is_none() && self.speed.verdict != Verdict::Same)
    }
}

impl Comparison {
    /// Compares the runs, case by case. Cases match if their names, kinds of filter and instruction sets are equal.
    /// Attempts during which other programs took much time are left out if at least three other attempts remain.
    ///
    /// # Errors
    ///
    /// Bad input if the runs were made under different conditions and `is_forced` is false, or if they have no case in
    /// common.
    pub(crate) fn of(attempts: Vec<Attempt>, min_effect: f64, is_forced: bool) -> Result<Self> {
        let forced = runs::ensure_alike(&attempts, is_forced)?;
        let (attempts, mut notes) = runs::undisturbed(attempts);
        notes.extend(runs::notes(&attempts));
        let (matched, unmatched) = runs::matched(&attempts)?;
        let (controls, moved) = controls(&matched, &attempts, min_effect);
        let ours = || matched.iter().filter(|case| !case.is_of_rival());
        let without_moved = || controls.iter().copied().chain(ours());
        let compared: Vec<Compared> = attempts
            .iter()
            .enumerate()
            .map(|(index, attempt)| Compared {
                old: attempt.old.directory.display().to_string(),
                old_commit: attempt.old.results.environment.get("commit").into(),
                new: attempt.new.directory.display().to_string(),
                new_commit: attempt.new.results.environment.get("commit").into(),
                processor: attempt.processor().into(),
                drift: Drift::of(without_moved().map(|case| case.pairs[index])),
            })
            .collect();
        let interleaved: Vec<Interleaved<'_>> = attempts
            .iter()
            .enumerate()
            .map(|(index, attempt)| {
                let drift = compared[index].drift.factor;
                Interleaved::of(attempt, without_moved().map(|case| case.pairs[index]), drift)
            })
            .collect();
        let drifts: Vec<f64> = compared.iter().map(|attempt| attempt.drift.factor).collect();
        let cases = matched.iter().map(|case| {
            let row = case.pairs[0].new;
            // A rival is not compared with the rivals of its group, since it is one of them.
            let interleaved = (!case.is_of_rival()).then_some(&*interleaved);
            let speed = speed_of(case, &attempts, &drifts, interleaved, min_effect);
            Case {
                name: row.name(),
                filter: row.case.filter.clone(),
                isa: row.isa.clone(),
                threads: row.case.threads,
                rival: row.case.rival.clone(),
                speed,
                changes: answers::changes(&case.pairs),
            }
        });
        let cases = cases.collect();
        let moved_rivals = moved.iter().map(|case| case.pairs[0].new.name()).collect();
        Ok(Self { min_effect, forced, notes, moved_rivals, attempts: compared, cases, unmatched })
    }

    /// Whether a case of ours is a regression.
    pub(crate) fn has_regressions(&self) -> bool {
        self.cases.iter().any(Case::is_regression)
    }

    /// The number of our cases that are unsettled or have too few repetitions.
    pub(crate) fn count_unsure(&self) -> usize {
        let is_unsure = |case: &&Case| {
            let verdict = case.speed.verdict;
            case.rival.is_none()
                && matches!(verdict, Verdict::Unsettled | Verdict::TooFewRepetitions)
        };
        self.cases.iter().filter(is_unsure).count()
    }

    /// The number of our cases that the old program has, but that were not measured in every run.
    pub(crate) fn count_missing(&self) -> usize {
        let is_missing =
            |it: &&Unmatched| it.rival.is_none() && it.measured_in != MeasuredIn::NewAlone;
        self.unmatched.iter().filter(is_missing).count()
    }

    /// Whether there is nothing to show without `--all`.
    pub(crate) fn is_silent(&self) -> bool {
        self.forced.is_empty()
            && self.notes.is_empty()
            && self.unmatched.is_empty()
            && !self.cases.iter().any(Case::is_notable)
            && self.attempts.iter().all(|attempt| !attempt.drift.is_established())
    }
}

/// Splits the rivals' cases into two lists: controls, and cases whose times changed with the program
/// ([`Speed::is_of_control`]).
fn controls<'m, 'a>(
    matched: &'m [Matched<'a>],
    attempts: &[Attempt],
    min_effect: f64,
) -> (Vec<&'m Matched<'a>>, Vec<&'m Matched<'a>>) {
    let drifts: Vec<f64> = (0..attempts.len())
        .map(|index| Drift::of(matched.iter().map(|case| case.pairs[index])))
        .map(|drift| drift.factor_for_controls())
        .collect();
    let is_control =
        |case: &&Matched<'_>| speed_of(case, attempts, &drifts, None, min_effect).is_of_control();
    matched.iter().filter(|case| case.is_of_rival()).partition(is_control)
}

/// The speed of a case in all attempts. In each attempt, the ratio of new time to old time is adjusted by the case's
/// rivals in `interleaved`, if there are any. If there are none, the ratio is divided by the attempt's drift.
fn speed_of(
    case: &Matched<'_>,
    attempts: &[Attempt],
    drifts: &[f64],
    interleaved: Option<&[Interleaved<'_>]>,
    min_effect: f64,
) -> Speed {
    let name = case.pairs[0].new.name();
    let measures = attempts.iter().zip(drifts).zip(&case.pairs).enumerate();
    let measures = measures.map(|(index, ((attempt, drift), pair))| {
        let [old, new] = [&attempt.old, &attempt.new].map(|run| run.results.samples.of(&name));
        let rivals = interleaved.and_then(|it| it[index].rivals_of(&name));
        speed::Measure::of(pair, old, new, rivals, *drift)
    });
    Speed::of(measures.collect(), min_effect)
}
