//! Draws axes, marks and lines as SVG text.

use super::Series;
use super::axis::{Axis, Scale};
use super::look::{AXIS, GRID, INK, Look, PAPER, Stroke};
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;

/// The legend below a plot: its number of columns and, in pixels, the height of a row, the left margin and the length
/// of the sample of a line.
const LEGEND_COLUMNS: usize = 2;
const LEGEND_ROW: u32 = 22;
const LEGEND_LEFT: i32 = 40;
const LEGEND_SAMPLE: i32 = 44;
const FONT: &str = "system-ui, sans-serif";

/// Width and height, in pixels, of a line's sample in the legend of a page.
const SAMPLE: (u32, u32) = (34, 14);

/// A plot without its lines: size, title, axes and marks.
pub(crate) struct Frame<'a> {
    /// Width and height in pixels.
    pub(super) size: (u32, u32),
    /// The title above the plot; `None` if the page shows a title outside of the plot.
    pub(super) title: Option<&'a str>,
    pub(super) x: Side<'a>,
    pub(super) y: Side<'a>,
    /// Values on the x axis that are marked with a name.
    pub(super) marks: Vec<(f64, &'static str)>,
    /// Width, in pixels, of the labels of the y axis.
    pub(super) y_labels: u32,
    /// The font size in pixels.
    pub(super) font_size: u32,
}

/// One axis.
pub(crate) struct Side<'a> {
    pub(super) title: &'a str,
    pub(super) scale: Scale,
    pub(super) label: &'a dyn Fn(f64) -> String,
}

type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

fn plot_error(error: impl Display) -> anyhow::Error {
    anyhow!("plotting: {error}")
}

impl Frame<'_> {
    /// Draws the lines in this frame. Returns an empty text if no point can be shown.
    pub(super) fn draw(&self, series: &[Series]) -> Result<String> {
        let mut svg = String::new();
        if self.points(series).next().is_none() {
            return Ok(svg);
        }
        {
            let root = SVGBackend::with_string(&mut svg, self.size).into_drawing_area();
            self.draw_on(&root, series)?;
            root.present().map_err(plot_error)?;
        }
        Ok(svg)
    }

    /// Draws the lines in this frame with a legend below, so that the picture can stand alone. If no point can be
    /// shown, the frame is empty.
    pub(super) fn draw_with_legend(&self, series: &[Series]) -> Result<String> {
        let rows = series.len().div_ceil(LEGEND_COLUMNS) as u32;
        let (width, height) = self.size;
        let mut svg = String::new();
        {
            let size = (width, height + rows * LEGEND_ROW + LEGEND_ROW / 2);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&PAPER).map_err(plot_error)?;
            let (chart, legend) = root.split_vertically(height);
            self.draw_on(&chart, series)?;
            draw_legend(&legend, width, series)?;
            root.present().map_err(plot_error)?;
        }
        Ok(svg)
    }

    /// Draws the lines with a legend if the frame has a title, and otherwise as [`Frame::draw`] does.
    pub(super) fn draw_where_shown(&self, series: &[Series]) -> Result<String> {
        if self.title.is_some() { self.draw_with_legend(series) } else { self.draw(series) }
    }

    /// Returns the points that both axes can show.
    fn points<'s>(&self, series: &'s [Series]) -> impl Iterator<Item = (f64, f64)> + use<'s> {
        let (x, y) = (self.x.scale, self.y.scale);
        let all = series.iter().flat_map(|line| line.points.iter().copied());
        all.filter(move |point| x.holds(point.0) && y.holds(point.1))
    }

    fn draw_on(&self, area: &Area<'_>, series: &[Series]) -> Result<()> {
        let x_axis = Axis::around(self.x.scale, self.points(series).map(|point| point.0));
        let y_axis = Axis::around(self.y.scale, self.points(series).map(|point| point.1));
        let mut builder = ChartBuilder::on(area);
        if let Some(title) = self.title {
            builder.caption(title, (FONT, 17).into_font().color(&INK));
        }
        let mut chart = builder
            .margin(10)
            .x_label_area_size(3 * self.font_size)
            .y_label_area_size(self.y_labels)
            .build_cartesian_2d(x_axis, y_axis)
            .map_err(plot_error)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style((FONT, self.font_size).into_font().color(&AXIS))
            .axis_desc_style((FONT, self.font_size).into_font().color(&AXIS))
            .x_desc(self.x.title)
            .y_desc(self.y.title)
            .x_labels(7)
            .x_label_formatter(&|x| (self.x.label)(*x))
            .y_label_formatter(&|y| (self.y.label)(*y))
            .draw()
            .map_err(plot_error)?;
        self.draw_marks(&chart)?;
        for line in series {
            self.draw_series(&mut chart, line).map_err(plot_error)?;
        }
        Ok(())
    }

    /// Draws a vertical line at each mark that is in the plot, with the mark's name at the top.
    fn draw_marks(&self, chart: &Chart<'_, '_>) -> Result<()> {
        let area = chart.plotting_area();
        let range = area.get_x_range();
        let (_, pixels) = area.get_pixel_range();
        for (value, name) in self.marks.iter().filter(|mark| range.contains(&mark.0)) {
            let (x, _) = area.map_coordinate(&(*value, area.get_y_range().start));
            let (area, (left, top)) = (area.strip_coord_spec(), area.get_base_pixel());
            let (x, height) = (x - left, pixels.end - top);
            let line = DashedPathElement::new([(x, 0), (x, height)], 2, 4, AXIS.stroke_width(1));
            area.draw(&line).map_err(plot_error)?;
            let font = (FONT, self.font_size - 2)
                .into_font()
                .color(&AXIS)
                .pos(Pos::new(HPos::Right, VPos::Top));
            area.draw(&Text::new(*name, (x - 3, 1), font)).map_err(plot_error)?;
        }
        Ok(())
    }

    fn draw_series(
        &self,
        chart: &mut Chart<'_, '_>,
        line: &Series,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let is_shown = |(x, y): &(f64, f64)| self.x.scale.holds(*x) && self.y.scale.holds(*y);
        // A point that an axis cannot show, such as zero on a logarithmic axis, interrupts the line.
        for run in line.points.split(|point| !is_shown(point)) {
            let points = || run.iter().copied();
            if run.len() > 1 {
                match line.look.stroke {
                    Stroke::None => {}
                    Stroke::Solid(width) => {
                        let style = line.look.color.stroke_width(width);
                        chart.draw_series(LineSeries::new(points(), style))?;
                    }
                    Stroke::Dashed(drawn, left_out) => {
                        let style = line.look.color.stroke_width(2);
                        chart.draw_series(DashedLineSeries::new(
                            points(),
                            drawn,
                            left_out,
                            style,
                        ))?;
                    }
                }
            }
            let corners = line.look.corners();
            if !corners.is_empty() {
                let (fill, edge) = styles(&line.look);
                chart.draw_series(points().map(|point| {
                    EmptyElement::at(point)
                        + Polygon::new(corners.clone(), fill)
                        + PathElement::new(closed(&corners), edge)
                }))?;
            }
        }
        Ok(())
    }
}

/// Returns two styles: that of the area of a marker and that of its outline.
fn styles(look: &Look) -> (ShapeStyle, ShapeStyle) {
    let fill = if look.is_hollow { PAPER } else { look.color };
    (fill.filled(), look.color.stroke_width(2))
}

/// Appends the first corner, so that the outline is closed.
fn closed(corners: &[(i32, i32)]) -> Vec<(i32, i32)> {
    corners.iter().chain(corners.first()).copied().collect()
}

/// Draws a sample of a line for the legend of a page.
pub(crate) fn sample(look: Look) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SAMPLE).into_drawing_area();
        let middle = SAMPLE.1 as i32 / 2;
        draw_sample(&root, look, (1, middle), SAMPLE.0 as i32 - 2)?;
        root.present().map_err(plot_error)?;
    }
    Ok(svg)
}

/// Draws a line from a point to the right, with the marker at its middle.
fn draw_sample(area: &Area<'_>, look: Look, (x, y): (i32, i32), width: i32) -> Result<()> {
    let ends = [(x, y), (x + width, y)];
    match look.stroke {
        Stroke::None => {}
        Stroke::Solid(pixels) => {
            let line = PathElement::new(ends, look.color.stroke_width(pixels));
            area.draw(&line).map_err(plot_error)?;
        }
        Stroke::Dashed(drawn, left_out) => {
            let style = look.color.stroke_width(2);
            let line = DashedPathElement::new(ends, drawn, left_out, style);
            area.draw(&line).map_err(plot_error)?;
        }
    }
    let at = |(dx, dy): (i32, i32)| (x + width / 2 + dx, y + dy);
    let corners: Vec<(i32, i32)> = look.corners().into_iter().map(at).collect();
    if !corners.is_empty() {
        let (fill, edge) = styles(&look);
        area.draw(&Polygon::new(corners.clone(), fill)).map_err(plot_error)?;
        area.draw(&PathElement::new(closed(&corners), edge)).map_err(plot_error)?;
    }
    Ok(())
}

/// Draws a sample of each line, and its label, in columns.
fn draw_legend(area: &Area<'_>, width: u32, series: &[Series]) -> Result<()> {
    let column_width = (width as i32 - LEGEND_LEFT) / LEGEND_COLUMNS as i32;
    for (i, line) in series.iter().enumerate() {
        let x = LEGEND_LEFT + (i % LEGEND_COLUMNS) as i32 * column_width;
        let y = (i / LEGEND_COLUMNS) as i32 * LEGEND_ROW as i32 + LEGEND_ROW as i32 / 2;
        draw_sample(area, line.look, (x, y), LEGEND_SAMPLE)?;
        let font = (FONT, 14).into_font().color(&AXIS).pos(Pos::new(HPos::Left, VPos::Center));
        let label = Text::new(line.label.clone(), (x + LEGEND_SAMPLE + 8, y), font);
        area.draw(&label).map_err(plot_error)?;
    }
    Ok(())
}
