//! Measures the map of strategies: times both strategies of the engine, direct and partitioned, for each filter size,
//! number of keys per cache line and number of threads, and records which of the two the cost model picks there.

use super::threads::ThreadSet;
use super::wall;
use crate::base::stats::round_significant;
use crate::measure::interleave::{Meter, Pace, Repetition, interleave};
use crate::measure::keys::KeyStream;
use crate::model::{Choice, name_of_strategy};
use crate::run::progress::Progress;
use crate::store::results::Results;
use anyhow::{Context as _, Result, ensure};
use std::cell::RefCell;
use std::time::Duration;
use trommel::engine::Strategy;
use trommel::{
    Bitmap, Engine, Filter as _, FilterKind, FilterSpec, Insert as _, Isa, KeyHash, SplitBlockBloom,
};

/// A point of the map: a filter size in bytes and a number of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MapPoint {
    bytes: usize,
    keys: usize,
}

const LINE_BYTES: usize = 64;
const KEYS_PER_LINE: [f64; 5] = [0.1, 0.25, 1.0, 4.0, 16.0];
const MOST_KEYS: usize = 100_000_000;
/// The operations that are measured at each point.
const OPS: [&str; 2] = [INSERT, CONTAINS];
const INSERT: &str = "insert";
const CONTAINS: &str = "contains";

impl MapPoint {
    /// Whether each operation has been measured at this point on each thread set.
    fn is_measured(self, choices: &[Choice], thread_sets: &[ThreadSet]) -> bool {
        let has = |op: &str, thread_set: &ThreadSet| {
            let point = (op, self.bytes as u64, self.keys as u64, thread_set.threads as u32);
            choices.iter().any(|choice| choice.point() == point)
        };
        thread_sets.iter().all(|thread_set| OPS.iter().all(|op| has(op, thread_set)))
    }
}

/// The points of the map. Filters of 1 GiB are included only if `has_one_gib`.
pub(crate) fn points(has_one_gib: bool) -> Vec<MapPoint> {
    let sizes = [1 << 20, 16 << 20, 128 << 20, 1 << 30];
    let sizes = if has_one_gib { &sizes[..] } else { &sizes[..3] };
    points_of(sizes)
}

/// The points for filters of these sizes in bytes.
pub(crate) fn points_of(sizes: &[usize]) -> Vec<MapPoint> {
    let of_size = |bytes: &usize| {
        KEYS_PER_LINE.map(|density| MapPoint {
            bytes: *bytes,
            keys: (((bytes / LINE_BYTES) as f64 * density) as usize).clamp(1, MOST_KEYS),
        })
    };
    sizes.iter().flat_map(of_size).collect()
}

/// Measures the map of strategies.
pub(crate) struct MapBench<'a> {
    pub(crate) thread_sets: &'a [ThreadSet],
    /// The pace of an operation at a point.
    pub(crate) pace: Pace,
    pub(crate) isa: Option<Isa>,
    /// No point begins later than this time after the start of the run; `None` if the run has no limit.
    pub(crate) deadline: Option<Duration>,
}

impl MapBench<'_> {
    /// Measures all points on all thread sets, except points that `results` has already. After the deadline, no point
    /// begins. `save` is called after each point that was measured.
    pub(crate) fn measure(
        &self,
        points: &[MapPoint],
        results: &mut Results,
        progress: &mut Progress,
        mut save: impl FnMut(&Results) -> Result<()>,
    ) -> Result<()> {
        for point in points {
            let is_late = progress.is_past(self.deadline);
            if !is_late && !point.is_measured(&results.strategies, self.thread_sets) {
                progress.say(format!("strategies {} MiB {:e} keys", point.bytes >> 20, point.keys));
                let map = Map::new(*point, self.thread_sets, self.isa)?;
                for choice in map.inserts(&self.pace)?.into_iter().chain(map.lookups(&self.pace)?) {
                    put(&mut results.strategies, choice);
                }
                save(results)?;
            }
            progress.step_done();
        }
        Ok(())
    }
}

fn put(choices: &mut Vec<Choice>, choice: Choice) {
    match choices.iter_mut().find(|old| old.point() == choice.point()) {
        Some(old) => *old = choice,
        None => choices.push(choice),
    }
}

/// A point of the map, with the keys and the empty filter that are measured there.
struct Map<'a> {
    point: MapPoint,
    thread_sets: &'a [ThreadSet],
    keys: Vec<KeyHash>,
    empty: SplitBlockBloom,
}

impl<'a> Map<'a> {
    fn new(point: MapPoint, thread_sets: &'a [ThreadSet], isa: Option<Isa>) -> Result<Self> {
        let spec =
            FilterSpec::new(FilterKind::SplitBlockBloom).keys(point.keys).memory_bytes(point.bytes);
        let spec = isa.map_or(spec, |isa| spec.isa(isa));
        let trommel::AnyFilter::SplitBlockBloom(empty) = spec.build()? else {
            unreachable!("a split-block filter was asked for")
        };
        let keys = KeyStream::new(point.keys as u64).hashes(0, point.keys);
        Ok(Self { point, thread_sets, keys, empty })
    }

    /// For each thread set, the two engines with a forced strategy: first the direct engine, then the partitioned one.
    fn engines(&self) -> impl Iterator<Item = &'a Engine> {
        self.thread_sets.iter().flat_map(|thread_set| [&thread_set.direct, &thread_set.partitioned])
    }

    fn inserts(&self, pace: &Pace) -> Result<Vec<Choice>> {
        // All repetitions use the same table. With a table of its own, a repetition would also have to write back the
        // cache lines that the previous repetition left modified in another table.
        let filter = RefCell::new(self.empty.clone());
        let mut expected = self.empty.clone();
        expected.insert_batch(&self.keys).context("cannot insert into a Bloom filter")?;
        let expected = expected.to_bytes();
        for engine in self.engines() {
            let mut filter = filter.borrow_mut();
            filter.clear();
            engine.insert_batch(&mut *filter, &self.keys)?;
            ensure!(
                filter.to_bytes() == expected,
                "the engine's filter differs from the filter of one thread"
            );
        }
        let repetition = |engine: &'a Engine| -> Repetition<'_> {
            let filter = &filter;
            Box::new(move |meter| {
                let mut filter = filter.borrow_mut();
                filter.clear();
                let inserted = wall::time(meter, engine.threads(), || {
                    engine.insert_batch(&mut *filter, &self.keys)
                });
                inserted?;
                Ok(self.keys.len() as u64)
            })
        };
        let repetitions = self.engines().map(repetition).collect();
        let pick = |engine: &Engine| engine.insert_strategy(&self.empty, &self.keys);
        self.choices(INSERT, repetitions, pick, pace)
    }

    fn lookups(&self, pace: &Pace) -> Result<Vec<Choice>> {
        let mut filter = self.empty.clone();
        filter.insert_batch(&self.keys).context("cannot insert into a Bloom filter")?;
        // Half of the probes are keys.
        let half = self.keys.len() / 2;
        let mut probes = self.keys[..half].to_vec();
        let absent = KeyStream::new(!(self.point.keys as u64));
        probes.extend(absent.hashes(0, self.keys.len() - half));
        let mut expected = Bitmap::new(0);
        filter.contains_batch(&probes, &mut expected);
        let repetition = |engine: &'a Engine| -> Repetition<'_> {
            let (filter, probes, expected) = (&filter, &probes, &expected);
            let mut found = Bitmap::new(0);
            Box::new(move |meter| {
                wall::time(meter, engine.threads(), || {
                    engine.contains_batch(filter, probes, &mut found);
                });
                ensure!(found == *expected, "the answers of the engine and of one thread differ");
                Ok(probes.len() as u64)
            })
        };
        let repetitions = self.engines().map(repetition).collect();
        let pick = |engine: &Engine| engine.lookup_strategy(&filter, &probes);
        self.choices(CONTAINS, repetitions, pick, pace)
    }

    fn choices(
        &self,
        op: &str,
        mut repetitions: Vec<Repetition<'_>>,
        pick: impl Fn(&Engine) -> Strategy,
        pace: &Pace,
    ) -> Result<Vec<Choice>> {
        let timings = interleave(&mut repetitions, pace, &mut Meter::default(), |_| ())
            .with_context(|| format!("{op} of {} keys", self.point.keys))?;
        let lines = (self.point.bytes / LINE_BYTES) as f64;
        let rounded = |value: f64| round_significant(value, 4);
        let of_thread_set =
            |(thread_set, timings): (&ThreadSet, &[crate::measure::interleave::Timing])| Choice {
                op: op.into(),
                bytes: self.point.bytes as u64,
                keys: self.point.keys as u64,
                keys_per_line: round_significant(self.point.keys as f64 / lines, 3),
                threads: thread_set.threads as u32,
                direct_ns: rounded(timings[0].median()),
                partitioned_ns: rounded(timings[1].median()),
                picked: name_of_strategy(pick(&thread_set.engine)).into(),
            };
        Ok(self.thread_sets.iter().zip(timings.chunks_exact(2)).map(of_thread_set).collect())
    }
}

/// The pace of each of the two operations at a point: up to 51 rounds in half a second, but at least three rounds,
/// however long they take.
pub(crate) const PACE: Pace =
    Pace { budget: Duration::from_millis(500), min_rounds: 3, max_rounds: 51 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use trommel::engine::CostModel;

    #[test]
    fn the_keys_of_all_points_are_bounded() {
        let all = points(true);
        assert_eq!(all.len(), 20);
        assert!(all.iter().all(|point| (1..=MOST_KEYS).contains(&point.keys)));
        assert_eq!(all[2], MapPoint { bytes: 1 << 20, keys: 16_384 });
        assert_eq!(points(false).len(), 15);
    }

    #[test]
    fn each_point_is_measured_once() {
        let thread_sets = ThreadSet::start_all(&[1, 2], CostModel::default()).unwrap();
        let mut results = Results::new(Environment::observe(None));
        let pace = Pace { budget: Duration::ZERO, min_rounds: 1, max_rounds: 1 };
        let points = &points_of(&[1 << 12])[..2];
        let measure_until = |deadline, thread_sets: &[ThreadSet], results: &mut Results| {
            let mut saved = Vec::new();
            let save = |results: &Results| {
                saved.push(results.strategies.len());
                Ok(())
            };
            let bench = MapBench { thread_sets, pace, isa: None, deadline };
            bench.measure(points, results, &mut Progress::hidden(), save).unwrap();
            saved
        };
        // No point begins after the deadline. The pause is for clocks that advance only in coarse steps.
        std::thread::sleep(Duration::from_millis(1));
        let late = measure_until(Some(Duration::ZERO), &thread_sets[..1], &mut results);
        assert_eq!((late, results.strategies.len()), (vec![], 0));
        let measure = |thread_sets: &[ThreadSet], results: &mut Results| {
            measure_until(None, thread_sets, results)
        };
        assert_eq!(measure(&thread_sets[..1], &mut results), [2, 4]);
        // With another thread set, each point is measured again.
        assert_eq!(measure(&thread_sets, &mut results), [6, 8]);
        let before = results.clone();
        assert_eq!(measure(&thread_sets, &mut results), [0; 0]);
        assert_eq!(results, before);
        assert_eq!(results.strategies.len(), 2 * 2 * 2);
        assert!(results.strategies.iter().all(|choice| choice.direct_ns > 0.0));
    }
}
