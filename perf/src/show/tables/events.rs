//! Tables of event counts: instructions and cache misses per operation.

use super::{label, loads};
use crate::base::format::{distinct, figure, short_count};
use crate::base::table::{Line, Table};
use crate::model::{Api, Op, Row, Workload};
use crate::store::results::Results;

/// The operations that are shown in columns. Each has a name, and the `op` and `workload` of its rows.
const OPERATIONS: [Operation; 3] = [
    ("hit", Op::Contains, Some(Workload::Hit)),
    ("miss", Op::Contains, Some(Workload::Miss)),
    ("insert", Op::Insert, None),
];

type Operation = (&'static str, Op, Option<Workload>);

type Figure = (&'static str, fn(&Row) -> Option<f64>);

/// The events that are shown for each operation.
const EVENTS: [Figure; 3] = [
    ("instructions", |row| row.instructions_per_op),
    ("L1d misses", |row| row.l1d_misses_per_op),
    ("cache misses", |row| row.cache_misses_per_op),
];

pub(super) fn all(results: &Results) -> [Table; 2] {
    let is_counted = |row: &Row| row.instructions_per_op.is_some();
    let counted = results.rows.iter().filter(|row| is_counted(row));
    let sources = distinct(counted.clone().map(|row| &*row.counters)).join(" and ");
    let mut plain: Vec<&Row> = counted.filter(|row| row.case.is_plain()).collect();
    plain.sort_by_key(|row| row.case.keys);
    let plain = plain.into_iter().map(|row| ([short_count(row.case.keys), label(row)], row));
    let swept = loads::swept(results).into_iter().filter(|(_, row)| is_counted(row));
    let title = |start: &str| format!("{start}, in batches, {sources}");
    [
        table("events", title("Events per key"), ["keys", "filter and size"], plain),
        table(
            "load-events",
            title("Events per key by load"),
            loads::HEAD,
            swept.map(|(filling, row)| (loads::head_of(&filling, row), row)),
        ),
    ]
}

/// Creates a table with a line for each distinct head, in the order of the rows. A head is the leading cells of a
/// line; `words` are the names of their columns.
fn table<'a, const WORDS: usize>(
    name: &'static str,
    title: String,
    words: [&str; WORDS],
    rows: impl Iterator<Item = ([String; WORDS], &'a Row)>,
) -> Table {
    let rows: Vec<_> =
        rows.filter(|(_, row)| OPERATIONS.iter().any(|operation| is_of(row, operation))).collect();
    let mut header: Vec<String> = words.map(Into::into).into();
    for (operation, ..) in OPERATIONS {
        header.extend(EVENTS.map(|(event, _)| format!("{operation}: {event}")));
    }
    let lines =
        distinct(rows.iter().map(|(head, _)| head)).into_iter().map(|head| {
            let of_line: Vec<&Row> =
                rows.iter().filter(|(other, _)| other == head).map(|(_, row)| *row).collect();
            let mut cells = head.to_vec();
            for operation in &OPERATIONS {
                let row = of_line.iter().find(|row| is_of(row, operation));
                cells.extend(EVENTS.map(|(_, event)| {
                    row.and_then(|row| event(row)).map_or_else(String::new, figure)
                }));
            }
            Line { cells, is_rival: of_line.iter().any(|row| row.case.is_of_rival()) }
        });
    let lines = lines.collect();
    Table { name, title, header, rows: lines, words: WORDS }
}

/// Whether a row belongs in the columns of an operation. Rows of ours must be batches; rows of rivals can have any api.
fn is_of(row: &Row, (_, op, workload): &Operation) -> bool {
    (row.case.op, row.case.workload) == (*op, *workload)
        && (row.case.calls.api == Api::Batch || row.case.is_of_rival())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::{Counts, Event, example};

    fn counted(mut row: Row, instructions: f64) -> Row {
        let mut counts = Counts::default();
        counts.set(Event::Instructions, instructions);
        counts.set(Event::L1dReadMisses, 0.25);
        row.put_counts(&counts, "simulated");
        row
    }

    #[test]
    fn events_that_were_not_counted_have_blank_cells() {
        let mut results = Results::new(Environment::observe(None));
        results.put(counted(example("bloom", "12-bit", None, 2.0), 30.0));
        results.put(counted(example("bloom", "12-bit", Some("fastbloom"), 2.0), 90.0));
        results.put(example("register-bloom", "12-bit", None, 2.0));
        for load in [95, 75] {
            let row = example("quotient", &format!("r8-{load}%-of-1Mi"), None, 2.0);
            results.put(counted(row, f64::from(load)));
        }
        let [events, by_load] = all(&results);
        assert!(events.title.ends_with("simulated"));
        let cells: Vec<String> = events.rows.iter().map(|line| line.cells.join("|")).collect();
        assert_eq!(
            cells,
            ["1e6|bloom 12-bit||||30.0|0.25||||", "1e6|fastbloom 12-bit||||90.0|0.25||||"]
        );
        assert_eq!([false, true], [0, 1].map(|line: usize| events.rows[line].is_rival));
        let cells: Vec<String> = by_load.rows.iter().map(|line| line.cells.join("|")).collect();
        assert_eq!(
            cells,
            ["1Mi|75 %|quotient|r8||||75.0|0.25||||", "1Mi|95 %|quotient|r8||||95.0|0.25||||"]
        );
        assert!(events.rows.iter().all(|line| line.cells.len() == events.header.len()));
    }
}
