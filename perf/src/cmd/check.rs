//! `check`: runs every kind of case briefly on few keys, only to verify the answers.

use super::usable_isa;
use crate::base::console::say;
use crate::cli::CheckArgs;
use crate::measure::effort::Effort;
use crate::measure::environment::{Caches, Environment};
use crate::measure::plan::{Loads, Selection, every_point};
use crate::measure::tpch;
use crate::model::Family;
use crate::run::engine;
use crate::run::engine::strategies::{self, MapBench};
use crate::run::engine::{Bench, ThreadSet};
use crate::run::progress::Progress;
use crate::run::session::Session;
use crate::store::results::Results;
use crate::textbook;
use anyhow::Result;
use trommel::Isa;
use trommel::engine::CostModel;

/// The numbers of keys: 1; 63, 64 and 65, since a word of a bitmap has 64 answers; and 5000, a larger number that is
/// not a multiple of 64.
const KEYS: [usize; 5] = [1, 63, 64, 65, 5000];
/// The numbers of keys with which the engine is checked.
const KEYS_OF_ENGINE: [usize; 2] = [1, 70_000];
/// The size, in bytes, of the filter on which both strategies of the engine are checked.
const BYTES_OF_STRATEGIES: usize = 1 << 16;
/// The numbers of threads with which the engine is checked.
const THREADS: [usize; 2] = [1, 3];
/// The number of keys at the first point of the matrix. Each later point has one key more than the point before, so
/// that cases of different points have different names.
const KEYS_OF_MATRIX: usize = 3000;
/// Made-up cache sizes with which the matrix has all its points.
const SOME_CACHES: Caches = Caches { l1d: Some(32 << 10), l2: Some(1 << 20), l3: Some(32 << 20) };
const TPCH_SCALE: f64 = 0.001;
/// The number of slots of each filter in the sweep over loads, and the loads of the sweep, in per cent.
const SLOTS: usize = 4096;
const LOADS: [u32; 3] = [1, 75, 95];

/// Runs the cases and prints the number that [`check`] returns. The first wrong answer ends the run with an error.
pub(crate) fn run(arguments: &CheckArgs) -> Result<()> {
    let cases = check(usable_isa(arguments.isa)?)?;
    say!("{cases} cases checked: every answer right")
}

/// Runs the cases. Returns the number of results: rows, choices between the engine's two strategies
/// ([`Choice`](crate::model::Choice)), and results of the textbook's experiments.
fn check(isa: Option<Isa>) -> Result<usize> {
    let results = Results::new(Environment::observe(isa));
    let mut session = Session::new(
        results,
        Progress::hidden(),
        Selection { full: true, ..Selection::default() },
        Effort::CHECK,
        isa,
        None,
        None,
    );
    for keys in KEYS {
        session.generated(keys)?;
    }
    for family in Family::ALL {
        session.sweep(&Loads { family, slots: SLOTS, loads: LOADS.into() })?;
    }
    for (keys, (_, point)) in (KEYS_OF_MATRIX..).zip(every_point(&SOME_CACHES)) {
        session.point(&point.with_keys(keys))?;
    }
    let (keys, probes) = tpch::prepare(TPCH_SCALE);
    session.input("tpch-0.001", &tpch::describe(TPCH_SCALE), &keys, &probes)?;
    let thread_sets = ThreadSet::start_all(&THREADS, CostModel::default())?;
    let bench = Bench { thread_sets: &thread_sets, effort: Effort::CHECK, isa, deadline: None };
    for keys in KEYS_OF_ENGINE {
        let groups = engine::groups_of(keys);
        bench.measure(&groups, &mut session.results, &mut session.progress, |_| Ok(()))?;
    }
    let map_points = strategies::points_of(&[BYTES_OF_STRATEGIES]);
    let map = MapBench { thread_sets: &thread_sets, pace: Effort::CHECK.pace, isa, deadline: None };
    map.measure(&map_points, &mut session.results, &mut session.progress, |_| Ok(()))?;
    let textbook = textbook::measure(&textbook::Effort::check(), |_| ())?;
    let strategies = session.results.strategies.len();
    Ok(session.results.rows.len() + strategies + textbook.limits.len() + textbook.points.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_answered_correctly_on_every_instruction_set() {
        for isa in Isa::available() {
            assert!(check(Some(isa)).unwrap() > 100, "{isa}");
        }
    }
}
