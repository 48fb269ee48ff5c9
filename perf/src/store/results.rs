//! The files that a run writes to its directory, and how an interrupted run resumes from them.

use crate::base::clock::Lap;
use crate::base::failure::bad_input;
use crate::base::files::{csv_of, replace};
use crate::measure::environment::{Environment, MEASURED_ON};
use crate::measure::interleave::Timing;
use crate::measure::keys::{Column, Probes, digest};
use crate::measure::noise::Noise;
use crate::measure::roofline::Point;
use crate::model::{Case, Choice, Row, Shortfall};
use crate::store::samples;
use crate::store::samples::Samples;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::{fmt, fs, iter};

/// The file name of a run's report.
pub(crate) const REPORT: &str = "report.html";

/// The file names of the plots of speed by threads: builds, inserts, and lookups of present and of absent keys.
pub(crate) const PLOTS_BY_THREADS: [&str; 4] =
    ["engine-build.svg", "engine-insert.svg", "engine-hit.svg", "engine-miss.svg"];

/// Everything that one run measured: the contents of `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The [`SCHEMA`] of the harness that measured; 0 if the file is older than this field.
    #[serde(default)]
    pub(crate) schema: u32,
    pub(crate) environment: Environment,
    pub(crate) noise: Option<Noise>,
    pub(crate) timed: Timed,
    pub(crate) roofline: Vec<Point>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) rows: Vec<Row>,
    /// The index in `rows` of each row, by the name of its case.
    #[serde(skip)]
    indices: HashMap<String, usize>,
    #[serde(default)]
    pub(crate) shortfalls: Vec<Shortfall>,
    /// The repetitions that the rows summarize. They are saved in a separate file.
    #[serde(skip)]
    pub(crate) samples: Samples,
    /// The engine's choices of strategies.
    #[serde(default)]
    pub(crate) strategies: Vec<Choice>,
    /// The reason why hardware events were not counted, if they were not.
    #[serde(default)]
    pub(crate) no_counters: Option<String>,
}

/// The version of the rows' meaning. It is raised when the meaning of a column changes, or when a case is measured in
/// another way under the same name. Rows of two schemas are not stored in one file, and `compare` compares them only
/// with `--force`.
pub(crate) const SCHEMA: u32 = 2;

/// The total time of a run's timed sections, in all of its groups of cases. The sections that compare the engine's two
/// strategies are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Timed {
    /// Seconds in which the measuring thread ran. In the engine's groups: the seconds of wall-clock time minus
    /// `waited_s`.
    pub(crate) busy_s: f64,
    /// Seconds in which the thread did not run, mostly because other programs ran on its processor. Rows of the
    /// engine's groups have wall-clock times, which include these seconds; the times in other rows do not.
    pub(crate) waited_s: f64,
}

impl Timed {
    /// Adds the total time of a subject's timed sections.
    pub(crate) fn add(&mut self, lap: Lap) {
        self.busy_s += lap.busy.as_secs_f64();
        self.waited_s += lap.waited.as_secs_f64();
    }

    fn share_waited(&self) -> f64 {
        self.waited_s / (self.busy_s + self.waited_s).max(1e-9)
    }

    /// Describes the times in one line.
    pub(crate) fn describe(&self) -> String {
        let share = self.share_waited() * 100.0;
        format!(
            "{:.0} s timed; other programs took the processor for {share:.1} % of the timed sections",
            self.busy_s
        )
    }

    /// Whether other programs took more than 5 % of the time. They may then have evicted many of our cache lines.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.share_waited() > 0.05
    }
}

/// A description of keys and probes from TPC-H or from files, with the exact number of probes that are keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The value of the column `input`, with which the column `variant` begins: `tpch-0.1`, `file`.
    pub(crate) name: String,
    /// The description for the report.
    pub(crate) description: String,
    /// The number of distinct keys that are inserted.
    pub(crate) keys: u64,
    /// The number of probes.
    pub(crate) probes: u64,
    /// The number of probes that are keys, counted with an exact set.
    pub(crate) matches: u64,
    /// The [`digest`] of keys and probes; `None` in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}

impl Input {
    /// Describes these keys and probes.
    pub(crate) fn of(name: &str, description: &str, keys: &Column, probes: &Probes) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            keys: keys.len() as u64,
            probes: probes.column.len() as u64,
            matches: probes.members.count_ones() as u64,
            digest: Some(digest([keys, &probes.column])),
        }
    }

    /// Whether counts or digests show that the other input has different keys or probes.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        let counts = |input: &Self| (input.keys, input.probes, input.matches);
        let digests = self.digest.as_ref().zip(other.digest.as_ref());
        counts(self) != counts(other) || digests.is_some_and(|(own, others)| own != others)
    }
}

/// Writes the properties that distinguish the input from other inputs of the same name.
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keys, probes, matches, .. } = self;
        let digest = self.digest.as_deref().unwrap_or("unknown");
        write!(f, "{keys} keys, {probes} probes, {matches} matches, digest {digest}")
    }
}

impl Results {
    /// Creates results without rows.
    pub(crate) fn new(environment: Environment) -> Self {
        Self {
            schema: SCHEMA,
            environment,
            noise: None,
            timed: Timed::default(),
            roofline: Vec::new(),
            inputs: Vec::new(),
            rows: Vec::new(),
            indices: HashMap::new(),
            shortfalls: Vec::new(),
            samples: Samples::default(),
            strategies: Vec::new(),
            no_counters: None,
        }
    }

    /// Whether a case has a row.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.indices.contains_key(name)
    }

    /// Replaces the earlier row of the same case, or appends `row` if the case has no row yet.
    pub(crate) fn put(&mut self, row: Row) {
        match self.indices.entry(row.name()) {
            Entry::Occupied(index) => self.rows[*index.get()] = row,
            Entry::Vacant(entry) => {
                entry.insert(self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// Puts rows that were measured interleaved, with the repetitions of each.
    pub(crate) fn put_interleaved(&mut self, rows: Vec<Row>, timings: &[Timing]) {
        let repetitions = timings.iter().map(Timing::repetitions);
        self.samples.put(rows.iter().map(Row::name).zip(repetitions));
        rows.into_iter().for_each(|row| self.put(row));
    }

    /// Sets the peak memory of a case that was measured.
    pub(crate) fn put_peak(&mut self, name: &str, peak_bytes: Option<u64>) {
        if let Some(index) = self.indices.get(name) {
            self.rows[*index].peak_bytes = peak_bytes;
        }
    }

    /// Whether the filter of a case is known to be full before it reaches the load of the case.
    pub(crate) fn falls_short(&self, case: &Case) -> bool {
        self.shortfalls.iter().any(|known| known.is_of(case))
    }

    /// Appends an input, unless the same input is already there.
    ///
    /// # Errors
    ///
    /// Bad input if there is an input of this name with other keys or probes.
    pub(crate) fn put_input(&mut self, input: Input) -> Result<()> {
        match self.inputs.iter().find(|old| old.name == input.name) {
            Some(old) if old.differs_from(&input) => Err(bad_input(format!(
                "the rows of input {} were measured on other keys: {old} then, {input} now (leave out --resume to replace them)",
                input.name
            ))),
            Some(_) => Ok(()),
            None => {
                self.inputs.push(input);
                Ok(())
            }
        }
    }

    /// Writes `results.csv`, `samples.json`, `results.json`, `env.json` and, if there are strategies, `strategies.csv`.
    /// Each file is replaced atomically. A case counts as measured when it is in `results.json`, which is written after
    /// `samples.json`, so the repetitions of the case have been saved by then. The files that show the former results
    /// (the report and the plots of speed by threads) are removed, and if there are no strategies, the former
    /// `strategies.csv` too.
    ///
    /// # Errors
    ///
    /// Bad input if a file cannot be written.
    pub(crate) fn save(&self, directory: &Path) -> Result<()> {
        for derived in iter::once(REPORT).chain(PLOTS_BY_THREADS) {
            // These files show rows that are now replaced. An error is ignored, since the file need not exist.
            let _ = fs::remove_file(directory.join(derived));
        }
        replace(&directory.join("results.csv"), &rows_as_csv(&self.rows)?)?;
        replace(&directory.join(samples::FILE), &self.samples.to_json()?)?;
        if !self.strategies.is_empty() {
            replace(&directory.join("strategies.csv"), &csv_of(&self.strategies)?)?;
        } else {
            let _ = fs::remove_file(directory.join("strategies.csv"));
        }
        replace(&directory.join("results.json"), &serde_json::to_vec_pretty(self)?)?;
        replace(&directory.join("env.json"), &serde_json::to_vec_pretty(&self.environment)?)
    }

    /// Writes `results.csv`, `results.json` without line breaks, and `env.json`, for readers of a published run.
    ///
    /// # Errors
    ///
    /// Bad input if a file cannot be written.
    pub(crate) fn save_data(&self, directory: &Path) -> Result<()> {
        replace(&directory.join("results.csv"), &rows_as_csv(&self.rows)?)?;
        replace(&directory.join("results.json"), &serde_json::to_vec(self)?)?;
        replace(&directory.join("env.json"), &serde_json::to_vec_pretty(&self.environment)?)
    }

    /// Reads the `results.json` of a directory, and its `samples.json` if there is one.
    ///
    /// # Errors
    ///
    /// Bad input if `results.json` is missing, or if a file cannot be read or parsed, or holds values that no run can
    /// measure.
    pub(crate) fn load(directory: &Path) -> Result<Self> {
        let path = directory.join("results.json");
        let bytes = fs::read(&path).map_err(|error| {
            bad_input(format!("cannot read {}: {error}; is it the --out of a run?", path.display()))
        })?;
        let damaged = |why: String| bad_input(format!("{} is damaged: {why}", path.display()));
        let results: Self =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        results.check().map_err(damaged)?;
        let indices = results.rows.iter().map(Row::name).zip(0..).collect();
        Ok(Self { samples: Samples::load(directory)?, indices, ..results })
    }

    /// Checks that rows have positive median times and speeds, that the roofline has positive sizes and speeds, and
    /// that false-positive rates are from 0 to 1. Figures that fail this check can be neither plotted nor compared. The
    /// error describes the first wrong value.
    fn check(&self) -> Result<(), String> {
        for row in &self.rows {
            let case = row.name();
            let times = [("ns_per_op", row.ns_per_op), ("mops", row.mops)];
            if let Some((column, value)) = times.into_iter().find(|(_, value)| !is_positive(*value))
            {
                return Err(format!("{column} of {case} is {value}"));
            }
            for (column, fpr) in
                [("fpr_expected", row.fpr_expected), ("fpr_measured", row.fpr_measured)]
            {
                if let Some(fpr) = fpr.filter(|fpr| !(0.0..=1.0).contains(fpr)) {
                    return Err(format!("{column} of {case} is {fpr}"));
                }
            }
        }
        for point in &self.roofline {
            if point.bytes == 0 || !point.by_access().iter().all(|(_, speed)| is_positive(*speed)) {
                return Err(format!(
                    "a size or a speed of the roofline at {} bytes is not a positive number",
                    point.bytes
                ));
            }
        }
        Ok(())
    }

    /// Returns the results with which a run continues: those of an earlier run in the directory, or
    /// results without rows if there was no earlier run.
    ///
    /// # Errors
    ///
    /// Bad input if the earlier results are damaged, or if their machine, build or schema differs.
    pub(crate) fn resume(directory: &Path, environment: Environment) -> Result<Self> {
        if !directory.join("results.json").exists() {
            return Ok(Self::new(environment));
        }
        let earlier = Self::load(directory)?;
        let mut differences = earlier.environment.differences(&environment);
        if earlier.schema != SCHEMA {
            differences.push("schema of rows");
        }
        if !differences.is_empty() {
            return Err(bad_input(format!(
                "{} was measured with another {}: its rows cannot be mixed with new ones (leave out --resume to replace them)",
                directory.display(),
                differences.join(", ")
            )));
        }
        let environment = environment.begun_on(earlier.environment.get(MEASURED_ON));
        Ok(Self { environment, ..earlier })
    }
}

/// The columns of `results.csv`, in order. New columns are appended, so that programs that find
/// columns by their position keep working.
const COLUMNS: [&str; 44] = [
    "filter",
    "variant",
    "op",
    "api",
    "workload",
    "keys",
    "bytes",
    "regime",
    "load_factor",
    "threads",
    "isa",
    "ns_per_op",
    "mad",
    "mops",
    "roofline_mops",
    "roofline_fraction",
    "bits_per_key",
    "fpr_expected",
    "fpr_measured",
    "cache_misses_per_op",
    "llc_misses_per_op",
    "dtlb_misses_per_op",
    "counters",
    "rival",
    "absent_keys",
    "ci_low",
    "ci_high",
    "speedup",
    "peak_bytes",
    "cycles_per_op",
    "instructions_per_op",
    "l1d_misses_per_op",
    "branch_misses_per_op",
    "sizing",
    "takes_size",
    "kernels",
    "form",
    "keys_per_call",
    "input",
    "distribution",
    "hashing",
    "clock",
    "is_shared",
    "matrix",
];

/// Writes rows as CSV. A cell is blank if its value is unknown or meaningless for the case.
fn rows_as_csv(rows: &[Row]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for row in rows {
        let fields = serde_json::to_value(row)?;
        writer.write_record(COLUMNS.map(|column| match &fields[column] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        }))?;
    }
    Ok(writer.into_inner()?)
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example;

    #[test]
    fn a_run_that_is_resumed_on_another_day_names_both_days() {
        let environment = Environment::observe(None);
        let today = environment.get(MEASURED_ON).to_owned();
        let begun_on = |earlier| environment.clone().begun_on(earlier).get(MEASURED_ON).to_owned();
        assert_eq!(begun_on(&today), today);
        assert_eq!(begun_on("2026-01-02"), format!("2026-01-02 to {today}"));
        assert_eq!(begun_on("2026-01-02 to 2026-01-05"), format!("2026-01-02 to {today}"));
        assert_eq!(begun_on("unknown"), format!("unknown to {today}"));
    }

    #[test]
    fn a_saved_run_is_resumed() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::observe(None);
        let mut results = Results::resume(directory.path(), environment.clone()).unwrap();
        let row = example("bloom", "12-bit", None, 2.0);
        results.put(row.clone());
        results.samples.put([(row.name(), &[1.0, 2.0, 3.0][..])]);
        results.put(Row { ns_per_op: 3.0, ..row.clone() });
        results.save(directory.path()).unwrap();
        let again = Results::resume(directory.path(), environment.clone()).unwrap();
        assert_eq!(again, results);
        assert!(again.has(&row.name()) && !again.has("another"));
        assert_eq!(again.rows.len(), 1);
        assert_eq!(again.rows[0].ns_per_op, 3.0);
        let csv = fs::read_to_string(directory.path().join("results.csv")).unwrap();
        assert_eq!(csv.lines().count(), 2);
    }

    #[test]
    fn every_field_of_a_row_has_a_column() {
        let fields = serde_json::to_value(example("bloom", "12-bit", None, 2.0)).unwrap();
        let mut fields: Vec<&String> = fields.as_object().unwrap().keys().collect();
        let mut columns = COLUMNS;
        fields.sort_unstable();
        columns.sort_unstable();
        assert_eq!(fields, columns);
    }

    #[test]
    fn unknown_values_are_blank_cells() {
        let row = example("bloom", "fpr-1%", Some("fastbloom"), 2.0);
        let csv = String::from_utf8(rows_as_csv(&[row]).unwrap()).unwrap();
        let mut lines = csv.lines();
        let header =
            "filter,variant,op,api,workload,keys,bytes,regime,load_factor,threads,isa,ns_per_op,";
        assert!(lines.next().unwrap().starts_with(header), "{csv}");
        let begin = "bloom,fpr-1%,contains,single,miss,1000000,1500000,L2,,1,,2.0,0.01,500.0,";
        assert!(lines.next().unwrap().starts_with(begin), "{csv}");
    }

    #[test]
    fn saving_removes_files_that_were_derived_from_former_rows() {
        let directory = tempfile::tempdir().unwrap();
        let derived = [REPORT, "strategies.csv", "engine-miss.svg"];
        let path = |name: &str| directory.path().join(name);
        for name in derived {
            fs::write(path(name), "of an earlier run").unwrap();
        }
        Results::new(Environment::observe(None)).save(directory.path()).unwrap();
        assert!(!derived.iter().any(|name| path(name).exists()));
    }

    #[test]
    fn rows_of_another_machine_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::observe(None);
        Results::new(environment.clone()).save(directory.path()).unwrap();
        let mut other = environment;
        other.facts.iter_mut().find(|fact| fact.name == "cpu").unwrap().value = "another".into();
        let error = Results::resume(directory.path(), other).unwrap_err();
        assert!(error.to_string().contains("another cpu"), "{error}");
    }

    #[test]
    fn a_directory_without_results_and_damaged_results_are_bad_input() {
        let directory = tempfile::tempdir().unwrap();
        let missing = Results::load(directory.path()).unwrap_err();
        fs::write(directory.path().join("results.json"), "{").unwrap();
        let damaged = Results::load(directory.path()).unwrap_err();
        assert!(
            missing.is::<crate::base::failure::BadInput>()
                && damaged.is::<crate::base::failure::BadInput>()
        );
    }
}
