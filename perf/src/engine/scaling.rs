//! Speed by threads, as plots.

use crate::plots::{self, Series};
use crate::results::Results;
use crate::row::Row;
use crate::tables::short_count;
use anyhow::Result;

/// A plot: the name of its file, and its SVG text.
pub(crate) type Plot = (&'static str, String);

type Task = (&'static str, &'static str, fn(&Row) -> bool);

const TASKS: [Task; 4] = [
    ("engine-build.svg", "Builds", |row| row.op == "build"),
    ("engine-insert.svg", "Inserts", |row| row.op == "insert"),
    ("engine-hit.svg", "Lookups of present keys", |row| row.workload.as_deref() == Some("hit")),
    ("engine-miss.svg", "Lookups of absent keys", |row| row.workload.as_deref() == Some("miss")),
];

/// The plots of the most keys that were measured, those that have points.
pub(crate) fn plots(results: &Results) -> Result<Vec<Plot>> {
    let of_engine = || results.rows.iter().filter(|row| row.is_of_engine() && row.api != "batch");
    let Some(keys) = of_engine().map(|row| row.keys).max() else { return Ok(Vec::new()) };
    let mut plots = Vec::new();
    for (file, title, wanted) in TASKS {
        let rows: Vec<&Row> =
            of_engine().filter(|row| row.keys == keys && wanted(row) && is_usual(row)).collect();
        let series = series(&rows);
        if !series.is_empty() {
            let title = format!("{title} by threads, {} keys", short_count(keys));
            plots.push((file, plots::by_threads(&title, &series)?));
        }
    }
    Ok(plots)
}

/// Filters of one size whatever their keys are another matter.
fn is_usual(row: &Row) -> bool {
    !row.sizing().contains("-MiB")
}

/// A line for each filter, and one in the same colour, dashed, for what it is compared with. A rival that
/// several kinds meet has a line with the first of them.
fn series(rows: &[&Row]) -> Vec<Series> {
    struct Found<'a> {
        label: &'a str,
        color: usize,
        is_rival: bool,
        points: Vec<(f64, f64)>,
    }
    let mut lines: Vec<Found<'_>> = Vec::new();
    let mut filters: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.sizing().starts_with("as-")) {
        let color = filters.iter().position(|filter| **filter == row.filter).unwrap_or_else(|| {
            filters.push(&row.filter);
            filters.len() - 1
        });
        let label = row.rival.as_ref().unwrap_or(&row.filter);
        let point = (f64::from(row.threads), row.mops);
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => {
                let is_rival = row.rival.is_some();
                lines.push(Found { label, color, is_rival, points: vec![point] });
            }
        }
    }
    lines
        .into_iter()
        .map(|mut line| {
            line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series::new(line.label.to_owned(), line.color, line.is_rival, line.points)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::row::tests::example;

    #[test]
    fn a_plot_has_ours_and_its_rival() {
        let mut results = Results::new(Environment::observe(None));
        assert!(plots(&results).unwrap().is_empty());
        for threads in [1, 2] {
            let ours = example("bloom", "fpr-1%+wall", None, 4.0 / f64::from(threads));
            results.put(Row { threads, api: "engine".into(), ..ours });
            let rival =
                example("bloom", "fpr-1%+wall", Some("fastbloom"), 9.0 / f64::from(threads));
            results.put(Row { threads, ..rival });
        }
        let plots = plots(&results).unwrap();
        assert_eq!(plots.len(), 1);
        let (file, svg) = &plots[0];
        assert_eq!(*file, "engine-miss.svg");
        assert!(svg.starts_with("<svg") && svg.contains("fastbloom") && svg.contains("threads"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
