//! The plots of the report, as SVG text.

mod axis;
mod draw;
mod look;
mod misses;
mod rates;

pub(crate) use draw::sample;
pub(crate) use look::{Look, themed};
pub(crate) use misses::{Misses, misses};
pub(crate) use rates::{RATES_AT_LOAD, rate_curves, rate_points};

use crate::base::format::{human_bytes, short_count};
use crate::base::stats::median;
use crate::measure::environment::Caches;
use crate::measure::roofline::Access;
use crate::model::{Api, Op, Row, Workload};
use crate::show::tables::label;
use crate::store::results::Results;
use anyhow::Result;
use axis::{Scale, plain};
use draw::{Frame, Side};
use std::collections::BTreeMap;

/// Width and height, in pixels: first of a picture that stands alone, then of a plot in the page. A plot in the page
/// has its title and legend outside. It is small because a phone scales a wide plot down until its text is illegible.
const ALONE: (u32, u32) = (600, 390);
const IN_PAGE: (u32, u32) = (440, 300);
/// Width, in pixels, of the labels of the y axis: first of labels that are figures, then of labels that are names.
const FIGURES: u32 = 64;
const NAMES: u32 = 216;
/// Font sizes in pixels. The size is larger in the page, because a narrow page scales its plots down.
const FONT_SIZE_ALONE: u32 = 14;
const FONT_SIZE_IN_PAGE: u32 = 16;

const DECADES: Scale = Scale::Powers(10.0);

/// The size of a plot. A plot with a title also has a legend, and stands alone.
fn size(title: Option<&str>) -> (u32, u32) {
    if title.is_some() { ALONE } else { IN_PAGE }
}

fn font_size(title: Option<&str>) -> u32 {
    if title.is_some() { FONT_SIZE_ALONE } else { FONT_SIZE_IN_PAGE }
}

/// A line of a plot: its label in the legend, its look, and its points.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) look: Look,
    /// Pairs `(x, y)`. A point that an axis cannot show, such as zero on a logarithmic axis, is left out.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Series {
    /// Creates a line in one of the colours of our filters. The line is dashed if it belongs to a rival or, where two
    /// methods are compared, to the standard method.
    pub(crate) fn new(
        label: String,
        color: usize,
        is_rival: bool,
        points: Vec<(f64, f64)>,
    ) -> Self {
        let look = Look::ours(color);
        Self { label, look: if is_rival { look.compared() } else { look }, points }
    }
}

/// Returns the series of the rows for which `is_wanted` is true: million operations per second over the bytes of the
/// filter. The looks are chosen from all rows of the run, so that a filter looks the same in all plots.
pub(crate) fn throughput_series(
    results: &Results,
    is_wanted: impl Fn(&Row) -> bool,
) -> Vec<Series> {
    with_points(legend(results), results, |row| is_wanted(row).then_some(row.bytes as f64))
}

/// Returns the series of those rows of the sweep over loads for which `is_wanted` is true: million operations per
/// second over the load in per cent.
pub(crate) fn load_series(results: &Results, is_wanted: impl Fn(&Row) -> bool) -> Vec<Series> {
    let load = |row: &Row| row.case.filling().map(|filling| f64::from(filling.load));
    with_points(load_legend(results), results, |row| load(row).filter(|_| is_wanted(row)))
}

/// Adds to each series the points of its rows for which `x` returns a value, and drops series without points.
fn with_points(
    mut series: Vec<Series>,
    results: &Results,
    x: impl Fn(&Row) -> Option<f64>,
) -> Vec<Series> {
    for row in &results.rows {
        let line = series.iter_mut().find(|line| line.label == label(row));
        if let (Some(line), Some(x)) = (line, x(row)) {
            line.points.push((x, row.mops));
        }
    }
    for line in &mut series {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    series.retain(|line| !line.points.is_empty());
    series
}

/// Returns the series of a run, without points. Rows of the sweep over loads, of the matrix and of the engine are left
/// out.
pub(crate) fn legend(results: &Results) -> Vec<Series> {
    let is_shown = |row: &&Row| {
        row.case.filling().is_none() && !row.case.is_of_engine() && row.case.matrix.is_none()
    };
    legend_of(results.rows.iter().filter(is_shown))
}

/// Returns the series of the sweep over loads, without points.
pub(crate) fn load_legend(results: &Results) -> Vec<Series> {
    legend_of(results.rows.iter().filter(|row| row.case.filling().is_some()))
}

fn legend_of<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    // Each kind of ours and each rival, with the number of sizes that its earlier rows have.
    let mut subjects: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        let label = label(row);
        if series.iter().any(|line| line.label == label) {
            continue;
        }
        let subject = row.case.subject();
        let index = subjects.iter().position(|(known, _)| *known == subject);
        let index = index.unwrap_or_else(|| {
            subjects.push((subject, 0));
            subjects.len() - 1
        });
        let size = subjects[index].1;
        subjects[index].1 += 1;
        let look = if row.case.is_of_rival() {
            Look::of_rival(subject, size)
        } else {
            Look::of_kind(subject, size)
        };
        series.push(Series { label, look, points: Vec::new() });
    }
    series
}

/// The roofline in the legend and the plots of throughput, without points.
pub(crate) fn roofline_line() -> Series {
    Series { label: "roofline: cache lines".into(), look: Look::roofline(), points: Vec::new() }
}

/// Returns the roofline of those rows of ours for which `is_wanted` is true: the random cache lines that one core read
/// per second, over the bytes of the filter. These reads went to as much memory as the filter takes, and were
/// interleaved with its operations. All rows with the same number of keys share one point: the medians of their bytes
/// and of their rooflines. (In the column "of roofline", by contrast, each row is divided by its own roofline.)
/// Counting filters are left out, since their lookups read only a fifth of their bytes.
pub(crate) fn roofline_of(results: &Results, is_wanted: impl Fn(&Row) -> bool) -> Series {
    let mut by_keys: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for row in results.rows.iter().filter(|row| {
        !row.case.is_of_rival() && row.case.filter != "counting-bloom" && is_wanted(row)
    }) {
        if let Some(mops) = row.roofline_mops {
            by_keys.entry(row.case.keys).or_default().push((row.bytes as f64, mops));
        }
    }
    let points = by_keys.into_values().map(|points| {
        let (bytes, mops): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        (median(&bytes), median(&mops))
    });
    Series { points: points.collect(), ..roofline_line() }
}

/// Plots throughput over the bytes of a filter, on two logarithmic axes, with marks at the sizes of the caches.
pub(crate) fn throughput(
    title: Option<&str>,
    caches: &Caches,
    series: &[Series],
) -> Result<String> {
    by_bytes(title, "bytes of the filter", "million keys per second", caches, series)
}

fn by_bytes(
    title: Option<&str>,
    x_title: &str,
    y_title: &str,
    caches: &Caches,
    series: &[Series],
) -> Result<String> {
    let bytes = |x: f64| human_bytes(x.round() as u64).replace(".00", "");
    let levels = [(caches.l1d, "L1d"), (caches.l2, "L2"), (caches.l3, "L3")];
    let marks = levels.into_iter().filter_map(|(bytes, name)| Some((bytes? as f64, name)));
    let frame = Frame {
        size: size(title),
        title,
        x: Side { title: x_title, scale: Scale::Powers(2.0), label: &bytes },
        y: Side { title: y_title, scale: DECADES, label: &plain },
        marks: marks.collect(),
        y_labels: FIGURES,
        font_size: font_size(title),
    };
    frame.draw_where_shown(series)
}

/// Plots a quantity over the number of keys, on two logarithmic axes. The picture has a title and a legend, so that it
/// can stand alone.
pub(crate) fn with_legend(title: &str, y_title: &str, series: &[Series]) -> Result<String> {
    let keys = |x: f64| if x < 1000.0 { format!("{x:.0}") } else { short_count(x.round() as u64) };
    let frame = Frame {
        size: ALONE,
        title: Some(title),
        x: Side { title: "keys", scale: DECADES, label: &keys },
        y: Side { title: y_title, scale: DECADES, label: &plain },
        marks: Vec::new(),
        y_labels: FIGURES,
        font_size: FONT_SIZE_ALONE,
    };
    frame.draw_with_legend(series)
}

/// Plots throughput over the number of threads. A plot with a title also has a legend, so that it can stand alone.
pub(crate) fn by_threads(title: Option<&str>, series: &[Series]) -> Result<String> {
    let threads = |x: f64| format!("{x:.0}");
    let frame = Frame {
        size: size(title),
        title,
        x: Side { title: "threads", scale: Scale::Powers(2.0), label: &threads },
        y: Side { title: "million keys per second", scale: DECADES, label: &plain },
        marks: Vec::new(),
        y_labels: FIGURES,
        font_size: font_size(title),
    };
    frame.draw_where_shown(series)
}

/// Plots throughput over the load.
pub(crate) fn by_load(title: Option<&str>, series: &[Series]) -> Result<String> {
    let load = |x: f64| format!("{x:.0} %");
    let frame = Frame {
        size: size(title),
        title,
        x: Side { title: "slots in use", scale: Scale::Linear, label: &load },
        y: Side { title: "million per second", scale: DECADES, label: &plain },
        marks: Vec::new(),
        y_labels: FIGURES,
        font_size: font_size(title),
    };
    frame.draw_where_shown(series)
}

/// Plots false-positive rates over bits per key.
pub(crate) fn rates(title: Option<&str>, series: &[Series]) -> Result<String> {
    let rate = |y: f64| format!("{} %", plain(y * 100.0));
    let frame = Frame {
        size: size(title),
        title,
        x: Side { title: "bits per key", scale: Scale::Linear, label: &plain },
        y: Side { title: "false-positive rate", scale: DECADES, label: &rate },
        marks: Vec::new(),
        y_labels: FIGURES + 16,
        font_size: font_size(title),
    };
    frame.draw_where_shown(series)
}

/// Plots points in named rows. The y of a point is the index of its row. To have the first row at the top, the rows are
/// drawn at their negated indices.
pub(crate) fn by_name(
    title: Option<&str>,
    x_title: &str,
    names: &[String],
    series: &[Series],
) -> Result<String> {
    let name = |y: f64| {
        let is_whole = (y - y.round()).abs() < 1e-6 && y < 0.5;
        let index = is_whole.then(|| (-y.round()) as usize);
        index.and_then(|index| names.get(index)).cloned().unwrap_or_default()
    };
    let down: Vec<Series> = series
        .iter()
        .map(|line| {
            let points = line.points.iter().map(|(x, row)| (*x, -row)).collect();
            Series { points, ..line.clone() }
        })
        .collect();
    let frame = Frame {
        size: (size(title).0, 80 + 24 * names.len() as u32),
        title,
        x: Side { title: x_title, scale: Scale::Linear, label: &plain },
        y: Side { title: "", scale: Scale::Rows, label: &name },
        marks: Vec::new(),
        y_labels: NAMES,
        font_size: font_size(title),
    };
    frame.draw_where_shown(&down)
}

/// Plots changes of a quantity, in per cent, over named steps.
pub(crate) fn by_step(
    x_title: &str,
    quantity: &str,
    steps: &[String],
    series: &[Series],
) -> Result<String> {
    let step = |x: f64| {
        let is_whole = (x - x.round()).abs() < 1e-6 && x > -0.5;
        let index = is_whole.then(|| x.round() as usize);
        index.and_then(|index| steps.get(index)).cloned().unwrap_or_default()
    };
    let change = |y: f64| {
        if y == 0.0 {
            "0 %".into()
        } else {
            format!("{:+} %", crate::base::stats::round_significant(y, 3))
        }
    };
    let frame = Frame {
        size: IN_PAGE,
        title: None,
        x: Side { title: x_title, scale: Scale::Steps, label: &step },
        y: Side { title: quantity, scale: Scale::Linear, label: &change },
        marks: Vec::new(),
        y_labels: FIGURES + 16,
        font_size: FONT_SIZE_IN_PAGE,
    };
    frame.draw(series)
}

/// Returns one series per way of reading cache lines, with looks that no filter has.
fn access_ways(results: &Results) -> Vec<Series> {
    let speed = |way: usize| {
        results.roofline.iter().map(move |point| (point.bytes as f64, point.by_access()[way].1))
    };
    let line = |(way, access): (usize, Access)| Series {
        label: access.to_string(),
        look: Look::rival(way, 0).without_points(way),
        points: speed(way).collect(),
    };
    Access::ALL.into_iter().enumerate().map(line).collect()
}

/// Returns one series of the roofline per way of reading cache lines, and one series per filter of ours except counting
/// filters. All series show cache lines read per second over the size of the working set. In the series of a filter,
/// they are the cache lines that its batched lookups of present keys read.
pub(crate) fn roofline_series(results: &Results) -> Vec<Series> {
    let mut series = access_ways(results);
    let legend = legend(results);
    // Counting filters are left out: their lookups never read the counters, which are four fifths of the bytes.
    let is_shown = |row: &&Row| {
        row.case.op == Op::Contains
            && row.case.workload == Some(Workload::Hit)
            && row.case.calls.api == Api::Batch
            && row.case.is_plain()
            && row.case.filter != "counting-bloom"
    };
    for row in results.rows.iter().filter(is_shown) {
        let line = legend.iter().find(|line| line.label == label(row));
        let (Some(lines), Some(line)) = (row.lines_per_op(), line) else { continue };
        let point = (row.bytes as f64, row.mops * lines);
        match series.iter_mut().find(|known| known.label == line.label) {
            Some(known) => known.points.push(point),
            None => {
                let (label, look) = (line.label.clone(), line.look.points());
                series.push(Series { label, look, points: vec![point] });
            }
        }
    }
    series
}

/// Plots the series of [`roofline_series`].
pub(crate) fn roofline(caches: &Caches, series: &[Series]) -> Result<String> {
    by_bytes(None, "bytes of the working set", "M cache lines/s", caches, series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn two_sizes() -> Results {
        let mut results = Results::new(Environment::observe(None));
        for keys in [100_000, 1_000_000] {
            let bytes = keys * 3 / 2;
            results.put(Row {
                bytes,
                ..example("bloom", "12-bit", None, 2.0).with(|case| case.keys = keys)
            });
            results.put(Row {
                bytes,
                ..example("bloom", "12-bit", Some("fastbloom"), 9.0).with(|case| case.keys = keys)
            });
        }
        results
    }

    #[test]
    fn sizes_of_a_rival_differ_only_in_their_stroke_and_rivals_in_their_marker() {
        let mut results = Results::new(Environment::observe(None));
        for (rival, size) in [
            ("autoscale_cuckoo_filter", "f8-95%-of-1Mi"),
            ("cuckoofilter", "f8-95%-of-1Mi"),
            ("autoscale_cuckoo_filter", "f12-95%-of-1Mi"),
        ] {
            results.put(example("cuckoo", size, Some(rival), 9.0));
        }
        let looks: Vec<Look> = load_legend(&results).iter().map(|line| line.look).collect();
        let look = |rival, size| Look::of_rival(rival, size);
        let [autoscale, cuckoofilter] = ["autoscale_cuckoo_filter", "cuckoofilter"];
        assert_eq!(looks, [look(autoscale, 0), look(cuckoofilter, 0), look(autoscale, 1)]);
        assert_eq!(looks[0].points(), looks[2].points());
        assert_ne!(looks[0], looks[2]);
        assert_ne!(looks[0].corners(), looks[1].corners());
    }

    #[test]
    fn the_roofline_has_a_point_per_number_of_keys_and_no_rivals() {
        let mut results = Results::new(Environment::observe(None));
        let mut put = |kind: &str, rival, keys, bytes, mops| {
            let row = example(kind, "12-bit", rival, 2.0).with(|case| case.keys = keys);
            results.put(Row { bytes, roofline_mops: mops, ..row });
        };
        put("bloom", None, 2000, 3000, Some(400.0));
        put("bloom", None, 1000, 1500, Some(900.0));
        put("register-bloom", None, 1000, 1600, Some(1000.0));
        put("split-block-bloom", None, 1000, 1700, Some(1300.0));
        put("cache-line-bloom", None, 1000, 9000, None);
        put("counting-bloom", None, 1000, 6000, Some(500.0));
        put("bloom", Some("fastbloom"), 1000, 1, Some(1.0));
        let roofline = roofline_of(&results, |_| true);
        assert_eq!(roofline.points, [(1600.0, 1000.0), (3000.0, 400.0)]);
        assert_eq!(roofline_of(&results, |row| row.case.keys > 2000).points, []);
    }

    #[test]
    fn plots_are_complete_svg_documents() {
        let results = two_sizes();
        let series = throughput_series(&results, |_| true);
        assert_eq!(series.len(), 2);
        assert_eq!(series[0].points[1].0, 1_500_000.0);
        let svg = throughput(None, &results.environment.caches, &series).unwrap();
        assert_complete(&svg);
    }

    #[test]
    fn caches_inside_the_plot_are_marked() {
        let caches = Caches { l1d: Some(32 << 10), l2: Some(1 << 20), l3: None };
        let svg = throughput(None, &caches, &throughput_series(&two_sizes(), |_| true)).unwrap();
        assert!(svg.contains("L2\n") && !svg.contains("L3\n") && !svg.contains("L1d\n"), "{svg}");
    }

    #[test]
    fn the_sweep_has_plots_and_a_legend_of_its_own() {
        let mut results = Results::new(Environment::observe(None));
        for variant in ["r8-75%-of-1Mi", "r8-95%-of-1Mi"] {
            results.put(example("cache-line-quotient", variant, None, 2.0));
            results.put(example("quotient", variant, Some("qfilter"), 20.0));
        }
        assert!(legend(&results).is_empty());
        let series = load_series(&results, |_| true);
        let labels: Vec<&str> = series.iter().map(|line| &*line.label).collect();
        assert_eq!(labels, ["cache-line-quotient r8", "qfilter r8"]);
        let svg = by_load(None, &series).unwrap();
        assert_complete(&svg);
        assert!(svg.contains("75 %") && svg.contains("90 %"));
    }

    #[test]
    fn two_sizes_of_a_kind_look_different() {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("bloom", "12-bit", None, 2.0));
        results.put(example("bloom", "fpr-1%", None, 2.0));
        let [first, second] = &legend(&results)[..] else { panic!("two series") };
        assert_ne!(first.look, second.look);
    }

    #[test]
    fn rows_and_steps_are_labelled_with_their_names() {
        let names = ["first", "second"].map(String::from);
        let series = [Series::new("s".into(), 0, false, vec![(0.0, 0.0), (2.5, 1.0)])];
        for svg in [
            by_name(None, "misses", &names, &series).unwrap(),
            by_step("commit", "times", &names, &series).unwrap(),
        ] {
            assert_complete(&svg);
            assert!(svg.contains("first\n"), "{svg}");
        }
        assert!(by_name(None, "misses", &names, &series).unwrap().contains("second\n"));
        assert!(by_step("commit", "times", &names, &series).unwrap().contains("times\n"));
    }

    #[test]
    fn values_that_an_axis_cannot_show_are_left_out() {
        let absurd = [f64::NAN, f64::INFINITY, -1.0, 0.0].map(|value| (value, value));
        let series = [Series::new("absurd".into(), 0, false, absurd.into())];
        assert_eq!(throughput(None, &Caches::default(), &series).unwrap(), "");
        // A picture that stands alone shows its title and legend, and an empty frame.
        for svg in [
            with_legend("title", "ns", &series).unwrap(),
            by_threads(Some("title"), &series).unwrap(),
        ] {
            assert_complete(&svg);
            assert!(svg.contains("title\n") && svg.contains("absurd\n"), "{svg}");
        }
        let mut points: Vec<(f64, f64)> = absurd.into();
        points.extend([(1e-300, 1e-300), (1e300, 1e300)]);
        let series = [Series::new("absurd".into(), 0, false, points)];
        assert_complete(&throughput(None, &Caches::default(), &series).unwrap());
    }

    fn assert_complete(svg: &str) {
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn no_results_give_an_empty_plot() {
        let results = Results::new(Environment::observe(None));
        let series = roofline_series(&results);
        assert_eq!(roofline(&results.environment.caches, &series).unwrap(), "");
    }
}
