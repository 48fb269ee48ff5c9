//! Measures what work costs on this machine, for the engine's cost model.
//!
//! On one thread, by its processor time:
//!
//! - *touch*: lookups by the filter's own batch, in split-block filters of the sizes of
//!   [`trommel::TOUCH_BYTES`];
//! - *pass*: hashes grouped by piece of the table, and nothing else;
//! - inserts and lookups, both forced to be partitioned, at two numbers of keys a line. With `d ≥ 1` of them a
//!   key costs `work + load / d`: two equations, which give the work and the load. Of the work, the pass is
//!   known; of that of lookups also the lookup itself, by the filter's own batch in a table of one piece, and
//!   the rest is the replay.
//!
//! *Start* is time on the wall: until all threads of a pool have met, which were asleep before.

use super::calibration::Calibration;
use super::threads::Team;
use crate::clock::Stopwatch;
use crate::keys::KeyStream;
use crate::stats::{median, round_significant};
use anyhow::{Context as _, Result};
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use trommel::{
    AnyFilter, Bitmap, CacheLineQuotient, CostModel, Filter as _, FilterKind, FilterSpec,
    Insert as _, Isa, KeyHash, SplitBlockBloom, TOUCH_BYTES,
};
use trommel_base::partition::Partitioner;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Probes of a lookup: more lines than caches have.
    probes: usize,
    /// Repetitions of each measurement, of which the median counts.
    rounds: usize,
    /// The table that keys are grouped for.
    grouped_bytes: usize,
    /// The largest table whose touches are measured. Those of larger ones are as many times the default as
    /// this one's.
    touched_bytes: usize,
    /// Times that sleeping threads are set to work.
    starts: usize,
}

impl Extent {
    /// Half a minute, and at most half of the memory that is free.
    pub(crate) fn full() -> Self {
        let touched_bytes = available_bytes().map_or(1 << 30, |bytes| bytes / 2);
        Self { probes: 1 << 22, rounds: 7, grouped_bytes: 128 << 20, touched_bytes, starts: 301 }
    }

    /// Each measurement once, on little memory.
    #[cfg(test)]
    pub(crate) fn check() -> Self {
        Self {
            probes: 1 << 14,
            rounds: 1,
            grouped_bytes: 2 << 20,
            touched_bytes: 4 << 20,
            starts: 3,
        }
    }
}

const LINE_BYTES: usize = 64;
/// A piece of a table that lookups are grouped by.
const PIECE_BYTES: usize = 256 << 10;
/// Keys a line at which inserts and lookups are partitioned.
const SPARSE: usize = 1;
const DENSE: usize = 8;
/// How long threads are left alone, so that they fall asleep.
const LULL: Duration = Duration::from_millis(1);
/// How long a thread waits for the others to come to work.
const PATIENCE: Duration = Duration::from_millis(20);

/// Measures all constants. The first team has one thread, the last as many as there are; `say` is told what
/// comes next.
pub(crate) fn measure(
    teams: &[Team],
    extent: &Extent,
    isa: Option<Isa>,
    mut say: impl FnMut(&str),
) -> Result<Calibration> {
    let (one, all) = teams.first().zip(teams.last()).context("there are no threads")?;
    let bench = Bench { one, extent: *extent, isa };
    say("touches");
    let touch_ns = bench.touches()?;
    say("passes");
    let pass_ns = bench.pass()?;
    say("partitioned inserts");
    let (insert_work, insert_load_ns) = solve(bench.inserts(SPARSE)?, bench.inserts(DENSE)?);
    say("partitioned lookups");
    let (lookup_work, lookup_load_ns) = solve(bench.lookups(SPARSE)?, bench.lookups(DENSE)?);
    let lookup_ns = bench.touch(PIECE_BYTES)?;
    say("builds");
    let bulk_ns = bench.bulk()?;
    say("starts");
    let start_ns = start(all, extent.starts).unwrap_or(CostModel::default().start_ns);
    let rounded = |ns: f64| round_significant(ns.max(0.0), 3);
    Ok(Calibration {
        touch_ns: touch_ns.map(rounded),
        pass_ns: rounded(pass_ns),
        insert_ns: rounded(insert_work - pass_ns),
        insert_load_ns: rounded(insert_load_ns),
        bulk_ns: rounded(bulk_ns),
        lookup_ns: rounded(lookup_ns),
        lookup_load_ns: rounded(lookup_load_ns),
        replay_ns: rounded(lookup_work - pass_ns - lookup_ns),
        start_ns: rounded(start_ns),
    })
}

/// The work and the load of `work + load / d` at the two densities.
fn solve(sparse_ns: f64, dense_ns: f64) -> (f64, f64) {
    let share = |density: usize| 1.0 / density as f64;
    let load = (sparse_ns - dense_ns) / (share(SPARSE) - share(DENSE));
    (sparse_ns - load * share(SPARSE), load)
}

/// The measurements on one thread.
struct Bench<'a> {
    one: &'a Team,
    extent: Extent,
    isa: Option<Isa>,
}

impl Bench<'_> {
    /// Median nanoseconds a key of a section, after one that is not counted. What `before` does is not timed.
    fn ns_per_key(&self, keys: usize, mut before: impl FnMut(), mut section: impl FnMut()) -> f64 {
        let mut times = Vec::with_capacity(self.extent.rounds);
        for round in 0..=self.extent.rounds {
            before();
            let stopwatch = Stopwatch::start();
            section();
            let lap = stopwatch.stop();
            if round > 0 {
                times.push(lap.busy.as_secs_f64() * 1e9 / keys as f64);
            }
        }
        median(&times)
    }

    fn filter(&self, bytes: usize) -> Result<SplitBlockBloom> {
        let spec = FilterSpec::new(FilterKind::SplitBlockBloom).memory_bytes(bytes);
        let spec = self.isa.map_or(spec, |isa| spec.isa(isa)).keys(bytes / LINE_BYTES);
        match spec.build()? {
            AnyFilter::SplitBlockBloom(filter) => Ok(filter),
            other => anyhow::bail!("a {} where a split-block filter was asked for", other.kind()),
        }
    }

    fn touches(&self) -> Result<[f64; TOUCH_BYTES.len()]> {
        let default = CostModel::default().touch_ns;
        let mut touches = default;
        for (i, bytes) in TOUCH_BYTES.into_iter().enumerate() {
            touches[i] = if bytes <= self.extent.touched_bytes || i == 0 {
                self.touch(bytes)?
            } else {
                touches[i - 1] * default[i] / default[i - 1]
            };
        }
        Ok(touches)
    }

    /// A lookup by the filter's own batch, of keys half of which are there.
    fn touch(&self, bytes: usize) -> Result<f64> {
        let mut filter = self.filter(bytes)?;
        let stream = KeyStream::new(bytes as u64);
        filter.insert_batch(&stream.hashes(0, self.extent.probes)).context("a key")?;
        let probes = stream.hashes(self.extent.probes / 2, self.extent.probes);
        let mut found = Bitmap::new(0);
        let lookups = || filter.contains_batch(&probes, &mut found);
        Ok(self.ns_per_key(probes.len(), || (), lookups))
    }

    /// A build of a filter that groups keys by itself.
    fn bulk(&self) -> Result<f64> {
        let keys = KeyStream::new(1).hashes(0, self.extent.probes);
        let builder = CacheLineQuotient::builder().keys(keys.len()).fpr(0.01);
        let builder = self.isa.map_or(builder, |isa| builder.isa(isa));
        let filter = std::cell::RefCell::new(builder.build()?);
        let mut result = Ok(());
        let ns = self.ns_per_key(
            keys.len(),
            || filter.borrow_mut().clear(),
            || result = result.and(filter.borrow_mut().insert_batch(&keys)),
        );
        result.context("a quotient filter takes the keys that it is made for")?;
        Ok(ns)
    }

    fn grouped_keys(&self, density: usize) -> Vec<KeyHash> {
        let lines = self.extent.grouped_bytes / LINE_BYTES;
        KeyStream::new(density as u64).hashes(0, lines * density)
    }

    fn pass(&self) -> Result<f64> {
        let keys = self.grouped_keys(DENSE);
        let pieces = (self.extent.grouped_bytes / PIECE_BYTES).max(2);
        let shift = u64::BITS - pieces.ilog2();
        let mut partitioner = Partitioner::<u64>::new();
        let mut refused = None;
        let ns = self.ns_per_key(
            keys.len(),
            || (),
            || {
                let split = |hash: u64| ((hash >> shift) as usize, hash);
                match partitioner.partition(black_box(&keys), pieces, split) {
                    Ok(grouped) => drop(black_box(grouped)),
                    Err(error) => refused = Some(error),
                }
            },
        );
        refused.map_or(Ok(ns), |error| Err(error.into()))
    }

    fn inserts(&self, density: usize) -> Result<f64> {
        let keys = self.grouped_keys(density);
        let filter = std::cell::RefCell::new(self.filter(self.extent.grouped_bytes)?);
        let mut result = Ok(());
        let ns = self.ns_per_key(
            keys.len(),
            || filter.borrow_mut().clear(),
            || {
                let inserted = self.one.partitioned.insert_batch(&mut *filter.borrow_mut(), &keys);
                result = result.and(inserted);
            },
        );
        result.context("a Bloom filter takes all keys")?;
        Ok(ns)
    }

    fn lookups(&self, density: usize) -> Result<f64> {
        let keys = self.grouped_keys(density);
        let mut filter = self.filter(self.extent.grouped_bytes)?;
        filter.insert_batch(&keys[..keys.len() / 2]).context("a Bloom filter takes all keys")?;
        let mut found = Bitmap::new(0);
        let lookups = || self.one.partitioned.contains_batch(&filter, &keys, &mut found);
        Ok(self.ns_per_key(keys.len(), || (), lookups))
    }
}

/// Nanoseconds until all threads of a team that slept have met; none if there is one thread alone.
fn start(team: &Team, rounds: usize) -> Option<f64> {
    let pool = team.pool.as_ref()?;
    let threads = pool.current_num_threads();
    let times: Vec<f64> = (0..rounds)
        .map(|_| {
            std::thread::sleep(LULL);
            let arrived = AtomicUsize::new(0);
            let start = Instant::now();
            pool.install(|| {
                (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    // Else the first to wake up would do the work of all.
                    while arrived.load(Ordering::Relaxed) < threads && start.elapsed() < PATIENCE {
                        std::hint::spin_loop();
                    }
                });
            });
            start.elapsed().as_secs_f64() * 1e9
        })
        .collect();
    Some(median(&times))
}

/// Memory that can be had without swapping, where the system tells.
fn available_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_load_come_out_of_two_densities() {
        let cost = |density: usize| 3.0 + 6.0 / density as f64;
        let (work, load) = solve(cost(SPARSE), cost(DENSE));
        assert!((work - 3.0).abs() < 1e-9 && (load - 6.0).abs() < 1e-9);
    }

    #[test]
    fn every_constant_is_measured_and_none_is_below_zero() {
        let teams = Team::of(&[1, 2], CostModel::default()).unwrap();
        let measured = measure(&teams, &Extent::check(), None, |_| ()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        measured.save(directory.path()).unwrap();
        let read = Calibration::read(&directory.path().join("calibration.json")).unwrap();
        assert!(read.touch_ns.iter().all(|ns| *ns > 0.0));
        assert!(read.pass_ns > 0.0 && read.lookup_ns > 0.0 && read.start_ns > 0.0);
    }
}
