//! False-positive rates over bits per key: points measured on absent keys, and the curves of the equations.

use super::{Look, Series};
use crate::model::Row;
use crate::store::results::Results;
use trommel::bloom::{CacheLine, Layout, Register, SplitBlock, Standard};
use trommel::{AnyFilter, Filter as _, FilterKind, FilterSpec};

/// The load, in per cent, for which filters with slots are built to draw their curves.
const LOAD_PERCENT: usize = 95;
/// [`LOAD_PERCENT`] as a share.
pub(crate) const RATES_AT_LOAD: f64 = LOAD_PERCENT as f64 / 100.0;
/// The number of keys for which filters with slots are built. Their memory, divided by this number, gives the bits per
/// key. The memory is rounded up to whole blocks, which matters little with this many keys.
const KEYS: usize = 100_000;
/// The numbers of bits per key at which the curves of Bloom filters are drawn, in units of half a bit: 6 to 20 bits.
const HALF_BITS: std::ops::RangeInclusive<u32> = 12..=40;
/// The widths of remainders and fingerprints on the curves, in bits.
const WIDTHS: std::ops::RangeInclusive<u32> = 4..=16;
/// The loads, in per cent, on the curve of [`FilterKind::CacheLineQuotient`]. Its remainders always have 8 bits, so the
/// curve varies the load instead of the width.
const LOADS: std::ops::RangeInclusive<usize> = 50..=LOAD_PERCENT;

/// Returns the measured false-positive rates over the filters' bits per key, as points without lines; [`rate_curves`]
/// returns the lines of the plot. The points of all sizes of a kind form one series, as do the points of all sizes of a
/// rival.
///
/// Counting filters are left out, because their counters are four fifths of their bits. Quotient and cuckoo filters,
/// ours and rivals, are left out at loads that are a percentage point or more below [`RATES_AT_LOAD`]: at such loads,
/// they have more bits per key at about the same rate, so their points would lie above the lines. Only
/// `cache-line-quotient` is shown at every load.
pub(crate) fn rate_points(results: &Results) -> Vec<Series> {
    let has_load_of_lines = |row: &Row| {
        row.case.filter == FilterKind::CacheLineQuotient.to_string()
            || row.load_factor.is_none_or(|load| load > RATES_AT_LOAD - 0.01)
    };
    let is_shown = |row: &&Row| {
        row.case.filter != FilterKind::CountingBloom.to_string()
            && !row.case.is_of_engine()
            && row.case.matrix.is_none()
            && row.case.kernels.is_none()
            && has_load_of_lines(row)
    };
    let mut series: Vec<Series> = Vec::new();
    for row in results.rows.iter().filter(is_shown) {
        let Some(rate) = row.fpr_measured else { continue };
        let (subject, point) = (row.case.subject(), (row.bits_per_key, rate));
        match series.iter_mut().find(|line| line.label == subject) {
            Some(line) if line.points.contains(&point) => (),
            Some(line) => line.points.push(point),
            None => {
                let look = if row.case.is_of_rival() {
                    Look::of_rival(subject, 0)
                } else {
                    Look::of_kind(subject, 0)
                };
                let (label, points) = (subject.to_owned(), vec![point]);
                series.push(Series { label, look: look.points(), points });
            }
        }
    }
    series
}

/// Returns the curves of those of our kinds that were measured. For Bloom filters, each point has the best number of
/// hashes for its bits per key. Quotient and cuckoo filters have a point for each slot width, at the load
/// [`RATES_AT_LOAD`]. Cache-line quotient filters have a point for each load in [`LOADS`].
pub(crate) fn rate_curves(results: &Results) -> Vec<Series> {
    let is_measured = |kind: &&FilterKind| {
        let name = kind.to_string();
        results.rows.iter().any(|row| {
            row.case.rival.is_none() && row.case.filter == name && !row.case.is_of_engine()
        })
    };
    let kinds = FilterKind::ALL.iter().filter(is_measured);
    let lines = kinds.map(|kind| Series {
        label: format!("{kind}, equation"),
        look: Look::of_kind(&kind.to_string(), 0).curve(),
        points: curve(*kind),
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// Returns pairs of bits per key and false-positive rate.
fn curve(kind: FilterKind) -> Vec<(f64, f64)> {
    match kind {
        FilterKind::Bloom => bloom::<Standard>(),
        FilterKind::RegisterBloom => bloom::<Register>(),
        FilterKind::SplitBlockBloom => bloom::<SplitBlock>(),
        FilterKind::CacheLineBloom => bloom::<CacheLine>(),
        FilterKind::Quotient | FilterKind::Cuckoo => {
            WIDTHS.filter_map(|bits| full(kind, bits)).collect()
        }
        FilterKind::CacheLineQuotient => by_load(kind),
        _ => Vec::new(),
    }
}

fn bloom<L: Layout>() -> Vec<(f64, f64)> {
    let unit_bits = L::UNIT_BYTES as f64 * 8.0;
    let point = |half_bits: u32| {
        let bits = f64::from(half_bits) / 2.0;
        let keys_per_unit = unit_bits / bits;
        (bits, L::fpr(L::best_hashes(keys_per_unit), keys_per_unit))
    };
    HALF_BITS.map(point).collect()
}

/// Returns the point for remainders or fingerprints of `bits` bits; `None` if the kind does not support this width.
fn full(kind: FilterKind, bits: u32) -> Option<(f64, f64)> {
    let spec = FilterSpec::new(kind).keys(KEYS).load(RATES_AT_LOAD);
    let spec = match kind {
        FilterKind::Cuckoo => spec.fingerprint_bits(bits),
        _ => spec.remainder_bits(bits),
    };
    let filter = spec.build().ok()?;
    Some((filter.memory_bytes() as f64 * 8.0 / KEYS as f64, fpr_with(&filter, KEYS)?))
}

/// Returns the points for the loads in [`LOADS`]. All are of the same filter, with fewer keys at lower loads.
fn by_load(kind: FilterKind) -> Vec<(f64, f64)> {
    let Ok(filter) = FilterSpec::new(kind).keys(KEYS).load(RATES_AT_LOAD).build() else {
        return Vec::new();
    };
    let at = |per_cent: usize| {
        let keys = KEYS * per_cent / LOAD_PERCENT;
        Some((filter.memory_bytes() as f64 * 8.0 / keys as f64, fpr_with(&filter, keys)?))
    };
    LOADS.filter_map(at).collect()
}

fn fpr_with(filter: &AnyFilter, keys: usize) -> Option<f64> {
    match filter {
        AnyFilter::Quotient(filter) => Some(filter.fpr_with(keys)),
        AnyFilter::CacheLineQuotient(filter) => Some(filter.fpr_with(keys)),
        AnyFilter::Cuckoo(filter) => Some(filter.fpr_with(keys)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;
    use trommel_base::sizing;

    #[test]
    fn curves_follow_the_equations() {
        let at = |kind, bits: f64| {
            let curve = curve(kind);
            curve.into_iter().find(|(x, _)| *x == bits).unwrap().1
        };
        assert_eq!(at(FilterKind::SplitBlockBloom, 12.0), sizing::split_fpr(8, 32, 256.0 / 12.0));
        assert_eq!(at(FilterKind::Bloom, 10.0), sizing::standard_fpr(10.0, 7));
        let quotient = curve(FilterKind::Quotient);
        assert_eq!(quotient.len(), WIDTHS.count());
        let ratio_at_8_bits = quotient[4].1 / sizing::quotient_fpr(RATES_AT_LOAD, 8);
        assert!((ratio_at_8_bits - 1.0).abs() < 0.01, "{ratio_at_8_bits}");
    }

    #[test]
    fn every_shown_kind_has_a_falling_curve() {
        for kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom) {
            let mut curve = curve(*kind);
            assert!(curve.len() > 2, "{kind}");
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            let falls = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
            assert!(curve.windows(2).all(falls), "{kind}: {curve:?}");
        }
    }

    #[test]
    fn filters_with_slots_are_shown_at_the_load_of_the_lines() {
        let mut results = Results::new(Environment::observe(None));
        let mut put = |kind: &str, size: &str, rival, load, bits_per_key| {
            let row = example(kind, size, rival, 2.0);
            results.put(Row { load_factor: load, bits_per_key, ..row });
        };
        put("quotient", "r8-75%-of-1Mi", None, Some(0.75), 13.5);
        put("quotient", "r8-95%-of-1Mi", None, Some(0.948), 10.7);
        put("quotient", "r12-95%-of-1Mi", None, Some(0.95), 14.9);
        put("quotient", "r8-75%-of-1Mi", Some("qfilter"), Some(0.75), 13.6);
        put("cache-line-quotient", "r8-75%-of-1Mi", None, Some(0.75), 13.7);
        put("bloom", "12-bit", None, None, 12.0);
        put("bloom", "fpr-1%", None, None, 9.6);
        put("counting-bloom", "fpr-1%", None, None, 48.0);
        let points = rate_points(&results);
        let shown: Vec<(&str, Vec<f64>)> = points
            .iter()
            .map(|line| (&*line.label, line.points.iter().map(|point| point.0).collect()))
            .collect();
        assert_eq!(
            shown,
            [
                ("quotient", vec![10.7, 14.9]),
                ("cache-line-quotient", vec![13.7]),
                ("bloom", vec![12.0, 9.6])
            ]
        );
    }

    #[test]
    fn points_are_measured_rates_and_only_measured_kinds_have_curves() {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("bloom", "12-bit", None, 2.0));
        results.put(example("bloom", "12-bit", Some("fastbloom"), 9.0));
        results.put(example("counting-bloom", "fpr-1%", None, 2.0));
        let points = rate_points(&results);
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].points, [(12.0, 0.0055)]);
        let curves = rate_curves(&results);
        assert_eq!(curves.len(), 1);
        assert_eq!(curves[0].label, "bloom, equation");
    }
}
