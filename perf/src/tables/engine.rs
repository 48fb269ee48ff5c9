//! The tables of the engine: speeds by filter and threads, overhead, and choices of strategies.

use super::{Line, Table, distinct, figure, short_count};
use crate::engine::{Input, strategies};
use crate::environment::human_bytes;
use crate::results::Results;
use crate::row::Row;

pub(super) fn all(results: &Results) -> [Table; 3] {
    [rows(results), overhead(results), strategy_choices(results)]
}

/// The operations that are shown in columns: for each, its name, and the op and the workload of its rows.
const TASKS: [(&str, &str, Option<&str>); 4] = [
    ("build", "build", None),
    ("insert", "insert", None),
    ("hit", "contains", Some("hit")),
    ("miss", "contains", Some("miss")),
];

/// Returns the rival's row with which a row of ours is compared: on the same number of threads, in the same rounds.
pub(crate) fn rival_on_threads<'a>(row: &Row, rows: &'a [Row]) -> Option<&'a Row> {
    if row.rival.is_some() || !row.is_of_engine() {
        return None;
    }
    let prefix = format!("as-{}-", row.filter);
    rows.iter().find(|other| {
        other.rival.is_some()
            && other.is_of_engine()
            && (&other.filter, other.threads) == (&row.filter, row.threads)
            && (&other.op, &other.workload, other.keys) == (&row.op, &row.workload, row.keys)
            && other.sizing().strip_prefix(&prefix).unwrap_or(other.sizing()) == row.sizing()
    })
}

/// Returns the subject, size, keys, api and threads of a row. Rows for which these are equal share a line.
fn line_of(row: &Row) -> (String, String, u64, String, u32) {
    let subject = row.rival.as_ref().unwrap_or(&row.filter).clone();
    (subject, row.sizing().to_owned(), row.keys, row.api.clone(), row.threads)
}

fn rows(results: &Results) -> Table {
    let of_engine: Vec<&Row> =
        results.rows.iter().filter(|row| row.is_of_engine() && !Input::is_skewed(row)).collect();
    let mut header: Vec<String> =
        ["filter", "size", "keys", "api", "threads"].map(Into::into).into();
    for (name, ..) in TASKS {
        header.extend([format!("{name}, M/s × rival"), "speed-up".into()]);
    }
    let lines = distinct(of_engine.iter().map(|row| line_of(row))).into_iter().map(|key| {
        let of_line: Vec<&&Row> = of_engine.iter().filter(|row| line_of(row) == key).collect();
        let (subject, size, keys, api, threads) = key;
        let mut cells = vec![subject, size, short_count(keys), api, threads.to_string()];
        for (_, op, workload) in TASKS {
            let is_of_task = |row: &&&&Row| row.op == op && row.workload.as_deref() == workload;
            let row = of_line.iter().find(is_of_task);
            cells.extend(row.map_or_else(Default::default, |row| speeds(row, &results.rows)));
        }
        Line { cells, is_rival: of_line.iter().any(|row| row.rival.is_some()) }
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

/// Shows the engine's time divided by that of the filter's own batch. The ratio should never be much above 1.
fn overhead(results: &Results) -> Table {
    let of_engine: Vec<&Row> = results.rows.iter().filter(|row| row.is_of_engine()).collect();
    let by_engine = || of_engine.iter().filter(|row| row.api == "engine");
    let tasks = || TASKS.into_iter().chain([("zipf", "contains", Some("zipf"))]);
    let words = ["filter", "size", "keys", "threads"].into_iter();
    let header = words.chain(tasks().map(|(name, ..)| name)).map(Into::into).collect();
    let lines = distinct(by_engine().map(|row| line_of(row))).into_iter().map(|key| {
        let of_line: Vec<&&Row> = by_engine().filter(|row| line_of(row) == key).collect();
        let over_batch = |(_, op, workload): (&str, &str, Option<&str>)| {
            let is_of_task = |row: &&Row| row.op == op && row.workload.as_deref() == workload;
            let row = of_line.iter().find(|row| is_of_task(row))?;
            let batch = of_engine.iter().find(|other| {
                other.api == "batch"
                    && (&other.filter, other.sizing()) == (&row.filter, row.sizing())
                    && other.keys == row.keys
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
        title: "The engine's time over that of the filter's own batch on one thread, in the same rounds, \
                also with sorted, equal and skewed keys"
            .into(),
        header,
        rows: lines.collect(),
        words: 3,
    }
}

/// Shows the time of both strategies, and the strategy that the cost model picks.
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
        cells[2] = strategies::summary(&results.strategies);
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
    use crate::engine::strategies::tests::example as choice;
    use crate::environment::Environment;
    use crate::row::tests::example;

    /// Returns a row of the engine's groups.
    fn row(filter: &str, variant: &str, api: &str, threads: u32, ns_per_op: f64) -> Row {
        let rival = matches!(api, "single" | "sharded").then_some("sbbf-rs-safe");
        let speedup = (api != "batch").then_some(1.5);
        Row { api: api.into(), threads, speedup, ..example(filter, variant, rival, ns_per_op) }
    }

    fn results() -> Results {
        let mut results = Results::new(Environment::observe(None));
        let (ours, rival) = ("12-bit+wall", "as-register-bloom-12-bit+wall");
        results.put(row("register-bloom", ours, "batch", 1, 2.0));
        results.put(row("register-bloom", ours, "engine", 2, 1.0));
        results.put(row("register-bloom", rival, "single", 1, 12.0));
        results.put(row("register-bloom", rival, "sharded", 2, 4.0));
        // This row belongs to another filter's group.
        results.put(row("split-block-bloom", ours, "sharded", 2, 100.0));
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
        results.put(row("register-bloom", "12-bit-sorted+wall", "batch", 1, 4.0));
        results.put(row("register-bloom", "12-bit-sorted+wall", "engine", 1, 4.2));
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
    fn no_other_table_shows_rows_of_the_engine() {
        let names: Vec<&str> = super::super::all(&results())
            .iter()
            .filter(|table| table.name != "environment")
            .map(|table| table.name)
            .collect();
        assert_eq!(names, ["engine", "engine-overhead", "engine-strategies"]);
    }
}
