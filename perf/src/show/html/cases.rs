//! Writes every row of the run, with the command that measures it again.

use super::{escape, heading};
use crate::analyse::rival::ratio;
use crate::base::format::{figure, human_bytes, per_cent, short_count};
use crate::model::Row;
use crate::show::reproduce;
use crate::store::results::Results;
use std::fmt::Write as _;

/// A column: its name, whether it holds figures, and the function that writes the cell of a row.
type Column = (&'static str, bool, fn(&Row, &[Row]) -> String);

fn known<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(String::new, show)
}

const COLUMNS: [Column; 18] = [
    ("filter", false, |row, _| row.case.subject().to_owned()),
    ("variant", false, |row, _| row.case.variant()),
    ("keys", true, |row, _| short_count(row.case.keys)),
    ("threads", true, |row, _| row.case.threads.to_string()),
    ("memory", true, |row, _| human_bytes(row.bytes)),
    ("fits in", false, |row, _| row.regime.clone().unwrap_or_default()),
    ("M ops/s", true, |row, _| figure(row.mops)),
    ("ns/op", true, |row, _| figure(row.ns_per_op)),
    ("± %", true, |row, _| format!("{:.1}", row.mad / row.ns_per_op * 100.0)),
    ("95 % from, ns", true, |row, _| known(row.ci_low, figure)),
    ("to, ns", true, |row, _| known(row.ci_high, figure)),
    ("× rival", true, |row, rows| known(ratio(row, rows), |ratio| format!("{ratio:.2}"))),
    ("of roofline", true, |row, _| known(row.roofline_fraction, |share| format!("{share:.2}"))),
    ("bits/key", true, |row, _| format!("{:.2}", row.bits_per_key)),
    ("FPR expected", true, |row, _| known(row.fpr_expected, per_cent)),
    ("measured", true, |row, _| known(row.fpr_measured, per_cent)),
    ("load", true, |row, _| known(row.load_factor, |load| format!("{:.0} %", load * 100.0))),
    ("isa", false, |row, _| row.isa.clone().unwrap_or_default()),
];

/// The element id of the row with this index.
pub(super) fn address(index: usize) -> String {
    format!("case-{index}")
}

/// The table of all rows.
pub(super) fn section(results: &Results) -> String {
    let mut html = String::new();
    heading(&mut html, "cases", "All cases, and how to measure each again");
    html.push_str(
        "<p class=\"note\">Each command measures its case, interleaved with the rivals of the case. With \
         <code>list</code> in place of <code>measure</code>, a command only shows which cases it selects.</p>\
         <div class=\"scroll long\" tabindex=\"0\" role=\"region\" aria-label=\"All cases\"><table><thead><tr>\
         <th scope=\"col\">case</th><th scope=\"col\">command</th>",
    );
    for (name, is_figure, _) in COLUMNS {
        let _ = write!(html, "<th scope=\"col\"{}>{name}</th>", class(is_figure));
    }
    html.push_str("</tr></thead><tbody>");
    for (index, row) in results.rows.iter().enumerate() {
        let rival = if row.case.is_of_rival() { " class=\"rival\"" } else { "" };
        let _ = write!(
            html,
            "<tr id=\"{}\"{rival}><td>{}</td><td><details><summary>command</summary><code>{}</code></details></td>",
            address(index),
            escape(&row.name()),
            escape(&reproduce::command(row, &results.environment))
        );
        for (_, is_figure, cell) in COLUMNS {
            let _ =
                write!(html, "<td{}>{}</td>", class(is_figure), escape(&cell(row, &results.rows)));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn class(is_figure: bool) -> &'static str {
    if is_figure { " class=\"n\"" } else { "" }
}
