//! How a line of a plot looks: a colour, a marker and a stroke, any two of which tell it from the others, so
//! that the plots can be read without seeing colours.

use plotters::prelude::RGBColor;
use trommel::FilterKind;

/// How one line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(super) color: RGBColor,
    pub(super) marker: Marker,
    /// Whether the marker is an outline: what ours are compared with.
    pub(super) is_hollow: bool,
    pub(super) stroke: Stroke,
}

/// What stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Circle,
    Square,
    Diamond,
    Up,
    Down,
}

/// What joins points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    None,
    /// Pixels wide.
    Solid(u32),
    /// Pixels drawn, and left out.
    Dashed(u32, u32),
}

const MARKERS: [Marker; 5] =
    [Marker::Circle, Marker::Square, Marker::Diamond, Marker::Up, Marker::Down];

/// Colours of our filters, told apart by people who see colours differently as well (Okabe and Ito).
pub(super) const OURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(120, 94, 240),
    RGBColor(90, 140, 40),
];

/// What ours are compared with is grey or brown, and dashed.
pub(super) const RIVALS: [RGBColor; 4] =
    [RGBColor(40, 40, 40), RGBColor(95, 95, 95), RGBColor(140, 140, 140), RGBColor(150, 110, 70)];

/// Several sizes of one kind: the first is solid.
const SIZES: [Stroke; 4] =
    [Stroke::Solid(2), Stroke::Dashed(2, 3), Stroke::Dashed(10, 3), Stroke::Dashed(5, 6)];

pub(super) const AXIS: RGBColor = RGBColor(110, 116, 124);
pub(super) const GRID: RGBColor = RGBColor(228, 231, 235);
pub(super) const INK: RGBColor = RGBColor(36, 41, 47);
pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);

/// Half the width of a marker.
const RADIUS: i32 = 4;

impl Look {
    /// That of a kind of ours, the same in every plot; `size` counts the sizes of the kind in a plot.
    pub(crate) fn of_kind(kind: &str, size: usize) -> Self {
        let index = FilterKind::ALL.iter().position(|known| known.to_string() == kind);
        Self { stroke: SIZES[size % SIZES.len()], ..Self::ours(index.unwrap_or(0)) }
    }

    /// That of a line of ours by its number.
    pub(crate) fn ours(index: usize) -> Self {
        Self {
            color: OURS[index % OURS.len()],
            marker: MARKERS[index % MARKERS.len()],
            is_hollow: false,
            stroke: Stroke::Solid(2),
        }
    }

    /// That of a rival by its number: shades and markers are not as many, so that their pairs repeat late.
    pub(crate) fn rival(index: usize) -> Self {
        Self {
            color: RIVALS[index % RIVALS.len()],
            marker: MARKERS[index % MARKERS.len()],
            is_hollow: true,
            stroke: Stroke::Dashed(5, 4),
        }
    }

    /// The same, as what a line of ours is compared with.
    pub(crate) fn compared(self) -> Self {
        Self { is_hollow: true, stroke: Stroke::Dashed(5, 4), ..self }
    }

    /// A limit: a heavy line without points.
    pub(crate) fn limit() -> Self {
        let (color, stroke) = (INK, Stroke::Solid(3));
        Self { color, marker: Marker::None, is_hollow: false, stroke }
    }

    /// The same without points: a curve of an equation.
    pub(crate) fn curve(self) -> Self {
        let stroke = match self.stroke {
            Stroke::Solid(_) => Stroke::Solid(1),
            other => other,
        };
        Self { marker: Marker::None, stroke, ..self }
    }

    /// The same in the stroke of that number.
    pub(crate) fn in_stroke(self, stroke: usize) -> Self {
        Self { stroke: SIZES[stroke % SIZES.len()], ..self }
    }

    /// Whether it is that of what ours are compared with.
    pub(crate) fn is_rival(&self) -> bool {
        self.is_hollow
    }

    /// The same without points, in the stroke of that number.
    pub(super) fn without_points(self, stroke: usize) -> Self {
        Self { marker: Marker::None, ..self.in_stroke(stroke) }
    }

    /// The same without a line: points that nothing lies between.
    pub(crate) fn points(self) -> Self {
        Self { stroke: Stroke::None, ..self }
    }

    /// The corners of the marker around a point, in pixels.
    pub(super) fn corners(&self) -> Vec<(i32, i32)> {
        let r = RADIUS;
        match self.marker {
            Marker::None => Vec::new(),
            Marker::Circle => {
                vec![(r, 0), (3, 3), (0, r), (-3, 3), (-r, 0), (-3, -3), (0, -r), (3, -3)]
            }
            Marker::Square => vec![(-r, -r), (r, -r), (r, r), (-r, r)],
            Marker::Diamond => vec![(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)],
            Marker::Up => vec![(0, -r - 1), (r + 1, r), (-r - 1, r)],
            Marker::Down => vec![(0, r + 1), (r + 1, -r), (-r - 1, -r)],
        }
    }
}

/// The picture with its colours as variables of the page's style, which has them for light and dark; each
/// keeps the colour that it has here where the page says nothing.
pub(crate) fn themed(svg: &str) -> String {
    let ours = OURS.iter().enumerate().map(|(i, color)| (format!("ours-{i}"), *color));
    let rivals = RIVALS.iter().enumerate().map(|(i, color)| (format!("rival-{i}"), *color));
    let rest = [("axis", AXIS), ("grid", GRID), ("ink", INK), ("paper", PAPER)];
    let rest = rest.into_iter().map(|(name, color)| (name.to_owned(), color));
    let mut themed = svg.to_owned();
    for (name, RGBColor(r, g, b)) in ours.chain(rivals).chain(rest) {
        let hex = format!("#{r:02X}{g:02X}{b:02X}");
        themed = themed.replace(&format!("\"{hex}\""), &format!("\"var(--{name},{hex})\""));
    }
    themed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn kinds_and_rivals_look_unlike_each_other() {
        let kinds = FilterKind::ALL.iter().map(|kind| Look::of_kind(&kind.to_string(), 0));
        let looks: Vec<Look> = kinds.chain((0..10).map(Look::rival)).collect();
        let distinct: HashSet<String> = looks.iter().map(|look| format!("{look:?}")).collect();
        assert_eq!(distinct.len(), looks.len());
    }

    #[test]
    fn sizes_of_a_kind_differ_by_their_stroke_alone() {
        let [first, second] = [0, 1].map(|size| Look::of_kind("bloom", size));
        assert_eq!((first.color, first.marker), (second.color, second.marker));
        assert_ne!(first.stroke, second.stroke);
    }

    #[test]
    fn every_colour_of_a_picture_is_the_pages() {
        let themed = themed("<a fill=\"#0072B2\"/><b stroke=\"#FFFFFF\"/>");
        assert_eq!(
            themed,
            "<a fill=\"var(--ours-0,#0072B2)\"/><b stroke=\"var(--paper,#FFFFFF)\"/>"
        );
    }
}
