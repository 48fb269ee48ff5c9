//! The plots of the report, as SVG text.

use crate::environment::human_bytes;
use crate::results::Results;
use crate::roofline::Touch;
use crate::row::Row;
use crate::stats::round_significant;
use crate::tables::{figure, label, short_count};
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 400;
/// The legend below a plot: lines beside one another, pixels from row to row, from the left edge, and of
/// a sample of a line.
const LEGEND_COLUMNS: usize = 2;
const LEGEND_ROW: u32 = 22;
const LEGEND_LEFT: i32 = 84;
const LEGEND_SAMPLE: i32 = 44;
const AXIS: RGBColor = RGBColor(110, 116, 124);
const GRID: RGBColor = RGBColor(228, 231, 235);
const FONT: &str = "system-ui, sans-serif";

/// A line of a plot: what the legend calls it, how it looks, and its points.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) color: RGBColor,
    pub(crate) is_rival: bool,
    /// `(x, y)`, both positive; a `y` of zero is not shown.
    points: Vec<(f64, f64)>,
}

impl Series {
    /// A line in one of the colours of our filters, dashed if it is what ours is compared with.
    pub(crate) fn new(
        label: String,
        color: usize,
        is_rival: bool,
        points: Vec<(f64, f64)>,
    ) -> Self {
        Self { label, color: OURS[color % OURS.len()], is_rival, points }
    }
}

/// Colours of our filters, told apart by people who see colours differently as well (Okabe and Ito).
const OURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(120, 94, 240),
    RGBColor(90, 140, 40),
];
/// Rivals are greys and a brown, and dashed.
const RIVALS: [RGBColor; 5] = [
    RGBColor(30, 30, 30),
    RGBColor(90, 90, 90),
    RGBColor(135, 135, 135),
    RGBColor(180, 180, 180),
    RGBColor(150, 110, 70),
];

/// The series of the rows that are wanted: million operations a second by keys. Colours depend on the
/// whole run, so that a filter looks the same in every plot of it.
pub(crate) fn throughput_series(results: &Results, wanted: impl Fn(&Row) -> bool) -> Vec<Series> {
    with_points(legend(results), results, |row| wanted(row).then_some(row.keys as f64))
}

/// The same of the sweep over loads, by per cent.
pub(crate) fn load_series(results: &Results, wanted: impl Fn(&Row) -> bool) -> Vec<Series> {
    let load = |row: &Row| row.filling().map(|filling| f64::from(filling.load));
    with_points(load_legend(results), results, |row| load(row).filter(|_| wanted(row)))
}

/// Series with the points of all rows that have a place on the x axis.
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

/// Every series of the run without its points, but for those of the sweep over loads.
pub(crate) fn legend(results: &Results) -> Vec<Series> {
    let is_shown =
        |row: &&Row| row.filling().is_none() && !row.is_of_engine() && row.matrix().is_none();
    legend_of(results.rows.iter().filter(is_shown))
}

/// The series of the sweep over loads.
pub(crate) fn load_legend(results: &Results) -> Vec<Series> {
    legend_of(results.rows.iter().filter(|row| row.filling().is_some()))
}

fn legend_of<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let (label, is_rival) = (label(row), row.rival.is_some());
        if series.iter().any(|line| line.label == label) {
            continue;
        }
        let palette: &[RGBColor] = if is_rival { &RIVALS } else { &OURS };
        let index = series.iter().filter(|line| line.is_rival == is_rival).count();
        series.push(Series {
            label,
            color: palette[index % palette.len()],
            is_rival,
            points: Vec::new(),
        });
    }
    series
}

/// Throughput by number of keys, both axes logarithmic.
pub(crate) fn throughput(title: &str, series: &[Series]) -> Result<String> {
    let keys = |x: f64| short_count(x.round() as u64);
    draw(title, "keys", "M ops/s", keys, Scale::Powers(10.0), series)
}

/// Anything by number of keys, both axes logarithmic, with its legend below it: a picture that can stand
/// alone.
pub(crate) fn with_legend(title: &str, y_title: &str, series: &[Series]) -> Result<String> {
    let keys = |x: f64| if x < 1000.0 { format!("{x:.0}") } else { short_count(x.round() as u64) };
    let axes = Axes { x_title: "keys", y_title, x_label: &keys, x_scale: Scale::Powers(10.0) };
    alone(title, &axes, series)
}

/// Throughput by threads, with its legend below it.
pub(crate) fn by_threads(title: &str, series: &[Series]) -> Result<String> {
    let threads = |x: f64| format!("{x:.0}");
    let x_scale = Scale::Powers(2.0);
    let axes = Axes { x_title: "threads", y_title: "M ops/s", x_label: &threads, x_scale };
    alone(title, &axes, series)
}

/// A picture that can stand alone.
fn alone(title: &str, axes: &Axes<'_>, series: &[Series]) -> Result<String> {
    let rows = series.len().div_ceil(LEGEND_COLUMNS) as u32;
    let height = HEIGHT + rows * LEGEND_ROW + LEGEND_ROW / 2;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (chart, legend) = root.split_vertically(HEIGHT);
        draw_on(&chart, title, axes, series)?;
        draw_legend(&legend, series)?;
        root.present()?;
    }
    Ok(svg)
}

/// Throughput by load.
pub(crate) fn by_load(title: &str, series: &[Series]) -> Result<String> {
    draw(title, "slots in use", "M ops/s", |x| format!("{x:.0} %"), Scale::Linear, series)
}

/// The machine's limit by size of the working set, and each filter's lines a second over it.
pub(crate) fn roofline(results: &Results) -> Result<String> {
    let limit = |touch: Touch, shade: u8| Series {
        label: touch.to_string(),
        color: RGBColor(shade, shade, shade),
        is_rival: touch == Touch::NoPrefetch,
        points: results
            .roofline
            .iter()
            .map(|point| {
                let (_, speed) =
                    point.by_touch()[Touch::ALL.iter().position(|t| *t == touch).unwrap_or(0)];
                (point.bytes as f64, speed)
            })
            .collect(),
    };
    let mut series: Vec<Series> = Touch::ALL
        .into_iter()
        .zip([150, 60, 110, 180])
        .map(|(touch, shade)| limit(touch, shade))
        .collect();
    // A counting filter's lookups read a fraction of its bytes, so its place is not at them.
    let is_shown = |row: &&Row| {
        row.op == "contains"
            && row.workload.as_deref() == Some("hit")
            && row.api == "batch"
            && row.is_plain()
            && row.filter != "counting-bloom"
    };
    for row in results.rows.iter().filter(is_shown) {
        let (Some(lines), Some(line)) =
            (row.lines_per_op(), legend(results).into_iter().find(|line| line.label == label(row)))
        else {
            continue;
        };
        // A series of one point is drawn as a mark alone.
        series.push(Series { points: vec![(row.bytes as f64, row.mops * lines)], ..line });
    }
    draw(
        "Lines touched a second by working set: the machine's limit and filters' hits",
        "bytes of the working set",
        "M lines/s",
        |x| human_bytes(x.round() as u64),
        Scale::Powers(2.0),
        &series,
    )
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// By their logarithms; labels are the whole powers of this.
    Powers(f64),
    /// As they are; labels are multiples of five.
    Linear,
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Powers(base) => value.log(base),
            Self::Linear => value,
        }
    }

    fn value(self, place: f64) -> f64 {
        match self {
            Self::Powers(base) => base.powf(place),
            Self::Linear => place,
        }
    }
}

struct Axis {
    scale: Scale,
    /// In places.
    range: Range<f64>,
}

impl Axis {
    /// An axis that holds all values with some air around them.
    fn around(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = scale.place(values.clone().fold(f64::INFINITY, f64::min));
        let most = scale.place(values.fold(0.0, f64::max));
        let air = ((most - least) * 0.06).max(0.1);
        Self { scale, range: least - air..most + air }
    }

    fn powers(&self, base: f64, labels: usize) -> Vec<f64> {
        let (first, last) = (self.range.start.ceil() as i32, self.range.end.floor() as i32);
        let step = ((last - first + 1) as usize).div_ceil(labels.max(1)).max(1);
        let powers = (first..=last).step_by(step).map(|power| base.powi(power));
        if base == 10.0 {
            // One power of ten often spans the whole axis: twos and fives as well.
            let between =
                (first - 1..=last).flat_map(|power| [2.0, 5.0].map(|m| m * 10f64.powi(power)));
            let inside = |value: &f64| self.range.contains(&value.log10());
            let mut points: Vec<f64> = powers.chain(between.filter(inside)).collect();
            points.sort_by(f64::total_cmp);
            return points;
        }
        powers.collect()
    }
}

impl Ranged for Axis {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let place = self.scale.place(*value) - self.range.start;
        let share = place / (self.range.end - self.range.start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Powers(base) => self.powers(base, hint.max_num_points()),
            Scale::Linear => {
                let fives =
                    (self.range.start / 5.0).ceil() as i32..=(self.range.end / 5.0).floor() as i32;
                fives.map(|five| f64::from(five) * 5.0).collect()
            }
        }
    }

    fn range(&self) -> Range<f64> {
        self.scale.value(self.range.start)..self.scale.value(self.range.end)
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        // Three digits of a small number are all behind the zeros that follow its point.
        if *value < 0.1 { round_significant(*value, 3).to_string() } else { figure(*value) }
    }
}

/// The axes of a plot; the other one is logarithmic.
struct Axes<'a> {
    x_title: &'a str,
    y_title: &'a str,
    x_label: &'a dyn Fn(f64) -> String,
    x_scale: Scale,
}

fn draw(
    title: &str,
    x_title: &str,
    y_title: &str,
    x_label: impl Fn(f64) -> String,
    x_scale: Scale,
    series: &[Series],
) -> Result<String> {
    let mut svg = String::new();
    if series.iter().all(|line| line.points.is_empty()) {
        return Ok(svg);
    }
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        draw_on(&root, title, &Axes { x_title, y_title, x_label: &x_label, x_scale }, series)?;
        root.present().map_err(|error| anyhow!("plotting {title:?}: {error}"))?;
    }
    Ok(svg)
}

type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;

fn draw_on(area: &Area<'_>, title: &str, axes: &Axes<'_>, series: &[Series]) -> Result<()> {
    let xs = series.iter().flat_map(|line| line.points.iter().map(|point| point.0));
    let ys = series.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let ys = ys.filter(|y| *y > 0.0);
    let (x_axis, y_axis) = (Axis::around(axes.x_scale, xs), Axis::around(Scale::Powers(10.0), ys));
    let failed = |error: &dyn std::fmt::Display| anyhow!("plotting {title:?}: {error}");
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 17).into_font().color(&RGBColor(36, 41, 47)))
        .margin(10)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(x_axis, y_axis)
        .map_err(|error| failed(&error))?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(AXIS)
        .label_style((FONT, 14).into_font().color(&AXIS))
        .axis_desc_style((FONT, 14).into_font().color(&AXIS))
        .x_desc(axes.x_title)
        .y_desc(axes.y_title)
        .x_labels(10)
        .x_label_formatter(&|x| (axes.x_label)(*x))
        .draw()
        .map_err(|error| failed(&error))?;
    for line in series {
        draw_series(&mut chart, line).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// A sample of each line and what it is called, by columns.
fn draw_legend(area: &Area<'_>, series: &[Series]) -> Result<()> {
    let column_width = (WIDTH as i32 - LEGEND_LEFT) / LEGEND_COLUMNS as i32;
    for (i, line) in series.iter().enumerate() {
        let x = LEGEND_LEFT + (i % LEGEND_COLUMNS) as i32 * column_width;
        let y = (i / LEGEND_COLUMNS) as i32 * LEGEND_ROW as i32 + LEGEND_ROW as i32 / 2;
        let ends = [(x, y), (x + LEGEND_SAMPLE, y)];
        let style = line.color.stroke_width(2);
        if line.is_rival {
            area.draw(&DashedPathElement::new(ends, 5, 4, style))?;
            area.draw(&TriangleMarker::new((x + LEGEND_SAMPLE / 2, y), 5, line.color.filled()))?;
        } else {
            area.draw(&PathElement::new(ends, style))?;
            area.draw(&Circle::new((x + LEGEND_SAMPLE / 2, y), 4, line.color.filled()))?;
        }
        let font = (FONT, 14).into_font().color(&AXIS).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(line.label.clone(), (x + LEGEND_SAMPLE + 8, y), font))?;
    }
    Ok(())
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

fn draw_series(chart: &mut Chart<'_, '_>, line: &Series) -> Result<(), Box<dyn std::error::Error>> {
    // What is zero has no place on a logarithmic axis: the line is broken there.
    for run in line.points.split(|point| point.1 <= 0.0) {
        draw_run(chart, line, run)?;
    }
    Ok(())
}

fn draw_run(
    chart: &mut Chart<'_, '_>,
    line: &Series,
    run: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || run.iter().copied();
    if run.len() > 1 {
        let style = line.color.stroke_width(2);
        if line.is_rival {
            chart.draw_series(DashedLineSeries::new(points(), 5, 4, style))?;
        } else {
            chart.draw_series(LineSeries::new(points(), style))?;
        }
    }
    if line.is_rival {
        chart.draw_series(
            points().map(|point| TriangleMarker::new(point, 5, line.color.filled())),
        )?;
    } else {
        chart.draw_series(points().map(|point| Circle::new(point, 4, line.color.filled())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::row::tests::example;

    #[test]
    fn plots_are_whole_svg_texts() {
        let mut results = Results::new(Environment::observe(None));
        for keys in [100_000, 1_000_000] {
            results.put(Row { keys, ..example("bloom", "12-bit", None, 2.0) });
            results.put(Row { keys, ..example("bloom", "12-bit", Some("fastbloom"), 9.0) });
        }
        let series = throughput_series(&results, |_| true);
        assert_eq!(series.len(), 2);
        let svg = throughput("misses", &series).unwrap();
        assert_whole(&svg);
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
        let svg = by_load("misses", &series).unwrap();
        assert_whole(&svg);
        assert!(svg.contains("75 %") && svg.contains("90 %"));
    }

    fn assert_whole(svg: &str) {
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn nothing_measured_is_no_plot() {
        let results = Results::new(Environment::observe(None));
        assert_eq!(roofline(&results).unwrap(), "");
    }
}
