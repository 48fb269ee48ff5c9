//! The plots of a published run, each in its own file, with a title, a legend and only a few series.

use crate::base::format::short_count;
use crate::model::{Api, Filling, Op, Row, Sizing, Workload, short_slots};
use crate::show::plots::Series;
use crate::show::tables::label;
use crate::show::{plots, scaling};
use crate::store::results::Results;
use anyhow::Result;

/// A plot that stands alone.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// The name of its file.
    pub(crate) file: &'static str,
    pub(crate) title: String,
    pub(crate) svg: String,
}

/// A plot to draw: the name of its file, its title, and the function that says whether the plot shows a row.
type Task = (&'static str, &'static str, fn(&Row) -> bool);

const BY_SIZE: [Task; 3] = [
    ("lookups-absent.svg", "Lookups of absent keys in batches, one core", |row| {
        row.case.is_lookup(Workload::Miss)
    }),
    ("lookups-present.svg", "Lookups of present keys in batches, one core", |row| {
        row.case.is_lookup(Workload::Hit)
    }),
    ("inserts.svg", "Inserts in batches, one core", |row| row.case.op == Op::Insert),
];

const BY_LOAD: [Task; 2] = [
    ("load-lookups.svg", "Lookups of present keys by load", |row| {
        row.case.is_lookup(Workload::Hit)
    }),
    ("load-inserts.svg", "Inserts by load", |row| row.case.op == Op::Insert),
];

/// The width of the slots in the plots by load, in bits.
const SLOT_BITS: u32 = 8;

/// Returns the plots for which the run has rows.
pub(crate) fn all(results: &Results) -> Result<Vec<Picture>> {
    let mut all = Vec::new();
    for task in BY_SIZE {
        all.extend(by_size(results, task)?);
    }
    for task in BY_LOAD {
        all.extend(by_load(results, task)?);
    }
    for figure in scaling::figures(results) {
        let svg = plots::by_threads(Some(&figure.title), &figure.series)?;
        all.push(Picture { file: figure.file, title: figure.title, svg });
    }
    all.extend(rates(results)?);
    all.extend(misses(results)?);
    Ok(all)
}

/// Whether a row is of a rival, or of batched calls of one of our filters.
fn is_preferred(row: &Row) -> bool {
    row.case.is_of_rival() || row.case.calls.api == Api::Batch
}

/// Returns the labels that the plots by size show: one for each kind and each rival. A run can size the filters of a
/// kind in several ways, such as `12-bit` and `fpr-1%`. Only the first of these sizings is plotted, at every number of
/// keys. Counting filters are left out: lookups never read their counters, which are four fifths of the bytes on the x
/// axis. Filters with a fixed number of bytes, and rivals that are sized like a filter of another kind, are left out
/// too.
fn first_sizes(results: &Results) -> Vec<String> {
    let mut subjects: Vec<&str> = Vec::new();
    let mut labels = Vec::new();
    for row in results.rows.iter().filter(|row| row.case.is_plain()) {
        let is_left_out = row.case.filter == "counting-bloom"
            || row.case.takes_size
            || matches!(row.case.sizing, Sizing::Bytes(_));
        if !is_left_out && !subjects.contains(&row.case.subject()) {
            subjects.push(row.case.subject());
            labels.push(label(row));
        }
    }
    labels
}

fn by_size(results: &Results, (file, title, is_wanted): Task) -> Result<Option<Picture>> {
    let shown = first_sizes(results);
    let is_shown = |row: &Row| {
        row.case.is_plain() && is_wanted(row) && is_preferred(row) && shown.contains(&label(row))
    };
    let mut series = plots::throughput_series(results, is_shown);
    if series.is_empty() {
        return Ok(None);
    }
    series.insert(0, plots::roofline_of(results, is_shown));
    let svg = plots::throughput(Some(title), &results.environment.caches, &series)?;
    Ok(Some(Picture { file, title: title.into(), svg }))
}

fn by_load(results: &Results, (file, title, is_wanted): Task) -> Result<Option<Picture>> {
    let fillings = results.rows.iter().filter_map(|row| row.case.filling());
    let Some(slots) = fillings.map(|filling| filling.slots).min() else { return Ok(None) };
    let series = plots::load_series(results, |row| {
        let is_it = |filling: Filling| {
            (filling.slots, filling.bits) == (slots, SLOT_BITS) && row.case.kernels.is_none()
        };
        row.case.filling().is_some_and(is_it) && is_wanted(row) && is_preferred(row)
    });
    if series.is_empty() {
        return Ok(None);
    }
    // All slots have the width that the title names, so the labels need not repeat it.
    let series: Vec<Series> = series.into_iter().map(of_subject).collect();
    let title = format!("{title}, {} slots of {SLOT_BITS} bits", short_slots(slots));
    let svg = plots::by_load(Some(&title), &series)?;
    Ok(Some(Picture { file, title, svg }))
}

/// Returns the series with a shorter label: the name of its subject, without the width of the slots.
fn of_subject(series: Series) -> Series {
    let label = series.label.rsplit_once(' ').map_or(&*series.label, |(subject, _)| subject).into();
    Series { label, ..series }
}

fn rates(results: &Results) -> Result<Option<Picture>> {
    let title = "False-positive rates: counted (marks) and by the equations (lines)";
    let points: Vec<Series> =
        plots::rate_points(results).into_iter().filter(|line| !line.look.is_rival()).collect();
    if points.is_empty() {
        return Ok(None);
    }
    let mut series = plots::rate_curves(results);
    series.extend(points);
    let svg = plots::rates(Some(title), &series)?;
    Ok(Some(Picture { file: "rates.svg", title: title.into(), svg }))
}

fn misses(results: &Results) -> Result<Option<Picture>> {
    let misses = plots::misses(results, Workload::Miss);
    let Some(misses) = misses.filter(|misses| !misses.series.is_empty()) else { return Ok(None) };
    let keys = short_count(misses.keys);
    let title = format!("Misses per lookup of absent keys, {keys} keys ({})", misses.source);
    let svg = plots::by_name(Some(&title), "misses per lookup", &misses.names, &misses.series)?;
    Ok(Some(Picture { file: "misses.svg", title, svg }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    #[test]
    fn each_plot_has_the_rows_of_its_operation() {
        let mut results = Results::new(Environment::observe(None));
        assert!(all(&results).unwrap().is_empty());
        for keys in [100_000, 1_000_000] {
            let at = |row: Row| Row { bytes: keys * 3 / 2, ..row.with(|case| case.keys = keys) };
            results.put(at(example("bloom", "12-bit", None, 2.0)));
            results.put(at(example("bloom", "fpr-1%", None, 2.0)));
            results.put(at(example("bloom", "12-bit", Some("fastbloom"), 9.0)));
        }
        for variant in ["r8-75%-of-1Mi", "r8-95%-of-1Mi", "r12-95%-of-1Mi"] {
            let hit = |row: Row| row.with(|case| case.workload = Some(Workload::Hit));
            results.put(hit(example("quotient", variant, None, 2.0)));
        }
        let all = all(&results).unwrap();
        let files: Vec<&str> = all.iter().map(|picture| picture.file).collect();
        assert_eq!(files, ["lookups-absent.svg", "load-lookups.svg", "rates.svg"]);
        // The second size of a kind and the wider slots are not shown.
        assert!(all[0].svg.contains("bloom 12-bit") && all[0].svg.contains("fastbloom 12-bit"));
        assert!(!all[0].svg.contains("bloom fpr-1%"));
        assert_eq!(all[1].svg.matches("quotient").count(), 1);
        assert!(!all[1].svg.contains("quotient r"));
        assert!(all[2].svg.contains("bloom") && !all[2].svg.contains("bloom 12-bit"));
        assert!(all[1].title.contains("1Mi slots of 8 bits"), "{}", all[1].title);
    }
}
