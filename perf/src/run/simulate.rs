//! Counts events on machines without hardware counters: runs the cases once more under Callgrind,
//! which simulates caches and branch prediction and counts the events of each timed section.
//!
//! A simulated program is about fifty times slower than a program that runs directly on the processor, so it runs one
//! repetition of each case, and only cases of filters up to [`MOST_KEYS`] keys or slots. The counts do not depend on
//! the load of the machine, so several processes run at the same time, one per core.

mod child;
mod job;

pub(crate) use job::Job;

use job::jobs_of;

use crate::base::console::say;
use crate::measure::environment::{Caches, cache_ways};
use crate::run::progress::Progress;
use crate::store::results::Results;
use anyhow::Result;
use core_affinity::CoreId;
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc;
use trommel::Isa;
use trommel_callgrind as callgrind;

/// The most keys or slots of a filter that is simulated.
const MOST_KEYS: usize = 1 << 20;

/// The value of the column `counters` in rows with simulated counts.
const SIMULATED: &str = "simulated";

/// Adds simulated counts to all rows that have no counts and can be simulated, and saves the results after each
/// process that succeeds. If a process fails or takes too long, the counts of its rows stay blank and a note is
/// printed.
pub(crate) fn fill_in(results: &mut Results, isa: Isa, cores: &[CoreId], out: &Path) -> Result<()> {
    let jobs = jobs_of(&results.rows);
    let mut progress = Progress::new(jobs.len());
    let folder = out.join("simulated");
    fs::create_dir_all(&folder)?;
    let simulated =
        callgrind::Simulated::Caches(nearest_to(&results.environment.caches, cache_ways));
    let queue = Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>());
    let (sender, receiver) = mpsc::channel();
    let outcome: Result<()> = std::thread::scope(|scope| {
        for worker in 0..cores.len().max(1) {
            let (sender, queue, folder) = (sender.clone(), &queue, &folder);
            scope.spawn(move || {
                // The measuring thread is pinned to its core. New threads inherit this pinning, so each worker sets its
                // own core.
                if let Some(core) = cores.get(worker) {
                    core_affinity::set_for_current(*core);
                }
                let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
                while let Some((index, job)) = next() {
                    let file = folder.join(index.to_string());
                    let counted = child::run(&job, isa, &simulated, &file);
                    if sender.send((job, counted)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (job, counted) in receiver {
            progress.say(format!("simulated {job}"));
            match counted {
                Ok(counted) => {
                    for (name, counts) in counted {
                        let rows = results.rows.iter_mut();
                        let of_case = rows.filter(|row| job::simulated_name(row) == name);
                        of_case.for_each(|row| row.put_counts(&counts, SIMULATED));
                    }
                    // Saves now, so that these counts are kept if the run is interrupted.
                    results.save(out)?;
                }
                Err(error) => progress.note(&format!("{job} was not simulated: {error:#}")),
            }
            progress.step_done();
        }
        Ok(())
    });
    fs::remove_dir_all(&folder)?;
    outcome?;
    let filled = results.rows.iter().filter(|row| row.counters == SIMULATED).count();
    let seconds = progress.finish().as_secs();
    say!("simulated on {isa} in {seconds} s: {filled} of {} rows", results.rows.len())
}

/// Returns the best instruction set that Valgrind supports and that is not better than `measured`.
pub(crate) fn known_isa(measured: Isa) -> Isa {
    match measured {
        Isa::Avx512Core | Isa::Avx512 | Isa::Avx512Gather => Isa::Avx2,
        known => known,
    }
}

/// Returns the best approximation of a machine's caches that Callgrind can simulate: the first and the last level.
/// `ways` returns the associativity of the cache of a level, if the system reports it. Unknown sizes and
/// associativities are replaced by common sizes and associativities.
fn nearest_to(caches: &Caches, ways: impl Fn(u32) -> Option<u64>) -> callgrind::Caches {
    let cache = |level, bytes: Option<u64>, default: (u64, u64)| {
        let bytes = bytes.unwrap_or(default.0);
        callgrind::Cache::nearest(bytes, ways(level).unwrap_or(default.1))
    };
    let d1 = cache(1, caches.l1d, (32 << 10, 8));
    let ll = match caches.l3 {
        None if caches.l2.is_some() => cache(2, caches.l2, (1 << 20, 16)),
        l3 => cache(3, l3, (8 << 20, 16)),
    };
    callgrind::Caches { d1, ll }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isas_that_valgrind_lacks_are_replaced_by_avx2() {
        assert_eq!(known_isa(Isa::Avx512Core), Isa::Avx2);
        assert_eq!(known_isa(Isa::Avx512), Isa::Avx2);
        assert_eq!(known_isa(Isa::Avx512Gather), Isa::Avx2);
        assert_eq!(known_isa(Isa::Portable), Isa::Portable);
    }

    #[test]
    fn unknown_caches_are_simulated_with_common_sizes() {
        let cache = callgrind::Cache::nearest;
        let simulated = nearest_to(&Caches::default(), |_| None);
        let common = callgrind::Caches { d1: cache(32 << 10, 8), ll: cache(8 << 20, 16) };
        assert_eq!(simulated, common);
    }

    #[test]
    fn the_last_level_that_the_system_reports_is_simulated() {
        let cache = callgrind::Cache::nearest;
        let ways = |level| Some([8, 4, 16][level as usize - 1]);
        let mut caches = Caches { l1d: Some(64 << 10), l2: Some(512 << 10), l3: None };
        let of_two = callgrind::Caches { d1: cache(64 << 10, 8), ll: cache(512 << 10, 4) };
        assert_eq!(nearest_to(&caches, ways), of_two);
        caches.l3 = Some(4 << 20);
        assert_eq!(nearest_to(&caches, ways).ll, cache(4 << 20, 16));
    }
}
