//! `samples.json`: the times of all repetitions of each case. The rows of `results.json` only summarize these times.

use crate::base::failure::bad_input;
use crate::base::stats::round_significant;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

/// The times of the repetitions of all cases, and which cases were interleaved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Samples {
    /// For each case, the nanoseconds per operation of its repetitions, in the order in which they were made. A key of
    /// the map is the name of a case ([`crate::model::Row::name`]).
    ns_per_op: BTreeMap<String, Vec<f64>>,
    /// For each interleaved measurement, the names of its cases. If repetitions of these cases have the same index,
    /// they were made in the same round. The list is empty in older files. In the file, this field is called `turns`.
    #[serde(default, rename = "turns")]
    interleaved: Vec<Vec<String>>,
}

/// The name of the file in a run's directory.
pub(crate) const FILE: &str = "samples.json";

/// The number of significant decimal digits that are kept: the same number as for the medians in `results.json`.
const DIGITS: i32 = 5;

impl Samples {
    /// Stores the repetitions of the cases of one interleaved measurement. Earlier repetitions of these cases are
    /// replaced.
    ///
    /// A repetition without operations has no time per operation. Its round is left out for all cases, so that
    /// repetitions with the same index still belong to the same round. A case in which no repetition has a time is
    /// an exception: its rounds are not left out for the other cases, and an empty list is stored for it.
    pub(crate) fn put<'a>(
        &mut self,
        repetitions_by_name: impl IntoIterator<Item = (String, &'a [f64])>,
    ) {
        let all: Vec<(String, &[f64])> = repetitions_by_name.into_iter().collect();
        let is_timed = |repetitions: &[f64]| repetitions.iter().any(|value| value.is_finite());
        let timed: Vec<&[f64]> =
            all.iter().map(|(_, repetitions)| *repetitions).filter(|it| is_timed(it)).collect();
        let is_kept = |round: usize| {
            timed.iter().all(|repetitions| repetitions.get(round).is_none_or(|it| it.is_finite()))
        };
        let mut names = Vec::new();
        for (name, repetitions) in &all {
            let kept = repetitions.iter().enumerate().filter(|(round, _)| is_kept(*round));
            let finite = kept.map(|(_, value)| *value).filter(|value| value.is_finite());
            let rounded = finite.map(|value| round_significant(value, DIGITS)).collect();
            self.ns_per_op.insert(name.clone(), rounded);
            names.push(name.clone());
        }
        let replaced: HashSet<&String> = names.iter().collect();
        self.interleaved.iter_mut().for_each(|names| names.retain(|name| !replaced.contains(name)));
        self.interleaved.retain(|names| !names.is_empty());
        self.interleaved.push(names);
    }

    /// Returns the names of the cases that were interleaved, one list per measurement.
    pub(crate) fn interleaved(&self) -> &[Vec<String>] {
        &self.interleaved
    }

    /// Returns the times of a case's repetitions; empty if the case was not measured.
    pub(crate) fn of(&self, name: &str) -> &[f64] {
        self.ns_per_op.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether there is no case.
    pub(crate) fn is_empty(&self) -> bool {
        self.ns_per_op.is_empty()
    }

    /// Returns the contents of the file: JSON on one line, to keep it small.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Reads the file of a run's directory. Returns no samples if there is no file, because older runs wrote none.
    ///
    /// # Errors
    ///
    /// Bad input if the file cannot be read or parsed.
    pub(crate) fn load(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let bytes = fs::read(&path)
            .map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| bad_input(format!("{} is damaged: {error}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_found_by_the_name_of_their_case_and_rounded() {
        let mut samples = Samples::default();
        samples.put([("a/b".into(), &[1.234_567_8, f64::INFINITY, 2.0][..])]);
        samples.put([("a/b".into(), &[1.234_567_8, f64::NAN, 2.0][..])]);
        assert_eq!(samples.of("a/b"), [1.2346, 2.0]);
        assert!(samples.of("another").is_empty());
        let directory = tempfile::tempdir().unwrap();
        assert!(Samples::load(directory.path()).unwrap().is_empty());
        fs::write(directory.path().join(FILE), samples.to_json().unwrap()).unwrap();
        assert_eq!(Samples::load(directory.path()).unwrap(), samples);
        fs::write(directory.path().join(FILE), "{").unwrap();
        assert!(
            Samples::load(directory.path()).unwrap_err().is::<crate::base::failure::BadInput>()
        );
    }

    #[test]
    fn a_round_without_a_time_is_left_out_for_all_cases_of_the_measurement() {
        let mut samples = Samples::default();
        let none = [f64::NAN; 4];
        samples.put([
            ("ours".into(), &[1.0, f64::INFINITY, 3.0, 4.0][..]),
            ("rival".into(), &[10.0, 20.0, 30.0, f64::NAN]),
            ("never".into(), &none),
        ]);
        assert_eq!((samples.of("ours"), samples.of("rival")), (&[1.0, 3.0][..], &[10.0, 30.0][..]));
        assert!(samples.of("never").is_empty());
    }

    #[test]
    fn a_repeated_case_leaves_its_former_interleaved_measurement() {
        let mut samples = Samples::default();
        let put = |samples: &mut Samples, names: &[&str]| {
            samples.put(names.iter().map(|name| ((*name).into(), &[1.0, 2.0][..])));
        };
        put(&mut samples, &["a", "b"]);
        put(&mut samples, &["c"]);
        assert_eq!(samples.interleaved(), [vec!["a", "b"], vec!["c"]]);
        put(&mut samples, &["b", "c"]);
        assert_eq!(samples.interleaved(), [vec!["a"], vec!["b", "c"]]);
        let older: Samples = serde_json::from_str(r#"{"ns_per_op": {"a": [1.0]}}"#).unwrap();
        assert!(older.interleaved().is_empty() && older.of("a") == [1.0]);
    }
}
