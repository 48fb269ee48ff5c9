//! Reads the directories to compare, refuses runs that cannot be compared, and matches their cases.

use super::{MeasuredIn, Unmatched};
use crate::base::failure::bad_input;
use crate::measure::environment::Environment;
use crate::model::Row;
use crate::store::results::Results;
use anyhow::Result;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The results of one run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) directory: PathBuf,
    pub(crate) results: Results,
}

/// A run of the old program and one of the new, made one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) old: Run,
    pub(crate) new: Run,
}

/// One case in an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) old: &'a Row,
    pub(crate) new: &'a Row,
}

/// One case in all attempts.
#[derive(Clone, Debug)]
pub(crate) struct Matched<'a> {
    pub(crate) pairs: Vec<Pair<'a>>,
}

/// Facts that must be equal for the times of two runs to be comparable. The schema of rows and the keys of inputs must
/// be equal too.
const CONDITIONS: [&str; 8] =
    ["cpu", "caches of a core", "cpu flags", "isa", "huge pages", "target", "flags", "profile"];

/// Facts that are allowed to differ, but whose differences are noted: they can be the purpose of the comparison, or
/// explain a difference in speed.
const CIRCUMSTANCES: [&str; 2] = ["rustc", "kernel"];

impl Matched<'_> {
    pub(super) fn is_of_rival(&self) -> bool {
        self.pairs.iter().all(|pair| pair.old.case.is_of_rival())
    }
}

impl Run {
    fn load(directory: &Path) -> Result<Self> {
        let results = Results::load(directory)?;
        let name = directory.display();
        if results.rows.is_empty() {
            return Err(bad_input(format!("{name} has no rows: nothing was measured there")));
        }
        if results.samples.is_empty() {
            return Err(bad_input(format!(
                "{name} has no samples.json with the repetitions (older harnesses did not keep them): measure again"
            )));
        }
        Ok(Self { directory: directory.into(), results })
    }
}

impl Attempt {
    /// Reads both directories.
    ///
    /// # Errors
    ///
    /// Bad input if a directory does not hold a run with rows and their repetitions.
    pub(crate) fn load(old: &Path, new: &Path) -> Result<Self> {
        Ok(Self { old: Run::load(old)?, new: Run::load(new)? })
    }

    /// The processor of the old run.
    pub(super) fn processor(&self) -> &str {
        self.old.results.environment.get("cpu")
    }

    fn runs(&self) -> [&Run; 2] {
        [&self.old, &self.new]
    }

    fn disturbed_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs().into_iter().filter(|run| run.results.timed.is_disturbed())
    }

    fn is_disturbed(&self) -> bool {
        self.disturbed_runs().next().is_some()
    }
}

/// The number of undisturbed attempts that are enough for a comparison without the disturbed ones.
const ENOUGH_UNDISTURBED: usize = 3;

/// Leaves out the attempts during which other programs took much of the processor's time, if at least
/// [`ENOUGH_UNDISTURBED`] others remain. Returns the attempts that remain, and a note about each that is left out.
pub(super) fn undisturbed(attempts: Vec<Attempt>) -> (Vec<Attempt>, Vec<String>) {
    let count = attempts.iter().filter(|attempt| !attempt.is_disturbed()).count();
    if count < ENOUGH_UNDISTURBED {
        return (attempts, Vec::new());
    }
    let (disturbed, others): (Vec<Attempt>, Vec<Attempt>) =
        attempts.into_iter().partition(Attempt::is_disturbed);
    let note = |attempt: &Attempt| {
        let [old, new] = attempt.runs().map(|run| run.directory.display());
        let disturbed = attempt.disturbed_runs().map(|run| run.directory.display().to_string());
        let disturbed = disturbed.collect::<Vec<_>>().join(" and ");
        format!("{old} and {new} are left out: other programs ran while {disturbed} was measured")
    };
    (others, disturbed.iter().map(note).collect())
}

/// Pairs the first of all runs with each of the others.
fn first_and_others(attempts: &[Attempt]) -> impl Iterator<Item = (&Run, &Run)> {
    let mut runs = attempts.iter().flat_map(Attempt::runs);
    let first = runs.next();
    runs.filter_map(move |other| Some((first?, other)))
}

/// Checks that all runs were made under the conditions of the first run. Returns the differences if `is_forced`.
///
/// # Errors
///
/// Bad input if there is a difference and `is_forced` is false.
pub(super) fn ensure_alike(attempts: &[Attempt], is_forced: bool) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for (first, other) in first_and_others(attempts) {
        for difference in conditions_that_differ(&first.results, &other.results) {
            let (first, other) = (first.directory.display(), other.directory.display());
            let difference = format!("{first} and {other} differ in {difference}");
            if !is_forced {
                return Err(bad_input(format!(
                    "{difference}: their times cannot be compared (--force compares them anyway)"
                )));
            }
            differences.push(difference);
        }
    }
    Ok(differences)
}

fn conditions_that_differ(first: &Results, other: &Results) -> Vec<String> {
    let mut differences = differences(&first.environment, &other.environment, &CONDITIONS);
    differences.extend(rivals_that_differ(&first.environment, &other.environment));
    for input in &first.inputs {
        let others = other.inputs.iter().filter(|other| other.name == input.name);
        differences.extend(
            others
                .filter(|other| input.differs_from(other))
                .map(|other| format!("the keys of input {} ({input} and {other})", input.name)),
        );
    }
    if first.schema != other.schema {
        let (first, other) = (first.schema, other.schema);
        differences.push(format!("the schema of rows ({first} and {other})"));
    }
    differences
}

/// Names the rivals of both runs if the runs have different versions of a rival, or no rival in common. A rival that is
/// compiled into the program of only one run does not count: its cases are not compared.
fn rivals_that_differ(first: &Environment, other: &Environment) -> Option<String> {
    let versions = |environment: &Environment| -> Vec<(String, String)> {
        let rivals = environment.get("rivals").split(", ");
        let pairs = rivals.map(|rival| rival.split_once(' ').unwrap_or((rival, "")));
        pairs.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
    };
    let (ours, theirs) = (versions(first), versions(other));
    let common = || ours.iter().filter(|(name, _)| theirs.iter().any(|(other, _)| other == name));
    let differ = common().count() == 0 || common().any(|rival| !theirs.contains(rival));
    differ.then(|| format!("rivals ({} and {})", first.get("rivals"), other.get("rivals")))
}

fn differences(first: &Environment, other: &Environment, facts: &[&str]) -> Vec<String> {
    let differ = facts.iter().filter(|name| first.get(name) != other.get(name));
    differ.map(|name| format!("{name} ({} and {})", first.get(name), other.get(name))).collect()
}

/// Returns remarks on the runs. None of them prevents a comparison.
pub(super) fn notes(attempts: &[Attempt]) -> Vec<String> {
    let mut notes = Vec::new();
    for (first, other) in first_and_others(attempts) {
        let (a, b) = (&first.results.environment, &other.results.environment);
        for difference in differences(a, b, &CIRCUMSTANCES) {
            notes.push(format!(
                "{} differs from {} in {difference}",
                other.directory.display(),
                first.directory.display()
            ));
        }
    }
    for run in attempts.iter().flat_map(Attempt::runs) {
        let unknown = run.results.inputs.iter().filter(|input| input.digest.is_none());
        notes.extend(unknown.map(|input| {
            let (name, input) = (run.directory.display(), &input.name);
            format!("{name} has no digest of input {input}: its keys might differ from those of another run")
        }));
    }
    let disturbed = attempts.iter().flat_map(Attempt::disturbed_runs);
    notes.extend(
        disturbed.map(|run| {
            format!("other programs ran while {} was measured", run.directory.display())
        }),
    );
    notes
}

/// The values that identify a case: its name, its kind of filter (for a rival, the kind with which it competes), and
/// its instruction set.
type Key = (String, String, Option<String>);

fn key(row: &Row) -> Key {
    (row.name(), row.case.filter.clone(), row.isa.clone())
}

/// Returns the cases that all runs have, in the order of the first run, and the cases that only some runs have.
///
/// # Errors
///
/// Bad input if the runs have no case in common.
pub(super) fn matched(attempts: &[Attempt]) -> Result<(Vec<Matched<'_>>, Vec<Unmatched>)> {
    let rows: Vec<[HashMap<Key, &Row>; 2]> =
        attempts.iter().map(|attempt| [by_key(&attempt.old), by_key(&attempt.new)]).collect();
    let mut seen = HashSet::new();
    let (mut matched, mut unmatched) = (Vec::new(), Vec::new());
    for row in attempts.iter().flat_map(Attempt::runs).flat_map(|run| &run.results.rows) {
        let key = key(row);
        if !seen.insert(key.clone()) {
            continue;
        }
        let pairs: Option<Vec<Pair<'_>>> = rows
            .iter()
            .map(|[old, new]| Some(Pair { old: old.get(&key)?, new: new.get(&key)? }))
            .collect();
        match pairs {
            Some(pairs) => matched.push(Matched { pairs }),
            None => {
                let has = |side: usize| rows.iter().any(|rows| rows[side].contains_key(&key));
                let measured_in = match (has(0), has(1)) {
                    (true, false) => MeasuredIn::OldAlone,
                    (false, true) => MeasuredIn::NewAlone,
                    _ => MeasuredIn::SomeRuns,
                };
                let (name, rival) = (row.name(), row.case.rival.clone());
                unmatched.push(Unmatched { name, rival, measured_in });
            }
        }
    }
    if matched.is_empty() {
        return Err(bad_input("no case was measured in all of these runs"));
    }
    Ok((matched, unmatched))
}

fn by_key(run: &Run) -> HashMap<Key, &Row> {
    run.results.rows.iter().map(|row| (key(row), row)).collect()
}
