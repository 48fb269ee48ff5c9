//! `report`: the report of a run written again, and its tables spliced into a document.

use crate::cli::ReportArgs;
use crate::failure::bad_input;
use crate::results::{Results, replace};
use crate::{html, splice, tables};
use anyhow::Result;
use std::fs;

/// Reads `DIR/results.json`; writes `DIR/report.html` and, if asked, the document.
pub(crate) fn run(arguments: &ReportArgs) -> Result<()> {
    let results = Results::load(&arguments.dir)?;
    let report = arguments.dir.join("report.html");
    replace(&report, html::render(&results)?.as_bytes())?;
    println!("wrote {}", report.display());
    let Some(path) = &arguments.splice else { return Ok(()) };
    let document = fs::read_to_string(path)
        .map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))?;
    let tables = tables::all(&results);
    let content =
        |name: &str| tables.iter().find(|table| table.name == name).map(tables::Table::to_markdown);
    let (spliced, names) = splice::splice(&document, splice::MEASURE, content)?;
    if names.is_empty() {
        return Err(bad_input(format!(
            "{} has no region to splice into; regions are called {}",
            path.display(),
            tables::NAMES.join(", ")
        )));
    }
    replace(path, spliced.as_bytes())?;
    println!("spliced {} into {}", names.join(", "), path.display());
    Ok(())
}
