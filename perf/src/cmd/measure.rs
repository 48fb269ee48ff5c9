//! `measure`: environment, noise, roofline, then every workload.

use super::list::selects_anything;
use super::{pin, usable_isa};
use crate::cli::{MeasureArgs, Selection};
use crate::counters::Counters;
use crate::effort::Effort;
use crate::engine::{Bench, Calibration, Team, numbers_of_threads, scaling, strategies};
use crate::environment::Environment;
use crate::failure::bad_input;
use crate::keys::{Column, Probes};
use crate::plan::{
    Loads, groups_of, groups_of_load, groups_of_one_gib, key_counts, sweep_of, tpch_scale,
};
use crate::progress::Progress;
use crate::results::{Results, replace};
use crate::session::Session;
use crate::{html, keyfile, noise, roofline, tables, tpch};
use anyhow::Result;
use std::path::Path;
use trommel::CostModel;

/// The largest working set of the roofline's curve.
const LARGEST_QUICK: usize = 256 << 20;
const LARGEST_FULL: usize = 2 << 30;

/// Keys of the engine at most: hashes, probes, and as much scratch memory for them.
const MOST_KEYS_OF_ENGINE: usize = 200_000_000;

/// Runs what is selected, and shows and writes what was measured.
pub(crate) fn run(arguments: MeasureArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    let cost = match &arguments.cost_model {
        Some(path) => Calibration::read(path)?.model(),
        None => CostModel::default(),
    };
    // Read first: a file that cannot be used should not cost three minutes.
    let own = own_keys(&arguments)?;
    let selection = arguments.selection;
    if own.is_none() && !selects_anything(&selection) {
        // Before anything is measured, and before the results of an earlier run are replaced.
        return Err(bad_input("no case has such a name: `trommel-perf list` shows them"));
    }
    let environment = Environment::observe(isa);
    let mut results = if arguments.resume {
        Results::resume(&arguments.out, environment)?
    } else {
        Results::new(environment)
    };
    // Before this thread is pinned, which those that it starts would inherit.
    let teams = teams_of(&selection, cost)?;
    pin();
    println!("{}\n", tables::environment(&results).to_terminal());
    let counters = open_counters();
    check_noise(&mut results);
    let mut progress = Progress::new(count_groups(&selection, own.is_some()));
    measure_roofline(&mut results, &selection, &mut progress)?;
    let effort = Effort::of(&selection);
    let mut session = Session::new(
        results,
        progress,
        selection.clone(),
        effort,
        isa,
        Some(arguments.out.clone()),
        counters,
    );
    if let Some((keys, probes)) = own {
        session.input("file", "keys and probes of the user's files".into(), &keys, &probes)?;
    } else {
        everything(&mut session, &selection)?;
        let bench = Bench { teams: &teams, effort, isa };
        let out = &arguments.out;
        let (results, progress) = (&mut session.results, &mut session.progress);
        bench
            .measure(&selection.engine_groups(), results, progress, |results| results.save(out))?;
        let places = selection.engine_places();
        strategies::measure(&places, &teams, &strategies::PACE, isa, results, progress)?;
    }
    let elapsed = session.progress.finish();
    show(&session.results, &arguments.out)?;
    let timed = session.results.timed;
    println!("measured in {:.0} s: {}", elapsed.as_secs_f64(), timed.describe());
    if timed.is_disturbed() {
        eprintln!("warning: other programs ran meanwhile: measure again when they are done");
    }
    Ok(())
}

/// The threads of the engine and of its rivals, if they are measured.
fn teams_of(selection: &Selection, cost: CostModel) -> Result<Vec<Team>> {
    let groups = selection.engine_groups();
    if groups.is_empty() && selection.engine_places().is_empty() {
        return Ok(Vec::new());
    }
    if let Some(group) = groups.iter().find(|group| group.keys > MOST_KEYS_OF_ENGINE) {
        return Err(bad_input(format!(
            "{:e} keys for the engine, whose hashes are kept in memory: at most {MOST_KEYS_OF_ENGINE:e}",
            group.keys
        )));
    }
    Team::of(&numbers_of_threads(selection.threads.as_deref()), cost)
}

/// The user's keys, if files were named.
fn own_keys(arguments: &MeasureArgs) -> Result<Option<(Column, Probes)>> {
    let Some((keys, probes)) = arguments.keys_file.as_ref().zip(arguments.probes_file.as_ref())
    else {
        return Ok(None);
    };
    Ok(Some(keyfile::prepare(keyfile::read(keys)?, keyfile::read(probes)?)))
}

fn open_counters() -> Option<Counters> {
    match Counters::open() {
        Ok(counters) => Some(counters),
        Err(why) => {
            eprintln!("note: no hardware counters, their columns stay blank ({why})");
            None
        }
    }
}

fn check_noise(results: &mut Results) {
    let noise = noise::check();
    if noise.is_noisy() {
        eprintln!(
            "warning: this machine is noisy ({}): trust ratios more than figures",
            noise.describe()
        );
    } else {
        eprintln!("noise: {}", noise.describe());
    }
    results.noise = Some(noise);
}

fn measure_roofline(
    results: &mut Results,
    selection: &Selection,
    progress: &mut Progress,
) -> Result<()> {
    let largest = if selection.full { LARGEST_FULL } else { LARGEST_QUICK };
    progress.say("roofline");
    results.roofline = roofline::curve(largest, |share| progress.within_group(share))?;
    progress.group_done();
    Ok(())
}

/// Groups that the progress bar counts: the roofline and those of the cases.
fn count_groups(selection: &Selection, has_own_keys: bool) -> usize {
    const ROOFLINE: usize = 1;
    const GROUPS_OF_AN_INPUT: usize = 2;
    if has_own_keys {
        return ROOFLINE + GROUPS_OF_AN_INPUT;
    }
    let generated: usize =
        key_counts(selection).into_iter().map(|keys| groups_of(keys).len()).sum();
    let one_gib = if selection.includes_one_gib() { groups_of_one_gib().len() } else { 0 };
    let tpch = if selection.includes_all() { GROUPS_OF_AN_INPUT } else { 0 };
    let groups_of_sweep = |of: &Loads| of.loads.len() * groups_of_load(of.family, 0).len();
    let sweep: usize = sweep_of(selection).iter().map(groups_of_sweep).sum();
    ROOFLINE
        + generated
        + one_gib
        + tpch
        + sweep
        + selection.engine_groups().len()
        + selection.engine_places().len()
}

fn everything(session: &mut Session, selection: &Selection) -> Result<()> {
    for keys in key_counts(selection) {
        session.generated(keys)?;
    }
    if selection.includes_all() {
        let scale = tpch_scale(selection);
        session.progress.say("generating TPC-H");
        let (keys, probes) = tpch::prepare(scale);
        session.input(&format!("tpch-{scale}"), tpch::describe(scale), &keys, &probes)?;
    }
    for loads in sweep_of(selection) {
        session.sweep(&loads)?;
    }
    if selection.includes_one_gib() {
        session.one_gib()?;
    }
    Ok(())
}

/// Prints the tables and writes the files.
fn show(results: &Results, out: &Path) -> Result<()> {
    for table in tables::all(results).iter().filter(|table| table.name != "environment") {
        println!("{}\n", table.to_terminal());
    }
    results.save(out)?;
    replace(&out.join("report.html"), html::render(results)?.as_bytes())?;
    for (file, svg) in scaling::plots(results)? {
        replace(&out.join(file), svg.as_bytes())?;
    }
    println!("wrote results.csv, results.json, env.json and report.html to {}", out.display());
    Ok(())
}
