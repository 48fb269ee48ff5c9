//! Finds the rival's row with which a row of ours is compared.

use crate::model::{Rival, Row};

/// Returns the rival's row with which a row of ours is compared; `None` for a rival's row, and if no row fits. A row
/// fits if its crate is in [`Rival::of_kind`] and it was measured under the same conditions
/// ([`Case::shares_conditions_with`]). Rows with the same sizing are preferred; among several rows, the one with the
/// nearest size in bytes is taken. Only in the sweep over loads, the fastest row with the same number and width of
/// slots and the same load is taken. The calls of the two rows can differ: in lookups, inserts and builds on one
/// thread, rivals get one key per call, even if our row is measured in batches.
///
/// [`Case::shares_conditions_with`]: crate::model::Case::shares_conditions_with
pub(crate) fn rival_of<'a>(row: &Row, rows: &'a [Row]) -> Option<&'a Row> {
    if row.case.is_of_rival() {
        return None;
    }
    let crates: Vec<String> =
        Rival::of_kind(&row.case.filter).iter().map(Rival::to_string).collect();
    let rivals = rows.iter().filter(|other| {
        other.case.rival.as_ref().is_some_and(|rival| crates.contains(rival))
            && other.case.shares_conditions_with(&row.case)
    });
    match row.case.filling() {
        Some(filling) => rivals
            .filter(|other| other.case.filling() == Some(filling))
            .min_by(|a, b| a.ns_per_op.total_cmp(&b.ns_per_op)),
        None => rivals.min_by_key(|other| {
            (other.case.size_name() != row.case.size_name(), other.bytes.abs_diff(row.bytes))
        }),
    }
}

/// Returns the speed of a row divided by the speed of its rival.
pub(crate) fn ratio(row: &Row, rows: &[Row]) -> Option<f64> {
    rival_of(row, rows).map(|rival| rival.ns_per_op / row.ns_per_op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Api, Calls, Distribution, Input, example};

    const OURS: &str = "fpr-1%+wall";

    fn rival(ns: f64, threads: u32, api: Api) -> Row {
        let row = example("bloom", OURS, Some("fastbloom"), ns);
        row.with(|case| (case.threads, case.calls) = (threads, Calls::by(api)))
    }

    fn ours(threads: u32, api: Api) -> Row {
        let row = example("bloom", OURS, None, 1.0);
        row.with(|case| (case.threads, case.calls) = (threads, Calls::by(api)))
    }

    #[test]
    fn a_row_is_compared_with_the_rival_on_as_many_threads() {
        let rows = [rival(8.0, 1, Api::Single), rival(5.0, 2, Api::Shared)];
        assert_eq!(ratio(&ours(1, Api::Engine), &rows), Some(8.0));
        assert_eq!(ratio(&ours(2, Api::Engine), &rows), Some(5.0));
        assert_eq!(ratio(&ours(4, Api::Engine), &rows), None);
    }

    #[test]
    fn a_shared_filter_is_compared_with_a_shared_filter() {
        let shared = |row: Row| row.with(|case| case.is_shared = true);
        let rows = [rival(5.0, 2, Api::Shared), shared(rival(7.0, 2, Api::Shared))];
        assert_eq!(ratio(&ours(2, Api::Engine), &rows), Some(5.0));
        assert_eq!(ratio(&shared(ours(2, Api::Shared)), &rows), Some(7.0));
        assert_eq!(ratio(&shared(ours(2, Api::Shared)), &rows[..1]), None);
    }

    #[test]
    fn skewed_keys_are_not_compared_with_plain_ones() {
        let sorted = Input::Generated(Distribution::Sorted);
        let skewed = ours(2, Api::Engine).with(|case| case.input = sorted);
        assert_eq!(ratio(&skewed, &[rival(5.0, 2, Api::Shared)]), None);
    }
}
