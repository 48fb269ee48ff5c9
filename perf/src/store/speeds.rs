//! The file of a history of speeds: `compare --history` adds a line for each case of ours.

use crate::base::failure::bad_input;
use crate::base::files::{csv_of, replace};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The comparison of a case between two commits: a line of the file. The fields are its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// When the commits were compared, in RFC 3339.
    pub(crate) time: String,
    /// The old commit.
    pub(crate) base: String,
    /// The new commit.
    pub(crate) commit: String,
    /// The name of the case.
    pub(crate) case: String,
    /// The time of the case at the new commit, over its time at the old one, without the drift of the machine.
    pub(crate) ratio: f64,
}

/// The first line of a file.
const HEADER: &str = "time,base,commit,case,ratio";

/// Whether a file has the columns of a history of speeds.
pub(crate) fn is_of_speeds(bytes: &[u8]) -> bool {
    bytes.split(|byte| matches!(byte, b'\n' | b'\r')).next() == Some(HEADER.as_bytes())
}

/// Parses a file.
///
/// # Errors
///
/// The reason, in one line, if a line cannot be parsed, or a ratio is not a positive number.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Step>, String> {
    let one_line = |error: csv::Error| error.to_string().replace('\n', " ");
    let steps = csv::Reader::from_reader(bytes).deserialize().collect::<Result<Vec<Step>, _>>();
    let steps = steps.map_err(one_line)?;
    match steps.iter().find(|step| !(step.ratio.is_finite() && step.ratio > 0.0)) {
        Some(step) => Err(format!("{} at {} has the ratio {}", step.case, step.commit, step.ratio)),
        None => Ok(steps),
    }
}

/// Adds steps to a file, which is created if it does not exist.
///
/// # Errors
///
/// Bad input if the file is not a history of speeds, or cannot be read or written. It is then as before.
pub(crate) fn append(path: &Path, steps: Vec<Step>) -> Result<()> {
    let shown = path.display();
    let mut all = match fs::read(path) {
        Ok(bytes) if is_of_speeds(&bytes) => parse(&bytes)
            .map_err(|why| bad_input(format!("{shown} is not a history of speeds: {why}")))?,
        Ok(bytes) if bytes.is_empty() => Vec::new(),
        Ok(_) => {
            let why = format!("{shown} is not a history of speeds: its first line is not {HEADER}");
            return Err(bad_input(why));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(bad_input(format!("cannot read {shown}: {error}"))),
    };
    all.extend(steps);
    replace(path, &csv_of(&all)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(commit: &str) -> Step {
        let [time, base, commit, case] =
            ["2026-01-31T12:00:00Z", "aaa", commit, "insert/1e6/bloom/12-bit/batch"]
                .map(Into::into);
        Step { time, base, commit, case, ratio: 1.25 }
    }

    #[test]
    fn steps_are_added_to_a_file_and_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("speeds.csv");
        append(&path, vec![step("bbb")]).unwrap();
        append(&path, vec![step("ccc")]).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(is_of_speeds(&bytes));
        assert_eq!(parse(&bytes).unwrap(), [step("bbb"), step("ccc")]);
    }

    #[test]
    fn another_file_is_refused_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.csv");
        let bad_ratio = format!("{HEADER}\n2026-01-31T12:00:00Z,a,b,c,-1\n");
        for text in ["time,commit\n", "\n", &bad_ratio] {
            fs::write(&path, text).unwrap();
            assert!(append(&path, vec![step("bbb")]).is_err(), "{text:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), *text);
        }
    }
}
