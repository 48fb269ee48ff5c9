//! `textbook`: repeats experiments of the papers on cuckoo filters and cuckoo hashing.

use super::pin;
use crate::base::console::{remark, say};
use crate::base::failure::bad_input;
use crate::base::files::{prepare, replace};
use crate::base::table::Table;
use crate::cli::TextbookArgs;
use crate::show::splice::{TEXTBOOK, splice};
use crate::store::lock::lock;
use crate::textbook;
use crate::textbook::Effort;
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Measures, prints the tables, writes CSV files and plots, and splices the tables into a document.
pub(crate) fn run(arguments: &TextbookArgs) -> Result<()> {
    // A document or a directory that cannot be used is refused before anything is measured.
    let document = arguments.splice.as_deref().map(read).transpose()?;
    let plots_to = arguments.plots.as_ref().unwrap_or(&arguments.out);
    let _lock = lock(&arguments.out)?;
    prepare(&arguments.out)?;
    prepare(plots_to)?;
    pin();
    let effort = if arguments.quick { Effort::quick() } else { Effort::full() };
    let measured = textbook::measure(&effort, |next| remark!("{next}"))?;
    let tables = textbook::tables(&measured);
    textbook::save(&measured, &arguments.out, plots_to)?;
    for table in &tables {
        say!("{}\n", table.to_terminal())?;
    }
    say!("wrote textbook-loads.csv and textbook-density.csv to {}", arguments.out.display())?;
    say!("wrote four plots, textbook-*.svg, to {}", plots_to.display())?;
    if let Some((path, document)) = arguments.splice.as_deref().zip(document) {
        let (spliced, names) = fill(&document, &tables)?;
        replace(path, spliced.as_bytes())?;
        say!("spliced {} into {}", names.join(", "), path.display())?;
    }
    Ok(())
}

/// Reads a document, and checks that it has a region for a table that this verb prints.
fn read(path: &Path) -> Result<String> {
    let document = fs::read_to_string(path)
        .map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))?;
    let is_known = |name: &str| textbook::NAMES.contains(&name).then(String::new);
    let (_, names) = splice(&document, TEXTBOOK, is_known)?;
    if names.is_empty() {
        return Err(bad_input(format!(
            "{} has no region to splice into; regions of {TEXTBOOK} can be called {}",
            path.display(),
            textbook::NAMES.join(", ")
        )));
    }
    Ok(document)
}

fn fill(document: &str, tables: &[Table]) -> Result<(String, Vec<String>)> {
    let content =
        |name: &str| tables.iter().find(|table| table.name == name).map(Table::to_markdown);
    splice(document, TEXTBOOK, content)
}
