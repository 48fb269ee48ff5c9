//! Measures the constants of the engine's cost model on this machine.
//!
//! The costs of memory accesses are measured on one thread, by its processor time, with each of the engine's two
//! strategies forced:
//!
//! - *direct*: keys are processed in the order of the batch. The tables have the sizes
//!   [`trommel::engine::TABLE_BYTES`], except sizes that are too large for the machine (see [`Extent`]);
//! - *grouped*: keys are first grouped by piece of the table (the strategy `Partitioned`). There is one table, and
//!   batches with the numbers of accesses per cache line in [`trommel::engine::ACCESSES_PER_LINE`].
//!
//! The *bulk* cost is the processor time per key of a batch of inserts into a filter that itself groups the keys.
//!
//! For the direct, grouped and bulk costs, the fastest repetition counts, since other programs make work slower and
//! never faster.
//!
//! The *start* cost is the median wall-clock time until all threads of a pool have woken up.
//!
//! All constants are measured in several passes, since a disturbance can last longer than all repetitions of one
//! constant. The smallest value that any pass gives for a constant is kept.

use super::calibration::{AccessCosts, Calibration};
use super::threads::ThreadSet;
use crate::base::clock::Stopwatch;
use crate::base::stats::{median, round_significant};
use crate::measure::keys::KeyStream;
use anyhow::{Context as _, Result};
use rayon::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use trommel::engine::{ACCESSES_PER_LINE, CostModel, LineCost, TABLE_BYTES};
use trommel::{
    AnyFilter, Bitmap, CacheLineQuotient, Engine, FilterKind, FilterSpec, Insert as _, Isa,
};

/// The numbers of repetitions and the sizes of tables of a calibration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The number of memory accesses in a direct batch, and of keys in a batch for the bulk cost. In a
    /// full calibration, it is larger than the number of cache lines in the caches of most machines.
    accesses: usize,
    /// The number of passes over all constants.
    passes: usize,
    /// The number of repetitions of each measurement per pass.
    rounds: usize,
    /// The size, in bytes, of the table for which keys are grouped. In a full calibration, this table is larger than
    /// most caches. Yet grouping keys for a table of this size takes at most 256 MiB of scratch memory, so little that
    /// an engine keeps this memory from one repetition to the next.
    grouped_bytes: usize,
    /// The size, in bytes, of the largest table in which direct accesses are measured. The cost for a larger table is
    /// computed from the cost for the next smaller one: it is multiplied by the ratio of the default costs for these
    /// two tables. The smallest table is always measured.
    largest_bytes: usize,
    /// The number of times per pass that sleeping threads are woken up.
    starts: usize,
}

impl Extent {
    /// The extent of a real calibration: about a minute. Direct accesses are measured in tables of at
    /// most half of the available memory, or of at most 1 GiB if the system does not report it.
    pub(crate) fn full() -> Self {
        let largest_bytes = available_bytes().map_or(1 << 30, |bytes| bytes / 2);
        Self {
            accesses: 1 << 22,
            passes: 3,
            rounds: 3,
            grouped_bytes: 128 << 20,
            largest_bytes,
            starts: 101,
        }
    }

    /// The extent of a test: two passes in little memory.
    #[cfg(test)]
    pub(crate) fn check() -> Self {
        Self {
            accesses: 1 << 14,
            passes: 2,
            rounds: 1,
            grouped_bytes: 2 << 20,
            largest_bytes: 4 << 20,
            starts: 3,
        }
    }
}

const LINE_BYTES: usize = 64;
/// Bits per key of the filters. With this number of bits per key, each key sets seven bits of a standard Bloom filter.
const BITS_PER_KEY: usize = 10;
/// The time for which threads are left without work, so that they fall asleep.
const LULL: Duration = Duration::from_millis(1);
/// A thread waits for the other threads to wake up until at most this long after the start.
const PATIENCE: Duration = Duration::from_millis(20);

/// Measures all constants. The caller must ensure that the first thread set has one thread, and that the last has the
/// most threads. `say` is called with the name of each measurement before it begins.
///
/// # Errors
///
/// If there are no thread sets, or if a filter cannot be created or filled.
pub(crate) fn measure(
    thread_sets: &[ThreadSet],
    extent: &Extent,
    isa: Option<Isa>,
    mut say: impl FnMut(&str),
) -> Result<Calibration> {
    let (one, all) = thread_sets.first().zip(thread_sets.last()).context("there are no threads")?;
    let bench = Bench { one, all, extent: *extent, isa };
    let mut fastest = bench.constants(&mut say)?;
    for _ in 1..extent.passes {
        fastest = fastest.or_faster(&bench.constants(&mut say)?);
    }
    Ok(fastest)
}

fn round(ns: f64) -> f64 {
    round_significant(ns, 3)
}

/// An operation whose memory accesses are measured.
#[derive(Clone, Copy, Debug)]
enum Work {
    Lookup,
    Insert,
    InsertBits,
}

/// The engines and settings with which constants are measured.
struct Bench<'a> {
    one: &'a ThreadSet,
    all: &'a ThreadSet,
    extent: Extent,
    isa: Option<Isa>,
}

impl Bench<'_> {
    /// Makes one pass: measures each constant once.
    fn constants(&self, mut say: impl FnMut(&str)) -> Result<Calibration> {
        let default = CostModel::default();
        say("lookups");
        let lookup = self.access_costs(Work::Lookup, &default.lookup)?;
        say("inserts");
        let insert = self.access_costs(Work::Insert, &default.insert)?;
        say("inserts into standard filters");
        let insert_bit = self.access_costs(Work::InsertBits, &default.insert_bit)?;
        say("builds");
        let bulk_ns = round(self.bulk()?);
        say("starts");
        let start_ns = start(self.all, self.extent.starts).map_or(default.start_ns, round);
        Ok(Calibration { lookup, insert, insert_bit, bulk_ns, start_ns })
    }

    /// Returns the nanoseconds of the fastest repetition of a section. One more repetition precedes the others and does
    /// not count. `before` runs before each repetition and is not timed.
    fn fastest_ns(&self, mut before: impl FnMut(), mut section: impl FnMut()) -> f64 {
        let mut fastest = f64::INFINITY;
        for round in 0..=self.extent.rounds {
            before();
            let stopwatch = Stopwatch::start();
            section();
            let lap = stopwatch.stop();
            if round > 0 {
                fastest = fastest.min(lap.busy.as_secs_f64() * 1e9);
            }
        }
        fastest
    }

    /// Measures the costs of a memory access, direct and grouped.
    fn access_costs(&self, work: Work, default: &LineCost) -> Result<AccessCosts> {
        let mut direct_ns = default.direct_ns;
        for (i, bytes) in TABLE_BYTES.into_iter().enumerate() {
            let accesses = self.extent.accesses;
            direct_ns[i] = round(if bytes <= self.extent.largest_bytes || i == 0 {
                self.ns_per_access(work, &self.one.direct, bytes, accesses)?
            } else {
                direct_ns[i - 1] * default.direct_ns[i] / default.direct_ns[i - 1]
            });
        }
        let mut grouped_ns = default.grouped_ns;
        let bytes = self.extent.grouped_bytes;
        for (ns, accesses_per_line) in grouped_ns.iter_mut().zip(ACCESSES_PER_LINE) {
            let accesses = ((bytes / LINE_BYTES) as f64 * accesses_per_line) as usize;
            *ns = round(self.ns_per_access(work, &self.one.partitioned, bytes, accesses)?);
        }
        Ok(AccessCosts { direct_ns, grouped_ns })
    }

    /// Measures the nanoseconds per access to a table of `bytes` bytes, in a batch of `accesses` accesses. Half of the
    /// lookups find their key.
    fn ns_per_access(
        &self,
        work: Work,
        engine: &Engine,
        bytes: usize,
        accesses: usize,
    ) -> Result<f64> {
        let filter = RefCell::new(self.filter(work, bytes)?);
        let accesses_per_key = match work {
            Work::Lookup | Work::Insert => 1,
            Work::InsertBits => {
                filter.borrow().hash_count().context("the filter has no hash count")?
            }
        } as usize;
        let keys = (accesses / accesses_per_key).max(1);
        let stream = KeyStream::new(bytes as u64);
        let hashes = stream.hashes(0, keys);
        let mut result = engine.insert_batch(&mut *filter.borrow_mut(), &hashes);
        let ns = match work {
            Work::Lookup => {
                let probes = stream.hashes(keys / 2, keys);
                let mut found = Bitmap::new(0);
                self.fastest_ns(
                    || (),
                    || engine.contains_batch(&*filter.borrow(), &probes, &mut found),
                )
            }
            // All repetitions insert the same keys into the same filter. Later repetitions write as many cache lines as
            // the first repetition, because a cache line is written even if its bits are already set.
            Work::Insert | Work::InsertBits => self.fastest_ns(
                || (),
                || result = result.and(engine.insert_batch(&mut *filter.borrow_mut(), &hashes)),
            ),
        };
        result.context("inserting into a Bloom filter")?;
        Ok(ns / (keys * accesses_per_key) as f64)
    }

    fn filter(&self, work: Work, bytes: usize) -> Result<AnyFilter> {
        let kind = match work {
            Work::Lookup | Work::Insert => FilterKind::SplitBlockBloom,
            Work::InsertBits => FilterKind::Bloom,
        };
        let spec = FilterSpec::new(kind).memory_bytes(bytes).keys(bytes * 8 / BITS_PER_KEY);
        Ok(self.isa.map_or(spec, |isa| spec.isa(isa)).build()?)
    }

    /// Measures the nanoseconds per key in a batch of inserts into a filter that itself groups the keys.
    fn bulk(&self) -> Result<f64> {
        let keys = KeyStream::new(1).hashes(0, self.extent.accesses);
        let builder = CacheLineQuotient::builder().keys(keys.len()).fpr(0.01);
        let builder = self.isa.map_or(builder, |isa| builder.isa(isa));
        let filter = RefCell::new(builder.build()?);
        let mut result = Ok(());
        let ns = self.fastest_ns(
            || filter.borrow_mut().clear(),
            || result = result.and(filter.borrow_mut().insert_batch(&keys)),
        );
        result.context("inserting as many keys as the quotient filter was built for")?;
        Ok(ns / keys.len() as f64)
    }
}

/// Returns the median number of nanoseconds until all threads of a set have woken up; `None` if the set has only one
/// thread.
fn start(thread_set: &ThreadSet, rounds: usize) -> Option<f64> {
    let pool = thread_set.pool.as_ref()?;
    let times: Vec<f64> = (0..rounds)
        .map(|_| {
            std::thread::sleep(LULL);
            let arrived = AtomicUsize::new(0);
            let start = Instant::now();
            pool.install(|| {
                (0..thread_set.threads).into_par_iter().with_max_len(1).for_each(|_| {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    // Each thread waits for the other threads: otherwise the first thread to wake up would do all the
                    // work.
                    let is_waiting = || arrived.load(Ordering::Relaxed) < thread_set.threads;
                    while is_waiting() && start.elapsed() < PATIENCE {
                        std::hint::spin_loop();
                    }
                });
            });
            start.elapsed().as_secs_f64() * 1e9
        })
        .collect();
    Some(median(&times))
}

/// The memory that is available without swapping, in bytes, if the system reports it.
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
    fn every_constant_is_measured_and_positive() {
        let thread_sets = ThreadSet::start_all(&[1, 2], CostModel::default()).unwrap();
        let measured = measure(&thread_sets, &Extent::check(), None, |_| ()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        measured.save(directory.path()).unwrap();
        let read = Calibration::read(&directory.path().join("calibration.json")).unwrap();
        for accesses in [read.lookup, read.insert, read.insert_bit] {
            let costs = accesses.direct_ns.into_iter().chain(accesses.grouped_ns);
            assert!(costs.into_iter().all(|ns| ns > 0.0 && ns.is_finite()));
        }
        assert!(read.bulk_ns > 0.0 && read.start_ns > 0.0);
    }
}
