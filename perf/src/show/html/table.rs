//! Writes a table as HTML. Figures are aligned to the right. A wide table scrolls in a box of its own.

use super::escape;
use crate::base::table::Table;
use std::fmt::Write as _;

/// Returns the table in its box.
pub(super) fn html(table: &Table) -> String {
    let is_figure: Vec<bool> = (0..table.header.len()).map(|i| holds_figures(table, i)).collect();
    let class = |column: usize| if is_figure[column] { " class=\"n\"" } else { "" };
    let kind = if is_figure.contains(&true) { "" } else { " class=\"words\"" };
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{kind}><thead><tr>",
        escape(&table.title)
    );
    for (i, cell) in table.header.iter().enumerate() {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(i), escape(cell));
    }
    html.push_str("</tr></thead><tbody>");
    for line in &table.rows {
        html.push_str(if line.is_rival { "<tr class=\"rival\">" } else { "<tr>" });
        for (i, cell) in line.cells.iter().enumerate() {
            let _ = write!(html, "<td{}>{}</td>", class(i), escape(cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// Whether a column is aligned as figures: true for every column after the first `table.words` columns, and for an
/// earlier column that has non-empty cells, all of which are figures.
fn holds_figures(table: &Table, column: usize) -> bool {
    let mut cells =
        table.rows.iter().map(|line| &*line.cells[column]).filter(|cell| !cell.is_empty());
    column >= table.words || (cells.clone().next().is_some() && cells.all(is_figure))
}

/// Whether a cell is a number, with or without a unit: `75 %`, `16Mi`, `1e6`, but not `12-bit`.
fn is_figure(cell: &str) -> bool {
    let (figure, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let digits = figure.strip_suffix("Mi").or(figure.strip_suffix("Ki")).unwrap_or(figure);
    digits.parse::<f64>().is_ok_and(f64::is_finite)
        && ["", "%", "B", "KiB", "MiB", "GiB"].contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::table::Line;

    #[test]
    fn numbers_with_units_are_figures_and_names_are_not() {
        for figure in ["75 %", "16Mi", "1e6", "-1.5", "512 KiB", "2"] {
            assert!(is_figure(figure), "{figure}");
        }
        for word in ["12-bit", "fpr-1%", "r8", "", "inf", "1 2", "bloom"] {
            assert!(!is_figure(word), "{word}");
        }
    }

    #[test]
    fn columns_of_figures_are_aligned_to_the_right() {
        let line = |cells: [&str; 3]| Line { cells: cells.map(Into::into).into(), is_rival: false };
        let table = Table {
            name: "fpr",
            title: "t".into(),
            header: ["a", "b", "c"].map(Into::into).into(),
            rows: vec![line(["x", "75 %", "full at 1 %"]), line(["y", "80 %", "3"])],
            words: 2,
        };
        let html = html(&table);
        assert!(
            html.contains("<td>x</td><td class=\"n\">75 %</td><td class=\"n\">full at 1 %</td>")
        );
    }
}
