//! `trommel merge`.

use super::read_filter;
use crate::cli::MergeArgs;
use crate::failure::Failure;
use crate::output::Output;
use std::process::ExitCode;
use trommel::{AnyFilter, FilterView};

/// Merges any number of filters, which are read one after another. The merged filter and the bytes of one input are in
/// memory at the same time. In kinds with slots, each merge makes a second table, which is in memory too.
pub(crate) fn run(arguments: &MergeArgs) -> Result<ExitCode, Failure> {
    let output = Output::create(&arguments.output)?;
    let mut merged: Option<(String, AnyFilter)> = None;
    for path in &arguments.filters {
        let name = path.display().to_string();
        let bytes = read_filter(path)?;
        let refused = |error| Failure::Format { name: name.clone(), error };
        let view = FilterView::parse(&bytes).map_err(refused)?;
        match &mut merged {
            None => merged = Some((name.clone(), view.to_owned_filter().map_err(refused)?)),
            Some((first, filter)) => filter.merge_view(&view).map_err(|error| Failure::Merge {
                left: first.clone(),
                right: name.clone(),
                error,
            })?,
        }
    }
    let Some((_, filter)) = merged else {
        return Err(Failure::Usage("no filters to merge".into()));
    };
    output.commit(|to| filter.write_to(to))?;
    Ok(ExitCode::SUCCESS)
}
