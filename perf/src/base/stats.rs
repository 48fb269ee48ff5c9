//! Statistics that are robust against outliers: medians, median absolute deviations and quantiles; and rounding.

/// Returns the median of the values; NaN if there are none.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the median absolute deviation from the median, not scaled to a standard deviation; NaN without values.
pub(crate) fn median_absolute_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&deviations)
}

/// Returns the quantile `at` (0 to 1), with linear interpolation between order statistics; NaN without values.
pub(crate) fn quantile(values: &[f64], at: f64) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = at.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

/// Rounds a value to `digits` significant decimal digits, so that files do not hold meaningless digits.
pub(crate) fn round_significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_deviation_far() {
        let quiet = [10.0, 11.0, 10.5, 10.2, 10.8];
        let disturbed = [10.0, 11.0, 10.5, 10.2, 1e6];
        assert!((median(&quiet) - median(&disturbed)).abs() < 0.5);
        assert!(median_absolute_deviation(&disturbed) < 1.0);
    }

    #[test]
    fn the_median_absolute_deviation_matches_a_known_example() {
        assert_eq!(median_absolute_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
    }

    #[test]
    fn quantiles_interpolate_and_clamp() {
        let values = [0.0, 10.0];
        assert_eq!(quantile(&values, 0.25), 2.5);
        assert_eq!(quantile(&values, -1.0), 0.0);
        assert_eq!(quantile(&values, 2.0), 10.0);
    }

    #[test]
    fn rounding_keeps_significant_digits() {
        assert_eq!(round_significant(123_456.0, 3), 123_000.0);
        assert_eq!(round_significant(0.001_234_56, 3), 0.001_23);
        assert_eq!(round_significant(-9.996, 3), -10.0);
        assert_eq!(round_significant(0.0, 3), 0.0);
        assert!(round_significant(f64::NAN, 3).is_nan());
        assert_eq!(round_significant(1e-320, 3), 1e-320);
    }
}
