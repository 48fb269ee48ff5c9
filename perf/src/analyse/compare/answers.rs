//! Finds changes of the filter itself. If the false-positive rate or the bits per key of a case changed, up or down,
//! the new filter is a different one, and its speed cannot be compared with the speed of the old filter.

use super::runs::Pair;
use crate::model::Row;
use serde::Serialize;

/// A changed value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    pub(crate) what: What,
    pub(crate) old: f64,
    pub(crate) new: f64,
}

/// The values of a filter that are compared besides its speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// The false-positive rate that the filter's equation predicts.
    FprExpected,
    /// The false-positive rate counted on absent keys.
    FprMeasured,
    BitsPerKey,
}

/// Counted false-positive rates that differ by more than this number of standard deviations have changed.
const DEVIATIONS: f64 = 5.0;

/// The largest relative difference that counts as rounding. Rows are rounded to five digits, and one unit of the last
/// digit is at most this share of a number.
const ROUNDING: f64 = 1.0001e-4;

/// Returns the changes that every attempt shows.
pub(super) fn changes(pairs: &[Pair<'_>]) -> Vec<Change> {
    let in_all = |differs: fn(&Pair<'_>) -> bool| pairs.iter().all(differs);
    let mut changes = Vec::new();
    let Pair { old, new } = pairs[0];
    let mut add = |what, old: Option<f64>, new: Option<f64>| {
        changes.extend(old.zip(new).map(|(old, new)| Change { what, old, new }));
    };
    if in_all(|pair| differ(pair.old.fpr_expected, pair.new.fpr_expected)) {
        add(What::FprExpected, old.fpr_expected, new.fpr_expected);
    }
    if in_all(|pair| rates_differ(pair.old, pair.new)) {
        add(What::FprMeasured, old.fpr_measured, new.fpr_measured);
    }
    if in_all(|pair| differ(Some(pair.old.bits_per_key), Some(pair.new.bits_per_key))) {
        add(What::BitsPerKey, Some(old.bits_per_key), Some(new.bits_per_key));
    }
    changes
}

fn differ(old: Option<f64>, new: Option<f64>) -> bool {
    old.zip(new).is_some_and(|(old, new)| (old - new).abs() > ROUNDING * old.abs().max(new.abs()))
}

/// Whether two counted false-positive rates are too far apart to come from the same filter, given that both counts are
/// binomial.
fn rates_differ(old: &Row, new: &Row) -> bool {
    let counted =
        |row: &Row| Some((row.fpr_measured?, row.absent_keys.filter(|keys| *keys > 0)? as f64));
    let Some(((p, n), (q, m))) = counted(old).zip(counted(new)) else { return false };
    let pooled = (p * n + q * m) / (n + m);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)).sqrt();
    (p - q).abs() > DEVIATIONS * deviation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example;

    fn changed(edit: impl Fn(&mut Row)) -> Vec<What> {
        let old = example("bloom", "12-bit", None, 2.0);
        let mut new = old.clone();
        edit(&mut new);
        changes(&[Pair { old: &old, new: &new }]).iter().map(|change| change.what).collect()
    }

    #[test]
    fn counted_rates_may_differ_only_by_the_noise_of_counting() {
        // With a million absent keys and a rate of 0.55 %, the standard deviation of a count is 74, and the standard
        // deviation of the difference of two counts is 105. Five times 105 is 0.052 % of the keys.
        assert_eq!(changed(|row| row.fpr_measured = Some(0.005_9)), []);
        assert_eq!(changed(|row| row.fpr_measured = Some(0.005_1)), []);
        assert_eq!(changed(|row| row.fpr_measured = Some(0.006_1)), [What::FprMeasured]);
        assert_eq!(changed(|row| row.fpr_measured = Some(0.004_9)), [What::FprMeasured]);
        let few = |row: &mut Row| (row.fpr_measured, row.absent_keys) = (Some(0.006_1), Some(1000));
        assert_eq!(changed(few), []);
        assert_eq!(changed(|row| row.absent_keys = None), []);
        assert_eq!(changed(|row| row.fpr_measured = None), []);
    }

    #[test]
    fn expected_rates_and_bits_may_differ_only_by_rounding() {
        assert_eq!(changed(|row| row.fpr_expected = Some(0.005_400_1)), []);
        assert_eq!(changed(|row| row.fpr_expected = Some(0.005_41)), [What::FprExpected]);
        assert_eq!(changed(|row| row.bits_per_key = 12.01), [What::BitsPerKey]);
        assert_eq!(changed(|row| row.bits_per_key = 11.99), [What::BitsPerKey]);
    }

    #[test]
    fn a_change_counts_only_if_every_attempt_shows_it() {
        let old = example("bloom", "12-bit", None, 2.0);
        let new = Row { bits_per_key: 13.0, ..old.clone() };
        let (same, other) = (Pair { old: &old, new: &old }, Pair { old: &old, new: &new });
        assert_eq!(changes(&[other, other]).len(), 1);
        assert_eq!(changes(&[other, same]), []);
    }
}
