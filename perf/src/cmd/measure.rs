//! `measure`: describes the machine, measures its noise and roofline, and then the selected cases.

use super::list::{count_cases, selects_anything, selects_rows_of_parquet};
use super::{pin, report, usable_isa};
use crate::base::console::{remark, say};
use crate::base::failure::bad_input;
use crate::base::files::prepare;
use crate::base::format::human_bytes;
use crate::cli::{MeasureArgs, Simulate};
use crate::measure::counters::Counters;
use crate::measure::effort::Effort;
use crate::measure::environment::{Caches, Environment, memory_bytes};
use crate::measure::keys::{Column, Probes};
use crate::measure::plan::{
    Group, KEYS_OF_ONE_GIB, Loads, Point, Selection, SubjectSpec, groups_of, groups_of_one_gib,
    groups_of_tpch, is_of_summary, key_counts, key_counts_of_summary, points_of, subject_specs_of,
    subject_specs_of_one_gib, sweep_of, swept_specs, tpch_scale,
};
use crate::measure::{keyfile, noise, roofline, tpch};
use crate::model::{Sizing, short_slots};
use crate::run::engine::{Calibration, ThreadSet, numbers_of_threads};
use crate::run::progress::Progress;
use crate::run::session::{Session, start_fillers, steps_of, steps_of_sweep};
use crate::run::simulate;
use crate::show::tables;
use crate::store::lock::lock;
use crate::store::results::{Input, Results};
use anyhow::Result;
use std::fmt;
use std::path::Path;
use std::time::Duration;
use trommel::Isa;
use trommel::engine::CostModel;
use trommel_callgrind::Missing;

/// The largest working set of the roofline's curve, in bytes: without `--full` and with it.
const LARGEST_QUICK: usize = 256 << 20;
const LARGEST_FULL: usize = 2 << 30;

/// The most keys with which the engine is measured. Their hashes, the probes and the engine's scratch memory must fit
/// into memory.
const MOST_KEYS_OF_ENGINE: usize = 200_000_000;

/// The name and description of the input that consists of the user's files.
const FILE: &str = "file";
const OF_FILES: &str = "keys and probes of the user's files";

/// Measures the selected cases; prints and writes the results.
pub(crate) fn run(arguments: MeasureArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    let cost = match &arguments.cost_model {
        Some(path) => Calibration::read(path)?.model(),
        None => CostModel::default(),
    };
    // The user's files are read first, so that a file that cannot be used is refused before anything is measured.
    let own_input = own_keys(&arguments)?;
    let selection = arguments.selection;
    let when = arguments.simulate;
    if own_input.is_none() && !selects_anything(&selection) {
        // The selection is refused before anything is measured, and before the results of an earlier run are replaced.
        return Err(bad_input("no case has such a name: `trommel-perf list` shows all names"));
    }
    if own_input.is_none() {
        ensure_fits(&selection, isa, memory_bytes())?;
    }
    let valgrind = trommel_callgrind::version();
    if let (Simulate::Always, Err(missing)) = (when, &valgrind) {
        return Err(bad_input(format!("nothing can be simulated: {missing}")));
    }
    let _lock = lock(&arguments.out)?;
    prepare(&arguments.out)?;
    let environment = Environment::observe(isa);
    let mut results = if arguments.resume {
        Results::resume(&arguments.out, environment)?
    } else {
        Results::new(environment)
    };
    if let Some((keys, probes)) = &own_input {
        // The session checks the input once more. This first check refuses keys that differ from the keys of a
        // resumed run, before anything is measured.
        results.put_input(Input::of(FILE, OF_FILES, keys, probes))?;
    }
    // Threads are started, and cores listed, before this thread is pinned: new threads inherit the pinning, and a
    // pinned thread can list only its own core.
    let thread_sets = thread_sets_of(&selection, cost)?;
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let fillers = start_fillers(&results.environment, cores.len());
    pin();
    say!("{}\n", tables::environment(&results).to_terminal())?;
    let counters = open_counters(&mut results);
    let simulates = counters.is_none() && should_simulate(when, selection.full, &valgrind);
    check_noise(&mut results);
    let effort = Effort::of(&selection, arguments.seconds);
    let steps = count_steps(&selection, isa, own_input.is_some());
    say_what_is_planned(&selection, own_input.is_some(), effort.expected(steps))?;
    let mut progress = Progress::new(steps);
    measure_roofline(&mut results, &selection, &mut progress)?;
    let session = Session::new(
        results,
        progress,
        selection.clone(),
        effort,
        isa,
        Some(arguments.out.clone()),
        counters,
    );
    let mut session = session.with_headline(tables::headline).with_fillers(fillers);
    if let Some((keys, probes)) = own_input {
        session.input(FILE, OF_FILES, &keys, &probes)?;
    } else {
        measure_parts(&mut session, &selection, &thread_sets)?;
    }
    let elapsed = session.progress.finish();
    if simulates {
        let isa = isa.map_or_else(Isa::active, Ok).map_err(|error| bad_input(error.to_string()))?;
        let isa = simulate::known_isa(isa);
        simulate::fill_in(&mut session.results, isa, &cores, &arguments.out)?;
    }
    show(&session.results, &arguments.out)?;
    let timed = session.results.timed;
    say!("measured in {:.0} s: {}", elapsed.as_secs_f64(), timed.describe())?;
    if timed.is_disturbed() {
        remark!(
            "warning: other programs ran during the measurement: measure again when they are done"
        );
    }
    Ok(())
}

/// Prints how many cases will be measured, and about how long that takes.
fn say_what_is_planned(
    selection: &Selection,
    has_own_keys: bool,
    expected: Duration,
) -> Result<()> {
    let cases = if has_own_keys {
        "the user's keys".to_owned()
    } else {
        format!("{} cases", count_cases(selection))
    };
    let minutes = expected.as_secs_f64() / 60.0;
    if !cfg!(feature = "parquet") && !has_own_keys && selects_rows_of_parquet(selection) {
        remark!(
            "note: the rival parquet is left out, since it was not compiled; `cargo run --release -p trommel-perf \
             --features parquet -- measure` compiles and measures it"
        );
    }
    let or_more = if selection.full { ", or longer if filters take long to fill" } else { "" };
    say!("measuring {cases}: about {minutes:.0} min{or_more}\n", minutes = minutes.ceil())
}

/// Checks for each part of the run that the part's filters, which are all in memory at the same time, fit into `memory`
/// bytes. The check counts each filter once, by a lower bound of its bytes. A run can need more memory, since inserts
/// are measured on further copies of each filter. The engine is not checked, since [`thread_sets_of`] limits its keys.
/// TPC-H is not checked either, since its number of keys is not known before they are generated.
fn ensure_fits(selection: &Selection, isa: Option<Isa>, memory: Option<u64>) -> Result<()> {
    let Some(memory) = memory else { return Ok(()) };
    for part in parts(selection) {
        let filters = part.filters(selection, isa);
        let needed = filters.iter().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
        if needed > memory {
            return Err(bad_input(format!(
                "{part}: {} filters need more than {} of memory; this machine has {}",
                filters.len(),
                human_bytes(needed),
                human_bytes(memory)
            )));
        }
    }
    Ok(())
}

/// Returns a lower bound of the bytes of a filter for `keys` keys. If the size is given as a false-positive rate, the
/// bound is one byte per key: at the rates of the harness's own cases, every kind takes more. A file of `--cases` can
/// give a higher rate, at which a filter can take less than one byte per key; then a run whose filters would fit can be
/// refused.
fn least_bytes(sizing: Sizing, keys: usize) -> u64 {
    let bytes_of = |count: usize, bits: usize| (count as u64).saturating_mul(bits as u64) / 8;
    match sizing {
        Sizing::BitsPerKey(bits) => bytes_of(keys, bits),
        Sizing::Fpr(_) => keys as u64,
        Sizing::Bytes(bytes) => bytes as u64,
        Sizing::Full { bits, .. } => bytes_of(keys, bits as usize),
        Sizing::Slots(filling) => bytes_of(filling.slots, filling.bits as usize),
    }
}

/// Starts the threads of the engine and of its rivals, if the engine is measured.
fn thread_sets_of(selection: &Selection, cost: CostModel) -> Result<Vec<ThreadSet>> {
    let groups = selection.engine_groups();
    if groups.is_empty() && selection.map_points().is_empty() {
        return Ok(Vec::new());
    }
    if let Some(group) = groups.iter().find(|group| group.keys > MOST_KEYS_OF_ENGINE) {
        return Err(bad_input(format!(
            "{:e} keys are too many for the engine: it takes at most {MOST_KEYS_OF_ENGINE:e}, so that their \
             hashes fit into memory",
            group.keys
        )));
    }
    ThreadSet::start_all(&numbers_of_threads(selection.threads.as_deref()), cost)
}

/// Reads the user's keys and probes, if files were named.
fn own_keys(arguments: &MeasureArgs) -> Result<Option<(Column, Probes)>> {
    let Some((keys, probes)) = arguments.keys_file.as_ref().zip(arguments.probes_file.as_ref())
    else {
        return Ok(None);
    };
    Ok(Some(keyfile::prepare(keyfile::read(keys)?, keyfile::read(probes)?)))
}

fn open_counters(results: &mut Results) -> Option<Counters> {
    results.no_counters = None;
    match Counters::open() {
        Ok(counters) => {
            if let Some(missing) = counters.missing() {
                remark!(
                    "note: hardware counters lack some events, whose columns stay blank: {missing}"
                );
            }
            Some(counters)
        }
        Err(why) => {
            remark!("note: no hardware counters: {why}");
            results.no_counters = Some(why.to_string());
            None
        }
    }
}

/// Whether a run without hardware counters simulates events. With `--simulate=auto`, prints a note if the run simulates
/// nothing.
fn should_simulate(when: Simulate, is_full: bool, valgrind: &Result<String, Missing>) -> bool {
    match (when, valgrind) {
        (Simulate::Never, _) => false,
        (Simulate::Always, _) => true,
        (Simulate::Auto, Ok(_)) if is_full => true,
        (Simulate::Auto, Ok(_)) => {
            remark!(
                "note: --simulate counts instructions and misses in a simulation, which takes minutes per filter"
            );
            false
        }
        (Simulate::Auto, Err(missing)) => {
            remark!("note: events cannot be simulated either: {missing}");
            false
        }
    }
}

fn check_noise(results: &mut Results) {
    let noise = noise::check();
    if noise.is_noisy() {
        remark!(
            "warning: this machine is noisy ({}): ratios are more reliable than absolute times",
            noise.describe()
        );
    } else {
        remark!("noise: {}", noise.describe());
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
    results.roofline = roofline::curve(largest, |share| progress.within_step(share))?;
    progress.step_done();
    Ok(())
}

/// The number of groups of cases on given keys: one with keys hashed beforehand, one with hashing included.
const GROUPS_OF_AN_INPUT: usize = 2;

/// The number of steps that the progress bar counts, and among which the time of the run is divided: the roofline and
/// the steps of all parts.
fn count_steps(selection: &Selection, isa: Option<Isa>, has_own_keys: bool) -> usize {
    const ROOFLINE: usize = 1;
    if has_own_keys {
        return ROOFLINE + GROUPS_OF_AN_INPUT;
    }
    let parts: usize = parts(selection).iter().map(|part| part.steps(selection, isa)).sum();
    ROOFLINE + parts
}

/// The parts of a run. They are measured one after the other, each on its own filters.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// The groups of [`Part::Generated`] that the summary shows, for filters of this number of keys.
    Summary(usize),
    /// Prints the summary of what was measured so far.
    ShowSummary,
    /// All groups on generated keys, for filters of this number of keys. Groups that already have rows are skipped.
    Generated(usize),
    /// The join of TPC-H at this scale factor.
    Tpch(f64),
    Sweep(Loads),
    /// The engine's groups and the map of strategies, which times both strategies of the engine.
    Engine,
    OneGib,
    Point(Point),
}

/// The parts of a selection, in order. If a run has a deadline and takes too long, the last parts are left out.
fn parts(selection: &Selection) -> Vec<Part> {
    let caches = Caches::observe();
    let (looked_up, changed): (Vec<usize>, Vec<usize>) =
        key_counts(selection, &caches).into_iter().partition(|keys| selection.only_looks_up(*keys));
    let of_summary = key_counts_of_summary(selection, &caches);
    let (mut parts, mut looked_up) = (Vec::new(), looked_up);
    for keys in &of_summary {
        if looked_up.contains(keys) {
            // This size has only a few groups, all of which are measured now: filling its filters a second time would
            // take longer than measuring these groups.
            looked_up.retain(|other| other != keys);
            parts.push(Part::Generated(*keys));
        } else {
            parts.push(Part::Summary(*keys));
        }
    }
    parts.extend((!of_summary.is_empty()).then_some(Part::ShowSummary));
    parts.extend(changed.into_iter().map(Part::Generated));
    parts.extend(sweep_of(selection).into_iter().map(Part::Sweep));
    if !groups_of_tpch(selection).is_empty() {
        parts.push(Part::Tpch(tpch_scale(selection)));
    }
    if !selection.engine_groups().is_empty() || !selection.map_points().is_empty() {
        parts.push(Part::Engine);
    }
    if selection.includes_one_gib() {
        parts.push(Part::OneGib);
    }
    parts.extend(points_of(selection, &caches).into_iter().map(Part::Point));
    parts.extend(looked_up.into_iter().map(Part::Generated));
    parts
}

impl Part {
    fn steps(&self, selection: &Selection, isa: Option<Isa>) -> usize {
        let count =
            |groups, specs: &[SubjectSpec]| steps_of(selection.choose_groups(groups, specs).len());
        match self {
            Self::Summary(keys) => {
                let mut groups = groups_of(*keys, selection);
                groups.retain(is_of_summary);
                count(groups, &subject_specs_of(*keys, selection))
            }
            Self::ShowSummary => 0,
            Self::Generated(keys) => {
                count(groups_of(*keys, selection), &subject_specs_of(*keys, selection))
            }
            Self::Tpch(_) => steps_of(groups_of_tpch(selection).len()),
            Self::Sweep(loads) => steps_of_sweep(loads, selection, isa),
            Self::Engine => selection.engine_groups().len() + selection.map_points().len(),
            Self::OneGib => count(groups_of_one_gib(), &subject_specs_of_one_gib()),
            Self::Point(point) => count(point.groups.clone(), &point.specs),
        }
    }

    /// Returns a lower bound of the bytes of each selected filter; empty for the engine and for TPC-H.
    fn filters(&self, selection: &Selection, isa: Option<Isa>) -> Vec<u64> {
        let mut chosen: Vec<SubjectSpec> = Vec::new();
        let mut choose = |groups: Vec<Group>, specs: &[SubjectSpec]| {
            for case in groups.iter().flat_map(|group| selection.choose(group.cases(specs))) {
                // A filter of the sweep is the same at all loads.
                let spec = case.spec.at_load(0);
                if !chosen.contains(&spec) {
                    chosen.push(spec);
                }
            }
        };
        let keys = match self {
            Self::Summary(keys) | Self::Generated(keys) => {
                choose(groups_of(*keys, selection), &subject_specs_of(*keys, selection));
                *keys
            }
            Self::Sweep(sweep) => {
                let specs = swept_specs(sweep.family, sweep.slots, selection, isa);
                for load in sweep.loads.iter().copied() {
                    let at_load: Vec<_> = specs.iter().map(|spec| spec.at_load(load)).collect();
                    choose(sweep.groups(load), &at_load);
                }
                sweep.slots
            }
            Self::OneGib => {
                choose(groups_of_one_gib(), &subject_specs_of_one_gib());
                KEYS_OF_ONE_GIB
            }
            Self::Point(point) => {
                choose(point.groups.clone(), &point.specs);
                point.keys
            }
            Self::ShowSummary | Self::Tpch(_) | Self::Engine => 0,
        };
        chosen.iter().map(|spec| least_bytes(spec.sizing, keys)).collect()
    }

    fn measure(&self, session: &mut Session, thread_sets: &[ThreadSet]) -> Result<()> {
        match self {
            Self::Summary(keys) => session.summary(*keys),
            Self::ShowSummary => {
                session.progress.print(&tables::summary(&session.results).to_terminal())
            }
            Self::Generated(keys) => session.generated(*keys),
            Self::Tpch(scale) => {
                session.progress.say("generating TPC-H");
                let (keys, probes) = tpch::prepare(*scale);
                session.progress.step_done();
                let (name, description) = (format!("tpch-{scale}"), tpch::describe(*scale));
                session.input(&name, &description, &keys, &probes)
            }
            Self::Sweep(loads) => session.sweep(loads),
            Self::Engine => session.engine(thread_sets),
            Self::OneGib => session.one_gib(),
            Self::Point(point) => session.point(point),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Summary(keys) | Self::Generated(keys) => write!(f, "{keys:e} keys"),
            Self::ShowSummary => f.write_str("the summary"),
            Self::Tpch(scale) => write!(f, "TPC-H at scale {scale}"),
            Self::Sweep(loads) => {
                write!(f, "{} filters of {} slots", loads.family, short_slots(loads.slots))
            }
            Self::Engine => f.write_str("the engine"),
            Self::OneGib => f.write_str("filters of 1 GiB"),
            Self::Point(point) => match point.groups.first() {
                Some(group) => group.name().fmt(f),
                None => Ok(()),
            },
        }
    }
}

fn measure_parts(
    session: &mut Session,
    selection: &Selection,
    thread_sets: &[ThreadSet],
) -> Result<()> {
    for part in parts(selection) {
        let was_late = session.is_late();
        part.measure(session, thread_sets)?;
        if session.is_late() && !was_late {
            session.progress.note(&format!(
                "the time of the run was over at {part}: the cases that remain, if any, are left out \
                 (--seconds sets a longer time)"
            ));
        }
    }
    Ok(())
}

/// Writes the files and prints the tables.
fn show(results: &Results, out: &Path) -> Result<()> {
    results.save(out)?;
    report::draw(results, out)?;
    for table in tables::all(results).iter().filter(|table| table.name != "environment") {
        say!("{}\n", table.to_terminal())?;
    }
    say!("wrote results.csv, results.json, env.json and report.html to {}", out.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::failure::BadInput;

    #[test]
    fn keys_that_memory_cannot_hold_are_refused() {
        let selection = |keys| Selection { keys: Some(vec![1000, keys]), ..Selection::default() };
        let memory = Some(16 << 30);
        let ensure_fits = |selection: &Selection, memory| ensure_fits(selection, None, memory);
        assert!(ensure_fits(&selection(10_000_000_000), memory).unwrap_err().is::<BadInput>());
        assert!(ensure_fits(&selection(10_000_000_000), None).is_ok());
        assert!(ensure_fits(&selection(100_000_000), memory).is_ok());
        let one = regex::Regex::new("split-block-bloom.*batch").unwrap();
        let one = Selection { filter: Some(one), no_rivals: true, ..selection(10_000_000_000) };
        assert!(ensure_fits(&one, memory).is_ok());
    }

    #[test]
    fn loads_and_fixed_bytes_that_memory_cannot_hold_are_refused() {
        let with_load = Selection { load: Some(vec![75, 95]), ..Selection::default() };
        let full = Selection { full: true, ..with_load.clone() };
        let ensure = |selection: &Selection, memory| ensure_fits(selection, None, Some(memory));
        // At 2^27 slots of 8 bits, there are three quotient filters: two of ours and a rival. Machines with more than
        // AVX2 measure our two once more with AVX2 kernels. Each filter counts as 128 MiB, so three need 384 MiB, and
        // five 640 MiB.
        assert!(ensure(&with_load, 300 << 20).is_ok());
        let refused = ensure(&full, 300 << 20).unwrap_err();
        assert!(refused.is::<BadInput>() && refused.to_string().contains("slots"), "{refused}");
        assert!(ensure(&full, 1 << 30).is_ok());
        let filter = regex::Regex::new("hit/.*/1024-MiB").unwrap();
        let one_gib = Selection { full: true, filter: Some(filter), ..Selection::default() };
        let refused = ensure(&one_gib, 3 << 30).unwrap_err();
        assert!(refused.is::<BadInput>() && refused.to_string().contains("1 GiB"), "{refused}");
        assert!(ensure(&one_gib, 4 << 30).is_ok());
    }

    #[test]
    fn shorter_runs_have_fewer_parts_and_named_loads_select_only_the_sweep() {
        let quick = Selection { quick: true, ..Selection::default() };
        let usual = Selection::default();
        let full = Selection { full: true, ..Selection::default() };
        let all = parts(&quick);
        assert!(matches!(all[..2], [Part::Summary(100_000), Part::Generated(1_000_001..)]));
        assert_eq!(all[2..4], [Part::ShowSummary, Part::Generated(100_000)]);
        assert!(!parts(&usual).contains(&Part::OneGib) && parts(&full).contains(&Part::OneGib));
        // On a slow machine, a run leaves out the last parts. The engine comes before the matrix, so the engine is left
        // out less often than the matrix.
        let at = |wanted: fn(&Part) -> bool| parts(&usual).iter().position(wanted).unwrap();
        let [engine, point] =
            [at(|part| *part == Part::Engine), at(|part| matches!(part, Part::Point(_)))];
        assert!(engine < point && !all.contains(&Part::Engine));
        let steps = [quick, usual, full].map(|selection| count_steps(&selection, None, false));
        assert!(steps.is_sorted_by(|fewer, more| fewer < more), "{steps:?}");
        let filter = regex::Regex::new("contains/(hit|miss)/1e5/cache-line-bloom").unwrap();
        let two_groups = Selection { filter: Some(filter), ..Selection::default() };
        assert_eq!(count_steps(&two_groups, None, false), 1 + steps_of(2));
        let named = Selection { load: Some(vec![95]), ..Selection::default() };
        assert!(parts(&named).iter().all(|part| matches!(part, Part::Sweep(_))));
    }
}
