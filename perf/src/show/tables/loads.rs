//! The tables of the sweep over loads: a line per filter and load, a column per operation.

use super::difference;
use super::with_isa;
use crate::analyse::rival::ratio;
use crate::base::format::{distinct, figure, human_bytes, per_cent};
use crate::base::table::{Line, Table};
use crate::model::{Api, Filling, Op, Row, Workload, short_slots};
use crate::store::results::Results;

/// A column of throughputs.
struct Column {
    title: &'static str,
    op: Op,
    workload: Option<Workload>,
    /// The api of our rows.
    api: Api,
    /// Whether rows of rivals must have this api too. If not, rows of rivals are shown whatever their api is, because a
    /// rival is measured with only one api per operation. If a table has several columns for an operation, one per api,
    /// these columns are strict, so that a row of a rival is shown in only one of them.
    is_strict: bool,
    /// Whether a column with the fraction of the roofline follows.
    has_roofline: bool,
}

impl Column {
    const fn lookup(title: &'static str, workload: Workload, api: Api) -> Self {
        let workload = Some(workload);
        Self { title, op: Op::Contains, workload, api, is_strict: false, has_roofline: true }
    }

    const fn change(title: &'static str, op: Op, api: Api) -> Self {
        Self { title, op, workload: None, api, is_strict: true, has_roofline: false }
    }

    const fn bulk(title: &'static str, op: Op) -> Self {
        Self { title, op, workload: None, api: Api::Batch, is_strict: false, has_roofline: false }
    }

    fn holds(&self, row: &Row) -> bool {
        let case = &row.case;
        (case.op, case.workload) == (self.op, self.workload)
            && (case.calls.api == self.api || (case.is_of_rival() && !self.is_strict))
    }
}

/// Returns the columns of a table of lookups through `api`.
const fn lookups(api: Api) -> [Column; 3] {
    [
        Column::lookup("hit", Workload::Hit, api),
        Column::lookup("miss", Workload::Miss, api),
        Column::lookup("mixed", Workload::Mixed, api),
    ]
}

/// Returns the tables of the sweep.
pub(super) fn all(results: &Results) -> Vec<Table> {
    vec![
        throughput(results, "load-lookups", "Lookups by load, batches", &lookups(Api::Batch)),
        throughput(
            results,
            "load-single-lookups",
            "Lookups by load, one call per key",
            &lookups(Api::Single),
        ),
        throughput(
            results,
            "load-changes",
            "Inserts of a band of keys that ends at a load or just below it, and removals of the same keys",
            &[
                Column::change("insert, batch", Op::Insert, Api::Batch),
                Column::change("insert, single", Op::Insert, Api::Single),
                Column::change("remove", Op::Remove, Api::Single),
            ],
        ),
        throughput(
            results,
            "load-bulk",
            "Builds up to a load, merges of two halves and enumerations; M/s counts the result's fingerprints",
            &[
                Column::bulk("build", Op::Build),
                Column::bulk("merge", Op::Merge),
                Column::bulk("enumerate", Op::Enumerate),
            ],
        ),
        rates(results),
    ]
}

/// Returns the key by which lines are sorted: family, size, load. Lines with equal sort keys stay in the order
/// of measurement.
fn sort_key(filling: &Filling) -> impl Ord + use<> {
    (filling.family, filling.slots, filling.load)
}

/// Returns the rows of the sweep, sorted by [`sort_key`], each with its [`Filling`].
pub(super) fn swept(results: &Results) -> Vec<(Filling, &Row)> {
    let mut rows: Vec<(Filling, &Row)> =
        results.rows.iter().filter_map(|row| Some((row.case.filling()?, row))).collect();
    rows.sort_by_key(|(filling, _)| sort_key(filling));
    rows
}

/// Returns the leading cells of a line, which identify it.
fn head(filling: &Filling, subject: String) -> [String; 4] {
    let width = format!("{}{}", filling.family.letter(), filling.bits);
    [short_slots(filling.slots), format!("{} %", filling.load), subject, width]
}

pub(super) fn head_of(filling: &Filling, row: &Row) -> [String; 4] {
    head(filling, with_isa(row.case.subject(), row.case.kernels))
}

pub(super) const HEAD: [&str; 4] = ["slots", "load", "filter", "width"];

/// Returns a line for each load that a filter did not reach because it was full. The cell after the line's head shows
/// the load at which the filter was full.
fn shortfalls(results: &Results, columns: usize) -> Vec<(Filling, Line)> {
    let lines = results.shortfalls.iter().filter_map(|shortfall| {
        let filling = shortfall.case.filling()?;
        let subject = with_isa(shortfall.case.subject(), shortfall.case.kernels);
        let mut cells: Vec<String> = head(&filling, subject).into();
        cells.push(format!("full at {:.1} %", shortfall.load_reached * 100.0));
        cells.resize(columns, String::new());
        Some((filling, Line { cells, is_rival: shortfall.case.is_of_rival() }))
    });
    lines.collect()
}

/// Joins and sorts `lines`, which have measured figures, and `short`, the lines of [`shortfalls`]. Among the lines of
/// one family, size and load, those of `short` come last. If `lines` is empty, `short` is left out too.
fn in_order(mut lines: Vec<(Filling, Line)>, short: Vec<(Filling, Line)>) -> Vec<Line> {
    if lines.is_empty() {
        return Vec::new();
    }
    lines.extend(short);
    lines.sort_by_key(|(filling, _)| sort_key(filling));
    lines.into_iter().map(|(_, line)| line).collect()
}

fn throughput(results: &Results, name: &'static str, title: &str, columns: &[Column]) -> Table {
    let rows: Vec<(Filling, &Row)> = swept(results)
        .into_iter()
        .filter(|(_, row)| columns.iter().any(|column| column.holds(row)))
        .collect();
    let mut header: Vec<String> = HEAD.map(Into::into).into();
    for column in columns {
        header.extend([format!("{}, M/s", column.title), "× rival".into()]);
        if column.has_roofline {
            header.push("of roofline".into());
        }
    }
    let heads = distinct(rows.iter().map(|(filling, row)| (*filling, head_of(filling, row))));
    let short = shortfalls(results, header.len());
    let lines = heads.into_iter().map(|(of_filling, of_line)| {
        let line: Vec<&Row> = rows
            .iter()
            .filter(|(filling, row)| head_of(filling, row) == of_line)
            .map(|(_, row)| *row)
            .collect();
        let mut cells: Vec<String> = of_line.into();
        for column in columns {
            let row = line.iter().find(|row| column.holds(row)).copied();
            cells.push(row.map_or_else(String::new, |row| {
                let deviation = row.mad / row.ns_per_op * 100.0;
                format!("{} ±{deviation:.0} %", figure(row.mops))
            }));
            let ratio = row.and_then(|row| ratio(row, &results.rows));
            cells.push(ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")));
            if column.has_roofline {
                let share = row.and_then(|row| row.roofline_fraction);
                cells.push(share.map_or_else(String::new, |share| format!("{share:.2}")));
            }
        }
        (of_filling, Line { cells, is_rival: line.iter().any(|row| row.case.is_of_rival()) })
    });
    let rows = in_order(lines.collect(), short);
    Table { name, title: title.into(), header, rows, words: HEAD.len() }
}

/// Shows memory and false-positive rates.
fn rates(results: &Results) -> Table {
    let mut lines: Vec<Line> = Vec::new();
    for (filling, row) in swept(results) {
        let (Some(expected), Some(measured)) = (row.fpr_expected, row.fpr_measured) else {
            continue;
        };
        let mut cells: Vec<String> = head_of(&filling, row).into();
        if lines.iter().any(|line| line.cells[..HEAD.len()] == cells) {
            continue;
        }
        cells.extend([
            human_bytes(row.bytes),
            format!("{:.2}", row.bits_per_key),
            per_cent(expected),
            per_cent(measured),
            difference(measured, expected),
        ]);
        lines.push(Line { cells, is_rival: row.case.is_of_rival() });
    }
    let figures = ["memory", "bits/key", "FPR expected", "measured", "difference"];
    Table {
        name: "load-fpr",
        title: "Memory and false-positive rates by load".into(),
        header: HEAD.into_iter().chain(figures).map(Into::into).collect(),
        rows: lines,
        words: HEAD.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::{Shortfall, example};

    #[test]
    fn lines_are_sorted_by_size_and_load_and_compared_with_their_rival() {
        let mut results = Results::new(Environment::observe(None));
        for variant in ["r8-95%-of-16Mi", "r8-95%-of-1Mi", "r8-75%-of-1Mi", "r8-75%-of-1Mi+avx2"] {
            let keys = variant.parse::<Filling>().map_or(786_432, |filling| filling.keys() as u64);
            results.put(
                example("cache-line-quotient", variant, None, 2.0).with(|case| case.keys = keys),
            );
        }
        let keys = 786_432;
        results.put(
            example("quotient", "r8-75%-of-1Mi", Some("qfilter"), 20.0)
                .with(|case| case.keys = keys),
        );
        let table = &all(&results)[0];
        let heads: Vec<String> = table.rows.iter().map(|line| line.cells[..4].join(" ")).collect();
        assert_eq!(
            heads,
            [
                "1Mi 75 % cache-line-quotient r8",
                "1Mi 75 % cache-line-quotient+avx2 r8",
                "1Mi 75 % qfilter r8",
                "1Mi 95 % cache-line-quotient r8",
                "16Mi 95 % cache-line-quotient r8",
            ]
        );
        let ratios: Vec<&str> = table.rows.iter().map(|line| &*line.cells[8]).collect();
        assert_eq!(ratios, ["10.00", "10.00", "", "", ""]);
    }

    #[test]
    fn a_filter_is_compared_with_the_fastest_rival_of_its_family_width_and_load() {
        let mut results = Results::new(Environment::observe(None));
        let keys = 996_147;
        let mut put = |filter: &str, variant: &str, rival, ns| {
            results.put(example(filter, variant, rival, ns).with(|case| case.keys = keys));
        };
        put("quotient", "r8-95%-of-1Mi", None, 2.0);
        put("quotient", "r8-95%-of-1Mi", Some("qfilter"), 5.0);
        put("cuckoo", "f8-95%-of-1Mi", None, 2.0);
        put("cuckoo", "f12-95%-of-1Mi", None, 2.0);
        put("cuckoo", "f8-95%-of-1Mi", Some("cuckoofilter"), 30.0);
        put("cuckoo", "f8-95%-of-1Mi", Some("subms-cuckoo-filter"), 20.0);
        put("cuckoo", "f16-95%-of-1Mi", Some("atomic-cuckoo-filter"), 4.0);
        let table = &all(&results)[0];
        let lines: Vec<[&str; 3]> = table
            .rows
            .iter()
            .map(|line| [&*line.cells[2], &*line.cells[3], &*line.cells[8]])
            .collect();
        assert_eq!(
            lines,
            [
                ["quotient", "r8", "2.50"],
                ["qfilter", "r8", ""],
                ["cuckoo", "f8", "10.00"],
                ["cuckoo", "f12", ""],
                ["cuckoofilter", "f8", ""],
                ["subms-cuckoo-filter", "f8", ""],
                ["atomic-cuckoo-filter", "f16", ""],
            ]
        );
    }

    #[test]
    fn a_filter_that_was_full_before_a_load_has_a_line_with_the_load_it_reached() {
        let mut results = Results::new(Environment::observe(None));
        for load in [90, 95] {
            let variant = format!("f8-{load}%-of-1Mi");
            results.put(example("cuckoo", &variant, Some("cuckoofilter"), 20.0));
        }
        let full = example("cuckoo", "f8-90%-of-1Mi", Some("atomic-cuckoo-filter"), 20.0).case;
        results.shortfalls.push(Shortfall { case: full.clone(), load_reached: 0.8912 });
        let table = &all(&results)[0];
        let short = &table.rows[1].cells;
        assert_eq!(short[1..5], ["90 %", "atomic-cuckoo-filter", "f8", "full at 89.1 %"]);
        assert!(table.rows.iter().all(|line| line.cells.len() == table.header.len()));
        assert!(results.falls_short(&full));
    }
}
