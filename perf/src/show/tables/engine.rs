//! The tables of the engine: speeds by filter and threads, overhead, and choices of strategies.

use crate::base::format::{distinct, figure, human_bytes, short_count};
use crate::base::table::{Line, Table};
use crate::model::{Api, Case, Op, Row, Workload, summary_of_choices};
use crate::store::results::Results;

pub(super) fn all(results: &Results) -> [Table; 3] {
    [rows(results), overhead(results), strategy_choices(results)]
}

/// The operations that are shown in columns. Each has a name, and the `op` and `workload` of its rows.
const TASKS: [Task; 4] = [
    ("build", Op::Build, None),
    ("insert", Op::Insert, None),
    ("hit", Op::Contains, Some(Workload::Hit)),
    ("miss", Op::Contains, Some(Workload::Miss)),
];

type Task = (&'static str, Op, Option<Workload>);

/// Returns the rival's row with which a row of ours is compared. Both rows were measured on the same number of threads,
/// in the same rounds.
pub(crate) fn rival_on_threads<'a>(row: &Row, rows: &'a [Row]) -> Option<&'a Row> {
    let ours = &row.case;
    if ours.is_of_rival() || !ours.is_of_engine() {
        return None;
    }
    let size = |case: &Case| (case.sizing, case.input.clone(), case.is_shared);
    rows.iter().find(|other| {
        let other = &other.case;
        other.is_of_rival()
            && other.is_of_engine()
            && (&other.filter, other.threads) == (&ours.filter, ours.threads)
            && (other.op, other.workload, other.keys) == (ours.op, ours.workload, ours.keys)
            && size(other) == size(ours)
    })
}

/// Returns the subject, size, keys, api and threads of a row. Rows for which these are equal share a line.
fn line_of(row: &Row) -> (String, String, u64, Api, u32) {
    let case = &row.case;
    (case.subject().to_owned(), case.size_name(), case.keys, case.calls.api, case.threads)
}

fn rows(results: &Results) -> Table {
    let of_engine: Vec<&Row> = results
        .rows
        .iter()
        .filter(|row| row.case.is_of_engine() && !row.case.is_skewed())
        .collect();
    let mut header: Vec<String> =
        ["filter", "size", "keys", "api", "threads"].map(Into::into).into();
    for (name, ..) in TASKS {
        header.extend([format!("{name}, M/s and × rival"), "speed-up".into()]);
    }
    let lines = distinct(of_engine.iter().map(|row| line_of(row))).into_iter().map(|key| {
        let of_line: Vec<&&Row> = of_engine.iter().filter(|row| line_of(row) == key).collect();
        let (subject, size, keys, api, threads) = key;
        let mut cells =
            vec![subject, size, short_count(keys), api.to_string(), threads.to_string()];
        for (_, op, workload) in TASKS {
            let is_of_task = |row: &&&&Row| (row.case.op, row.case.workload) == (op, workload);
            let row = of_line.iter().find(is_of_task);
            cells.extend(row.map_or_else(Default::default, |row| speeds(row, &results.rows)));
        }
        Line { cells, is_rival: of_line.iter().any(|row| row.case.is_of_rival()) }
    });
    Table {
        name: "engine",
        title: "On several threads, wall-clock time: M ops/s, × the rival on as many threads in the same \
                rounds, and the speed-up over one thread"
            .into(),
        header,
        rows: lines.collect(),
        words: 4,
    }
}

/// Returns two cells: the speed with its ratio to the rival's, and the speed-up over one thread.
fn speeds(row: &Row, rows: &[Row]) -> [String; 2] {
    let mut speed = figure(row.mops);
    if let Some(rival) = rival_on_threads(row, rows) {
        speed.push_str(&format!(" ×{:.1}", rival.ns_per_op / row.ns_per_op));
    }
    [speed, row.speedup.map_or_else(String::new, |times| format!("{times:.2}"))]
}

/// Shows the time of the engine divided by the time of a batch call of the filter itself. The ratio should never be
/// much above 1.
fn overhead(results: &Results) -> Table {
    let of_engine: Vec<&Row> = results.rows.iter().filter(|row| row.case.is_of_engine()).collect();
    let by_engine = || of_engine.iter().filter(|row| row.case.calls.api == Api::Engine);
    let tasks = || TASKS.into_iter().chain([("zipf", Op::Contains, Some(Workload::Zipf))]);
    let words = ["filter", "size", "keys", "threads"].into_iter();
    let header = words.chain(tasks().map(|(name, ..)| name)).map(Into::into).collect();
    let lines = distinct(by_engine().map(|row| line_of(row))).into_iter().map(|key| {
        let of_line: Vec<&&Row> = by_engine().filter(|row| line_of(row) == key).collect();
        let over_batch = |(_, op, workload): Task| {
            let is_of_task = |row: &&Row| (row.case.op, row.case.workload) == (op, workload);
            let row = of_line.iter().find(|row| is_of_task(row))?;
            let batch = of_engine.iter().find(|other| {
                other.case.calls.api == Api::Batch
                    && (&other.case.filter, other.case.size_name())
                        == (&row.case.filter, row.case.size_name())
                    && other.case.keys == row.case.keys
                    && is_of_task(other)
            })?;
            Some(format!("{:.2}", row.ns_per_op / batch.ns_per_op))
        };
        let cells = tasks().map(|task| over_batch(task).unwrap_or_default());
        let (subject, size, keys, _, threads) = key;
        let words = [subject, size, short_count(keys), threads.to_string()];
        Line { cells: words.into_iter().chain(cells).collect(), is_rival: false }
    });
    Table {
        name: "engine-overhead",
        title: "The engine's time divided by that of the filter's own batch on one thread, in the same rounds, \
                also with sorted, equal and skewed keys"
            .into(),
        header,
        rows: lines.collect(),
        words: 3,
    }
}

/// Shows the times of both strategies of the engine, and the strategy that the cost model picks.
fn strategy_choices(results: &Results) -> Table {
    let mut lines: Vec<Line> = results
        .strategies
        .iter()
        .map(|choice| Line {
            cells: vec![
                human_bytes(choice.bytes),
                choice.op.clone(),
                choice.picked.clone(),
                format!("{}", choice.keys_per_line),
                choice.threads.to_string(),
                figure(choice.direct_ns),
                figure(choice.partitioned_ns),
                format!("{:.0} %", choice.over_best() * 100.0),
            ],
            is_rival: false,
        })
        .collect();
    let header = [
        "size",
        "op",
        "picked",
        "keys/line",
        "threads",
        "direct, ns",
        "partitioned, ns",
        "over best",
    ];
    if !lines.is_empty() {
        let mut cells = vec![String::new(); header.len()];
        cells[0] = "all".into();
        cells[2] = summary_of_choices(&results.strategies);
        lines.push(Line { cells, is_rival: false });
    }
    Table {
        name: "engine-strategies",
        title:
            "Both strategies of the engine on a split-block filter, and which one the cost model picks"
                .into(),
        header: header.map(Into::into).into(),
        rows: lines,
        words: 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;
    use crate::model::example_choice as choice;

    /// Returns a row of an engine group (cases that are timed interleaved).
    fn row(filter: &str, variant: &str, api: Api, threads: u32, ns_per_op: f64) -> Row {
        let rival = matches!(api, Api::Single | Api::Sharded).then_some("sbbf-rs-safe");
        let speedup = (api != Api::Batch).then_some(1.5);
        let row = Row { speedup, ..example(filter, variant, rival, ns_per_op) };
        row.with(|case| (case.calls.api, case.threads) = (api, threads))
    }

    fn results() -> Results {
        let mut results = Results::new(Environment::observe(None));
        let (ours, rival) = ("12-bit+wall", "as-register-bloom-12-bit+wall");
        results.put(row("register-bloom", ours, Api::Batch, 1, 2.0));
        results.put(row("register-bloom", ours, Api::Engine, 2, 1.0));
        results.put(row("register-bloom", rival, Api::Single, 1, 12.0));
        results.put(row("register-bloom", rival, Api::Sharded, 2, 4.0));
        // This row belongs to another filter's group, so no row of ours is compared with it.
        results.put(row("split-block-bloom", ours, Api::Sharded, 2, 100.0));
        results.strategies = vec![choice("insert", "direct"), choice("contains", "partitioned")];
        results
    }

    #[test]
    fn ours_is_compared_with_the_rival_on_the_same_number_of_threads() {
        let [rows, ..] = all(&results());
        assert_eq!(rows.rows.len(), 5);
        assert_eq!(rows.header.len(), 13);
        let cells: Vec<&[String]> = rows.rows.iter().map(|line| &line.cells[11..]).collect();
        assert_eq!(cells[0], ["500 ×6.0", ""]);
        assert_eq!(cells[1], ["1000 ×4.0", "1.50"]);
        assert_eq!(cells[2], ["83.3", "1.50"]);
        assert!(rows.rows[2].is_rival && !rows.rows[1].is_rival);
    }

    #[test]
    fn the_engine_is_compared_with_the_batch_of_the_same_filter() {
        let mut results = results();
        results.put(row("register-bloom", "12-bit-sorted+wall", Api::Batch, 1, 4.0));
        results.put(row("register-bloom", "12-bit-sorted+wall", Api::Engine, 1, 4.2));
        let [rows, overhead, _] = all(&results);
        let last = |line: &Line| line.cells[3..].join(" ");
        assert_eq!(overhead.header.len(), 9);
        assert_eq!(
            overhead.rows.iter().map(last).collect::<Vec<_>>(),
            ["2    0.50 ", "1    1.05 "]
        );
        assert!(rows.rows.iter().all(|line| !line.cells[1].ends_with("sorted")));
    }

    #[test]
    fn the_table_of_strategies_ends_with_a_summary_of_the_picks() {
        let [.., choices] = all(&results());
        assert_eq!(choices.rows.len(), 3);
        assert_eq!(choices.rows[1].cells[7], "50 %");
        assert!(choices.to_markdown().contains("picked within 10 % of the best in 1 of 2"));
    }

    #[test]
    fn of_the_other_tables_only_the_goals_show_rows_of_the_engine() {
        let names: Vec<&str> = super::super::all(&results())
            .iter()
            .filter(|table| table.name != "environment")
            .map(|table| table.name)
            .collect();
        assert_eq!(names, ["engine", "engine-overhead", "engine-strategies", "goals"]);
    }
}
