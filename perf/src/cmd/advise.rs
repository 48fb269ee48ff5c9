//! `advise`: recommends a filter.

use super::{pin, usable_isa};
use crate::advise::{AdviseArgs, check, from_measurements, from_results};
use crate::base::console::{remark, say};
use crate::base::failure::bad_input;
use crate::base::files::replace;
use crate::store::results::Results;
use anyhow::Result;

/// Prints the advice as a table, notes and a sentence, and writes it to the file of `--json`. With `--check`, instead
/// compares the filter advised in each of many scenarios with the filter that measurements show to be the best, and
/// prints a table.
pub(crate) fn run(arguments: &AdviseArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    let Some(asked) = arguments.question().filter(|_| !arguments.check) else {
        pin();
        let found = check(arguments.keys, isa, |next| remark!("{next}"))?;
        return say!("{}", found.to_terminal());
    };
    let advice = match &arguments.from {
        Some(directory) => from_results(&asked, &Results::load(directory)?)?,
        None => {
            pin();
            from_measurements(&asked, isa)?
        }
    };
    say!("{}\n", advice.table().to_terminal())?;
    for note in advice.notes() {
        say!("note: {note}")?;
    }
    say!("{}", advice.sentence())?;
    if let Some(path) = &arguments.json {
        replace(path, &serde_json::to_vec_pretty(&advice)?)
            .map_err(|error| bad_input(format!("{error:#}")))?;
    }
    Ok(())
}
