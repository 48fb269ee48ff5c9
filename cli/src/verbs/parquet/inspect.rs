//! `trommel parquet inspect`.

use super::file::ParquetFile;
use crate::cli::InspectArgs;
use crate::failure::{Failure, ParquetFailure};
use crate::picture::{Shades, grouped, percent};
use crate::verbs::print;
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;
use trommel_parquet::ChunkFilter;

/// The width of a bar in characters.
const BAR_WIDTH: usize = 16;

/// The output of `--json`, which cli/README.md describes. Fields may be added, but none may be removed or changed.
#[derive(Debug, Serialize)]
struct Inspected {
    file: String,
    rows: u64,
    row_groups: usize,
    columns: Vec<InspectedColumn>,
}

#[derive(Debug, Serialize)]
struct InspectedColumn {
    path: String,
    physical_type: String,
    logical_type: Option<String>,
    filters: Vec<InspectedFilter>,
}

#[derive(Debug, Serialize)]
struct InspectedFilter {
    row_group: usize,
    offset: u64,
    bytes: usize,
    estimated_distinct: f64,
    estimated_fpr: f64,
    fill: f64,
}

pub(super) fn run(arguments: &InspectArgs) -> Result<ExitCode, Failure> {
    let inspected = inspect(&ParquetFile::open(&arguments.file)?)?;
    let text = if arguments.json {
        let json = serde_json::to_string_pretty(&inspected);
        json.map_err(|error| Failure::Usage(error.to_string()))? + "\n"
    } else {
        inspected.text(Shades::of_locale(|name| std::env::var(name).ok()))
    };
    print(text.as_bytes())
}

fn inspect(file: &ParquetFile) -> Result<Inspected, Failure> {
    let footer = file.footer()?;
    let mut columns = Vec::new();
    for column in footer.columns() {
        let mut filters = Vec::new();
        for row_group in 0..footer.row_groups().len() {
            let Some((offset, bytes)) = file.filter_bytes(row_group, column)? else { continue };
            let filter = ChunkFilter::parse(&bytes).map_err(|error| {
                let column = column.path().to_owned();
                file.failure(ParquetFailure::Filter { row_group, column, error })
            })?;
            filters.push(InspectedFilter {
                row_group,
                offset,
                bytes: bytes.len(),
                estimated_distinct: filter.estimated_distinct(),
                estimated_fpr: filter.estimated_fpr(),
                fill: filter.fill(),
            });
        }
        columns.push(InspectedColumn {
            path: column.path().to_owned(),
            physical_type: column.physical_type().to_string(),
            logical_type: column.logical_type().map(|logical| logical.to_string()),
            filters,
        });
    }
    let rows = footer.row_groups().iter().fold(0u64, |sum, group| sum.saturating_add(group.rows()));
    Ok(Inspected { file: file.name.clone(), rows, row_groups: footer.row_groups().len(), columns })
}

impl Inspected {
    fn text(&self, shades: Shades) -> String {
        let mut text = String::new();
        let filters: usize = self.columns.iter().map(|column| column.filters.len()).sum();
        let chunks = self.columns.len() * self.row_groups;
        let rows = grouped(self.rows);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}: {rows} rows in {} row groups, {filters} filters for {chunks} column chunks",
            self.file, self.row_groups
        );
        for column in &self.columns {
            let logical =
                column.logical_type.as_ref().map_or(String::new(), |name| format!(", {name}"));
            let none = if column.filters.is_empty() { ": no filter" } else { "" };
            let _ = writeln!(text, "{} ({}{logical}){none}", column.path, column.physical_type);
            for filter in &column.filters {
                let _ = writeln!(
                    text,
                    "  row group {:<4} {:>10} bytes  about {:>10} distinct  {:>8} false positives  [{}] {} of bits set",
                    filter.row_group,
                    grouped(filter.bytes as u64),
                    grouped(filter.estimated_distinct.max(0.0).round() as u64),
                    percent(filter.estimated_fpr),
                    shades.bar(filter.fill, BAR_WIDTH),
                    percent(filter.fill)
                );
            }
        }
        text
    }
}
