//! A run: verifies the cases of each group, times them interleaved, and saves the results after each group.

mod engine;
mod fill;
mod sweep;
mod verify;

pub(crate) use fill::start_fillers;
pub(crate) use sweep::steps_of_sweep;

use crate::measure::built::{Built, is_near, lines_per_op, working_set, working_sets};
use crate::measure::counters::Counters;
use crate::measure::effort::Effort;
use crate::measure::environment::Environment;
use crate::measure::factory::create;
use crate::measure::interleave::{Meter, Repetition, Timing, interleave};
use crate::measure::keys::{Column, KeyStream, Probes, as_hashes};
use crate::measure::ledger::Ledger;
use crate::measure::plan::{
    Group, KEYS_OF_ONE_GIB, Planned, Point, Scope, Selection, SubjectSpec, groups_of,
    groups_of_input, groups_of_one_gib, is_of_summary, subject_specs, subject_specs_of,
    subject_specs_of_one_gib,
};
use crate::measure::repetition;
use crate::measure::roofline::Arena;
use crate::measure::subject::Subject;
use crate::model::{Facts, Op, Row, Workload};
use crate::run::engine::peak_during;
use crate::run::progress::Progress;
use crate::store::results::{Input, Results};
use anyhow::{Context as _, Result};
use fill::fill_all;
use rayon::ThreadPool;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trommel::{Bitmap, Isa, KeyHash};
use verify::verified_lookups;

/// One run, with its results so far.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) results: Results,
    pub(crate) progress: Progress,
    selection: Selection,
    effort: Effort,
    isa: Option<Isa>,
    /// The directory to which results are saved after each group, if any.
    out: Option<PathBuf>,
    meter: Meter,
    /// The record of the cases, if they are run in sections that are marked for Callgrind; `None` if they are timed.
    ledger: Option<Ledger>,
    /// Makes the headline. The headline is printed once, after the first group whose results are enough for a headline.
    headline: Option<Headline>,
    /// Threads that fill large filters; `None` if the session fills all filters on its own thread.
    fillers: Option<ThreadPool>,
}

/// Describes the first rows of a run in one line; `None` if there is nothing to describe yet.
pub(crate) type Headline = fn(&Results) -> Option<String>;

/// Saves results to the directory `out`, if it is given.
fn save_to(out: Option<&Path>, results: &Results) -> Result<()> {
    out.map_or(Ok(()), |out| results.save(out))
}

/// The filled filters of one or more groups of cases, with the number of keys in each filter, and the memory in which
/// the roofline is measured.
struct FilledFilters<'a, S: Subject + ?Sized = dyn Subject> {
    keys: usize,
    built: &'a [Built<S>],
    arena: &'a Arena,
}

impl Session {
    /// Creates a run that saves to `out`.
    pub(crate) fn new(
        results: Results,
        progress: Progress,
        selection: Selection,
        effort: Effort,
        isa: Option<Isa>,
        out: Option<PathBuf>,
        counters: Option<Counters>,
    ) -> Self {
        Self {
            results,
            progress,
            selection,
            effort,
            isa,
            out,
            meter: Meter::new(counters),
            ledger: None,
            headline: None,
            fillers: None,
        }
    }

    /// Sets the function that returns the headline of the run.
    pub(crate) fn with_headline(self, headline: Headline) -> Self {
        Self { headline: Some(headline), ..self }
    }

    /// Sets the threads that fill large filters.
    pub(crate) fn with_fillers(self, fillers: Option<ThreadPool>) -> Self {
        Self { fillers, ..self }
    }

    /// Creates a run that does not time cases, but runs each once in sections that are marked for Callgrind.
    pub(crate) fn in_sections(selection: Selection, effort: Effort, isa: Option<Isa>) -> Self {
        let results = Results::new(Environment::observe(isa));
        let untimed = Self::new(results, Progress::hidden(), selection, effort, isa, None, None);
        Self { ledger: Some(Ledger::default()), ..untimed }
    }

    /// Returns the record of the cases that were run in sections.
    pub(crate) fn into_ledger(self) -> Ledger {
        self.ledger.unwrap_or_default()
    }

    /// Returns all selected cases of a group if at least one of them has no row yet: the other cases are then measured
    /// again, because only cases that were interleaved can be compared. Returns no cases if all have rows, or if the
    /// run is late.
    fn missing(&self, group: &Group, specs: &[SubjectSpec]) -> Vec<Planned> {
        if self.is_late() {
            return Vec::new();
        }
        let chosen = self.selection.choose(group.cases(specs));
        let is_measured = chosen.iter().all(|case| self.results.has(&case.name));
        if is_measured { Vec::new() } else { chosen }
    }

    /// Returns the subjects that have cases to measure in at least one of these groups.
    fn needed(&self, groups: &[Group], specs: &[SubjectSpec]) -> Vec<SubjectSpec> {
        let cases: Vec<Planned> =
            groups.iter().flat_map(|group| self.missing(group, specs)).collect();
        specs.iter().filter(|spec| cases.iter().any(|case| case.spec == **spec)).copied().collect()
    }

    /// The time after which no group, and no point of the map of strategies, begins. Returns `None` for full runs, for
    /// usual runs whose cases the user has selected, and for quick runs whose loads the user has named. A resumed run
    /// has the whole time again.
    fn deadline(&self) -> Option<Duration> {
        let is_of_all = self.selection.filter.is_none() && self.selection.includes_all();
        let has_deadline = match self.selection.scope() {
            Scope::Quick => self.selection.load.is_none(),
            Scope::Usual => is_of_all,
            Scope::Full => false,
        };
        has_deadline.then_some(self.effort.limit)
    }

    /// Whether the deadline of the run has passed; false if the run has no deadline.
    pub(crate) fn is_late(&self) -> bool {
        self.progress.is_past(self.deadline())
    }

    /// Measures filters of the usual sizes on generated keys.
    pub(crate) fn generated(&mut self, keys: usize) -> Result<()> {
        let groups = groups_of(keys, &self.selection);
        let (hashed, plain): (Vec<Group>, Vec<Group>) =
            groups.into_iter().partition(|group| group.hashed);
        let (stream, specs) =
            (KeyStream::new(keys as u64), subject_specs_of(keys, &self.selection));
        self.plain(plain, &specs, stream, keys)?;
        for group in self.selection.choose_groups(hashed, &specs) {
            self.generated_hashed(&group, &specs, stream)?;
        }
        Ok(())
    }

    /// Measures the groups of generated keys that the summary shows.
    pub(crate) fn summary(&mut self, keys: usize) -> Result<()> {
        let mut groups = groups_of(keys, &self.selection);
        groups.retain(is_of_summary);
        let specs = subject_specs_of(keys, &self.selection);
        self.plain(groups, &specs, KeyStream::new(keys as u64), keys)
    }

    /// Measures filters of 1 GiB.
    pub(crate) fn one_gib(&mut self) -> Result<()> {
        self.plain(
            groups_of_one_gib(),
            &subject_specs_of_one_gib(),
            KeyStream::new(1),
            KEYS_OF_ONE_GIB,
        )
    }

    /// Measures one point of the matrix or of the user's file of cases.
    pub(crate) fn point(&mut self, point: &Point) -> Result<()> {
        let stream = KeyStream::new(point.keys as u64);
        self.plain(point.groups.clone(), &point.specs, stream, point.keys)
    }

    /// Measures groups of cases whose timed sections get hashes, not keys.
    fn plain(
        &mut self,
        groups: Vec<Group>,
        specs: &[SubjectSpec],
        stream: KeyStream,
        keys: usize,
    ) -> Result<()> {
        let groups = self.selection.choose_groups(groups, specs);
        let needed = self.needed(&groups, specs);
        if needed.is_empty() {
            self.progress.steps_done(steps_of(groups.len()));
            return Ok(());
        }
        let needed: Vec<SubjectSpec> = needed
            .into_iter()
            .filter(|spec| spec.rival.is_none_or(|rival| rival.takes_hashes()))
            .collect();
        self.progress.say(format!("filling filters of {keys:e} keys"));
        let absent = as_hashes(&stream.absent(self.effort.absent));
        let built = fill_all(&needed, self.isa, stream, keys, &absent, self.fillers.as_ref())?;
        drop(absent);
        self.progress.step_done();
        let arena = Arena::new(largest(&built))?;
        let filters = FilledFilters { keys, built: &built, arena: &arena };
        let inserted = stream.hashes(0, keys.min(INSERTED_AT_MOST));
        for group in &groups {
            let cases = self.missing(group, specs);
            if !cases.is_empty() {
                self.progress.say(group.name());
                match group.op {
                    Op::Contains => self.lookups(group, &cases, &filters, stream)?,
                    Op::Insert => self.inserts(group, &cases, &filters, &inserted)?,
                    Op::Build => self.builds(group, &cases, &filters, &inserted)?,
                    Op::Remove | Op::Merge | Op::Enumerate => {
                        unreachable!("only the sweep over loads measures {}", group.op)
                    }
                }
            }
            self.progress.step_done();
        }
        Ok(())
    }

    fn lookups(
        &mut self,
        group: &Group,
        cases: &[Planned],
        filters: &FilledFilters<'_>,
        stream: KeyStream,
    ) -> Result<()> {
        let workload = group.workload.unwrap_or(Workload::Mixed);
        let probes = stream.probes(workload, filters.keys, self.probe_count(filters));
        let Column::Integers(values) = probes.column else {
            unreachable!("generated keys are integers")
        };
        let hashes = as_hashes(&values);
        self.time_lookups(group, cases, filters, &hashes, &probes.members)
    }

    /// Verifies and times lookups of hashes.
    fn time_lookups(
        &mut self,
        group: &Group,
        cases: &[Planned],
        filters: &FilledFilters<'_>,
        hashes: &[KeyHash],
        members: &Bitmap,
    ) -> Result<()> {
        let length = self.effort.length;
        let mut repetitions = Vec::new();
        for case in cases {
            let subject = &*filters.find(&case.spec).subject;
            repetitions.push(verified_lookups(subject, case, hashes, members, length)?);
        }
        self.time_interleaved(group, cases, filters, repetitions)
    }

    fn inserts(
        &mut self,
        group: &Group,
        cases: &[Planned],
        filters: &FilledFilters<'_>,
        keys: &[KeyHash],
    ) -> Result<()> {
        let mut repetitions = Vec::new();
        for case in cases {
            let empty = create(&case.spec, filters.keys, self.isa)?;
            repetitions.push(repetition::inserts(
                empty,
                case.case.calls.api,
                keys,
                self.effort.length,
            ));
        }
        self.time_interleaved(group, cases, filters, repetitions)
    }

    fn builds(
        &mut self,
        group: &Group,
        cases: &[Planned],
        filters: &FilledFilters<'_>,
        keys: &[KeyHash],
    ) -> Result<()> {
        let (isa, count) = (self.isa, filters.keys);
        let peaks = cases
            .iter()
            .map(|case| {
                let (built, peak) = peak_during(|| {
                    let mut filter = create(&case.spec, count, isa)?;
                    filter.insert_batch(keys)?;
                    anyhow::Ok(filter)
                });
                built.map(|_| peak)
            })
            .collect::<Result<Vec<_>>>()?;
        let repetitions = cases
            .iter()
            .map(|case| {
                let spec = case.spec;
                repetition::builds(move || create(&spec, count, isa), keys, self.effort.length)
            })
            .collect();
        self.time_interleaved(group, cases, filters, repetitions)?;
        for (case, peak) in cases.iter().zip(peaks) {
            self.results.put_peak(&case.name, peak);
        }
        self.save()
    }

    fn generated_hashed(
        &mut self,
        group: &Group,
        specs: &[SubjectSpec],
        stream: KeyStream,
    ) -> Result<()> {
        let cases = self.missing(group, specs);
        if !cases.is_empty() {
            let keys = Column::Integers(stream.keys(0, group.keys));
            let workload = group.workload.unwrap_or(Workload::Mixed);
            let count = MANY_PROBES.min(group.keys.max(FEW_PROBES)).min(self.effort.most_probes);
            let probes = stream.probes(workload, group.keys, count);
            self.hashed(group, &cases, &keys, &probes)?;
        }
        self.progress.step_done();
        Ok(())
    }

    /// Measures lookups on given keys and probes: once with hashing before the timed section, and
    /// once with hashing within it.
    pub(crate) fn input(
        &mut self,
        name: &str,
        description: &str,
        keys: &Column,
        probes: &Probes,
    ) -> Result<()> {
        self.results.put_input(Input::of(name, description, keys, probes))?;
        let groups = groups_of_input(name, keys.len());
        for group in self.selection.choose_groups(groups, &subject_specs()) {
            let cases = self.missing(&group, &subject_specs());
            if !cases.is_empty() {
                if group.hashed {
                    self.hashed(&group, &cases, keys, probes)?;
                } else {
                    self.prehashed(&group, &cases, keys, probes)?;
                }
            }
            self.progress.step_done();
        }
        Ok(())
    }

    /// Verifies and times lookups of keys. The timed section includes hashing, which each filter does in its own way.
    fn hashed(
        &mut self,
        group: &Group,
        cases: &[Planned],
        keys: &Column,
        probes: &Probes,
    ) -> Result<()> {
        self.progress.say(group.name());
        let mut built = Vec::new();
        let mut answers = Bitmap::new(0);
        for case in cases {
            let mut subject = create(&case.spec, keys.len(), self.isa)?;
            subject.insert_keys(keys)?;
            subject.answer_keys(&probes.column, &mut answers);
            built.push((
                Built::verified(case, subject, keys.len(), probes, &answers)?,
                answers.clone(),
            ));
        }
        let (built, answers): (Vec<Built>, Vec<Bitmap>) = built.into_iter().unzip();
        let arena = Arena::new(largest(&built))?;
        let repetitions = built
            .iter()
            .zip(&answers)
            .map(|(built, answers)| {
                repetition::hashed_lookups(
                    &*built.subject,
                    &probes.column,
                    answers,
                    self.effort.length,
                )
            })
            .collect();
        self.time_interleaved(
            group,
            cases,
            &FilledFilters { keys: keys.len(), built: &built, arena: &arena },
            repetitions,
        )
    }

    /// Verifies and times lookups of keys that are hashed once, before the timed section, for all filters.
    fn prehashed(
        &mut self,
        group: &Group,
        cases: &[Planned],
        keys: &Column,
        probes: &Probes,
    ) -> Result<()> {
        self.progress.say(group.name());
        let (keys, hashes) = (hash_column(keys), hash_column(&probes.column));
        let mut built = Vec::new();
        let mut answers = Bitmap::new(0);
        for case in cases {
            let mut subject = create(&case.spec, keys.len(), self.isa)?;
            subject.insert_batch(&keys)?;
            subject.answer_single(&hashes, &mut answers);
            built.push(Built::verified(case, subject, keys.len(), probes, &answers)?);
        }
        let arena = Arena::new(largest(&built))?;
        let filters = FilledFilters { keys: keys.len(), built: &built, arena: &arena };
        self.time_lookups(group, cases, &filters, &hashes, &probes.members)
    }

    /// Times the repetitions of cases, interleaved with the random cache-line reads of the roofline, and saves the
    /// rows. Prints the headline as soon as there is one. A session with a ledger neither times nor saves nor prints:
    /// it only runs each repetition once, in marked sections.
    fn time_interleaved<'a, S: Subject + ?Sized>(
        &mut self,
        group: &Group,
        cases: &[Planned],
        filters: &FilledFilters<'a, S>,
        mut repetitions: Vec<Repetition<'a>>,
    ) -> Result<()> {
        if let Some(ledger) = &mut self.ledger {
            let mut cases = cases.iter().zip(&mut repetitions);
            return cases.try_for_each(|(case, repetition)| ledger.run(&case.name, repetition));
        }
        let sizes = working_sets(filters.built, group.op);
        for bytes in &sizes {
            // The three short rounds of `measure` cannot tell for certain which of the two best ways of reading cache
            // lines is faster. So both are timed with the cases, and the faster one is the roofline.
            let ways = filters.arena.measure(*bytes, self.effort.length.0 / 4, 3).two_best();
            repetitions.extend(ways.map(|access| {
                repetition::line_reads(filters.arena, *bytes, access, self.effort.length)
            }));
        }
        let progress = &self.progress;
        let pace = self.effort.pace_within(progress.elapsed(), progress.steps_left());
        let timings = interleave(&mut repetitions, &pace, &mut self.meter, |share| {
            progress.within_step(share);
        })
        .with_context(|| group.name())?;
        timings.iter().for_each(|timing| self.results.timed.add(timing.total));
        let (timings, limits) = timings.split_at(cases.len());
        let mut rows = Vec::new();
        for (case, timing) in cases.iter().zip(timings) {
            let built = filters.find(&case.spec);
            let bytes = working_set(built, group.op);
            let limit = sizes
                .iter()
                .zip(limits.chunks_exact(2))
                .find(|(size, _)| is_near(**size, bytes))
                .map(|(_, ways)| {
                    1e3 / ways.iter().map(Timing::median).fold(f64::INFINITY, f64::min)
                });
            rows.push(self.row(group, case, built, timing, limit));
        }
        self.progress.log(&rows);
        self.results.put_interleaved(rows, timings);
        if let Some(line) = self.headline.and_then(|headline| headline(&self.results)) {
            self.headline = None;
            self.progress.print(&line)?;
        }
        self.save()
    }

    fn save(&self) -> Result<()> {
        save_to(self.out.as_deref(), &self.results)
    }

    fn row<S: Subject + ?Sized>(
        &self,
        group: &Group,
        case: &Planned,
        built: &Built<S>,
        timing: &Timing,
        limit: Option<f64>,
    ) -> Row {
        let subject = &built.subject;
        let bytes = subject.memory_bytes() as u64;
        let facts = Facts {
            bytes,
            regime: self.results.environment.caches.regime(bytes).map(Into::into),
            load_factor: subject.load_factor(),
            isa: subject.isa().map(|isa| isa.to_string()),
            fpr_expected: built.fpr_expected,
            fpr_measured: built.fpr_measured,
            absent_keys: built.fpr_measured.map(|_| built.absent_keys as u64),
            peak_bytes: None,
            lines_per_op: lines_per_op(built, group),
            roofline_mops: limit,
        };
        let mut row = Row::new(case.case.clone(), &timing.times(), facts);
        if let Some(counts) = &timing.events_per_op {
            row.put_counts(counts, "hardware");
        }
        row
    }
}

impl<'a, S: Subject + ?Sized> FilledFilters<'a, S> {
    fn find(&self, spec: &SubjectSpec) -> &'a Built<S> {
        self.built.iter().find(|built| built.spec == *spec).expect("every needed subject was built")
    }
}

/// Returns the number of progress steps of `groups` groups that share filters. Filling these
/// filters is one step more.
pub(crate) const fn steps_of(groups: usize) -> usize {
    const FILLING: usize = 1;
    if groups == 0 { 0 } else { FILLING + groups }
}

/// The most keys that cases of inserts and builds insert. In these cases, a filter of 1 GiB is only partly filled.
const INSERTED_AT_MOST: usize = 100_000_000;

/// Bounds of the number of probes in a lookup case on generated keys. In general, a case has one probe per key, but at
/// most [`MANY_PROBES`]. With hashing included, it has at least [`FEW_PROBES`]. Without hashing, if one of the filters
/// that are filled together is larger than [`LARGE_FILTER_BYTES`], a case of any of them has [`MOST_PROBES`], because
/// fewer probes would read only a small part of the large filter's cache lines. `Effort::most_probes` is the upper
/// limit of all these numbers.
const FEW_PROBES: usize = 100_000;
const MANY_PROBES: usize = 1_000_000;
const MOST_PROBES: usize = 4_000_000;
const LARGE_FILTER_BYTES: usize = 64 << 20;

impl Session {
    fn probe_count<S: Subject + ?Sized>(&self, filters: &FilledFilters<'_, S>) -> usize {
        let count = if largest(filters.built) > LARGE_FILTER_BYTES {
            MOST_PROBES
        } else {
            filters.keys.clamp(1, MANY_PROBES)
        };
        count.min(self.effort.most_probes)
    }
}

fn largest<S: Subject + ?Sized>(built: &[Built<S>]) -> usize {
    built.iter().map(|built| built.subject.memory_bytes()).max().unwrap_or(0)
}

/// Hashes a column with the default hasher, for filters that are given hashes.
fn hash_column(column: &Column) -> Vec<KeyHash> {
    let hasher = trommel::Hasher::default();
    let mut hashes = Vec::new();
    match column {
        Column::Integers(keys) => hasher.hash_batch(keys, &mut hashes),
        Column::Strings(keys) => hashes.extend(keys.iter().map(|key| hasher.hash_bytes(key))),
    }
    hashes
}
