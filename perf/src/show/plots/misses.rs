//! Cache and TLB misses that were counted during lookups, as points of a plot that has a row for each filter.

use super::{Look, Series};
use crate::model::{Api, Op, Row, Workload};
use crate::show::tables::label;
use crate::store::results::Results;

/// A column of counted events: its name, and its value in a row.
type Events = (&'static str, fn(&Row) -> Option<f64>);

const EVENTS: [Events; 4] = [
    ("first-level read misses", |row| row.l1d_misses_per_op),
    ("cache misses", |row| row.cache_misses_per_op),
    ("last-level read misses", |row| row.llc_misses_per_op),
    ("data-TLB read misses", |row| row.dtlb_misses_per_op),
];

/// Cache and TLB misses per lookup. Of the numbers of keys for which misses were counted, only the largest is shown.
#[derive(Clone, Debug)]
pub(crate) struct Misses {
    /// The number of keys in each filter.
    pub(crate) keys: u64,
    /// Where the counts come from: hardware counters or a simulation.
    pub(crate) source: String,
    /// The names of the filters, each of which has a row in the plot.
    pub(crate) names: Vec<String>,
    /// A series for each kind of event that was counted at least once. The `y` of a point is the index of its filter.
    pub(crate) series: Vec<Series>,
}

/// Returns the misses of lookups with this workload. `None` if the run counted no misses of any lookups.
pub(crate) fn misses(results: &Results, workload: Workload) -> Option<Misses> {
    let is_counted = |row: &&Row| {
        row.case.is_plain()
            && row.case.op == Op::Contains
            && (row.case.is_of_rival() || row.case.calls.api == Api::Batch)
            && EVENTS.iter().any(|(_, events)| events(row).is_some())
    };
    let counted = || results.rows.iter().filter(is_counted);
    let keys = counted().map(|row| row.case.keys).max()?;
    let is_it = |row: &&Row| row.case.keys == keys && row.case.workload == Some(workload);
    let rows: Vec<&Row> = counted().filter(is_it).collect();
    let series = EVENTS.iter().enumerate().map(|(i, (name, events))| {
        let points = rows.iter().enumerate();
        let points = points.filter_map(|(index, row)| Some((events(row)?, index as f64)));
        Series { label: (*name).into(), look: Look::ours(i).points(), points: points.collect() }
    });
    // The points of events that never occurred would all be at zero, where they could hide the points of other events.
    let series = series.filter(|series| series.points.iter().any(|(events, _)| *events > 0.0));
    Some(Misses {
        keys,
        source: counted().next().map_or_else(String::new, |row| row.counters.to_string()),
        names: rows.iter().map(|row| short_label(row)).collect(),
        series: series.collect(),
    })
}

/// The label of a row at the side of a plot, shortened for a rival that has the size of another filter.
fn short_label(row: &Row) -> String {
    match (&row.case.rival, row.case.takes_size) {
        (Some(rival), true) => format!("{rival} as {}", row.case.filter),
        _ => label(row),
    }
}
