//! A job for one simulated process: all cases of one filter. Lookups without hashing share one filled filter.

use super::MOST_KEYS;
use crate::measure::effort::Effort;
use crate::measure::ledger::Ledger;
use crate::measure::plan::{Loads, Selection};
use crate::model::{Case, Family, Filling, NOT_COUNTED, Row};
use crate::run::session::Session;
use anyhow::{Result, ensure};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::fmt;
use trommel::Isa;

/// The cases of one filter at one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    size: Size,
    /// The name of the kind or crate, and the size of the filter without its load.
    subject: String,
    /// The loads to which the filter is filled, if it is sized by slots.
    loads: Vec<u32>,
    /// The names of the cases.
    cases: Vec<String>,
}

/// The part of a run to which the cases belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Size {
    /// Filters for this number of keys.
    Keys(usize),
    /// The sweep over loads for filters of this family with this number of slots.
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

/// The name under which a row's case is simulated. A case that asks for AVX2 kernels is simulated as a case that asks
/// for no particular kernels, because simulation never uses better kernels than AVX2.
pub(super) fn simulated_name(row: &Row) -> String {
    Case { kernels: None, ..row.case.clone() }.name()
}

/// Returns the jobs that count the events of rows without counts. Rows of the engine's groups and
/// the matrix, rows on keys from files or TPC-H, and rows of filters above [`MOST_KEYS`] keys or
/// slots are left out.
pub(crate) fn jobs_of(rows: &[Row]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for row in rows {
        let can_be_simulated = row.counters == NOT_COUNTED
            && !row.case.is_of_engine()
            && row.case.threads == 1
            && row.case.input_name().is_none()
            && row.case.matrix.is_none();
        let filling = row.case.filling();
        let units = filling.map_or(row.case.keys as usize, |filling| filling.slots);
        if !can_be_simulated || units > MOST_KEYS {
            continue;
        }
        let filter = row.case.subject();
        let (size, sizing) = match filling {
            None => (Size::Keys(units), row.case.size_name()),
            Some(Filling { family, bits, .. }) => {
                (Size::Slots(family, units), format!("{}{bits}", family.letter()))
            }
        };
        let (subject, name) = (format!("{filter} {sizing}"), simulated_name(row));
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
    /// Runs the cases in marked sections.
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
        ensure!(!ledger.is_empty(), "{self}: this program has none of the job's cases");
        Ok(ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Op, example};

    /// Returns a row of the sweep over loads.
    fn swept(variant: &str, op: Op) -> Row {
        let change = |case: &mut Case| (case.op, case.workload, case.keys) = (op, None, 950);
        example("quotient", variant, None, 2.0).with(change)
    }

    #[test]
    fn all_cases_of_a_filter_are_in_one_job() {
        let keys = 1000;
        let plain = example("bloom", "12-bit", None, 2.0).with(|case| case.keys = keys);
        let hashed = example("bloom", "12-bit+hash", None, 2.0).with(|case| case.keys = keys);
        let rival =
            example("bloom", "12-bit", Some("fastbloom"), 9.0).with(|case| case.keys = keys);
        let rows = [
            plain.clone(),
            hashed,
            rival,
            swept("r8-95%-of-1000", Op::Insert),
            swept("r8-75%-of-1000", Op::Insert),
            swept("r8-95%-of-1000+avx2", Op::Insert),
            plain.clone(),
        ];
        let jobs = jobs_of(&rows);
        let names_and_cases: Vec<(String, usize)> =
            jobs.iter().map(|job| (job.to_string(), job.cases.len())).collect();
        assert_eq!(
            names_and_cases,
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
    fn rows_that_cannot_be_simulated_have_no_job() {
        for row in [
            example("bloom", "12-bit", None, 2.0).with(|case| case.keys = 10_000_000),
            example("bloom", "12-bit", None, 2.0).with(|case| case.threads = 2),
            example("bloom", "12-bit+wall", None, 2.0),
            example("bloom", "tpch-0.1/12-bit", None, 2.0),
            example("bloom", "12-bit+by-64", None, 2.0),
            example("bloom", "12-bit+in-L2", None, 2.0),
            swept("r8-95%-of-16Mi", Op::Insert),
        ] {
            assert_eq!(jobs_of(std::slice::from_ref(&row)), [], "{}", row.name());
        }
    }

    #[test]
    fn a_job_runs_exactly_its_cases() {
        let rows = [
            example("split-block-bloom", "12-bit", None, 2.0).with(|case| case.keys = 500),
            example("split-block-bloom", "12-bit", Some("parquet"), 2.0)
                .with(|case| case.keys = 500),
            swept("r8-95%-of-1000", Op::Merge),
        ];
        let jobs = jobs_of(&rows);
        let ran = |job: &Job| job.run(None).map(|ledger| ledger.names());
        assert_eq!(ran(&jobs[0]).unwrap(), jobs[0].cases);
        assert_eq!(ran(&jobs[2]).unwrap(), jobs[2].cases);
        // `parquet` takes no hashes, so it has no case without hashing.
        assert!(ran(&jobs[1]).is_err());
    }
}
