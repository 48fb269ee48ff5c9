//! The look of a line in a plot: a colour, a marker and a stroke. Markers and strokes help readers
//! who do not see colours.

use crate::model::Rival;
use plotters::prelude::RGBColor;
use trommel::FilterKind;

/// The look of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(super) color: RGBColor,
    pub(super) marker: Marker,
    /// Whether the marker is only an outline, as for rivals.
    pub(super) is_hollow: bool,
    pub(super) stroke: Stroke,
}

/// The shape at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Circle,
    Square,
    Diamond,
    Up,
    Down,
    Left,
    Right,
    Plus,
}

/// The line between points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    None,
    /// Width in pixels.
    Solid(u32),
    /// Lengths, in pixels, of a dash and of the gap after it.
    Dashed(u32, u32),
}

/// The markers of all lines, ours and those of rivals. Each of our kinds has its own marker.
const MARKERS: [Marker; 8] = [
    Marker::Circle,
    Marker::Square,
    Marker::Diamond,
    Marker::Up,
    Marker::Down,
    Marker::Left,
    Marker::Right,
    Marker::Plus,
];
/// Colours of our filters. The first six are from the palette of Okabe and Ito, whose colours colour-blind people can
/// tell apart.
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

/// Colours of rivals: black, brown, grey and wine red. Their lines are dashed.
pub(super) const RIVALS: [RGBColor; 4] =
    [RGBColor(40, 40, 40), RGBColor(160, 100, 40), RGBColor(125, 125, 125), RGBColor(135, 45, 75)];

/// The strokes of lines in the same colour, such as several sizes of one kind.
const SIZES: [Stroke; 4] =
    [Stroke::Solid(2), Stroke::Dashed(2, 3), Stroke::Dashed(10, 3), Stroke::Dashed(5, 6)];

/// The strokes of rivals.
const SIZES_OF_RIVALS: [Stroke; 4] =
    [Stroke::Dashed(5, 4), Stroke::Dashed(2, 3), Stroke::Dashed(10, 3), Stroke::Dashed(5, 6)];

pub(super) const AXIS: RGBColor = RGBColor(80, 86, 94);
pub(super) const GRID: RGBColor = RGBColor(228, 231, 235);
pub(super) const INK: RGBColor = RGBColor(36, 41, 47);
pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);

/// About half the width of a marker, in pixels.
const RADIUS: i32 = 4;

impl Look {
    /// Returns the look of one of our kinds, the same in every plot. If a plot shows several sizes of the kind, `size`
    /// is the number of the size, from 0.
    pub(crate) fn of_kind(kind: &str, size: usize) -> Self {
        let index = FilterKind::ALL.iter().position(|known| known.to_string() == kind);
        Self { stroke: SIZES[size % SIZES.len()], ..Self::ours(index.unwrap_or(0)) }
    }

    /// Returns the look of our line number `index`.
    pub(crate) fn ours(index: usize) -> Self {
        Self {
            color: OURS[index % OURS.len()],
            marker: MARKERS[index % MARKERS.len()],
            is_hollow: false,
            stroke: Stroke::Solid(2),
        }
    }

    /// Returns the look of a rival, the same in every plot. If a plot shows several sizes of the rival, `size` is the
    /// number of the size, from 0. Results of an older program can name rivals that this program does not know;
    /// these rivals look alike.
    pub(crate) fn of_rival(name: &str, size: usize) -> Self {
        let index = Rival::ALL.iter().position(|known| known.to_string() == name);
        Self::rival(index.unwrap_or(Rival::ALL.len()), size)
    }

    /// Returns the look of rival number `index` (or of another line that is not ours), with the stroke of size number
    /// `size`. Looks repeat only after 32 rivals: each of the 8 markers has each of the 4 colours once.
    pub(crate) fn rival(index: usize, size: usize) -> Self {
        let rounds = index / MARKERS.len();
        Self {
            color: RIVALS[(index + rounds) % RIVALS.len()],
            marker: MARKERS[index % MARKERS.len()],
            is_hollow: true,
            stroke: SIZES_OF_RIVALS[size % SIZES_OF_RIVALS.len()],
        }
    }

    /// Returns this look, dashed and with hollow markers: for the rival of a line of ours.
    pub(crate) fn compared(self) -> Self {
        Self { is_hollow: true, stroke: Stroke::Dashed(5, 4), ..self }
    }

    /// Returns the look of the roofline: a heavy line without markers.
    pub(crate) fn roofline() -> Self {
        let (color, stroke) = (INK, Stroke::Solid(3));
        Self { color, marker: Marker::None, is_hollow: false, stroke }
    }

    /// Returns this look without markers and with a thin line: for the curve of an equation.
    pub(crate) fn curve(self) -> Self {
        let stroke = match self.stroke {
            Stroke::Solid(_) => Stroke::Solid(1),
            other => other,
        };
        Self { marker: Marker::None, stroke, ..self }
    }

    /// Returns this look with stroke number `stroke`.
    pub(crate) fn in_stroke(self, stroke: usize) -> Self {
        Self { stroke: SIZES[stroke % SIZES.len()], ..self }
    }

    /// Whether this is the look of a rival, with hollow markers.
    pub(crate) fn is_rival(&self) -> bool {
        self.is_hollow
    }

    /// Returns this look without markers, with stroke number `stroke`.
    pub(super) fn without_points(self, stroke: usize) -> Self {
        Self { marker: Marker::None, ..self.in_stroke(stroke) }
    }

    /// Returns this look with markers only.
    pub(crate) fn points(self) -> Self {
        Self { stroke: Stroke::None, ..self }
    }

    /// Returns the corners of the marker relative to its point, in pixels.
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
            Marker::Left => vec![(-r - 1, 0), (r, -r - 1), (r, r + 1)],
            Marker::Right => vec![(r + 1, 0), (-r, -r - 1), (-r, r + 1)],
            Marker::Plus => {
                let upper = [(-1, -r - 1), (1, -r - 1), (1, -1), (r + 1, -1), (r + 1, 1), (1, 1)];
                let lower = upper.map(|(x, y)| (-x, -y));
                upper.into_iter().chain(lower).collect()
            }
        }
    }
}

/// Replaces the colours of a picture with variables of the page's style sheet, which defines them for light and dark
/// mode. The original colour remains as the fallback of each variable.
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
    fn kinds_and_rivals_all_look_different() {
        let kinds = FilterKind::ALL.iter().map(|kind| Look::of_kind(&kind.to_string(), 0));
        let looks: Vec<Look> = kinds.chain((0..32).map(|index| Look::rival(index, 0))).collect();
        let distinct: HashSet<String> = looks.iter().map(|look| format!("{look:?}")).collect();
        assert_eq!(distinct.len(), looks.len());
    }

    #[test]
    fn known_rivals_look_different_in_colour_or_marker() {
        let looks = Rival::ALL.iter().map(|rival| Look::of_rival(&rival.to_string(), 0));
        let distinct: HashSet<String> = looks.map(|it| format!("{:?}", it.points())).collect();
        assert_eq!(distinct.len(), Rival::ALL.len());
    }

    #[test]
    fn kinds_differ_without_colours() {
        let kinds = FilterKind::ALL.iter().map(|kind| Look::of_kind(&kind.to_string(), 0));
        let shapes: HashSet<_> = kinds.map(|look| look.corners()).collect();
        assert_eq!(shapes.len(), FilterKind::ALL.len());
    }

    #[test]
    fn sizes_of_a_kind_differ_only_in_their_stroke() {
        let [first, second] = [0, 1].map(|size| Look::of_kind("bloom", size));
        assert_eq!((first.color, first.marker), (second.color, second.marker));
        assert_ne!(first.stroke, second.stroke);
    }

    #[test]
    fn colours_become_variables_of_the_page() {
        let themed = themed("<a fill=\"#0072B2\"/><b stroke=\"#FFFFFF\"/>");
        assert_eq!(
            themed,
            "<a fill=\"var(--ours-0,#0072B2)\"/><b stroke=\"var(--paper,#FFFFFF)\"/>"
        );
    }
}
