//! The file in which a history of speeds is kept. `compare --history` adds a line for each case of our filters.

use crate::base::failure::bad_input;
use crate::base::files::{csv_of, replace};
use anyhow::Result;
use chrono::DateTime;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The comparison of a case between two commits: a line of the file. Each field is a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// When the commits were compared, in RFC 3339.
    pub(crate) time: String,
    /// The processor on which both commits were timed. Times on different machines are not compared.
    pub(crate) machine: String,
    /// The old commit.
    pub(crate) base: String,
    /// The new commit.
    pub(crate) commit: String,
    /// The name of the case.
    pub(crate) case: String,
    /// The drift-adjusted ratio of two times of the case: the time at the new commit divided by that at the old one.
    pub(crate) ratio: f64,
}

/// The first line of a file.
const HEADER: &str = "time,machine,base,commit,case,ratio";

/// Whether a file has the columns of a history of speeds.
pub(crate) fn is_of_speeds(bytes: &[u8]) -> bool {
    bytes.split(|byte| matches!(byte, b'\n' | b'\r')).next() == Some(HEADER.as_bytes())
}

/// Parses a file.
///
/// # Errors
///
/// Returns a message without line breaks if a line of the file cannot be parsed, has an empty field, has a `time` that
/// is not in RFC 3339, or has a `ratio` that is not a positive number.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Step>, String> {
    let one_line = |error: csv::Error| error.to_string().replace('\n', " ");
    let steps = csv::Reader::from_reader(bytes).deserialize().collect::<Result<Vec<Step>, _>>();
    let steps = steps.map_err(one_line)?;
    for Step { time, machine, base, commit, case, ratio } in &steps {
        if DateTime::parse_from_rfc3339(time).is_err() {
            return Err(format!("{time:?} is not a time such as 2026-01-31T12:00:00Z"));
        }
        if [machine, base, commit, case].iter().any(|text| text.is_empty()) {
            return Err(format!("the comparison at {time} has an empty field"));
        }
        if !(ratio.is_finite() && *ratio > 0.0) {
            return Err(format!("{case} at {commit} has the ratio {ratio}"));
        }
    }
    Ok(steps)
}

/// Reads a file to which steps are to be added. A file that does not exist, or is empty, has no steps.
///
/// # Errors
///
/// Bad input if the file is not a history of speeds, or cannot be read.
pub(crate) fn read(path: &Path) -> Result<Vec<Step>> {
    let shown = path.display();
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        read => read.map_err(|error| bad_input(format!("cannot read {shown}: {error}")))?,
    };
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let parsed = if is_of_speeds(&bytes) {
        parse(&bytes)
    } else {
        Err(format!("its first line is not {HEADER}"))
    };
    parsed.map_err(|why| bad_input(format!("{shown} is not a history of speeds: {why}")))
}

/// Replaces a file by one with these steps.
///
/// # Errors
///
/// Bad input if the file cannot be written. The old file then remains unchanged.
pub(crate) fn write(path: &Path, steps: &[Step]) -> Result<()> {
    replace(path, &csv_of(steps)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(commit: &str) -> Step {
        let [time, machine, base, commit, case] =
            ["2026-01-31T12:00:00Z", "A processor", "aaa", commit, "insert/1e6/bloom/12-bit/batch"]
                .map(Into::into);
        Step { time, machine, base, commit, case, ratio: 1.25 }
    }

    #[test]
    fn written_steps_are_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("speeds.csv");
        assert_eq!(read(&path).unwrap(), []);
        let steps = [step("bbb"), step("ccc")];
        write(&path, &steps).unwrap();
        assert!(is_of_speeds(&fs::read(&path).unwrap()));
        assert_eq!(read(&path).unwrap(), steps);
    }

    #[test]
    fn lines_that_make_no_sense_are_refused() {
        let line = "2026-01-31T12:00:00Z,A processor,aaa,bbb,insert,1.5";
        let with = |from: &str, to: &str| format!("{HEADER}\n{}\n", line.replace(from, to));
        assert_eq!(parse(with("", "").as_bytes()).unwrap().len(), 1);
        for (from, to) in [
            ("2026-01-31T12:00:00Z", "yesterday"),
            ("A processor", ""),
            ("aaa", ""),
            ("insert", ""),
            ("1.5", "-1"),
            ("1.5", "NaN"),
            ("1.5", "inf"),
            (",1.5", ""),
        ] {
            let why = parse(with(from, to).as_bytes()).unwrap_err();
            assert!(!why.contains('\n'), "{why}");
        }
    }
}
