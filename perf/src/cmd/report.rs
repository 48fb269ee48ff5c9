//! `report`: writes the report and the plots of a run again, and splices its tables into a document.

use crate::base::console::say;
use crate::base::failure::bad_input;
use crate::base::files::{prepare, replace};
use crate::base::table::Table;
use crate::cli::ReportArgs;
use crate::show::history::History;
use crate::show::pictures::Picture;
use crate::show::{html, machines, page, pictures, scaling, splice, tables};
use crate::store::results::{REPORT, Results};
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Reads `DIR/results.json`; writes `DIR/report.html` and the plots in the same directory. `--publish` also writes the
/// run to a folder, and `--splice` writes the run's tables into a document. With several directories, the report of the
/// first directory begins with tables that compare the runs in all directories.
pub(crate) fn run(arguments: &ReportArgs) -> Result<()> {
    // Everything is read before anything is written.
    let machines = machines::load(&arguments.dirs)?;
    let Some((dir, machine)) = arguments.dirs.first().zip(machines.first()) else {
        return Err(bad_input("a report needs the directory of a run"));
    };
    let results = &machine.results;
    let side_by_side = if machines.len() > 1 { machines::tables(&machines) } else { Vec::new() };
    let history = arguments.history.as_deref().map(History::read).transpose()?;
    let owner = match &arguments.part {
        None => splice::MEASURE.to_owned(),
        Some(part) => format!("{}-{part}", splice::MEASURE),
    };
    let fill = |path: &Path| fill(path, &owner, results);
    let spliced = arguments.splice.as_deref().map(fill).transpose()?;
    for table in &side_by_side {
        say!("{}\n", table.to_terminal())?;
    }
    write(results, history.as_ref(), &side_by_side, dir)?;
    say!("wrote {}", dir.join(REPORT).display())?;
    if let Some(folder) = &arguments.publish {
        publish(results, folder)?;
        say!("published the run in {}", folder.display())?;
    }
    let Some((path, (document, names))) = arguments.splice.as_ref().zip(spliced) else {
        return Ok(());
    };
    replace(path, document.as_bytes())?;
    say!("spliced {} into {}", names.join(", "), path.display())
}

/// Writes a run's `report.html`, and each plot of the engine as a separate file.
pub(super) fn draw(results: &Results, directory: &Path) -> Result<()> {
    write(results, None, &[], directory)
}

/// Like [`draw`]. The report also shows `history`, and the tables `machines`, which compare several machines.
fn write(
    results: &Results,
    history: Option<&History>,
    machines: &[Table],
    directory: &Path,
) -> Result<()> {
    let page = html::render(results, history, machines)?;
    let plots = scaling::plots(results)?;
    replace(&directory.join(REPORT), page.as_bytes())?;
    plots.iter().try_for_each(|(file, svg)| replace(&directory.join(file), svg.as_bytes()))
}

/// Writes a run to a folder: a page in Markdown, the plots and the data.
fn publish(results: &Results, folder: &Path) -> Result<()> {
    prepare(folder)?;
    let pictures = pictures::all(results)?;
    let write = |file: &str, content: &[u8]| replace(&folder.join(file), content);
    for Picture { file, svg, .. } in &pictures {
        write(file, svg.as_bytes())?;
    }
    results.save_data(folder)?;
    write("README.md", page::render(results, &pictures).as_bytes())
}

/// Returns the document with the run's tables spliced into its regions, and the names of the regions.
fn fill(path: &Path, owner: &str, results: &Results) -> Result<(String, Vec<String>)> {
    let document = fs::read_to_string(path)
        .map_err(|error| bad_input(format!("cannot read {}: {error}", path.display())))?;
    let tables = tables::all(results);
    let content =
        |name: &str| tables.iter().find(|table| table.name == name).map(Table::to_markdown);
    let (spliced, names) = splice::splice(&document, owner, content)?;
    if names.is_empty() {
        return Err(bad_input(format!(
            "{} has no region {owner}:NAME to splice into; names are {}",
            path.display(),
            tables::NAMES.join(", ")
        )));
    }
    Ok((spliced, names))
}
