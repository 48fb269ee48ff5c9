//! Plots the speed over the number of threads.

use crate::engine::Input;
use crate::plots::{self, Look, Series};
use crate::results::Results;
use crate::row::Row;
use crate::tables::short_count;
use anyhow::Result;

/// A plot: the name of its file, and its SVG text.
pub(crate) type Plot = (&'static str, String);

/// The files of all plots, including those without points.
pub(crate) const FILES: [&str; 4] = [TASKS[0].0, TASKS[1].0, TASKS[2].0, TASKS[3].0];

type Task = (&'static str, &'static str, fn(&Row) -> bool);

const TASKS: [Task; 4] = [
    ("engine-build.svg", "Builds", |row| row.op == "build"),
    ("engine-insert.svg", "Inserts", |row| row.op == "insert"),
    ("engine-hit.svg", "Lookups of present keys", |row| row.workload.as_deref() == Some("hit")),
    ("engine-miss.svg", "Lookups of absent keys", |row| row.workload.as_deref() == Some("miss")),
];

/// The title and the lines of a plot.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    file: &'static str,
    pub(crate) title: String,
    pub(crate) series: Vec<Series>,
}

/// Whether a row was measured with the engine itself, not with a batch or a rival.
pub(crate) fn is_engine(row: &Row) -> bool {
    row.is_of_engine() && row.api == "engine"
}

/// The figures. Each shows one task, at the largest key count at which it was measured.
pub(crate) fn figures(results: &Results) -> Vec<Figure> {
    let figure = |(file, title, wanted): Task| {
        let is_of_task =
            |row: &&Row| row.is_of_engine() && row.api != "batch" && is_usual(row) && wanted(row);
        let of_task = || results.rows.iter().filter(is_of_task);
        let keys = of_task().map(|row| row.keys).max()?;
        let rows: Vec<&Row> = of_task().filter(|row| row.keys == keys).collect();
        let title = format!("{title} by threads, {} keys", short_count(keys));
        Some(Figure { file, title, series: series(&rows) })
    };
    TASKS.into_iter().filter_map(figure).filter(|figure| !figure.series.is_empty()).collect()
}

/// The figures as separate SVG files.
pub(crate) fn plots(results: &Results) -> Result<Vec<Plot>> {
    let plot = |it: Figure| Ok((it.file, plots::by_threads(Some(&it.title), &it.series)?));
    figures(results).into_iter().map(plot).collect()
}

/// Whether a row belongs in the plots. Rows with skewed keys and rows of filters of a fixed size do not.
fn is_usual(row: &Row) -> bool {
    !row.sizing().contains("-MiB") && !Input::is_skewed(row)
}

/// A line for each filter, and a dashed line in the same colour for its rival. If several kinds have the same rival, it
/// has one line, in the colour of the first of these kinds.
fn series(rows: &[&Row]) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| !row.sizing().starts_with("as-")) {
        let label = row.rival.as_ref().unwrap_or(&row.filter);
        let point = (f64::from(row.threads), row.mops);
        match lines.iter_mut().find(|line| line.label == *label) {
            Some(line) => line.points.push(point),
            None => {
                let look = Look::of_kind(&row.filter, 0);
                let look = if row.rival.is_some() { look.compared() } else { look };
                lines.push(Series { label: label.clone(), look, points: vec![point] });
            }
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::row::tests::example;

    #[test]
    fn a_plot_shows_our_filter_and_its_rival() {
        let mut results = Results::new(Environment::observe(None));
        assert!(plots(&results).unwrap().is_empty());
        for threads in [1, 2] {
            let ours = example("bloom", "fpr-1%+wall", None, 4.0 / f64::from(threads));
            results.put(Row { threads, api: "engine".into(), ..ours });
            let rival =
                example("bloom", "fpr-1%+wall", Some("fastbloom"), 9.0 / f64::from(threads));
            results.put(Row { threads, ..rival });
        }
        // Lookups at 1e6 keys do not keep inserts at 1e3 keys from being plotted.
        let few = Row { keys: 1000, ..example("bloom", "fpr-1%+wall", None, 4.0) };
        results.put(Row { op: "insert".into(), workload: None, api: "engine".into(), ..few });
        let plots = plots(&results).unwrap();
        assert_eq!(plots.len(), 2);
        assert!(plots[0].0 == "engine-insert.svg" && plots[0].1.contains("1e3 keys"));
        let (file, svg) = &plots[1];
        assert_eq!(*file, "engine-miss.svg");
        assert!(svg.starts_with("<svg") && svg.contains("fastbloom") && svg.contains("threads"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
