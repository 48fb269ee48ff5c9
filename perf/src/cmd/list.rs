//! `list`: names the cases that `measure` would run.

use crate::base::console::say;
use crate::measure::environment::Caches;
use crate::measure::plan::{
    Selection, SubjectSpec, UNKNOWN_KEYS, groups_of, groups_of_one_gib, groups_of_tpch, key_counts,
    points_of, subject_specs, subject_specs_of, subject_specs_of_one_gib, sweep_of, swept_specs,
};
use crate::run::engine::numbers_of_threads;
use anyhow::Result;

/// Prints one name per line. The number of TPC-H keys is known only after they are generated, so the names of the TPC-H
/// cases have a star in place of this number.
pub(crate) fn run(selection: &Selection) -> Result<()> {
    let mut names = names_on_generated_keys(selection);
    names.extend(names_on_tpch(selection));
    if names.is_empty() { Ok(()) } else { say!("{}", names.join("\n")) }
}

/// The number of cases that a selection contains. The points of the map of strategies, at which both strategies of the
/// engine are timed, are not cases.
pub(crate) fn count_cases(selection: &Selection) -> usize {
    names_on_generated_keys(selection).len() + names_on_tpch(selection).len()
}

/// Whether a selection contains cases in which the rival `parquet` is measured too, if it is compiled.
pub(crate) fn selects_rows_of_parquet(selection: &Selection) -> bool {
    let is_hashed = |name: &String| name.contains("/split-block-bloom/") && name.contains("+hash/");
    names_on_generated_keys(selection).iter().any(is_hashed)
        || names_on_tpch(selection).iter().any(is_hashed)
}

/// Whether a selection contains any case, or any point of the map of strategies.
pub(crate) fn selects_anything(selection: &Selection) -> bool {
    !names_on_generated_keys(selection).is_empty()
        || !selection.map_points().is_empty()
        || !names_on_tpch(selection).is_empty()
}

/// The names of the cases on TPC-H, with a star instead of the number of keys.
fn names_on_tpch(selection: &Selection) -> Vec<String> {
    let groups = groups_of_tpch(selection).into_iter();
    let cases = groups.flat_map(|group| selection.choose(group.cases(&subject_specs())));
    let number = format!("/{UNKNOWN_KEYS:e}/");
    cases.map(|case| case.name.replacen(&number, "/*/", 1)).collect()
}

/// The names of the cases on generated keys, including the cases of the engine.
fn names_on_generated_keys(selection: &Selection) -> Vec<String> {
    let caches = Caches::observe();
    let mut groups: Vec<_> = key_counts(selection, &caches)
        .into_iter()
        .flat_map(|keys| groups_of(keys, selection))
        .map(|group| {
            let specs = subject_specs_of(group.keys, selection);
            (group, specs)
        })
        .collect();
    for loads in sweep_of(selection) {
        let specs = swept_specs(loads.family, loads.slots, selection, None);
        for load in loads.loads.iter().copied() {
            let at_load: Vec<SubjectSpec> = specs.iter().map(|spec| spec.at_load(load)).collect();
            let of_load = loads.groups(load);
            groups.extend(of_load.into_iter().map(|group| (group, at_load.clone())));
        }
    }
    if selection.includes_one_gib() {
        groups.extend(
            groups_of_one_gib().into_iter().map(|group| (group, subject_specs_of_one_gib())),
        );
    }
    for point in points_of(selection, &caches) {
        let of_point = point.groups.into_iter();
        groups.extend(of_point.map(|group| (group, point.specs.clone())));
    }
    let threads = numbers_of_threads(selection.threads.as_deref());
    let mut names = Vec::new();
    for (group, specs) in groups {
        for case in selection.choose(group.cases(&specs)) {
            names.push(case.name);
        }
    }
    for group in selection.engine_groups() {
        for runner in group.runners(&threads) {
            names.push(group.case_name(runner));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::{CommandFactory as _, Parser as _};

    #[test]
    fn the_filters_in_all_examples_select_cases() {
        let command = Cli::command();
        let helps = command.get_subcommands().filter_map(|verb| verb.get_after_help());
        let helps: Vec<String> = helps.map(ToString::to_string).collect();
        let mut filters = 0;
        for example in helps.iter().flat_map(|help| help.lines()) {
            let Some(rest) = example.strip_prefix("  trommel-perf ") else { continue };
            let words = rest.split_whitespace().map(|word| word.trim_matches('\''));
            let selection = match Cli::parse_from(["trommel-perf"].into_iter().chain(words)).verb {
                Some(Verb::Measure(arguments)) => arguments.selection,
                Some(Verb::List(selection)) => selection,
                _ => continue,
            };
            filters += usize::from(selection.filter.is_some());
            assert!(selects_anything(&selection), "{example}");
        }
        assert!(filters > 4);
    }
}
