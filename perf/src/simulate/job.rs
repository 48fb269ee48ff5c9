//! What one simulated program does: all cases of one filter, which is filled once for them.

use super::{Ledger, MOST_KEYS};
use crate::cli::Selection;
use crate::effort::Effort;
use crate::plan::{Family, Loads};
use crate::row::{NOT_COUNTED, Row};
use crate::session::Session;
use anyhow::{Result, ensure};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::fmt;
use trommel::Isa;

/// The cases of one filter at one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    size: Size,
    /// Kind or crate, and how it is sized, without a load.
    subject: String,
    /// Loads that the filter is filled to, if it is sized by slots.
    loads: Vec<u32>,
    /// Their names.
    cases: Vec<String>,
}

/// Where in a run the cases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Size {
    /// Among filters for this number of keys.
    Keys(usize),
    /// In the sweep over loads of filters with this number of slots.
    Slots(Family, usize),
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Size::Keys(keys) => write!(f, "{} of {keys:e} keys", self.subject),
            Size::Slots(_, slots) => write!(f, "{} of {slots} slots", self.subject),
        }
    }
}

/// Marks rows by kernels for AVX2 in a run that has better ones.
const AVX2_SUFFIX: &str = "+avx2";

/// The name by which a row's case is simulated: kernels for AVX2 are those of any simulated run.
pub(super) fn simulated_name(row: &Row) -> String {
    row.name().replace(AVX2_SUFFIX, "")
}

/// The jobs that fill in the rows of which nothing was counted. Rows of several threads, of keys from files
/// or TPC-H, of the matrix, and of filters that are too large stay as they are.
pub(crate) fn jobs_of(rows: &[Row]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for row in rows {
        let is_wanted = row.counters == NOT_COUNTED
            && !row.is_of_engine()
            && row.threads == 1
            && row.input().is_none()
            && row.matrix().is_none();
        let filling = row.filling();
        let units = filling.map_or(row.keys as usize, |filling| filling.slots);
        if !is_wanted || units > MOST_KEYS {
            continue;
        }
        let who = row.rival.as_deref().unwrap_or(&row.filter);
        let (size, sizing) = match filling {
            None => (Size::Keys(units), row.sizing().to_owned()),
            Some(of) => {
                (Size::Slots(of.family, units), format!("{}{}", of.family.letter(), of.bits))
            }
        };
        let (subject, name) = (format!("{who} {sizing}"), simulated_name(row));
        let known = jobs.iter().position(|job| job.size == size && job.subject == subject);
        let index = known.unwrap_or_else(|| {
            jobs.push(Job { size, subject, loads: Vec::new(), cases: Vec::new() });
            jobs.len() - 1
        });
        let job = &mut jobs[index];
        job.loads.extend(filling.map(|filling| filling.load));
        job.loads.sort_unstable();
        job.loads.dedup();
        if !job.cases.contains(&name) {
            job.cases.push(name);
        }
    }
    jobs
}

impl Job {
    /// Runs the cases, each in its sections.
    pub(crate) fn run(&self, isa: Option<Isa>) -> Result<Ledger> {
        let names: Vec<String> = self.cases.iter().map(|name| regex::escape(name)).collect();
        let selection = Selection {
            full: true,
            filter: Some(Regex::new(&format!("^(?:{})$", names.join("|")))?),
            no_rivals: true,
            ..Selection::default()
        };
        let mut session = Session::in_sections(selection, Effort::SIMULATED, isa);
        match self.size {
            Size::Keys(keys) => session.generated(keys)?,
            Size::Slots(family, slots) => {
                session.sweep(&Loads { family, slots, loads: self.loads.clone() })?;
            }
        }
        let ledger = session.into_ledger();
        ensure!(!ledger.is_empty(), "{self}: none of its cases is known here");
        Ok(ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::example;

    /// A row of the sweep.
    fn swept(variant: &str, op: &str) -> Row {
        let keys = 950;
        Row { op: op.into(), workload: None, keys, ..example("quotient", variant, None, 2.0) }
    }

    #[test]
    fn a_filter_is_filled_once_for_all_of_its_cases() {
        let keys = 1000;
        let plain = Row { keys, ..example("bloom", "12-bit", None, 2.0) };
        let hashed = Row { keys, ..example("bloom", "12-bit+hash", None, 2.0) };
        let rival = Row { keys, ..example("bloom", "12-bit", Some("fastbloom"), 9.0) };
        let rows = [
            plain.clone(),
            hashed,
            rival,
            swept("r8-95%-of-1000", "insert"),
            swept("r8-75%-of-1000", "insert"),
            swept("r8-95%-of-1000+avx2", "insert"),
            plain.clone(),
        ];
        let jobs = jobs_of(&rows);
        let of: Vec<(String, usize)> =
            jobs.iter().map(|job| (job.to_string(), job.cases.len())).collect();
        assert_eq!(
            of,
            [
                ("bloom 12-bit of 1e3 keys".to_owned(), 2),
                ("fastbloom 12-bit of 1e3 keys".to_owned(), 1),
                ("quotient r8 of 1000 slots".to_owned(), 2),
            ]
        );
        assert_eq!(jobs[2].loads, [75, 95]);
        assert!(jobs_of(&[Row { counters: "hardware".into(), ..plain }]).is_empty());
    }

    #[test]
    fn what_is_too_large_or_on_several_threads_is_left_out() {
        let base = example("bloom", "12-bit", None, 2.0);
        for row in [
            Row { keys: 10_000_000, ..base.clone() },
            Row { threads: 2, ..base.clone() },
            Row { variant: "12-bit+wall".into(), ..base.clone() },
            Row { variant: "tpch-0.1/12-bit".into(), ..base.clone() },
            Row { variant: "12-bit+by-64".into(), ..base.clone() },
            Row { variant: "12-bit+in-L2".into(), ..base },
            swept("r8-95%-of-16Mi", "insert"),
        ] {
            assert_eq!(jobs_of(std::slice::from_ref(&row)), [], "{}", row.name());
        }
    }

    #[test]
    fn a_job_runs_its_cases_and_no_others_in_sections() {
        let rows = [
            Row { keys: 500, ..example("split-block-bloom", "12-bit", None, 2.0) },
            Row { keys: 500, ..example("split-block-bloom", "12-bit", Some("parquet"), 2.0) },
            swept("r8-95%-of-1000", "merge"),
        ];
        let jobs = jobs_of(&rows);
        let ran = |job: &Job| job.run(None).map(|ledger| ledger.names());
        assert_eq!(ran(&jobs[0]).unwrap(), jobs[0].cases);
        assert_eq!(ran(&jobs[2]).unwrap(), jobs[2].cases);
        // `parquet` takes no hashes, so this case is none that there is.
        assert!(ran(&jobs[1]).is_err());
    }
}
