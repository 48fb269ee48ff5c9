//! `compare`: compares an old and a new build of this program by their runs.

use crate::analyse::compare::{Attempt, Case, Comparison, to_junit};
use crate::base::console::{remark, say};
use crate::base::failure::bad_input;
use crate::base::files::replace;
use crate::base::format::distinct;
use crate::cli::CompareArgs;
use crate::store::speeds::{self, Step};
use anyhow::Result;
use chrono::{DateTime, SecondsFormat, Utc};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

/// The exit code if there is a regression.
const REGRESSION: u8 = 3;

/// The exit code if there is no regression, but a case of ours could not be decided, or the old program has a case of
/// ours that was not measured in every run.
const UNDECIDED: u8 = 4;

/// Prints the changes and notes, if there are any; with `--all`, prints all cases. Writes the files of `--json`,
/// `--junit` and `--history`. The exit code is 3 if a case of ours is a regression. Else it is 4 if a case of ours
/// could not be decided, or if the old program has a case of ours that was not measured in every run;
/// `--allow-undecided` turns this 4 into 0.
pub(crate) fn run(arguments: &CompareArgs) -> Result<ExitCode> {
    let attempts = pairs(arguments)?
        .into_iter()
        .map(|(old, new)| Attempt::load(old, new))
        .collect::<Result<Vec<_>>>()?;
    let comparison = Comparison::of(attempts, arguments.min_effect, arguments.force)?;
    let history = match &arguments.history {
        Some(path) => {
            let mut history = speeds::read(path)?;
            history.extend(steps(&comparison)?);
            Some((path, history))
        }
        None => None,
    };
    if arguments.all || !comparison.is_silent() {
        say!("{}", comparison.to_terminal(arguments.all))?;
    }
    if let Some(path) = &arguments.json {
        replace(path, &serde_json::to_vec_pretty(&comparison)?)?;
    }
    if let Some(path) = &arguments.junit {
        replace(path, to_junit(&comparison)?.as_bytes())?;
    }
    if let Some((path, history)) = &history {
        speeds::write(path, history)?;
    }
    if comparison.has_regressions() {
        return Ok(ExitCode::from(REGRESSION));
    }
    let (unsure, missing) = (comparison.count_unsure(), comparison.count_missing());
    if unsure + missing > 0 && !arguments.allow_undecided {
        remark!(
            "undecided: {unsure} cases of ours are unsettled or have too few repetitions, {missing} of the \
             old program were not measured in every run: exit code {UNDECIDED} (--allow-undecided makes it 0)"
        );
        return Ok(ExitCode::from(UNDECIDED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns one line of the history of speeds for each case of ours that all runs have.
///
/// # Errors
///
/// Bad input unless all attempts compare the same old commit with the same new commit, these two differ, and both were
/// built without uncommitted changes: a history has the changes of speed from commit to commit.
fn steps(comparison: &Comparison) -> Result<Vec<Step>> {
    let commits = comparison.attempts.iter().map(|it| (&*it.old_commit, &*it.new_commit));
    let [(base, commit)] = distinct(commits)[..] else {
        return Err(bad_input("a history needs attempts with the same two commits"));
    };
    for name in [base, commit] {
        if name == "unknown" || name.ends_with("+changes") {
            return Err(bad_input(format!("a history needs runs of commits, not of {name}")));
        }
    }
    if base == commit {
        return Err(bad_input(format!("a history needs two commits, and both runs are of {base}")));
    }
    let machine = comparison.attempts.first().map_or("unknown", |attempt| &*attempt.processor);
    let time = DateTime::<Utc>::from(SystemTime::now());
    let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    let step = |case: &Case| Step {
        time: time.clone(),
        machine: machine.into(),
        base: base.into(),
        commit: commit.into(),
        case: case.name.clone(),
        ratio: case.speed.relative,
    };
    Ok(comparison.cases.iter().filter(|case| case.rival.is_none()).map(step).collect())
}

/// The directories of each attempt: the old run and the new one.
fn pairs(arguments: &CompareArgs) -> Result<Vec<(&PathBuf, &PathBuf)>> {
    let CompareArgs { dirs, old, new, .. } = arguments;
    if let [old, new] = &**dirs {
        return Ok(vec![(old, new)]);
    }
    if old.len() != new.len() {
        let (old, new) = (old.len(), new.len());
        return Err(bad_input(format!(
            "{old} old runs and {new} new ones: give the same number of each"
        )));
    }
    Ok(old.iter().zip(new).collect())
}
