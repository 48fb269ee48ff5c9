//! Creates the tables of a run, which are shown on the terminal, in the report and in documents.

mod engine;
mod events;
mod goals;
mod loads;
mod matrix;
mod summary;

pub(crate) use summary::{headline, table as summary};

use crate::analyse::rival::ratio;
use crate::base::format::{distinct, figure, human_bytes, per_cent, short_count};
use crate::base::table::{Line, Table};
use crate::model::{Api, Op, Row, Workload};
use crate::store::results::Results;
use trommel::Isa;

/// The names of all tables, in the order of the report.
pub(crate) const NAMES: [&str; 30] = [
    "summary",
    "lookups-miss",
    "lookups-hit",
    "lookups-mixed",
    "lookups-zipf",
    "single-lookups",
    "inserts",
    "builds",
    "hashed",
    "load-lookups",
    "load-single-lookups",
    "load-changes",
    "load-bulk",
    "load-fpr",
    "events",
    "load-events",
    "batch-sizes",
    "columns",
    "bits-sweep",
    "regimes",
    "pages",
    "small-filters",
    "engine",
    "engine-overhead",
    "engine-strategies",
    "goals",
    "inputs",
    "fpr",
    "roofline",
    "environment",
];

/// Returns all tables for which the run has rows.
pub(crate) fn all(results: &Results) -> Vec<Table> {
    let lookups = |workload: Workload, api: Api| {
        move |row: &Row| {
            row.case.is_plain()
                && row.case.is_lookup(workload)
                && (row.case.calls.api == api || row.case.is_of_rival())
        }
    };
    let op = |op: Op| move |row: &Row| row.case.is_plain() && row.case.op == op;
    let mut tables = vec![
        summary(results),
        throughput(
            results,
            "lookups-miss",
            "Lookups of absent keys, batches",
            lookups(Workload::Miss, Api::Batch),
        ),
        throughput(
            results,
            "lookups-hit",
            "Lookups of present keys, batches",
            lookups(Workload::Hit, Api::Batch),
        ),
        throughput(
            results,
            "lookups-mixed",
            "Lookups, half of them present, batches",
            lookups(Workload::Mixed, Api::Batch),
        ),
        throughput(
            results,
            "lookups-zipf",
            "Lookups of skewed probes (Zipf, exponent 1), about half present, batches",
            lookups(Workload::Zipf, Api::Batch),
        ),
        throughput(
            results,
            "single-lookups",
            "Lookups of absent keys, one call per key",
            lookups(Workload::Miss, Api::Single),
        ),
        throughput(results, "inserts", "Inserts", op(Op::Insert)),
        throughput(
            results,
            "builds",
            "Builds: memory, construction and all inserts",
            op(Op::Build),
        ),
        throughput(
            results,
            "hashed",
            "Lookups with hashing of integer keys included, half present",
            |row| row.case.input_name().is_none() && row.case.hashing,
        ),
    ];
    tables.extend(loads::all(results));
    tables.extend(events::all(results));
    tables.extend(matrix::all(results));
    tables.extend(engine::all(results));
    tables.extend([
        goals::table(results),
        inputs(results),
        rates(results),
        roofline(results),
        environment(results),
    ]);
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Returns the subject, size and api of a row. Rows for which these are equal share a line.
fn line_key(row: &Row) -> (String, String, Api) {
    let case = &row.case;
    (case.subject().to_owned(), case.size_name(), case.calls.api)
}

/// Returns the name of a row's subject, followed by the row's size. The sweep over loads has many sizes, so labels of
/// its rows have the width of the slots instead.
pub(crate) fn label(row: &Row) -> String {
    let (case, subject) = (&row.case, row.case.subject());
    match case.filling() {
        Some(filling) => {
            let width = format!("{}{}", filling.family.letter(), filling.bits);
            format!("{} {width}", with_isa(subject, case.kernels))
        }
        None => format!("{subject} {}", case.size_name()),
    }
}

/// Returns the name of a subject of the sweep over loads. If `kernels` is `Some`, `+` and the instruction set follow.
fn with_isa(subject: &str, kernels: Option<Isa>) -> String {
    kernels.map_or_else(|| subject.to_owned(), |isa| format!("{subject}+{isa}"))
}

/// Creates a table of throughputs with a line for each [`line_key`], and three columns for each number of keys.
fn throughput(
    results: &Results,
    name: &'static str,
    title: &str,
    is_shown: impl Fn(&Row) -> bool,
) -> Table {
    let rows: Vec<&Row> = results.rows.iter().filter(|row| is_shown(row)).collect();
    let mut counts = distinct(rows.iter().map(|row| row.case.keys));
    counts.sort_unstable();
    let keys = distinct(rows.iter().map(|row| line_key(row)));
    let mut header: Vec<String> = ["filter", "size", "api"].map(Into::into).into();
    for count in &counts {
        header.extend([
            format!("{} keys, M/s", short_count(*count)),
            "× rival".into(),
            "of roofline".into(),
        ]);
    }
    let lines = keys.into_iter().map(|key| {
        let mut cells = vec![key.0.clone(), key.1.clone(), key.2.to_string()];
        let mut is_rival = false;
        for count in &counts {
            match rows.iter().find(|row| row.case.keys == *count && line_key(row) == key) {
                Some(row) => {
                    is_rival = row.case.is_of_rival();
                    cells.extend(throughput_cells(row, &results.rows));
                }
                None => cells.extend([const { String::new() }; 3]),
            }
        }
        Line { cells, is_rival }
    });
    Table { name, title: title.into(), header, rows: lines.collect(), words: 3 }
}

fn throughput_cells(row: &Row, rows: &[Row]) -> [String; 3] {
    let deviation = row.mad / row.ns_per_op * 100.0;
    [
        format!("{} ±{deviation:.0} %", figure(row.mops)),
        ratio(row, rows).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        row.roofline_fraction.map_or_else(String::new, |share| format!("{share:.2}")),
    ]
}

/// Shows the rows that were measured on keys of TPC-H or of the user's files. A line has two speeds: one with hashing
/// before the timed section, and one with hashing within the timed section.
fn inputs(results: &Results) -> Table {
    let mut lines = Vec::new();
    for input in &results.inputs {
        let of_input: Vec<&Row> = results
            .rows
            .iter()
            .filter(|row| {
                row.case.input_name() == Some(&*input.name) && row.case.keys == input.keys
            })
            .collect();
        for key in distinct(of_input.iter().map(|row| line_key(row))) {
            let of_line = |hashed: bool| {
                of_input
                    .iter()
                    .find(|row| line_key(row) == key && row.case.hashing == hashed)
                    .copied()
            };
            let speed = |row: Option<&Row>| row.map_or_else(String::new, |row| figure(row.mops));
            let times_rival = |row: Option<&Row>| {
                row.and_then(|row| ratio(row, &results.rows))
                    .map_or_else(String::new, |ratio| format!("{ratio:.2}"))
            };
            let (plain, hashed) = (of_line(false), of_line(true));
            let Some(row) = plain.or(hashed) else { continue };
            let fpr = row.fpr_measured.unwrap_or_default();
            let false_positives = (fpr * (input.probes - input.matches) as f64).round() as u64;
            let mut cells = vec![input.name.clone(), key.0.clone(), key.1.clone()];
            cells.extend([speed(plain), times_rival(plain), speed(hashed), times_rival(hashed)]);
            cells.extend([input.matches.to_string(), false_positives.to_string()]);
            cells.extend([
                row.fpr_measured.map_or_else(String::new, per_cent),
                format!("{:.2}", row.bits_per_key),
            ]);
            lines.push(Line { cells, is_rival: row.case.is_of_rival() });
        }
    }
    let header = [
        "input",
        "filter",
        "size",
        "hashed before, M/s",
        "× rival",
        "hashing included, M/s",
        "× rival",
        "true matches",
        "false positives",
        "FPR",
        "bits/key",
    ];
    Table {
        name: "inputs",
        title: "Joins on given keys, every answer compared with an exact set".into(),
        header: header.map(Into::into).into(),
        rows: lines,
        words: 3,
    }
}

/// Returns by how many per cent a measured rate is above (`+`) or below (`-`) the expected rate. Returns an empty
/// string if the expected rate is 0.
fn difference(measured: f64, expected: f64) -> String {
    if expected > 0.0 {
        format!("{:+.1} %", (measured / expected - 1.0) * 100.0)
    } else {
        String::new()
    }
}

/// Compares the expected false-positive rates with the measured ones.
fn rates(results: &Results) -> Table {
    let mut lines: Vec<Line> = Vec::new();
    for row in results.rows.iter().filter(|row| row.case.op == Op::Contains && row.case.is_plain())
    {
        let (Some(expected), Some(measured)) = (row.fpr_expected, row.fpr_measured) else {
            continue;
        };
        let cells = vec![
            row.case.subject().to_owned(),
            row.case.size_name(),
            short_count(row.case.keys),
            human_bytes(row.bytes),
            format!("{:.2}", row.bits_per_key),
            per_cent(expected),
            per_cent(measured),
            difference(measured, expected),
        ];
        if !lines.iter().any(|line| line.cells[..3] == cells[..3]) {
            lines.push(Line { cells, is_rival: row.case.is_of_rival() });
        }
    }
    let header =
        ["filter", "size", "keys", "memory", "bits/key", "FPR expected", "measured", "difference"];
    Table {
        name: "fpr",
        title: "False-positive rates, by the filter's equation and as counted on absent keys"
            .into(),
        header: header.map(Into::into).into(),
        rows: lines,
        words: 2,
    }
}

/// Shows the roofline by size of the working set.
pub(crate) fn roofline(results: &Results) -> Table {
    let lines = results.roofline.iter().map(|point| {
        let mut cells = vec![human_bytes(point.bytes)];
        cells.extend(point.by_access().map(|(_, speed)| figure(speed)));
        cells.push(point.two_best()[0].to_string());
        Line { cells, is_rival: false }
    });
    Table {
        name: "roofline",
        title: "Random 64-byte cache lines read by one core, M/s".into(),
        header: ["working set", "no prefetch", "T0", "T1", "NTA", "best"].map(Into::into).into(),
        rows: lines.collect(),
        words: 1,
    }
}

/// Describes the machine and the build.
pub(crate) fn environment(results: &Results) -> Table {
    let fact =
        |name: &str, value: &str| Line { cells: vec![name.into(), value.into()], is_rival: false };
    let mut lines: Vec<Line> =
        results.environment.facts.iter().map(|line| fact(&line.name, &line.value)).collect();
    if let Some(noise) = &results.noise {
        lines.push(fact("noise before", &noise.describe()));
        lines.push(fact("noise meanwhile", &results.timed.describe()));
    }
    Table {
        name: "environment",
        title: "Machine and build".into(),
        header: ["what", "value"].map(Into::into).into(),
        rows: lines,
        words: 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn results() -> Results {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("split-block-bloom", "12-bit", None, 1.0));
        results.put(example("split-block-bloom", "12-bit", Some("sbbf-rs-safe"), 3.0));
        results.put(example("bloom", "fpr-1%", None, 4.0));
        results.put(example("bloom", "12-bit", Some("fastbloom"), 9.0));
        results.put(example("bloom", "fpr-1%", Some("fastbloom"), 10.0));
        results
    }

    #[test]
    fn a_filter_is_compared_with_the_rival_of_its_family_at_its_own_sizing() {
        let results = results();
        assert_eq!(ratio(&results.rows[0], &results.rows), Some(3.0));
        assert_eq!(ratio(&results.rows[2], &results.rows), Some(2.5));
        assert_eq!(ratio(&results.rows[1], &results.rows), None);
    }

    #[test]
    fn every_table_has_a_known_name_and_lines_of_equal_length() {
        for table in all(&results()) {
            assert!(NAMES.contains(&table.name), "{}", table.name);
            assert!(
                table.rows.iter().all(|line| line.cells.len() == table.header.len()),
                "{}",
                table.name
            );
            assert!(!table.to_terminal().is_empty());
        }
    }
}
