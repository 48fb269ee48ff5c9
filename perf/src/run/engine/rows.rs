//! Measures the rows of the engine: the filters of each group are built, verified, and timed interleaved. A runner is a
//! subject of a group, ours or a rival, with its number of threads.

use super::plan::{Group, Participant, Runner};
use super::runner::Maker;
use super::threads::ThreadSet;
use super::{peak, wall};
use crate::base::clock::Lap;
use crate::base::stats::round_significant;
use crate::measure::built::lines_of;
use crate::measure::effort::Effort;
use crate::measure::interleave::{Meter, Repetition, Timing, interleave};
use crate::measure::keys::{Column, KeyStream, as_hashes};
use crate::measure::repetition;
use crate::measure::rivals::Parallel;
use crate::measure::roofline::Arena;
use crate::measure::subject::ensure_no_false_negatives;
use crate::model::{Distribution, Facts, Op, Row, Workload};
use crate::run::progress::Progress;
use crate::store::results::Results;
use anyhow::{Context as _, Result, ensure};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use trommel::{AnyFilter, Bitmap, Filter as _, Insert as _, Isa, KeyHash};

/// The threads and settings with which groups are measured.
pub(crate) struct Bench<'a> {
    pub(crate) thread_sets: &'a [ThreadSet],
    pub(crate) effort: Effort,
    pub(crate) isa: Option<Isa>,
    /// The time since the start of the run after which no group begins; `None` if the run has no time limit.
    pub(crate) deadline: Option<Duration>,
}

/// A repetition of up to this many operations is preceded by an untimed pass, which warms up the caches.
const WARMED_UP_TO: usize = 2_000_000;

/// After a filter was filled, at most this many of its keys are looked up to verify it. Looking up all keys of a larger
/// filter of a rival would take about as long as filling the filter.
const MOST_KEYS_FOUND: usize = 10_000_000;

/// The number of probes whose batched answers are compared with the answers of single calls.
const KEYS_CHECKED_ONE_BY_ONE: usize = 100_000;

/// The keys that several groups insert, and our filter filled with these keys on one thread. In groups of builds and
/// inserts, the filters that batches and engines fill must equal this filter.
pub(crate) struct Reference {
    keys: Vec<KeyHash>,
    filter: AnyFilter,
    frozen: Vec<u8>,
    fpr_measured: f64,
    absent_keys: usize,
    /// The filters that runners filled with the keys, kept for all groups of lookups.
    made: RefCell<Vec<(Runner, Rc<dyn Parallel>)>>,
}

impl Reference {
    /// Creates the reference of a group. Groups with the same filter and keys share a reference.
    fn of(group: &Group, isa: Option<Isa>, absent: usize) -> Result<Self> {
        let stream = KeyStream::new(group.keys as u64);
        let keys = inserted(group.inserted(), stream, group.keys);
        let mut filter = group.sized_filter.spec(group.keys, isa).build()?;
        filter.insert_batch(&keys).with_context(|| group.to_string())?;
        let mut found = Bitmap::new(0);
        // Some Zipf-distributed keys are values that `absent_from` returns, with indices up to the number of keys.
        // So the probes that measure the false-positive rate begin at the next index.
        let never_inserted = as_hashes(&stream.absent_from(group.keys + 1, absent));
        filter.contains_batch(&never_inserted, &mut found);
        let fpr_measured = found.count_ones() as f64 / absent as f64;
        let frozen = filter.to_bytes();
        let made = RefCell::default();
        Ok(Self { keys, filter, frozen, fpr_measured, absent_keys: absent, made })
    }

    /// Returns the filter that a runner fills with the keys. Each runner's filter is built only once.
    fn made(&self, maker: &Maker<'_>) -> Result<Rc<dyn Parallel>> {
        let mut made = self.made.borrow_mut();
        if let Some((_, filter)) = made.iter().find(|(runner, _)| *runner == maker.runner) {
            return Ok(Rc::clone(filter));
        }
        let filter = Rc::from(maker.build(&self.keys)?);
        made.push((maker.runner, Rc::clone(&filter)));
        Ok(filter)
    }

    /// Returns the probes of a group's workload, a bitmap that marks the probes that are keys, and our filter's answers
    /// to all probes.
    fn probes(&self, group: &Group) -> Result<(Vec<KeyHash>, Bitmap, Bitmap)> {
        let workload = group.workload.unwrap_or(Workload::Mixed);
        let stream = KeyStream::new(group.keys as u64);
        let probes = stream.probes(workload, group.keys, group.ops);
        let Column::Integers(mut values) = probes.column else {
            unreachable!("generated keys are integers")
        };
        arrange(&mut values, group.distribution);
        let hashes = as_hashes(&values);
        let mut answers = Bitmap::new(0);
        self.filter.contains_batch(&hashes, &mut answers);
        ensure_no_false_negatives(&probes.members, &answers, &group.to_string())?;
        for (i, hash) in hashes.iter().take(KEYS_CHECKED_ONE_BY_ONE).enumerate() {
            let single = self.filter.contains_hash(*hash);
            ensure!(
                answers.get(i) == single,
                "{group}: a batched answer differs from the answer of a single call"
            );
        }
        Ok((hashes, probes.members, answers))
    }
}

impl Bench<'_> {
    fn thread_set(&self, threads: usize) -> &ThreadSet {
        // There is a set for every number of threads of the engine. A batch, and a rival on one thread, use none of a
        // set's threads, so any set will do for them.
        let found = self.thread_sets.iter().find(|thread_set| thread_set.threads == threads);
        found.unwrap_or(&self.thread_sets[0])
    }

    /// Measures the groups that have a case which is not yet in `results`. After the deadline, no group begins. `save`
    /// is called after each group that was measured.
    pub(crate) fn measure(
        &self,
        groups: &[Group],
        results: &mut Results,
        progress: &mut Progress,
        mut save: impl FnMut(&Results) -> Result<()>,
    ) -> Result<()> {
        let threads: Vec<usize> =
            self.thread_sets.iter().map(|thread_set| thread_set.threads).collect();
        let share_reference = |a: &Group, b: &Group| {
            (a.sized_filter, a.keys, a.inserted()) == (b.sized_filter, b.keys, b.inserted())
        };
        for groups in groups.chunk_by(share_reference) {
            let mut reference = None;
            for group in groups {
                let runners = group.runners(&threads);
                let is_late = progress.is_past(self.deadline);
                if !is_late && !runners.iter().all(|one| results.has(&group.case_name(*one))) {
                    progress.say(group.to_string());
                    if reference.is_none() {
                        reference = Some(Reference::of(group, self.isa, self.effort.absent)?);
                    }
                    if let Some(reference) = &reference {
                        self.group(group, &runners, reference, results, progress)?;
                    }
                    save(results)?;
                }
                progress.step_done();
            }
        }
        Ok(())
    }

    fn group(
        &self,
        group: &Group,
        runners: &[Runner],
        reference: &Reference,
        results: &mut Results,
        progress: &Progress,
    ) -> Result<()> {
        let (probes, members, answers) = match group.op {
            Op::Contains => reference.probes(group)?,
            _ => (Vec::new(), Bitmap::new(0), Bitmap::new(0)),
        };
        let (probes, members, answers) = (&*probes, &members, &answers);
        let data = GroupData { group, reference, probes, members, answers };
        let bytes = reference.filter.memory_bytes();
        let arena = Arena::new(bytes)?;
        let mut measured = Vec::new();
        let mut repetitions = Vec::new();
        for runner in runners {
            let thread_set = self.thread_set(runner.threads);
            thread_set.release_memory();
            let maker = Maker::new(group, *runner, &reference.filter, thread_set, self.isa);
            let ready = data.prepare(maker).with_context(|| group.case_name(*runner))?;
            measured.push(ready.facts);
            repetitions.push(ready.repetition);
        }
        let length = self.effort.length;
        let ways = arena.measure(bytes, length.0 / 4, 3).two_best();
        repetitions
            .extend(ways.map(|access| repetition::line_reads(&arena, bytes, access, length)));
        let pace = self.effort.pace_of_engine(progress.elapsed(), progress.steps_left());
        let timings = interleave(&mut repetitions, &pace, &mut Meter::default(), |share| {
            progress.within_step(share);
        })
        .with_context(|| group.to_string())?;
        let (timings, limits) = timings.split_at(runners.len());
        for timing in timings {
            // The busy time of these laps is wall-clock time, so it includes the time waited, unlike the busy time of
            // other laps.
            let Lap { busy, waited } = timing.total;
            results.timed.add(Lap { busy: busy.saturating_sub(waited), waited });
        }
        limits.iter().for_each(|timing| results.timed.add(timing.total));
        let limit = 1e3 / limits.iter().map(Timing::median).fold(f64::INFINITY, f64::min);
        let mut rows: Vec<Row> = runners
            .iter()
            .zip(&measured)
            .zip(timings)
            .map(|((runner, facts), timing)| {
                let mut row = row(group, *runner, reference, facts, timing, limit);
                row.regime = results.environment.caches.regime(row.bytes).map(Into::into);
                row
            })
            .collect();
        fill_in_speedups(&mut rows, runners);
        progress.log(&rows);
        results.put_interleaved(rows, timings);
        Ok(())
    }
}

/// Properties of a runner's filter when it holds all keys, and the peak memory of the runner's first operation.
struct FilterFacts {
    bytes: u64,
    load_factor: Option<f64>,
    peak_bytes: Option<u64>,
}

struct Ready<'a> {
    facts: FilterFacts,
    repetition: Repetition<'a>,
}

/// The data that all runners of a group use.
struct GroupData<'a> {
    group: &'a Group,
    reference: &'a Reference,
    probes: &'a [KeyHash],
    /// A bitmap of the probes that are keys.
    members: &'a Bitmap,
    /// The answers of our filter.
    answers: &'a Bitmap,
}

impl<'a> GroupData<'a> {
    /// Runs and verifies a runner once, measures its peak memory, and returns its repetition.
    fn prepare(&self, maker: Maker<'a>) -> Result<Ready<'a>> {
        match self.group.op {
            Op::Build => self.prepare_build(maker),
            Op::Insert => self.prepare_insert(&maker),
            _ => self.prepare_lookup(&maker),
        }
    }

    fn prepare_build(&self, maker: Maker<'a>) -> Result<Ready<'a>> {
        let (reference, threads) = (self.reference, maker.runner.threads);
        let (built, peak_bytes) = peak::during(|| maker.build(&reference.keys));
        let built = built?;
        verify(&*built, reference)?;
        let facts = Self::facts(&*built, peak_bytes);
        let repetition: Repetition<'a> = Box::new(move |meter| {
            if reference.keys.len() <= WARMED_UP_TO {
                maker.build(&reference.keys)?;
            }
            let built = wall::time(meter, threads, || maker.build(&reference.keys))?;
            verify_sample(&*built, reference)?;
            Ok(reference.keys.len() as u64)
        });
        Ok(Ready { facts, repetition })
    }

    fn prepare_insert(&self, maker: &Maker<'a>) -> Result<Ready<'a>> {
        let (reference, threads) = (self.reference, maker.runner.threads);
        let mut filter = maker.empty()?;
        filter.clear();
        let (inserted, peak_bytes) = peak::during(|| filter.insert(&reference.keys));
        inserted?;
        verify(&*filter, reference)?;
        let facts = Self::facts(&*filter, peak_bytes);
        let repetition: Repetition<'a> = Box::new(move |meter| {
            if reference.keys.len() <= WARMED_UP_TO {
                filter.clear();
                filter.insert(&reference.keys)?;
            }
            filter.clear();
            wall::time(meter, threads, || filter.insert(&reference.keys))?;
            verify_sample(&*filter, reference)?;
            Ok(reference.keys.len() as u64)
        });
        Ok(Ready { facts, repetition })
    }

    fn prepare_lookup(&self, maker: &Maker<'a>) -> Result<Ready<'a>> {
        let (probes, threads) = (self.probes, maker.runner.threads);
        let filter = self.reference.made(maker)?;
        let mut answers = Bitmap::new(0);
        let ((), peak_bytes) = peak::during(|| filter.answer(probes, &mut answers));
        let facts = Self::facts(&*filter, peak_bytes);
        let expected = if matches!(maker.runner.participant, Participant::Rival(_)) {
            ensure_no_false_negatives(self.members, &answers, "the rival")?;
            // A rival has only one kind of lookup call, so there are no other answers to compare with these. Only two
            // things are checked: these answers have no false negative, and every repetition gives the same answers.
            answers.clone()
        } else {
            self.answers.clone()
        };
        let repetition: Repetition<'a> = Box::new(move |meter| {
            if probes.len() <= WARMED_UP_TO {
                filter.answer(probes, &mut answers);
            }
            wall::time(meter, threads, || filter.answer(probes, &mut answers));
            ensure!(
                answers == expected,
                "the answers of a timed repetition differ from the verified answers"
            );
            Ok(probes.len() as u64)
        });
        Ok(Ready { facts, repetition })
    }

    fn facts(filter: &dyn Parallel, peak_bytes: Option<u64>) -> FilterFacts {
        FilterFacts {
            bytes: filter.memory_bytes() as u64,
            load_factor: filter.load_factor(),
            peak_bytes,
        }
    }
}

/// Returns the hashes of the keys to insert.
fn inserted(distribution: Distribution, stream: KeyStream, keys: usize) -> Vec<KeyHash> {
    let mut values = match distribution {
        Distribution::Zipf => match stream.probes(Workload::Zipf, keys, keys).column {
            Column::Integers(values) => values,
            Column::Strings(_) => unreachable!("generated keys are integers"),
        },
        _ => stream.keys(0, keys),
    };
    arrange(&mut values, distribution);
    as_hashes(&values)
}

/// Sorts values, or makes them equal, as the distribution requires.
fn arrange(values: &mut [u64], distribution: Distribution) {
    use Distribution::{Equal, PerLine, Plain, Sorted, Zipf};
    match (distribution, values) {
        (Sorted, values) => values.sort_unstable(),
        (Equal, [first, others @ ..]) => others.fill(*first),
        (Equal, []) | (Plain | PerLine(_) | Zipf, _) => {}
    }
}

/// Checks that the filter finds its keys, or its first [`MOST_KEYS_FOUND`] keys if it has more. If the filter's bytes
/// must not depend on the number of threads, also checks that the bytes equal the bytes of the reference.
fn verify(filter: &dyn Parallel, reference: &Reference) -> Result<()> {
    if let Some(frozen) = filter.frozen() {
        ensure!(frozen == reference.frozen, "the filter differs from the filter of one thread");
    }
    ensure_holds(filter, reference, MOST_KEYS_FOUND)
}

/// Checks that the first 4096 keys are found after a repetition. The check is not timed.
fn verify_sample(filter: &dyn Parallel, reference: &Reference) -> Result<()> {
    ensure_holds(filter, reference, 4096)
}

/// Checks that the first `most_keys` keys are found.
fn ensure_holds(filter: &dyn Parallel, reference: &Reference, most_keys: usize) -> Result<()> {
    let keys = &reference.keys[..reference.keys.len().min(most_keys)];
    let mut answers = Bitmap::new(0);
    filter.answer(keys, &mut answers);
    let found = answers.count_ones();
    ensure!(
        found == keys.len(),
        "{} of {} inserted keys are reported absent",
        keys.len() - found,
        keys.len()
    );
    Ok(())
}

fn row(
    group: &Group,
    runner: Runner,
    reference: &Reference,
    filter: &FilterFacts,
    timing: &Timing,
    limit: f64,
) -> Row {
    let case = group.case(runner);
    let ours = !case.is_of_rival();
    let fpr = reference.filter.expected_fpr();
    let hashes = reference.filter.hash_count();
    // Skewed keys reach the same cache lines again and again, so a number of lines per operation means nothing.
    let lines_per_op = match group.distribution {
        Distribution::Plain | Distribution::PerLine(_) => {
            lines_of(group.sized_filter.kind, group.op, group.workload, hashes, Some(fpr))
        }
        Distribution::Sorted | Distribution::Equal | Distribution::Zipf => None,
    };
    let facts = Facts {
        bytes: filter.bytes,
        regime: None,
        load_factor: filter.load_factor,
        isa: ours.then(|| reference.filter.isa().to_string()),
        fpr_expected: ours.then_some(fpr),
        fpr_measured: ours.then_some(reference.fpr_measured),
        absent_keys: ours.then_some(reference.absent_keys as u64),
        peak_bytes: filter.peak_bytes,
        lines_per_op,
        roofline_mops: Some(limit),
    };
    Row::new(case, &timing.times(), facts)
}

/// Sets the speedup of each row over the same participant on one thread. Rows of a filter's own batch have no speedup,
/// nor do rows whose participant was not measured on one thread.
fn fill_in_speedups(rows: &mut [Row], runners: &[Runner]) {
    let alone = |participant: Participant| {
        runners.iter().position(|one| *one == Runner { participant, threads: 1 })
    };
    let times: Vec<Option<f64>> = runners
        .iter()
        .map(|one| {
            alone(one.participant)
                .filter(|_| one.participant != Participant::Batch)
                .map(|at| rows[at].ns_per_op)
        })
        .collect();
    for (row, time) in rows.iter_mut().zip(times) {
        row.speedup = time.map(|time| round_significant(time / row.ns_per_op, 4));
    }
}
