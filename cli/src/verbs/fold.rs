//! `trommel fold`.

use super::read_filter;
use crate::cli::FoldArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::warn;
use std::process::ExitCode;
use trommel::{Filter as _, FilterView};

pub(crate) fn run(arguments: &FoldArgs) -> Result<ExitCode, Failure> {
    let name = arguments.filter.display().to_string();
    let output = Output::create(&arguments.output)?;
    let bytes = read_filter(&arguments.filter)?;
    let refused = |error| Failure::Format { name: name.clone(), error };
    let filter = FilterView::parse(&bytes).map_err(refused)?.to_owned_filter().map_err(refused)?;
    let (expected, asked) = (filter.expected_fpr(), arguments.fpr);
    let folded = filter
        .fold_to_fpr(asked)
        .map_err(|error| Failure::Fold { name: name.clone(), error })?
        .ok_or_else(|| Failure::AboveRate { name: name.clone(), expected, asked })?;
    if folded.memory_bytes() == filter.memory_bytes() {
        let why = match filter.fold(2) {
            Ok(half) => {
                let fpr = half.expected_fpr();
                format!("at half the size its expected false-positive rate would be {fpr:.3e}")
            }
            Err(error) => error.to_string(),
        };
        warn(&format!("{name}: not folded: {why}"));
    }
    output.commit(|to| folded.write_to(to))?;
    Ok(ExitCode::SUCCESS)
}
