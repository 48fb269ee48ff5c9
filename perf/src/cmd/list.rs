//! `list`: the cases that `measure` would run.

use crate::cli::Selection;
use crate::engine::numbers_of_threads;
use crate::environment::Caches;
use crate::plan::{
    Candidate, candidates, candidates_of_one_gib, contestants, groups_of, groups_of_input,
    groups_of_load, groups_of_one_gib, key_counts, keys_at, places_of, sweep_of, tpch_scale,
};
use anyhow::Result;
use std::io::{self, Write as _};

/// Prints a name a line. The keys of TPC-H are counted only when they are generated, so its cases are
/// shown by their input.
pub(crate) fn run(selection: &Selection) -> Result<()> {
    let mut names = generated(selection);
    if selection.filter.is_none() && selection.includes_all() {
        names.push_str(&format!("contains/mixed/*/*/tpch-{}/*\n", tpch_scale(selection)));
    }
    // A reader that has seen enough, such as `head`, is no failure.
    let _ = io::stdout().write_all(names.as_bytes());
    Ok(())
}

/// Whether a selection leaves anything to measure.
pub(crate) fn selects_anything(selection: &Selection) -> bool {
    let of_tpch = groups_of_input(&format!("tpch-{}", tpch_scale(selection)), 1);
    let mut tpch = of_tpch.into_iter().map(|group| group.cases(&candidates()));
    !generated(selection).is_empty()
        || !selection.engine_places().is_empty()
        || (selection.includes_all() && tpch.any(|cases| !selection.choose(cases).is_empty()))
}

/// The names of the cases over generated keys, a line each.
fn generated(selection: &Selection) -> String {
    let mut groups: Vec<_> = key_counts(selection)
        .into_iter()
        .flat_map(|keys| groups_of(keys, selection))
        .map(|group| (group, candidates()))
        .collect();
    for of in sweep_of(selection) {
        let everyone = contestants(of.family, of.slots, selection, None);
        for load in of.loads {
            let at_load: Vec<Candidate> = everyone.iter().map(|c| c.at_load(load)).collect();
            let of_load = groups_of_load(of.family, keys_at(of.slots, load));
            groups.extend(of_load.into_iter().map(|group| (group, at_load.clone())));
        }
    }
    if selection.includes_one_gib() {
        groups
            .extend(groups_of_one_gib().into_iter().map(|group| (group, candidates_of_one_gib())));
    }
    for place in places_of(selection, &Caches::observe()) {
        let of_place = place.groups.into_iter();
        groups.extend(of_place.map(|group| (group, place.candidates.clone())));
    }
    let threads = numbers_of_threads(selection.threads.as_deref());
    let mut names = String::new();
    for (group, candidates) in groups {
        for case in selection.choose(group.cases(&candidates)) {
            names.push_str(&case.name);
            names.push('\n');
        }
    }
    for group in selection.engine_groups() {
        for contestant in group.contestants(&threads) {
            names.push_str(&group.case_name(contestant));
            names.push('\n');
        }
    }
    names
}
