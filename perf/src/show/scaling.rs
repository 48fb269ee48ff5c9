//! Plots the speed against the number of threads.

use crate::base::format::short_count;
use crate::model::{Api, Op, Row, Sizing, Workload};
use crate::show::plots;
use crate::show::plots::{Look, Series};
use crate::store::results::{PLOTS_BY_THREADS, Results};
use anyhow::Result;

/// A plot: the name of its file, and its SVG text.
pub(crate) type Plot = (&'static str, String);

/// The operation of a plot: the name of the file, the title, and whether a row belongs to the operation.
type Task = (&'static str, &'static str, fn(&Row) -> bool);

const TASKS: [Task; 4] = [
    (PLOTS_BY_THREADS[0], "Builds", |row| row.case.op == Op::Build),
    (PLOTS_BY_THREADS[1], "Inserts", |row| row.case.op == Op::Insert),
    (PLOTS_BY_THREADS[2], "Lookups of present keys", |row| {
        row.case.workload == Some(Workload::Hit)
    }),
    (PLOTS_BY_THREADS[3], "Lookups of absent keys", |row| {
        row.case.workload == Some(Workload::Miss)
    }),
];

/// The title and the lines of a plot.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) file: &'static str,
    pub(crate) title: String,
    pub(crate) series: Vec<Series>,
}

/// Whether a row was measured with the engine itself. The engine's groups also have rows of batches and of rivals.
pub(crate) fn is_engine(row: &Row) -> bool {
    row.case.is_of_engine() && row.case.calls.api == Api::Engine
}

/// The figures, one for each task. A figure shows those rows of its task that [`is_usual`] accepts and that have the
/// largest key count among them.
pub(crate) fn figures(results: &Results) -> Vec<Figure> {
    let figure = |(file, title, wanted): Task| {
        let is_of_task = |row: &&Row| {
            row.case.is_of_engine()
                && row.case.calls.api != Api::Batch
                && is_usual(row)
                && wanted(row)
        };
        let of_task = || results.rows.iter().filter(is_of_task);
        let keys = of_task().map(|row| row.case.keys).max()?;
        let rows: Vec<&Row> = of_task().filter(|row| row.case.keys == keys).collect();
        let title = format!("{title} by threads, {} keys", short_count(keys));
        Some(Figure { file, title, series: series(&rows) })
    };
    TASKS.into_iter().filter_map(figure).filter(|figure| !figure.series.is_empty()).collect()
}

/// The figures as separate SVG files.
pub(crate) fn plots(results: &Results) -> Result<Vec<Plot>> {
    let plot =
        |figure: Figure| Ok((figure.file, plots::by_threads(Some(&figure.title), &figure.series)?));
    figures(results).into_iter().map(plot).collect()
}

/// Whether a row was measured under the usual conditions: without skewed keys, in a filter that does not have a fixed
/// size, and not in a group with inserts through shared references.
fn is_usual(row: &Row) -> bool {
    !matches!(row.case.sizing, Sizing::Bytes(_)) && !row.case.is_skewed() && !row.case.is_shared
}

/// A line for each filter, and a dashed line in the same colour for its rival. A rival has one line, in the colour of
/// the kind that the rival implements. Rows in which a rival has the size or the rate of another kind's filter are left
/// out.
fn series(rows: &[&Row]) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| !row.case.takes_size) {
        let label = row.case.subject();
        let point = (f64::from(row.case.threads), row.mops);
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => {
                let look = Look::of_kind(&row.case.filter, 0);
                let look = if row.case.is_of_rival() { look.compared() } else { look };
                lines.push(Series { label: label.to_owned(), look, points: vec![point] });
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
    use crate::measure::environment::Environment;
    use crate::model::{Calls, example};

    #[test]
    fn groups_of_shared_filters_are_not_plotted() {
        let mut results = Results::new(Environment::observe(None));
        let insert = |rival, ns| {
            let row = example("bloom", "fpr-1%+wall", rival, ns);
            row.with(|case| (case.op, case.workload, case.threads) = (Op::Insert, None, 2))
        };
        let with_calls = |row: Row, api| row.with(|case| case.calls = Calls::by(api));
        let shared = |row| with_calls(row, Api::Shared).with(|case| case.is_shared = true);
        results.put(with_calls(insert(None, 2.0), Api::Engine));
        results.put(with_calls(insert(Some("fastbloom"), 4.0), Api::Shared));
        for rival in [None, Some("fastbloom")] {
            results.put(shared(insert(rival, 50.0)));
        }
        let [figure] = &figures(&results)[..] else { panic!("one figure") };
        let points: Vec<_> = figure.series.iter().map(|line| &line.points[..]).collect();
        assert_eq!(points, [[(2.0, 500.0)], [(2.0, 250.0)]]);
    }

    #[test]
    fn a_plot_shows_our_filter_and_its_rival() {
        let mut results = Results::new(Environment::observe(None));
        assert!(plots(&results).unwrap().is_empty());
        let engine = Calls::by(Api::Engine);
        for threads in [1, 2] {
            let ours = example("bloom", "fpr-1%+wall", None, 4.0 / f64::from(threads));
            results.put(ours.with(|case| (case.threads, case.calls) = (threads, engine)));
            let rival =
                example("bloom", "fpr-1%+wall", Some("fastbloom"), 9.0 / f64::from(threads));
            results.put(rival.with(|case| case.threads = threads));
        }
        // Each plot has the largest key count of its own operation: inserts at 1e3 keys are plotted, although there are
        // lookups at 1e6 keys.
        results.put(example("bloom", "fpr-1%+wall", None, 4.0).with(|case| {
            (case.op, case.workload) = (Op::Insert, None);
            (case.keys, case.calls) = (1000, engine);
        }));
        let plots = plots(&results).unwrap();
        assert_eq!(plots.len(), 2);
        assert!(plots[0].0 == "engine-insert.svg" && plots[0].1.contains("1e3 keys"));
        let (file, svg) = &plots[1];
        assert_eq!(*file, "engine-miss.svg");
        assert!(svg.starts_with("<svg") && svg.contains("fastbloom") && svg.contains("threads"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
