//! Axes: the positions of values, and the values that are labelled.

use crate::base::stats::round_significant;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// The way in which an axis maps values to positions, and the values that it labels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    /// The position is the logarithm to this base. Integral powers of the base are labelled: all of them or, if there
    /// are many, every second, every third and so on. For base 10 see [`FEW_POWERS`] too.
    Powers(f64),
    /// The position is the value. Multiples of a step are labelled. The step is 1, 2 or 5 times a power of ten.
    Linear,
    /// Like `Linear`, but with fewer labels, because the labels are long names.
    Steps,
    /// The position is the value. Every integer is labelled.
    Rows,
}

impl Scale {
    fn position(self, value: f64) -> f64 {
        match self {
            Self::Powers(base) => value.log(base),
            Self::Linear | Self::Steps | Self::Rows => value,
        }
    }

    fn value(self, position: f64) -> f64 {
        match self {
            Self::Powers(base) => base.powf(position),
            Self::Linear | Self::Steps | Self::Rows => position,
        }
    }

    /// Whether a value can be shown: a logarithmic axis cannot show zero or a negative value.
    pub(super) fn holds(self, value: f64) -> bool {
        self.position(value).is_finite()
    }
}

/// The most intervals between the labels of a linear axis, and of an axis of steps.
const LINEAR_LABELS: f64 = 8.0;
const STEP_LABELS: f64 = 4.0;
/// The most rows that are labelled after the first one.
const MOST_ROWS: f64 = 100.0;
/// If the exponents of the first and the last power of ten on an axis differ by at most this number, twice and five
/// times each power are labelled too.
const FEW_POWERS: i32 = 3;

pub(super) struct Axis {
    scale: Scale,
    /// The first and the last position.
    range: Range<f64>,
}

impl Axis {
    /// Creates an axis that spans all values, with a margin at both ends. The caller must ensure that [`Scale::holds`]
    /// is true of each value. Without values, the axis spans the positions 0 to 1.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for position in values.map(|value| scale.position(value)) {
            (least, most) = (least.min(position), most.max(position));
        }
        if least > most {
            (least, most) = (0.0, 1.0);
        }
        let margin = match scale {
            Scale::Rows => 0.7,
            _ => ((most - least) * 0.06).max(0.1),
        };
        Self { scale, range: least - margin..most + margin }
    }

    fn powers(&self, base: f64, labels: usize) -> Vec<f64> {
        let (first, last) = (self.range.start.ceil() as i32, self.range.end.floor() as i32);
        let step = (last.saturating_sub(first).max(0) as usize + 1).div_ceil(labels.max(1));
        let powers = (first..=last).step_by(step.max(1)).map(|power| base.powi(power));
        if base != 10.0 || last.saturating_sub(first) > FEW_POWERS {
            return powers.collect();
        }
        // Powers of ten alone would be too few labels, so twice and five times each power are
        // labelled too.
        let between =
            (first - 1..=last).flat_map(|power| [2.0, 5.0].map(|m| m * 10f64.powi(power)));
        let inside = |value: &f64| self.range.contains(&value.log10());
        let mut points: Vec<f64> = powers.chain(between.filter(inside)).collect();
        points.sort_by(f64::total_cmp);
        points
    }

    fn multiples(&self, labels: f64) -> Vec<f64> {
        let least = (self.range.end - self.range.start) / labels;
        let power = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= least);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.range.start / step).ceil();
        let count = ((self.range.end / step).floor() - first).clamp(0.0, 2.0 * LINEAR_LABELS);
        (0..=count as usize).map(|i| (first + i as f64) * step).collect()
    }

    fn whole(&self) -> Vec<f64> {
        let first = self.range.start.ceil();
        let count = (self.range.end.floor() - first).clamp(0.0, MOST_ROWS);
        (0..=count as usize).map(|i| first + i as f64).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let position = self.scale.position(*value) - self.range.start;
        let share = position / (self.range.end - self.range.start);
        // Values far outside the plot are clamped, so that their pixels fit in an `i32`.
        let share = share.clamp(-10.0, 10.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Powers(base) => self.powers(base, hint.max_num_points()),
            Scale::Linear => self.multiples(LINEAR_LABELS),
            Scale::Steps => self.multiples(STEP_LABELS),
            Scale::Rows => self.whole(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.scale.value(self.range.start)..self.scale.value(self.range.end)
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        plain(*value)
    }
}

/// Formats a figure, rounded to three significant digits, without a unit.
pub(super) fn plain(value: f64) -> String {
    round_significant(value, 3).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, values: [f64; 2]) -> Vec<f64> {
        let axis = Axis::around(scale, values.into_iter());
        match scale {
            Scale::Powers(base) => axis.powers(base, 10),
            Scale::Linear => axis.multiples(LINEAR_LABELS),
            Scale::Steps => axis.multiples(STEP_LABELS),
            Scale::Rows => axis.whole(),
        }
    }

    #[test]
    fn labels_are_round_and_few() {
        assert_eq!(labels(Scale::Linear, [75.0, 95.0]), [75.0, 80.0, 85.0, 90.0, 95.0]);
        assert_eq!(labels(Scale::Linear, [0.0, 3.0]), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
        assert_eq!(labels(Scale::Steps, [0.0, 11.0]), [0.0, 5.0, 10.0]);
        assert_eq!(labels(Scale::Powers(10.0), [1.0, 20.0]), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(labels(Scale::Powers(2.0), [1.0, 8.0]), [1.0, 2.0, 4.0, 8.0]);
    }

    #[test]
    fn extreme_values_have_few_labels_too() {
        for scale in [Scale::Linear, Scale::Powers(2.0), Scale::Powers(10.0)] {
            for values in [[1e-300, 1e300], [5.0, 5.0], [1e300, 1.5e308]] {
                assert!(labels(scale, values).len() <= 40, "{scale:?} {values:?}");
            }
        }
    }
}
