//! Tables and plots of the experiments.

use super::Measured;
use super::density::{LOADS, Method, Point};
use super::loads::Limit;
use crate::base::format::{figure, human_bytes, short_count};
use crate::base::table::{Line, Table};
use crate::show::plots;
use crate::show::plots::Series;
use anyhow::Result;

/// The names by which documents refer to the tables.
pub(crate) const NAMES: [&str; 2] = ["loads", "density"];

/// Returns both tables.
pub(crate) fn tables(measured: &Measured) -> Vec<Table> {
    vec![loads(&measured.limits), density(&measured.points)]
}

fn loads(limits: &[Limit]) -> Table {
    let per_cent = |share: f64| format!("{:.1} %", share * 100.0);
    let line = |limit: &Limit| {
        let words = [limit.system, &limit.variant, limit.search].map(Into::into);
        let loads = [limit.published, limit.mean, limit.min].map(per_cent);
        let counts = [limit.places.to_string(), limit.seeds.to_string()];
        Line { cells: words.into_iter().chain(counts).chain(loads).collect(), is_rival: false }
    };
    let header =
        ["system", "variant", "gives up after", "places", "tables", "published", "mean", "least"];
    Table {
        name: NAMES[0],
        title: "Loads before the first insert that fails or needs more memory".into(),
        header: header.map(Into::into).into(),
        rows: limits.iter().map(line).collect(),
        words: 3,
    }
}

fn density(points: &[Point]) -> Table {
    let mut rows = Vec::new();
    for standard in points.iter().filter(|point| point.method == Method::Standard) {
        let is_other = |point: &&Point| {
            point.method == Method::DensityBased
                && (point.load_percent, point.keys) == (standard.load_percent, standard.keys)
        };
        let Some(density) = points.iter().find(is_other) else { continue };
        let both = [standard, density];
        let mut cells = vec![format!("{} %", standard.load_percent), keys(standard.keys)];
        cells.extend(both.map(|point| count(point.cycles)));
        cells.extend(both.map(|point| count(point.displacements)));
        cells.extend(both.map(|point| figure(point.ns_per_insert)));
        cells.push(format!("{:.2}", density.ns_per_insert / standard.ns_per_insert));
        cells.extend(both.map(|point| human_bytes(point.extra_bytes.round() as u64)));
        rows.push(Line { cells, is_rival: false });
    }
    let header = [
        "load",
        "keys",
        "cycles, standard",
        "cycles, density-based",
        "displacements, standard",
        "displacements, density-based",
        "ns per insert, standard",
        "ns per insert, density-based",
        "ratio of times",
        "extra memory, standard",
        "extra memory, density-based",
    ];
    Table {
        name: NAMES[1],
        title: "Inserting all keys by the standard and the density-based method: means over orders"
            .into(),
        header: header.map(Into::into).into(),
        rows,
        words: 1,
    }
}

fn keys(count: u64) -> String {
    if count < 1000 { count.to_string() } else { short_count(count) }
}

/// Formats a mean of counts.
fn count(mean: f64) -> String {
    if mean >= 1000.0 || mean == 0.0 { format!("{mean:.0}") } else { figure(mean) }
}

/// Returns the file names and contents of the four plots.
pub(crate) fn plots(measured: &Measured) -> Result<Vec<(&'static str, String)>> {
    let plot = |title: &str, y_title: &str, value: fn(&Point) -> f64| {
        plots::with_legend(title, y_title, &series(&measured.points, value))
    };
    Ok(vec![
        (
            "textbook-cycles.svg",
            plot("Inserts that cycle", "per thousand keys", |point| {
                1000.0 * point.per_key(point.cycles)
            })?,
        ),
        (
            "textbook-displacements.svg",
            plot("Displacements", "per key", |point| point.per_key(point.displacements))?,
        ),
        ("textbook-time.svg", plot("Time of an insert", "ns", |point| point.ns_per_insert)?),
        (
            "textbook-memory.svg",
            plot("Memory beyond the tables at the start", "bytes per key", |point| {
                point.per_key(point.extra_bytes)
            })?,
        ),
    ])
}

/// Returns a curve of the plot for each load and method.
fn series(points: &[Point], value: fn(&Point) -> f64) -> Vec<Series> {
    let mut lines = Vec::new();
    for (color, load) in LOADS.into_iter().enumerate() {
        for method in Method::ALL {
            let of_line = points.iter().filter(|p| p.method == method && p.load_percent == load);
            let coordinates = of_line.map(|point| (point.keys as f64, value(point))).collect();
            let label = format!("{method}, {load} %");
            lines.push(Series::new(label, color, method == Method::Standard, coordinates));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, measure};
    use super::*;

    #[test]
    fn every_experiment_runs_and_is_shown() {
        let effort = Effort::check();
        let mut messages = 0;
        let measured = measure(&effort, |_| messages += 1).unwrap();
        assert_eq!(messages, measured.limits.len() + measured.points.len() / 2);
        for limit in &measured.limits {
            assert!(0.2 < limit.min && limit.min <= limit.mean && limit.mean <= 1.0, "{limit:?}");
        }
        assert_eq!(measured.points.len(), 2 * LOADS.len() * effort.keys.len());
        for point in &measured.points {
            assert!(point.ns_per_insert > 0.0, "{point:?}");
            // The memory grows if and only if the search of some insert ends without a free place.
            assert_eq!(point.cycles > 0.0, point.extra_bytes > 0.0, "{point:?}");
        }
        for table in tables(&measured) {
            assert!(NAMES.contains(&table.name) && !table.rows.is_empty());
            assert!(table.rows.iter().all(|line| line.cells.len() == table.header.len()));
        }
        for (name, svg) in plots(&measured).unwrap() {
            assert!(name.ends_with(".svg") && svg.starts_with("<svg"), "{name}");
            assert!(svg.trim_end().ends_with("</svg>") && !svg.contains("NaN"), "{name}");
            assert_eq!(svg.matches("density-based, ").count(), LOADS.len(), "{name}");
        }
    }
}
