//! Finds the rival's row with which a row of ours is compared.

use crate::model::{Rival, Row};

/// Returns the rival's row with which a row of ours is compared; `None` for a rival's row. The rival is a crate of
/// [`Rival::of_kind`] that was measured under the same conditions, with the same sizing or, if no such row has it, the
/// nearest size. In the sweep over loads, it is the fastest crate with the same number and width of slots and the same
/// load. The numbers of threads are not compared.
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

/// Returns the speed of a row over the speed of its rival.
pub(crate) fn ratio(row: &Row, rows: &[Row]) -> Option<f64> {
    rival_of(row, rows).map(|rival| rival.ns_per_op / row.ns_per_op)
}
