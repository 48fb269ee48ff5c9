//! The tables of the matrix. The matrix varies properties that influence the speed of lookups, besides the kind of
//! filter, the number of keys and the workload.

use crate::analyse::rival::{ratio, rival_of};
use crate::base::format::{distinct, figure, human_bytes, per_cent, short_count};
use crate::base::table::{Line, Table};
use crate::measure::plan::BATCH_SIZES;
use crate::model::{Api, Calls, Form, Level, Matrix, Row, Workload};
use crate::store::results::Results;

pub(super) fn all(results: &Results) -> [Table; 6] {
    [
        batch_sizes(results),
        columns(results),
        bits(results),
        regimes(results),
        pages(results),
        small_filters(results),
    ]
}

/// Returns the rows of the parts of the matrix that `is_part` chooses.
fn rows_of(results: &Results, is_part: impl Fn(Matrix) -> bool) -> Vec<&Row> {
    results.rows.iter().filter(|row| row.case.matrix.is_some_and(&is_part)).collect()
}

/// The subject, size, keys and workload of a row. Rows for which these are equal share a line.
type LineKey = (String, String, u64, Option<Workload>);

fn line_of(row: &Row) -> LineKey {
    let case = &row.case;
    (case.subject().to_owned(), case.size_name(), case.keys, case.workload)
}

/// Formats the workload of a line.
fn probes(workload: Option<Workload>) -> String {
    workload.map_or_else(String::new, |workload| workload.to_string())
}

/// Creates a line for each distinct result of [`line_of`]. `cells` makes the further cells of a line from its rows.
fn lines(rows: &[&Row], cells: impl Fn(&[&Row]) -> Vec<String>) -> Vec<Line> {
    let of_line = |key: LineKey| {
        let of_line: Vec<&Row> = rows.iter().filter(|row| line_of(row) == key).copied().collect();
        let mut all = vec![key.0, key.1, probes(key.3), short_count(key.2)];
        all.extend(cells(&of_line));
        Line { cells: all, is_rival: of_line.iter().any(|row| row.case.is_of_rival()) }
    };
    distinct(rows.iter().map(|row| line_of(row))).into_iter().map(of_line).collect()
}

/// Creates a table whose first columns are those of [`line_of`].
fn table(
    name: &'static str,
    title: &str,
    columns: impl IntoIterator<Item = String>,
    rows: Vec<Line>,
) -> Table {
    let mut header: Vec<String> = ["filter", "size", "probes", "keys"].map(Into::into).into();
    header.extend(columns);
    Table { name, title: title.into(), header, rows, words: 3 }
}

fn speed(row: Option<&&Row>) -> String {
    row.map_or_else(String::new, |row| figure(row.mops))
}

fn times_rival(row: Option<&&Row>, results: &Results) -> String {
    let ratio = row.and_then(|row| ratio(row, &results.rows));
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

fn batch_sizes(results: &Results) -> Table {
    let rows = rows_of(results, |matrix| matrix == Matrix::BatchSizes);
    let lines = lines(&rows, |of_line| {
        let single = of_line.iter().find(|row| row.case.calls.api == Api::Single);
        let mut cells = vec![speed(single), times_rival(single, results)];
        cells.extend(BATCH_SIZES.map(|keys| {
            speed(of_line.iter().find(|row| row.case.calls == Calls::batches_of(keys)))
        }));
        cells
    });
    let columns = ["one call per key, M/s".to_owned(), "× rival".into()];
    let columns = columns.into_iter().chain(BATCH_SIZES.map(|keys| format!("{keys} per call")));
    let title = "Lookups by keys per call, M/s. The keys are in the cache";
    table("batch-sizes", title, columns, lines)
}

fn bits(results: &Results) -> Table {
    let rows = rows_of(results, |matrix| matrix == Matrix::Bits);
    let lines = lines(&rows, |of_line| {
        let row = of_line.first();
        let expected = row.and_then(|row| row.fpr_expected);
        let measured = row.and_then(|row| row.fpr_measured);
        let shown = |fpr: Option<f64>| fpr.map_or_else(String::new, per_cent);
        let difference =
            expected.zip(measured).map(|(expected, measured)| measured / expected - 1.0);
        vec![
            row.map_or_else(String::new, |row| format!("{:.2}", row.bits_per_key)),
            shown(expected),
            shown(measured),
            difference.map_or_else(String::new, |share| format!("{:+.1} %", share * 100.0)),
            speed(row),
            times_rival(row, results),
        ]
    });
    let columns = ["bits/key", "FPR expected", "measured", "difference", "M/s", "× rival"];
    table("bits-sweep", "Bloom filters by bits per key", columns.map(Into::into), lines)
}

fn regimes(results: &Results) -> Table {
    let title = "Lookups by the level of memory that holds the filter, batches";
    by_level(results, "regimes", title, Matrix::Regime)
}

fn columns(results: &Results) -> Table {
    let title = "Lookups of a long column of fresh keys in one call, by the level of memory that holds the filter. The \
                 time includes reading the keys";
    by_level(results, "columns", title, Matrix::Column)
}

/// Creates a table with columns for each level of memory that holds the filter. `part` returns the part of the matrix
/// for a level.
fn by_level(
    results: &Results,
    name: &'static str,
    title: &str,
    part: impl Fn(Level) -> Matrix,
) -> Table {
    let is_part = |matrix| Level::ALL.into_iter().any(|level| matrix == part(level));
    let rows = rows_of(results, is_part);
    // The header shows the number of keys, which differs between the levels.
    let keys_in = |level: Level| {
        let row = rows.iter().find(|row| row.case.matrix == Some(part(level)));
        row.map(|row| (level, row.case.keys))
    };
    let levels: Vec<(Level, u64)> = Level::ALL.into_iter().filter_map(keys_in).collect();
    let key = |row: &Row| (row.case.subject().to_owned(), row.case.size_name(), row.case.workload);
    let lines = distinct(rows.iter().map(|row| key(row))).into_iter().map(|line| {
        let of_line: Vec<&Row> = rows.iter().filter(|row| key(row) == line).copied().collect();
        let mut cells = vec![line.0, line.1, probes(line.2)];
        for (level, _) in &levels {
            let row = of_line.iter().find(|row| row.case.matrix == Some(part(*level)));
            cells.extend([
                speed(row),
                times_rival(row, results),
                row.and_then(|row| row.roofline_fraction)
                    .map_or_else(String::new, |share| format!("{share:.2}")),
            ]);
        }
        Line { cells, is_rival: of_line.iter().any(|row| row.case.is_of_rival()) }
    });
    let mut header: Vec<String> = ["filter", "size", "probes"].map(Into::into).into();
    for (level, keys) in &levels {
        let name = format!("{level}, {} keys, M/s", short_count(*keys));
        header.extend([name, "× rival".into(), "of roofline".into()]);
    }
    Table { name, title: title.into(), header, rows: lines.collect(), words: 3 }
}

fn pages(results: &Results) -> Table {
    let rows = rows_of(results, |matrix| matrix == Matrix::Pages);
    let lines = lines(&rows, |of_line| {
        let with_form = |form: Form| of_line.iter().find(|row| row.case.form == form);
        // The row of a rival has the usual form, whatever pages its allocator chooses, so it counts as `huge`.
        let (huge, small) = (with_form(Form::Usual), with_form(Form::SmallPages));
        let gain = huge.zip(small).map(|(huge, small)| small.ns_per_op / huge.ns_per_op);
        vec![
            huge.map_or_else(String::new, |row| human_bytes(row.bytes)),
            speed(huge),
            speed(small),
            gain.map_or_else(String::new, |gain| format!("{gain:.2}")),
            times_rival(huge, results),
        ]
    });
    let columns = ["memory", "huge pages, M/s", "small pages, M/s", "× small", "× rival"];
    let title =
        "Lookups in huge and small pages, batches; the pages of rivals are those of the allocator";
    table("pages", title, columns.map(Into::into), lines)
}

fn small_filters(results: &Results) -> Table {
    let rows = rows_of(results, |matrix| matrix == Matrix::SmallFilters);
    let lines = lines(&rows, |of_line| {
        let with_api = |api: Api| of_line.iter().find(|row| row.case.calls.api == api);
        let (single, batch) = (with_api(Api::Single), with_api(Api::Batch));
        let ns = |row: Option<&&Row>| row.map_or_else(String::new, |row| figure(row.ns_per_op));
        let gain = single.zip(batch).map(|(single, batch)| single.ns_per_op / batch.ns_per_op);
        let ours = batch.or(single).filter(|row| rival_of(row, &results.rows).is_some());
        vec![
            ns(single),
            ns(batch),
            gain.map_or_else(String::new, |gain| format!("{gain:.2}")),
            times_rival(ours, results),
            single.or(batch).and_then(|row| row.fpr_measured).map_or_else(String::new, per_cent),
        ]
    });
    let columns = [
        "one call per filter, ns per probe",
        "batches, ns per probe",
        "× single",
        "× rival",
        "FPR of the ten levels together",
    ];
    let title = "A thousand small filters in ten levels; each probe is looked up in at most one filter per level";
    table("small-filters", title, columns.map(Into::into), lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::{Case, example};

    fn results() -> Results {
        let mut results = Results::new(Environment::observe(None));
        let mut put = |variant: &str, api: Api, rival: Option<&str>, ns: f64| {
            let row = example("split-block-bloom", variant, rival, ns);
            let single = |case: &mut Case| case.calls = Calls::SINGLE;
            results.put(if api == Api::Single { row.with(single) } else { row });
        };
        let rival = Some("sbbf-rs-safe");
        put("12-bit+by-1", Api::Single, None, 4.0);
        put("12-bit+by-1", Api::Batch, None, 8.0);
        put("12-bit+by-64", Api::Batch, None, 1.0);
        put("12-bit+by-1", Api::Single, rival, 10.0);
        put("8-bit+bits", Api::Batch, None, 2.0);
        put("8-bit+bits", Api::Single, rival, 6.0);
        put("12-bit+in-L2", Api::Batch, None, 2.0);
        put("12-bit+column-in-L2", Api::Batch, None, 4.0);
        put("12-bit+huge-pages", Api::Batch, None, 2.0);
        put("12-bit+small-pages", Api::Batch, None, 3.0);
        put("12-bit+own-pages", Api::Single, rival, 12.0);
        put("12-bit+small-filters", Api::Single, None, 100.0);
        put("12-bit+small-filters", Api::Batch, None, 50.0);
        put("12-bit+small-filters", Api::Single, rival, 200.0);
        results
    }

    #[test]
    fn each_table_shows_its_part_of_the_matrix_and_the_rival_there() {
        let results = results();
        let [batches, columns, bits, regimes, pages, small] = all(&results);
        assert_eq!(batches.rows[0].cells[4..], ["250", "2.50", "125", "", "1000", "", "", "", ""]);
        assert!(batches.rows[1].is_rival);
        assert_eq!(bits.rows[0].cells[..2], ["split-block-bloom", "8-bit"]);
        assert_eq!(bits.rows[0].cells[8..], ["500", "3.00"]);
        assert_eq!(regimes.header[3], "L2, 1e6 keys, M/s");
        assert_eq!(regimes.rows[0].cells[3..5], ["500", ""]);
        assert_eq!(columns.rows[0].cells[3..5], ["250", ""]);
        assert_eq!(pages.rows[0].cells[5..], ["500", "333", "1.50", "6.00"]);
        assert_eq!(small.rows[0].cells[4..8], ["100", "50.0", "2.00", "4.00"]);
        for table in [&batches, &columns, &bits, &regimes, &pages, &small] {
            let width = table.header.len();
            assert!(table.rows.iter().all(|line| line.cells.len() == width), "{}", table.name);
        }
    }

    #[test]
    fn no_other_table_shows_rows_of_the_matrix() {
        let results = results();
        let shown = super::super::all(&results);
        let names: Vec<&str> =
            shown.iter().map(|table| table.name).filter(|name| *name != "environment").collect();
        let expected =
            ["batch-sizes", "columns", "bits-sweep", "regimes", "pages", "small-filters"];
        assert_eq!(names, expected);
    }
}
