//! Counts of events where there are no hardware counters: the cases of a run once more, each in a section
//! that Callgrind simulates.
//!
//! Simulation is some fifty times slower than the machine, so it counts one repetition of each case, and only
//! of filters that fit [`MOST_KEYS`]. What it counts does not depend on how busy the machine is, so programs
//! run beside each other, one for each core.

mod child;
mod job;
mod ledger;

pub(crate) use job::Job;
pub(crate) use ledger::Ledger;

use job::jobs_of;

use crate::console::say;
use crate::environment::{Caches, cache_ways};
use crate::progress::Progress;
use crate::results::Results;
use anyhow::Result;
use core_affinity::CoreId;
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc;
use trommel::Isa;
use trommel_callgrind as callgrind;

/// Keys, or slots, of the largest filters that are simulated.
const MOST_KEYS: usize = 1 << 20;

/// In the column `counters` of rows that were filled in here.
const SIMULATED: &str = "simulated";

/// Fills in the rows that nothing was counted for and that can be simulated, and saves after each program.
/// A program that fails or takes too long leaves its rows blank, and is noted.
pub(crate) fn fill_in(results: &mut Results, isa: Isa, cores: &[CoreId], out: &Path) -> Result<()> {
    let jobs = jobs_of(&results.rows);
    let mut progress = Progress::new(jobs.len());
    let folder = out.join("simulated");
    fs::create_dir_all(&folder)?;
    let simulated = nearest_to(&results.environment.caches);
    let left = Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>());
    let (sender, receiver) = mpsc::channel();
    let outcome: Result<()> = std::thread::scope(|scope| {
        for worker in 0..cores.len().max(1) {
            let (sender, left, folder) = (sender.clone(), &left, &folder);
            scope.spawn(move || {
                // The thread that measured stays on its core, and those that it starts with it.
                if let Some(core) = cores.get(worker) {
                    core_affinity::set_for_current(*core);
                }
                let next = || left.lock().ok().and_then(|mut left| left.pop_front());
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
                        let alike = rows.filter(|row| job::simulated_name(row) == name);
                        alike.for_each(|row| row.put_counts(&counts, SIMULATED));
                    }
                    // Rows that are kept should not be lost with those that follow.
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

/// The best instruction set that Valgrind knows up to the one that was measured.
pub(crate) fn known_isa(measured: Isa) -> Isa {
    match measured {
        Isa::Avx512Core | Isa::Avx512 | Isa::Avx512Gather => Isa::Avx2,
        known => known,
    }
}

/// The caches of this machine, as near as they can be simulated: the first level, and the last.
fn nearest_to(caches: &Caches) -> callgrind::Simulated {
    let cache = |level, bytes: Option<u64>, default: (u64, u64)| {
        let bytes = bytes.unwrap_or(default.0);
        callgrind::Cache::nearest(bytes, cache_ways(level).unwrap_or(default.1))
    };
    let d1 = cache(1, caches.l1d, (32 << 10, 8));
    let ll = match caches.l3 {
        None if caches.l2.is_some() => cache(2, caches.l2, (1 << 20, 16)),
        l3 => cache(3, l3, (8 << 20, 16)),
    };
    callgrind::Simulated::Caches(callgrind::Caches { d1, ll })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valgrind_is_offered_no_instruction_set_that_it_lacks() {
        assert_eq!(known_isa(Isa::Avx512Core), Isa::Avx2);
        assert_eq!(known_isa(Isa::Avx512), Isa::Avx2);
        assert_eq!(known_isa(Isa::Avx512Gather), Isa::Avx2);
        assert_eq!(known_isa(Isa::Portable), Isa::Portable);
    }

    #[test]
    fn unknown_caches_are_simulated_as_common_ones() {
        assert!(matches!(nearest_to(&Caches::default()), callgrind::Simulated::Caches(_)));
    }
}
