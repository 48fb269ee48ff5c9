//! Tables, for the terminal and for documents.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use std::fmt::Write as _;

/// A table with a name, a title and cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The name of the table. In a document, the table replaces the contents of the region with this name.
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Line>,
    /// The number of leading columns that hold words. The other columns hold figures and are aligned to the right.
    pub(crate) words: usize,
}

/// One line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) cells: Vec<String>,
    /// Whether the line belongs to a rival. The report highlights these lines.
    pub(crate) is_rival: bool,
}

impl Table {
    /// Formats the table for a terminal.
    pub(crate) fn to_terminal(&self) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::UTF8_FULL_CONDENSED)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.header);
        for line in &self.rows {
            table.add_row(&line.cells);
        }
        for column in table.column_iter_mut().skip(self.words) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{}\n{table}", self.title)
    }

    /// Formats the table as Markdown for a document.
    pub(crate) fn to_markdown(&self) -> String {
        let escape = |cell: &str| cell.replace('|', "\\|");
        let mut text = String::new();
        let line = |text: &mut String, cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(&mut text, &self.header);
        let rules: Vec<String> = (0..self.header.len())
            .map(|i| if i < self.words { "---" } else { "---:" }.into())
            .collect();
        line(&mut text, &rules);
        for row in &self.rows {
            line(&mut text, &row.cells);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_a_rule_and_escapes_bars() {
        let table = Table {
            name: "fpr",
            title: "t".into(),
            header: vec!["a".into(), "b".into()],
            rows: vec![Line { cells: vec!["x|y".into(), "1".into()], is_rival: false }],
            words: 1,
        };
        assert_eq!(table.to_markdown(), "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n");
    }
}
